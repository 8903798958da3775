"""Logs and parameter files of a comparison of servo models."""

from dataclasses import dataclass, replace

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.logs.splits import split_logs
from trueup.actuators.search.run_logs import RunLogs
from trueup.actuators.selection.parts import split_quantities
from trueup.actuators.selection.spec import ComparisonSpec
from trueup.actuators.selection.user_models import fitted_to, user_models
from trueup.errors import ParameterError, RecordingError, listing


@dataclass(frozen=True)
class ComparisonInputs:
    """Checked inputs of a comparison."""

    logs: RunLogs
    """All logs."""
    training_logs: list[ServoLog]
    """Training logs."""
    held_out_logs: list[ServoLog]
    """Held-out logs."""
    given: dict[str, ServoModel]
    """Models of the parameter files, by label."""
    servo: Servo | str
    """Servo of the fits."""
    chooses: bool
    """Whether friction model and extended terms are selected too."""
    notes: tuple[str, ...] = ()
    """Reason if they are not."""

    def seen_before(self) -> list[str]:
        """Warnings on files that were fitted to logs that are held out here."""
        notes = []
        for label, model in self.given.items():
            if seen := fitted_to(model, self.held_out_logs):
                notes.append(
                    f"{label} was fitted to {listing(seen, 3)}, which are held out here: its "
                    "held-out error is optimistic"
                )
        return notes


def read_inputs(spec: ComparisonSpec) -> ComparisonInputs:
    """Read and check models and logs.

    Raises:
      TrueupError: invalid input.
    """
    spec.load_catalogue()
    logs, fit = spec.run_logs(), spec.settings.fit
    name = spec.actuator
    given = user_models(list(spec.params), servo=name, logs=logs.logs, anyway=spec.anyway)
    training, held_out = split_logs(
        logs.logs,
        kp=fit.validation_kp,
        mass=fit.validation_mass,
        trajectory=fit.validation_trajectory,
    )
    servo = _servo_of_fits(spec, given, training)
    found = ComparisonInputs(logs, training, held_out, given, servo, chooses=False)
    return _with_choice(spec, found)


def _servo_of_fits(
    spec: ComparisonSpec, given: dict[str, ServoModel], training: list[ServoLog]
) -> Servo | str:
    """The given servo, or that of the parameter files, or of the logs."""
    if spec.servo_or_name is not None:
        return spec.servo_or_name
    servos = {model.servo.name: model.servo for model in given.values()}
    if len(servos) > 1 and spec.settings.models:
        raise ParameterError(
            f"the parameter files are of several servos, {listing(servos)}: select one with "
            "--actuator"
        )
    return next(iter(servos.values()), training[0].motor)


def _with_choice(spec: ComparisonSpec, found: ComparisonInputs) -> ComparisonInputs:
    """Inputs, with whether the training logs support a selection of extended terms.

    Raises:
      RecordingError: the selection is requested, but all logs have the same conditions.
    """
    settings = spec.settings
    if settings.extended is False or not settings.models:
        return found
    try:
        split_quantities(found.training_logs, settings.split_by)
    except RecordingError:
        if settings.extended or settings.try_terms is not None or settings.split_by is not None:
            raise
        reason = (
            "only friction models are compared: the training logs have one gain, one mass and one "
            "trajectory, which cannot distinguish extended terms"
        )
        return replace(found, notes=(reason,))
    return replace(found, chooses=True)
