"""Registry of export forms: an identified servo as a text file for a simulator.

To add a form, write a function from an :class:`ExportRequest` to a :class:`ServoExport` in a module
of this folder, and add it to :data:`EXPORT_FORMS` through a function that imports it when called.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trueup._marks import KEY, marked, with_mark
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.exports.fitted_servo import Report, ignore
from trueup.actuators.exports.servo_export import ExportRequest, ServoExport
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, did_you_mean, listing


@dataclass(frozen=True)
class ExportForm:
    """Export form: its purpose and its function."""

    description: str
    """Purpose in a few words, for the help of ``trueup actuator export``."""
    export: Callable[[ExportRequest], ServoExport]
    """Function that writes the text."""


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
    """Export an identified servo for a simulator; ``trueup.actuators.export`` is the same function.

    Forms that cannot hold the whole model get numbers that are fitted to the recordings in
    ``logs``, over all their gains and voltages. Without logs they are fitted to the full model's
    own motion, under the conditions that its parameter file states. The export of M1, fitted
    likewise, is taken where it is nearer.

    Args:
      model: identified servo.
      form: a name in :data:`EXPORT_FORMS`.
      path: parameter file of the model, which the forms ``mujoco`` and ``mjlab`` load.
      logs: evenly sampled logs to fit and to measure the error on; default: the standard
        trajectories.
      kp: firmware gain; default: the servo's.
      vin: bus voltage [V]; default: that of the logs, or of the fit's, if it is one; else the
        servo's.
      timestep: time step of the simulation [s].
      output: file that the text is meant for; scripts name the parameter file relative to it.
      report: called with the share of a fit that is done, 0 to 1.

    Raises:
      FitError: unknown form, a form that does not suit the servo's law, or a time step that is not
        positive.
      RecordingError: a log belongs to another servo, is not evenly sampled, or describes no bench.
    """
    if form not in EXPORT_FORMS:
        raise FitError(
            f"there is no export form {form!r}; there are {listing(EXPORT_FORMS)}."
            f"{did_you_mean(form, EXPORT_FORMS)}"
        )
    for name, value, most in (("kp", kp, 1e6), ("vin", vin, 1e3), ("timestep", timestep, 1.0)):
        if value is not None and not 0 < value <= most:
            raise FitError(f"{name} has to be above 0 and at most {most:g}, got {value:g}")
    path = None if path is None else Path(path)
    target = None if output is None else Path(output)
    request = ExportRequest(model, path, logs, kp, vin, timestep, report, target)
    with marked(model.provenance.get(KEY)):
        exported = EXPORT_FORMS[form].export(request)
        kind = Path("x.xml" if exported.text.startswith("<") else "x.py")
        return replace(exported, text=with_mark(kind, exported.text) or exported.text)


export = export_servo
"""The same function: ``trueup.actuators.export(model, "mjcf-dcmotor", logs=logs)``."""


def register_export_form(
    name: str, description: str, export: Callable[[ExportRequest], ServoExport]
) -> None:
    """Add a form to :data:`EXPORT_FORMS`, or replace it."""
    EXPORT_FORMS[name] = ExportForm(description, export)


def _mujoco(request: ExportRequest) -> ServoExport:
    from trueup.actuators.exports.scripts import mujoco_script

    return ServoExport(mujoco_script(request))


def _mjcf_dcmotor(request: ExportRequest) -> ServoExport:
    from trueup.actuators.exports.mjcf import export_mjcf

    return export_mjcf(request, "dcmotor")


def _mjcf_position(request: ExportRequest) -> ServoExport:
    from trueup.actuators.exports.mjcf import export_mjcf

    return export_mjcf(request, "position")


def _mjlab(request: ExportRequest) -> ServoExport:
    from trueup.actuators.exports.scripts import mjlab_configuration

    return ServoExport(mjlab_configuration(request))


def _isaac_lab(request: ExportRequest) -> ServoExport:
    from trueup.actuators.exports.isaac_lab import export_isaac_lab

    return export_isaac_lab(request)


def _full(name: str) -> Callable[[ExportRequest], ServoExport]:
    """A form of :mod:`trueup.actuators.exports.full_modules`, imported when it is called."""

    def export(request: ExportRequest) -> ServoExport:
        from trueup.actuators.exports import full_modules

        return getattr(full_modules, name)(request)

    return export


EXPORT_FORMS: dict[str, ExportForm] = {
    "mujoco": ExportForm("script that runs the whole model at C speed", _mujoco),
    "mjcf-dcmotor": ExportForm("MJCF without code, with the motor and its limits", _mjcf_dcmotor),
    "mjcf-position": ExportForm("MJCF without code, a spring of limited force", _mjcf_position),
    "mjlab": ExportForm("configuration of the actuator, with the whole model", _mjlab),
    "isaac-lab": ExportForm("nearest of its actuator configurations", _isaac_lab),
    "numpy-module": ExportForm(
        "module of numpy with the whole model, without trueup", _full("numpy_module")
    ),
    "isaac-lab-module": ExportForm(
        "actuator class of Isaac Lab with the whole model, without trueup",
        _full("isaac_lab_module"),
    ),
    "mjlab-module": ExportForm(
        "actuator class of mjlab with the whole model, without trueup", _full("mjlab_module")
    ),
    "newton-module": ExportForm(
        "drive of Newton's actuators with the whole model, without trueup", _full("newton_module")
    ),
}
"""Export forms by name, as in ``trueup actuator export --form NAME``."""
