"""Rollouts side by side with the derivatives of their positions: models M1 to M6 of voltage servos.

The derivatives are those of ``advance``, without branches, for the
first sixteen quantities of the parameter row; a model with extended terms goes the other way.
"""

import math

from trueup.actuators.bench._lane_functions import sine
from trueup.actuators.bench._lane_rollouts import (
    ACTIVE,
    CLOCK,
    DAMPING,
    DUTY,
    EXPONENT,
    FACTOR,
    GAIN,
    GRAVITY,
    IMPLICIT,
    LANES,
    LOAD,
    LOG_RATIO,
    LOSS,
    MAX_AMPS,
    MAX_PWM,
    MOMENTUM,
    OFFSET,
    OHMS,
    ON,
    PEAK,
    PER_MOMENTUM,
    PER_OHM,
    PER_STRIBECK_SPEED,
    PER_VOLT,
    POSITION,
    POWER,
    SPEED,
    SQUARE_E,
    SQUARE_M,
    STEP,
    SUM_Q,
    TARGET,
    TORQUE,
    TORQUE_CONSTANT,
    VECTOR,
    VOLTS,
    WEIGHT_E,
    WEIGHT_ES,
    WEIGHT_M,
    WEIGHT_MS,
    begin_lanes,
    begin_sample,
    command_lanes,
    load_lanes,
    move_lanes,
)
from trueup.actuators.bench._rollout_parts import has_diverged, loss_of
from trueup.actuators.equations._servo_kernel import MAX_SPEED_BAM, RATIO, compiled_apart

QUANTITIES = 16
"""Quantities of the parameter row whose derivatives are made, the first ones."""

# Where the derivatives begin in their work space: of position, speed, new speed, summed loss.
(S_Q, S_V, DIRECT, SUMMED) = range(0, 4 * QUANTITIES * LANES, QUANTITIES * LANES)
(
    T_ERROR, T_SPEED, T_KT, T_OHMS, B_KT, B_OHMS, PER_RATIO, SLOPE,
    D_NET, D_LOSS, D_VISCOUS, D_SPEED, D_INERTIA, D_IMPLICIT, KEPT, ON_Q, ON_V, MOVES,
) = range(4 * QUANTITIES * LANES, (4 * QUANTITIES + 18) * LANES, LANES)  # fmt: skip
SLOPE_SPACE = (4 * QUANTITIES + 18) * LANES
"""Size of the work space of the derivatives."""


@compiled_apart
def motor_slopes(width, lanes, slopes):
    """Derivatives of the torque and of its implicit damping."""
    for w in range(width):
        v, on, most = lanes[SPEED + w], lanes[ON + w], lanes[MAX_PWM + w]
        kt, per_ohm = lanes[TORQUE_CONSTANT + w], lanes[PER_OHM + w]
        vin, per_volt = lanes[VOLTS + w], lanes[PER_VOLT + w]
        emf, span = kt * v, lanes[OHMS + w] * lanes[MAX_AMPS + w]
        amps = lanes[MAX_AMPS + w] if lanes[MAX_AMPS + w] < 1e30 else 0.0
        raw = lanes[GAIN + w] * (lanes[TARGET + w] - lanes[POSITION + w])
        low, high = (emf - span) * per_volt, (emf + span) * per_volt
        side = 1.0 if raw > high else 0.0
        side = -1.0 if raw < low else side
        inside = 1.0 if abs(min(max(raw, low), high)) <= most else 0.0
        side = side * inside
        limits = abs(side)
        conductance = kt * per_ohm
        damping, t_duty = kt * conductance, conductance * vin
        driven = lanes[DUTY + w] * vin
        acts = on * (1.0 - limits)
        slopes[T_ERROR + w] = on * t_duty * lanes[GAIN + w] * (inside - limits)
        slopes[T_SPEED + w] = on * (t_duty * kt * per_volt * limits - damping)
        slopes[T_KT + w] = on * (t_duty * v * per_volt * limits + (driven - 2.0 * emf) * per_ohm)
        by_ohms = t_duty * side * amps * per_volt - conductance * (driven - emf) * per_ohm
        slopes[T_OHMS + w] = on * by_ohms
        slopes[B_KT + w] = acts * 2.0 * conductance
        slopes[B_OHMS + w] = -acts * damping * per_ohm


