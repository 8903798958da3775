"""Compiled control step for a population of walks: sense, record a frame, act."""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from trueup.gait.compiled import compiled, compiled_once
from trueup.gait.controller._exoskeleton_kernel import (
    Curve,
    pchip_slopes,
    pchip_value,
    start_clock,
    tick_clock,
)
from trueup.gait.controller._reflex_kernel import start_reflexes, step_reflexes
from trueup.gait.controller._registers import Measured
from trueup.gait.controller._sensing_kernel import pitch_of, sense
from trueup.gait.models.body_map import SENSED_LIMITS, Touch
from trueup.gait.models.metabolic import metabolic_power
from trueup.gait.models.terrain import ramp_height, step_height
from trueup.gait.walk.disturbance_kernel import disturb_senses, push
from trueup.gait.walk.frames import ACTIVATIONS, LEG_ANGLES, LEG_PLACES, Frame
from trueup.gait.walk.records import End

LIMITS = len(SENSED_LIMITS)
"""Number of joints of a leg with a recorded limit torque."""

BAD_NUMBERS = 3
"""First MuJoCo warning that ends a walk; warnings of full buffers have smaller numbers."""


class Fields(NamedTuple):
    """Arrays of MjData of the simulations ``(n, ...)``, and their warnings."""

    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray
    xfrc_applied: np.ndarray
    sensordata: np.ndarray
    actuator_force: np.ndarray
    actuator_length: np.ndarray
    actuator_velocity: np.ndarray
    xpos: np.ndarray
    xquat: np.ndarray
    xipos: np.ndarray
    ximat: np.ndarray
    cvel: np.ndarray
    subtree_com: np.ndarray
    xanchor: np.ndarray
    site_xpos: np.ndarray
    warning: np.ndarray


class Walks(NamedTuple):
    """State of the controllers and records of the walks ``(n, ...)``.

    ``curve (n, 3, knots)`` is the torque curve of the exoskeleton, rows as in
    :class:`trueup.gait.controller._exoskeleton_kernel.Curve`; ``disturbances (n,)`` are pushes and
    noise, ``energy (n,)`` is the metabolic energy of the muscles [J], ``status (n, 2)`` as in
    :class:`Status`.
    """

    registers: np.ndarray
    rings: np.ndarray
    measured: np.ndarray
    stimulation: np.ndarray
    crossed: np.ndarray
    clocks: np.ndarray
    curve: np.ndarray
    exo: np.ndarray
    disturbances: np.ndarray
    energy: np.ndarray
    frames: np.ndarray
    status: np.ndarray


class Status(IntEnum):
    """Status of a walk: number of frames, and reason of its end (:class:`End`)."""

    length = 0
    ended = 1


RULES = np.dtype(
    [
        ("threshold", np.float64),
        ("period", np.float64),
        ("frame_every", np.int64),
        ("max_torque", np.float64),
        ("has_exo", np.bool_),
        ("exo_in_swing", np.bool_),
        ("shortest_swing", np.float64),
        ("shortest_stance", np.float64),
        ("lowest", np.float64),
        ("steepest", np.float64),
    ]
)
"""Settings of all walks of a population; an array of one."""

_step_height, _ramp_height = compiled(step_height), compiled(ramp_height)


@compiled
def _ground_height(part, x):
    """Height of the ground at a position along the direction of walking [m]."""
    if part.stair_run == 0.0:
        return part.grade * x
    return _step_height(x, part.stair_start, part.stair_run, part.stair_rise, part.stair_count)


@compiled
def _mean_ground_height(part, x):
    """Height of the ground with a ramp in place of stairs [m], so that a step is not a fall."""
    if part.stair_run == 0.0:
        return part.grade * x
    return _ramp_height(x, part.stair_start, part.stair_run, part.stair_rise, part.stair_count)


