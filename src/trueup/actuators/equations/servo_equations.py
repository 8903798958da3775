"""Equations of a servo: firmware and motor, friction, and the speed after a time step.

Each equation is defined here once, as a function of numbers that accepts numpy arrays too. All
other forms, for compiled code, for torch and with derivatives, are generated from these functions
by :mod:`trueup.actuators.equations.tracing`. This requires a small language: arithmetic,
comparisons joined by ``&`` and ``|``, the functions of numpy imported below, and ``where`` instead
of ``if``.

States are scalars: ``error``, position of the goal minus that of the joint [rad]; ``speed`` of the
motor at the output shaft [rad/s]; ``motor`` and ``external`` torque on it [N m]. ``p`` holds the
parameters as attributes:

- of the firmware: ``gain`` of the error and ``rate_gain`` of the speed, to duty cycle, A or N m;
  ``max_pwm``, greatest duty cycle; ``limit`` and ``max_amps``, identified and nominal limits of the
  current [A], or of the torque for ``torque_pd`` [N m];
- of the motor, referred to the output shaft: torque constant ``kt`` [N m/A], winding
  ``resistance`` [ohm], bus voltage ``vin`` [V], and the extended terms;
- of friction: the parameters of M1 to M6, and ``gate``, 1 for the gated form of the quadratic term
  and 0 for the ungated one.

Sources: [1] M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended friction models for the physics
simulation of servo actuators", ICRA 2025, arXiv 2410.08650: the friction models M1 to M6, with
its parameter names, and the friction budget.
"""

from typing import Any, NamedTuple

from numpy import absolute, exp, maximum, minimum, power, sign, sin, sqrt, tanh, where

SMALLEST_SQUARE = 1e-12
"""Lower limit of squared voltages [V^2], so that the derivative of the square root is finite."""

REFERENCE_TEMPERATURE = 25.0
"""Temperature of the nominal winding resistance [degrees C]."""

MAX_SPEED = 100.0
"""Speed limit of the explicit step of [1] [rad/s]."""


def bus_voltage(voltage, volts, p):
    """Bus voltage [V]: weighted mean of the nominal and the measured ``volts``."""
    return voltage + p.measured_voltage * (volts - voltage)


def winding_resistance(warmth, p):
    """Winding resistance [ohm], at ``warmth`` above the reference temperature [K]."""
    return p.R * (1.0 + p.resistance_temperature * warmth)


def back_emf_damping(p):
    """Damping by the back-EMF of a motor at constant voltage [N m s/rad]."""
    return p.kt * p.kt / p.resistance


def bridge_torque(duty, speed, p):
    """Torque of a motor behind a bridge at a duty cycle [N m].

    The bridge draws the duty cycle times the motor's current from the bus. The bus voltage drops by
    that current times the resistance of the supply.
    """
    # bus = vin - supply_resistance duty amps and amps = (bus duty - emf) / resistance, for bus
    emf = p.kt * speed
    sag = p.supply_resistance * duty / p.resistance
    bus = (p.vin + sag * emf) / (1.0 + sag * duty)
    return p.kt / p.resistance * (bus * duty - emf)


def voltage(error, speed, p):
    """Servo that sets its duty cycle in proportion to the error.

    Returns:
      Torque [N m], duty cycle, and damping [N m s/rad]: the negative slope of the torque over the
      speed that an implicit step may use. All laws return these.
    """
    emf = p.kt * speed
    # current limit of the firmware: it keeps |duty vin - emf| <= R limit by the duty cycle, and
    # limits the duty cycle last
    span = p.resistance * minimum(p.limit, p.max_amps)
    wanted = p.gain * error
    held = minimum(maximum(wanted, (emf - span) / p.vin), (emf + span) / p.vin)
    duty = minimum(maximum(held, -p.max_pwm), p.max_pwm)
    # while the limiter is active, the torque does not depend on the back-EMF
    limiting = (held != wanted) & (absolute(held) <= p.max_pwm)
    damping = where(limiting, 0.0, back_emf_damping(p))
    return bridge_torque(duty, speed, p), duty, damping


