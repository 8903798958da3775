"""What a walker senses, compiled: from the state of a simulation to the signals of each leg."""

import math

from trueup.gait.controller import _registers as r
from trueup.gait.controller._compiled import compiled
from trueup.gait.walk import _frames as f


@compiled
def pitch_of(quat):
    """Forward lean of a body [rad]."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))


@compiled
def _yaw_of(quat):
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@compiled
def _roll_of(quat):
    """Lean to the right [rad], in the body's own axes."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    return math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))


@compiled
def _velocity_x_y(fields, i, body, root):
    """Velocity of a body's centre of mass in world axes, forwards and sideways."""
    dx = fields.xipos[i, body, 0] - fields.subtree_com[i, root, 0]
    dy = fields.xipos[i, body, 1] - fields.subtree_com[i, root, 1]
    dz = fields.xipos[i, body, 2] - fields.subtree_com[i, root, 2]
    wx, wy, wz = fields.cvel[i, body, 0], fields.cvel[i, body, 1], fields.cvel[i, body, 2]
    vx = fields.cvel[i, body, 3] - (dy * wz - dz * wy)
    vy = fields.cvel[i, body, 4] - (dz * wx - dx * wz)
    return vx, vy


@compiled
def _rate_of(fields, i, body, axis):
    """Angular velocity of a body about an axis of its inertial frame."""
    return (
        fields.ximat[i, body, axis] * fields.cvel[i, body, 0]
        + fields.ximat[i, body, 3 + axis] * fields.cvel[i, body, 1]
        + fields.ximat[i, body, 6 + axis] * fields.cvel[i, body, 2]
    )


@compiled
def ground_height(part, x):
    """Height of the ground at a place along the direction of walking [m]."""
    if part.stair_run == 0.0:
        return part.grade * x
    step = math.floor((x - part.stair_start) / part.stair_run) + 1.0
    return part.stair_rise * min(max(step, 0.0), part.stair_count)


@compiled
def mean_ground(part, x):
    """The same with a ramp in place of stairs, through the middle of each step [m]."""
    if part.stair_run == 0.0:
        return part.grade * x
    step = (x - part.stair_start) / part.stair_run + 0.5
    return part.stair_rise * min(max(step, 0.0), part.stair_count)


