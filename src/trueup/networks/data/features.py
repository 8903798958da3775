"""Signals that a learned actuator can use as inputs, by name, with their units.

The first three are the default, in the order that deployed networks of this kind expect
(``FEATURE_NAMES`` of their data sets).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueup.errors import ColumnError, did_you_mean, listing

if TYPE_CHECKING:  # the help of commands lists features without numpy
    import numpy as np


@dataclass(frozen=True)
class Feature:
    """One signal: its name, unit and description."""

    name: str
    unit: str
    label: str
    """Short name for a figure's axis."""
    description: str
    signed: bool = True
    """Whether its sign changes where the motion is mirrored."""
    deployable: bool = True
    """Whether a simulator supplies it: commands, motion, gains, supply and load; False for signals
    that only the hardware measures."""


ANGLE = "current_angle_rad"
TARGET_ANGLE = "target_angle_rad"
VELOCITY = "current_ang_vel_rad_s"
ANGLE_ERROR = "angle_error_rad"
TARGET_VELOCITY = "target_ang_vel_rad_s"
COMMANDED_TORQUE = "commanded_torque_nm"
CURRENT = "current_a"
VOLTAGE = "voltage_v"
TEMPERATURE = "temperature_c"
INERTIA = "inertia_kg_m2"
POSITION_GAIN = "position_gain"
DERIVATIVE_GAIN = "derivative_gain"

FEATURES = {
    feature.name: feature
    for feature in (
        Feature(ANGLE, "rad", "angle", "measured joint angle"),
        Feature(TARGET_ANGLE, "rad", "target angle", "commanded joint angle"),
        Feature(VELOCITY, "rad/s", "velocity", "measured joint velocity"),
        Feature(ANGLE_ERROR, "rad", "angle error", "commanded minus measured joint angle"),
        Feature(TARGET_VELOCITY, "rad/s", "target velocity", "commanded joint velocity"),
        Feature(COMMANDED_TORQUE, "N m", "commanded torque", "torque commanded to the motor"),
        Feature(CURRENT, "A", "current", "measured motor current", deployable=False),
        Feature(VOLTAGE, "V", "voltage", "measured supply voltage", False),
        Feature(TEMPERATURE, "degC", "temperature", "measured motor temperature", False, False),
        Feature(INERTIA, "kg m2", "inertia", "inertia of the load, constant in a recording", False),
        Feature(POSITION_GAIN, "1", "gain", "proportional gain in units of the firmware", False),
        Feature(DERIVATIVE_GAIN, "1", "kd", "derivative gain in units of the firmware", False),
    )
}
"""Name -> feature."""

FEATURE_NAMES = (ANGLE, TARGET_ANGLE, VELOCITY)
"""Default features of a network, in order."""

SIMULATOR_FEATURE_NAMES = (ANGLE_ERROR, VELOCITY)
"""Inputs of the network actuators of Isaac Lab and mjlab, in their order ``pos_vel``."""


def not_deployable(names: Iterable[str]) -> tuple[str, ...]:
    """Features that no simulator supplies."""
    return tuple(name for name in names if not FEATURES[name].deployable)


def check_feature_names(names: tuple[str, ...]) -> None:
    """Refuse unknown or repeated features.

    Raises:
      ColumnError: a feature is unknown or repeated, or the list is empty.
    """
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        raise ColumnError(
            f"unknown feature {listing(unknown)}.{did_you_mean(unknown[0], FEATURES)} "
            f"Available: {listing(FEATURES)}"
        )
    if not names or len(set(names)) != len(names):
        raise ColumnError(
            f"features must be a non-empty list without duplicates; found {listing(names)}"
        )


def with_derived(channels: "dict[str, np.ndarray]") -> "dict[str, np.ndarray]":
    """Channels with the derived ones: the angle error, or the target angle from it."""
    known = dict(channels)
    if ANGLE in known:
        if TARGET_ANGLE in known and ANGLE_ERROR not in known:
            known[ANGLE_ERROR] = known[TARGET_ANGLE] - known[ANGLE]
        elif ANGLE_ERROR in known and TARGET_ANGLE not in known:
            known[TARGET_ANGLE] = known[ANGLE_ERROR] + known[ANGLE]
    return known
