"""A reflex controller as arrays, for the compiled controller."""

import math
from typing import NamedTuple

import numpy as np

from trueup.errors import GaitError
from trueup.gait.controller._registers import FIRST_FORCE, Measured, OptionalSignal, Register
from trueup.gait.controller.reflexes import ReflexController

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
"""Settings of the controller, and indices of its supraspinal delay lines."""

LINE = np.dtype(
    [
        ("measured", np.int64),
        ("output", np.int64),
        ("start", np.int64),
        ("length", np.int64),
        ("part", np.float64),
    ]
)
"""Delay line of a signal: measured signal, register, start and length of its ring buffer, and the
fraction of a period by which its lag exceeds a whole number."""

MUSCLE = np.dtype(
    [
        ("start", np.int64),
        ("length", np.int64),
        ("part", np.float64),
        ("crossed", np.int64),
        ("output", np.int64),
    ]
)
"""Muscle group: delay line of its stimulation, start of the ring of its crossed copy, and the
register of the copy for the other leg."""

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
        ("output", np.int64),
    ]
)
"""Reflex: muscle group (-1 none), registers of gate and factor, first and end index of its terms,
and registers of its sum before rectification and of its output."""

TERM = np.dtype(
    [
        ("gain", np.int64),
        ("signal", np.int64),
        ("above", np.int64),
        ("above_too", np.int64),
        ("sign", np.float64),
    ]
)
"""Term of a reflex: registers and a sign."""


class Program(NamedTuple):
    """A controller as arrays, shared by all simulations."""

    head: np.ndarray
    lines: np.ndarray
    muscles: np.ndarray
    reflexes: np.ndarray
    terms: np.ndarray


class ControllerLayout(NamedTuple):
    """Names of the registers and signals of a controller, in their order.

    Attributes:
        registers: registers of a leg.
        measured: measured signals of a leg.
        muscles: muscle groups.
        gains: gains.
        gain_registers: register of each gain.
        ring_size: number of values of all delay lines of a leg.
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
    """Compile a controller to arrays.

    Args:
      controller: controller.
      frontal: whether the walker has frontal motion.
      period: time between runs of the controller [s].
      delayed: whether neural delays are simulated; otherwise every lag is zero.
      timestep: time step of the model [s].
      compat: whether order of legs and lags are those of MyoAssist, one period below the delays.

    Raises:
      GaitError: the period is too long for the delays.
    """
    controller = controller.check().in_plane(frontal)
    shortest = min(signal.delay for signal in controller.signals)
    if delayed and period > shortest + 1e-9:
        raise GaitError(
            f"the shortest neural delay is {shortest * 1e3:g} ms, but the controller period is "
            f"{period * 1e3:g} ms: use a shorter time step of the model, or disable "
            "the delays"
        )

    def line(delay: float, late: float = 0.0) -> tuple[int, float]:
        """Length of a ring, and the fractional part of its lag in periods."""
        if not delayed:
            return 1, 0.0
        if compat:
            return max(math.floor(delay / period + 0.5), 1), 0.0
        # Inherent latency is subtracted, so that a walk depends less on the time step.
        delay = max(delay - late, 0.0)
        whole = math.floor(delay / period + 1e-9)
        part = max(delay / period - whole, 0.0)
        return (whole + 1, 0.0) if part < 1e-9 else (whole + 2, part)

    muscles = [muscle.name for muscle in controller.muscles]
    gains = [gain.name for gain in controller.gains]
    fixed = [register.name for register in Register]
    names = list(fixed)
    names += [signal.name for signal in controller.signals if signal.name not in fixed]
    names += [gain for gain in gains if gain not in fixed]
    names += [f"other {muscle}" for muscle in muscles]
    for reflex in controller.reflexes:
        names += [f"drive {reflex.name}", f"reflex {reflex.name}"]
    where = {name: i for i, name in enumerate(names)}
    measured = (*(signal.name for signal in Measured), *(f"force_{muscle}" for muscle in muscles))
    if controller.senses(OptionalSignal.__members__):
        measured += tuple(OptionalSignal.__members__)

    ring = _Ring()
    lines = []
    for signal in controller.signals:
        at = measured.index(signal.measured)
        is_force = at in (Measured.load, Measured.contact) or at >= FIRST_FORCE
        # latency: stimulations are held for a period, on average half of one, and forces are from
        # the last step of the model, on average half a step old
        length, part = line(signal.delay, 0.5 * (period + (timestep if is_force else 0.0)))
        place = at, where[signal.name]
        lines.append((*place, ring.take(length), length, part))
    (targets, late), (crossed, crossed_part) = (
        line(delay) for delay in (controller.descending_delay, controller.crossed_delay)
    )
    # a command is read before the new one is stored, which adds one period of lag
    commands = max(targets - (not compat and delayed), 1)
    # sagittal targets first, then frontal ones
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
            above = [*(where[name] for name in term.above), Register.zero, Register.zero]
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
                where[f"reflex {reflex.name}"],
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
    """Allocates ring buffers in the row of past values of a leg."""

    def __init__(self):
        self.size = 0

    def take(self, count: int) -> int:
        start = self.size
        self.size += count
        return start
