"""Equations as torch source code with parameters that are read at each call.

A function takes states and ``p``, whose attributes are the parameters: numbers, or tensors that
broadcast. It is traced from the text of the equations, as in :mod:`trueup.deploy.servo_source`
for a servo with known parameters.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from trueup.actuators.equations._parameter_layout import NEUTRAL
from trueup.actuators.equations.generation import function_source
from trueup.actuators.equations.tracing import Graph

FUNCTIONS = '''
def minimum(first, second):
    """The smaller one of tensors or numbers."""
    return _bounded(first, second, torch.minimum, "max", min)


def maximum(first, second):
    """The larger one of tensors or numbers."""
    return _bounded(first, second, torch.maximum, "min", max)


def _bounded(first, second, of_tensors, bound, of_numbers):
    if not isinstance(first, torch.Tensor):
        first, second = second, first
    if not isinstance(first, torch.Tensor):
        return of_numbers(first, second)
    if isinstance(second, torch.Tensor):
        return of_tensors(first, second)
    return first.clamp(**{bound: second})


def clamp(values, min=None, max=None):
    """Tensors or numbers within one bound."""
    return minimum(values, max) if min is None else maximum(values, min)


def absolute(values):
    """Absolute value of tensors or numbers."""
    return abs(values)
'''
"""Functions that the source calls, which accept numbers as operands; see :func:`torch_imports`."""

_TORCH = ("exp", "full_like", "power", "sign", "sin", "sqrt", "tanh", "where", "zeros_like")


def torch_imports(source: str) -> tuple[str, ...]:
    """Imports of a module with functions of :func:`parameter_function` and :data:`FUNCTIONS`."""
    called = [name for name in _TORCH if re.search(rf"\b{name}\(", source)]
    names = ("pow as power" if name == "power" else name for name in called)
    return "import torch", f"from torch import {', '.join(names)}"


class _Recorded:
    """Parameters of a traced equation: an input for each that it reads.

    Args:
      graph: the graph.
      absent: names of parameters without effect.
    """

    def __init__(self, graph: Graph, absent: Collection[str]):
        self._graph, self._absent = graph, absent
        self.inputs: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._absent:
            return self._graph.constant(NEUTRAL.get(name, 0.0))
        self.inputs[f"p.{name}"] = None
        return self._graph.input(f"p.{name}")


def parameter_function(
    name: str,
    equation: Callable[..., Any],
    arguments: Sequence[str],
    absent: Collection[str] = (),
) -> str:
    """Source of a function of states and parameters, ``name(*arguments, p)``.

    Args:
      name: name of the function.
      equation: takes a value for each argument and the parameters; returns a value or a tuple.
      arguments: names of the states; results have type and shape of the first one at least.
      absent: parameters without effect, which are eliminated.
    """
    graph = Graph()
    p = _Recorded(graph, absent)
    found = equation(*(graph.input(each) for each in arguments), p)
    outputs = [graph.value(v) for v in (found if isinstance(found, tuple) else (found,))]
    text = "return " + ", ".join("{}" for _ in outputs)
    return function_source(
        name, (*arguments, "p"), [(text, outputs)], like=arguments[0], numbers=p.inputs
    )
