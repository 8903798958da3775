"""Rollouts of servos on benches, several in parallel lanes, with exact derivatives on demand.

The steps are generated from the equations, see ``_step_program`` and ``_lane_plan``, as vectorised
loops over lanes, one rollout per lane. This module adds samples, commands, losses and the
propagation of derivatives through time (forward sensitivities).
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from trueup.actuators.bench._command import command
from trueup.actuators.bench._lane_code import (
    LANES,
    VECTOR,
    Instruction,
    Place,
    column_function,
    lane_function,
)
from trueup.actuators.bench._lane_plan import LanePlan, Target, WorkSpace
from trueup.actuators.bench._load_kernel import load_of
from trueup.actuators.bench._rollout_parts import has_diverged, loss_of
from trueup.actuators.bench._step_program import (
    StepKind,
    StepProgram,
    duty_slopes,
    step_program,
    step_slopes,
)
from trueup.actuators.equations._parameter_layout import LOG, C, columns_named
from trueup.actuators.equations.compiled import compiled_once
from trueup.actuators.equations.tracing import Value

_STATE = ("position", "speed", "motor_speed", "gap", "is_open", "target")
_LOG_NUMBERS = ("gain", "rate_gain", "max_pwm", "max_amps", "voltage", "inertia", "gravity")
_ONCE = (*_LOG_NUMBERS, "h", "gate")
_EACH_SAMPLE = ("volts", "warmth")
_COMMAND = ("wanted", "wanted_by_0", "on", "on_by_0", "active", "fresh")
_LOAD = (
    "load_inertia", "load_inertia_by_0", "load_torque", "load_torque_by_0", "load_torque_by_1",
)  # fmt: skip
_SUMS = ("clock", "sum_position", "sum_speed", "sum_duty", "duty", "slope_position", "slope_speed",
         "slope_duty")  # fmt: skip
_ROWS = (*_STATE, *_ONCE, *_EACH_SAMPLE, *_COMMAND, *_LOAD, *_SUMS)

L: Any = columns_named(_ROWS)._make(range(0, LANES * len(_ROWS), LANES))
"""Offset of each quantity of the lanes in their work space, followed by the parameters."""

PARAMETERS = LANES * len(_ROWS)
"""Offset of the parameters of the lanes."""

PAIR = columns_named(("candidate", "log", "first", "length", "substeps"))
"""Rows of the integers of the lanes."""


@compiled_once
def begin_lanes(group, count, rows, log_rows, offsets, table, measured, gate, lanes, pairs):
    """Set the lanes to the first samples of their pairs; lanes beyond ``count`` are idle.

    The target of a firmware that limits its speed starts from 0, as in Better Actuator Models;
    other schemes set it in their first step.
    """
    logs = offsets.shape[0] - 1
    for w in range(LANES):
        pair = group + min(w, count - 1)
        i, j = pair // logs, pair % logs
        c, row, first = rows[i], log_rows[j], offsets[j]
        pairs[PAIR.candidate, w], pairs[PAIR.log, w], pairs[PAIR.first, w] = i, j, first
        pairs[PAIR.length, w] = offsets[j + 1] - first if w < count else 0
        pairs[PAIR.substeps, w] = int(row[LOG.substeps])
        for place in range(0, PARAMETERS, LANES):
            lanes[place + w] = 0.0
        for column in range(c.shape[0]):
            lanes[PARAMETERS + LANES * column + w] = c[column]
        q, v = measured[0, first], measured[1, first]
        lanes[L.position + w], lanes[L.speed + w], lanes[L.motor_speed + w] = q, v, v
        # the load rests on the side of the backlash gap to which its torque pulls it
        load = load_of(row, table, q + c[C.q_offset], v)[2]
        lanes[L.gap + w] = math.copysign(0.5 * c[C.backlash], -load)
        lanes[L.gain + w], lanes[L.rate_gain + w] = row[LOG.gain], row[LOG.rate_gain]
        lanes[L.max_pwm + w], lanes[L.max_amps + w] = row[LOG.max_pwm], row[LOG.max_amps]
        lanes[L.voltage + w], lanes[L.h + w] = row[LOG.voltage], row[LOG.dt] / row[LOG.substeps]
        lanes[L.inertia + w], lanes[L.gravity + w] = row[LOG.inertia], row[LOG.gravity]
        lanes[L.gate + w] = gate


@compiled_once
def begin_sample(
    k, count, log_rows, inputs, measured, objective, recorded, lanes, pairs, reads_inputs
):
    """Begin sample ``k`` of each lane: reset the state to the log's if due, add the losses.

    ``reads_inputs`` is whether the steps read the measured voltage or temperature.
    """
    kind = int(objective[0])
    for w in range(count):
        lanes[L.slope_position + w], lanes[L.slope_speed + w] = 0.0, 0.0
        if k >= pairs[PAIR.length, w]:
            continue
        i, j = pairs[PAIR.candidate, w], pairs[PAIR.log, w]
        sample, row = pairs[PAIR.first, w] + k, log_rows[j]
        lanes[L.clock + w] += row[LOG.dt]
        if lanes[L.clock + w] > row[LOG.reset_period]:
            lanes[L.clock + w], lanes[L.is_open + w] = 0.0, 0.0
            lanes[L.position + w], lanes[L.speed + w] = measured[0, sample], measured[1, sample]
        q, v = lanes[L.position + w], lanes[L.speed + w]
        loss, slope = loss_of(kind, objective[1], q - measured[0, sample])
        lanes[L.sum_position + w] += loss
        lanes[L.slope_position + w] = objective[4] * slope
        if objective[5] != 0.0:
            loss, slope = loss_of(kind, objective[2], v - measured[1, sample])
            lanes[L.sum_speed + w] += loss
            lanes[L.slope_speed + w] = objective[5] * slope
        if recorded.shape[0] > 0:
            recorded[i, 0, sample], recorded[i, 1, sample] = q, v
        if reads_inputs:
            lanes[L.volts + w], lanes[L.warmth + w] = inputs[2, sample], inputs[3, sample]


@compiled_once
def command_lanes(k, substep, width, rows, goal, enable, lanes, pairs, always):
    """Set the command of each lane's step, and whether the lane is active.

    ``always`` requests derivatives with respect to the delay even if it is 0.
    """
    for w in range(width):
        substeps, runs = pairs[PAIR.substeps, w], k < pairs[PAIR.length, w]
        lanes[L.active + w] = 1.0 if runs and substep < substeps else 0.0
        lanes[L.fresh + w] = 1.0 if k == 0 and substep == 0 else 0.0
        if runs:
            first, delay = pairs[PAIR.first, w], rows[pairs[PAIR.candidate, w], C.command_delay]
            if delay > 0.0 or always:
                wanted, on, wanted_slope, on_slope = command(
                    goal, enable, first, k * substeps + substep, substeps, lanes[L.h + w], delay
                )
                lanes[L.wanted + w], lanes[L.on + w] = wanted, on
                lanes[L.wanted_by_0 + w], lanes[L.on_by_0 + w] = wanted_slope, on_slope
            else:
                lanes[L.wanted + w], lanes[L.on + w] = goal[first + k], enable[first + k]


@compiled_once
def load_lanes(width, log_rows, table, lanes, pairs):
    """Set the load of each lane from its table."""
    for w in range(width):
        angle = lanes[L.position + w] + lanes[PARAMETERS + LANES * C.q_offset + w]
        inertia, inertia_slope, torque, by_angle, by_speed = load_of(
            log_rows[pairs[PAIR.log, w]], table, angle, lanes[L.speed + w]
        )
        lanes[L.load_inertia + w], lanes[L.load_inertia_by_0 + w] = inertia, inertia_slope
        lanes[L.load_torque + w], lanes[L.load_torque_by_0 + w] = torque, by_angle
        lanes[L.load_torque_by_1 + w] = by_speed


@compiled_once
def end_sample(k, count, measured, objective, recorded, lanes, pairs):
    """Add the loss of the duty cycle of the sample's first step, and record it."""
    kind = int(objective[0])
    for w in range(count):
        sample = pairs[PAIR.first, w] + k
        lanes[L.slope_duty + w] = 0.0
        if k < pairs[PAIR.length, w]:
            duty = lanes[L.duty + w]
            error = duty - measured[2, sample]
            if objective[6] != 0.0 and not math.isnan(error):
                loss, slope = loss_of(kind, objective[3], error)
                lanes[L.sum_duty + w] += loss
                lanes[L.slope_duty + w] = objective[6] * slope
            if recorded.shape[0] > 0:
                recorded[pairs[PAIR.candidate, w], 2, sample] = duty


