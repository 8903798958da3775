"""Roles of the columns that an import recognises, but that neither signals nor controls use."""

from collections.abc import Collection, Sequence

import mujoco

from trueup.sysid.importing.columns.joint_families import JointLog
from trueup.sysid.importing.columns.names import is_current, take_apart


def roles_of(
    model: mujoco.MjModel,
    log: JointLog,
    joints: Sequence[int],
    columns: Sequence[str],
    used: Collection[str],
) -> dict[str, str]:
    """Role of each unused column that has one, such as ``command of elbow``.

    Args:
      model: the robot.
      log: its columns of joints.
      joints: the measured joints.
      columns: all columns.
      used: those of signals, controls and the clock.
    """
    known = {c.column: c for c in log.columns}
    out = {}
    for column in columns:
        if column in used:
            continue
        name, found = take_apart(column), known.get(column)
        quantity, commanded = name.quantity, name.commanded
        joint = joints[0] if len(joints) == 1 else -1
        if found is not None:
            quantity, commanded = found.quantity, found.commanded
            joint = log.joints.get(found.label, joint)
        what = quantity
        if quantity == "effort":
            what = "current" if is_current(column) else "torque"
        if commanded and quantity in ("position", "velocity", "effort"):
            what = "command" if quantity == "position" else f"command of the {what}"
        if what and joint >= 0:
            out[column] = f"{what} of {model.joint(joint).name}"
    return out
