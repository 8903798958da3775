"""Parameters of a fit: bounds, scales, ties and priors, and parameter files.

:class:`Parameter` and :class:`ParameterDict` contain the values that a fit estimates; the inertia
functions map the ten inertial parameters of a rigid body to coordinates in which every point is
physically consistent.
"""

from trueup.parameters.inertia import (
    InertiaType,
    inertial_from_theta,
    theta_from_inertial,
)
from trueup.parameters.parameter import ModifierFn, Parameter, Prior
from trueup.parameters.parameter_dict import ParameterDict
from trueup.parameters.space import Space

__all__ = [
    "InertiaType",
    "ModifierFn",
    "Parameter",
    "ParameterDict",
    "Prior",
    "Space",
    "inertial_from_theta",
    "theta_from_inertial",
]