@compiled_once
def mark_diverged(k, count, log_rows, failed, lanes, pairs):
    """Stop the lanes that have diverged."""
    for w in range(count):
        if k < pairs[PAIR.length, w] and has_diverged(lanes[L.position + w], lanes[L.speed + w]):
            j = pairs[PAIR.log, w]
            failed[pairs[PAIR.candidate, w], j] = k * log_rows[j, LOG.dt]
            pairs[PAIR.length, w] = 0


@compiled_once
def begin_slopes(k, count, columns, s_position, s_speed, s_motor, jacobian, lanes, slopes, pairs):
    """Begin a sample: reset the derivatives with the state, and record those of the motion.

    ``s_position``, ``s_speed`` and ``s_motor`` are the offsets of the derivatives of position and
    speeds.
    """
    for w in range(count):
        runs = k < pairs[PAIR.length, w]
        if runs and lanes[L.clock + w] == 0.0:
            for n in range(columns):
                at = LANES * n + w
                slopes[s_position + at] = slopes[s_speed + at] = slopes[s_motor + at] = 0.0
        if runs and jacobian.shape[0] > 0:
            i, sample = pairs[PAIR.candidate, w], pairs[PAIR.first, w] + k
            for n in range(columns):
                jacobian[i, 0, sample, n] = slopes[s_position + LANES * n + w]
                if jacobian.shape[1] > 1:
                    jacobian[i, 1, sample, n] = slopes[s_speed + LANES * n + w]


