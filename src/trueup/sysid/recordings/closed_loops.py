"""Check that recordings determine the joints of the kinematic loops of a model."""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import ExperimentError, SignalError, listing
from trueup.signals import TimeSeries
from trueup.simulation.engine.initial_state import FULL_PHYSICS
from trueup.simulation.loops.closure import closed_loops, names_of, tolerance
from trueup.simulation.loops.equalities import unsolvable_reason
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.torque.left_out_forces import LeftOutForce, loop_closures


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
        if gap > tolerance(model):
            out.append(OpenLoop(closure, gap))
    return out


def check_loops(whole: SystemTrajectory) -> list[str]:
    """Sentences on loops: joints that follow from them, and loops that the first state leaves open.

    Args:
      whole: the recording.

    Raises:
      ExperimentError: the measured joints of a loop do not determine the others, or do not close
        it.
    """
    name, model, measured = whole.name, whole.model, whole.sensordata
    check_loop_joints(name, model, measured)
    columns, notes = state_columns(model, measured), []
    if columns.loops is not None:
        try:
            columns.loops.check()
        except SignalError as error:
            raise ExperimentError(f"{name}: {error}") from error
        notes = [
            f"{name}: {listing(names_of(model, loop.unknown))} was not measured and follows from "
            f"{listing(names_of(model, loop.known))} by {loop}."
            for loop in columns.loops.loops
            if loop.known
        ]
    return notes + [
        f"{name}: {loop.closure.what} is open by {loop.gap:.3g} m at the start: lengths or "
        "joint zeros differ from the model, and the constraint forces of the simulation close it."
        for loop in open_loops(model, whole.initial_state)
    ]


def check_loop_joints(name: str, model: mujoco.MjModel, measured: TimeSeries) -> None:
    """Raise ExperimentError if the measured joints of a loop do not determine the others."""
    columns = state_columns(model, measured)
    known = [
        d for d, address in columns.position_of_velocity.items() if address in columns.positions
    ]
    for loop in closed_loops(model, known)[1]:
        raise ExperimentError(f"{name}: {loop.reason}")
    unsolved = set(columns.unknown(model)) | {
        model.joint(j).name
        for j in np.flatnonzero(model.jnt_type < int(mujoco.mjtJoint.mjJNT_SLIDE))
        if int(model.jnt_qposadr[j]) not in columns.positions
    }
    for equality, closure in loop_closures(model).items():
        dofs = {model.joint(j).name: int(model.jnt_dofadr[j]) for j in range(model.njnt)}
        joints = [joint for joint, dof in dofs.items() if dof in closure.dofs]
        missing = [joint for joint in joints if joint in unsolved]
        given = [joint for joint in joints if joint not in unsolved]
        if given and missing and (why := unsolvable_reason(model, equality)):
            raise ExperimentError(
                f"{name}: {closure.what} closes a loop of {listing(joints)}, but only "
                f"{listing(given)} is measured, not {listing(missing)}. The loop contains {why}; "
                "only loops of hinges and slides are solved for the others: record all joints of "
                "the loop, or none of them"
            )
