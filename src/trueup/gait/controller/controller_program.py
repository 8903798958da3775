"""A reflex controller as arrays that the compiled controller works through."""

import math
from typing import NamedTuple

import numpy as np

from trueup.errors import GaitError
from trueup.gait.controller._registers import FIXED, M_CONTACT, M_FORCES, M_LOAD, MEASURED, R_ZERO
from trueup.gait.controller.reflex_controller import ReflexController

HEAD = np.dtype(
    [
        ("frontal", np.bool_),
        ("myoassist", np.bool_),
        ("prestimulation", np.float64),
        ("target_start", np.int64),
        ("target_length", np.int64),
        ("target_part", np.float64),
        ("command_start", np.int64),
        ("command_length", np.int64),
        ("command_part", np.float64),
        ("crossed_length", np.int64),
        ("crossed_part", np.float64),
    ]
)
"""What holds for the whole controller, and where its own delay lines lie."""

LINE = np.dtype(
    [
        ("measured", np.int64),
        ("register", np.int64),
        ("start", np.int64),
        ("length", np.int64),
        ("part", np.float64),
    ]
)
"""A delay line: what is measured, where it goes, where its ring of past values begins, how long it
is, and which part of the last step between two values the lag has."""

MUSCLE = np.dtype(
    [
        ("start", np.int64),
        ("length", np.int64),
        ("part", np.float64),
        ("crossed", np.int64),
        ("register", np.int64),
    ]
)
"""A muscle group: the ring of its stimulation as in a line, that of its crossed copy, and where
that goes."""

REFLEX = np.dtype(
    [
        ("muscle", np.int64),
        ("gate", np.int64),
        ("times", np.int64),
        ("sign", np.float64),
        ("crossed", np.bool_),
        ("first", np.int64),
        ("end", np.int64),
        ("drive", np.int64),
    ]
)
"""A reflex: its muscle group (-1 none), the registers of its gate and factor, its terms from first
to end, and where its drive goes, with what it gives behind it."""

TERM = np.dtype(
    [
        ("gain", np.int64),
        ("signal", np.int64),
        ("above", np.int64),
        ("above_too", np.int64),
        ("sign", np.float64),
    ]
)
"""A term of a reflex: registers and a sign."""


class Program(NamedTuple):
    """What the compiled controller works through; one for all simulations."""

    head: np.ndarray
    lines: np.ndarray
    muscles: np.ndarray
    reflexes: np.ndarray
    terms: np.ndarray


class ControllerLayout(NamedTuple):
    """Where the names of a controller lie.

    Attributes:
        registers: names of a leg's registers in order.
        measured: names of its measured signals in order.
        muscles: names of its muscle groups in order.
        gains: names of its gains in order.
        gain_registers: register of each gain.
        ring_size: values of all delay lines of a leg.
    """

    registers: tuple[str, ...]
    measured: tuple[str, ...]
    muscles: tuple[str, ...]
    gains: tuple[str, ...]
    gain_registers: np.ndarray
    ring_size: int

    def register(self, name: str) -> int:
        """Index of a register."""
        return self.registers.index(name)


