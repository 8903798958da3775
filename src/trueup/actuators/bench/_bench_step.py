"""One integration step of a servo on a bench, with the derivatives of the state where asked for.

A state is position, speed, motor speed, the firmware's target, the gap of the backlash, and whether
motor and load are apart. Each of its numbers has a row of derivatives, ``s_...``, a column a
parameter; ``columns`` says which. Called with None in their place, numba leaves their code out.
"""

import math

from trueup.actuators.equations._servo_kernel import (
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
    SATURATION,
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
    saturated,
    stribeck_factor,
)


@compiled
def held(values, first, step, substeps):
    """Value that holds in an integration step; the first holds before the log begins."""
    return values[first + max(step, 0) // substeps]


@compiled
def command(goal, enable, first, step, substeps, h, delay):
    """Delayed command of an integration step.

    Goals hold; a step that two of them share is driven by their mean over it.

    Args:
      goal, enable: held values of all samples.
      first: first sample of the log.
      step: number of the integration step in the log.
      substeps: integration steps a sample.
      h: integration step [s].
      delay: command delay [s].

    Returns:
      Goal, torque-enable, and the derivatives of both with respect to the delay.
    """
    lag = int(delay / h)
    share = delay / h - lag
    step -= lag
    goal_now, goal_before = held(goal, first, step, substeps), held(goal, first, step - 1, substeps)
    on_now, on_before = held(enable, first, step, substeps), held(enable, first, step - 1, substeps)
    return (
        goal_now + share * (goal_before - goal_now),
        on_now + share * (on_before - on_now),
        (goal_before - goal_now) / h,
        (on_before - on_now) / h,
    )


@compiled
def slewed_target(c, bam, h, target, q, wanted, on, goal_slope, columns, s_q, s_target):
    """Target of a firmware that limits its speed; it starts from the joint when torque comes on."""
    if on == 0.0 and not bam:
        target = q
        if columns is not None:
            for k in range(s_q.shape[0]):
                s_target[k] = s_q[k]
    move = wanted - target
    if abs(move) <= c[V_MAX] * h:
        if columns is not None:
            for k in range(s_q.shape[0]):
                s_target[k] = 0.0
            s_target[columns[DELAY]] = goal_slope
        return wanted
    if columns is not None:
        s_target[columns[V_MAX]] += math.copysign(h, move)
    return target + math.copysign(c[V_MAX] * h, move)


@compiled
def contact(c, h, play, inertia, j_load, j_slope, q, v, v_motor, gap, reach,
            columns, s_q, s_v, s_m, s_gap):  # fmt: skip
    """Inelastic contact of motor and load within a step; both go on together from there.

    Returns:
      Position and speed after the step.
    """
    closing = v_motor - v
    share = (math.copysign(play, reach) - gap) / (h * closing) if closing != 0.0 else 0.0
    together = (j_load * v + c[ARMATURE] * v_motor) / inertia
    if columns is not None:
        s_gap[columns[BACKLASH]] -= math.copysign(0.5, reach)
        by_share = (v - together) / closing if closing != 0.0 else 0.0
        by_inertia = (v - together) * j_slope / inertia
        by_armature = (v_motor - together) / inertia
        for k in range(s_q.shape[0]):
            later = (j_load * s_v[k] + c[ARMATURE] * s_m[k]) / inertia + by_inertia * s_q[k]
            s_q[k] += h * (share * s_v[k] + (1.0 - share) * later)
            s_q[k] -= by_share * (s_gap[k] + share * h * (s_m[k] - s_v[k]))
            s_v[k] = later
            s_gap[k] = 0.0
        rest = h * (1.0 - share)
        s_v[columns[Q_OFFSET]] += by_inertia
        s_q[columns[Q_OFFSET]] += rest * by_inertia
        s_v[columns[ARMATURE]] += by_armature
        s_q[columns[ARMATURE]] += rest * by_armature
        s_gap[columns[BACKLASH]] = math.copysign(0.5, reach)
    return q + h * (share * v + (1.0 - share) * together), together


@compiled
def surroundings(stribeck, c, row, table, slow, fast, q, v, v_motor, is_open):
    """Load and Stribeck factor at a state: apart from the step, because they take longest.

    Args:
      stribeck: whether there is a Stribeck term.
      c, row, table: parameters; numbers of the log; loads given by tables.
      slow, fast: range of the Stribeck factor.
      q, v, v_motor, is_open: the state.

    Returns:
      What :func:`load_of` and :func:`stribeck_factor` return.
    """
    s, power, log_ratio = 0.0, 0.0, 0.0
    if stribeck:
        s, power, log_ratio = stribeck_factor(c, slow, fast, v_motor if is_open else v)
    j_load, j_slope, tau_e, e_q, e_v = load_of(row, table, q + c[Q_OFFSET], v)
    return j_load, j_slope, tau_e, e_q, e_v, s, power, log_ratio


@compiled
def advance(
    law, gated, bam, c, row, h, wanted, on, goal_slope, on_slope, surroundings, volts, warmth,
    q, v, v_motor, target, gap, is_open,
    columns, s_q, s_v, s_m, s_gap, s_target, s_duty, direct, duty_wanted,
):  # fmt: skip
    """One integration step.

    Args:
      law, gated, bam: servo law; whether the quadratic term is gated; whether to step as the
        reference does.
      c: row of parameters.
      row: numbers of the log.
      h: step [s].
      wanted, on, goal_slope, on_slope: command, see :func:`command`.
      surroundings: what :func:`surroundings` says of the state.
      volts, warmth: measured bus voltage [V]; temperature above the reference [K].
      q, v, v_motor, target, gap, is_open: the state.
      columns: column of each parameter, or None.
      s_q, s_v, s_m, s_gap, s_target: derivatives of the state ``(p,)``, changed in place, or None.
      s_duty: takes the derivatives of the duty cycle, where ``duty_wanted``.
      direct: work space ``(p,)``.

    Returns:
      The state after the step, and the duty cycle.
    """
    j_load, j_slope, tau_e, e_q, e_v, s, power, log_ratio = surroundings
    slewed = c[V_MAX] < math.inf
    if slewed:
        target = slewed_target(c, bam, h, target, q, wanted, on, goal_slope, columns, s_q, s_target)
    else:
        target = wanted
    if not is_open:
        v_motor = v
    vin = row[6] + c[MEASURED_V] * (volts - row[6])
    warm = 1.0 + c[R_TEMP] * warmth
    r = c[R] * warm
    error = target - q
    (
        driven, t_e, t_v, t_kt, t_r, t_limit, t_vin, t_supply,
        duty, u_e, u_v, u_kt, u_r, u_limit, u_vin,
        damping, b_kt, b_r,
    ) = motor_torque(law, c, row[2], row[3], row[4], row[5], vin, r, error, v_motor)  # fmt: skip
    t_saturation = 0.0
    if c[SATURATION] != 0.0 or columns is not None:
        driven, kept, by_kt, t_saturation = saturated(c, driven)
        t_e, t_v, t_kt, t_r = kept * t_e, kept * t_v, kept * t_kt + by_kt, kept * t_r
        t_limit, t_vin, t_supply = kept * t_limit, kept * t_vin, kept * t_supply
    if columns is not None and duty_wanted:
        for k in range(s_q.shape[0]):
            by_speed = s_m[k] if is_open else s_v[k]
            s_duty[k] = u_e * (s_target[k] - s_q[k]) + u_v * by_speed
        s_duty[columns[KT]] += u_kt
        s_duty[columns[R]] += u_r * warm
        s_duty[columns[R_TEMP]] += u_r * c[R] * warmth
        s_duty[columns[RATIO]] += u_e * error / c[RATIO]
        s_duty[columns[LIMIT]] += u_limit
        s_duty[columns[MEASURED_V]] += u_vin * (volts - row[6])
        if not slewed:
            s_duty[columns[DELAY]] += u_e * goal_slope
    # torque off: the winding is open, or shorted as far as it brakes
    short = 0.0
    if c[BRAKING] != 0.0 or columns is not None:
        short = c[KT] * c[KT] / r
    off = c[BRAKING] * short
    tau, implicit = driven, damping
    if on != 1.0:
        tau = on * driven - (1.0 - on) * off * v_motor
        implicit = on * damping + (1.0 - on) * off
    inertia = j_load + c[ARMATURE]
    body, load_e, load_slope = inertia, tau_e, e_q
    if is_open:
        body, load_e, load_slope = c[ARMATURE], 0.0, 0.0
    (
        loss, f_m, f_e, f_v, sign, sign_s, quad_m, quad_e, f_vs, f_alpha,
    ) = friction_loss(c, gated, s, power, log_ratio, tau, load_e, v_motor)  # fmt: skip
    new, free, d_net, d_loss, d_viscous, d_v, d_j, d_b = next_speed(
        bam, h, body, v_motor, tau + load_e, implicit, loss, c[VISCOUS]
    )
    play = 0.5 * c[BACKLASH]
    if play > 0.0 and not is_open and gap * (j_load * (new - v) / h - tau_e) < 0.0:
        # the contact would have to pull: motor and load part
        is_open = True
        load_e, load_slope = 0.0, 0.0
        if columns is not None:
            for k in range(s_q.shape[0]):
                s_m[k] = s_v[k]
        (
            loss, f_m, f_e, f_v, sign, sign_s, quad_m, quad_e, f_vs, f_alpha,
        ) = friction_loss(c, gated, s, power, log_ratio, tau, 0.0, v_motor)  # fmt: skip
        new, free, d_net, d_loss, d_viscous, d_v, d_j, d_b = next_speed(
            bam, h, c[ARMATURE], v_motor, tau, implicit, loss, c[VISCOUS]
        )
    if columns is not None:
        w_m, w_e = d_net + d_loss * f_m, d_net + d_loss * f_e
        on_e = w_m * on * t_e
        stuck = d_net == 0.0
        for k in range(s_q.shape[0]):
            direct[k] = 0.0
        if not stuck:
            brake = (1.0 - on) * (d_b - w_m * v_motor)
            by_kt = w_m * on * t_kt + d_b * on * b_kt + brake * c[BRAKING] * 2.0 * c[KT] / r
            by_r = w_m * on * t_r + d_b * on * b_r - brake * off / r
            direct[columns[KT]] += by_kt
            direct[columns[R]] += by_r * warm
            direct[columns[R_TEMP]] += by_r * c[R] * warmth
            direct[columns[ARMATURE]] += d_j
            direct[columns[VISCOUS]] += d_viscous
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
            direct[columns[MEASURED_V]] += w_m * on * t_vin * (volts - row[6])
            direct[columns[R_SUPPLY]] += w_m * on * t_supply
            direct[columns[SATURATION]] += w_m * on * t_saturation
            direct[columns[BRAKING]] += brake * short
            by_on = w_m * (driven + off * v_motor) + d_b * (damping - off)
            direct[columns[DELAY]] += on_slope * by_on
            if slewed:
                for k in range(s_q.shape[0]):
                    direct[k] += on_e * s_target[k]
            else:
                direct[columns[DELAY]] += on_e * goal_slope
        on_v = d_v + d_loss * f_v + w_m * (on * t_v - (1.0 - on) * off)
        if is_open:
            fall = h / j_load * (e_q - tau_e * j_slope / j_load)
            for k in range(s_q.shape[0]):
                s_m[k] = on_v * s_m[k] - on_e * s_q[k] + direct[k]
                s_v[k] += fall * s_q[k] + h / j_load * e_v * s_v[k]
            s_v[columns[Q_OFFSET]] += fall
        else:
            on_q = w_e * load_slope + d_j * j_slope - on_e
            on_v += w_e * e_v
            if bam:
                clipped = 0.0 if abs(free) > MAX_SPEED_BAM else 1.0
                for k in range(s_q.shape[0]):
                    change = on_q * s_q[k] + on_v * s_v[k] + direct[k]
                    s_q[k] += h * ((clipped + 0.5) * change - 0.5 * s_v[k])
                    s_v[k] = clipped * change
            elif stuck:
                for k in range(s_q.shape[0]):
                    s_v[k] = 0.0
            else:
                for k in range(s_q.shape[0]):
                    s_v[k] = on_q * s_q[k] + on_v * s_v[k] + direct[k]
                    s_q[k] += h * s_v[k]
    if is_open:
        v += h * tau_e / j_load
        v_motor = new
        reach = gap + h * (v_motor - v)
        if abs(reach) < play:
            if columns is not None:
                for k in range(s_q.shape[0]):
                    s_gap[k] += h * (s_m[k] - s_v[k])
                    s_q[k] += h * s_v[k]
            gap = reach
            q += h * v
        else:
            q, v = contact(
                c, h, play, inertia, j_load, j_slope, q, v, v_motor, gap, reach,
                columns, s_q, s_v, s_m, s_gap,
            )  # fmt: skip
            gap, is_open = math.copysign(play, reach), False
    elif bam:
        q += new * h + 0.5 * h * (free - v)
        v = new
    else:
        v = new
        q += h * v
    return q, v, v_motor, target, gap, is_open, duty