def current(error, speed, p):
    """Servo that sets the motor's current in proportion to the error."""
    emf = p.kt * speed
    limit = minimum(p.limit, p.max_amps)
    wanted = p.gain * error
    # range of currents that the bus voltage can drive through the winding
    reached = minimum(maximum(wanted, (-p.vin - emf) / p.resistance), (p.vin - emf) / p.resistance)
    amps = minimum(maximum(reached, -limit), limit)
    short_of_voltage = (reached != wanted) & (absolute(reached) <= limit)
    damping = where(short_of_voltage, back_emf_damping(p), 0.0)
    return p.kt * amps, (p.resistance * amps + emf) / p.vin, damping


def bus_current(error, speed, p):
    """Servo that sets the current drawn from the bus in proportion to the error."""
    emf = p.kt * speed
    limit = minimum(p.limit, p.max_amps)
    amps = minimum(maximum(p.gain * error, -limit), limit)
    # the bridge draws duty times the motor's current: duty solves duty^2 vin - duty emf = R |amps|
    square = emf * emf + 4.0 * p.vin * p.resistance * absolute(amps)
    root = sqrt(maximum(square, SMALLEST_SQUARE))
    duty = (emf + sign(amps) * root) / (2.0 * p.vin)
    duty = minimum(maximum(duty, -1.0), 1.0)
    # half of the back-EMF: the duty cycle compensates the other half
    return p.kt / p.resistance * (duty * p.vin - emf), duty, 0.5 * back_emf_damping(p)


def current_pd(error, speed, p):
    """Servo that sets the motor's current by a PD law of error and speed."""
    emf = p.kt * speed
    wanted = p.gain * error - p.rate_gain * speed
    amps = minimum(maximum(wanted, -p.max_amps), p.max_amps)
    low, high = p.kt * (-p.vin - emf) / p.resistance, p.kt * (p.vin - emf) / p.resistance
    # range of currents that the bus voltage can drive through the winding
    torque = minimum(maximum(p.kt * amps, low), high)
    damping = where(absolute(wanted) > p.max_amps, 0.0, p.kt * p.rate_gain)
    damping = where(torque == p.kt * amps, damping, back_emf_damping(p))
    return torque, (p.resistance * torque / p.kt + emf) / p.vin, damping


def torque_pd(error, speed, p):
    """Servo that sets the torque by a PD law of error and speed; it has no duty cycle."""
    wanted = p.gain * error - p.rate_gain * speed
    torque = minimum(maximum(wanted, -p.limit), p.limit)
    return torque, 0.0 * error, where(absolute(wanted) > p.limit, 0.0, p.rate_gain)


LAWS = {
    "voltage": voltage,
    "current": current,
    "bus_current": bus_current,
    "current_pd": current_pd,
    "torque_pd": torque_pd,
}
"""Servo laws by name; compiled code numbers them in this order."""


def saturated_torque(torque, p):
    """Torque [N m] of a motor with a torque constant that saturates with its current I.

    ``torque`` is that of the unsaturated constant: kt I becomes kt I / (1 + saturation |I|).
    """
    return torque / (1.0 + p.torque_saturation * absolute(torque) / p.kt)


def _voltage_error(torque, p):
    # smaller root d of torque (1 + supply_resistance / R d^2) = kt vin / R d, in the form that does
    # not cancel at a small supply resistance
    half = 0.5 * p.kt * p.vin / p.resistance
    square = half * half - p.supply_resistance / p.resistance * torque * torque
    return torque / (half + sqrt(maximum(square, SMALLEST_SQUARE)))


def _current_error(torque, p):
    return torque / p.kt


def _bus_current_error(torque, p):
    volts = torque * p.resistance / p.kt
    return volts * absolute(volts) / (p.vin * p.resistance)


def _torque_error(torque, p):
    return torque


_HOLDING_ERRORS = {
    "voltage": _voltage_error,
    "current": _current_error,
    "bus_current": _bus_current_error,
    "current_pd": _current_error,
    "torque_pd": _torque_error,
}


