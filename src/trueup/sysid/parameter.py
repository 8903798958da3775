"""The module of parameters under the toolbox's name; see :mod:`trueup.parameters`."""

from trueup.parameters import InertiaType, ModifierFn, Parameter, ParameterDict, Prior

__all__ = ["InertiaType", "ModifierFn", "Parameter", "ParameterDict", "Prior"]
