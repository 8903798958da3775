"""Limits of driving and backdriving: load torque against motor torque, by speed.

The balance is that of the friction models (Duclusaud, Passault, Padois, Ly 2025, "Extended friction
models for the physics simulation of servo actuators", arXiv 2410.08650): friction is the torque
that stops the joint, up to its budget. A joint that turns at constant speed uses the whole budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.servo_laws import motor_torque
from trueup.actuators.logs.servo_log import Array
from trueup.errors import FitError

SPEEDS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Default speeds of the diagram [rad/s]."""

_REACH = 4.0  # largest load of the search, relative to the greatest motor torque
_CELLS, _HALVINGS = 800, 40
_POINTS = 161  # number of motor torques


@dataclass(frozen=True, eq=False)
class DriveBackdrive:
    """Loads between which a motor torque holds or slows the joint.

    The load is the external torque against the motor. Above ``backdrive`` the load drives the motor
    back, below ``drive`` the motor drives the load; between them friction holds a joint at rest and
    slows a moving one. The diagram of the other direction is its mirror image in the origin.
    """

    model: ServoModel
    """Servo model."""
    speeds: Array
    """Speeds of the joint [rad/s], ``(s,)``."""
    motor: Array
    """Motor torques at the output shaft [N m], ``(m,)``, from 0."""
    drive: Array
    """Greatest load that a motor torque moves at a speed [N m], ``(s, m)``; negative if the load
    must assist."""
    backdrive: Array
    """Smallest load that moves against a motor torque at a speed [N m], ``(s, m)``; infinite if
    the gear is self-locking."""
    no_load_torque: Array
    """Motor torque that turns the unloaded joint at each speed [N m], ``(s,)``; infinite outside
    the range of the search."""

    @property
    def breakaway_torque(self) -> float:
        """Load that starts to turn the joint with the motor off [N m]; infinite if none does."""
        return self.at_zero_torque(0)

    def at_zero_torque(self, row: int) -> float:
        """Load that turns the joint with the motor off [N m], at the speed ``speeds[row]``."""
        return float(self.backdrive[row, 0])

    def efficiencies(self, row: int) -> tuple[float, float]:
        """Efficiencies at the speed ``speeds[row]`` and the greatest motor torque.

        Returns:
            Forward: load over motor torque while the motor drives, 0 if it does not. Backward:
            motor torque over load while the load drives, 0 if the gear is self-locking.
        """
        forward = max(float(self.drive[row, -1] / self.motor[-1]), 0.0)
        return forward, float(self.motor[-1] / self.backdrive[row, -1])


def drive_backdrive(
    model: ServoModel,
    max_torque: float | None = None,
    speeds: Sequence[float] = SPEEDS,
    points: int = _POINTS,
) -> DriveBackdrive:
    """Limits of driving and backdriving, for all torques and speeds at once.

    Args:
        model: identified servo model.
        max_torque: greatest motor torque of the diagram [N m]; default: stall torque at nominal
            voltage.
        speeds: speeds of the joint [rad/s], 0 or positive.
        points: number of motor torques, at least 2.

    Raises:
        FitError: a torque or speed is not positive and finite, or there are too few points.
    """
    top = stall_torque(model) if max_torque is None else float(max_torque)
    if not (top > 0 and np.isfinite(top)):
        raise FitError(f"the greatest torque must be positive [N m], got {top:g}: set --max-torque")
    rates = np.unique(np.asarray(list(speeds), float))
    if rates.size == 0 or not (np.isfinite(rates).all() and rates[0] >= 0):
        raise FitError(f"speeds must be at least 0 [rad/s], got {list(speeds)}")
    if points < 2:
        raise FitError(f"limits require at least 2 motor torques, got {points}")
    motor = np.linspace(0.0, top, points)
    torque, rate = motor[None, :], rates[:, None]

    def surplus_driving(load: Array, torque: Array = torque) -> Array:
        """Surplus of the motor torque [N m] while the joint turns in its direction."""
        return torque - load - friction_budget(model, torque, -load, rate)

    def surplus_backdriving(load: Array) -> Array:
        """Surplus of the load [N m] while the joint turns against the motor."""
        return load - torque - friction_budget(model, torque, -load, rate)

    reach = _REACH * (top + float(friction_budget(model, 0.0, 0.0, rates).max()))
    shape = (rates.size, points)
    drive = _last_positive(surplus_driving, np.full(shape, -reach), np.full(shape, reach))
    back = first_positive(surplus_backdriving, np.zeros(shape), np.full(shape, reach))
    no_load = first_positive(
        lambda torque: surplus_driving(np.zeros_like(torque), torque),
        np.zeros((rates.size, 1)),
        np.full((rates.size, 1), reach),
    )
    return DriveBackdrive(model, rates, motor, drive, back, no_load[:, 0])


def stall_torque(model: ServoModel) -> float:
    """Stall torque at a large position error and nominal voltage [N m]."""
    torque, _ = motor_torque(model.servo, model.values, 1e6, 0.0)
    return float(torque)


def friction_budget(
    model: ServoModel, motor: Array | float, external: Array | float, speed: Array
) -> Array:
    """Friction budget [N m] at a speed [rad/s]; arguments broadcast."""
    loss, damping = model.frictions(motor, external, speed)
    return np.asarray(loss + damping * np.abs(speed))


def first_positive(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Smallest argument at which a function becomes positive; infinite if it never does.

    With load-dependent friction the function is neither linear nor monotone: the first positive
    cell of a grid is found, and the crossing in it by bisection.
    """
    steps = np.linspace(0.0, 1.0, _CELLS + 1).reshape(-1, *[1] * low.ndim)
    positive = function(low + steps * (high - low)) > 0
    found = positive.any(axis=0)
    first = positive.argmax(axis=0)
    right = low + steps.ravel()[first] * (high - low)
    left = low + steps.ravel()[np.maximum(first - 1, 0)] * (high - low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        enough = function(middle) > 0
        left, right = np.where(enough, left, middle), np.where(enough, middle, right)
    return np.where(found, right, np.inf)


def _last_positive(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Greatest argument at which a function is positive; minus infinity if it never is."""
    return -first_positive(lambda x: function(-x), -high, -low)
