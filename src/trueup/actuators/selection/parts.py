"""Parts of the logs that a choice of model leaves out in turn: conditions not seen by a fit."""

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
"""Quantities that logs are split by -> setting of a fit that holds their values out."""

MOST_PARTS = 4
"""Parts of one quantity at most: neighbouring values share a part where there are more."""


@dataclass(frozen=True)
class LeftOutPart:
    """Logs that are left out together."""

    label: str
    """Value that these logs share, with the quantity where logs are split by several."""
    rows: tuple[int, ...]
    """Numbers of the logs."""


def split_quantities(logs: Sequence[ServoLog], by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Quantities that logs are split by: those named, or all that vary where None.

    Raises:
      FitError: a quantity that logs cannot be split by.
      RecordingError: a quantity, or every one, has a single value.
    """
    names = tuple(SPLITS) if by is None else (by,) if isinstance(by, str) else tuple(by)
    if unknown := [name for name in names if name not in SPLITS]:
        raise FitError(f"logs cannot be split by {unknown[0]!r}; they can by {listing(SPLITS)}")
    varying = tuple(name for name in names if len({getattr(log, name) for log in logs}) > 1)
    if by is not None and (single := [name for name in names if name not in varying]):
        raise RecordingError(
            f"all {len(logs)} logs have one {single[0]}: a model can only be chosen by {single[0]} "
            "from logs of two or more"
        )
    if not varying:
        listed = "the only log has" if len(logs) == 1 else f"the {len(logs)} logs have"
        raise RecordingError(
            f"{listed} one gain, one mass and one trajectory: which model "
            "predicts other conditions cannot be decided from them. Record other gains, masses or "
            "trajectories, or name a friction model with --model"
        )
    return varying


def left_out_parts(
    logs: Sequence[ServoLog], by: str | Sequence[str] | None = None
) -> tuple[LeftOutPart, ...]:
    """Parts of the logs by each quantity that varies; arguments and errors as above.

    Values are sorted. More than :data:`MOST_PARTS` values make as many parts of neighbours.
    """
    quantities = split_quantities(logs, by)
    found = []
    for name in quantities:
        groups = _groups(sorted({getattr(log, name) for log in logs}))
        for values in groups:
            rows = tuple(i for i, log in enumerate(logs) if getattr(log, name) in values)
            ends = [values[0]] if len(values) == 1 else [values[0], values[-1]]
            label = " to ".join(v if isinstance(v, str) else f"{v:g}" for v in ends)
            found.append(LeftOutPart(label if len(quantities) == 1 else f"{name} {label}", rows))
    return tuple(found)


def _groups(values: list[Any]) -> list[list[Any]]:
    """At most :data:`MOST_PARTS` groups of neighbouring values, the larger ones first."""
    count = min(len(values), MOST_PARTS)
    size, more = divmod(len(values), count)
    ends = [0]
    for number in range(count):
        ends.append(ends[-1] + size + (number < more))
    return [values[a:b] for a, b in itertools.pairwise(ends)]
