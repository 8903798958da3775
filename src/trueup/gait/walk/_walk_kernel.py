"""One run of the controller for a population of walks, compiled: sense, keep a frame, act."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueup.gait.controller import _exoskeleton_kernel, _reflex_kernel, _registers, _sensing_kernel
from trueup.gait.controller._compiled import compiled, compiled_once, digest
from trueup.gait.controller._exoskeleton_kernel import (
    pchip_slopes,
    pchip_value,
    start_clock,
    tick_clock,
)
from trueup.gait.controller._reflex_kernel import start_reflexes, step_reflexes
from trueup.gait.controller._registers import M_LOAD, M_PITCH
from trueup.gait.controller._sensing_kernel import mean_ground, record_frame, sense
from trueup.gait.costs import _metabolic_kernel
from trueup.gait.costs._metabolic_kernel import metabolic_power
from trueup.gait.walk import _disturbance_kernel, _frames
from trueup.gait.walk._disturbance_kernel import disturb_senses, push
from trueup.gait.walk._frames import F_METABOLIC

RUNNING, FELL, DIVERGED, GIVEN_UP, STOPPED = range(5)
"""Why a walk ended; a walk that runs to its end stays running."""

BAD_NUMBERS = 3
"""First of MuJoCo's warnings that end a walk; full buffers, which come before, do not."""


