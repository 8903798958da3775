"""The equations as functions of torch tensors.

Each function is traced from equations in the language of
:mod:`trueup.actuators.equations.servo_equations` and written as source, in the subset of Python
that TorchScript and ``torch.export`` take. Numbers that are known when it is traced stand in the
source, so terms that a model does not have are left out.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from trueup.actuators.equations.generation import function_from, function_source
from trueup.actuators.equations.tracing import OPERATIONS, Graph

_NAMES: dict[str, Any] = {
    "math": math,
    "clamp": torch.clamp,
    "full_like": torch.full_like,
    "power": torch.pow,
    **{name: getattr(torch, name) for name in OPERATIONS if name != "power"},
}


def torch_function(
    equation: Callable[..., Any], arguments: Sequence[str], columns: Sequence[str] = ()
) -> Callable[..., Any]:
    """Function of tensors that computes an equation; element by element, and they broadcast.

    Args:
      equation: takes a value for each argument and, where there are columns, a dictionary of the
        values of columns by name; returns a value or a tuple of values.
      arguments: names of its arguments. Constants take type and shape of the first one.
      columns: names of parameters that the function takes as one tensor ``(columns,)``, its last
        argument ``c``.

    Returns:
      Function of tensors, which returns a tensor or a tuple of tensors. Results are new tensors,
      except where the equation returns an argument as it is.
    """
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
        torch=arguments[0],
    )
    # TorchScript names a function after its module
    return function_from(source, name, {"__name__": __name__, **_NAMES})