def holding_error(law, load, p):
    """Position error with which a servo at rest balances a load [rad], without its limits.

    Inverse of a law of :data:`LAWS` and of :func:`saturated_torque` at standstill.
    """
    # torque = kt I / (1 + s |I|) gives kt I = torque / (1 - s |torque| / kt)
    left = maximum(1.0 - p.torque_saturation * absolute(load) / p.kt, SMALLEST_SQUARE)
    return _HOLDING_ERRORS[law](-load / left, p) / maximum(p.gain, SMALLEST_SQUARE)


def held_target(law, wanted, position, load, p):
    """Initial target of a firmware with a speed limit [rad].

    The servo has held the joint at its position under the load: the target differs from the joint
    by the error that this takes, and does not pass the goal. A joint at rest stays there, and a
    goal that is new at the start is approached at the limited speed.
    """
    error = holding_error(law, load, p)
    return minimum(maximum(wanted, position + minimum(error, 0.0)), position + maximum(error, 0.0))


def shaft_torque(on, driven, damping, speed, p):
    """Torque of the motor [N m] and its damping, weighted by torque enable.

    Without torque the winding is open, or shorted to the degree that the servo brakes. If torque is
    enabled for a fraction of a step, both states are weighted by it.

    Args:
      on: torque enable, 0 to 1.
      driven, damping: torque and damping of the driven motor.
      speed: speed of the motor.
      p: parameters.
    """
    short = (1.0 - on) * p.winding_braking * back_emf_damping(p)
    return on * driven - short * speed, on * damping + short


def stribeck_factor(speed, p):
    """Fraction of the standstill friction that remains at a speed: M2 and M4 to M6 of [1].

    The exponential form is that of Bo and Pavelescu, "The friction-speed relation and its influence
    on the critical velocity of stick-slip motion", Wear 82 (1982).
    """
    return exp(-power(absolute(speed) / p.dtheta_stribeck, p.alpha))


def quadratic_loss(motor, external, p):
    """Friction by the square of the smaller torque [N m]. M6 of [1].

    While driving, the motor torque is the larger one and the external torque counts; while
    backdriven, vice versa. The gated form acts only if the torques oppose each other.
    """
    loss = where(
        absolute(motor) > absolute(external),
        p.load_friction_external_quad * external * external,
        0.0,
    )
    loss = where(
        absolute(external) > absolute(motor), p.load_friction_motor_quad * motor * motor, loss
    )
    return where(p.gate * motor * external > 0.0, 0.0, loss)


def friction_loss(motor, external, speed, p):
    """Friction budget without its viscous part [N m]. M1 to M6 of [1] in one.

    Parameters that a model lacks are 0.
    """
    load = absolute(external - motor)  # M3
    directional = absolute(
        p.load_friction_external * external - p.load_friction_motor * motor
    )  # M5
    loss = p.friction_base + p.load_friction_base * load + directional
    directional = absolute(
        p.load_friction_external_stribeck * external - p.load_friction_motor_stribeck * motor
    )
    standstill = p.friction_stribeck + p.load_friction_stribeck * load + directional
    standstill = standstill + quadratic_loss(motor, external, p)
    return loss + stribeck_factor(speed, p) * standstill


def implicit_speed(speed, net, momentum, damping, loss, viscous):
    """Speed after a step [rad/s]: friction stops the shaft if its budget allows.

    All damping is implicit, so the step is stable however stiff the motor is: with the inertia J,
    the step h, ``momentum`` J / h and the ``net`` torque at the old speed,
    ``(J / h + damping + viscous) v_next = (J / h + damping) v + net - friction``, where
    ``|friction| <= loss``.
    """
    # soft threshold: friction cancels the momentum at v_next = 0, or subtracts its whole budget
    push = (momentum + damping) * speed + net
    left = maximum(absolute(push) - loss, 0.0)
    return where(push < 0.0, -left, left) / (momentum + damping + viscous)


