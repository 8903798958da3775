"""Compiled pieces of a servo on a bench: motor, friction, load and one step, with derivatives.

Quantities stand in rows as ``_parameter_layout`` says. Each piece returns its
value and the partial derivatives that exact sensitivities need; what a caller ignores, the compiler
leaves out.
"""

import math
from typing import Any

import numba

# Columns of the parameter row: trueup.actuators.equations._parameter_layout.INDEX, in its order.
KT, R, ARMATURE, Q_OFFSET = 0, 1, 2, 3
BASE, VISCOUS, STRIBECK = 4, 5, 6
LOAD_M, LOAD_E, LOAD_MS, LOAD_ES, QUAD_M, QUAD_E = 7, 8, 9, 10, 11, 12
V_STRIBECK, ALPHA, RATIO, V_MAX, LIMIT = 13, 14, 15, 16, 17
DELAY, BACKLASH, BRAKING, MEASURED_V, R_TEMP, R_SUPPLY, SATURATION = 18, 19, 20, 21, 22, 23, 24

VOLTAGE, CURRENT, BUS_CURRENT, CURRENT_PD, TORQUE_PD = 0, 1, 2, 3, 4

MAX_SPEED_BAM = 100.0
"""The reference clips speeds there [rad/s]."""


def compiled(function: Any) -> Any:
    """The function under numba, to be copied into compiled functions that call it.

    Without counted references to arrays: counting them at each call costs more than the step. So it
    cannot make arrays, and a caller that counts has to hold those that it passes.
    """
    options: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
    return numba.njit(**options)(function)


def compiled_apart(function: Any) -> Any:
    """The function under numba, to be called as it stands: large ones compile once this way."""
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    return numba.njit(**options)(function)


@compiled
def stribeck_range(alpha):
    """Speeds over the Stribeck speed below which its factor is 1, and beyond which it is 0."""
    return math.exp(-38.0 / alpha), math.exp(3.75 / alpha)


@compiled
def stribeck_factor(c, slow, fast, v):
    """Factor of the friction that is there near standstill only.

    Args:
      c: row of parameters.
      slow, fast: see :func:`stribeck_range`.
      v: speed [rad/s].

    Returns:
      The factor, and the power and logarithm of the speed ratio that its derivatives need.
    """
    ratio = abs(v) / c[V_STRIBECK]
    if ratio < slow:
        return 1.0, 0.0, 0.0
    if ratio > fast:
        return 0.0, 0.0, 0.0
    log_ratio = math.log(ratio)
    power = math.exp(c[ALPHA] * log_ratio)
    return math.exp(-power), power, log_ratio


@compiled
def friction_loss(c, gated, s, power, log_ratio, tau_m, tau_e, v):
    """Friction budget without its viscous part, and what its derivatives are made of.

    Args:
      c: row of parameters.
      gated: whether the quadratic term acts only where the torques oppose each other.
      s, power, log_ratio: as :func:`stribeck_factor` gives them; a model without has a factor of 0.
      tau_m, tau_e: motor and external torque [N m].
      v: speed [rad/s].

    Returns:
      Budget [N m]; its derivatives with respect to both torques and the speed; signs of the two
      load terms; the quadratic weights of motor and external torque; derivatives with respect to
      the Stribeck speed and exponent.
    """
    load = c[LOAD_E] * tau_e - c[LOAD_M] * tau_m
    sign = math.copysign(1.0, load)
    loss = c[BASE] + abs(load)
    d_m = -sign * c[LOAD_M]
    d_e = sign * c[LOAD_E]
    if s == 0.0:
        return loss, d_m, d_e, 0.0, sign, 0.0, 0.0, 0.0, 0.0, 0.0
    load_s = c[LOAD_ES] * tau_e - c[LOAD_MS] * tau_m
    sign_s = math.copysign(1.0, load_s)
    quad_m, quad_e = 0.0, 0.0
    if (tau_m > 0.0) != (tau_e > 0.0) or not gated:
        if abs(tau_m) > abs(tau_e):
            quad_e = tau_e * tau_e
        elif abs(tau_e) > abs(tau_m):
            quad_m = tau_m * tau_m
    peak = c[STRIBECK] + abs(load_s) + c[QUAD_M] * quad_m + c[QUAD_E] * quad_e
    loss += s * peak
    d_m -= s * sign_s * c[LOAD_MS]
    d_e += s * sign_s * c[LOAD_ES]
    if quad_m != 0.0:
        d_m += s * 2.0 * c[QUAD_M] * tau_m
    if quad_e != 0.0:
        d_e += s * 2.0 * c[QUAD_E] * tau_e
    slope = peak * s * power
    d_v = 0.0
    if v != 0.0:
        d_v = -slope * c[ALPHA] / v
    d_v_stribeck = slope * c[ALPHA] / c[V_STRIBECK]
    d_alpha = -slope * log_ratio
    return loss, d_m, d_e, d_v, sign, sign_s, quad_m, quad_e, d_v_stribeck, d_alpha


