"""Rollouts of voltage servos on pendulums without derivatives, several side by side.

The steps are those of ``_bench_step``, written without branches in loops over
lanes, one rollout a lane, so that the compiler makes vector code of them. What those steps have
beyond this (other laws, tabulated loads, backlash, derivatives) goes the other way.
"""

import math

from trueup.actuators.bench._bench_step import command
from trueup.actuators.bench._lane_functions import exponential, logarithm, sine
from trueup.actuators.bench._rollout_parts import has_diverged, initial_state, loss_of
from trueup.actuators.equations._servo_kernel import (
    ALPHA,
    ARMATURE,
    BASE,
    BRAKING,
    DELAY,
    KT,
    LIMIT,
    LOAD_E,
    LOAD_ES,
    LOAD_M,
    LOAD_MS,
    MAX_SPEED_BAM,
    MEASURED_V,
    Q_OFFSET,
    QUAD_E,
    QUAD_M,
    R_SUPPLY,
    R_TEMP,
    RATIO,
    SATURATION,
    STRIBECK,
    V_MAX,
    V_STRIBECK,
    VISCOUS,
    R,
    compiled,
    compiled_apart,
    stribeck_range,
)

LANES = 16
"""Rollouts side by side: a few vector registers."""
VECTOR = 4
"""Numbers of a vector register."""

# Where each quantity of the lanes begins in the work space: what a lane keeps from step to step and
# what it is told, then constants.
(
    POSITION, SPEED, TARGET, CLOCK, SUM_Q, SUM_V, SUM_DUTY, DUTY, SINE, LOG_RATIO, POWER, FACTOR,
    WANTED, ON, VOLTS, PER_VOLT, OHMS, PER_OHM, ACTIVE, TORQUE, LOAD, LOSS, IMPLICIT,
    TORQUE_CONSTANT, GAIN, MAX_PWM, MAX_AMPS, SUPPLY, OFF, MAX_SLEW, STEP, MOMENTUM,
    PER_MOMENTUM, GRAVITY, OFFSET, COULOMB, DAMPING, PEAK, WEIGHT_M, WEIGHT_E, WEIGHT_MS,
    WEIGHT_ES, SQUARE_M, SQUARE_E, EXPONENT, PER_STRIBECK_SPEED, SLOW, FAST, WEAKENING,
) = range(0, 49 * LANES, LANES)  # fmt: skip
LANE_SPACE = 49 * LANES
"""Size of the work space."""
PAIR_ROWS = 5
"""Rows of the whole numbers of the lanes: candidate, log, first sample, length, substeps."""


@compiled
def tell_supply(vin, r, w, lanes):
    """Tell a lane its bus voltage and winding resistance."""
    lanes[VOLTS + w], lanes[OHMS + w] = vin, r
    lanes[PER_VOLT + w], lanes[PER_OHM + w] = 1.0 / vin, 1.0 / r