@compiled_once
def add_slopes(width, count, place, start, row, lanes, slopes):
    """Add the derivatives of one sample's losses to those of their sums."""
    for n in range(count):
        for w in range(width):
            at = LANES * n + w
            slopes[place + at] += lanes[row + w] * slopes[start + at]


class SlopeSpace(NamedTuple):
    """Offsets of derivatives in their work space; a row for each requested column."""

    states: tuple[int, ...]
    """Derivatives of each state."""
    sums: tuple[int, ...]
    """Derivatives of the sums of losses of position, speed and duty cycle."""
    duty: int
    """Derivatives of the duty cycle."""
    by_column: tuple[int, ...]
    """Derivatives of each speed with respect to each column of the row."""
    duty_by_column: int
    """Derivatives of the duty cycle with respect to each column of the row."""
    size: int
    """Size of the work space."""


def slope_space(program: StepProgram) -> SlopeSpace:
    """The work space of the derivatives of a step."""
    step = LANES * len(program.kind.columns)
    states, speeds = len(program.smooth), len(program.speeds)
    places = range(0, step * (states + speeds + 6), step)
    return SlopeSpace(
        tuple(places[:states]),
        tuple(places[states : states + 3]),
        places[states + 3],
        tuple(places[states + 4 : states + 4 + speeds]),
        places[states + 4 + speeds],
        step * (states + speeds + 5),
    )


class StepFunctions(NamedTuple):
    """Compiled functions of a kind of step, each vectorised over lanes."""

    space: int
    """Size of the work space of the lanes."""
    once: Any
    """``(width, lanes, slopes)``: constants of a rollout."""
    each_sample: Any
    """Constants of a sample."""
    step: Any
    """The step."""
    carry: Any
    """``(width, count, wanted, lanes, slopes)``: propagates the derivatives over the step."""
    duty_step: Any
    """Derivatives of the duty cycle before the step."""
    carry_duty: Any
    """Propagates the derivatives to the duty cycle."""


@functools.cache
def step_functions(kind: StepKind, slopes: bool, duty: bool) -> StepFunctions:
    """Compiled step of a kind, with its derivatives and those of the duty cycle on request."""
    program, work = step_program(kind), WorkSpace([*_ROWS, *(f"c.{name}" for name in kind.columns)])
    targets = [Target(work.place(name), value, last=True) for name, value in program.after.items()]
    targets.append(Target(work.place("duty"), program.duty))
    steps, propagations = {"step": targets}, {}
    if slopes:
        propagations["carry"] = _propagation(program, work, targets)
    if duty:
        steps["duty_step"] = []
        propagations["carry_duty"] = _duty_propagation(program, work, steps["duty_step"])
    parts = LanePlan(program.graph, work, _ONCE, _EACH_SAMPLE).functions(steps)
    functions = {name: lane_function(name, loops) for name, loops in parts.items()}
    for name, propagation in propagations.items():
        functions[name] = column_function(name, propagation.code, propagation.of_column)
    return StepFunctions(work.size, **{n: functions.get(n) for n in StepFunctions._fields[1:]})