@compiled
def motor_torque(law, c, gain, damping_gain, max_pwm, max_amps, vin, r, e, v):
    """Torque of a driven motor, and its derivatives.

    Args:
      law: number of the servo law.
      c: row of parameters.
      gain: of the position error: duty, A or N m a rad.
      damping_gain: of the speed, laws with a derivative gain.
      max_pwm: greatest duty cycle.
      max_amps: greatest current [A].
      vin: supply voltage [V].
      r: winding resistance at its temperature [ohm].
      e: position error [rad].
      v: speed [rad/s].

    Returns:
      Torque [N m] and its derivatives with respect to error, speed, kt, resistance, limit, voltage
      and supply resistance; duty cycle and its derivatives with respect to the first six; back-EMF
      damping [N m s/rad] that an implicit step may use, and its derivatives with respect to kt and
      resistance.
    """
    kt = c[KT]
    emf = kt * v
    if law == VOLTAGE:
        k = gain * c[RATIO]
        duty = k * e
        u_e, u_v, u_kt, u_r, u_limit, u_vin = k, 0.0, 0.0, 0.0, 0.0, 0.0
        limit = min(c[LIMIT], max_amps)
        if limit < math.inf:
            # the firmware holds the current by its duty cycle: |duty vin - kt v| <= R limit
            side = 0.0
            if duty * vin - emf > r * limit:
                side = 1.0
            elif duty * vin - emf < -r * limit:
                side = -1.0
            if side != 0.0:
                duty = (emf + side * r * limit) / vin
                u_e, u_v, u_kt, u_vin = 0.0, kt / vin, v / vin, -duty / vin
                u_r = side * limit / vin
                if c[LIMIT] < max_amps:
                    u_limit = side * r / vin
        if abs(duty) > max_pwm:
            duty = math.copysign(max_pwm, duty)
            u_e, u_v, u_kt, u_r, u_limit, u_vin = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        bus = vin
        conductance = kt / r
        damping = kt * conductance
        b_v, b_kt, b_r, b_u, b_vin, t_supply = 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
        if c[R_SUPPLY] > 0.0:
            # the bus sags by what the bridge draws, duty times the motor's current
            m = c[R_SUPPLY] * duty / r
            scale = 1.0 / (1.0 + m * duty)
            bus = (vin + m * emf) * scale
            b_v, b_kt, b_vin = m * kt * scale, m * v * scale, scale
            b_r = (bus * m * duty - m * emf) / r * scale
            b_u = (c[R_SUPPLY] * emf / r - 2.0 * m * bus) * scale
            t_supply = conductance * duty * (duty / r) * (emf - bus * duty) * scale
        torque = conductance * bus * duty - damping * v
        t_u = conductance * (bus + duty * b_u)
        along = conductance * duty
        t_e = t_u * u_e
        t_v = t_u * u_v + along * b_v - damping
        t_kt = t_u * u_kt + along * b_kt + (bus * duty - 2.0 * emf) / r
        t_r = t_u * u_r + along * b_r - torque / r
        t_vin = t_u * u_vin + along * b_vin
        t_limit = t_u * u_limit
        # a current limiter that acts has taken the back-EMF out of the torque
        emf_acts = 1.0 if u_v == 0.0 else 0.0
        return (
            torque, t_e, t_v, t_kt, t_r, t_limit, t_vin, t_supply,
            duty, u_e, u_v, u_kt, u_r, u_limit, u_vin,
            emf_acts * damping, emf_acts * 2.0 * conductance, -emf_acts * damping / r,
        )  # fmt: skip
    if law == CURRENT:
        k = gain * c[RATIO]
        amps = k * e
        i_e, i_v, i_kt, i_r, i_limit, i_vin, b, b_kt, b_r = (
            k,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        )
        high, low = (vin - emf) / r, (-vin - emf) / r
        if amps > high or amps < low:
            side = 1.0 if amps > high else -1.0
            amps = (side * vin - emf) / r
            i_e, i_v, i_kt, i_r, i_vin = 0.0, -kt / r, -v / r, -amps / r, side / r
            b, b_kt, b_r = kt * kt / r, 2.0 * kt / r, -kt * kt / (r * r)
        top = min(c[LIMIT], max_amps)
        if abs(amps) > top:
            side = math.copysign(1.0, amps)
            amps = side * top
            i_e, i_v, i_kt, i_r, i_vin, b, b_kt, b_r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if c[LIMIT] < max_amps:
                i_limit = side
        duty = (r * amps + emf) / vin
        return (
            kt * amps, kt * i_e, kt * i_v, amps + kt * i_kt, kt * i_r, kt * i_limit, kt * i_vin,
            0.0, duty, r * i_e / vin, (r * i_v + kt) / vin, (r * i_kt + v) / vin,
            (r * i_r + amps) / vin, r * i_limit / vin, (r * i_vin - duty) / vin,
            b, b_kt, b_r,
        )  # fmt: skip
    if law == BUS_CURRENT:
        k = gain * c[RATIO]
        amps = k * e
        i_e, i_limit = k, 0.0
        top = min(c[LIMIT], max_amps)
        if abs(amps) > top:
            side = math.copysign(1.0, amps)
            amps = side * top
            i_e = 0.0
            if c[LIMIT] < max_amps:
                i_limit = side
        # the bridge draws duty times the motor's current: duty^2 vin - duty kt v = R |amps|
        sign = 0.0 if amps == 0.0 else math.copysign(1.0, amps)
        root = math.sqrt(emf * emf + 4.0 * vin * r * abs(amps))
        duty = (emf + sign * root) / (2.0 * vin)
        u_i, u_emf, u_r, u_vin = 0.0, 0.5 / vin, 0.0, 0.0
        if root > 0.0 and sign != 0.0:
            u_i = r / root
            u_emf = (1.0 + sign * emf / root) / (2.0 * vin)
            u_r = amps / root
            u_vin = amps * r / (root * vin) - duty / vin
        elif sign == 0.0:
            u_vin = -duty / vin
        if abs(duty) > 1.0:
            duty = math.copysign(1.0, duty)
            u_i, u_emf, u_r, u_vin = 0.0, 0.0, 0.0, 0.0
        conductance = kt / r
        torque = conductance * (duty * vin - emf)
        t_u = conductance * vin
        t_i = t_u * u_i
        damping = 0.5 * kt * conductance
        return (
            torque, t_i * i_e, (t_u * u_emf - conductance) * kt,
            (t_u * u_emf - conductance) * v + torque / kt, t_u * u_r - torque / r, t_i * i_limit,
            t_u * u_vin + conductance * duty, 0.0,
            duty, u_i * i_e, u_emf * kt, u_emf * v, u_r, u_i * i_limit, u_vin,
            damping, conductance, -damping / r,
        )  # fmt: skip
    if law == CURRENT_PD:
        k = gain * c[RATIO]
        amps = k * e - damping_gain * v
        i_e, i_v = k, -damping_gain
        if abs(amps) > max_amps:
            amps = math.copysign(max_amps, amps)
            i_e, i_v = 0.0, 0.0
        torque = kt * amps
        t_e, t_v, t_kt, t_r, t_vin = kt * i_e, kt * i_v, amps, 0.0, 0.0
        b, b_kt, b_r = -kt * i_v, -i_v, 0.0
        high, low = kt * (vin - emf) / r, kt * (-vin - emf) / r
        if torque > high or torque < low:
            side = 1.0 if torque > high else -1.0
            torque = kt * (side * vin - emf) / r
            t_e, t_v, t_kt = 0.0, -kt * kt / r, (side * vin - 2.0 * emf) / r
            t_r, t_vin = -torque / r, side * kt / r
            b, b_kt, b_r = kt * kt / r, 2.0 * kt / r, -kt * kt / (r * r)
        duty = (r * torque / kt + emf) / vin
        x = r / (kt * vin)
        return (
            torque, t_e, t_v, t_kt, t_r, 0.0, t_vin, 0.0,
            duty, x * t_e, x * t_v + kt / vin, x * (t_kt - torque / kt) + v / vin,
            x * t_r + torque / (kt * vin), 0.0, x * t_vin - duty / vin,
            b, b_kt, b_r,
        )  # fmt: skip
    k = gain * c[RATIO]
    torque = k * e - damping_gain * v
    t_e, t_v, t_limit = k, -damping_gain, 0.0
    if abs(torque) > c[LIMIT]:
        t_limit = math.copysign(1.0, torque)
        torque = t_limit * c[LIMIT]
        t_e, t_v = 0.0, 0.0
    return (
        torque, t_e, t_v, 0.0, 0.0, t_limit, 0.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        -t_v, 0.0, 0.0,
    )  # fmt: skip


