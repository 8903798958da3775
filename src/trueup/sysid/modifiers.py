"""Ready ways for the usual unknowns of a robot to enter its model and its measurement.

``set_damping(spec, "elbow", 0.3)`` and its siblings write one number into an ``MjSpec``;
``modifier(set_damping, "elbow")`` makes a parameter's modifier of it. Where no modifier is needed a
target such as ``"joint/elbow/damping"`` says the same and saves the compilations. What belongs to
the measurement (delay, gain and bias of a sensor) is a parameter without a modifier, registered
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
    """Return a parameter's modifier that gives its value to one or several elements.

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
            f"actuator {actuator!r} keeps {element.nsample} samples of its command; a delay of "
            f"{delay:g} s needs {max(needed, 1)}: raise nsample in the MJCF"
        )
    element.delay = delay


def sensor_delay_param(name: str, longest: float, start: float = 0.0) -> Parameter:
    """Make a delay of sensors [s] between 0 and ``longest``; use with ``SignalTransform.delay``."""
    return Parameter(name, start, 0.0, longest, unit="s", description="sensor delay")


def sensor_gain_param(name: str, lowest: float = 0.5, highest: float = 2.0) -> Parameter:
    """Make a factor on sensors, started at 1; use with ``SignalTransform.gain``."""
    return Parameter(name, 1.0, lowest, highest, description="sensor gain")


def sensor_bias_param(name: str, largest: float, unit: str = "") -> Parameter:
    """Make an offset of sensors within ``+-largest``; use with ``SignalTransform.bias``."""
    return Parameter(name, 0.0, -largest, largest, unit=unit, description="sensor bias")


def _set_polynomial(element: Any, attribute: str, value: ArrayLike) -> None:
    setattr(element, attribute, _first_of(getattr(element, attribute), value))


def _first_of(present: ArrayLike, value: ArrayLike) -> np.ndarray:
    """The present numbers with the first ones replaced."""
    numbers = np.array(present, float).reshape(-1)
    given = np.atleast_1d(np.asarray(value, float)).reshape(-1)
    if given.size > numbers.size:
        raise ParameterError(
            f"the attribute takes at most {numbers.size} numbers, got {given.size}"
        )
    numbers[: given.size] = given
    return numbers


def _number(value: ArrayLike) -> float:
    array = np.asarray(value, float)
    if array.size != 1:
        raise ParameterError(f"the attribute takes one number, got {array.size}: {array}")
    return float(array.reshape(-1)[0])


def _element(spec: Any, kind: str, name: str) -> Any:
    element = getattr(plain(spec), kind)(name)
    if element is None:
        names = [e.name for e in getattr(plain(spec), f"{kind}s") if e.name]
        raise TargetError(
            f"the model has no {kind} {name!r}; it has {listing(names)}.{did_you_mean(name, names)}"
        )
    return element
