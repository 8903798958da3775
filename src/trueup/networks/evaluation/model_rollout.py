"""Rollouts of a joint of a MuJoCo model driven by a network, with recorded commands."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import ColumnError, LawError, SignalError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    FEATURES,
    INERTIA,
    TARGET_ANGLE,
    VELOCITY,
)
from trueup.networks.evaluation.closed_loop import RollOut, plausible_angles
from trueup.networks.evaluation.metrics import RATE_TOLERANCE, Scores
from trueup.networks.model.network import Network

if TYPE_CHECKING:
    import mujoco

_BLOCK = 4096
"""Number of samples per chunk of a rollout."""

_RECORDED = ["qpos", "qvel", "actuator_force"]
_SEEN = (ANGLE, VELOCITY, TARGET_ANGLE, ANGLE_ERROR)


def roll_out_in_model(
    network: Network,
    series: Sequence[ActuatorSeries],
    model: "mujoco.MjSpec | str | os.PathLike[str]",
    joint: str,
) -> list[RollOut]:
    """Simulate a joint of a model driven by the network, with the commands of recordings.

    The joint starts in the recorded state, the rest of the model in its initial state. Inputs of
    the network are the angle and velocity of the joint, and the recorded commands and other
    features; its torque is held between samples. Damping, friction and armature of the joint act.

    Args:
        network: the network.
        series: the recordings.
        model: the model or its file; the step of the network is a multiple of its time step.
        joint: name of a hinge joint.

    Returns:
        A motion for each recording; one that MuJoCo stops, or that exceeds the recorded range by
        five times its span, is ``diverged``.

    Raises:
        SignalError: a recording and the network have different rates.
        ColumnError: a feature, or the angle or velocity of the initial state, is not recorded.
        LawError: no such hinge joint, or the network period is not a multiple of the time step.
        ModelError: the model cannot be read or does not compile.
    """
    for each in series:
        _check(each, network)
    found: dict[int, RollOut] = {}
    loads = [float(s.channels[INERTIA][0]) if INERTIA in network.inputs else 0.0 for s in series]
    for load in dict.fromkeys(loads):
        places = [k for k, other in enumerate(loads) if other == load]
        chosen = [series[k] for k in places]
        found |= dict(zip(places, _side_by_side(network, chosen, model, joint, load), strict=True))
    return [found[k] for k in range(len(series))]


def _side_by_side(
    network: Network,
    series: Sequence[ActuatorSeries],
    source: "mujoco.MjSpec | str | os.PathLike[str]",
    joint: str,
    inertia: float,
) -> list[RollOut]:
    """Motions of recordings with the same load."""
    import mujoco
    from mujoco.batch import Batch

    from trueup.networks.runtime.control_law import network_law
    from trueup.networks.runtime.step_rate import steps_a_period
    from trueup.simulation.engine.warning_capture import captured_warnings

    constants = {INERTIA: inertia} if INERTIA in network.inputs else {}
    law = network_law(source, {joint: network}, constants=constants)
    model = law.compile()
    place = model.joint(joint)
    if place.type[0] != mujoco.mjtJoint.mjJNT_HINGE:
        raise LawError(f"joint {joint!r} is not a hinge joint; networks support hinge joints only")
    position, velocity = int(place.qposadr[0]), int(place.dofadr[0])
    motor = model.actuator(law.channels["motor"][joint]).id
    every = steps_a_period(network.rate, model.opt.timestep)
    longest = max(len(each) for each in series)
    batch = Batch(model, len(series))
    batch.bind("qpos")[:, position] = [each.channels[ANGLE][0] for each in series]
    batch.bind("qvel")[:, velocity] = [each.channels[VELOCITY][0] for each in series]
    commands = {"goal": TARGET_ANGLE}
    commands |= {name: name for name in law.channels if name in FEATURES}
    sent = {
        channel: {joint: np.stack([_held(each, name, longest) for each in series])}
        for channel, name in commands.items()
        if name in network.inputs or (name == TARGET_ANGLE and ANGLE_ERROR in network.inputs)
    }
    controls = law.controls(**sent) if sent else np.zeros((len(series), longest, model.nu))
    angle, speed, torque = np.empty((3, len(series), longest))
    with captured_warnings(), law.installed(batch):
        for first in range(0, longest, _BLOCK):
            block = slice(first, min(first + _BLOCK, longest))
            angle[:, first] = batch.bind("qpos")[:, position]
            speed[:, first] = batch.bind("qvel")[:, velocity]
            given = np.repeat(controls[:, block], every, axis=1)
            steps = batch.rollout(given.shape[1], given, record=_RECORDED)
            # the state after a step is the input of the network at the next
            inner = slice(first + 1, block.stop)
            angle[:, inner] = steps["qpos"][:, every - 1 : -every : every, position]
            speed[:, inner] = steps["qvel"][:, every - 1 : -every : every, velocity]
            torque[:, block] = steps["actuator_force"][:, ::every, motor]
    failures = law.failures(batch)
    if failures:
        raise LawError(f"the network cannot drive {joint!r}: {next(iter(failures.values()))}")
    stopped = np.any(batch.warning[:, :, 1], axis=1)
    return [
        _motion(each, angle[k], speed[k], torque[k], bool(stopped[k]))
        for k, each in enumerate(series)
    ]


def _motion(
    series: ActuatorSeries,
    angle: np.ndarray,
    speed: np.ndarray,
    torque: np.ndarray,
    stopped: bool,
) -> RollOut:
    """Motion of a recording; where the joint diverges, the sample before is repeated to the end."""
    count = len(series)
    lowest, highest = plausible_angles(series)
    away = np.flatnonzero(~((angle[:count] >= lowest) & (angle[:count] <= highest)))
    last = max(int(away[0]) - 1, 0) if len(away) else count - 1
    kept = np.minimum(np.arange(count), last)
    angle, speed, torque = angle[kept], speed[kept], torque[kept]
    return RollOut(
        series.name,
        series.group,
        angle,
        speed,
        torque,
        Scores.of(series.channels[ANGLE], angle),
        Scores.of(series.torque, torque),
        stopped or len(away) > 0,
    )


def _held(series: ActuatorSeries, name: str, count: int) -> np.ndarray:
    """Samples of a signal, the last one repeated to the end, shape (count,)."""
    values = series.channels[name]
    return np.concatenate([values, np.full(count - len(values), values[-1])])


def _check(series: ActuatorSeries, network: Network) -> None:
    if abs(series.rate - network.rate) > RATE_TOLERANCE * network.rate:
        raise SignalError(
            f"{series.name} has {series.rate:g} Hz, the network runs at {network.rate:g} Hz"
        )
    needed = [ANGLE, VELOCITY, *(name for name in network.inputs if name not in _SEEN)]
    needed += [TARGET_ANGLE] if {TARGET_ANGLE, ANGLE_ERROR} & set(network.inputs) else []
    lacking = [name for name in needed if name not in series.channels]
    if lacking:
        raise ColumnError(f"{series.name} has no {listing(lacking)}, required to drive the joint")
