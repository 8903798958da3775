"""Friction torque of a servo model against speed, at several loads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array
from trueup.actuators.report._drive_backdrive import first_positive, friction_budget, stall_torque
from trueup.errors import FitError

NEAR_STANDSTILL = (
    "friction_stribeck",
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
    "load_friction_motor_quad",
    "load_friction_external_quad",
)
"""Parameters of friction near standstill."""

_REACH = 10.0  # largest torque of the search, relative to load plus stall torque


@dataclass(frozen=True, eq=False)
class FrictionCurves:
    """Friction torque while the motor drives a load at constant speed."""

    speeds: Array
    """Speeds [rad/s], ``(s,)``."""
    loads: Array
    """Loads against the motor [N m], ``(k,)``."""
    friction: Array
    """Friction torque [N m], ``(k, s)``; infinite if the gear is self-locking."""
    stribeck: Array
    """Stribeck part of the friction torque [N m], ``(k, s)``; 0 for M1 and M3."""


def friction_curves(
    model: ServoModel, loads: Sequence[float] | None = None, speeds: Sequence[float] | None = None
) -> FrictionCurves:
    """Friction torque while the motor drives loads at constant speeds.

    The motor torque balances load and friction, including load-dependent friction.

    Args:
        model: identified servo model.
        loads: loads against the motor [N m]; default: 0, 25, 50 and 75 % of the stall torque.
        speeds: speeds [rad/s]; default: 0 to 6, denser near 0.

    Raises:
        FitError: a speed is negative, or a value is not finite.
    """
    top = stall_torque(model)
    at = np.asarray([0.0, 0.25 * top, 0.5 * top, 0.75 * top] if loads is None else loads, float)
    rates = np.asarray(6.0 * np.linspace(0.0, 1.0, 121) ** 2 if speeds is None else speeds, float)
    if not (np.isfinite(at).all() and np.isfinite(rates).all() and (rates >= 0).all()):
        raise FitError(
            "friction curves require finite loads [N m] and finite speeds of at least 0 [rad/s]"
        )
    friction = _overcome(model, at[:, None], rates[None, :])
    names = [name for name in NEAR_STANDSTILL if name in model.names]
    if not names:
        return FrictionCurves(rates, at, friction, np.zeros_like(friction))
    without = _overcome(model.with_values(**dict.fromkeys(names, 0.0)), at[:, None], rates[None, :])
    part = np.where(np.isfinite(friction), friction - without, np.inf)
    return FrictionCurves(rates, at, friction, part)


def _overcome(model: ServoModel, load: Array, speed: Array) -> Array:
    """Friction torque [N m] at the motor torque that balances the load at the speed."""
    shape = np.broadcast_shapes(load.shape, speed.shape)
    start = np.broadcast_to(load, shape).copy()
    idle = friction_budget(model, 0.0, -load, speed)
    reach = _REACH * (np.abs(load) + stall_torque(model) + idle)

    def surplus(torque: Array) -> Array:
        return torque - load - friction_budget(model, torque, -load, speed)

    return first_positive(surplus, start, start + reach) - start
