"""Loads and gains of a servo bench that the next logs may have."""

import itertools
from collections.abc import Iterable, Sequence

from trueup.actuators.bench.loads import GRAVITY
from trueup.actuators.catalogue.greatest_torque import greatest_torque
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record import standard_gains
from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.family import BenchCondition
from trueup.errors import FitError
from trueup.knowledge.servo_run import ServoRun

_HOLDS = 0.6  # share of the greatest torque that a load may need


def usual_condition(logs: Sequence[ServoLog]) -> BenchCondition:
    """Load and gain that most of the former logs have."""
    found = [BenchCondition(log.mass, log.length, log.kp) for log in logs]
    return max(found, key=found.count)


def conditions_at_hand(source: ServoRun, choices: BenchChoices) -> list[BenchCondition]:
    """Every load that the servo can hold, at every gain.

    Raises:
      FitError: no load is known, or none is light enough for the servo.
    """
    former = source.prepared.training_logs
    heavy = choices.masses or _of(log.mass for log in former)
    long = choices.lengths or _of(log.length for log in former)
    stiff = choices.gains or _of([*standard_gains(source.model.servo), *(log.kp for log in former)])
    if not heavy or not long:
        raise FitError(
            "the former logs have no pendulum: give masses and lengths of the pendulums at hand"
        )
    limit = _HOLDS * greatest_torque(source.model, former[0].vin)
    arm = former[0].arm_mass
    loads = [
        (m, length)
        for m, length in itertools.product(heavy, long)
        if (m + 0.5 * arm) * GRAVITY * length <= limit
    ]
    if not loads:
        raise FitError(
            f"the servo holds {limit / _HOLDS:.3g} N m at most, and the lightest load needs "
            f"{(min(heavy) + 0.5 * arm) * GRAVITY * min(long):.3g} N m: give lighter masses or "
            f"shorter lengths, up to {limit:.3g} N m"
        )
    return [BenchCondition(m, length, kp) for (m, length), kp in itertools.product(loads, stiff)]


def _of(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted({float(value) for value in values if value > 0}))