@compiled_apart
def begin_lanes(group, count, rows, log_rows, offsets, measured, bam, lanes, pairs):
    """Set the lanes to the first samples of their pairs; lanes beyond ``count`` stand still."""
    logs = offsets.shape[0] - 1
    for w in range(LANES):
        pair = group + min(w, count - 1)
        i, j = pair // logs, pair % logs
        c, row, first = rows[i], log_rows[j], offsets[j]
        pairs[0, w], pairs[1, w], pairs[2, w] = i, j, first
        pairs[3, w] = offsets[j + 1] - first if w < count else 0
        pairs[4, w] = int(row[1])
        q, v, _, target, _, _ = initial_state(c, bam, measured[0, first], measured[1, first])
        for row_of_lanes in range(0, LANE_SPACE, LANES):
            lanes[row_of_lanes + w] = 0.0
        lanes[POSITION + w], lanes[SPEED + w], lanes[TARGET + w] = q, v, target
        tell_supply(row[6], c[R], w, lanes)
        lanes[TORQUE_CONSTANT + w] = c[KT]
        lanes[GAIN + w], lanes[MAX_PWM + w] = row[2] * c[RATIO], row[4]
        lanes[MAX_AMPS + w] = min(c[LIMIT], row[5])
        lanes[SUPPLY + w], lanes[OFF + w] = c[R_SUPPLY], c[BRAKING]
        lanes[STEP + w] = row[0] / row[1]
        lanes[MAX_SLEW + w] = c[V_MAX] * lanes[STEP + w]
        lanes[MOMENTUM + w] = (row[7] + c[ARMATURE]) / lanes[STEP + w]
        lanes[PER_MOMENTUM + w] = 1.0 / lanes[MOMENTUM + w]
        lanes[GRAVITY + w], lanes[OFFSET + w] = row[8], c[Q_OFFSET]
        lanes[COULOMB + w], lanes[DAMPING + w], lanes[PEAK + w] = c[BASE], c[VISCOUS], c[STRIBECK]
        lanes[WEIGHT_M + w], lanes[WEIGHT_E + w] = c[LOAD_M], c[LOAD_E]
        lanes[WEIGHT_MS + w], lanes[WEIGHT_ES + w] = c[LOAD_MS], c[LOAD_ES]
        lanes[SQUARE_M + w], lanes[SQUARE_E + w] = c[QUAD_M], c[QUAD_E]
        lanes[EXPONENT + w], lanes[PER_STRIBECK_SPEED + w] = c[ALPHA], 1.0 / c[V_STRIBECK]
        lanes[SLOW + w], lanes[FAST + w] = stribeck_range(c[ALPHA])
        lanes[WEAKENING + w] = c[SATURATION] / c[KT]


@compiled_apart
def begin_sample(k, count, rows, log_rows, inputs, measured, objective, recorded, lanes, pairs):
    """Begin sample ``k`` of each lane: take the log's state where it is due, and add the losses."""
    kind = int(objective[0])
    for w in range(count):
        if k >= pairs[3, w]:
            continue
        i, j, sample = pairs[0, w], pairs[1, w], pairs[2, w] + k
        c, row = rows[i], log_rows[j]
        lanes[CLOCK + w] += row[0]
        if lanes[CLOCK + w] > row[13]:
            lanes[CLOCK + w] = 0.0
            lanes[POSITION + w], lanes[SPEED + w] = measured[0, sample], measured[1, sample]
        q, v = lanes[POSITION + w], lanes[SPEED + w]
        lanes[SUM_Q + w] += loss_of(kind, objective[1], q - measured[0, sample])[0]
        if objective[5] != 0.0:
            lanes[SUM_V + w] += loss_of(kind, objective[2], v - measured[1, sample])[0]
        if recorded.shape[0] > 0:
            recorded[i, 0, sample], recorded[i, 1, sample] = q, v
        if c[MEASURED_V] != 0.0 or c[R_TEMP] != 0.0:
            vin = row[6] + c[MEASURED_V] * (inputs[2, sample] - row[6])
            tell_supply(vin, c[R] * (1.0 + c[R_TEMP] * inputs[3, sample]), w, lanes)


@compiled_apart
def command_lanes(k, substep, rows, goal, enable, lanes, pairs):
    """Tell each lane the command of its step, and whether it makes one."""
    for w in range(LANES):
        substeps = pairs[4, w]
        lanes[ACTIVE + w] = 1.0 if k < pairs[3, w] and substep < substeps else 0.0
        if k < pairs[3, w]:
            first, delay = pairs[2, w], rows[pairs[0, w], DELAY]
            if delay > 0.0:
                lanes[WANTED + w], lanes[ON + w], _, _ = command(
                    goal, enable, first, k * substeps + substep, substeps, lanes[STEP + w], delay
                )
            else:
                lanes[WANTED + w], lanes[ON + w] = goal[first + k], enable[first + k]


