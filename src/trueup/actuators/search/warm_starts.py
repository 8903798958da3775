"""Optima of other models as start values of a fit."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from trueup.actuators.equations.extended_terms import ABSENT, EXTENDED_TERMS
from trueup.actuators.equations.friction_models import STRIBECK_SHAPE
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.parameters import Space

_ONE_FOR_TWO = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": (
        "load_friction_motor_stribeck",
        "load_friction_external_stribeck",
    ),
}
_TWO_FOR_ONE = {name: one for one, pair in _ONE_FOR_TWO.items() for name in pair}
_APART = 0.01  # distance relative to the ranges below which two starts are equal
_VALUES = 7  # number of values of a new term
_SWITCHED = 4  # number of values of a switching term, in addition to those of a scan

SWITCHING = ("current_limit", "max_velocity", "backlash")
"""Terms with zero derivative where they do not act: a descent cannot find them from there."""


def converted_values(
    values: Mapping[str, float], parameters: Sequence[ModelParameter], names: Sequence[str]
) -> np.ndarray:
    """Values of one model converted to the unknowns of another ``(p,)``, within bounds.

    A richer model starts as the simpler one: friction that the latter lacks is 0, terms are absent.
    A simpler one gets the mean of parameters that it merges.

    Args:
      values: values by name.
      parameters: parameters of the other model.
      names: its unknowns.
    """
    known = {parameter.name: parameter for parameter in parameters}
    out = []
    for name in names:
        parameter = known[name]
        if name in values:
            value = values[name]
        elif name in _TWO_FOR_ONE and _TWO_FOR_ONE[name] in values:
            value = values[_TWO_FOR_ONE[name]]
        elif name in _ONE_FOR_TWO and set(_ONE_FOR_TWO[name]) <= set(values):
            value = float(np.mean([values[each] for each in _ONE_FOR_TWO[name]]))
        elif name in EXTENDED_TERMS:
            value = ABSENT[name]
        elif parameter.lower <= 0.0 and name not in STRIBECK_SHAPE:
            value = 0.0
        else:
            value = parameter.initial
        out.append(min(max(value, parameter.lower), parameter.upper))
    return np.array(out)


def term_values(parameter: ModelParameter) -> np.ndarray:
    """Start values of a term over its range, including its own."""
    lowest = max(parameter.lower, (parameter.upper - parameter.lower) / 200.0)
    return np.unique([parameter.initial, *np.geomspace(lowest, parameter.upper, _VALUES)])


def with_term_values(
    point: np.ndarray, parameter: ModelParameter, names: Sequence[str]
) -> np.ndarray:
    """A point with each start value of a term in turn ``(k, p)``."""
    values = term_values(parameter)
    out = np.repeat(point[None, :], len(values), axis=0)
    out[:, list(names).index(parameter.name)] = values
    return out


def with_switching_terms(point: np.ndarray, space: Space) -> np.ndarray:
    """A point with values over the range of each switching term in turn ``(k, p)``.

    Args:
      point: good values of the unknowns ``(p,)``.
      space: the unknowns.
    """
    names = list(space.names)
    out = []
    for name in SWITCHING:
        if name in names:
            place = names.index(name)
            lower, upper = space.lower[place], space.upper[place]
            for value in np.geomspace(max(lower, upper / 50.0), upper, _SWITCHED):
                out.append(np.where(np.arange(len(names)) == place, value, point))
    return np.array(out).reshape(-1, len(names))


def distinct(points: Iterable[np.ndarray], space: Space, count: int) -> np.ndarray:
    """First ``count`` distinct points ``(k, p)``."""
    lower, upper = space.search_bounds
    span = np.where(upper > lower, upper - lower, 1.0)
    kept: list[np.ndarray] = []
    for point in points:
        if len(kept) == count:
            break
        here = space.to_search(point) / span
        if all(np.abs(here - space.to_search(other) / span).max() > _APART for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, space.size)