@compiled
def saturated(c, torque):
    """Torque of a motor whose torque constant falls with its current, and its derivatives.

    Args:
      c: row of parameters.
      torque: the torque that the current would make with the constant of small currents [N m].

    Returns:
      Torque [N m]; its derivatives with respect to ``torque``, kt and the saturation.
    """
    amps = abs(torque) / c[KT]
    share = 1.0 / (1.0 + c[SATURATION] * amps)
    slope = share * share
    by_kt = slope * c[SATURATION] * amps * torque / c[KT]
    return torque * share, slope, by_kt, -slope * amps * torque


@compiled
def load_of(row, table, angle, v):
    """Inertia and torque of the load, and their slopes.

    A table holds, at even angles, inertia, its slope, torque and its slope; between them both are
    cubic (Hermite), beyond its ends they keep their last value. An inertia that changes with the
    angle gives the velocity torque -J'(q) v^2 / 2 of a joint (Lagrange's equation).

    Returns:
      Inertia [kg m2], its slope [kg m2/rad], torque [N m] and its derivatives with respect to the
      angle and the speed.
    """
    size = int(row[10])
    if size == 0:
        return row[7], 0.0, -row[8] * math.sin(angle), -row[8] * math.cos(angle), 0.0
    step = row[12]
    position = (angle - row[11]) / step
    cell = min(max(math.floor(position), 0), size - 2)
    t = position - cell
    inside = 0.0 <= t <= 1.0
    t = min(max(t, 0.0), 1.0)
    a, b = int(row[9]) + cell, int(row[9]) + cell + 1
    h00, h10 = (1.0 + 2.0 * t) * (1.0 - t) * (1.0 - t), t * (1.0 - t) * (1.0 - t)
    h01, h11 = t * t * (3.0 - 2.0 * t), t * t * (t - 1.0)
    g00, g10 = 6.0 * t * (t - 1.0), (1.0 - t) * (1.0 - 3.0 * t)
    g11 = t * (3.0 * t - 2.0)
    rise = table[b, 0] - table[a, 0]
    inertia = h00 * table[a, 0] + h01 * table[b, 0]
    inertia += step * (h10 * table[a, 1] + h11 * table[b, 1])
    torque = h00 * table[a, 2] + h01 * table[b, 2]
    torque += step * (h10 * table[a, 3] + h11 * table[b, 3])
    if not inside:
        return inertia, 0.0, torque, 0.0, 0.0
    slope = -g00 * rise / step + g10 * table[a, 1] + g11 * table[b, 1]
    curvature = (6.0 - 12.0 * t) * rise / (step * step)
    curvature += ((6.0 * t - 4.0) * table[a, 1] + (6.0 * t - 2.0) * table[b, 1]) / step
    torque_q = -g00 * (table[b, 2] - table[a, 2]) / step + g10 * table[a, 3] + g11 * table[b, 3]
    torque -= 0.5 * slope * v * v
    torque_q -= 0.5 * curvature * v * v
    return inertia, slope, torque, torque_q, -slope * v


