"""Equations as expression graphs, traced operation by operation from functions of numbers.

A function that is called with :class:`Value` arguments records its operations in a
:class:`Graph`, without duplicates. The graph gives derivatives (:func:`pullback`) and the
source of compiled code (:mod:`trueup.actuators.equations.generation`).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

TINY = 1e-40
"""Smallest argument of a logarithm, in place of 0.

Its powers, and quotients by it, are still normal numbers: subnormal ones slow a processor down a
hundredfold.
"""

COMPARISONS = ("less", "greater", "less_equal", "greater_equal", "equal", "not_equal")
LOGICAL = ("bitwise_and", "bitwise_or")
_NUMBER = int | float | np.floating | np.integer


class Node(NamedTuple):
    """An operation of a graph."""

    operation: str
    """Name of numpy's function; ``input``, ``constant`` or ``external``."""
    operands: tuple[int, ...]
    """Numbers of its operand nodes."""
    content: str | float | None
    """Name of an input, or number of a constant."""


class Graph:
    """Operations on numbers, in topological order.

    Args:
      for_speed: rewrite quotients as products with ``1 / divisor`` and powers as
        ``exp(exponent log(base))``, so that other operations and derivatives can share these terms.
    """

    def __init__(self, for_speed: bool = False) -> None:
        self.for_speed = for_speed
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def input(self, name: str) -> "Value":
        """Input of a name; repeated calls return the same node."""
        return self._add(Node("input", (), name))

    def external(self, name: str, *operands: "Value") -> "Value":
        """Quantity that is computed elsewhere from operands.

        It is an input of its name; its derivatives with respect to the operands are the inputs
        ``name_by_0``, ``name_by_1`` and so on.
        """
        return self._add(Node("external", tuple(v.number for v in operands), name))

    def constant(self, number: float) -> "Value":
        """Constant."""
        return self._add(Node("constant", (), float(number)))

    def value(self, given: Any) -> "Value":
        """Value of this graph, from a value or a number."""
        return given if isinstance(given, Value) else self.constant(given)

    def apply(self, operation: str, *operands: Any) -> "Value":
        """Value of an operation, simplified if an operand is 0 or 1."""
        values = tuple(self.value(operand) for operand in operands)
        simple = _simplified(self, operation, values)
        if simple is not None:
            return simple
        if operation == "true_divide" and self.for_speed and not values[0].is_number(1.0):
            return self.apply("multiply", values[0], self.apply("true_divide", 1.0, values[1]))
        return self._add(Node(operation, tuple(v.number for v in values), None))

    def _add(self, node: Node) -> "Value":
        number = self._known.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return Value(self, number)


