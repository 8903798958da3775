"""Equations of a servo: firmware and motor, friction, and the speed after a time step.

Each equation stands here once, as a function of numbers that takes numpy arrays as well. All other
forms, for compiled code, for torch and with derivatives, are made from these functions by
:mod:`trueup.actuators.equations.tracing`. That asks for a small language: arithmetic, comparisons
joined by ``&`` and ``|``, the functions of numpy imported below, and ``where`` in place of ``if``.

States are scalars: ``error``, position of the goal less that of the joint [rad]; ``speed`` of the
motor at the output shaft [rad/s]; ``motor`` and ``external`` torque on it [N m]. ``p`` holds the
parameters, each by its name:

- of the firmware: ``gain`` of the error and ``rate_gain`` of the speed, to duty cycle, A or N m;
  ``max_pwm``, greatest duty cycle; ``limit`` and ``max_amps``, identified and stated limits of the
  current [A], of the torque for ``torque_pd`` [N m];
- of the motor, referred to the output shaft: torque constant ``kt`` [N m/A], winding
  ``resistance`` [ohm], bus voltage ``vin`` [V], and the extended terms;
- of friction: the parameters of M1 to M6, and ``gate``, 1 for the gated form of the quadratic term
  and 0 for the ungated one.

Sources: [1] M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended friction models for the physics
simulation of servo actuators", ICRA 2025, arXiv 2410.08650: the friction models M1 to M6, by the
names that they have there, and the friction budget.
"""

from typing import Any, NamedTuple

from numpy import absolute, exp, maximum, minimum, power, sign, sin, sqrt, tanh, where

SMALLEST_SQUARE = 1e-12
"""Squared voltages below it count as this, so that the square root has a slope [V2]."""

REFERENCE_TEMPERATURE = 25.0
"""Temperature at which the winding resistance is stated [degrees C]."""

MAX_SPEED = 100.0
"""Speed that the explicit step of [1] does not pass [rad/s]."""


def bus_voltage(voltage, volts, p):
    """Bus voltage [V]: the nominal one, moved towards the measured ``volts`` by a weight."""
    return voltage + p.measured_voltage * (volts - voltage)


def winding_resistance(warmth, p):
    """Winding resistance [ohm], ``warmth`` above the temperature at which it is stated [K]."""
    return p.R * (1.0 + p.resistance_temperature * warmth)


def back_emf_damping(p):
    """Damping by the back-EMF of a motor at constant voltage [N m s/rad]."""
    return p.kt * p.kt / p.resistance


def bridge_torque(duty, speed, p):
    """Torque of a motor behind a bridge at a duty cycle [N m].

    The bridge draws the duty cycle times the motor's current from the bus, which sags by that
    current times the resistance of the supply.
    """
    emf = p.kt * speed
    sag = p.supply_resistance * duty / p.resistance
    bus = (p.vin + sag * emf) / (1.0 + sag * duty)
    return p.kt / p.resistance * (bus * duty - emf)


def voltage(error, speed, p):
    """Servo that sets its duty cycle in proportion to the error.

    Returns:
      Torque [N m], duty cycle, and damping [N m s/rad]: by how much the torque falls with the speed
      for what an implicit step may use. So return all laws.
    """
    emf = p.kt * speed
    # the firmware holds the current by the duty cycle, |duty vin - emf| <= R limit, and limits the
    # duty cycle last
    span = p.resistance * minimum(p.limit, p.max_amps)
    wanted = p.gain * error
    held = minimum(maximum(wanted, (emf - span) / p.vin), (emf + span) / p.vin)
    duty = minimum(maximum(held, -p.max_pwm), p.max_pwm)
    # a current limiter that acts takes the back-EMF out of the torque
    limiting = (held != wanted) & (absolute(held) <= p.max_pwm)
    damping = where(limiting, 0.0, back_emf_damping(p))
    return bridge_torque(duty, speed, p), duty, damping


