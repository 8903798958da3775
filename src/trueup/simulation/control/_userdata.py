"""Layout of a law's gains and state in ``mjData.userdata``, and the plan that describes it.

``userdata`` is part of the state of a simulation: a batch has one row per simulation, so that
each has its own gains and its own controller state. It begins with a header, then come the gains,
the state, what the law read last, and what it wrote last (held until the law runs again).

A model that is prepared for a law contains the plan of this layout as a custom ``numeric`` of
MuJoCo, and the objects that the law acts on as a custom ``tuple``, so that MuJoCo resolves their
names to ids when it compiles the model. The plan contains integers of at most six digits, which are
exact in saved XML.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.errors import LawError, did_you_mean, listing

ELEMENT_NAME = "trueup_control_law"
"""Name of the custom numeric and the custom tuple in a prepared model."""

PLAN_MAGIC = 812547
"""First number of the plan, and mark of the tuple of targets."""

PLAN_VERSION = 1

USERDATA_MAGIC = 0x747275657570
"""First number of ``userdata`` once a law is started there."""

GROUPS = ("joint", "actuator", "command", "sensor", "body")
"""Groups of objects that a law acts on; an extent of a gain or a state may be one of them."""

# header of userdata
MAGIC, SIZE, FAILURE, FAILURE_TIME, MODE, TIME_LAST, STEPS, HALF_STEP, TICKS, OWN_STATE = range(10)
HEADER_SIZE = 10

# modes of a started law
RUNNING, IDLE = 0, 1

# header of the plan
(
    P_MAGIC,
    P_VERSION,
    P_LAW_HIGH,
    P_LAW_LOW,
    P_TOTAL,
    P_SIZE,
    P_PERIOD,
    P_HAS_GAINS,
    P_GAINS_START,
    P_GAINS_SIZE,
    P_STATE_SIZE,
    P_SENSOR_VALUES,
    P_COUNTS,
) = range(13)
P_STARTS = P_COUNTS + len(GROUPS)
PLAN_HEADER_SIZE = P_STARTS + len(GROUPS)

NOT_STARTED, TOO_SMALL, OTHER_LAW, RAISED, NOT_FINITE, BACKWARDS, MISFIT = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    -7,
)

FAILURES = {
    NOT_STARTED: "the law was not started: userdata contains no gains. Call start() after each "
    "reset, which clears userdata",
    TOO_SMALL: "userdata is smaller than the law needs: compile the model from prepare_spec()",
    OTHER_LAW: "the model is prepared for another law than the installed one",
    RAISED: "the law raised an exception, or read or wrote outside of an array",
    NOT_FINITE: "the law wrote a value that is not finite",
    MISFIT: "the plan in the model does not match the law, its targets or userdata: it was changed "
    "after prepare_spec(). Compile the model from prepare_spec() again",
    BACKWARDS: "time ran backwards, and the state given to start() is lost: call start()",
}
"""Meaning of the reserved failure codes; custom codes of a law are positive."""

Extent = int | str


@dataclass(frozen=True)
class Part:
    """One array in ``userdata``.

    Attributes:
        kind: "gains", "state", "inputs" or "outputs".
        name: its name within its kind.
        offset: index of its first value in ``userdata``.
        shape: its shape.
        plan_index: index in the plan of its offset, which its shape follows.
    """

    kind: str
    name: str
    offset: int
    shape: tuple[int, ...]
    plan_index: int

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """Offsets of a law's gains and states in ``userdata`` of one model.

    Attributes:
        parts: all arrays by (kind, name), in memory order.
        size: number of values that ``userdata`` needs, header included.
        counts: number of objects in each group.
        sensor_values: number of values of all sensors that the law reads.
    """

    parts: dict[tuple[str, str], Part]
    size: int
    counts: dict[str, int]
    sensor_values: int

    def names(self, kind: str) -> list[str]:
        """Names of the arrays of one kind, "gains", "state", "inputs" or "outputs"."""
        return [part.name for part in self.parts.values() if part.kind == kind]

    def part(self, kind: str, name: str) -> Part:
        """The array ``name`` of one kind.

        Raises:
            LawError: the law has no such array.
        """
        if (kind, name) not in self.parts:
            names = self.names(kind)
            raise LawError(
                f"The law has no {kind} {name!r}; available: {listing(names)}."
                f"{did_you_mean(name, names)}"
            )
        return self.parts[kind, name]

    def view(self, userdata: np.ndarray, kind: str, name: str) -> np.ndarray:
        """A live view of one array.

        Args:
            userdata: ``(nuserdata,)`` of an ``MjData``, or ``(n, nuserdata)`` of a batch.
            kind: "gains", "state", "inputs" or "outputs".
            name: name of the array.

        Returns:
            An array of the part's shape, for a batch with the simulations in front.
        """
        part = self.part(kind, name)
        span = userdata[..., part.offset : part.offset + part.size]
        return span.reshape(*userdata.shape[:-1], *part.shape)

    def block(self, kind: str) -> slice:
        """Slice of all arrays of one kind, which are contiguous."""
        parts = [part for part in self.parts.values() if part.kind == kind]
        if not parts:
            return slice(0, 0)
        return slice(parts[0].offset, parts[-1].offset + parts[-1].size)


Declared = Iterable[tuple[str, str, tuple[Extent, ...]]]


def plan_places(declared: Declared) -> dict[tuple[str, str], int]:
    """Index in the plan of each declared array ``(kind, name, extents)``."""
    places, index = {}, PLAN_HEADER_SIZE
    for kind, name, extents in declared:
        places[kind, name] = index
        index += 1 + len(extents)
    return places


def make_layout(declared: Declared, counts: Mapping[str, int], sensor_values: int) -> Layout:
    """Lay out the declared arrays ``(kind, name, extents)`` for given group sizes."""
    declared = list(declared)
    places = plan_places(declared)
    sizes = {**counts, "sensor_value": sensor_values}
    parts, offset = {}, HEADER_SIZE
    for kind, name, extents in declared:
        shape = tuple(sizes[extent] if isinstance(extent, str) else extent for extent in extents)
        part = Part(kind, name, offset, shape, places[kind, name])
        parts[kind, name] = part
        offset += part.size
    return Layout(parts, offset, dict(counts), sensor_values)


def encode_plan(
    layout: Layout, law_number: tuple[int, int], period_steps: int, gains: np.ndarray | None
) -> np.ndarray:
    """Encode a layout as numbers for the compiled callback.

    Args:
        layout: the layout.
        law_number: identity of the law, two numbers below 1e6.
        period_steps: number of steps between runs of the law.
        gains: default gains, all of them, or None.
    """
    tail = PLAN_HEADER_SIZE + sum(1 + len(part.shape) for part in layout.parts.values())
    plan = np.zeros(tail + (0 if gains is None else gains.size))
    block, state = layout.block("gains"), layout.block("state")
    plan[:P_COUNTS] = (
        PLAN_MAGIC,
        PLAN_VERSION,
        *law_number,
        layout.size,
        tail,
        period_steps,
        gains is not None,
        block.start,
        block.stop - block.start,
        state.stop - state.start,
        layout.sensor_values,
    )
    counts = [layout.counts[group] for group in GROUPS]
    plan[P_COUNTS:P_STARTS] = counts
    plan[P_STARTS:PLAN_HEADER_SIZE] = np.cumsum([0, *counts[:-1]])
    for part in layout.parts.values():
        plan[part.plan_index : part.plan_index + 1 + len(part.shape)] = (part.offset, *part.shape)
    if gains is not None:
        plan[tail:] = gains
    if plan[:tail].max() >= 1e6:
        raise LawError(f"The law needs {layout.size} values of userdata; the maximum is 999999")
    return plan


def find_plan(model) -> np.ndarray | None:
    """The plan of a prepared model, or None."""
    for address, size in zip(model.numeric_adr, model.numeric_size, strict=True):
        plan = model.numeric_data[address : address + size]
        if size >= PLAN_HEADER_SIZE and plan[P_MAGIC] == PLAN_MAGIC:
            return plan
    return None


def write_header(userdata: np.ndarray, layout: Layout, mode: int, own_state: bool) -> None:
    """Write the header of a law that has not run yet into rows of ``userdata``."""
    userdata[..., :HEADER_SIZE] = 0.0
    userdata[..., MAGIC] = USERDATA_MAGIC
    userdata[..., SIZE] = layout.size
    userdata[..., MODE] = mode
    userdata[..., OWN_STATE] = own_state