@compiled
def _record_frame(fields, body, measured, i, time, exo, frame):
    """Fill a frame with the current state of simulation ``i``."""
    part = body.parts[0]
    pelvis = part.pelvis
    frame[Frame.time] = time
    frame[Frame.x] = fields.xpos[i, pelvis, 0]
    frame[Frame.y] = fields.xpos[i, pelvis, 1]
    frame[Frame.z] = fields.xpos[i, pelvis, 2]
    frame[Frame.pitch] = measured[0, Measured.pitch]
    frame[Frame.torso_pitch] = pitch_of(fields.xquat[i, part.torso])
    for leg in range(2):
        row = measured[leg]
        frame[Frame.hip_r + LEG_ANGLES * leg] = row[Measured.hip]
        frame[Frame.knee_r + LEG_ANGLES * leg] = row[Measured.knee]
        frame[Frame.ankle_r + LEG_ANGLES * leg] = row[Measured.ankle]
        heel = fields.sensordata[i, part.touch[leg, Touch.heel]]
        frame[Frame.heel_r + leg] = heel / part.weight
        frame[Frame.load_r + leg] = row[Measured.load]
        frame[Frame.exo_r + leg] = exo[leg]
        lowest = math.inf
        for k in range(body.soles.shape[1]):
            site = body.soles[leg, k]
            ground = _ground_height(part, fields.site_xpos[i, site, 0])
            lowest = min(lowest, fields.site_xpos[i, site, 2] - ground)
        frame[Frame.sole_r + leg] = lowest
        # models without a sensor of a joint limit have index -1
        for k in range(LIMITS):
            sensor = part.limits[leg, k]
            torque = fields.sensordata[i, sensor] if sensor >= 0 else 0.0
            frame[Frame.limit_hip_r + LEG_ANGLES * leg + k] = torque
        # joint positions from the pelvis, for the comparison of the legs at touch-down
        for axis in range(3):
            origin = fields.xpos[i, pelvis, axis]
            shift = LEG_PLACES * leg + axis
            knee, ankle = part.knee_joint[leg], part.ankle_joint[leg]
            frame[Frame.knee_x_r + shift] = fields.xanchor[i, knee, axis] - origin
            frame[Frame.ankle_x_r + shift] = fields.xanchor[i, ankle, axis] - origin
    for k in range(len(body.muscles)):
        frame[ACTIVATIONS + k] = fields.act[i, body.muscles[k].act]


@compiled
def _fit_curve(curve):
    """Fill the slopes of a torque curve ``(3, knots)``."""
    pchip_slopes(curve[Curve.percent], curve[Curve.torque], curve[Curve.slope])


@compiled
def _torque(rule, load, clock, curve):
    """Torque of the exoskeleton of a leg [N m]; advances its clock."""
    percent = tick_clock(
        clock, load, rule.threshold, rule.period, rule.shortest_swing, rule.shortest_stance
    )
    if load <= rule.threshold and not rule.exo_in_swing:
        return 0.0  # MyoAssist holds the last torque in swing after a stance that ends early
    torque = pchip_value(curve[Curve.percent], curve[Curve.torque], curve[Curve.slope], percent)
    # the device acts in one direction only
    return min(max(torque, 0.0), rule.max_torque)


@compiled
def _exoskeleton(part, rule, ctrl, measured, clocks, curve, exo):
    """Write the torques of the exoskeleton of one walk to its controls ``(controls,)``."""
    for leg in range(2):
        exo[leg] = _torque(rule, measured[leg, Measured.load], clocks[leg], curve)
        ctrl[part.exo_ctrl[leg]] = exo[leg] / part.exo_gain[leg]


@compiled
def _end_of(rule, warning, height, pitch):
    """Reason for the end of a walk at its current state."""
    # values of a diverged simulation can remain finite: the warnings of MuJoCo are decisive
    for kind in range(BAD_NUMBERS, warning.shape[0]):
        if warning[kind, 1] > 0:
            return End.diverged
    if not math.isfinite(height):
        return End.diverged
    if height < rule.lowest or abs(pitch) > rule.steepest:
        return End.fell
    return End.running