class _Propagation:
    """Instructions that propagate derivatives over a step (chain rule), for one requested column.

    Args:
      work: work space of the lanes.
      targets: output, values of the step that the instructions read.
    """

    def __init__(self, work: WorkSpace, targets: list[Target]):
        self.work, self.targets = work, targets
        self.code: list[Instruction] = []
        self.of_column: dict[int, list[Instruction]] = {}

    def add(self, *instruction: Any) -> int:
        """Number of a new instruction."""
        self.code.append(instruction)
        return len(self.code) - 1

    def slope(self, row: int, shift: str = "wanted") -> int:
        """Derivative of a state with respect to the column."""
        return self.add("load", Place("slopes", row, shift))

    def term(self, value: Value, factor: int, name: str) -> list[int]:
        """Product of a factor and a value of the step, stored in a row unless it is a constant."""
        if value.node.operation == "constant":
            number = value.node.content
            if number == 0.0:
                return []
            if number == 1.0:
                return [factor]
            return [self.add("multiply", self.add("constant", number), factor)]
        return [self.add("multiply", self.add("load", self.row(value, name)), factor)]

    def row(self, value: Value, name: str) -> Place:
        """Row of a value of the step."""
        place = self.work.place(name)
        self.targets.append(Target(place, value))
        return place

    def columns(self, found: dict[str, Value], names: Sequence[str], start: int) -> None:
        """Add targets that write values of columns to their rows from ``start``."""
        for column, value in found.items():
            place = Place("slopes", start + LANES * names.index(column))
            self.targets.append(Target(place, value))

    def also(self, column: int, slope: Place, row: Place) -> None:
        """Add a row to a derivative of one column, last of all."""
        code = self.of_column.setdefault(column, [])
        at = len(code)
        code += [("load", slope), ("load", row), ("add", at, at + 1), ("store", slope, at + 2)]

    def sum(self, terms: Sequence[int]) -> int:
        """Sum of terms."""
        if not terms:
            return self.add("constant", 0.0)
        return functools.reduce(lambda total, term: self.add("add", total, term), terms)


def _propagation(program: StepProgram, work: WorkSpace, targets: list[Target]) -> _Propagation:
    """Propagation of derivatives over a step; appends to ``targets`` the values that it reads.

    Forward sensitivities by the chain rule: with state x, speeds v and column c, ``dv/dc =
    dv/dx dx/dc + dv/dc`` of the step, and likewise for the state after it. All columns share the
    derivatives of the step, so each further parameter costs only these sums.
    """
    found, places = step_slopes(program), slope_space(program)
    columns, states = program.kind.columns, program.smooth
    propagation = _Propagation(work, targets)
    before = [propagation.slope(places.states[k]) for k in range(len(states))]
    speeds = []
    for i, by_state in enumerate(found.by_state):
        terms = []
        for k, state in enumerate(states):
            terms += propagation.term(by_state[state], before[k], f"speed {i} by {state}")
        terms.append(propagation.slope(places.by_column[i], "column"))
        speeds.append(propagation.sum(terms))
        propagation.columns(found.by_column[i], columns, places.by_column[i])
    after = []
    for state in states:
        terms = []
        for j, other in enumerate(states):
            terms += propagation.term(found.keep[state][other], before[j], f"{state} by {other}")
        for i, value in enumerate(found.follow[state]):
            terms += propagation.term(value, speeds[i], f"{state} by speed {i}")
        after.append(propagation.sum(terms))
    for k, value in enumerate(after):
        propagation.add("store", Place("slopes", places.states[k], "wanted"), value)
    for k, state in enumerate(states):
        # few columns act on a state other than through the speeds
        for column, value in found.direct[state].items():
            row = propagation.row(value, f"{state} by {column}")
            slope = Place("slopes", places.states[k], "wanted")
            propagation.also(columns.index(column), slope, row)
    return propagation


def _duty_propagation(program: StepProgram, work: WorkSpace, targets: list[Target]) -> _Propagation:
    """Propagation of derivatives to the duty cycle; appends to ``targets`` likewise."""
    by_state, by_column = duty_slopes(program)
    places, propagation = slope_space(program), _Propagation(work, targets)
    terms = []
    for k, state in enumerate(program.smooth):
        slope = propagation.slope(places.states[k])
        terms += propagation.term(by_state[state], slope, f"duty by {state}")
    propagation.columns(by_column, program.kind.columns, places.duty_by_column)
    terms.append(propagation.slope(places.duty_by_column, "column"))
    propagation.add("store", Place("slopes", places.duty, "wanted"), propagation.sum(terms))
    return propagation


