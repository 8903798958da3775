"""Extended terms that a model selection tries, by servo and logs."""

from collections.abc import Sequence

from trueup.actuators.assess.measured_gain import RATIO, gain_is_measured
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import check_terms, terms_for
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings

_MEASURED = {"measured_voltage": "input_volts", "resistance_temperature": "temperature"}


def suitable_terms(
    servo: str | Servo,
    logs: Sequence[ServoLog],
    settings: FitSettings,
    terms: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Extended terms that a selection tries: the given ones, or all that servo and logs support.

    Raises:
      FitError: unknown term, or one that does not apply to the servo.
    """
    model = ServoModel.create(servo, "m1")
    law = model.servo.law
    if terms is not None:
        return tuple(
            t for t in check_terms(terms, law, model.servo.name) if t not in settings.terms
        )
    own = {parameter.name for parameter in model.servo.parameters}
    return tuple(
        term
        for term in terms_for(law)
        if term not in own
        and term not in settings.terms
        and not (term == "backlash" and settings.scheme == "bam")
        and not (term == RATIO and gain_is_measured(logs, model.servo))
        and all(getattr(log, _MEASURED.get(term, "times")) is not None for log in logs)
    )