@compiled_apart
def move_slopes(bam, width, lanes, slopes):
    """Derivatives of the new speed with respect to what the step is made of; 0 where it sticks."""
    if bam:
        for w in range(width):
            v, viscous, per = lanes[SPEED + w], lanes[DAMPING + w], lanes[PER_MOMENTUM + w]
            net = lanes[TORQUE + w] + lanes[LOAD + w]
            stopping = lanes[MOMENTUM + w] * v + net
            budget = lanes[LOSS + w] + viscous * abs(v)
            slips = 1.0 if abs(stopping) > budget else 0.0
            side = math.copysign(1.0, stopping)
            free = v + (net - side * budget) * per
            slopes[D_NET + w] = slips * per
            slopes[D_LOSS + w] = -slips * per * side
            slopes[D_VISCOUS + w] = -slips * per * side * abs(v)
            slopes[D_SPEED + w] = slips * (1.0 - per * side * viscous * math.copysign(1.0, v))
            slopes[D_INERTIA + w] = -slips * (free - v) * per / lanes[STEP + w]
            slopes[D_IMPLICIT + w] = 0.0
            slopes[KEPT + w] = 0.0 if slips * abs(free) > MAX_SPEED_BAM else 1.0
    else:
        for w in range(width):
            v, implicit = lanes[SPEED + w], lanes[IMPLICIT + w]
            inertial = lanes[MOMENTUM + w] + implicit
            push = inertial * v + lanes[TORQUE + w] + lanes[LOAD + w]
            slips = 1.0 if abs(push) > lanes[LOSS + w] else 0.0
            side = math.copysign(1.0, push)
            per = slips / (inertial + lanes[DAMPING + w])
            new = (push - side * lanes[LOSS + w]) * per
            slopes[D_NET + w] = per
            slopes[D_LOSS + w] = -per * side
            slopes[D_VISCOUS + w] = -new * per
            slopes[D_SPEED + w] = inertial * per
            slopes[D_INERTIA + w] = (v - new) * per / lanes[STEP + w]
            slopes[D_IMPLICIT + w] = (v - new) * per


