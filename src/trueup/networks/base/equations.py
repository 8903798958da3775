"""Equations of analytic bases: a PD law within a torque-speed curve, and an identified servo.

Each equation is written once, in the form of
:mod:`trueup.actuators.equations.servo_equations`; the functions for torch and for compiled code
are generated from it.
"""

from numpy import absolute, maximum, minimum, where

from trueup.actuators.equations import servo_equations as equations


def torque_speed_limit(torque, velocity, p):
    """Torque within an asymmetric torque-speed curve [N m].

    In the direction of motion the limit falls linearly from ``p.stall_torque`` at rest to zero at
    ``p.no_load_speed``; against it, the limit is ``p.stall_torque``.
    """
    along = p.stall_torque * maximum(1.0 - absolute(velocity) / p.no_load_speed, 0.0)
    upper = where(velocity > 0.0, along, p.stall_torque)
    lower = where(velocity < 0.0, along, p.stall_torque)
    return maximum(minimum(torque, upper), -lower)


def pd_torque(angle, error, velocity, wanted, p, has_curve):
    """Torque of a PD law and of a spring [N m].

    Args:
      angle, error, velocity: of the joint [rad], [rad], [rad/s].
      wanted: target velocity [rad/s].
      p: ``kp``, ``kd``, ``k_spring``, ``theta0``, and those of the curve. A positive ``k_spring``
        pushes away from ``theta0``.
      has_curve: whether the PD law is limited by the torque-speed curve.
    """
    drive = p.kp * error + p.kd * (wanted - velocity)
    if has_curve:
        drive = torque_speed_limit(drive, velocity, p)
    return drive + p.k_spring * (angle - p.theta0)


def servo_motor_torque(law, error, velocity, p):
    """Torque of a driven servo's motor [N m]."""
    torque, _, _ = equations.LAWS[law](error, velocity, p)
    return equations.saturated_torque(torque, p)


def servo_load_torque(loss, motor, angle, velocity, p):
    """Torque of a servo on its load [N m]: the motor's without friction.

    Args:
      loss: equation of the friction budget.
      motor: torque of the motor [N m].
      angle, velocity: of the joint [rad], [rad/s].
      p: parameters of servo, friction and load.
    """
    budget = loss(motor, equations.weight_torque(angle, p), velocity, p)
    return equations.smooth_load_torque(motor, budget, velocity, p)