def joint_torque(speed, motor, external, momentum, damping, loss, viscous):
    """Mean torque of motor and friction on a joint over a step [N m].

    A simulator that applies it in addition to the ``external`` torque reaches
    :func:`implicit_speed`. It is ``momentum (v_next - v) - external`` in a form without
    cancellation.
    """
    push = (momentum + damping) * speed + motor + external
    friction = minimum(maximum(push, -loss), loss)
    resisting = damping + viscous
    driving = momentum * (motor - friction - viscous * speed) - resisting * external
    return driving / (momentum + resisting)


def explicit_speed(speed, net, momentum, loss, viscous):
    """Speed after the explicit step of [1], before the limit :data:`MAX_SPEED` [rad/s].

    Friction is the torque that stops the shaft, limited by a budget that includes the viscous
    part.
    """
    stopping = momentum * speed + net
    friction = minimum(absolute(stopping), loss + viscous * absolute(speed))
    return speed + (net - where(stopping < 0.0, -friction, friction)) / momentum


def slewed_target(wanted, start, reach):
    """Rate-limited target of a firmware [rad]: at most ``reach`` from the previous one."""
    return minimum(maximum(wanted, start - reach), start + reach)


class BacklashStep(NamedTuple):
    """Motion of motor and load with backlash after a step."""

    distance: Any
    """Angle by which the load turns [rad]."""
    speed: Any
    """Speed of the load [rad/s]."""
    motor_speed: Any
    """Speed of the motor [rad/s] while separated; in contact it has the speed of the load."""
    gap: Any
    """Angle of the motor relative to the load [rad], within half the backlash."""
    is_open: Any
    """1 while separated, 0 in contact."""


def backlash_step(together, alone, speed, gap, is_open, inertia, armature, load, h, play):
    """Step of motor and load with backlash; impacts are inelastic.

    They move in contact, or separately on their own. In contact they separate if the contact force
    would become tensile. Separated, they move together from the time at which the gap closes within
    the step.

    Args:
      together: speed after the step of both in contact [rad/s].
      alone: speed after the step of the motor alone.
      speed: speed of the load before the step.
      gap: angle of the motor relative to the load [rad].
      is_open: whether they are separated.
      inertia, armature: inertia of load and motor [kg m2].
      load: torque on the load [N m].
      h: time step [s].
      play: half the backlash [rad].
    """
    # force of the contact on the load, from its acceleration; it must push away from the motor
    pulls = gap * (inertia * (together - speed) / h - load) < 0.0
    apart = is_open | ((play > 0.0) & pulls)
    falling = speed + h * load / inertia
    closing = alone - falling
    reach = gap + h * closing
    meets = apart & (absolute(reach) >= play)
    edge = where(reach < 0.0, -play, play)
    # the gap closes after this share of the step, at constant speeds; the guard avoids 0 / 0
    share = where(closing == 0.0, 0.0, (edge - gap) / (h * where(closing == 0.0, 1.0, closing)))
    # inelastic impact: both keep their total momentum and have one speed
    common = (inertia * falling + armature * alone) / (inertia + armature)
    mean = where(meets, share * falling + (1.0 - share) * common, falling)
    return BacklashStep(
        distance=h * where(apart, mean, together),
        speed=where(apart, where(meets, common, falling), together),
        motor_speed=where(apart, alone, together),
        gap=where(apart, where(meets, edge, reach), gap),
        is_open=where(apart & (absolute(reach) < play), 1.0, 0.0),
    )


def weight_torque(angle, p):
    """Gravity torque of a load on the joint [N m]; it hangs down at ``p.load_gravity_angle``."""
    return -p.load_gravity * sin(angle - p.load_gravity_angle)


def smooth_load_torque(motor, loss, speed, p):
    """Torque that reaches the load [N m], with friction smoothed over ``p.friction_velocity``.

    Each sample is independent: there is no time step in which friction could stop the shaft.
    """
    return motor - tanh(speed / p.friction_velocity) * loss - p.friction_viscous * speed