def current(error, speed, p):
    """Servo that sets the motor's current in proportion to the error."""
    emf = p.kt * speed
    limit = minimum(p.limit, p.max_amps)
    wanted = p.gain * error
    # what the bus voltage drives through the winding
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
    # the bridge draws duty times the motor's current: duty^2 vin - duty emf = R |amps|
    square = emf * emf + 4.0 * p.vin * p.resistance * absolute(amps)
    root = sqrt(maximum(square, SMALLEST_SQUARE))
    duty = (emf + sign(amps) * root) / (2.0 * p.vin)
    duty = minimum(maximum(duty, -1.0), 1.0)
    # half of the back-EMF: the duty cycle grows with the other half
    return p.kt / p.resistance * (duty * p.vin - emf), duty, 0.5 * back_emf_damping(p)


def current_pd(error, speed, p):
    """Servo that sets the motor's current from error and speed."""
    emf = p.kt * speed
    wanted = p.gain * error - p.rate_gain * speed
    amps = minimum(maximum(wanted, -p.max_amps), p.max_amps)
    low, high = p.kt * (-p.vin - emf) / p.resistance, p.kt * (p.vin - emf) / p.resistance
    # what the bus voltage drives through the winding
    torque = minimum(maximum(p.kt * amps, low), high)
    damping = where(absolute(wanted) > p.max_amps, 0.0, p.kt * p.rate_gain)
    damping = where(torque == p.kt * amps, damping, back_emf_damping(p))
    return torque, (p.resistance * torque / p.kt + emf) / p.vin, damping


def torque_pd(error, speed, p):
    """Servo that sets the torque from error and speed; it has no duty cycle."""
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
    """Torque [N m] of a motor whose torque constant falls with its current I.

    ``torque`` is that of the constant of small currents: kt I becomes kt I / (1 + saturation |I|).
    """
    return torque / (1.0 + p.torque_saturation * absolute(torque) / p.kt)


def _voltage_error(torque, p):
    # the smaller root of the duty cycle, written so that nothing cancels without a supply's sag
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
    """Position error with which a servo at rest balances a load [rad], its limits left out.

    The inverse of a law of :data:`LAWS` and of :func:`saturated_torque` at standstill.
    """
    left = maximum(1.0 - p.torque_saturation * absolute(load) / p.kt, SMALLEST_SQUARE)
    return _HOLDING_ERRORS[law](-load / left, p) / maximum(p.gain, SMALLEST_SQUARE)


def held_target(law, wanted, position, load, p):
    """Target of a firmware that limits its speed, before a motion begins [rad].

    The servo has held the joint at its position under the load: the target is as far from the joint
    as that takes, and no further than the goal. So a joint that rests stays there, and a goal that
    is new at the start is approached at the limited speed.
    """
    error = holding_error(law, load, p)
    return minimum(maximum(wanted, position + minimum(error, 0.0)), position + maximum(error, 0.0))


def shaft_torque(on, driven, damping, speed, p):
    """Torque of the motor [N m] and its damping, as far as torque is enabled.

    Without torque the winding is open, or shorted as far as the servo brakes. A share of a step in
    which torque is enabled counts for that share.

    Args:
      on: torque enable, 0 to 1.
      driven, damping: torque and damping of the driven motor.
      speed: speed of the motor.
      p: parameters.
    """
    short = (1.0 - on) * p.winding_braking * back_emf_damping(p)
    return on * driven - short * speed, on * damping + short


def stribeck_factor(speed, p):
    """Share of the standstill friction that is left at a speed: M2 and M4 to M6 of [1]."""
    return exp(-power(absolute(speed) / p.dtheta_stribeck, p.alpha))


