"""The equations as functions of torch tensors, or of numpy arrays.

Each function is traced from equations in the language of
:mod:`trueup.actuators.equations.servo_equations` and written as source, in the subset of Python
that TorchScript and ``torch.export`` support. Numbers that are known at tracing are constants in
the source, so that absent terms of a model and unused results are eliminated.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueup.actuators.equations.generation import function_from, function_source
from trueup.actuators.equations.tracing import OPERATIONS, Graph


def torch_function(
    equation: Callable[..., Any], arguments: Sequence[str], columns: Sequence[str] = ()
) -> Callable[..., Any]:
    """Function of tensors that computes an equation elementwise, with broadcasting.

    Args:
      equation: called with a value per argument and, if there are columns, a dictionary of the
          values of columns by name; returns a value or a tuple of values.
      arguments: names of the arguments. Constants get type and shape of the first one.
      columns: names of parameters that the function receives as one tensor ``(columns,)``, its last
          argument ``c``.

    Returns:
      Function of tensors, which returns a tensor or a tuple of tensors. Results are new tensors,
      unless the equation returns an argument unchanged.
    """
    import torch

    names = {name: getattr(torch, name) for name in OPERATIONS if name != "power"}
    names |= {"power": torch.pow, "clamp": torch.clamp, "full_like": torch.full_like}
    return _function(equation, arguments, columns, names)


def numpy_function(equation: Callable[..., Any], arguments: Sequence[str]) -> Callable[..., Any]:
    """Function of arrays that computes an equation; see :func:`torch_function`."""
    names = {name: operation.compute for name, operation in OPERATIONS.items()}
    return _function(equation, arguments, (), {**names, "clamp": _clamp, "full_like": np.full_like})


def _clamp(values: np.ndarray, min: Any = None, max: Any = None) -> np.ndarray:
    """Values within one bound, like ``torch.clamp``; ``np.clip`` is several times slower for few
    values."""
    return np.minimum(values, max) if min is None else np.maximum(values, min)


def _function(
    equation: Callable[..., Any],
    arguments: Sequence[str],
    columns: Sequence[str],
    names: dict[str, Any],
) -> Callable[..., Any]:
    graph = Graph()
    given: list[Any] = [graph.input(name) for name in arguments]
    if columns:
        given.append({name: graph.input(f"c.{name}") for name in columns})
    found = equation(*given)
    outputs = [graph.value(v) for v in (found if isinstance(found, tuple) else (found,))]
    places = {f"c.{name}": f"c[{place}]" for place, name in enumerate(columns)}
    text = "return " + ", ".join("{}" for _ in outputs)
    name = equation.__name__
    source = function_source(
        name,
        (*arguments, "c") if columns else arguments,
        [(text, outputs)],
        lambda each: places.get(each, each),
        like=arguments[0],
    )
    # TorchScript derives the name of a function from its module
    return function_from(source, name, {"__name__": __name__, "math": math, **names})
