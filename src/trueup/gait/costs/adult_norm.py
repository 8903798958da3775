"""Norm of adult walking on level ground, shipped with the package."""

import functools
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.interpolate import PchipInterpolator

from trueup.errors import GaitError
from trueup.gait.costs.norm_names import ADULT
from trueup.gait.costs.norms import GaitNorm, read_norm
from trueup.gait.costs.reference import GaitReference
from trueup.gait.walk.gait_cycle import Curve

POINTS = 100
"""Number of samples of a curve."""

WIDEST = 0.25
"""Largest difference between target speed and speed of the norm for its use by default [m/s].

Differences between 1.0 or 1.5 m/s and 1.25 m/s are smaller than those between people.
"""

STEEPEST = 1.0
"""Largest slope of level ground [deg]."""


@functools.cache
def adult_norm() -> GaitNorm:
    """Norm at 1.25 m/s: angles, moments and powers of hip, knee and ankle, ground reaction, muscle
    timing.

    Curves of joints are Fourier series; all sources are cited in ``adult_walking.yaml``.
    """
    content = _content()
    angles, moments, powers = {}, {}, {}
    for joint, series in content["joints"].items():
        angle, rate = _series(np.deg2rad(series["angle"]), content["period"])
        moment, _ = _series(np.array(series["moment"]), content["period"])
        deviation = np.full(POINTS, np.deg2rad(content["deviations"][joint]))
        angles[joint] = Curve(angle, deviation)
        moments[joint] = Curve(moment)
        # an extension moment does positive work while the flexion angle decreases
        powers[joint] = Curve(-moment * rate)
    reference = GaitReference(
        content["name"], content["speed"], angles, source=content["source"].strip()
    )
    percent = 100.0 * np.arange(POINTS) / POINTS
    ground = {
        way: Curve(PchipInterpolator(*np.array(points, float).T)(percent))
        for way, points in content["ground_reaction"].items()
    }
    timing = {
        group: tuple((0.01 * begin, 0.01 * end) for begin, end in spans)
        for group, spans in content["timing"].items()
    }
    return GaitNorm(reference, moments, powers, ground, timing)


@functools.cache
def _content() -> dict[str, Any]:
    assert __package__ is not None
    text = resources.files(__package__).joinpath("adult_walking.yaml").read_text("utf-8")
    return yaml.safe_load(text)


WALK_RATIO = 0.0065
"""Walk ratio, step length over cadence [m min]."""

WALKED = (0.6, 2.0)
"""Slowest and fastest walking speed of adults [m/s]."""


def named_norm(name: str | Path, speed: str = "Free") -> GaitNorm:
    """The shipped norm by name, or that of a file.

    Args:
      name: ``adult``, or a file that :func:`trueup.gait.read_norm` reads.
      speed: speed of the norms of Schwartz et al.

    Raises:
      GaitError: the file is missing or not a norm.
    """
    return adult_norm() if str(name) == ADULT else read_norm(name, speed)


def fits_condition(speed: float, slope: float) -> bool:
    """Whether the norm applies to a target speed [m/s] and a slope [deg]."""
    known = adult_norm().reference.speed
    assert known is not None
    return abs(speed - known) <= WIDEST and abs(slope) <= STEEPEST


def adult_steps(speed: float) -> tuple[float, float]:
    """Cadence [steps/min] and step length [m] of adults at a speed [m/s] on level ground.

    The walk ratio, step length over cadence, is constant over speeds (Sekiya and Nagasaki, Gait and
    Posture 7, 1998).

    Raises:
      GaitError: the speed is outside the range of walking.
    """
    slowest, fastest = WALKED
    if not slowest <= speed <= fastest:
        raise GaitError(
            f"the speed is {speed:g} m/s; adults walk at {slowest:g} to {fastest:g} m/s"
        )
    cadence = float(np.sqrt(60.0 * speed / WALK_RATIO))
    return cadence, WALK_RATIO * cadence


def adult_phases() -> tuple[float, float]:
    """Stance and double support of adults as fractions of the gait cycle [0, 1]."""
    content = _content()
    return 0.01 * content["stance"], 0.01 * content["double_support"]


def adult_metabolic_rate(speed: float) -> float:
    """Gross metabolic rate of adults walking on level ground [W/kg].

    Ralston, Int. Z. angew. Physiol. 17 (1958): 29 + 0.0053 v^2 cal/(min kg), v in m/min.

    Args:
      speed: speed [m/s].
    """
    calories = 29.0 + 0.0053 * (60.0 * speed) ** 2
    return calories * 4.184 / 60.0


def _series(coefficients: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """A Fourier series and its derivative at evenly spaced samples of the cycle ``(points,)``."""
    phase = 2.0 * np.pi * np.arange(POINTS) / POINTS
    order = np.arange(1, len(coefficients) // 2 + 1)
    cos, sin = np.cos(order[:, None] * phase), np.sin(order[:, None] * phase)
    a, b = coefficients[1::2], coefficients[2::2]
    pulse = 2.0 * np.pi * order / period
    return coefficients[0] + a @ cos + b @ sin, (b * pulse) @ cos - (a * pulse) @ sin