def quadratic_loss(motor, external, p):
    """Friction by the square of the smaller torque [N m]. M6 of [1].

    Driving, the motor's torque is the greater one and the external torque counts; backdriven, it is
    the other way round. The gated form acts only where the torques oppose each other.
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

    The parameters that a model does not have are 0.
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
    """Speed after a step [rad/s]: friction takes what it needs to stop the shaft, up to its budget.

    All damping is implicit, so the step is stable however stiff the motor is: with the inertia J,
    the step h, ``momentum`` J / h and the ``net`` torque at the old speed,
    ``(J / h + damping + viscous) v_next = (J / h + damping) v + net - friction``, where
    ``|friction| <= loss``.
    """
    push = (momentum + damping) * speed + net
    left = maximum(absolute(push) - loss, 0.0)
    return where(push < 0.0, -left, left) / (momentum + damping + viscous)


def joint_torque(speed, motor, external, momentum, damping, loss, viscous):
    """Torque of motor and friction on a joint over a step [N m], the mean of the step.

    A simulator that applies it beside the ``external`` torque reaches :func:`implicit_speed`:
    ``momentum (v_next - v) - external``, written so that nothing cancels.
    """
    push = (momentum + damping) * speed + motor + external
    friction = minimum(maximum(push, -loss), loss)
    resisting = damping + viscous
    driving = momentum * (motor - friction - viscous * speed) - resisting * external
    return driving / (momentum + resisting)


def explicit_speed(speed, net, momentum, loss, viscous):
    """Speed after the explicit step of [1], before it is held within :data:`MAX_SPEED` [rad/s].

    Friction is the torque that stops the shaft, held within a budget that contains the viscous
    part.
    """
    stopping = momentum * speed + net
    friction = minimum(absolute(stopping), loss + viscous * absolute(speed))
    return speed + (net - where(stopping < 0.0, -friction, friction)) / momentum


def slewed_target(wanted, start, reach):
    """Target of a firmware that limits its speed [rad]: at most ``reach`` from the one before."""
    return minimum(maximum(wanted, start - reach), start + reach)


class BacklashStep(NamedTuple):
    """Motion of motor and load with a gap between them after a step."""

    distance: Any
    """Angle that the load turns by [rad]."""
    speed: Any
    """Speed of the load [rad/s]."""
    motor_speed: Any
    """Speed of the motor [rad/s], where they are apart; in contact that of the load counts."""
    gap: Any
    """Angle of the motor from the load [rad], within half the backlash."""
    is_open: Any
    """1 where they are apart, else 0."""


def backlash_step(together, alone, speed, gap, is_open, inertia, armature, load, h, play):
    """Step of motor and load with a gap between them; an impact is inelastic.

    They are in contact, or apart and each moves on its own. In contact they part where the contact
    would have to pull. Apart they move together again from where the gap closes within the step.

    Args:
      together: speed after the step of both in contact [rad/s].
      alone: speed after the step of the motor alone.
      speed: speed of the load before the step.
      gap: angle of the motor from the load [rad].
      is_open: whether they are apart.
      inertia, armature: inertia of load and motor [kg m2].
      load: torque on the load [N m].
      h: time step [s].
      play: half the backlash [rad].
    """
    pulls = gap * (inertia * (together - speed) / h - load) < 0.0
    apart = is_open | ((play > 0.0) & pulls)
    falling = speed + h * load / inertia
    closing = alone - falling
    reach = gap + h * closing
    meets = apart & (absolute(reach) >= play)
    edge = where(reach < 0.0, -play, play)
    share = where(closing == 0.0, 0.0, (edge - gap) / (h * where(closing == 0.0, 1.0, closing)))
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
    """Torque of a load's weight on the joint [N m], which hangs at ``p.load_gravity_angle``."""
    return -p.load_gravity * sin(angle - p.load_gravity_angle)


def smooth_load_torque(motor, loss, speed, p):
    """Torque that reaches the load [N m]: friction turns its sign over ``p.friction_velocity``.

    A torque for each sample by itself, without a step that could stop the shaft.
    """
    return motor - tanh(speed / p.friction_velocity) * loss - p.friction_viscous * speed
