"""The compiled rollouts of the bench: pairs of candidate and log, with or without derivatives.

Called without sensitivities, numba leaves their code out: the same source gives a fast simulator
and one with exact derivatives of the very steps it makes.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from trueup.actuators import _servo_kernel
from trueup.actuators._servo_kernel import (
    ALPHA,
    ARMATURE,
    BACKLASH,
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
    STRIBECK,
    V_MAX,
    V_STRIBECK,
    VISCOUS,
    R,
    compiled,
    friction_loss,
    load_of,
    motor_torque,
    next_speed,
    stribeck_factor,
    stribeck_range,
)

DIVERGED_SPEED = 1e4
"""A rollout that is faster than this has diverged [rad/s]."""


@compiled
def loss_of(kind, width, error):
    """Loss of an error and its derivative: 0 absolute, 1 squared, 2 Huber of a width."""
    if kind == 0:
        return abs(error), math.copysign(1.0, error) if error != 0.0 else 0.0
    if kind == 1:
        return error * error, 2.0 * error
    if abs(error) <= width:
        return 0.5 * error * error, error
    return width * (abs(error) - 0.5 * width), math.copysign(width, error)


@compiled
def held(values, first, step, substeps):
    """Value that holds in an integration step; the first holds before the log begins."""
    return values[first + max(step, 0) // substeps]


@numba.njit(error_model="numpy", fastmath=False)
def _rollouts(
    start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective, sums, failed,
    recorded, columns, gradient, jacobian,
):  # fmt: skip
    """Roll pairs of candidate and log out, and compare them with what was measured.

    Args:
      start, stop: pairs to do; pair = candidate x number of logs + log.
      rows: parameters ``(n, SIZE)``.
      setting: law, Stribeck, gated and ``bam`` as whole numbers ``(4,)``.
      log_rows: numbers of the logs ``(l, 14)``.
      offsets: first sample of each log, and the end ``(l + 1,)``.
      table: loads given by tables ``(k, 4)``.
      inputs: goal [rad], torque enable, supply voltage [V], temperature above the reference [K]
        ``(4, m)``.
      measured: position, speed and duty ``(3, m)``; NaN is not compared.
      objective: kind, then three widths, then three weights ``(7,)``.
      sums: takes the summed losses ``(n, l, 3)``.
      failed: takes the time at which a rollout diverged ``(n, l)``; untouched otherwise.
      recorded: takes position, speed and duty ``(n, 3, m)``; empty for none.
      columns: column of the derivatives of each parameter ``(SIZE,)``, the last column for those
        that are not wanted; None for no derivatives.
      gradient: takes the derivative of the sums, times their weights ``(n, l, 3, p)``; may be
        empty.
      jacobian: takes the derivatives of the samples ``(n, 3, m, p)``; may be empty.
    """
    law, stribeck, gated, bam = setting[0], setting[1] != 0, setting[2] != 0, setting[3] != 0
    logs = offsets.shape[0] - 1
    kind = int(objective[0])
    goal, enable, voltages, warmth = inputs[0], inputs[1], inputs[2], inputs[3]
    size = max(gradient.shape[3], jacobian.shape[3]) if columns is not None else 1
    store = np.zeros((7, size))
    s_q, s_v, s_m, s_gap = store[0], store[1], store[2], store[3]
    s_target, s_duty, direct = store[4], store[5], store[6]
    for pair in range(start, stop):
        i, j = pair // logs, pair % logs
        c, row = rows[i], log_rows[j]
        first, last = offsets[j], offsets[j + 1]
        dt, substeps, period = row[0], int(row[1]), row[13]
        gain, damping_gain, max_pwm, max_amps = row[2], row[3], row[4], row[5]
        h = dt / substeps
        slow, fast = stribeck_range(c[ALPHA])
        armature, play = c[ARMATURE], 0.5 * c[BACKLASH]
        delayed = c[DELAY] > 0.0
        lag = int(c[DELAY] / h)
        fraction = c[DELAY] / h - lag
        slewed = c[V_MAX] < np.inf
        slew = c[V_MAX] * h
        clock, sum_q, sum_v, sum_duty = 0.0, 0.0, 0.0, 0.0
        q, v, target = measured[0, first], measured[1, first], 0.0
        if not bam:
            target = q
        v_motor, gap, is_open = v, 0.0, False
        if play > 0.0:
            gap = math.copysign(play, math.sin(q + c[Q_OFFSET]))
        if columns is not None:
            store[:] = 0.0
            delayed = delayed or columns[DELAY] < size - 1
            s_gap[columns[BACKLASH]] = math.copysign(0.5, gap)
        for sample in range(first, last):
            clock += dt
            if clock > period:
                clock = 0.0
                q, v = measured[0, sample], measured[1, sample]
                v_motor, is_open = v, False
                if columns is not None:
                    s_q[:], s_v[:], s_m[:] = 0.0, 0.0, 0.0
            loss, slope = loss_of(kind, objective[1], q - measured[0, sample])
            sum_q += loss
            if columns is not None and gradient.shape[0] > 0:
                slope *= objective[4]
                for k in range(size):
                    gradient[i, j, 0, k] += slope * s_q[k]
            if objective[5] != 0.0:
                loss, slope = loss_of(kind, objective[2], v - measured[1, sample])
                sum_v += loss
                if columns is not None and gradient.shape[0] > 0:
                    slope *= objective[5]
                    for k in range(size):
                        gradient[i, j, 1, k] += slope * s_v[k]
            if recorded.shape[0] > 0:
                recorded[i, 0, sample], recorded[i, 1, sample] = q, v
            if columns is not None and jacobian.shape[0] > 0:
                for k in range(size):
                    jacobian[i, 0, sample, k] = s_q[k]
                    jacobian[i, 1, sample, k] = s_v[k]
            vin = row[6] + c[MEASURED_V] * (voltages[sample] - row[6])
            warm = 1.0 + c[R_TEMP] * warmth[sample]
            r = c[R] * warm
            for substep in range(substeps):
                wanted, on = goal[sample], enable[sample]
                goal_slope, on_slope = 0.0, 0.0
                if delayed:
                    # goals hold; a step that two of them share is driven by their mean over it
                    step = (sample - first) * substeps + substep - lag
                    before = held(goal, first, step - 1, substeps)
                    wanted = held(goal, first, step, substeps)
                    goal_slope = (before - wanted) / h
                    wanted += fraction * (before - wanted)
                    before = held(enable, first, step - 1, substeps)
                    on = held(enable, first, step, substeps)
                    on_slope = (before - on) / h
                    on += fraction * (before - on)
                if slewed:
                    if on == 0.0 and not bam:
                        target = q
                        if columns is not None:
                            s_target[:] = s_q
                    move = wanted - target
                    if abs(move) <= slew:
                        target = wanted
                        if columns is not None:
                            s_target[:] = 0.0
                            s_target[columns[DELAY]] = goal_slope
                    else:
                        target += math.copysign(slew, move)
                        if columns is not None:
                            s_target[columns[V_MAX]] += math.copysign(h, move)
                else:
                    target = wanted
                if not is_open:
                    v_motor = v
                # first, because it takes longest: the processor goes on with the rest meanwhile
                s, power, log_ratio = 0.0, 0.0, 0.0
                if stribeck:
                    s, power, log_ratio = stribeck_factor(c, slow, fast, v_motor)
                error = target - q
                (
                    driven, t_e, t_v, t_kt, t_r, t_limit, t_vin, t_supply,
                    duty, u_e, u_v, u_kt, u_r, u_limit, u_vin,
                    damping, b_kt, b_r,
                ) = motor_torque(
                    law, c, gain, damping_gain, max_pwm, max_amps, vin, r, error, v_motor
                )  # fmt: skip
                if substep == 0:
                    if columns is not None and (objective[6] != 0.0 or jacobian.shape[0] > 0):
                        for k in range(size):
                            s_m[k] = s_m[k] if is_open else s_v[k]
                            s_duty[k] = u_e * (s_target[k] - s_q[k]) + u_v * s_m[k]
                        s_duty[columns[KT]] += u_kt
                        s_duty[columns[R]] += u_r * warm
                        s_duty[columns[R_TEMP]] += u_r * c[R] * warmth[sample]
                        s_duty[columns[RATIO]] += u_e * error / c[RATIO]
                        s_duty[columns[LIMIT]] += u_limit
                        s_duty[columns[MEASURED_V]] += u_vin * (voltages[sample] - row[6])
                        if not slewed:
                            s_duty[columns[DELAY]] += u_e * goal_slope
                        if jacobian.shape[0] > 0:
                            for k in range(size):
                                jacobian[i, 2, sample, k] = s_duty[k]
                    if objective[6] != 0.0 and not math.isnan(measured[2, sample]):
                        loss, slope = loss_of(kind, objective[3], duty - measured[2, sample])
                        sum_duty += loss
                        if columns is not None and gradient.shape[0] > 0:
                            slope *= objective[6]
                            for k in range(size):
                                gradient[i, j, 2, k] += slope * s_duty[k]
                    if recorded.shape[0] > 0:
                        recorded[i, 2, sample] = duty
                # torque off: the winding is open, or shorted as far as it brakes
                short = 0.0
                if c[BRAKING] != 0.0 or columns is not None:
                    short = c[KT] * c[KT] / r
                tau = on * driven - (1.0 - on) * c[BRAKING] * short * v_motor
                damping = on * damping + (1.0 - on) * c[BRAKING] * short
                j_load, j_slope, tau_e, e_q, e_v = load_of(row, table, q + c[Q_OFFSET], v)
                inertia = j_load + armature
                body, load_e, load_slope = inertia, tau_e, e_q
                if is_open:
                    body, load_e, load_slope = armature, 0.0, 0.0
                (
                    loss, f_m, f_e, f_v, sign, sign_s, quad_m, quad_e, f_vs, f_alpha,
                ) = friction_loss(c, gated, s, power, log_ratio, tau, load_e, v_motor)  # fmt: skip
                new, free, d_net, d_loss, d_visc, d_v, d_j, d_b = next_speed(
                    bam, h, body, v_motor, tau + load_e, damping, loss, c[VISCOUS]
                )
                if play > 0.0 and not is_open and gap * (j_load * (new - v) / h - tau_e) < 0.0:
                    # the contact would have to pull: motor and load part
                    is_open = True
                    load_e, load_slope = 0.0, 0.0
                    if columns is not None:
                        s_m[:] = s_v
                    (
                        loss, f_m, f_e, f_v, sign, sign_s, quad_m, quad_e, f_vs, f_alpha,
                    ) = friction_loss(c, gated, s, power, log_ratio, tau, 0.0, v_motor)  # fmt: skip
                    new, free, d_net, d_loss, d_visc, d_v, d_j, d_b = next_speed(
                        bam, h, armature, v_motor, tau, damping, loss, c[VISCOUS]
                    )
                if columns is not None:
                    w_m, w_e = d_net + d_loss * f_m, d_net + d_loss * f_e
                    on_e = w_m * on * t_e
                    stuck = d_net == 0.0
                    direct[:] = 0.0
                    if not stuck:
                        by_kt = w_m * on * t_kt + d_b * on * b_kt
                        by_r = w_m * on * t_r + d_b * on * b_r
                        if on < 1.0 and c[BRAKING] != 0.0:
                            brake = (1.0 - on) * c[BRAKING] * (d_b - w_m * v_motor)
                            by_kt += brake * 2.0 * c[KT] / r
                            by_r -= brake * short / r
                        direct[columns[KT]] += by_kt
                        direct[columns[R]] += by_r * warm
                        direct[columns[ARMATURE]] += d_j
                        direct[columns[VISCOUS]] += d_visc
                        direct[columns[BASE]] += d_loss
                        direct[columns[LOAD_M]] -= d_loss * sign * tau
                        direct[columns[LOAD_E]] += d_loss * sign * load_e
                        if not is_open:
                            direct[columns[Q_OFFSET]] += w_e * load_slope + d_j * j_slope
                        if s != 0.0:
                            direct[columns[STRIBECK]] += d_loss * s
                            direct[columns[LOAD_MS]] -= d_loss * s * sign_s * tau
                            direct[columns[LOAD_ES]] += d_loss * s * sign_s * load_e
                            direct[columns[QUAD_M]] += d_loss * s * quad_m
                            direct[columns[QUAD_E]] += d_loss * s * quad_e
                            direct[columns[V_STRIBECK]] += d_loss * f_vs
                            direct[columns[ALPHA]] += d_loss * f_alpha
                        direct[columns[RATIO]] += on_e * error / c[RATIO]
                        direct[columns[LIMIT]] += w_m * on * t_limit
                        direct[columns[R_TEMP]] += by_r * c[R] * warmth[sample]
                        direct[columns[MEASURED_V]] += (
                            w_m * on * t_vin * (voltages[sample] - row[6])
                        )
                        direct[columns[R_SUPPLY]] += w_m * on * t_supply
                        direct[columns[BRAKING]] += (1.0 - on) * short * (d_b - w_m * v_motor)
                        if on_slope != 0.0:
                            off = c[BRAKING] * short
                            by_on = w_m * (driven + off * v_motor)
                            if on > 0.0:
                                by_on += d_b * ((damping - (1.0 - on) * off) / on - off)
                            direct[columns[DELAY]] += on_slope * by_on
                        if slewed:
                            for k in range(size):
                                direct[k] += on_e * s_target[k]
                        else:
                            direct[columns[DELAY]] += on_e * goal_slope
                    on_v = d_v + d_loss * f_v + w_m * (on * t_v - (1.0 - on) * c[BRAKING] * short)
                    if is_open:
                        fall = h / j_load * (e_q - tau_e * j_slope / j_load)
                        for k in range(size):
                            s_m[k] = on_v * s_m[k] - on_e * s_q[k] + direct[k]
                            s_v[k] += fall * s_q[k] + h / j_load * e_v * s_v[k]
                        s_v[columns[Q_OFFSET]] += fall
                    else:
                        on_q = w_e * load_slope + d_j * j_slope - on_e
                        on_v += w_e * e_v
                        if bam:
                            clipped = 0.0 if abs(free) > MAX_SPEED_BAM else 1.0
                            for k in range(size):
                                change = on_q * s_q[k] + on_v * s_v[k] + direct[k]
                                s_q[k] += h * ((clipped + 0.5) * change - 0.5 * s_v[k])
                                s_v[k] = clipped * change
                        elif stuck:
                            s_v[:] = 0.0
                        else:
                            for k in range(size):
                                s_v[k] = on_q * s_q[k] + on_v * s_v[k] + direct[k]
                                s_q[k] += h * s_v[k]
                if is_open:
                    v += h * tau_e / j_load
                    v_motor = new
                    closing = v_motor - v
                    reach = gap + h * closing
                    if abs(reach) < play:
                        if columns is not None:
                            for k in range(size):
                                s_gap[k] += h * (s_m[k] - s_v[k])
                                s_q[k] += h * s_v[k]
                        gap = reach
                        q += h * v
                    else:
                        # inelastic contact within the step: both sides go on together
                        edge = math.copysign(play, reach)
                        share = (edge - gap) / (h * closing) if closing != 0.0 else 0.0
                        together = (j_load * v + armature * v_motor) / inertia
                        if columns is not None:
                            s_gap[columns[BACKLASH]] -= math.copysign(0.5, reach)
                            by_share = (v - together) / closing if closing != 0.0 else 0.0
                            by_inertia = (v - together) * j_slope / inertia
                            for k in range(size):
                                later = (j_load * s_v[k] + armature * s_m[k]) / inertia
                                later += by_inertia * s_q[k]
                                s_q[k] += h * (share * s_v[k] + (1.0 - share) * later)
                                s_q[k] -= by_share * (s_gap[k] + share * h * (s_m[k] - s_v[k]))
                                s_v[k] = later
                                s_gap[k] = 0.0
                            rest = h * (1.0 - share)
                            by_armature = (v_motor - together) / inertia
                            s_v[columns[Q_OFFSET]] += by_inertia
                            s_q[columns[Q_OFFSET]] += rest * by_inertia
                            s_v[columns[ARMATURE]] += by_armature
                            s_q[columns[ARMATURE]] += rest * by_armature
                            s_gap[columns[BACKLASH]] = math.copysign(0.5, reach)
                        q += h * (share * v + (1.0 - share) * together)
                        gap, v, is_open = edge, together, False
                elif bam:
                    q += new * h + 0.5 * h * (free - v)
                    v = new
                else:
                    v = new
                    q += h * v
            # NaN compares false
            if not abs(v) < DIVERGED_SPEED or not abs(q) < 1e300:
                failed[i, j] = (sample - first) * dt
                break
        sums[i, j, 0], sums[i, j, 1], sums[i, j, 2] = sum_q, sum_v, sum_duty


def _cached_entry(sources: str) -> Callable[..., None]:
    """The rollouts, compiled once for all processes.

    Numba's cache on disk looks at the file and the closure of a function, so the digest of the
    sources stands in the closure: a change in either file compiles anew.
    """

    def rollouts(
        start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective, sums,
        failed, recorded, columns, gradient, jacobian,
    ):  # fmt: skip
        if sources != "":
            _rollouts(
                start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective,
                sums, failed, recorded, columns, gradient, jacobian,
            )  # fmt: skip

    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": False}
    try:
        return numba.njit(cache=True, **options)(rollouts)
    except RuntimeError:
        # numba found no folder for its cache that can be written
        return numba.njit(**options)(rollouts)


def _digest() -> str:
    files = (Path(__file__), Path(_servo_kernel.__file__))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


rollouts = _cached_entry(_digest())
"""Roll pairs of candidate and log out; arguments as in :func:`_rollouts`."""
