"""What a motor can drive and what drives it back: limits of torque against load, by speed.

The balance is that of the friction models (Duclusaud, Passault, Padois, Ly 2025, "Extended friction
models for the physics simulation of servo actuators", arXiv 2410.08650): friction takes away what
torque it needs to stop the joint, as far as its budget allows. A joint that turns at a constant
speed is at the end of that budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.servo_laws import motor_torque
from trueup.actuators.logs.servo_log import Array
from trueup.errors import FitError

SPEEDS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Speeds of the diagram where none are given [rad/s]."""

_REACH = 4.0  # the load is looked for up to this many times the greatest motor torque
_CELLS, _HALVINGS = 800, 40
_POINTS = 161  # motor torques


@dataclass(frozen=True, eq=False)
class DriveBackdrive:
    """Loads between which a motor torque holds or slows the joint.

    The load is the external torque against the direction in which the motor pushes. Above
    ``backdrive`` the load pushes the motor back, below ``drive`` the motor moves the load; between
    them friction wins: a joint at rest stays, a moving one slows down. Mirrored through the origin
    the diagram is that of the other direction.
    """

    model: ServoModel
    """The model."""
    speeds: Array
    """Speeds of the joint [rad/s], ``(s,)``."""
    motor: Array
    """Motor torques at the output [N m], ``(m,)``, from 0."""
    drive: Array
    """Greatest load [N m] that a motor torque keeps moving at a speed, ``(s, m)``; negative where
    the load has to help."""
    backdrive: Array
    """Smallest load [N m] that keeps moving against a motor torque at a speed, ``(s, m)``; infinite
    where no load does: the gear locks itself."""
    no_load_torque: Array
    """Motor torque [N m] that turns the unloaded joint at each speed, ``(s,)``; infinite where none
    up to the greatest does."""

    @property
    def breakaway_torque(self) -> float:
        """Load [N m] that begins to turn the joint with the motor off; infinite: none does."""
        return self.at_zero_torque(0)

    def at_zero_torque(self, row: int) -> float:
        """Load [N m] that turns the joint at a speed with the motor off."""
        return float(self.backdrive[row, 0])

    def efficiencies(self, row: int) -> tuple[float, float]:
        """Share of the torque that arrives at a speed, at the greatest motor torque.

        Returns:
            Forward, load over motor torque while the motor drives, 0 where it does not; backward,
            motor torque over load while the load drives, 0 where the gear locks itself.
        """
        forward = max(float(self.drive[row, -1] / self.motor[-1]), 0.0)
        return forward, float(self.motor[-1] / self.backdrive[row, -1])


def drive_backdrive(
    model: ServoModel,
    max_torque: float | None = None,
    speeds: Sequence[float] = SPEEDS,
    points: int = _POINTS,
) -> DriveBackdrive:
    """Compute the limits of driving and of backdriving, for all torques and speeds at once.

    Args:
        model: an identified servo model.
        max_torque: greatest motor torque of the diagram [N m]; by default what the servo gives at
            standstill and nominal voltage.
        speeds: speeds of the joint [rad/s], from 0 on.
        points: number of motor torques, at least 2.

    Raises:
        FitError: a torque or speed that is not positive and finite, or too few points.
    """
    top = stall_torque(model) if max_torque is None else float(max_torque)
    if not (top > 0 and np.isfinite(top)):
        raise FitError(f"the greatest torque has to be positive [N m], got {top:g}: --max-torque")
    rates = np.unique(np.asarray(list(speeds), float))
    if rates.size == 0 or not (np.isfinite(rates).all() and rates[0] >= 0):
        raise FitError(f"speeds have to be 0 or positive [rad/s], got {list(speeds)}")
    if points < 2:
        raise FitError(f"a limit needs at least 2 motor torques, got {points}")
    motor = np.linspace(0.0, top, points)
    torque, rate = motor[None, :], rates[:, None]

    def surplus_driving(load: Array, torque: Array = torque) -> Array:
        """What is left of the motor torque [N m] while the joint turns its way."""
        return torque - load - friction_budget(model, torque, -load, rate)

    def surplus_backdriving(load: Array) -> Array:
        """What is left of the load [N m] while the joint turns against the motor."""
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
    """Torque at standstill with a large position error, at nominal voltage [N m]."""
    torque, _ = motor_torque(model.servo, model.values, 1e6, 0.0)
    return float(torque)


def friction_budget(
    model: ServoModel, motor: Array | float, external: Array | float, speed: Array
) -> Array:
    """Torque [N m] that friction can take at a speed [rad/s]; everything broadcasts."""
    loss, damping = model.frictions(motor, external, speed)
    return np.asarray(loss + damping * np.abs(speed))


def first_positive(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Smallest argument from which on the function is positive; infinite where it never is.

    Friction that grows with the load makes the function neither linear nor monotone, so the
    interval is cut into cells first; the crossing within its cell is then found by halving.
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
    """Greatest argument up to which the function is positive; minus infinity where it never is."""
    return -first_positive(lambda x: function(-x), -high, -low)
