"""Physical quantities of links with unknown inertia: mass, centre of mass, principal moments."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from scipy.special import ndtri

from trueup.errors import TargetError
from trueup.parameters import InertiaType, Parameter, ParameterDict
from trueup.simulation.targets.body_inertia import Inertial, inertial_from_value, inertial_of

QUANTITIES = (
    ("mass", "kg"),
    ("centre x", "m"),
    ("centre y", "m"),
    ("centre z", "m"),
    ("moment 1", "kg m^2"),
    ("moment 2", "kg m^2"),
    ("moment 3", "kg m^2"),
)
"""Quantities of a link and their units: the mass, the centre of mass in the frame of the body, and
the principal moments about it in falling order."""

_STEP = 1e-6  # of a difference, relative to a value or absolute below one
_OF_PRIOR = 0.7  # share of the standard deviation of the prior above which the prior decides


def link_rows(
    parameters: ParameterDict,
    models: Sequence[mujoco.MjModel],
    covariance: np.ndarray,
    level: float,
) -> list[dict[str, Any]]:
    """One record per free parameter that is the inertia of a body.

    Args:
      parameters: parameters at their estimates.
      models: compiled models at the start; the first one with the body gives its CAD values.
      covariance: covariance of all free elements in parameter units ``(p, p)``.
      level: coverage of the intervals.

    Returns:
      ``body``, ``parameter`` and ``quantities``: for each of :data:`QUANTITIES` that is unknown
      ``name``, ``unit``, ``value``, ``half_width``, ``cad``, and ``from_data``, whether the
      recordings determine it more closely than the prior. Half-widths are infinite where neither
      does, and NaN without an optimum.
    """
    rows, first = [], 0
    deviations = ndtri(0.5 + 0.5 * level)
    for param in parameters.free:
        block = slice(first, first + param.size)
        first += param.size
        base = _base(models, param)
        if base is None:
            continue
        value = param.as_vector()
        slope, found = _slope(base, param, value)
        spread = np.sqrt(_variances(slope, covariance[block, block]))
        prior = np.full(len(found), np.inf)
        if param.prior is not None:
            sd = np.array([sd for _, sd in param.prior.elements(param.size)])
            prior = np.sqrt(_variances(slope, np.diag(sd**2)))
        cad = _numbers(base, param, np.ravel(param.nominal)[None])[0]
        rows.append(
            {
                "body": param.inertia_body,
                "parameter": param.name,
                "quantities": [
                    {
                        "name": name,
                        "unit": unit,
                        "value": found[k],
                        "half_width": deviations * spread[k],
                        "cad": cad[k],
                        "from_data": bool(spread[k] < _OF_PRIOR * prior[k]),
                    }
                    for k, (name, unit) in enumerate(QUANTITIES)
                    if np.any(slope[k])
                ],
            }
        )
    return rows


def _base(models: Sequence[mujoco.MjModel], param: Parameter) -> Inertial | None:
    """Inertia of the body of a parameter; None if it is not an inertia."""
    if param.inertia_type is None or not param.inertia_body:
        return None
    for model in models:
        try:
            return inertial_of(model, param.inertia_body)
        except TargetError:  # another variant has it
            continue
    return None


def _numbers(base: Inertial, param: Parameter, values: np.ndarray) -> np.ndarray:
    """The quantities ``(n, 7)`` of parameter values ``(n, size)``."""
    kind = param.inertia_type or InertiaType.Mass
    scaled = bool(getattr(param, "scale_rot_inertia", False))
    found = inertial_from_value(base, kind, scaled, values)
    moments = np.sort(found["body_inertia"], axis=1)[:, ::-1]
    return np.concatenate([found["body_mass"], found["body_ipos"], moments], axis=1)


def _slope(base: Inertial, param: Parameter, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the quantities ``(7, size)`` by central differences, and their values."""
    steps = np.diag(_STEP * np.maximum(np.abs(value), 1.0))
    points = np.concatenate([value + steps, value - steps, value[None]])
    found = _numbers(base, param, points)
    size = len(value)
    slope = (found[:size] - found[size : 2 * size]).T / (2.0 * np.diag(steps))
    # a difference of rounding errors is no dependence
    floor = 1e-8 * np.abs(found[-1])[:, None]
    return np.where(np.abs(slope) > floor, slope, 0.0), found[-1]


def _variances(slope: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Variances of the quantities ``(7,)``; infinite where an element of theirs is undetermined."""
    unknown = np.isinf(np.diag(covariance))
    known = np.where(unknown[:, None] | unknown, 0.0, covariance)
    out = np.einsum("ki,ij,kj->k", slope, known, slope)
    out = np.where(np.isnan(out), np.nan, np.maximum(out, 0.0))
    return np.where((slope[:, unknown] != 0).any(axis=1), np.inf, out)