@compiled
def next_speed(bam, h, inertia, v, net, implicit, loss, viscous):
    """Speed after a step in which friction stops the joint if its budget allows.

    The step is implicit in all damping: friction removes what the net torque would leave, down to
    standstill and no further. ``bam`` takes the reference's explicit step instead, whose budget
    holds the viscous torque too.

    Returns:
      New speed [rad/s]; the speed before clipping; its derivatives with respect to net torque,
      budget, viscous friction, old speed, inertia and implicit damping.
    """
    momentum = inertia / h
    if bam:
        stopping = momentum * v + net
        budget = loss + viscous * abs(v)
        free = v + (net - math.copysign(min(abs(stopping), budget), stopping)) * (1.0 / momentum)
        # as the reference, whose sign of zero is zero
        if stopping == 0.0:
            free = v + net / momentum
        fast = min(max(free, -MAX_SPEED_BAM), MAX_SPEED_BAM)
        if abs(stopping) <= budget:
            return fast, free, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        side = math.copysign(1.0, stopping)
        d_net = 1.0 / momentum
        d_v = 1.0 - d_net * side * viscous * math.copysign(1.0, v)
        d_viscous = -d_net * side * abs(v)
        return fast, free, d_net, -d_net * side, d_viscous, d_v, -(free - v) / inertia, 0.0
    push = momentum * v + net + implicit * v
    if abs(push) <= loss:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    side = math.copysign(1.0, push)
    d_net = 1.0 / (momentum + implicit + viscous)
    new = (push - side * loss) * d_net
    return (
        new, new, d_net, -side * d_net, -new * d_net, (momentum + implicit) * d_net,
        (v - new) / h * d_net, (v - new) * d_net,
    )  # fmt: skip
