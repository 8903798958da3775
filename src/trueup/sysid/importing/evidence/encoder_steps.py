"""Steps of recorded angles, which are evidence of their unit."""

from dataclasses import dataclass

import numpy as np

_TURN = {"deg": 360.0, "rad": 2 * np.pi, "turn": 1.0}
_STEPS = sorted(
    ((turn / 2**bits, unit, 2**bits) for unit, turn in _TURN.items() for bits in range(10, 20)),
    reverse=True,
)
"""Size, unit and counts of a turn of the steps of encoders with 10 to 19 bits."""
_SAMPLES = 400


@dataclass(frozen=True)
class Step:
    """Step of an encoder."""

    unit: str
    """Unit of the recorded values: deg, rad or turn."""
    counts: int
    """Steps of a turn."""

    @property
    def text(self) -> str:
        """Step in words, such as 360/4096 deg."""
        turn = {"deg": "360", "rad": "2 pi", "turn": "1"}[self.unit]
        return f"{turn}/{self.counts} {self.unit}"


def step_of(column: np.ndarray) -> Step | None:
    """Step of the encoder of an angle; None if the values have none, or that of their decimals."""
    finite = column[np.isfinite(column)]
    values = np.unique(finite - finite[:1])
    if len(values) < 20:
        return None
    values = values[:: max(1, len(values) // _SAMPLES)]
    # numbers written with few decimals, and float32, are that far from the true ones
    written = _decimals(finite)
    eps = 1.5e-7 * float(np.max(np.abs(finite)))
    # the coarsest first: 360/4096 is a multiple of 1/1024 too
    for step, unit, counts in _STEPS:
        near = max(2 * written, eps) / step
        if near > 0.15 or (unit == "turn" and _is_written(step, written)):
            continue
        counted = np.round(values / step)
        if len(np.unique(counted)) < 0.5 * len(values):
            continue  # a motion within a few such steps is near one of them in any unit
        off = np.abs(values / step - counted)
        # by chance 2 (near + 0.03) of the values are that close
        if np.mean(off < near + 0.03) > 0.98:
            return Step(unit, counts)
    return None


def _decimals(values: np.ndarray) -> float:
    """Half of the last written decimal, such as 0.00005; 0 for full precision."""
    some = values[:: max(1, len(values) // _SAMPLES)]
    for places in range(8):
        if np.all(np.abs(some * 10**places - np.round(some * 10**places)) < 1e-6 * 10**places):
            return 0.5 * 10.0**-places
    return 0.0


def _is_written(step: float, written: float) -> bool:
    """Whether a step may be that of the written decimals."""
    return written > 0 and step < 20 * written
