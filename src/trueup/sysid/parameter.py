"""Alias of :mod:`trueup.parameters` under the toolbox's name."""

from trueup.parameters import InertiaType, ModifierFn, Parameter, ParameterDict, Prior

__all__ = ["InertiaType", "ModifierFn", "Parameter", "ParameterDict", "Prior"]
