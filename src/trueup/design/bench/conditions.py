"""Available loads and gains of the next logs on a servo bench."""

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

_HOLDS = 0.6  # largest torque of a load, as a fraction of the greatest torque of the servo


def usual_condition(logs: Sequence[ServoLog]) -> BenchCondition:
    """Most frequent load and gain of the former logs."""
    found = [BenchCondition(log.mass, log.length, log.kp) for log in logs]
    return max(found, key=found.count)


def conditions_at_hand(source: ServoRun, choices: BenchChoices) -> list[BenchCondition]:
    """Every load that the servo can hold, at every gain.

    Raises:
      FitError: the loads are unknown, or none is light enough for the servo.
    """
    former = source.prepared.training_logs
    heavy = choices.masses or _of(log.mass for log in former)
    long = choices.lengths or _of(log.length for log in former)
    stiff = choices.gains or _of([*standard_gains(source.model.servo), *(log.kp for log in former)])
    if not heavy or not long:
        raise FitError(
            "the former logs have no pendulum: list the available masses and lengths with "
            "masses= and lengths="
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
            f"the servo holds at most {limit / _HOLDS:.3g} N m, but the lightest load requires "
            f"{(min(heavy) + 0.5 * arm) * GRAVITY * min(long):.3g} N m: use lighter masses or "
            f"shorter lengths, up to {limit:.3g} N m"
        )
    return [BenchCondition(m, length, kp) for (m, length), kp in itertools.product(loads, stiff)]


def _of(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted({float(value) for value in values if value > 0}))
