"""Terms of the cost of a walk, with description, unit and worst value.

An entry of :data:`TERMS` registers a term for the weights of a configuration, the help of the
command, costs and reports. A term of the compiled kernel is a member of its ``Measure`` with the
same name; any other term has a function of all walks of a batch.
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
    """Description of the measured quantity."""
    unit: str
    """Unit; empty for a dimensionless term."""
    worst: float
    """Saturation value, in its unit."""
    measure: "Callable[[WalkRecords, np.ndarray, np.ndarray], np.ndarray] | None" = None
    """Function of the walks and of their first and last evaluated frames ``(n,)`` that returns
    values ``(n,)``; NaN counts as the worst. None: measured by the kernel."""


TERMS: dict[str, CostTerm] = {
    "effort": CostTerm(
        "time integral of the squared activations of all muscles, per mass and distance; "
        "independent of the time step",
        "s/(kg m)",
        0.2,
    ),
    "metabolic": CostTerm(
        "metabolic energy of the muscles, per mass and distance", "J/(kg m)", 40.0
    ),
    "velocity": CostTerm(
        "deviation of the mean speed over the evaluated strides from the target", "m/s", 1.0
    ),
    "symmetry": CostTerm(
        "difference of knee and ankle positions between the legs at touch-down, above its "
        "threshold",
        "m",
        0.5,
    ),
    "variation": CostTerm(
        "change of knee and ankle positions at touch-down from stride to stride, root mean square",
        "m",
        0.2,
    ),
    "grf": CostTerm("ground reaction above its threshold, mean over time", "body weights", 2.0),
    "pain": CostTerm("torque of the joint limits, mean over time", "N m/kg", 20.0),
    "scuff": CostTerm(
        "deficit of the height of the soles from the clearance in mid-swing, mean", "m", 0.05
    ),
    "trunk": CostTerm(
        "deviation of the trunk from the reference or from upright, or its squared rate",
        "rad",
        0.5,
    ),
    "kinematic": CostTerm(
        "deviation of hip, knee and ankle from the reference over the cycle, mean", "rad", 1.0
    ),
    "timed": CostTerm(
        "deviation of hip, knee and ankle from the reference in time: from the phase of the start "
        "on, at the cadence of adults, mean; defined before the first stride",
        "rad",
        0.6,
    ),
    "emg": CostTerm("squared deviation of activations from the reference, mean", "", 0.5),
}
"""Terms by name, in the order of reports."""


def own_terms(records: "WalkRecords", first: np.ndarray, last: np.ndarray) -> dict[str, np.ndarray]:
    """Values ``(n,)`` of the terms outside the kernel, by name.

    Args:
      records: walks.
      first, last: evaluated frames ``(n,)`` of each walk, from ``first`` to before ``last``; NaN
        for walks that are too short.
    """
    short = np.isnan(first)
    begin, end = (np.where(short, 0, frames).astype(np.int64) for frames in (first, last))
    found = {}
    for name, term in TERMS.items():
        if term.measure is not None:
            values = np.asarray(term.measure(records, begin, end), float)
            found[name] = np.where(short, np.nan, values)
    return found
