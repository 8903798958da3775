"""Intervals from fits without parts of the logs (jackknife), for models with a systematic error.

The noise of the sensors determines the error of an estimate if the model is right. A wrong model
gives other values for other recordings, however many samples there are. Fits without each part of
the recordings measure that spread: the jackknife with ``g`` parts (Quenouille, "Notes on bias in
estimation", Biometrika 43, 1956; Tukey 1958) has the variance ``(g - 1) / g * sum((z_i - mean)^2)``
and the quantile of Student's t with ``g - 1`` degrees of freedom.

Parts share the value of a quantity (log, gain, mass, trajectory) with four values or more.
With fewer logs, parts are blocks of time. An interval is the widest over these quantities.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from trueup.actuators.assess.start_noise import motions, start_noise_sizes
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted
from trueup.actuators.selection.parts import SPLITS
from trueup.parameters import Space

LEAST_PARTS = 4
"""Smallest number of parts; the spread of fewer is not informative."""

MOST_PARTS = 12
"""Greatest number of parts of a quantity; neighbouring values share a part."""

BLOCKS = 8
"""Number of time blocks, if there are too few logs."""

MODEL_ERROR = 3.0
"""Ratio of residuals to noise of the position sensor above which the model counts as wrong."""


ReportStep = Callable[[str, float | None], None]
"""Progress callback: description of the step and fraction done."""


def no_report(words: str, share: float | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class JackknifeSpread:
    """Spread of the values of fits without parts of the logs."""

    quantities: tuple[str, ...]
    """Quantities that define the parts: ``log``, ``kp``, ``mass``, ``trajectory`` or ``time``."""
    parts: int
    """Number of fits."""
    standard_errors: np.ndarray
    """Standard errors in search coordinates ``(p,)``, the largest over the quantities."""
    half_widths: np.ndarray
    """Half-widths of the intervals in search coordinates ``(p,)``, likewise."""

    @property
    def sentence(self) -> str:
        """Sentence on the source of the intervals."""
        names = {"kp": "gain", "log": "log", "time": "block of time"}
        left_out = " and each ".join(names.get(name, name) for name in self.quantities)
        return (
            "the residuals are errors of the model, not noise of the sensors: the intervals cover "
            f"the spread of {self.parts} fits without each {left_out} in turn"
        )

    def widened(self, ends: np.ndarray, space: Space, x: np.ndarray) -> np.ndarray:
        """Intervals ``(p, 2)`` that cover these ``ends (p, 2)`` and the spread around ``x (p,)``.

        An end stays within the bounds of its parameter.
        """
        lower, upper = space.search_bounds
        z = space.to_search(x)
        low = np.maximum(z - self.half_widths, np.minimum(lower, z))
        high = np.minimum(z + self.half_widths, np.maximum(upper, z))
        own = np.array(space.unclipped(np.array([low, high]))).T
        return np.column_stack(
            [np.minimum(ends[:, 0], own[:, 0]), np.maximum(ends[:, 1], own[:, 1])]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"quantities": list(self.quantities), "fits": self.parts}


def model_error(problem: ServoProblem, x: np.ndarray) -> float:
    """Ratio of position residuals to sensor noise; NaN if the noise is unknown.

    The noise is estimated from differences of successive residuals, in which model errors
    nearly cancel.
    """
    data = problem.simulator.data
    found = [motion[0] for motion in motions(problem, x[None, :])]
    errors = [
        motion[:, 0] - data.measured[0, data.log_samples(number)]
        for number, motion in enumerate(found)
    ]
    size = float(np.mean([np.nanmean(error**2) for error in errors]))
    noise = float(np.mean(start_noise_sizes(problem, found)[0] ** 2))
    return float(np.sqrt(size / noise)) if noise > 0 else np.nan


def jackknife_spread(
    problem: ServoProblem,
    x: np.ndarray,
    logs: Sequence[ServoLog],
    level: float,
    report: ReportStep = no_report,
) -> JackknifeSpread:
    """Fit without parts of the logs, each fit from the optimum of all.

    Args:
      problem: the problem of all logs.
      x: its optimum ``(p,)``.
      logs: its logs.
      level: coverage of the intervals.
      report: called before each fit with a description and the fraction done.

    Raises:
      KeyboardInterrupt: the user pressed Ctrl-C.
    """
    space = problem.space
    errors, widths, made = np.zeros(space.size), np.zeros(space.size), 0
    parts = jackknife_parts(problem, logs)
    total = sum(map(len, parts.values()))
    for masks in parts.values():
        ends = []
        for number, mask in enumerate(masks, made + 1):
            report(f"intervals: fit {number} of {total} to parts of the logs", number / total)
            ends.append(space.to_search(refitted(_WithoutPart(problem, mask), x)))
        count = len(ends)
        error = np.sqrt((count - 1) * np.var(ends, axis=0))
        quantile = stdtrit(count - 1, 0.5 + 0.5 * level)
        errors, widths = np.maximum(errors, error), np.maximum(widths, quantile * error)
        made += count
    return JackknifeSpread(tuple(parts), made, errors, widths)


def jackknife_parts(
    problem: ServoProblem, logs: Sequence[ServoLog]
) -> dict[str, list[list[np.ndarray]]]:
    """Samples that each fit excludes: for each quantity and part, a mask ``(T,)`` per log."""
    values = {"log": range(len(logs))}
    values |= {name: [getattr(log, name) for log in logs] for name in SPLITS}
    found: dict[str, list[list[np.ndarray]]] = {}
    groupings: set[tuple[int, ...]] = set()
    for name, given in values.items():
        distinct = sorted(set(given))
        if len(distinct) < LEAST_PARTS:
            continue
        shared = min(len(distinct), MOST_PARTS)
        part_of = {value: i * shared // len(distinct) for i, value in enumerate(distinct)}
        numbers = tuple(part_of[value] for value in given)
        if numbers in groupings:
            continue  # a quantity that differs in every log splits them as "log" does
        groupings.add(numbers)
        found[name] = [
            [np.full(len(log), n == part) for n, log in zip(numbers, logs, strict=True)]
            for part in range(shared)
        ]
    if found:
        return found
    ends = np.linspace(0.0, 1.0, BLOCKS + 1)
    shares = [np.arange(len(log)) / len(log) for log in logs]
    pairs = itertools.pairwise(ends)
    return {"time": [[(share >= a) & (share < b) for share in shares] for a, b in pairs]}


class _WithoutPart(ServoProblem):
    """A servo problem that excludes some samples."""

    def __init__(self, problem: ServoProblem, left_out: Sequence[np.ndarray]):
        super().__init__(problem.simulator, problem.objective)
        self._left_out = left_out

    def shares(self, number: int) -> np.ndarray:
        """Weight of each residual of a log ``(rows,)``; 0 for excluded ones."""
        kept = np.repeat(~self._left_out[number], len(self._channels))
        return np.where(kept, super().shares(number), 0.0)
