"""Split servo logs into training and held-out logs by gain, mass or trajectory."""

from collections.abc import Callable, Sequence

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, did_you_mean, listing

_SAME_GAIN, _SAME_MASS = 1e-9, 1e-3  # relative: files give masses with three digits or with eight

Values = float | str | Sequence[float] | Sequence[str] | None


def split_logs(
    logs: Sequence[ServoLog],
    *,
    kp: float | Sequence[float] | None = None,
    mass: float | Sequence[float] | None = None,
    trajectory: str | Sequence[str] | None = None,
) -> tuple[list[ServoLog], list[ServoLog]]:
    """Split logs into training and held-out logs.

    A log is held out if it has one of the gains, masses or trajectories.

    Args:
        logs: the logs.
        kp: gain or gains to hold out, in firmware units.
        mass: mass or masses to hold out [kg], within 0.1 %.
        trajectory: name or names of trajectories to hold out.

    Returns:
        Training logs and held-out logs, in the given order.

    Raises:
        RecordingError: a value occurs in no log (the message lists those that do), or no training
            log would remain.
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
            f"all {len(logs)} logs would be held out, with none left to fit: hold out fewer"
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
