"""Start of walks from a state within another walk, with its joint speeds."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.errors import GaitError
from trueup.gait.walk.gait_cycle import Stride, strides_of
from trueup.gait.walk.initial_state import free_joints
from trueup.gait.walk.records import End, WalkRecords
from trueup.gait.walk.series import walk_with_states
from trueup.gait.walk.simulation import WalkSimulation

WITHIN = np.deg2rad(1.0)
"""Margin of a pose to the joint limits [rad], which are soft in a walk but bounds of a
pose."""

STRIDES, AFTER_LIFT_OFF = 3, 0.12
"""Number of last strides in which states are tried, and the time after lift-off [s]."""


@dataclass(frozen=True)
class CycleStart:
    """State within a walk from which other walks can start.

    Attributes:
      vector: vector of the walk with pose, speed and activations of that state ``(size,)``.
      joint_speeds: joint speeds that a vector does not contain [rad/s, m/s], by name, for
        :class:`trueup.gait.WalkSettings`.
      time: time of the state [s].
    """

    vector: np.ndarray
    joint_speeds: dict[str, float]
    time: float


def cycle_start(simulation: WalkSimulation, vector: np.ndarray) -> CycleStart:
    """Initial state within a walk, shortly after lift-off of the first swing leg.

    A keyframe has a forward speed but no joint speeds. A gait of low effort, or one with an added
    device, can fall in the first steps because of this transient.

    The controller starts without previous signals, so not every state is suitable: each frame after
    the last lift-offs is tried, and the middle of the longest interval of complete walks is
    selected.

    Args:
      simulation: simulation of the walk.
      vector: vector of the walk ``(size,)``.

    Raises:
      GaitError: the walk falls, also from any of these states, or an invalid vector.
    """
    vector = simulation.parameters.check(vector)
    records, (states,) = walk_with_states(simulation, vector[None])
    # the next walks overwrite them
    records = replace(records, frames=records.frames.copy(), length=records.length.copy())
    period, duration = records.period, simulation.settings.duration
    if records.ended[0] != End.running:
        raise GaitError(
            "start_in_cycle requires a walk without a fall, and this one "
            f"{records.invalid.get(0) or f'ends after {records.length[0] * period:.2f} s'} of "
            f"{duration:g} s: start from a steadier one, or use a shorter duration"
        )
    load = records.column(f"load_{'rl'[simulation.swing_leg]}")[0]
    threshold = simulation.controller.load_threshold
    strides = strides_of(load, simulation.swing_leg, period, threshold, STRIDES)
    if not strides:
        raise GaitError(
            f"start_in_cycle requires a complete stride, and in {duration:g} s there is "
            "none of the first swing leg: use a longer duration"
        )
    longest = max((_lasting(simulation, vector, records, states, s) for s in strides), key=len)
    if not longest:
        raise GaitError(
            f"the walk is complete, but all that start within its last {len(strides)} strides, up "
            f"to {AFTER_LIFT_OFF:g} s after a lift-off, fall: start from a steadier one"
        )
    return longest[len(longest) // 2]


def _lasting(
    simulation: WalkSimulation,
    vector: np.ndarray,
    records: WalkRecords,
    states: np.ndarray,
    stride: Stride,
) -> list[CycleStart]:
    """The longest sequence of frames after the lift-off of a stride with complete walks."""
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
    """The state at a frame, with joints beyond their range, such as a loaded knee, at its end."""
    model, parameters = simulation.walker.model, simulation.parameters
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    found = vector.copy()
    part = parameters.group("pose")
    # a joint at its keyframe angle, such as the toes, starts at rest
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
