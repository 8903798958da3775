"""Controls of drives: the column of each actuator, and the type of actuator that it needs."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trueup.signals import Recording
from trueup.simulation.loops.closure import closed_loops
from trueup.simulation.models.element_names import joint_label
from trueup.sysid.importing.columns.joint_families import JointLog, scalar_joints
from trueup.sysid.importing.columns.matching import (
    Match,
    Place,
    actuators_by_joint,
    commandable,
    joints_moved,
    match_columns,
)
from trueup.sysid.importing.columns.names import is_current, take_apart
from trueup.sysid.importing.evidence.reading import Reading
from trueup.sysid.importing.template_text import quoted

MATCHED = 0.9  # score of a column that was found for a joint

Control = tuple[Match, str]
"""An actuator with its column, and the unit; empty for SI."""


def further_controls(
    robot: mujoco.MjModel, recording: Recording, joints: JointLog, without: Sequence[str]
) -> list[Control]:
    """Commands of actuators that are not on one joint: of a tendon, a site, a body.

    Args:
      robot: the robot.
      recording: the log.
      joints: its columns of joints.
      without: columns that are used otherwise.
    """
    others = [p for p in commandable(robot) if p.joint < 0]
    without = [c for c in without if c not in _commands_of(robot, joints, others)]
    _, controls = match_columns(recording, robot, without)
    found = [m for m in controls if m.place.name in {p.name for p in others}]
    if not found and len(others) == 1:
        # one actuator and one command that are left belong to each other
        free = [take_apart(c) for c in recording.columns if c not in without]
        asked = [n for n in free if n.commanded]
        found = [Match(others[0], n, MATCHED) for n in asked] if len(asked) == 1 else []
    return [(m, "") for m in found]


def _commands_of(robot: mujoco.MjModel, joints: JointLog, actuators: Sequence[Place]) -> list[str]:
    """Commands that were read as those of a joint, which only these actuators move."""
    own = actuators_by_joint(robot)
    moved = {j for place in actuators for j in joints_moved(robot, place.ordinal)} - set(own)
    return [c.column for c in joints.columns if c.commanded and joints.joints.get(c.label) in moved]


def columns_of(
    joints: JointLog, readings: Sequence[Reading], quantity: str, commanded: bool = False
) -> dict[int, str]:
    """Columns of a quantity by joint, of the joints that have it."""
    found = {r.joint: joints.column(r.joint, quantity, commanded) for r in readings}
    return {joint: column for joint, column in found.items() if column is not None}


def efforts_of_followers(
    robot: mujoco.MjModel, columns: Sequence[str], readings: Sequence[Reading]
) -> dict[int, str]:
    """Torques of joints that were not measured, but follow from measured ones in a loop.

    Columns are those whose words are the name of such a joint.
    """
    measured = [int(robot.jnt_dofadr[r.joint]) for r in readings]
    loops = closed_loops(robot, measured)[0]
    following = [int(robot.dof_jntid[dof]) for loop in loops if loop.known for dof in loop.unknown]
    by_words = {take_apart(joint_label(robot, joint)).words: joint for joint in following}
    out: dict[int, str] = {}
    for column in columns:
        name = take_apart(column)
        is_torque = name.quantity == "effort" and not name.commanded and not is_current(column)
        if is_torque and name.words in by_words:
            out.setdefault(by_words[name.words], column)
    return out


def actuator_name(robot: mujoco.MjModel, joint: int) -> str:
    """Name of the actuator of a joint: the first one of the model, or the one that is added."""
    places = actuators_by_joint(robot).get(joint)
    return places[0].name if places else robot.joint(joint).name


def kinds_of(
    robot: mujoco.MjModel, readings: Sequence[Reading], columns: Mapping[int, str], kind: str
) -> list[str]:
    """The setting ``actuators``: one type for all, or by joint where others keep their actuator."""
    own = actuators_by_joint(robot)
    if own:
        kept = {r.joint for r in readings} & set(own) - set(columns)
        single = all(len(places) == 1 for places in own.values())
        for_all = single and not kept and set(columns) <= set(own)
    else:
        for_all = set(columns) == set(scalar_joints(robot))
    if for_all:
        return [f"actuators: {kind}"]
    pairs = ", ".join(f"{quoted(robot.joint(j).name)}: {kind}" for j in columns)
    return [f"actuators: {{{pairs}}}"]


def by_commands(
    robot: mujoco.MjModel,
    joints: JointLog,
    readings: Sequence[Reading],
    commands: Mapping[int, str],
) -> list[Control]:
    """Commands of position servos, and of velocity actuators on the same joints."""
    own = actuators_by_joint(robot)
    speeds = columns_of(joints, readings, "velocity", True)
    out: list[Control] = []
    for r in readings:
        places = own.get(r.joint, [])
        if r.joint in commands:
            servo = next((p for p in places if p.quantity == "position"), None)
            place = servo or _place(robot, r.joint, "position", "position servo")
            column = take_apart(commands[r.joint])
            match = Match(place, column, MATCHED, scale=r.scale, offset=r.offset, unwrap=r.unwrap)
            unit = r.command_unit or r.unit
            out.append((match, "" if unit in ("rad", "m") else unit))
        speed = next((p for p in places if p.quantity == "velocity"), None)
        if speed is not None and r.joint in speeds:
            unit = r.velocity_unit or "rad/s"
            match = Match(speed, take_apart(speeds[r.joint]), MATCHED, scale=r.velocity_scale)
            out.append((match, "" if unit in ("rad/s", "m/s") else unit))
    return out


def by_efforts(
    robot: mujoco.MjModel,
    readings: Sequence[Reading],
    efforts: Mapping[int, str],
    gain: float | None,
) -> list[Control]:
    """Torques of joints as controls of motors; those of joints without a reading as they are."""
    out: list[Control] = []
    signs = {r.joint: -1.0 if r.scale < 0 else 1.0 for r in readings}
    for joint, column in efforts.items():
        mirrored = signs.get(joint, 1.0)
        what = f"torque of {robot.joint(joint).name}"
        place = _place(robot, joint, "effort", what)
        gear = _gear(robot, joint)
        # a control that needs the gear to fit the weight of the links was recorded before it
        before = gain is not None and abs(np.log(abs(gain / gear))) < abs(np.log(abs(gain)))
        match = Match(
            place,
            take_apart(column),
            MATCHED,
            scale=mirrored if before else mirrored / gear,
            remark="" if gear == 1.0 else f"gear {gear:g} of the motor",
        )
        out.append((match, ""))
    return out


def _place(robot: mujoco.MjModel, joint: int, quantity: str, what: str) -> Place:
    name = actuator_name(robot, joint)
    return Place(name, joint_label(robot, joint), quantity, joint, joint, what)


def _gear(robot: mujoco.MjModel, joint: int) -> float:
    """Gear of the actuator of a joint that stays when it becomes a motor; 1 for an added one."""
    places = actuators_by_joint(robot).get(joint)
    return float(robot.actuator_gear[places[0].ordinal, 0]) if places else 1.0