@compiled_apart
def load_lanes(stribeck, gated, bam, saturates, width, lanes):
    """Torques and friction of all lanes at their states.

    ``width`` is the number of lanes: as an argument, because the compiler unrolls loops of a fixed
    length rather than make vector code of them.
    """
    for w in range(width):
        lanes[SINE + w] = sine(lanes[POSITION + w] + lanes[OFFSET + w])
    if stribeck:
        for w in range(width):
            ratio = abs(lanes[SPEED + w]) * lanes[PER_STRIBECK_SPEED + w]
            lanes[LOG_RATIO + w] = logarithm(min(max(ratio, lanes[SLOW + w]), lanes[FAST + w]))
        for w in range(width):
            lanes[POWER + w] = exponential(lanes[EXPONENT + w] * lanes[LOG_RATIO + w])
        for w in range(width):
            lanes[FACTOR + w] = exponential(-lanes[POWER + w])
    # without torque the target stays with the joint; not so in the reference
    released = -1.0 if bam else 0.0
    for w in range(width):
        q, v, on = lanes[POSITION + w], lanes[SPEED + w], lanes[ON + w]
        kt, vin, per_ohm = lanes[TORQUE_CONSTANT + w], lanes[VOLTS + w], lanes[PER_OHM + w]
        # firmware: target, duty cycle, current limit, greatest duty cycle
        start = q if on <= released else lanes[TARGET + w]
        slew, most = lanes[MAX_SLEW + w], lanes[MAX_PWM + w]
        target = min(max(lanes[WANTED + w], start - slew), start + slew)
        emf, span = kt * v, lanes[OHMS + w] * lanes[MAX_AMPS + w]
        duty = lanes[GAIN + w] * (target - q)
        per_volt = lanes[PER_VOLT + w]
        duty = min(max(duty, (emf - span) * per_volt), (emf + span) * per_volt)
        duty = min(max(duty, -most), most)
        conductance = kt * per_ohm
        damping = kt * conductance
        sag = lanes[SUPPLY + w] * duty * per_ohm
        bus = (vin + sag * emf) / (1.0 + sag * duty)
        off = (1.0 - on) * lanes[OFF + w] * damping
        # a current limiter that acts has taken the back-EMF out of the torque
        acting = 0.0 if abs(duty * vin - emf) >= span * (1.0 - 1e-12) else damping
        acting = acting if abs(duty) < most else damping
        lanes[TORQUE + w] = on * (conductance * bus * duty - damping * v) - off * v
        lanes[IMPLICIT + w] = on * acting + off
        lanes[LOAD + w] = -lanes[GRAVITY + w] * lanes[SINE + w]
        lanes[DUTY + w] = duty
        lanes[TARGET + w] = target if lanes[ACTIVE + w] > 0.0 else lanes[TARGET + w]
    if saturates:
        for w in range(width):
            on, kt = lanes[ON + w], lanes[TORQUE_CONSTANT + w]
            braking = (1.0 - on) * lanes[OFF + w] * kt * kt * lanes[PER_OHM + w] * lanes[SPEED + w]
            driven = lanes[TORQUE + w] + braking
            weaker = lanes[WEAKENING + w] * abs(driven) / max(on, 1e-300)
            lanes[TORQUE + w] = driven / (1.0 + weaker) - braking
    for w in range(width):
        tau, load = lanes[TORQUE + w], lanes[LOAD + w]
        loss = abs(lanes[WEIGHT_E + w] * load - lanes[WEIGHT_M + w] * tau)
        lanes[LOSS + w] = lanes[COULOMB + w] + loss
    if stribeck:
        gate = 1.0 if gated else 0.0
        for w in range(width):
            tau, load = lanes[TORQUE + w], lanes[LOAD + w]
            square = lanes[SQUARE_E + w] * load * load if abs(tau) > abs(load) else 0.0
            square = lanes[SQUARE_M + w] * tau * tau if abs(load) > abs(tau) else square
            square = 0.0 if gate * tau * load > 0.0 else square
            peak = abs(lanes[WEIGHT_ES + w] * load - lanes[WEIGHT_MS + w] * tau)
            lanes[LOSS + w] += lanes[FACTOR + w] * (lanes[PEAK + w] + peak + square)