@compiled
def sense(fields, parts, muscles, threshold, i, measured):
    """Measure the signals ``(2, signals)`` of both legs of simulation ``i``.

    Angles are those of the reference: the hip and the knee of a straight leg have 180 degrees, the
    ankle of a standing one 90. The rate of the pitch is that of the torso, velocities are those of
    centres of mass, forces are parts of each muscle's strength.
    """
    part = parts[0]
    quat = fields.xquat[i, part.pelvis]
    pitch, yaw = pitch_of(quat), _yaw_of(quat)
    roll = _roll_of(quat) - part.upright_roll
    cos, sin = math.cos(yaw), math.sin(yaw)
    pitch_rate = -_rate_of(fields, i, part.torso, 1)
    roll_rate = _rate_of(fields, i, part.torso, 0)
    px, py = fields.xpos[i, part.pelvis, 0], fields.xpos[i, part.pelvis, 1]
    vx, vy = _velocity_x_y(fields, i, part.pelvis, part.root)
    for leg in range(2):
        row = measured[leg]
        # y is to the left; sideways signals are positive towards the leg's own side
        side = -1.0 if leg == 0 else 1.0
        touch = fields.sensordata[i, part.touch[leg, 0]] + fields.sensordata[i, part.touch[leg, 1]]
        load = touch / part.weight
        row[r.M_PITCH] = pitch
        row[r.M_PITCH_RATE] = pitch_rate
        row[r.M_ROLL] = -side * roll
        row[r.M_ROLL_RATE] = -side * roll_rate
        row[r.M_LOAD] = load
        row[r.M_CONTACT] = 1.0 if load > threshold else 0.0
        row[r.M_HIP] = math.pi - fields.state[i, fields.qpos + part.qpos[leg, 0]]
        row[r.M_HIP_RATE] = -fields.state[i, fields.qvel + part.qvel[leg, 0]]
        row[r.M_KNEE] = math.pi + fields.state[i, fields.qpos + part.qpos[leg, 1]]
        row[r.M_KNEE_RATE] = fields.state[i, fields.qvel + part.qvel[leg, 1]]
        row[r.M_ANKLE] = 0.5 * math.pi - fields.state[i, fields.qpos + part.qpos[leg, 2]]
        row[r.M_MTP] = 0.5 * math.pi - fields.state[i, fields.qpos + part.qpos[leg, 3]]
        adduction = part.adduction[leg]
        if adduction >= 0:
            angle = part.inward[leg] * fields.state[i, fields.qpos + adduction]
            row[r.M_HIP_ADDUCTION] = 0.5 * math.pi + angle
        foot = part.feet[1 - leg]
        fx, fy = fields.xpos[i, foot, 0], fields.xpos[i, foot, 1]
        fvx, fvy = _velocity_x_y(fields, i, foot, part.root)
        row[r.M_PELVIS_X] = cos * px + sin * py
        row[r.M_PELVIS_Y] = side * (cos * py - sin * px)
        row[r.M_PELVIS_VX] = cos * vx + sin * vy
        row[r.M_PELVIS_VY] = side * (cos * vy - sin * vx)
        row[r.M_FOOT_X] = cos * fx + sin * fy
        row[r.M_FOOT_Y] = side * (cos * fy - sin * fx)
        row[r.M_FOOT_VX] = cos * fvx + sin * fvy
        row[r.M_FOOT_VY] = side * (cos * fvy - sin * fvx)
        row[r.M_FORCES :] = 0.0
    for k in range(len(muscles)):
        muscle = muscles[k]
        force = -fields.actuator_force[i, muscle.actuator] / muscle.strength
        measured[muscle.leg, r.M_FORCES + muscle.group] += force * muscle.share


@compiled
def record_frame(fields, body, measured, i, time, exo, frame):
    """Fill a frame with the present state of simulation ``i``."""
    part = body.parts[0]
    pelvis = part.pelvis
    frame[f.F_TIME] = time
    frame[f.F_X] = fields.xpos[i, pelvis, 0]
    frame[f.F_Y] = fields.xpos[i, pelvis, 1]
    frame[f.F_Z] = fields.xpos[i, pelvis, 2]
    frame[f.F_PITCH] = measured[0, r.M_PITCH]
    frame[f.F_TORSO] = pitch_of(fields.xquat[i, part.torso])
    for leg in range(2):
        row = measured[leg]
        frame[f.F_ANGLES + 3 * leg] = row[r.M_HIP]
        frame[f.F_ANGLES + 3 * leg + 1] = row[r.M_KNEE]
        frame[f.F_ANGLES + 3 * leg + 2] = row[r.M_ANKLE]
        frame[f.F_HEEL + leg] = fields.sensordata[i, part.touch[leg, 0]] / part.weight
        frame[f.F_LOAD + leg] = row[r.M_LOAD]
        frame[f.F_EXO + leg] = exo[leg]
        lowest = math.inf
        for k in range(body.soles.shape[1]):
            site = body.soles[leg, k]
            ground = ground_height(part, fields.site_xpos[i, site, 0])
            lowest = min(lowest, fields.site_xpos[i, site, 2] - ground)
        frame[f.F_SOLE + leg] = lowest
        for k in range(3):
            sensor = part.limits[leg, k]
            torque = fields.sensordata[i, sensor] if sensor >= 0 else 0.0
            frame[f.F_LIMITS + 3 * leg + k] = torque
            origin = fields.xpos[i, pelvis, k]
            place = f.F_JOINTS + 6 * leg + k
            frame[place] = fields.xanchor[i, part.knee_joint[leg], k] - origin
            frame[place + 3] = fields.xanchor[i, part.ankle_joint[leg], k] - origin
    for k in range(len(body.muscles)):
        frame[f.F_ACTIVATION + k] = fields.state[i, fields.act + body.muscles[k].act]
