"""Predefined modifiers and parameters for common unknowns of a robot and its sensors.

``set_damping(spec, "elbow", 0.3)`` and similar functions write one value into an ``MjSpec``;
``modifier(set_damping, "elbow")`` returns a parameter's modifier. A target such as
``"joint/elbow/damping"`` is equivalent and avoids the compilations. Parameters of the measurement
(delay, gain and bias of a sensor) have no modifier and are registered
with a :class:`~trueup.sysid.SignalTransform`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ParameterError, TargetError, did_you_mean, listing
from trueup.parameters import ModifierFn, Parameter
from trueup.simulation.targets.spec_view import plain

SetValue = Callable[[Any, str, Any], object]
"""``function(spec, name of the element, value)``."""


def modifier(function: SetValue, name: str, *more: str) -> ModifierFn:
    """Return a modifier that sets the parameter's value on one or several elements.

    Args:
      function: one of the ``set_`` functions, or :func:`trueup.sysid.apply_pgain` and the like.
      name: name of the element.
      more: names of further elements that get the same value.
    """

    def write(spec: Any, param: Parameter) -> None:
        for element in (name, *more):
            function(spec, element, param.value)

    return write


def set_damping(spec: Any, joint: str, value: ArrayLike) -> None:
    """Set the damping of a joint [N s/m, N m s/rad]: the linear coefficient, or all three."""
    _set_polynomial(_element(spec, "joint", joint), "damping", value)


def set_stiffness(spec: Any, joint: str, value: ArrayLike) -> None:
    """Set the stiffness of a joint [N/m, N m/rad]: the linear coefficient, or all three."""
    _set_polynomial(_element(spec, "joint", joint), "stiffness", value)


def set_armature(spec: Any, joint: str, value: ArrayLike) -> None:
    """Set the armature of a joint [kg, kg m^2]."""
    _element(spec, "joint", joint).armature = _number(value)


def set_frictionloss(spec: Any, joint: str, value: ArrayLike) -> None:
    """Set the dry friction of a joint [N, N m]."""
    _element(spec, "joint", joint).frictionloss = _number(value)


def set_friction(spec: Any, geom: str, value: ArrayLike) -> None:
    """Set the friction of a geom: sliding; or sliding, torsional [m] and rolling [m]."""
    element = _element(spec, "geom", geom)
    element.friction = _first_of(element.friction, value)


def set_pair_friction(spec: Any, pair: str, value: ArrayLike) -> None:
    """Set the friction of a contact pair: both sliding directions, or all five coefficients."""
    element = _element(spec, "pair", pair)
    coefficients = np.atleast_1d(np.asarray(value, float))
    if coefficients.size == 1:
        coefficients = np.repeat(coefficients, 2)
    element.friction = _first_of(element.friction, coefficients)


def set_gear(spec: Any, actuator: str, value: ArrayLike) -> None:
    """Set the gear of an actuator: the first number, or all six."""
    element = _element(spec, "actuator", actuator)
    element.gear = _first_of(element.gear, value)


def set_actuator_delay(spec: Any, actuator: str, value: ArrayLike) -> None:
    """Set the delay of an actuator's command [s].

    Raises:
      TargetError: the actuator has no history buffer, or one too short for the delay.
    """
    element, delay = _element(spec, "actuator", actuator), _number(value)
    needed = int(np.ceil(delay / plain(spec).option.timestep))
    if element.nsample < max(needed, 1):
        raise TargetError(
            f"actuator {actuator!r} has a buffer of {element.nsample} command samples; a delay of "
            f"{delay:g} s requires {max(needed, 1)}: increase nsample in the MJCF"
        )
    element.delay = delay


def sensor_delay_param(name: str, longest: float, start: float = 0.0) -> Parameter:
    """Return a sensor delay [s] between 0 and ``longest``, for ``SignalTransform.delay``."""
    return Parameter(name, start, 0.0, longest, unit="s", description="sensor delay")


def sensor_gain_param(name: str, lowest: float = 0.5, highest: float = 2.0) -> Parameter:
    """Return a sensor gain with start value 1, for ``SignalTransform.gain``."""
    return Parameter(name, 1.0, lowest, highest, description="sensor gain")


def sensor_bias_param(name: str, largest: float, unit: str = "") -> Parameter:
    """Return a sensor bias within ``+-largest``, for ``SignalTransform.bias``."""
    return Parameter(name, 0.0, -largest, largest, unit=unit, description="sensor bias")


def _set_polynomial(element: Any, attribute: str, value: ArrayLike) -> None:
    setattr(element, attribute, _first_of(getattr(element, attribute), value))


def _first_of(present: ArrayLike, value: ArrayLike) -> np.ndarray:
    """The current values with the first ones replaced."""
    numbers = np.array(present, float).reshape(-1)
    given = np.atleast_1d(np.asarray(value, float)).reshape(-1)
    if given.size > numbers.size:
        raise ParameterError(f"expected at most {numbers.size} values, found {given.size}")
    numbers[: given.size] = given
    return numbers


def _number(value: ArrayLike) -> float:
    array = np.asarray(value, float)
    if array.size != 1:
        raise ParameterError(f"the attribute has one value, found {array.size}: {array}")
    return float(array.reshape(-1)[0])


def _element(spec: Any, kind: str, name: str) -> Any:
    element = getattr(plain(spec), kind)(name)
    if element is None:
        names = [e.name for e in getattr(plain(spec), f"{kind}s") if e.name]
        raise TargetError(
            f"the model has no {kind} {name!r}; available: "
            f"{listing(names)}.{did_you_mean(name, names)}"
        )
    return element
