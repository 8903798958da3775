"""Source code of functions that compute values of a graph, for numba and torch."""

import linecache
import math
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from trueup.actuators.equations.tracing import Graph, Node, Value

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "less": "<", "greater": ">",
    "less_equal": "<=", "greater_equal": ">=", "equal": "==", "not_equal": "!=", "bitwise_and": "&",
    "bitwise_or": "|",
}  # fmt: skip
_TWICE = ("minimum", "maximum", "sign", "where")
"""Operations that evaluate an operand twice in numba source."""


def needed(outputs: Iterable[Value]) -> list[int]:
    """Numbers of the nodes of values and of their dependencies, in the order of computation."""
    outputs = list(outputs)
    graph, waiting = outputs[0].graph, [value.number for value in outputs]
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            if graph.nodes[number].operation != "external":
                waiting += graph.nodes[number].operands
    return sorted(found)


class Printer:
    """Writer of graph nodes as expressions.

    A node that is used once is inlined into that expression; others are assigned to names.

    Args:
      graph: the graph.
      place_of: function from an input's name to its expression.
      like: name of a tensor or array with the type and shape for constants that are combined
          with no other tensor; writes for tensors or arrays instead of numba.
      curved: condition under which exponentials and logarithms are computed; otherwise they are 0.
      numbers: names of inputs that may be scalars although the others are tensors.
    """

    def __init__(
        self,
        graph: Graph,
        place_of: Callable[[str], str] = str,
        *,
        like: str = "",
        curved: str = "",
        numbers: Collection[str] = (),
    ):
        self.graph, self.place_of, self.like, self.curved = graph, place_of, like, curved
        self.numbers = numbers
        self.names: dict[int, str] = {}

    def assignments(self, numbers: Sequence[int], outputs: Iterable[Value]) -> list[str]:
        """Statements that compute nodes, except those inlined into the outputs' expressions."""
        uses: dict[int, int] = {}
        for number in numbers:
            node = self.graph.nodes[number]
            for operand in node.operands:
                weight = 2 if node.operation in _TWICE and not self.like else 1
                uses[operand] = uses.get(operand, 0) + weight
        for value in outputs:
            uses[value.number] = uses.get(value.number, 0) + 1
        lines = []
        for number in numbers:
            node = self.graph.nodes[number]
            if node.operation == "constant" or number in self.names:
                continue
            if node.operation == "input" and self.place_of(str(node.content)).isidentifier():
                continue
            if uses.get(number, 0) > 1:
                lines.append(f"{self._named(number)} = {self.written(number, anew=True)}")
        return lines

    def _named(self, number: int) -> str:
        node = self.graph.nodes[number]
        return str(node.content).replace(".", "_") if node.operation == "input" else f"x{number}"

    def expression(self, value: Value) -> str:
        """Expression of a value."""
        return self.written(value.number)

    def written(self, number: int, anew: bool = False) -> str:
        """Expression of a node; ``anew`` writes its operation even if it has a name."""
        if number in self.names:
            return self.names[number]
        node = self.graph.nodes[number]
        external = node.operation == "external"
        operands = [] if external else [self.written(operand) for operand in node.operands]
        text = self._text(node, operands)
        if anew:
            self.names[number] = self._named(number)
            return text[1:-1] if text.startswith("(") and _encloses(text) else text
        return text

    def _text(self, node: Node, operands: list[str]) -> str:
        operation, content = node.operation, node.content
        if operation in ("input", "external"):
            return self.place_of(str(content))
        if operation == "constant":
            assert isinstance(content, float)
            if math.isinf(content):
                infinite = "math.inf" if self.like else "inf"
                return infinite if content > 0 else f"(-{infinite})"
            return repr(content) if content >= 0.0 else f"({content!r})"
        if operation in _INFIX:
            return f"({operands[0]} {_INFIX[operation]} {operands[1]})"
        if operation == "negative":
            return f"(-{operands[0]})"
        if self.like:
            return self._array_text(node, operands)
        if operation == "where":
            return f"select({', '.join(operands)})"
        if operation in ("minimum", "maximum"):
            # like numpy, NaN in the first operand propagates
            first, second = operands
            sign = "<" if operation == "minimum" else ">"
            return f"select({second} {sign} {first}, {second}, {first})"
        if operation == "absolute":
            return f"abs({operands[0]})"
        if operation == "sign":
            return f"select({operands[0]} == 0.0, 0.0, copysign(1.0, {operands[0]}))"
        if operation in ("exp", "log") and self.curved:
            return f"({operation}({operands[0]}) if {self.curved} else 0.0)"
        return f"{operation}({operands[0]})"

    def _array_text(self, node: Node, operands: list[str]) -> str:
        """Call of a function of tensors; some of these functions do not accept scalars."""
        constant = [self.graph.nodes[n].operation == "constant" for n in node.operands]
        if node.operation in ("minimum", "maximum") and any(constant):
            bound, value = operands if constant[0] else reversed(operands)
            side = "max" if node.operation == "minimum" else "min"
            return f"clamp({value}, {side}={bound})"
        if node.operation == "where" and all(constant[1:]):
            operands[1] = f"full_like({self.like}, {operands[1]})"
        elif node.operation == "where" and all(map(self._is_number, node.operands[1:])):
            operands[1] = f"zeros_like({self.like}) + {operands[1]}"
        return f"{node.operation}({', '.join(operands)})"

    def result(self, value: Value) -> str:
        """Expression of an output; a tensor even if it is constant."""
        text = self.expression(value)
        if self.like and value.node.operation == "constant":
            return f"full_like({self.like}, {text})"
        if self.numbers and self._is_number(value.number):
            return f"zeros_like({self.like}) + {text}"
        return _bare(text)

    def _is_number(self, number: int) -> bool:
        """Whether a node depends only on constants and on inputs that may be scalars."""
        node = self.graph.nodes[number]
        if node.operation == "input":
            return node.content in self.numbers
        return node.operation != "external" and all(map(self._is_number, node.operands))


def function_source(
    name: str,
    arguments: Sequence[str],
    statements: Sequence[tuple[str, Sequence[Value]]],
    place_of: Callable[[str], str] = str,
    *,
    like: str = "",
    curved: str = "",
    numbers: Collection[str] = (),
) -> str:
    """Source code of a function.

    Args:
      name: name of the function.
      arguments: names of its arguments.
      statements: templates with a ``{}`` for each value, and the values.
      place_of: function from an input's name to its expression.
      like, curved, numbers: see :class:`Printer`.
    """
    outputs = [value for _, values in statements for value in values]
    printer = Printer(outputs[0].graph, place_of, like=like, curved=curved, numbers=numbers)
    lines = printer.assignments(needed(outputs), outputs)
    for text, values in statements:
        lines.append(text.format(*(printer.result(value) for value in values)))
    body = "\n".join(f"    {line}" for line in lines)
    return f"def {name}({', '.join(arguments)}):\n{body}\n"


def function_from(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Function from source code that stays available to tracebacks and TorchScript.

    Args:
      source: source code that defines the function.
      name: name of the function.
      namespace: names that the source refers to.
    """
    file = f"<generated {name} {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


def _encloses(text: str) -> bool:
    """Whether the first parenthesis closes at the end."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith("(") and _encloses(text) else text