@compiled_apart
def gather_slopes(stribeck, gated, width, lanes, slopes):
    """Derivatives of the new speed with respect to position, speed and each quantity."""
    gate = 1.0 if gated else 0.0
    with_stribeck = 1.0 if stribeck else 0.0
    for w in range(width):
        v, tau, load = lanes[SPEED + w], lanes[TORQUE + w], lanes[LOAD + w]
        s, alive = with_stribeck * lanes[FACTOR + w], lanes[ACTIVE + w]
        d_net, d_loss = alive * slopes[D_NET + w], alive * slopes[D_LOSS + w]
        d_implicit = alive * slopes[D_IMPLICIT + w]
        first = lanes[WEIGHT_E + w] * load - lanes[WEIGHT_M + w] * tau
        second = lanes[WEIGHT_ES + w] * load - lanes[WEIGHT_MS + w] * tau
        sign, sign_s = math.copysign(1.0, first), math.copysign(s, second)
        open_m = 1.0 if abs(load) > abs(tau) else 0.0
        open_e = 1.0 if abs(tau) > abs(load) else 0.0
        opposed = 0.0 if gate * tau * load > 0.0 else s
        by_m, by_e = open_m * opposed * tau, open_e * opposed * load
        f_m = -sign * lanes[WEIGHT_M + w] - sign_s * lanes[WEIGHT_MS + w]
        f_m += 2.0 * lanes[SQUARE_M + w] * by_m
        f_e = sign * lanes[WEIGHT_E + w] + sign_s * lanes[WEIGHT_ES + w]
        f_e += 2.0 * lanes[SQUARE_E + w] * by_e
        peak = s * (lanes[PEAK + w] + abs(second))
        peak += lanes[SQUARE_M + w] * by_m * tau + lanes[SQUARE_E + w] * by_e * load
        falls = peak * lanes[POWER + w]
        per_speed = 1.0 / (v if abs(v) > 1e-300 else 1e300)
        f_v = -falls * lanes[EXPONENT + w] * per_speed
        w_m, w_e = d_net + d_loss * f_m, d_net + d_loss * f_e
        e_q = -lanes[GRAVITY + w] * sine(lanes[POSITION + w] + lanes[OFFSET + w] + 0.5 * math.pi)
        on_error = w_m * slopes[T_ERROR + w]
        error = lanes[TARGET + w] - lanes[POSITION + w]
        slopes[ON_Q + w] = w_e * e_q - on_error
        on_v = alive * slopes[D_SPEED + w] + d_loss * f_v + w_m * slopes[T_SPEED + w]
        slopes[ON_V + w] = on_v + 1.0 - alive
        slopes[MOVES + w] = alive * lanes[STEP + w]
        by_kt = w_m * slopes[T_KT + w] + d_implicit * slopes[B_KT + w]
        by_ohms = w_m * slopes[T_OHMS + w] + d_implicit * slopes[B_OHMS + w]
        slopes[DIRECT + w] = by_kt
        slopes[DIRECT + LANES + w] = by_ohms
        slopes[DIRECT + 2 * LANES + w] = alive * slopes[D_INERTIA + w]
        slopes[DIRECT + 3 * LANES + w] = w_e * e_q
        slopes[DIRECT + 4 * LANES + w] = d_loss
        slopes[DIRECT + 5 * LANES + w] = alive * slopes[D_VISCOUS + w]
        slopes[DIRECT + 6 * LANES + w] = d_loss * s
        slopes[DIRECT + 7 * LANES + w] = -d_loss * sign * tau
        slopes[DIRECT + 8 * LANES + w] = d_loss * sign * load
        slopes[DIRECT + 9 * LANES + w] = -d_loss * sign_s * tau
        slopes[DIRECT + 10 * LANES + w] = d_loss * sign_s * load
        slopes[DIRECT + 11 * LANES + w] = d_loss * by_m * tau
        slopes[DIRECT + 12 * LANES + w] = d_loss * by_e * load
        by_stribeck = d_loss * falls
        stretch = lanes[EXPONENT + w] * lanes[PER_STRIBECK_SPEED + w]
        slopes[DIRECT + 13 * LANES + w] = by_stribeck * stretch
        slopes[DIRECT + 14 * LANES + w] = -by_stribeck * lanes[LOG_RATIO + w]
        slopes[DIRECT + 15 * LANES + w] = on_error * error * slopes[PER_RATIO + w]


@compiled_apart
def carry_slopes(bam, width, slopes):
    """Carry the derivatives of position and speed over the step."""
    for first in range(0, QUANTITIES * LANES, LANES):
        if bam:
            for w in range(width):
                s_q, s_v = slopes[S_Q + first + w], slopes[S_V + first + w]
                change = slopes[ON_Q + w] * s_q + slopes[ON_V + w] * s_v
                change += slopes[DIRECT + first + w]
                kept = slopes[KEPT + w]
                gain = (kept + 0.5) * change - 0.5 * s_v
                slopes[S_Q + first + w] = s_q + slopes[MOVES + w] * gain
                slopes[S_V + first + w] = kept * change
        else:
            for w in range(width):
                s_q, s_v = slopes[S_Q + first + w], slopes[S_V + first + w]
                change = slopes[ON_Q + w] * s_q + slopes[ON_V + w] * s_v
                change += slopes[DIRECT + first + w]
                slopes[S_Q + first + w] = s_q + slopes[MOVES + w] * change
                slopes[S_V + first + w] = change


