"""Torques that do not cause the motion of their recording: reversed, or at other times.

A torque accelerates the joint against friction, damping, weight and spring: ``torque = inertia
acceleration + viscous velocity + coulomb sign(velocity) + c sin(angle) + d cos(angle) + spring
angle``. The model is fitted to the torque shifted in time, for each shift; the inertia is positive,
and the error smallest without a shift, whatever the actuator does with its command. Where the
model does not explain the torque, as in contact with the environment, nothing is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import ANGLE, VELOCITY

LEAST = 0.01
"""Smallest shift that is reported [s]; sensors and gears delay a torque by less."""

LEAST_SAMPLES = 3
"""Smallest shift that is reported [samples]."""

EXPLAINED = 0.2
"""Largest part of the variance that the model may miss at the best shift."""

GAIN = 0.5
"""Largest ratio of the part missed at a shift to that missed without one."""

INERTIA_SHARE = 0.2
"""Smallest part of the variance that the model misses in addition without acceleration."""

REACH = 0.4
"""Largest shift [s]."""

_EQUAL = 1.1
_ROUNDING = 1e-9
_SMOOTHING = 0.008
_ROWS = 4000
_FEWEST_ROWS = 200


@dataclass(frozen=True)
class MotionFinding:
    """A torque that does not cause the motion of its recording.

    Attributes:
        name: name of the recording; empty where it holds for all.
        delay: time by which the torque follows the motion it causes [s]; 0 where it is reversed.
        sentence: the finding and its mend.
    """

    name: str
    delay: float
    sentence: str
    is_certain: bool = True

    @property
    def is_graded(self) -> bool:
        """Whether it belongs to the verdict."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "recording": self.name,
            "delay": self.delay,
            "certain": self.is_certain,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class _Fit:
    """The best shift of one recording."""

    shift: float
    reversed: bool


def motion_findings(series: Sequence[ActuatorSeries]) -> tuple[list[MotionFinding], set[str]]:
    """Findings on the torques against the motion, of all recordings first, then of single ones.

    Args:
        series: recordings with measured or computed torques.

    Returns:
        The findings, and the names of the recordings that the model explains.
    """
    fits = {each.name: _fitted(each) for each in series if np.ptp(each.torque) > 0}
    known = {name: fit for name, fit in fits.items() if fit is not None}
    found = []
    for kind in ("reversed", "shifted"):
        odd = [n for n, fit in known.items() if (fit.reversed if kind == "reversed" else fit.shift)]
        if not odd:
            continue
        alike = 2 * len(odd) > len(known)
        if kind == "shifted" and alike:
            delay = float(np.median([known[name].shift for name in odd]))
            found.append(MotionFinding("", delay, _late(f"The torque of {_count(odd)}", delay)))
            odd = [n for n in known if abs(known[n].shift - delay) >= 2 * LEAST]
        elif alike:
            found.append(MotionFinding("", 0.0, _reversed(f"The torque of {_count(odd)}")))
            odd = []
        for name in odd:
            if kind == "shifted":
                sentence = _late(f"{name}: the torque", known[name].shift)
                found.append(MotionFinding(name, known[name].shift, sentence))
            else:
                found.append(MotionFinding(name, 0.0, _reversed(f"{name}: the torque")))
    return found, set(known)


def _count(names: Sequence[str]) -> str:
    return f"{len(names)} recordings" if len(names) > 1 else names[0]


def _reversed(what: str) -> str:
    return (
        f"{what} accelerates the joint against its direction: its sign, or that of the angle and "
        "velocity, is reversed. Set data.columns.torque with a scale of -1."
    )


def _late(what: str, delay: float) -> str:
    if delay == 0.0:
        return f"{what} has no delay, unlike that of the others. Correct its times."
    time = f"{1000.0 * abs(delay):.3g} ms"
    side = f"is {time} later" if delay > 0 else f"leads its inputs: it is {time} earlier"
    return (
        f"{what} {side} than the motion that it causes, so their clocks differ. Set "
        f"data.torque_delay={delay:.3g}, or correct the times of the file."
    )


def _fitted(series: ActuatorSeries) -> _Fit | None:
    """The shift that explains the torque, and the sign there; None where none explains it."""
    rate = series.rate
    width = max(1, round(_SMOOTHING * rate))
    if ANGLE not in series.channels:
        return None
    angle = _smooth(series.channels[ANGLE], width)
    velocity = series.channels.get(VELOCITY)
    velocity = np.gradient(angle) * rate if velocity is None else _smooth(velocity, width)
    acceleration = _smooth(np.gradient(velocity) * rate, width)
    torque = _smooth(_smooth(series.torque, width), width)
    reach = min(round(REACH * rate), len(angle) // 4)
    if reach < 1 or velocity.std() <= _ROUNDING * np.abs(velocity).max():
        return None
    first, last = reach + 2 * width, len(angle) - reach - 2 * width
    stride = max(1, math.ceil((last - first) / _ROWS))
    rows = np.arange(first, last, stride)
    if len(rows) < _FEWEST_ROWS:
        return None
    speed = velocity[rows]
    columns = [
        acceleration[rows],
        speed,
        np.tanh(speed / (0.05 * speed.std() + 1e-12)),
        np.sin(angle[rows]),
        np.cos(angle[rows]),
        angle[rows],
    ]
    regressors = np.stack([_scaled(column) for column in columns], axis=1)
    steps = np.arange(-reach, reach + 1)
    shifted = torque[rows[:, None] + steps]
    shifted = shifted - shifted.mean(axis=0)
    power = np.maximum(np.einsum("ij,ij->j", shifted, shifted), 1e-300)
    missed, weights = _missed(regressors, shifted, power)
    # without acceleration neither the sign nor the time is visible
    rest = _missed(regressors[:, 1:], shifted, power)[0]
    least = float(missed.min())
    if least > EXPLAINED:
        return None
    equal = np.flatnonzero(missed <= _EQUAL * least)
    best = int(equal[np.argmin(np.abs(steps[equal]))])
    if rest[best] - missed[best] < INERTIA_SHARE:
        return None
    shift = float(steps[best]) / rate
    if abs(shift) < max(LEAST, LEAST_SAMPLES / rate) or missed[best] > GAIN * missed[reach]:
        shift = 0.0
    return _Fit(shift, bool(weights[0, best] < 0))


def _missed(
    regressors: np.ndarray, shifted: np.ndarray, power: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    gram = regressors.T @ regressors + 1e-6 * len(regressors) * np.eye(regressors.shape[1])
    along = regressors.T @ shifted
    weights = np.linalg.solve(gram, along)
    return np.clip(1.0 - np.einsum("ij,ij->j", along, weights) / power, 1e-6, 1.0), weights


def _scaled(column: np.ndarray) -> np.ndarray:
    centred = column - column.mean()
    deviation = float(centred.std())
    # rounding of a constant
    return centred / deviation if deviation > _ROUNDING * np.abs(column).max() else 0.0 * centred


def _smooth(values: np.ndarray, width: int) -> np.ndarray:
    """Mean over ``2 width + 1`` samples about each."""
    size = 2 * width + 1
    padded = np.pad(values, width, mode="edge")
    return np.convolve(padded, np.full(size, 1.0 / size), mode="valid")