class Fields(NamedTuple):
    """Arrays of a batch ``(n, ...)``; the numbers say where a part of the state row begins."""

    state: np.ndarray
    qpos: int
    qvel: int
    act: int
    ctrl: int
    xfrc_applied: int
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
    """State of the controllers, and what is kept of the walks ``(n, ...)``.

    ``curve (n, 3, knots)`` is the exoskeleton's: percent of stance, torque [N m], slope.
    ``disturbances (n,)`` push and deceive the walkers, ``energy (n,)`` is what their muscles have
    taken [J]. ``status (n, 2)`` is the number of frames and why the walk ended.
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


LENGTH, ENDED = 0, 1

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
"""What holds for all walks of a population; an array of one."""


@compiled
def _torque(rule, load, clock, curve):
    """Torque of the exoskeleton of a leg; advances its clock."""
    percent = tick_clock(
        clock, load, rule.threshold, rule.period, rule.shortest_swing, rule.shortest_stance
    )
    if load <= rule.threshold and not rule.exo_in_swing:
        return 0.0
    torque = pchip_value(curve[0], curve[1], curve[2], percent)
    return min(max(torque, 0.0), rule.max_torque)


@compiled
def _exoskeleton(part, rule, state, ctrl, measured, clocks, curve, exo):
    """Torques of the exoskeleton of one walk, written to its controls."""
    for leg in range(2):
        exo[leg] = _torque(rule, measured[leg, M_LOAD], clocks[leg], curve)
        state[ctrl + part.exo_ctrl[leg]] = exo[leg] / part.exo_gain[leg]


@compiled
def _state_of(part, rule, warning, height, pitch):
    for kind in range(BAD_NUMBERS, warning.shape[0]):
        if warning[kind, 1] > 0:
            return DIVERGED
    if not math.isfinite(height):
        return DIVERGED
    return FELL if height < rule.lowest or abs(pitch) > rule.steepest else RUNNING


@compiled
def _start(program, body, rules, fields, walks, swing_leg, activation, target):
    """Begin all walks at the present state of the batch."""
    threshold = rules[0].threshold
    for i in range(len(walks.status)):
        sense(fields, body.parts, body.muscles, threshold, i, walks.measured[i])
        walks.status[i] = 0
        walks.frames[i] = 0.0
        walks.exo[i] = 0.0
        walks.energy[i] = 0.0
        for leg in range(2):
            start_clock(walks.clocks[i, leg])
        pchip_slopes(walks.curve[i, 0], walks.curve[i, 1], walks.curve[i, 2])
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
def _control(program, body, fibers, rules, fields, walks, ids, tick, acts):
    """Sense, keep the frame of what has been done, and act, for the walks ``ids``.

    Args:
      fibers: what the muscles' metabolism depends on.
      tick: how often the controllers have run before.
      acts: False at the end, when nothing follows.

    Returns:
      How many walks go on.
    """
    running, part, rule = 0, body.parts[0], rules[0]
    for k in range(len(ids)):
        i = ids[k]
        measured, status = walks.measured[i], walks.status[i]
        sense(fields, body.parts, body.muscles, rule.threshold, i, measured)
        if tick > 0:
            ground = mean_ground(part, fields.xpos[i, part.pelvis, 0])
            height = fields.xpos[i, part.pelvis, 2] - ground
            status[ENDED] = _state_of(part, rule, fields.warning[i], height, measured[0, M_PITCH])
            due = tick % rule.frame_every == 0
            if (due or status[ENDED] == FELL) and status[LENGTH] < walks.frames.shape[1]:
                frame = walks.frames[i, status[LENGTH]]
                record_frame(fields, body, measured, i, tick * rule.period, walks.exo[i], frame)
                power = metabolic_power(fields, body.muscles, fibers, i)
                walks.energy[i] += power * rule.period * rule.frame_every
                frame[F_METABOLIC] = walks.energy[i]
                status[LENGTH] += 1
            if status[ENDED] != RUNNING:
                continue
        running += 1
        if not acts:
            continue
        push(fields, walks.disturbances[i], part.torso, tick, i)
        disturb_senses(walks.disturbances[i], rule.threshold, tick * rule.period, measured)
        stimulation = walks.stimulation[i]
        step_reflexes(
            program,
            measured,
            walks.registers[i],
            walks.rings[i],
            tick,
            stimulation,
            walks.crossed,
        )
        for m in range(len(body.muscles)):
            muscle = body.muscles[m]
            place = fields.ctrl + muscle.ctrl
            fields.state[i, place] = stimulation[muscle.leg, muscle.group]
        if rule.has_exo:
            _exoskeleton(
                part,
                rule,
                fields.state[i],
                fields.ctrl,
                measured,
                walks.clocks[i],
                walks.curve[i],
                walks.exo[i],
            )
    return running


@compiled
def _replay(program, rules, measured, registers, rings, crossed, clocks, curve, stimulation, exo):
    """Run a controller that has been started over recorded signals ``(steps, 2, signals)``."""
    rule = rules[0]
    for tick in range(len(measured)):
        step_reflexes(program, measured[tick], registers, rings, tick, stimulation[tick], crossed)
        for leg in range(2):
            load = measured[tick, leg, M_LOAD]
            exo[tick, leg] = _torque(rule, load, clocks[leg], curve)


def _entries(sources: str) -> tuple[Callable[..., Any], ...]:
    """The functions, each compiled once for all processes, when first called.

    Numba's cache on disk looks at the file and the closure of a function, so the digest of the
    sources stands in the closure: a change in any file compiles anew.
    """

    def start(program, body, rules, fields, walks, swing_leg, activation, target):
        if sources != "":
            _start(program, body, rules, fields, walks, swing_leg, activation, target)

    def control(program, body, fibers, rules, fields, walks, ids, tick, acts):
        if sources == "":
            return 0
        return _control(program, body, fibers, rules, fields, walks, ids, tick, acts)

    def begin(program, measured, registers, rings, swing_leg, activation, target, clocks, curve):
        if sources != "":
            start_reflexes(program, measured, registers, rings, swing_leg, activation, target)
            pchip_slopes(curve[0], curve[1], curve[2])
            for leg in range(2):
                start_clock(clocks[leg])

    def replay(
        program, rules, measured, registers, rings, crossed, clocks, curve, stimulation, exo
    ):
        if sources != "":
            _replay(
                program, rules, measured, registers, rings, crossed, clocks, curve, stimulation, exo
            )

    return tuple(compiled_once(entry) for entry in (start, control, begin, replay))


_SOURCES = (
    _disturbance_kernel,
    _exoskeleton_kernel,
    _frames,
    _metabolic_kernel,
    _reflex_kernel,
    _registers,
    _sensing_kernel,
)

start_walks, control_walks, begin_replay, replay = _entries(digest(__file__, *_SOURCES))
"""Arguments as in :func:`_start`, :func:`_control`, ``start_reflexes`` and :func:`_replay`."""