@compiled_apart
def begin_slopes(k, count, measured, objective, jacobian, lanes, slopes, pairs):
    """Begin a sample: derivatives start anew with the state; the loss's derivative of each lane."""
    kind = int(objective[0])
    for w in range(count):
        slopes[SLOPE + w] = 0.0
        if k >= pairs[3, w]:
            continue
        if lanes[CLOCK + w] == 0.0:
            for first in range(0, QUANTITIES * LANES, LANES):
                slopes[S_Q + first + w], slopes[S_V + first + w] = 0.0, 0.0
        sample = pairs[2, w] + k
        error = lanes[POSITION + w] - measured[0, sample]
        slopes[SLOPE + w] = objective[4] * loss_of(kind, objective[1], error)[1]
        if jacobian.shape[0] > 0:
            for quantity in range(QUANTITIES):
                jacobian[pairs[0, w], 0, sample, quantity] = slopes[S_Q + quantity * LANES + w]


@compiled_apart
def lane_gradients(
    start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums, failed,
    recorded, gradient, jacobian, work, pairs,
):  # fmt: skip
    """Roll pairs of candidate and log out with derivatives; arguments as of the other rollouts.

    Args:
      gradient: takes the derivatives of the summed losses of the position ``(n, l, 1, 16)``.
      jacobian: takes the derivatives of the positions ``(n, 1, m, 16)``; may be empty.
      work: work space of the lanes and of their derivatives ``(2, ...)``.
      pairs: work space ``(PAIR_ROWS, LANES)`` of whole numbers.
    """
    stribeck, gated, bam = setting[1] != 0, setting[2] != 0, setting[3] != 0
    goal, enable = inputs[0], inputs[1]
    lanes, slopes = work[0], work[1]
    groups = (stop - start + LANES - 1) // LANES
    for number in range(groups):
        group = start + number * (stop - start) // groups
        count = start + (number + 1) * (stop - start) // groups - group
        begin_lanes(group, count, rows, log_rows, offsets, measured, bam, lanes, pairs)
        for place in range(SLOPE_SPACE):
            slopes[place] = 0.0
        width = (count + VECTOR - 1) // VECTOR * VECTOR
        longest, most = 0, 0
        for w in range(count):
            longest, most = max(longest, pairs[3, w]), max(most, pairs[4, w])
            slopes[PER_RATIO + w] = 1.0 / rows[pairs[0, w], RATIO]
        for k in range(longest):
            begin_sample(
                k, count, rows, log_rows, inputs, measured, objective, recorded, lanes, pairs
            )
            begin_slopes(k, count, measured, objective, jacobian, lanes, slopes, pairs)
            for first in range(0, QUANTITIES * LANES, LANES):
                for w in range(width):
                    slopes[SUMMED + first + w] += slopes[SLOPE + w] * slopes[S_Q + first + w]
            for substep in range(most):
                command_lanes(k, substep, rows, goal, enable, lanes, pairs)
                load_lanes(stribeck, gated, bam, False, width, lanes)
                motor_slopes(width, lanes, slopes)
                move_slopes(bam, width, lanes, slopes)
                gather_slopes(stribeck, gated, width, lanes, slopes)
                carry_slopes(bam, width, slopes)
                move_lanes(bam, width, lanes)
            for w in range(count):
                if k < pairs[3, w] and has_diverged(lanes[POSITION + w], lanes[SPEED + w]):
                    failed[pairs[0, w], pairs[1, w]] = k * log_rows[pairs[1, w], 0]
                    pairs[3, w] = 0
        for w in range(count):
            i, j = pairs[0, w], pairs[1, w]
            sums[i, j, 0] = lanes[SUM_Q + w]
            if gradient.shape[0] > 0:
                for quantity in range(QUANTITIES):
                    gradient[i, j, 0, quantity] = slopes[SUMMED + quantity * LANES + w]
