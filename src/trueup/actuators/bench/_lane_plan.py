"""Schedule of the computations of a step: once per rollout, once per sample, or each step.

A quantity of all lanes is a row of a work array. Loop-invariant code motion in two levels: what
depends on parameters alone is computed once per rollout, what depends on measurements once per
sample, and intermediate results that later levels read are kept in rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trueup.actuators.bench._lane_code import LANES, Instruction, Loop, Place
from trueup.actuators.equations.tracing import COMPARISONS, LOGICAL, Graph, Value

LONGEST_LOOP = 48
"""Most operations of a loop: longer ones run out of vector registers."""

SLOW = ("exp", "log", "sin", "cos", "tanh", "sqrt")
"""Operations that compile to many instructions."""


@dataclass(frozen=True)
class Target:
    """Destination of a value."""

    place: Place
    """Row that the value is written to."""
    value: Value
    """Value to write."""
    last: bool = False
    """Whether it overwrites an input, and is therefore written last."""


class WorkSpace:
    """Rows of the work space of lanes.

    Args:
      names: names of its rows; rows for intermediate results are appended.
    """

    def __init__(self, names: Iterable[str]):
        self.rows = {name: LANES * place for place, name in enumerate(names)}

    def place(self, name: str) -> Place:
        """Place of the named row, appended if it is new."""
        return Place("lanes", self.rows.setdefault(name, LANES * len(self.rows)))

    @property
    def size(self) -> int:
        """Size of the work space [rows]."""
        return LANES * len(self.rows)


class LanePlan:
    """Division of the computation of targets into functions of lanes.

    Args:
      graph: graph of the targets.
      space: work space; it has a row for each input of the graph.
      once, each_sample: names of the inputs that are constant in a rollout, and in a sample;
          columns of the row of parameters are constant too.
    """

    def __init__(
        self, graph: Graph, space: WorkSpace, once: Iterable[str], each_sample: Iterable[str]
    ):
        self.graph, self.space = graph, space
        self.once, self.each_sample = frozenset(once), frozenset(each_sample)
        self._levels: dict[int, int] = {}

    def functions(self, steps: Mapping[str, Sequence[Target]]) -> dict[str, list[Loop]]:
        """Loops of the functions ``once``, ``each_sample`` and of each set of targets."""
        kept: list[set[int]] = [set(), set()]
        targets = [target for wanted in steps.values() for target in wanted]
        for number in self._reached((target.value.number for target in targets), 2):
            if self._level(number) < 2:
                kept[self._level(number)].add(number)
        for number in self._reached(kept[1], 1):
            if self._level(number) == 0:
                kept[0].add(number)
        rows = {n: self.space.place(f"kept {n}") for each in kept for n in sorted(each)}
        once = [Target(rows[n], Value(self.graph, n)) for n in sorted(kept[0])]
        sample = [Target(rows[n], Value(self.graph, n)) for n in sorted(kept[1])]
        found = {
            "once": self._loops(once, {}),
            "each_sample": self._loops(sample, {n: rows[n] for n in kept[0]}),
        }
        for name, wanted in steps.items():
            found[name] = self._loops(wanted, rows)
        return found

    def _level(self, number: int) -> int:
        """0 for constants of a rollout, 1 for constants of a sample, 2 for the rest."""
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
        """Whether a node is recomputed at each use: a condition cannot be stored in a row."""
        operation = self.graph.nodes[number].operation
        return operation in ("input", "external", "constant", "negative", *COMPARISONS, *LOGICAL)

    def _operands(self, number: int) -> tuple[int, ...]:
        node = self.graph.nodes[number]
        return () if node.operation == "external" else node.operands

    def _reached(self, roots: Iterable[int], level: int) -> set[int]:
        """Nodes that a level computes or reads as rows, from roots down to lower levels."""
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

    def _loops(self, targets: Sequence[Target], known: dict[int, Place]) -> list[Loop]:
        """Loops that compute targets from inputs and known rows."""
        if not targets:
            return []
        loop_of = self._divided([target.value.number for target in targets], known)
        count = max(loop_of.values(), default=0) + 1
        written: list[list[Target]] = [[] for _ in range(count)]
        for target in targets:
            needed = self._needed([target.value.number], known)
            first = max((loop_of[n] for n in needed if n in loop_of), default=0)
            written[count - 1 if target.last else first].append(target)
        # results of earlier loops that a loop reads
        computed = [[n for n in sorted(loop_of) if loop_of[n] == loop] for loop in range(count)]
        taken: list[set[int]] = []
        for loop in range(count):
            roots = [*computed[loop], *(target.value.number for target in written[loop])]
            outside = {n: Place("", 0) for n in loop_of if loop_of[n] != loop}
            reached = self._needed(roots, known | outside)
            taken.append({n for n in reached if n in loop_of and loop_of[n] < loop})
        passed = self._passed(loop_of, taken)
        loops = []
        for loop in range(count):
            outputs = [
                Target(passed[n], Value(self.graph, n)) for n in computed[loop] if n in passed
            ]
            brought = known | {n: passed[n] for n in taken[loop]}
            loops.append(self._instructions([*outputs, *written[loop]], brought))
        return loops

    def _divided(self, roots: Sequence[int], known: dict[int, Place]) -> dict[int, int]:
        """Loop of each node: one for each slow function and its operands, then the rest.

        A processor reorders a window of a few hundred instructions. In a short loop that window
        spans several vectors, so that their chains of dependent operations overlap.
        """
        order = self._needed(roots, known)
        numbers = [n for n in order if n not in known and not self._is_inline(n)]
        loop_of: dict[int, int] = {}
        loop = 0
        for number in numbers:
            if self.graph.nodes[number].operation in SLOW:
                for each in self._needed([number], known):
                    if each in set(numbers):
                        loop_of.setdefault(each, loop)
                loop += 1
        rest = [number for number in numbers if number not in loop_of]
        for place, number in enumerate(rest):
            loop_of[number] = loop + place * -(-len(rest) // LONGEST_LOOP) // max(len(rest), 1)
        return loop_of

    def _passed(self, loop_of: dict[int, int], taken: Sequence[set[int]]) -> dict[int, Place]:
        """Row of each node that a later loop reads; a row is reused after its last read."""
        last = {n: loop for loop, numbers in enumerate(taken) for n in numbers}
        rows: dict[int, Place] = {}
        free_from: list[int] = []
        for number in sorted(last, key=lambda n: (loop_of[n], n)):
            begins = loop_of[number]
            row = next((k for k, at in enumerate(free_from) if at < begins), len(free_from))
            if row == len(free_from):
                free_from.append(0)
            free_from[row] = last[number]
            rows[number] = self.space.place(f"passed {row}")
        return rows

    def _instructions(
        self, targets: Sequence[Target], known: dict[int, Place]
    ) -> list[Instruction]:
        """Instructions of a loop: all targets are computed before any is written.

        A target may therefore overwrite an input.
        """
        found: list[Instruction] = []
        at: dict[int, int] = {}
        for number in self._needed((target.value.number for target in targets), known):
            node = self.graph.nodes[number]
            if number in known:
                instruction: Instruction = ("load", known[number])
            elif node.operation in ("input", "external"):
                instruction = ("load", self.space.place(str(node.content)))
            elif node.operation == "constant":
                instruction = ("constant", node.content)
            else:
                instruction = (node.operation, *(at[operand] for operand in node.operands))
            at[number] = len(found)
            found.append(instruction)
        found += [("store", target.place, at[target.value.number]) for target in targets]
        return found

    def _needed(self, roots: Iterable[int], known: dict[int, Place]) -> list[int]:
        """Nodes that roots depend on, down to the known ones, in the order of computation."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += () if number in known else self._operands(number)
        return sorted(found)