@functools.cache
def rollouts_of(kind: StepKind, slopes: bool, duty: bool) -> Any:
    """Rollouts of a kind of step, ready for compilation."""
    program = step_program(kind)
    functions, space = step_functions(kind, slopes, duty), slope_space(program)
    once, each_sample, step = functions.once, functions.each_sample, functions.step
    carry, duty_step, carry_duty = functions.carry, functions.duty_step, functions.carry_duty
    tabulated = kind.tabulated
    has_gap, gap = kind.backlash, 0
    reads_inputs = kind.extras
    if kind.backlash:
        gap = space.states[program.smooth.index("gap")]
    # a reset sets position and speed to the log's: their derivatives restart from 0
    s_position, s_speed = space.states[:2]
    s_motor = space.states[program.smooth.index("motor_speed")] if kind.backlash else s_speed
    sums, s_duty = space.sums, space.duty

    def rollouts(
        start, stop, rows, gate, log_rows, offsets, table, inputs, measured, objective, sums_out,
        failed, recorded, wanted: Sequence[int], gradient, jacobian, lanes, slopes, pairs,
    ):  # fmt: skip
        goal, enable = inputs[0], inputs[1]
        groups = (stop - start + LANES - 1) // LANES
        compares_duty = objective[6] != 0.0 or recorded.shape[0] > 0
        for number in range(groups):
            # groups of nearly equal size
            group = start + number * (stop - start) // groups
            count = start + (number + 1) * (stop - start) // groups - group
            begin_lanes(group, count, rows, log_rows, offsets, table, measured, gate, lanes, pairs)
            width = (count + VECTOR - 1) // VECTOR * VECTOR
            longest, most = 0, 0
            # whether commands change between the steps of a sample
            changing = False
            for w in range(count):
                longest = max(longest, pairs[PAIR.length, w])
                most = max(most, pairs[PAIR.substeps, w])
                changing = changing or pairs[PAIR.substeps, w] != pairs[PAIR.substeps, 0]
                changing = changing or rows[pairs[PAIR.candidate, w], C.command_delay] > 0.0
            delayed = False
            if wanted is not None:
                slopes[:] = 0.0
                for n in range(len(wanted)):
                    delayed = delayed or wanted[n] == C.command_delay
                if has_gap:
                    for n in range(len(wanted)):
                        if wanted[n] == C.backlash:
                            for w in range(width):
                                # the gap starts at +-backlash / 2
                                side = math.copysign(0.5, lanes[L.gap + w])
                                slopes[gap + LANES * n + w] = side
            once(width, lanes, slopes)
            for k in range(longest):
                begin_sample(
                    k, count, log_rows, inputs, measured, objective, recorded, lanes, pairs,
                    reads_inputs,
                )  # fmt: skip
                each_sample(width, lanes, slopes)
                if wanted is not None:
                    begin_slopes(
                        k, count, len(wanted), s_position, s_speed, s_motor, jacobian, lanes,
                        slopes, pairs,
                    )  # fmt: skip
                    if gradient.shape[0] > 0:
                        n = len(wanted)
                        add_slopes(width, n, sums[0], s_position, L.slope_position, lanes, slopes)
                        if objective[5] != 0.0:
                            add_slopes(width, n, sums[1], s_speed, L.slope_speed, lanes, slopes)
                for substep in range(most):
                    # the first two steps of a log differ: the first one is fresh
                    if substep == 0 or changing or delayed or (k == 0 and substep == 1):
                        command_lanes(k, substep, width, rows, goal, enable, lanes, pairs, delayed)
                    if tabulated:
                        load_lanes(width, log_rows, table, lanes, pairs)
                    if duty and substep == 0:
                        duty_step(width, lanes, slopes)
                        carry_duty(width, len(wanted), wanted, lanes, slopes)
                    step(width, lanes, slopes)
                    if wanted is not None:
                        carry(width, len(wanted), wanted, lanes, slopes)
                    if substep == 0 and compares_duty:
                        end_sample(k, count, measured, objective, recorded, lanes, pairs)
                        if duty:
                            n = len(wanted)
                            if gradient.shape[0] > 0:
                                add_slopes(width, n, sums[2], s_duty, L.slope_duty, lanes, slopes)
                            if jacobian.shape[0] > 0:
                                for w in range(count):
                                    if k < pairs[PAIR.length, w]:
                                        i = pairs[PAIR.candidate, w]
                                        sample = pairs[PAIR.first, w] + k
                                        for n in range(len(wanted)):
                                            place = s_duty + LANES * n + w
                                            jacobian[i, 2, sample, n] = slopes[place]
                mark_diverged(k, count, log_rows, failed, lanes, pairs)
            for w in range(count):
                i, j = pairs[PAIR.candidate, w], pairs[PAIR.log, w]
                for channel in range(3):
                    sums_out[i, j, channel] = lanes[L.sum_position + LANES * channel + w]
                if wanted is not None and gradient.shape[0] > 0:
                    for channel in range(gradient.shape[2]):
                        for n in range(len(wanted)):
                            place = sums[channel] + LANES * n + w
                            gradient[i, j, channel, n] = slopes[place]

    return rollouts
