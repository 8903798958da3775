"""The terms that a walk's cost is made of: what each measures, its unit, and its worst value.

An entry of :data:`TERMS` makes a term known to the weights of a configuration, the help of the
command, costs and reports. What the compiled kernel measures is a member of its ``Measure`` with
the name of the term; any other term brings a function of all walks of a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trueup.gait.walk.records import WalkRecords


@dataclass(frozen=True)
class CostTerm:
    """A term of the cost of a walk."""

    meaning: str
    """What it measures, in words."""
    unit: str
    """Its unit; empty for a pure number."""
    worst: float
    """The largest value that counts, in its unit."""
    measure: "Callable[[WalkRecords, np.ndarray, np.ndarray], np.ndarray] | None" = None
    """Function of the walks, and of the first and last frame ``(n,)`` that is judged of each, to
    values ``(n,)``; NaN counts as the worst. None: the kernel measures it."""


TERMS: dict[str, CostTerm] = {
    "effort": CostTerm(
        "time integral of the squared activations of all muscles, over mass and distance; it does "
        "not depend on the time step",
        "s/(kg m)",
        0.2,
    ),
    "metabolic": CostTerm("energy that the muscles take, over mass and distance", "J/(kg m)", 40.0),
    "velocity": CostTerm(
        "distance of the mean speed over the judged strides from the target", "m/s", 1.0
    ),
    "symmetry": CostTerm(
        "distance between the legs' knees and ankles at touch-down, above its threshold", "m", 0.5
    ),
    "grf": CostTerm("ground reaction above its threshold, mean over time", "body weights", 2.0),
    "pain": CostTerm("torque at the joints' limits, mean over time", "N m/kg", 20.0),
    "scuff": CostTerm(
        "how far the soles come below their clearance in the middle of swing, mean", "m", 0.05
    ),
    "trunk": CostTerm(
        "distance of the trunk from the reference's, or from upright, or its squared rate",
        "rad",
        0.5,
    ),
    "kinematic": CostTerm(
        "distance of hip, knee and ankle from the reference over the cycle, mean", "rad", 1.0
    ),
    "emg": CostTerm("squared distance of activations from the reference, mean", "", 0.5),
}
"""Terms by name, in the order of reports."""


def own_terms(records: "WalkRecords", first: np.ndarray, last: np.ndarray) -> dict[str, np.ndarray]:
    """Values ``(n,)`` of the terms that the kernel does not measure, by name.

    Args:
      records: walks.
      first, last: frames ``(n,)`` that are judged of each walk, from ``first`` to before ``last``;
        NaN of one that was too short.
    """
    short = np.isnan(first)
    begin, end = (np.where(short, 0, frames).astype(np.int64) for frames in (first, last))
    found = {}
    for name, term in TERMS.items():
        if term.measure is not None:
            values = np.asarray(term.measure(records, begin, end), float)
            found[name] = np.where(short, np.nan, values)
    return found