class Value:
    """Number of a graph; supports Python's arithmetic and functions of numpy.

    Args:
      graph: its graph.
      number: number of its node.
    """

    def __init__(self, graph: Graph, number: int):
        self.graph, self.number = graph, number

    @property
    def node(self) -> Node:
        """Operation of the value."""
        return self.graph.nodes[self.number]

    def is_number(self, number: float) -> bool:
        """Whether it is this constant."""
        return self.node.operation == "constant" and self.node.content == number

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> "Value":
        if method != "__call__" or options:
            return NotImplemented
        name = {"divide": "true_divide", "logical_and": "bitwise_and"}.get(
            ufunc.__name__, ufunc.__name__
        )
        if name == "power":
            return _power(self.graph, *operands)
        if name not in OPERATIONS:
            raise TypeError(
                f"equations do not support numpy.{name}; supported: {sorted(OPERATIONS)}"
            )
        return self.graph.apply(name, *operands)

    def __array_function__(self, function: Any, types: Any, operands: Any, options: Any) -> "Value":
        if function is not np.where or options:
            raise TypeError(f"equations do not support numpy.{function.__name__}")
        return self.graph.apply("where", *operands)

    def __bool__(self) -> bool:
        raise TypeError("an equation cannot branch on a value: use where(condition, a, b)")

    def __add__(self, other: Any) -> "Value":
        return self.graph.apply("add", self, other)

    def __radd__(self, other: Any) -> "Value":
        return self.graph.apply("add", other, self)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.apply("subtract", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.apply("subtract", other, self)

    def __mul__(self, other: Any) -> "Value":
        return self.graph.apply("multiply", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return self.graph.apply("multiply", other, self)

    def __truediv__(self, other: Any) -> "Value":
        return self.graph.apply("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return self.graph.apply("true_divide", other, self)

    def __neg__(self) -> "Value":
        return self.graph.apply("negative", self)

    def __abs__(self) -> "Value":
        return self.graph.apply("absolute", self)

    def __pow__(self, other: Any) -> "Value":
        return _power(self.graph, self, other)

    def __lt__(self, other: Any) -> "Value":
        return self.graph.apply("less", self, other)

    def __gt__(self, other: Any) -> "Value":
        return self.graph.apply("greater", self, other)

    def __le__(self, other: Any) -> "Value":
        return self.graph.apply("less_equal", self, other)

    def __ge__(self, other: Any) -> "Value":
        return self.graph.apply("greater_equal", self, other)

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return self.graph.apply("equal", self, other)

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return self.graph.apply("not_equal", self, other)

    def __and__(self, other: Any) -> "Value":
        return self.graph.apply("bitwise_and", self, other)

    def __or__(self, other: Any) -> "Value":
        return self.graph.apply("bitwise_or", self, other)

    __hash__ = None  # type: ignore[assignment]


def _power(graph: Graph, base: Any, exponent: Any) -> Value:
    """Power of a nonnegative number; small integer exponents become products."""
    base = graph.value(base)
    if isinstance(exponent, int) and 1 <= exponent <= 4:
        product = base
        for _ in range(exponent - 1):
            product = product * base
        return product
    if graph.for_speed:
        return np.exp(exponent * np.log(np.maximum(base, TINY)))  # type: ignore[no-any-return]
    return graph.apply("power", base, exponent)


def _simplified(graph: Graph, operation: str, values: tuple[Value, ...]) -> Value | None:
    """Simplified value of an operation that needs no computation, or None.

    A product with 0 is 0, which eliminates the terms of absent parameters.
    """
    if all(value.node.operation == "constant" for value in values) and operation != "where":
        numbers = [np.float64(value.node.content) for value in values]
        with np.errstate(all="ignore"):
            return graph.constant(float(OPERATIONS[operation].compute(*numbers)))
    first, second = values[0], values[-1]
    if operation == "add":
        return second if first.is_number(0.0) else first if second.is_number(0.0) else None
    if operation == "subtract":
        if second.is_number(0.0):
            return first
        return -second if first.is_number(0.0) else None
    if operation == "multiply":
        if first.is_number(0.0) or second.is_number(0.0):
            return graph.constant(0.0)
        return second if first.is_number(1.0) else first if second.is_number(1.0) else None
    if operation == "true_divide":
        return first if first.is_number(0.0) or second.is_number(1.0) else None
    if operation == "negative" and first.node.operation == "negative":
        return Value(graph, first.node.operands[0])
    if operation == "where":
        condition, yes, no = values
        if yes.number == no.number:
            return yes
        if condition.node.operation == "constant":
            return yes if condition.node.content else no
    return None


class _Operation(NamedTuple):
    """An operation: its numpy function and its pullback."""

    compute: Callable[..., Any]
    share: Callable[..., Sequence[Any]] | None
    """Pullback: from the adjoint of the result, the result and operands to adjoints of the
    operands."""


def _share_quotient(bar: Value, result: Value, a: Value, b: Value) -> Sequence[Any]:
    inverse = result if a.is_number(1.0) else 1.0 / b
    return bar * inverse, -(bar * result * inverse)


def _share_power(bar: Value, result: Value, a: Any, b: Value) -> Sequence[Any]:
    base = np.maximum(a, TINY)
    by_logarithm = bar * result
    return by_logarithm * b / base, by_logarithm * np.log(base)


OPERATIONS: dict[str, _Operation] = {
    "add": _Operation(np.add, lambda bar, y, a, b: (bar, bar)),
    "subtract": _Operation(np.subtract, lambda bar, y, a, b: (bar, -bar)),
    "multiply": _Operation(np.multiply, lambda bar, y, a, b: (bar * b, bar * a)),
    "true_divide": _Operation(np.true_divide, _share_quotient),
    "negative": _Operation(np.negative, lambda bar, y, a: (-bar,)),
    "absolute": _Operation(np.absolute, lambda bar, y, a: (np.where(a < 0.0, -bar, bar),)),
    "minimum": _Operation(
        np.minimum,
        lambda bar, y, a, b: (np.where(b < a, 0.0, bar), np.where(b < a, bar, 0.0)),
    ),
    "maximum": _Operation(
        np.maximum,
        lambda bar, y, a, b: (np.where(a < b, 0.0, bar), np.where(a < b, bar, 0.0)),
    ),
    "where": _Operation(
        np.where,
        lambda bar, y, c, a, b: (None, np.where(c, bar, 0.0), np.where(c, 0.0, bar)),
    ),
    "exp": _Operation(np.exp, lambda bar, y, a: (bar * y,)),
    "log": _Operation(np.log, lambda bar, y, a: (bar / a,)),
    "power": _Operation(np.power, _share_power),
    "sqrt": _Operation(np.sqrt, lambda bar, y, a: (0.5 * bar / y,)),
    "sin": _Operation(np.sin, lambda bar, y, a: (bar * np.cos(a),)),
    "cos": _Operation(np.cos, lambda bar, y, a: (-(bar * np.sin(a)),)),
    "tanh": _Operation(np.tanh, lambda bar, y, a: (bar * (1.0 - y * y),)),
    "sign": _Operation(np.sign, None),
    **{name: _Operation(getattr(np, name), None) for name in (*COMPARISONS, *LOGICAL)},
}
"""Operations by the names of numpy's functions. Derivatives at a kink are one-sided."""


def pullback(
    outputs: Sequence[tuple[Value, Any]],
    inputs: Sequence[Value],
    independent: Sequence[Value] = (),
) -> list[Value]:
    """Derivatives of a weighted sum of outputs with respect to inputs.

    Reverse-mode differentiation: the adjoint of each operation is computed once, whatever the
    number of inputs.

    Args:
      outputs: values of one graph with their weights.
      inputs: values with respect to which the sum of weights times outputs is differentiated.
      independent: other values that are treated as inputs: no derivative passes through them to
          their operands. They may include inputs.

    Returns:
      A value for each input, in the same graph; a constant 0 if it has no influence.
    """
    graph = outputs[0][0].graph
    held = {value.number for value in independent}
    reached = _depending(graph, [value.number for value in inputs])
    weights: dict[int, Value] = {}

    def weigh(number: int, by: Any) -> None:
        if number in reached and by is not None:
            by = graph.value(by)
            weights[number] = weights[number] + by if number in weights else by

    for value, weight in outputs:
        weigh(value.number, weight)
    for number in range(max((v.number for v, _ in outputs), default=-1), -1, -1):
        node, weight = graph.nodes[number], weights.get(number)
        if weight is None or number in held:
            continue
        if node.operation == "external":
            for k, operand in enumerate(node.operands):
                weigh(operand, weight * graph.input(f"{node.content}_by_{k}"))
        share = OPERATIONS[node.operation].share if node.operation in OPERATIONS else None
        if share is None:
            continue
        operands = [Value(graph, operand) for operand in node.operands]
        for operand, by in zip(
            operands, share(weight, Value(graph, number), *operands), strict=True
        ):
            weigh(operand.number, by)
    return [weights.get(value.number, graph.constant(0.0)) for value in inputs]


def _depending(graph: Graph, inputs: Iterable[int]) -> set[int]:
    """Numbers of the nodes that depend on inputs."""
    found = set(inputs)
    for number, node in enumerate(graph.nodes):
        if not found.isdisjoint(node.operands):
            found.add(number)
    return found


def evaluate(outputs: Sequence[Value], inputs: dict[str, Any]) -> list[Any]:
    """Values of outputs for given inputs, by numpy, for tests and debugging."""
    graph = outputs[0].graph
    computed: list[Any] = []
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.operation == "input":
                computed.append(inputs.get(str(node.content), math.nan))
            elif node.operation == "constant":
                computed.append(node.content)
            else:
                operands = (computed[i] for i in node.operands)
                computed.append(OPERATIONS[node.operation].compute(*operands))
    return [computed[value.number] for value in outputs]
