"""Source of loops that compute a graph for several rollouts side by side.

A quantity of all lanes is a row of a work space. What depends on parameters alone is computed once
a rollout, what depends on measurements once a sample, the rest each step, in several loops: short
ones, each with one exponential, logarithm or sine, become vector code of the processor.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trueup.actuators.equations.generation import Printer
from trueup.actuators.equations.tracing import COMPARISONS, LOGICAL, Graph, Value

LANES = 16
"""Rollouts side by side: a few vector registers."""

LONGEST_LOOP = 48
"""Operations of a loop: more need more registers than there are."""

_NAME = re.compile(r"\b(w|[xy]\d+)\b")
"""Names that a loop gives."""

_CONDITIONS = (*COMPARISONS, *LOGICAL)
_SLOW = ("exp", "log", "sin", "cos", "tanh", "sqrt")


@dataclass(frozen=True)
class Target:
    """Where a value goes."""

    place: str
    """Expression of the first number of its row, ``lanes[...`` or ``slopes[...``."""
    value: Value
    """The value."""
    last: bool = False
    """Whether it takes the place of an input, and is written after all else."""


class WorkSpace:
    """Rows of the work space of lanes.

    Args:
      names: names of its rows; further ones are added for what is computed and used later.
    """

    def __init__(self, names: Iterable[str]):
        self.rows = {name: LANES * place for place, name in enumerate(names)}

    def row(self, name: str) -> int:
        """Number at which a row begins; a new row for a new name."""
        return self.rows.setdefault(name, LANES * len(self.rows))

    @property
    def size(self) -> int:
        """Numbers of the work space."""
        return LANES * len(self.rows)


class LaneSource:
    """Writes the functions that compute targets from rows.

    Args:
      space: work space; inputs of the graph are rows of their names.
      once, each_sample: names of the inputs that stay in a rollout, and in a sample; columns of
        the row of parameters stay too.
    """

    def __init__(
        self, graph: Graph, space: WorkSpace, once: Iterable[str], each_sample: Iterable[str]
    ):
        self.graph, self.space = graph, space
        self.once, self.each_sample = frozenset(once), frozenset(each_sample)
        self._levels: dict[int, int] = {}

    def functions(self, steps: dict[str, Sequence[Target]]) -> dict[str, str]:
        """Sources of the functions ``once``, ``each_sample`` and of one for each set of targets.

        Each takes the number of lanes and the work spaces of lanes and of derivatives.
        """
        kept: list[set[int]] = [set(), set()]
        targets = [target for wanted in steps.values() for target in wanted]
        for number in self._reached((target.value.number for target in targets), 2):
            if self._level(number) < 2:
                kept[self._level(number)].add(number)
        for number in self._reached(kept[1], 1):
            if self._level(number) == 0:
                kept[0].add(number)
        rows = {n: f"lanes[{self.space.row(f'kept {n}')}" for each in kept for n in sorted(each)}
        once = [Target(rows[n], Value(self.graph, n)) for n in sorted(kept[0])]
        sample = [Target(rows[n], Value(self.graph, n)) for n in sorted(kept[1])]
        sources = {
            "once": self._function("once", once, {}),
            "each_sample": self._function("each_sample", sample, {n: rows[n] for n in kept[0]}),
        }
        for name, wanted in steps.items():
            sources[name] = self._function(name, wanted, rows)
        return sources

    def _level(self, number: int) -> int:
        """0 for what stays in a rollout, 1 for what stays in a sample, 2 for the rest."""
        if number not in self._levels:
            node = self.graph.nodes[number]
            if node.operation == "input":
                name = str(node.content)
                constant = name in self.once or name.startswith("c.")
                found = 0 if constant else 1 if name in self.each_sample else 2
            elif node.operation == "external":
                found = 2
            else:
                found = max((self._level(operand) for operand in node.operands), default=0)
            self._levels[number] = found
        return self._levels[number]

    def _is_inline(self, number: int) -> bool:
        """Whether a node is computed wherever it is used: a condition cannot be kept in a row."""
        operation = self.graph.nodes[number].operation
        return operation in ("input", "external", "constant", "negative", *_CONDITIONS)

    def _operands(self, number: int) -> tuple[int, ...]:
        node = self.graph.nodes[number]
        return () if node.operation == "external" else node.operands

    def _reached(self, roots: Iterable[int], level: int) -> set[int]:
        """Nodes that a level needs as rows or computes, from roots down to lower levels."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            if not self._is_inline(number):
                found.add(number)
                if self._level(number) < level:
                    continue
            waiting += self._operands(number)
        return found

    def _function(self, name: str, targets: Sequence[Target], known: dict[int, str]) -> str:
        head = f"def {name}(width, lanes, slopes):\n"
        if not targets:
            return head + "    return\n"
        loops = _Loops(self, targets, known)
        return head + "".join(f"    {line}\n" for line in loops.lines())


class _Loops:
    """The loops of one function: which node is computed where, and what passes between them."""

    def __init__(self, source: LaneSource, targets: Sequence[Target], known: dict[int, str]):
        self.source, self.graph, self.known = source, source.graph, known
        self.targets = targets
        roots = [target.value.number for target in targets]
        self.order = sorted(self._closure(roots, known))
        self.loop_of = self._partition([n for n in self.order if not source._is_inline(n)])
        self.count = max(self.loop_of.values(), default=0) + 1

    def _closure(self, roots: Iterable[int], known: Any) -> set[int]:
        """Nodes that roots depend on, those left out that are known."""
        found: set[int] = set()
        waiting = [number for number in roots if number not in known]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += [n for n in self.source._operands(number) if n not in known]
        return found

    def _partition(self, numbers: Sequence[int]) -> dict[int, int]:
        """Loop of each node: one for each slow function with what it needs, then the rest."""
        loop_of: dict[int, int] = {}
        loop = 0
        for number in numbers:
            if self.graph.nodes[number].operation in _SLOW:
                needed = [n for n in self._closure([number], self.known) if n in set(numbers)]
                for each in needed:
                    loop_of.setdefault(each, loop)
                loop += 1
        rest = [number for number in numbers if number not in loop_of]
        for place, number in enumerate(rest):
            loop_of[number] = loop + place * -(-len(rest) // LONGEST_LOOP) // max(len(rest), 1)
        return loop_of

    def lines(self) -> list[str]:
        """The loops."""
        writes: list[list[Target]] = [[] for _ in range(self.count)]
        for target in self.targets:
            loop = self.count - 1 if target.last else self._first_loop(target.value.number)
            writes[loop].append(target)
        computed = [[n for n in self.order if self.loop_of.get(n) == i] for i in range(self.count)]
        uses = [
            self._used([*computed[i], *(t.value.number for t in writes[i])])
            for i in range(self.count)
        ]
        rows = self._rows(uses)
        lines = []
        for i in range(self.count):
            body = self._loop(i, computed[i], uses[i], writes[i], rows)
            # a name that is assigned once in a function is quicker to compile
            body = [_NAME.sub(rf"\g<0>_{i}", line) for line in body]
            lines += [f"for w_{i} in range(width):", *(f"    {line}" for line in body)]
        return lines

    def _first_loop(self, number: int) -> int:
        """First loop at whose end a node can be written."""
        needed = self._closure([number], self.known)
        return max((self.loop_of[n] for n in needed if n in self.loop_of), default=0)

    def _used(self, roots: Iterable[int]) -> set[int]:
        """Nodes computed in any loop that a loop needs for its nodes and what it writes."""
        found: set[int] = set()
        waiting = list(roots)
        seen: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in seen or number in self.known:
                continue
            seen.add(number)
            if number in self.loop_of:
                found.add(number)
            if number not in self.loop_of or number in roots:
                waiting += self.source._operands(number)
        return found

    def _rows(self, uses: Sequence[set[int]]) -> dict[int, str]:
        """Row of each node that a later loop uses; a row is free again after its last use."""
        last = {n: i for i in range(self.count) for n in uses[i]}
        passed = [n for n in self.order if n in self.loop_of and last.get(n, -1) > self.loop_of[n]]
        rows: dict[int, str] = {}
        free_from: list[int] = []
        for number in sorted(passed, key=lambda n: (self.loop_of[n], n)):
            begins = self.loop_of[number]
            place = next((k for k, at in enumerate(free_from) if at < begins), len(free_from))
            if place == len(free_from):
                free_from.append(0)
            free_from[place] = last[number]
            rows[number] = f"lanes[{self.source.space.row(f'passed {place}')}"
        return rows

    def _loop(
        self, loop: int, computed: Sequence[int], used: set[int], writes: Sequence[Target],
        rows: dict[int, str],
    ) -> list[str]:  # fmt: skip
        printer = Printer(self.graph, self._place_of)
        outputs = [Value(self.graph, n) for n in computed if n in rows]
        outputs += [target.value for target in writes]
        brought = sorted(n for n in used if self.loop_of[n] < loop)
        needed_known: set[int] = set()
        inner = self._within(outputs, set(brought), needed_known)
        lines = []
        for number in [*sorted(needed_known), *brought]:
            printer.names[number] = f"x{number}"
            place = self.known.get(number) or rows[number]
            lines.append(f"x{number} = {place} + w]")
        lines += printer.assignments(sorted(inner), outputs)
        for number in computed:
            if number in rows:
                text = printer.expression(Value(self.graph, number))
                lines.append(f"{rows[number]} + w] = {text}")
        # all that is written last is computed before any of it takes the place of an input
        for place, target in enumerate(writes):
            lines.append(f"y{place} = {printer.expression(target.value)}")
        lines += [f"{target.place} + w] = y{place}" for place, target in enumerate(writes)]
        return lines

    def _within(
        self, outputs: Sequence[Value], brought: set[int], needed_known: set[int]
    ) -> set[int]:
        """Nodes written in a loop; notes the known ones that it reads."""
        found: set[int] = set()
        waiting = [value.number for value in outputs]
        while waiting:
            number = waiting.pop()
            if number in self.known:
                needed_known.add(number)
            elif number not in found and number not in brought:
                found.add(number)
                waiting += self.source._operands(number)
        return found

    def _place_of(self, name: str) -> str:
        return f"lanes[{self.source.space.row(name)} + w]"
