"""What is unknown: parameters with bounds, scales, ties and priors, and their files.

:class:`Parameter` and :class:`ParameterDict` carry the values that a fit moves; the inertia
functions map the ten numbers of a rigid body to coordinates in which every point is physical.
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
