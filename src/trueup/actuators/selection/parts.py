"""Cross-validation parts of the logs, each with conditions that the fit to the others lacks."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, RecordingError, listing

SPLITS = {
    "kp": "validation_kp",
    "mass": "validation_mass",
    "trajectory": "validation_trajectory",
}
"""Quantities that logs are split by -> setting of a fit that holds out their values."""

MOST_PARTS = 4
"""Greatest number of parts of a quantity: of more values, neighbours share a part."""


@dataclass(frozen=True)
class HeldOutPart:
    """Logs that are held out together."""

    label: str
    """Common value of these logs, with the quantity if logs are split by several."""
    rows: tuple[int, ...]
    """Numbers of the logs."""


def split_quantities(logs: Sequence[ServoLog], by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Quantities that split the logs: the given ones, or all that vary if None.

    Raises:
      FitError: a quantity that logs cannot be split by.
      RecordingError: a quantity, or every one, has a single value.
    """
    names = tuple(SPLITS) if by is None else (by,) if isinstance(by, str) else tuple(by)
    if unknown := [name for name in names if name not in SPLITS]:
        raise FitError(f"logs cannot be split by {unknown[0]!r}; available: {listing(SPLITS)}")
    varying = tuple(name for name in names if len({getattr(log, name) for log in logs}) > 1)
    if by is not None and (single := [name for name in names if name not in varying]):
        raise RecordingError(
            f"all {len(logs)} logs have the same {single[0]}: a selection by {single[0]} requires "
            "logs of at least two"
        )
    if not varying:
        listed = (
            "the only log has one gain, one mass and one trajectory"
            if len(logs) == 1
            else f"the {len(logs)} logs have the same gain, mass and trajectory"
        )
        raise RecordingError(
            f"{listed}: which model "
            "predicts other conditions cannot be determined from them. Record other gains, masses "
            "or trajectories, or select a friction model with --model"
        )
    return varying


def cross_validation_parts(
    logs: Sequence[ServoLog], by: str | Sequence[str] | None = None
) -> tuple[HeldOutPart, ...]:
    """Parts of the logs by each quantity that varies; arguments and exceptions as above.

    Values are sorted. More than :data:`MOST_PARTS` values are grouped into that many parts of
    neighbours.
    """
    quantities = split_quantities(logs, by)
    found = []
    for name in quantities:
        groups = _groups(sorted({getattr(log, name) for log in logs}))
        for values in groups:
            rows = tuple(i for i, log in enumerate(logs) if getattr(log, name) in values)
            ends = [values[0]] if len(values) == 1 else [values[0], values[-1]]
            label = " to ".join(v if isinstance(v, str) else f"{v:g}" for v in ends)
            found.append(HeldOutPart(label if len(quantities) == 1 else f"{name} {label}", rows))
    return tuple(found)


def _groups(values: list[Any]) -> list[list[Any]]:
    """At most :data:`MOST_PARTS` groups of neighbouring values, the larger ones first."""
    count = min(len(values), MOST_PARTS)
    size, more = divmod(len(values), count)
    ends = [0]
    for number in range(count):
        ends.append(ends[-1] + size + (number < more))
    return [values[a:b] for a, b in itertools.pairwise(ends)]