def compile_controller(
    controller: ReflexController,
    *,
    frontal: bool,
    period: float,
    delayed: bool,
    timestep: float,
    compat: bool = False,
) -> tuple[Program, ControllerLayout]:
    """Lay a controller out for the compiled code.

    Args:
      controller: the controller.
      frontal: the walker can fall sideways.
      period: time from one run of the controller to the next [s].
      delayed: neural delays; without them every line has the lag zero. What is late anyway is
        taken off them, so that a walk depends less on the time step: stimulations are held for a
        period, half of one on average, and forces are those of the last step, half of it ago.
      timestep: step of the model [s].
      compat: lags and order of the legs as MyoAssist has them; lags are one period shorter than
        the delays.

    Raises:
      GaitError: the period is too long for the delays.
    """
    controller = controller.check().in_plane(frontal)
    shortest = min(signal.delay for signal in controller.signals)
    if delayed and period > shortest + 1e-9:
        raise GaitError(
            f"neural delays from {shortest * 1e3:g} ms on need a controller that runs at least "
            f"that often, not every {period * 1e3:g} ms: give the model shorter steps, or switch "
            "the delays off"
        )

    def line(delay: float, late: float = 0.0) -> tuple[int, float]:
        """Length of a ring, and the part of a period by which the lag exceeds whole ones."""
        if not delayed:
            return 1, 0.0
        if compat:
            return max(math.floor(delay / period + 0.5), 1), 0.0
        delay = max(delay - late, 0.0)
        whole = math.floor(delay / period + 1e-9)
        part = max(delay / period - whole, 0.0)
        return (whole + 1, 0.0) if part < 1e-9 else (whole + 2, part)

    muscles = [muscle.name for muscle in controller.muscles]
    gains = [gain.name for gain in controller.gains]
    names = list(FIXED)
    names += [signal.name for signal in controller.signals if signal.name not in FIXED]
    names += [gain for gain in gains if gain not in FIXED]
    names += [f"other {muscle}" for muscle in muscles]
    for reflex in controller.reflexes:
        names += [f"drive {reflex.name}", f"reflex {reflex.name}"]
    where = {name: i for i, name in enumerate(names)}
    measured = (*MEASURED, *(f"force_{muscle}" for muscle in muscles))

    ring = _Ring()
    lines = []
    for signal in controller.signals:
        at = measured.index(signal.measured)
        is_force = at in (M_LOAD, M_CONTACT) or at >= M_FORCES
        length, part = line(signal.delay, 0.5 * (period + (timestep if is_force else 0.0)))
        place = at, where[signal.name]
        lines.append((*place, ring.take(length), length, part))
    (targets, late), (crossed, crossed_part) = (
        line(delay) for delay in (controller.descending_delay, controller.crossed_delay)
    )
    # a command is read before the new one is stored: it is a whole lag late
    commands = max(targets - (not compat and delayed), 1)
    # of the targets, the sagittal ones come first, the frontal ones behind them
    head = (
        frontal,
        compat,
        controller.prestimulation,
        ring.take(2 * targets),
        targets,
        late,
        ring.take(commands),
        commands,
        late,
        crossed,
        crossed_part,
    )
    groups = []
    for muscle in controller.muscles:
        length, part = line(muscle.delay)
        place = ring.take(length), length, part
        groups.append((*place, ring.take(crossed), where[f"other {muscle.name}"]))
    terms, reflexes = [], []
    for reflex in controller.reflexes:
        first = len(terms)
        for term in reflex.terms:
            above = [*(where[name] for name in term.above), R_ZERO, R_ZERO]
            terms.append((where[term.gain], where[term.signal], *above[:2], float(term.sign)))
        reflexes.append(
            (
                -1 if reflex.muscle is None else muscles.index(reflex.muscle),
                where[reflex.gate],
                where[reflex.times],
                -1.0 if reflex.inhibits else 1.0,
                reflex.crossed,
                first,
                len(terms),
                where[f"drive {reflex.name}"],
            )
        )
    program = Program(
        head=np.array([head], dtype=HEAD),
        lines=np.array(lines, dtype=LINE),
        muscles=np.array(groups, dtype=MUSCLE),
        reflexes=np.array(reflexes, dtype=REFLEX),
        terms=np.array(terms, dtype=TERM),
    )
    layout = ControllerLayout(
        registers=tuple(names),
        measured=measured,
        muscles=tuple(muscles),
        gains=tuple(gains),
        gain_registers=np.array([where[gain] for gain in gains]),
        ring_size=ring.size,
    )
    return program, layout


class _Ring:
    """Hands out places in a leg's row of past values."""

    def __init__(self):
        self.size = 0

    def take(self, count: int) -> int:
        start = self.size
        self.size += count
        return start