@compiled_apart
def move_lanes(bam, width, lanes):
    """Move all active lanes by a step."""
    if bam:
        for w in range(width):
            q, v, h = lanes[POSITION + w], lanes[SPEED + w], lanes[STEP + w]
            net = lanes[TORQUE + w] + lanes[LOAD + w]
            stopping = lanes[MOMENTUM + w] * v + net
            budget = min(abs(stopping), lanes[LOSS + w] + lanes[DAMPING + w] * abs(v))
            free = v + (net - math.copysign(budget, stopping)) * lanes[PER_MOMENTUM + w]
            new = min(max(free, -MAX_SPEED_BAM), MAX_SPEED_BAM)
            moved = q + new * h + 0.5 * h * (free - v)
            lanes[POSITION + w] = moved if lanes[ACTIVE + w] > 0.0 else q
            lanes[SPEED + w] = new if lanes[ACTIVE + w] > 0.0 else v
    else:
        for w in range(width):
            q, v, h = lanes[POSITION + w], lanes[SPEED + w], lanes[STEP + w]
            momentum, implicit = lanes[MOMENTUM + w], lanes[IMPLICIT + w]
            push = momentum * v + lanes[TORQUE + w] + lanes[LOAD + w] + implicit * v
            left = math.copysign(max(abs(push) - lanes[LOSS + w], 0.0), push)
            new = left / (momentum + implicit + lanes[DAMPING + w])
            lanes[POSITION + w] = q + h * new if lanes[ACTIVE + w] > 0.0 else q
            lanes[SPEED + w] = new if lanes[ACTIVE + w] > 0.0 else v


@compiled_apart
def lane_rollouts(
    start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums, failed,
    recorded, lanes, pairs,
):  # fmt: skip
    """Roll pairs of candidate and log out; arguments as of the other rollouts.

    Args:
      lanes: work space ``(LANE_SPACE,)``.
      pairs: work space ``(PAIR_ROWS, LANES)`` of whole numbers.
    """
    stribeck, gated, bam = setting[1] != 0, setting[2] != 0, setting[3] != 0
    kind = int(objective[0])
    goal, enable = inputs[0], inputs[1]
    groups = (stop - start + LANES - 1) // LANES
    for number in range(groups):
        # groups of about one size
        group = start + number * (stop - start) // groups
        count = start + (number + 1) * (stop - start) // groups - group
        begin_lanes(group, count, rows, log_rows, offsets, measured, bam, lanes, pairs)
        width = (count + VECTOR - 1) // VECTOR * VECTOR
        longest, most, saturates = 0, 0, False
        for w in range(count):
            longest, most = max(longest, pairs[3, w]), max(most, pairs[4, w])
            saturates |= lanes[WEAKENING + w] != 0.0
        for k in range(longest):
            begin_sample(
                k, count, rows, log_rows, inputs, measured, objective, recorded, lanes, pairs
            )
            for substep in range(most):
                command_lanes(k, substep, rows, goal, enable, lanes, pairs)
                load_lanes(stribeck, gated, bam, saturates, width, lanes)
                move_lanes(bam, width, lanes)
                if substep > 0 or (objective[6] == 0.0 and recorded.shape[0] == 0):
                    continue
                for w in range(count):
                    sample = pairs[2, w] + k
                    if k < pairs[3, w]:
                        error = lanes[DUTY + w] - measured[2, sample]
                        if objective[6] != 0.0 and not math.isnan(error):
                            lanes[SUM_DUTY + w] += loss_of(kind, objective[3], error)[0]
                        if recorded.shape[0] > 0:
                            recorded[pairs[0, w], 2, sample] = lanes[DUTY + w]
            for w in range(count):
                if k < pairs[3, w] and has_diverged(lanes[POSITION + w], lanes[SPEED + w]):
                    failed[pairs[0, w], pairs[1, w]] = k * log_rows[pairs[1, w], 0]
                    pairs[3, w] = 0
        for w in range(count):
            for channel in range(3):
                sums[pairs[0, w], pairs[1, w], channel] = lanes[SUM_Q + channel * LANES + w]
