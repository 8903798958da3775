"""Recordings that contradict the others: reversed torque, other units, torque of other inputs.

A linear model of a few samples is fitted to each recording alone, and predicts every other one. The
slope of the measured torque over the prediction is 1 for recordings of one actuator; it is -1
where the torque is reversed, and 1000 where one is in N m and the other in mN m. Recordings are
linked where they predict each other. What is linked to none of the majority contradicts it; without
a majority, recordings that predict each other with another sign or scale contradict each other.
Where inputs do not predict the torque, nothing is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.networks.data.actuator_series import ActuatorSeries

RELATED = 0.5
"""Smallest correlation of prediction and torque of recordings that predict each other."""

FACTOR = 3.0
"""Largest slope, or inverse slope, of linked recordings; loads and gains differ by less."""

REVERSED = 0.7
"""Correlation from which, with the other sign, a torque is reversed; and from which, with another
slope, it has another unit."""

WELL_RELATED = 0.8
"""Correlation that chance does not give: of linked recordings of which only one predicts the other,
and of a majority that an unrelated recording contradicts."""

_MOST = 16
"""Number of recordings that predict all others; more are chosen evenly."""

_LAGS = 3
_RIDGE = 1e-4

_UNITS = {1000.0: "N m and mN m", 180.0 / math.pi: "degrees and radians", 9.80665: "N m and kgf m"}


@dataclass(frozen=True)
class Contradiction:
    """A recording that contradicts the others.

    Attributes:
        name: name of the recording.
        slope: slope of its torque over the prediction of the others; NaN where they are unrelated.
        correlation: correlation of its torque with that prediction.
        sentence: the finding and its likely cause.
    """

    name: str
    slope: float
    correlation: float
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """The contradiction as JSON values."""
        return {
            "recording": self.name,
            "slope": self.slope,
            "correlation": self.correlation,
            "certain": self.is_certain,
            "sentence": self.sentence,
        }

    @property
    def is_certain(self) -> bool:
        """Whether another sign or scale is certain, rather than another actuator or motion."""
        return abs(self.correlation) >= REVERSED


def contradictions(
    series: Sequence[ActuatorSeries], features: tuple[str, ...]
) -> list[Contradiction]:
    """Recordings whose torque contradicts that of the others, in their order.

    Args:
        series: recordings of one rate.
        features: inputs of the network.

    Returns:
        Contradictions; both sides where neither is a majority. Empty for fewer than two recordings
        that move.
    """
    moving = [each for each in series if np.ptp(each.torque) > 0 and len(each) > 4 * _LAGS]
    if len(moving) < 2:
        return []
    correlation, slope = _predicted_by_each_other(moving, features)
    alike = (slope >= 1.0 / FACTOR) & (slope <= FACTOR)
    linked = (correlation >= RELATED) & alike
    # one recording may predict another by chance: both ways, or well
    linked = (linked & linked.T) | ((correlation >= WELL_RELATED) & alike)
    linked |= linked.T
    certain = (np.abs(correlation) >= REVERSED) & ~alike & ~linked
    majority = _largest_set(linked)
    if 2 * len(majority) <= len(moving):
        majority = np.zeros(0, int)
    inner = correlation[np.ix_(majority, majority)][linked[np.ix_(majority, majority)]]
    found = []
    for number, each in enumerate(moving):
        if number in majority:
            continue
        by = majority if len(majority) else np.flatnonzero(certain[:, number])
        by = by[np.isfinite(correlation[by, number])]
        if not len(by):
            continue
        r, s = float(np.median(correlation[by, number])), float(np.median(slope[by, number]))
        has_other_scale = abs(r) >= REVERSED and not 1.0 / FACTOR <= s <= FACTOR
        is_unrelated = r < RELATED and len(inner) and np.nanmedian(inner) >= WELL_RELATED
        if has_other_scale or is_unrelated:
            found.append(Contradiction(each.name, s, r, _sentence(each.name, r, s, len(majority))))
    return found


def _sentence(name: str, correlation: float, slope: float, majority: int) -> str:
    others = f"{majority} other recordings agree on" if majority else "others predict"
    what = f"{name}: its torque is not what {others} for its inputs"
    if correlation <= -REVERSED:
        return (
            f"{what}, but {slope:.3g} times that: its sign, or that of its inputs, is reversed. "
            "Correct it, or remove the recording."
        )
    if correlation >= REVERSED and not 1.0 / FACTOR <= slope <= FACTOR:
        ratio = max(slope, 1.0 / slope)
        units = [text for factor, text in _UNITS.items() if abs(math.log(ratio / factor)) < 0.3]
        cause = f" ({units[0]} differ by that)" if units else ""
        return (
            f"{what}, but {slope:.3g} times that{cause}: its units differ. Set them, or remove "
            "the recording."
        )
    return (
        f"{what} (correlation {correlation:.2f}). Check that its torque and inputs belong "
        "together, and that it is of the same actuator, or remove the recording."
    )


def _predicted_by_each_other(
    series: Sequence[ActuatorSeries], features: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Correlation and slope of each torque over its prediction ``(n, n)``: by row, of column.

    NaN on the diagonal, and for recordings that predict no other.
    """
    count = len(series)
    lags = [_lagged(each.features(features)) for each in series]
    torque = [each.torque[_LAGS - 1 :] for each in series]
    correlation, slope = np.full((count, count), np.nan), np.full((count, count), np.nan)
    for i in np.unique(np.linspace(0, count - 1, min(count, _MOST)).round().astype(int)):
        weights = _fitted(lags[i], torque[i])
        for j in range(count):
            if i == j:
                continue
            predicted = (lags[j] - lags[j].mean(axis=0)) @ weights
            measured = torque[j] - torque[j].mean()
            power = float(predicted @ predicted)
            if power <= 0.0:
                continue
            along = float(predicted @ measured)
            correlation[i, j] = along / math.sqrt(power * float(measured @ measured))
            slope[i, j] = along / power
    return correlation, slope


def _fitted(lags: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Weights of a ridge regression, about the means."""
    centred = lags - lags.mean(axis=0)
    scale = centred.std(axis=0)
    scale[scale <= 1e-12 * max(float(scale.max()), 1e-300)] = np.inf
    scaled = centred / scale
    gram = scaled.T @ scaled + _RIDGE * len(scaled) * np.eye(scaled.shape[1])
    return np.linalg.solve(gram, scaled.T @ (torque - torque.mean())) / scale


def _lagged(values: np.ndarray) -> np.ndarray:
    """History of each sample from index ``_LAGS - 1``."""
    windows = np.lib.stride_tricks.sliding_window_view(values, _LAGS, axis=0)
    return windows.reshape(len(windows), -1)


def _largest_set(linked: np.ndarray) -> np.ndarray:
    """Indices of the largest connected set of a symmetric matrix of links."""
    left, largest = set(range(len(linked))), np.zeros(0, int)
    while left:
        found, fresh = set(), {min(left)}
        while fresh:
            found |= fresh
            fresh = {int(j) for i in fresh for j in np.flatnonzero(linked[i])} - found
        left -= found
        if len(found) > len(largest):
            largest = np.array(sorted(found))
    return largest
