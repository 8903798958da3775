"""Forces that inverse dynamics omits at some samples: contact, limits, clamped controls."""

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.torque.left_out_forces import left_out_sentence

_INSTANTS = 200
"""Maximum number of evaluated samples of a recording."""
_OFTEN = 0.02
"""Share of them that is reported."""


def left_out_notes(whole: SystemTrajectory, driven: set[int] | None = None) -> list[str]:
    """Sentences on forces that inverse dynamics omits in a recording; empty for none.

    Args:
      whole: the recording.
      driven: actuators with a recorded control; None: all.
    """
    sentence = left_out_sentence(whole.model)
    out = [f"{sentence[0].upper()}{sentence[1:]}."] if sentence else []
    return [*out, *_clamps(whole, driven), *_touches(whole)]


def _clamps(whole: SystemTrajectory, driven: set[int] | None) -> list[str]:
    model, controls = whole.model, whole.control.data
    if int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL):
        return []
    out = []
    for i in range(model.nu) if driven is None else sorted(driven):
        low, high = model.actuator_ctrlrange[i]
        outside = float(np.mean((controls[:, i] < low) | (controls[:, i] > high)))
        if model.actuator_ctrllimited[i] and outside > _OFTEN:
            out.append(
                f"{whole.name}: the control of {model.actuator(i).name} is outside its "
                f"ctrlrange {low:g} to {high:g} for {100 * outside:.2g} % of the time: a "
                "simulation clips it, inverse dynamics does not."
            )
    return out


def _touches(whole: SystemTrajectory) -> list[str]:
    """Contact and limits at the measured positions, where all are measured."""
    model, measured = whole.model, whole.sensordata
    columns = state_columns(model, measured)
    if columns.missing(model) or (model.jnt_type < int(mujoco.mjtJoint.mjJNT_SLIDE)).any():
        return []
    rows = np.linspace(0, len(measured.times) - 1, min(_INSTANTS, len(measured.times))).astype(int)
    data = mujoco.MjData(model)
    pairs: dict[tuple[str, ...], int] = {}
    for row in rows:
        for address, column in columns.positions.items():
            data.qpos[address] = measured.data[row, column]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        touching = data.contact.geom[data.contact.dist < 0] if data.ncon else np.zeros((0, 2), int)
        for pair in {tuple(sorted(_body(model, int(g)) for g in geoms)) for geoms in touching}:
            pairs[pair] = pairs.get(pair, 0) + 1
    out = [
        f"{whole.name}: {first} and {second} are in contact in {100 * count / len(rows):.2g} % of "
        "the "
        "recording: inverse dynamics does not include the contact force."
        for (first, second), count in pairs.items()
        if count > _OFTEN * len(rows)
    ]
    beyond = []
    for j in range(model.njnt):
        address = int(model.jnt_qposadr[j])
        if not model.jnt_limited[j] or address not in columns.positions:
            continue
        low, high = model.jnt_range[j]
        values = measured.data[:, columns.positions[address]]
        if np.mean((values < low) | (values > high)) > _OFTEN:
            beyond.append(model.joint(j).name)
    if beyond:
        out.append(
            f"{whole.name}: {listing(beyond)} is beyond the range of the model: inverse dynamics "
            "does not include the limit force."
        )
    return out


def _body(model: mujoco.MjModel, geom: int) -> str:
    body = int(model.geom_bodyid[geom])
    return model.body(body).name or f"body {body}"
