"""A start for walks that is a moment of another walk, with the speeds of its joints."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.errors import GaitError
from trueup.gait.walk.gait_cycle import Stride, strides_of
from trueup.gait.walk.initial_state import free_joints
from trueup.gait.walk.walk_records import End, WalkRecords
from trueup.gait.walk.walk_series import walk_with_states
from trueup.gait.walk.walk_simulation import WalkSimulation

WITHIN = np.deg2rad(1.0)
"""How far a pose stays from the ends of its joints' ranges, which are soft as a walk goes on and
bounds of a pose [rad]."""

STRIDES, AFTER_LIFT_OFF = 3, 0.12
"""Strides of which moments are tried, the last of the walk, and how long after lift-off [s]."""


@dataclass(frozen=True)
class CycleStart:
    """A moment of a walk, as other walks may start from it.

    Attributes:
      vector: the walk's vector with the pose, speed and activations of that moment ``(size,)``.
      joint_speeds: speeds of the joints, which a vector says nothing of [rad/s, m/s], by name:
        what :class:`trueup.gait.WalkSettings` takes.
      time: when it was [s].
    """

    vector: np.ndarray
    joint_speeds: dict[str, float]
    time: float


def cycle_start(simulation: WalkSimulation, vector: np.ndarray) -> CycleStart:
    """A start in the middle of a walk, shortly after the leg that swings first has lifted off.

    A keyframe holds the walker still but for its speed, and the first steps have to make up for
    that. A gait that spares effort, or one that a device is put on, falls over them where in the
    middle of the walk it would not.

    The controller begins with what it senses at that moment and remembers nothing, so not every
    moment will do: each frame after the last lift-offs is tried. The middle of the longest time is
    taken during which a walk may start and lasts.

    Args:
      simulation: how the walk goes.
      vector: its vector ``(size,)``.

    Raises:
      GaitError: the walk does not last, also from any of these moments, or the vector does not fit.
    """
    vector = simulation.parameters.check(vector)
    records, (states,) = walk_with_states(simulation, vector[None])
    # the next walks overwrite them
    records = replace(records, frames=records.frames.copy(), length=records.length.copy())
    period, duration = records.period, simulation.settings.duration
    if records.ended[0] != End.running:
        raise GaitError(
            "a start in the cycle of a walk needs one that lasts, and this one "
            f"{records.invalid.get(0) or f'ends after {records.length[0] * period:.2f} s'} of "
            f"{duration:g} s: begin with a steadier one, or walk for a shorter time"
        )
    load = records.column(f"load_{'rl'[simulation.swing_leg]}")[0]
    threshold = simulation.controller.load_threshold
    strides = strides_of(load, simulation.swing_leg, period, threshold, STRIDES)
    if not strides:
        raise GaitError(
            f"a start in the cycle of a walk needs a whole stride, and in {duration:g} s there is "
            "none of the leg that swings first: walk for a longer time"
        )
    longest = max((_lasting(simulation, vector, records, states, s) for s in strides), key=len)
    if not longest:
        raise GaitError(
            f"the walk lasts, but none does that starts within its last {len(strides)} strides, up "
            f"to {AFTER_LIFT_OFF:g} s after a lift-off: begin with a steadier one"
        )
    return longest[len(longest) // 2]


def _lasting(
    simulation: WalkSimulation,
    vector: np.ndarray,
    records: WalkRecords,
    states: np.ndarray,
    stride: Stride,
) -> list[CycleStart]:
    """The longest sequence of frames after the lift-off of a stride from which walks last."""
    last = min(stride.lift_off + round(AFTER_LIFT_OFF / records.period), stride.end)
    sequences: list[list[CycleStart]] = [[]]
    for frame in range(stride.lift_off, last + 1):
        start = _start_at(simulation, vector, records, states[frame], frame)
        begun = simulation.with_settings(joint_speeds=start.joint_speeds)
        if begun.run(start.vector[None]).ended[0] == End.running:
            sequences[-1].append(start)
        else:
            sequences.append([])
    return max(sequences, key=len)


def _start_at(
    simulation: WalkSimulation,
    vector: np.ndarray,
    records: WalkRecords,
    state: np.ndarray,
    frame: int,
) -> CycleStart:
    """The start at a frame; what lies outside of a joint's range, as a loaded knee, at its end."""
    model, parameters = simulation.walker.model, simulation.parameters
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    found = vector.copy()
    part = parameters.group("pose")
    # a joint that stays at its angle of the keyframe, as the toes do, had better rest there
    moving = {simulation.walker.anatomy.root.upward}
    for i, entry in enumerate(parameters.entries[part], part.start):
        joint = model.joint(entry.name.removeprefix("vel_"))
        if entry.name.startswith("vel_"):
            value = data.qvel[joint.dofadr[0]]
        else:
            moving.add(joint.name)
            value = data.qpos[joint.qposadr[0]]
            if model.jnt_limited[joint.id]:
                value = np.clip(value, joint.range[0] + WITHIN, joint.range[1] - WITHIN)
        value = np.rad2deg(value) if entry.unit == "deg" else value
        found[i] = np.clip((value - entry.offset) / entry.scale, entry.lower, entry.upper)
    part = parameters.group("activation")
    muscles = simulation.body.muscles
    activation = np.array([records.column(name)[0, frame] for name in records.muscles])
    for i, entry in enumerate(parameters.entries[part], part.start):
        _, group, side = entry.name.split("_")
        of_group = muscles["group"] == simulation.layout.muscles.index(group)
        value = activation[of_group & (muscles["leg"] == "rl".index(side))].mean()
        found[i] = np.clip(value / entry.scale, entry.lower, entry.upper)
    speeds = {
        name: float(data.qvel[model.joint(name).dofadr[0]])
        for name in free_joints(model, parameters)
        if name in moving
    }
    return CycleStart(found, speeds, (frame + 1) * records.period)
