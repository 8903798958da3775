"""Compiled sensing: from the state of a simulation to the measured signals of each leg."""

import math

from trueup.gait.compiled import compiled
from trueup.gait.controller._registers import FIRST_FORCE, Measured, OptionalSignal
from trueup.gait.models.body_map import Joint, Touch


@compiled
def pitch_of(quat):
    """Forward lean of a body [rad]; the argument is clipped, as rounding may exceed 1."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))


@compiled
def _yaw_of(quat):
    """Heading of a body [rad], to the left positive."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@compiled
def _roll_of(quat):
    """Lean of a body to the right [rad], in its own axes."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))


@compiled
def _velocity_x_y(fields, i, body, root):
    """Velocity of a body's centre of mass in world axes [m/s], forwards and to the left.

    ``cvel`` of MuJoCo is about the centre of mass of the whole tree: angular velocity first, then
    linear velocity, which ``v - d x w`` transfers to the centre of the body.
    """
    dx = fields.xipos[i, body, 0] - fields.subtree_com[i, root, 0]
    dy = fields.xipos[i, body, 1] - fields.subtree_com[i, root, 1]
    dz = fields.xipos[i, body, 2] - fields.subtree_com[i, root, 2]
    wx, wy, wz = fields.cvel[i, body, 0], fields.cvel[i, body, 1], fields.cvel[i, body, 2]
    vx = fields.cvel[i, body, 3] - (dy * wz - dz * wy)
    vy = fields.cvel[i, body, 4] - (dz * wx - dx * wz)
    return vx, vy


@compiled
def _rate_about(fields, i, body, axis):
    """Angular velocity of a body about an axis of its inertial frame [rad/s]."""
    return (
        fields.ximat[i, body, axis] * fields.cvel[i, body, 0]
        + fields.ximat[i, body, 3 + axis] * fields.cvel[i, body, 1]
        + fields.ximat[i, body, 6 + axis] * fields.cvel[i, body, 2]
    )


@compiled
def _sense_optional(fields, part, i, leg, cos, sin, row):
    """Measure the optional signals of a leg: loads of the parts of its foot, the centre of
    pressure, and the rate of its adduction."""
    first = part.optional_signals
    heel, toes = part.touch[leg, Touch.heel], part.touch[leg, Touch.toes]
    row[first + OptionalSignal.load_foot] = fields.sensordata[i, heel] / part.weight
    row[first + OptionalSignal.load_toes] = fields.sensordata[i, toes] / part.weight
    sensor = part.pressure[leg]
    if sensor >= 0 and fields.sensordata[i, sensor] > 0.0:
        foot, side = part.feet[leg], -1.0 if leg == 0 else 1.0
        dx = fields.sensordata[i, sensor + 1] - fields.xpos[i, foot, 0]
        dy = fields.sensordata[i, sensor + 2] - fields.xpos[i, foot, 1]
        row[first + OptionalSignal.pressure_x] = cos * dx + sin * dy
        row[first + OptionalSignal.pressure_y] = side * (cos * dy - sin * dx)
    rate = part.adduction_rate[leg]
    if rate >= 0:
        row[first + OptionalSignal.hip_adduction_rate] = part.inward[leg] * fields.qvel[i, rate]


@compiled
def sense(fields, parts, muscles, threshold, i, measured):
    """Measure the signals ``(2, signals)`` of both legs of simulation ``i``.

    Angles are as in the reference: 180 degrees at hip and knee of a straight leg, 90 at the ankle
    in standing. As in MyoAssist, positions are of body origins and velocities of centres of mass,
    the pitch rate is of the torso and the pitch of the pelvis: with other choices the walk deviates
    within a few steps. Forces are normalised by the strength of each muscle.
    """
    part = parts[0]
    quat = fields.xquat[i, part.pelvis]
    pitch, yaw = pitch_of(quat), _yaw_of(quat)
    roll = _roll_of(quat) - part.upright_roll
    cos, sin = math.cos(yaw), math.sin(yaw)
    pitch_rate = -_rate_about(fields, i, part.torso, 1)
    roll_rate = _rate_about(fields, i, part.torso, 0)
    px, py = fields.xpos[i, part.pelvis, 0], fields.xpos[i, part.pelvis, 1]
    vx, vy = _velocity_x_y(fields, i, part.pelvis, part.root)
    for leg in range(2):
        row = measured[leg]
        # y is to the left; lateral signals are positive outwards
        side = -1.0 if leg == 0 else 1.0
        heel = fields.sensordata[i, part.touch[leg, Touch.heel]]
        load = (heel + fields.sensordata[i, part.touch[leg, Touch.toes]]) / part.weight
        row[Measured.pitch] = pitch
        row[Measured.pitch_rate] = pitch_rate
        row[Measured.roll] = -side * roll
        row[Measured.roll_rate] = -side * roll_rate
        row[Measured.load] = load
        row[Measured.contact] = 1.0 if load > threshold else 0.0
        row[Measured.hip] = math.pi - fields.qpos[i, part.qpos[leg, Joint.hip]]
        row[Measured.hip_rate] = -fields.qvel[i, part.qvel[leg, Joint.hip]]
        row[Measured.knee] = math.pi + fields.qpos[i, part.qpos[leg, Joint.knee]]
        row[Measured.knee_rate] = fields.qvel[i, part.qvel[leg, Joint.knee]]
        ankle, toes = part.qpos[leg, Joint.ankle], part.qpos[leg, Joint.mtp]
        row[Measured.ankle] = 0.5 * math.pi - fields.qpos[i, ankle]
        row[Measured.mtp] = 0.5 * math.pi - fields.qpos[i, toes]
        adduction = part.adduction[leg]
        if adduction >= 0:
            angle = part.inward[leg] * fields.qpos[i, adduction]
            row[Measured.hip_adduction] = 0.5 * math.pi + angle
        foot = part.feet[1 - leg]
        fx, fy = fields.xpos[i, foot, 0], fields.xpos[i, foot, 1]
        fvx, fvy = _velocity_x_y(fields, i, foot, part.root)
        # rotated by the heading: along and across the direction of walking
        row[Measured.pelvis_x] = cos * px + sin * py
        row[Measured.pelvis_y] = side * (cos * py - sin * px)
        row[Measured.pelvis_vx] = cos * vx + sin * vy
        row[Measured.pelvis_vy] = side * (cos * vy - sin * vx)
        row[Measured.other_foot_x] = cos * fx + sin * fy
        row[Measured.other_foot_y] = side * (cos * fy - sin * fx)
        row[Measured.other_foot_vx] = cos * fvx + sin * fvy
        row[Measured.other_foot_vy] = side * (cos * fvy - sin * fvx)
        row[FIRST_FORCE:] = 0.0
        if measured.shape[1] > part.optional_signals:
            _sense_optional(fields, part, i, leg, cos, sin, row)
    if measured.shape[1] > part.optional_signals:
        for leg in range(2):
            other = part.optional_signals + OptionalSignal.other_load
            measured[leg, other] = measured[1 - leg, Measured.load]
    for k in range(len(muscles)):
        muscle = muscles[k]
        # muscle forces of MuJoCo are negative in tension
        force = -fields.actuator_force[i, muscle.actuator] / muscle.strength
        measured[muscle.leg, FIRST_FORCE + muscle.group] += force * muscle.share
