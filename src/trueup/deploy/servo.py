"""Export of an identified servo: request, result, and terms missing in an export."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trueup._marks import KEY, marked, with_mark
from trueup.actuators.assess.measured_gain import RATIO
from trueup.actuators.bench.conditions import conditions_in
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import ABSENT, EXTENDED_TERMS
from trueup.actuators.logs.servo_log import ServoLog
from trueup.deploy.fit_progress import Report, ignore
from trueup.deploy.forms import SERVO, find_form
from trueup.deploy.standard_logs import logs_at_fit_conditions
from trueup.errors import FitError


@dataclass(frozen=True)
class ExportRequest:
    """Servo to export, and conditions of the export."""

    model: ServoModel
    """Identified servo."""
    path: Path | None = None
    """Parameter file of the model; None if it has none."""
    logs: Sequence[ServoLog] | None = None
    """Evenly sampled logs to measure the error on; None: the standard trajectories."""
    kp: float | None = None
    """Firmware gain; None: the servo's."""
    vin: float | None = None
    """Bus voltage [V]; None: see :attr:`supply`."""
    timestep: float = 0.001
    """Time step of the simulation [s]."""
    report: Report = ignore
    """Progress callback: fraction done."""
    output: Path | None = None
    """Target file of the text; None if it is printed."""

    @property
    def supply(self) -> float | None:
        """Bus voltage of the export [V]: the given one; otherwise the common one of all logs, or of
        the recordings in the parameter file; None if they differ, for that of the servo."""
        if self.vin is not None:
            return self.vin
        stated = conditions_in(self.model.provenance) if self.logs is None else self.logs
        found = {each.vin for each in stated}
        return found.pop() if len(found) == 1 else None

    def motions(self) -> tuple[tuple[ServoLog, ...], str]:
        """Logs with the reference motions of the export, and their description.

        Without recordings they are those of the standard trajectories, under the conditions in
                the parameter file.
        """
        if self.logs is not None:
            return tuple(self.logs), f"{len(self.logs)} logs, each with its own gain and voltage"
        return logs_at_fit_conditions(self.model, self.kp, self.vin)


@dataclass(frozen=True)
class ServoExport:
    """Exported servo."""

    text: str
    """Content of the file."""
    errors: Mapping[str, float] | None = None
    """Mean position differences [rad]; None for a form with the whole model.

    ``from_model``: simulator to full model; ``while_driven``: the same up to the time at which
    torque is disabled; with logs, ``from_logs``: simulator to recordings, ``model_from_logs``: full
    model to recordings, and ``simplest_from_logs``: the export of M1 to recordings. Without logs,
    ``simplest_from_model``: the export of M1 to the full model.
    """
    gains: Callable[[float], dict[str, float]] | None = None
    """Function of the firmware gain that returns the gains of an MJCF actuator, ``kp`` [N m/rad]
    and ``kd`` [N m s/rad]; None for other forms."""


def export_servo(
    model: ServoModel,
    form: str = "mjcf-dcmotor",
    *,
    path: str | os.PathLike[str] | None = None,
    logs: Sequence[ServoLog] | None = None,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.001,
    output: str | os.PathLike[str] | None = None,
    report: Report = ignore,
) -> ServoExport:
    """Export an identified servo for a simulator.

    Forms without the whole model get parameters that are fitted to the recordings in
    ``logs``, over all their gains and voltages. Without logs they are fitted to the motion of the
    full model, under the conditions in its parameter file. The export of M1, fitted likewise, is
    used if it is nearer.

    Args:
      model: identified servo.
      form: name of a form that supports servos, see :func:`find_form`.
      path: parameter file of the model, which the form ``mujoco`` loads.
      logs: evenly sampled logs for the fit and the error; default: the standard
        trajectories.
      kp: firmware gain; default: the servo's.
      vin: bus voltage [V]; default: the common one of the logs, or of those of the fit; otherwise
        the servo's.
      timestep: time step of the simulation [s].
      output: target file of the text; scripts refer to the parameter file relative to it.
      report: called with the fraction of a fit that is done, 0 to 1.

    Raises:
      FitError: unknown form, a form that does not support the servo's law, or a time step that is
        not positive.
      RecordingError: a log belongs to another servo, is unevenly sampled, or describes no load.
    """
    chosen = find_form(form, SERVO)
    for name, value, most in (("kp", kp, 1e6), ("vin", vin, 1e3), ("timestep", timestep, 1.0)):
        if value is not None and not 0 < value <= most:
            raise FitError(f"{name} must be above 0 and at most {most:g}, got {value:g}")
    path = None if path is None else Path(path)
    target = None if output is None else Path(output)
    request = ExportRequest(model, path, logs, kp, vin, timestep, report, target)
    with marked(model.provenance.get(KEY)):
        exported = chosen.write(request)
        kind = Path(f"servo{chosen.suffix}")
        return replace(exported, text=with_mark(kind, exported.text) or exported.text)


def printable_name(model: ServoModel) -> str:
    """Servo name for the text of a script, which must not terminate its docstring or comment."""
    return re.sub(r"[^\w .+-]", "_", model.servo.name)


def error_sentences(
    errors: Mapping[str, float], described: str, offset: float, *, is_converted: bool = False
) -> list[str]:
    """Sentences on the error of an export, for its file.

    Args:
      errors: errors of the export [rad].
      described: description of the reference motions.
      offset: load angle minus encoder angle for the errors [rad].
      is_converted: whether the numbers are those of the full model, and not fitted.
    """
    driven = errors.get("while_driven")
    words = (
        f"Position difference from the full model, mean over {described}: "
        f"{1e3 * errors['from_model']:.3g} mrad"
    )
    if driven is not None and driven != errors["from_model"]:
        words += f"; {1e3 * driven:.3g} mrad up to the time at which torque is disabled"
    said = [f"{words}."]
    if is_converted:
        said.append("Its parameters are those of the full model.")
    elif "from_logs" in errors:
        said.append("Its parameters are fitted to the recordings.")
    elif "simplest_from_model" in errors:
        said.append("Its parameters are fitted to the motion of the full model.")
    if "from_logs" in errors:
        said.append(
            f"Position difference from the recordings: {1e3 * errors['from_logs']:.4g} mrad; of "
            f"the full model: {1e3 * errors['model_from_logs']:.4g} mrad; of M1 exported in this "
            f"form: {1e3 * errors['simplest_from_logs']:.4g} mrad. The load angle is {offset:.4g} "
            "rad from the encoder angle there."
        )
    elif "simplest_from_model" in errors:
        said.append(
            "M1 exported in this form differs from the full model by "
            f"{1e3 * errors['simplest_from_model']:.3g} mrad."
        )
    return said


def missing_terms(model: ServoModel, expressed: Sequence[str]) -> list[str]:
    """Extended terms with an effect that an export does not model; every export multiplies its gain
    by the ratio of the firmware's gain.

    Args:
      model: identified servo.
      expressed: names of the terms in the export.
    """
    return [
        name
        for name in EXTENDED_TERMS
        if name not in (*expressed, RATIO) and model.values.get(name, ABSENT[name]) != ABSENT[name]
    ]
