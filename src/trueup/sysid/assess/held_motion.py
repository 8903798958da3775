"""Predictions without a model: the state, or the velocity, at the start of a window is held."""

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.signals.model_signals import state_mappings

HELD, OWN_SLOPE = -1, -2
"""Velocity sources: none, so that the value is held; or the slope of the channel itself."""

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_POSITION, _VELOCITY = int(mujoco.mjtSensor.mjSENS_JOINTPOS), int(mujoco.mjtSensor.mjSENS_JOINTVEL)


def velocity_sources(models: Sequence[mujoco.MjModel], signals: Sequence[str]) -> tuple[int, ...]:
    """Source of the velocity of each channel.

    Args:
      models: models; the first one with a signal is used.
      signals: signal of each channel.

    Returns:
      Index of the channel with the velocity of a joint position; :data:`OWN_SLOPE` for a joint
      position without one, :data:`HELD` for other signals.
    """
    joints = [next((j for m in models if (j := _joint(m, s))), None) for s in signals]
    out = []
    for found in joints:
        if found is None or found[1] != "position":
            out.append(HELD)
            continue
        twin = (found[0], "velocity")
        out.append(joints.index(twin) if twin in joints else OWN_SLOPE)
    return tuple(out)


def _joint(model: mujoco.MjModel, signal: str) -> tuple[int, str] | None:
    """Scalar joint and quantity of a signal; None for any other signal."""
    sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, signal)
    if sensor >= 0:
        kind, joint = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
        quantity = {_POSITION: "position", _VELOCITY: "velocity"}.get(kind)
        return (joint, quantity) if quantity else None
    positions, velocities, *_ = state_mappings(model)
    for mapping, quantity, first, addresses in (
        (positions, "position", 0, model.jnt_qposadr),
        (velocities, "velocity", model.nq, model.jnt_dofadr),
    ):
        if signal in mapping:
            joint = int(np.flatnonzero(addresses == mapping[signal][1][0] - first)[0])
            return (joint, quantity) if int(model.jnt_type[joint]) in _SCALAR else None
    return None


def velocities(times: np.ndarray, measured: np.ndarray, sources: Sequence[int]) -> np.ndarray:
    """Velocity of each channel ``(T, C)``, zero for one that is held.

    Args:
      times: times of the samples ``(T,)`` [s].
      measured: recorded channels ``(T, C)``.
      sources: from :func:`velocity_sources`.
    """
    out = np.zeros_like(measured)
    for channel, source in enumerate(sources):
        if source >= 0:
            out[:, channel] = measured[:, source]
        elif source == OWN_SLOPE and len(times) > 1:
            slope = np.diff(measured[:, channel]) / np.diff(times)
            out[:, channel] = np.concatenate([slope[:1], slope])
    return out
