"""Torques that lead or lag their inputs.

A linear model of a short history of the inputs is fitted to the torque shifted in time, for each
shift up to a second. Over recordings of one actuator the error is smallest near the delay of the
actuator and its sensors. A torque that leads its inputs belongs to another clock: no actuator acts
before its command. Where no shift explains the torque, nothing is said; of shifts that explain it
equally well, as those of a periodic motion, the smallest counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.networks.data.actuator_series import ActuatorSeries

LEAST = 0.03
"""Smallest shift that is reported [s]; commands and filters delay a torque by less."""

LEAST_APART = 0.05
"""Smallest difference of the delay of one recording from that of the others [s]."""

LEAST_SAMPLES = 3
"""Smallest shift that is reported [samples]."""

LONG = 0.1
"""Lag that no filter or command gives [s]."""

EXPLAINED = 0.5
"""Largest part of the variance that a shifted linear model may miss."""

GAIN = 0.5
"""Largest ratio of the part missed at a shift to that missed without one."""

DIFFERENCE = 0.05
"""Smallest difference of these parts."""

_EQUAL = 1.1
"""Ratio of errors of shifts that explain a torque equally well."""

_REACH = 1.0
_HISTORY = (0.0, 0.01, 0.02)
_STRIDE = 0.005
_ROWS = 4000
_RIDGE = 1e-4


@dataclass(frozen=True)
class TorqueTiming:
    """A torque at other times than its inputs.

    Attributes:
        name: name of the recording; empty where it holds for all.
        delay: time by which the torque follows its inputs [s]; negative where it leads.
        is_certain: whether no actuator explains it.
        sentence: the finding and its mend.
    """

    name: str
    delay: float
    is_certain: bool
    sentence: str

    @property
    def is_graded(self) -> bool:
        """Whether it belongs to the verdict; a network learns the delay of a filter."""
        return bool(self.name) or self.delay < 0.0 or self.delay > LONG

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "recording": self.name,
            "delay": self.delay,
            "certain": self.is_certain,
            "graded": self.is_graded,
            "sentence": self.sentence,
        }


def torque_timing(
    series: Sequence[ActuatorSeries], features: tuple[str, ...]
) -> list[TorqueTiming]:
    """Shifts of torques against their inputs: of all recordings first, then of single ones.

    Args:
        series: recordings of one rate.
        features: inputs of the network.

    Returns:
        Findings; empty where recordings are too short or a linear model explains nothing.
    """
    curves = {each.name: _missed(each, features) for each in series if np.ptp(each.torque) > 0}
    curves = {name: curve for name, curve in curves.items() if curve is not None}
    if not curves:
        return []
    rate = series[0].rate
    count = min(len(shifts) for shifts, _ in curves.values()) // 2
    shifts = _middle(next(iter(curves.values()))[0], count)
    missed = {name: _middle(curve, count) for name, (_, curve) in curves.items()}
    missed = {name: curve for name, curve in missed.items() if curve.min() <= EXPLAINED}
    if not missed:
        return []
    common = _best(shifts, np.median(list(missed.values()), axis=0), 0.0, rate)
    found = [] if common is None else [_of_all(common)]
    if len(missed) < 3:
        return found
    expected = common or 0.0
    own = {name: _best(shifts, curve, expected, rate) for name, curve in missed.items()}
    odd = [(n, d) for n, d in own.items() if d is not None and abs(d - expected) >= LEAST_APART]
    if 2 * len(odd) < len(own):
        found += [_of_one(name, delay, expected) for name, delay in odd]
    return found


def _of_all(delay: float) -> TorqueTiming:
    mend = f"If its clock or its sensor is the cause, set data.torque_delay={delay:.3g}"
    if delay < 0:
        return TorqueTiming(
            "",
            delay,
            True,
            f"The torque leads its inputs by {_milliseconds(-delay)}: no actuator acts before its "
            f"command, so their clocks differ. Set data.torque_delay={delay:.3g}.",
        )
    return TorqueTiming(
        "",
        delay,
        delay > LONG,
        f"The torque is late: it follows its inputs by {_milliseconds(delay)}, and the network "
        f"learns that as a delay of the actuator. {mend}.",
    )


def _of_one(name: str, delay: float, expected: float) -> TorqueTiming:
    difference = delay - expected
    direction = "later" if difference > 0 else "earlier"
    return TorqueTiming(
        name,
        delay,
        True,
        f"{name}: its torque is {_milliseconds(abs(difference))} {direction} than the inputs of "
        "the other recordings say: its delay differs. Correct its times, or remove the "
        "recording.",
    )


def _milliseconds(seconds: float) -> str:
    return f"{1000.0 * seconds:.3g} ms"


def _middle(values: np.ndarray, count: int) -> np.ndarray:
    centre = len(values) // 2
    return values[centre - count : centre + count + 1]


def _best(shifts: np.ndarray, missed: np.ndarray, expected: float, rate: float) -> float | None:
    """Shift that explains clearly more than the expected one [s]; None where there is none."""
    least = float(missed.min())
    equal = np.flatnonzero(missed <= _EQUAL * least)
    best = int(equal[np.argmin(np.abs(shifts[equal] - expected))])
    # the smallest error near the shift, of those that explain the torque equally well
    near = np.flatnonzero(np.abs(shifts - shifts[best]) <= LEAST)
    best = int(near[np.argmin(missed[near])])
    reported = max(LEAST, LEAST_SAMPLES / rate)
    now = missed[int(np.argmin(np.abs(shifts - expected)))]
    if abs(shifts[best] - expected) < reported - 1e-9:
        return None
    if missed[best] > min(EXPLAINED, GAIN * now, now - DIFFERENCE):
        return None
    return float(shifts[best])


def _missed(
    series: ActuatorSeries, features: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Shifts [s] and the part of the variance that a linear model misses at each."""
    lags = [round(lag * series.rate) for lag in _HISTORY]
    lags = sorted({max(lag, k) for k, lag in enumerate(lags)})
    inputs = series.features(features)
    stride = max(1, round(_STRIDE * series.rate))
    usable = len(series) - lags[-1]
    reach = min(round(_REACH * series.rate), usable // 4) // stride
    if reach < 1:
        return None
    first, last = lags[-1] + reach * stride, len(series) - reach * stride
    rows = np.arange(first, last, math.ceil((last - first) / _ROWS))
    if len(rows) < 10 * len(lags) * inputs.shape[1]:
        return None
    history = np.concatenate([inputs[rows - lag] for lag in lags], axis=1)
    history = history - history.mean(axis=0)
    scale = history.std(axis=0)
    scale[scale <= 1e-12 * max(float(scale.max()), 1e-300)] = np.inf
    history = history / scale
    steps = stride * np.arange(-reach, reach + 1)
    torque = series.torque[rows[:, None] + steps]
    torque = torque - torque.mean(axis=0)
    gram = history.T @ history + _RIDGE * len(rows) * np.eye(history.shape[1])
    along = history.T @ torque
    explained = np.einsum("ij,ij->j", along, np.linalg.solve(gram, along))
    power = np.maximum(np.einsum("ij,ij->j", torque, torque), 1e-300)
    return steps / series.rate, np.clip(1.0 - explained / power, 1e-6, 1.0)