@compiled_once
def start_walks(program, body, rules, fields, walks, swing_leg, activation, target):
    """Start all walks from the current state of the batch."""
    threshold = rules[0].threshold
    for i in range(len(walks.status)):
        sense(fields, body.parts, body.muscles, threshold, i, walks.measured[i])
        walks.status[i] = 0
        walks.frames[i] = 0.0
        walks.exo[i] = 0.0
        walks.energy[i] = 0.0
        for leg in range(2):
            start_clock(walks.clocks[i, leg])
        _fit_curve(walks.curve[i])
        start_reflexes(
            program,
            walks.measured[i],
            walks.registers[i],
            walks.rings[i],
            swing_leg,
            activation[i],
            target[i],
        )


@compiled
def control_walk(program, body, fibers, rules, fields, walks, i, tick, acts):
    """Sense, record a frame, and act, for one walk; returns whether it continues.

    Arguments as in :func:`control_walks`, with the index ``i`` of the walk.
    """
    part, rule = body.parts[0], rules[0]
    measured, status = walks.measured[i], walks.status[i]
    time = float(tick) * rule.period
    sense(fields, body.parts, body.muscles, rule.threshold, i, measured)
    # the initial state is neither recorded nor tested: its pose was checked before
    if tick > 0:
        ground = _mean_ground_height(part, fields.xpos[i, part.pelvis, 0])
        height = fields.xpos[i, part.pelvis, 2] - ground
        pitch = measured[0, Measured.pitch]
        status[Status.ended] = _end_of(rule, fields.warning[i], height, pitch)
        # the frame of a fall is recorded too
        due = tick % rule.frame_every == 0 or status[Status.ended] == End.fell
        if due and status[Status.length] < walks.frames.shape[1]:
            frame = walks.frames[i, status[Status.length]]
            _record_frame(fields, body, measured, i, time, walks.exo[i], frame)
            power = metabolic_power(fields, body.muscles, fibers, i)
            # rectangle rule over the interval of frames
            walks.energy[i] += power * rule.period * float(rule.frame_every)
            frame[Frame.metabolic] = walks.energy[i]
            status[Status.length] += 1
        if status[Status.ended] != End.running:
            return False
    if not acts:
        return True
    # noise is added after the frame, which contains the exact signals
    push(fields, walks.disturbances[i], part.torso, tick, i)
    disturb_senses(walks.disturbances[i], rule.threshold, time, part.optional_signals, measured)
    stimulation = walks.stimulation[i]
    step_reflexes(
        program,
        measured,
        walks.registers[i],
        walks.rings[i],
        tick,
        stimulation,
        walks.crossed[i],
    )
    for m in range(len(body.muscles)):
        muscle = body.muscles[m]
        fields.ctrl[i, muscle.ctrl] = stimulation[muscle.leg, muscle.group]
    if rule.has_exo:
        _exoskeleton(
            part, rule, fields.ctrl[i], measured, walks.clocks[i], walks.curve[i], walks.exo[i]
        )
    return True


@compiled_once
def control_walks(program, body, fibers, rules, fields, walks, ids, tick, acts):
    """Sense, record a frame, and act, for the walks ``ids``.

    Args:
      fibers: fibers of the muscles.
      tick: number of earlier runs of the controllers.
      acts: False at the end, without a following step.

    Returns:
      Number of walks that continue.
    """
    running = 0
    for k in range(len(ids)):
        if control_walk(program, body, fibers, rules, fields, walks, ids[k], tick, acts):
            running += 1
    return running


@compiled_once
def replay(program, rules, measured, registers, rings, crossed, clocks, curve, stimulation, exo):
    """Run a started controller over recorded signals ``(steps, 2, signals)``."""
    rule = rules[0]
    for tick in range(len(measured)):
        step_reflexes(program, measured[tick], registers, rings, tick, stimulation[tick], crossed)
        for leg in range(2):
            load = measured[tick, leg, Measured.load]
            exo[tick, leg] = _torque(rule, load, clocks[leg], curve)


@compiled_once
def begin_replay(program, measured, registers, rings, swing_leg, activation, target, clocks, curve):
    """Start a controller for :func:`replay`; the first arguments as in ``start_reflexes``."""
    start_reflexes(program, measured, registers, rings, swing_leg, activation, target)
    _fit_curve(curve)
    for leg in range(2):
        start_clock(clocks[leg])
