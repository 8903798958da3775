"""Check that initial states of recordings close the kinematic loops of a model."""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import ExperimentError, listing
from trueup.signals import TimeSeries
from trueup.simulation.engine.initial_state import FULL_PHYSICS
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.torque.left_out_forces import LeftOutForce, loop_closures

_OPEN = 0.01  # tolerance as a share of the model's extent, or [rad], far above encoder noise


@dataclass(frozen=True)
class OpenLoop:
    """A loop that a state does not close."""

    closure: LeftOutForce
    gap: float
    """Distance or angle by which it is open [m, rad]."""


def open_loops(model: mujoco.MjModel, state: np.ndarray) -> list[OpenLoop]:
    """Loops that a state (``mjSTATE_FULLPHYSICS``) does not close."""
    closures = loop_closures(model)
    if not closures:
        return []
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, FULL_PHYSICS)
    mujoco.mj_fwdPosition(model, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    out = []
    for equality, closure in closures.items():
        own = rows & (data.efc_id == equality)
        gap = float(np.abs(data.efc_pos[own]).max(initial=0.0))
        if gap > _OPEN * max(float(model.stat.extent), 1e-9):
            out.append(OpenLoop(closure, gap))
    return out


def check_loops(whole: SystemTrajectory) -> list[str]:
    """Sentences on loops that the initial state of a recording does not close.

    Args:
      whole: the recording.

    Raises:
      ExperimentError: only some joints of a loop were measured; the others would require solving
        the loop.
    """
    check_loop_joints(whole.name, whole.model, whole.sensordata)
    return [
        f"{whole.name}: {loop.closure.what} is open by {loop.gap:.3g} m at the start: lengths or "
        "joint zeros differ from the model, and the constraint forces of the simulation close it."
        for loop in open_loops(whole.model, whole.initial_state)
    ]


def check_loop_joints(name: str, model: mujoco.MjModel, measured: TimeSeries) -> None:
    """Raise ExperimentError if only some joints of a loop are measured."""
    missing = state_columns(model, measured).missing(model)
    for closure in loop_closures(model).values():
        dofs = {model.joint(j).name: int(model.jnt_dofadr[j]) for j in range(model.njnt)}
        joints = [joint for joint, dof in dofs.items() if dof in closure.dofs]
        unknown = [joint for joint in joints if joint in missing]
        known = [joint for joint in joints if joint not in missing]
        if known and unknown:
            raise ExperimentError(
                f"{name}: {closure.what} closes a loop of {listing(joints)}, but only "
                f"{listing(known)} is measured, not {listing(unknown)}. Solving the loop for the "
                "others and torques across it are not supported: "
                "record all joints of the loop, or none of them"
            )
