"""Hold servo logs out of a fit by gain, by mass, or by trajectory."""

from collections.abc import Callable, Sequence

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, did_you_mean, listing

_SAME_GAIN, _SAME_MASS = 1e-9, 1e-3  # relative; masses are written with three digits or eight

Values = float | str | Sequence[float] | Sequence[str] | None


def split_logs(
    logs: Sequence[ServoLog],
    *,
    kp: float | Sequence[float] | None = None,
    mass: float | Sequence[float] | None = None,
    trajectory: str | Sequence[str] | None = None,
) -> tuple[list[ServoLog], list[ServoLog]]:
    """Split logs into those to fit and those to judge by.

    A log is held out if it has one of the gains, one of the masses or one of the trajectories.

    Args:
        logs: the logs.
        kp: gain or gains to hold out, in the unit of the servo.
        mass: mass or masses to hold out [kg], as precise as 0.1 %.
        trajectory: name or names of trajectories to hold out.

    Returns:
        Training and held-out logs, each in their order.

    Raises:
        RecordingError: a value occurs in no log (those that do are listed), or nothing would be
            left to fit.
    """
    held_out: set[int] = set()
    for name, values, same in (
        ("kp", kp, _close(_SAME_GAIN)),
        ("mass", mass, _close(_SAME_MASS)),
        ("trajectory", trajectory, lambda a, b: a == b),
    ):
        for value in _several(values):
            found = [i for i, log in enumerate(logs) if same(getattr(log, name), value)]
            if not found:
                raise RecordingError(_unknown(name, value, logs))
            held_out.update(found)
    if len(held_out) == len(logs):
        raise RecordingError(
            f"all {len(logs)} logs would be held out and none left to fit: hold out fewer"
        )
    training = [log for i, log in enumerate(logs) if i not in held_out]
    return training, [logs[i] for i in sorted(held_out)]


def _unknown(name: str, value: float | str, logs: Sequence[ServoLog]) -> str:
    known = dict.fromkeys(getattr(log, name) for log in logs)
    if name == "trajectory":
        found = listing(sorted(known)) + "." + did_you_mean(str(value), known)
    else:
        found = ", ".join(f"{v:g}" for v in sorted(known))
    first = logs[0].source if logs else "the logs"
    value = value if isinstance(value, str) else f"{value:g}"
    return f"{name} {value} occurs in none of the {len(logs)} logs ({first} ...); they have {found}"


def _several(values: Values) -> list:
    if values is None:
        return []
    if isinstance(values, (str, int, float)):
        return [values]
    return list(values)


def _close(tolerance: float) -> Callable[[float, float], bool]:
    return lambda a, b: bool(np.isclose(a, b, rtol=tolerance, atol=0.0))
