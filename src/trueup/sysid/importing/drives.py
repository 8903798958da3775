"""Drives of the joints of a log: recorded torques, or commands of position servos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import RecordingError, listing
from trueup.signals import Recording
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
from trueup.sysid.importing.columns.names import take_apart
from trueup.sysid.importing.evidence.efforts import (
    CURRENT,
    ERROR,
    STRANGE,
    TORQUE,
    Efforts,
    judge_efforts,
)
from trueup.sysid.importing.evidence.reading import JointSeries, Reading
from trueup.sysid.importing.imported_log import ImportedLog, effort_gain
from trueup.sysid.importing.proposed_parameters import ProposedParameter, rounded
from trueup.sysid.importing.servo_stiffness import propose_stiffness
from trueup.sysid.importing.template_text import quoted

_SAME_GAIN = 0.05  # maximum relative spread of a constant gain
_MATCHED = 0.9  # score of a column that was found for a joint

Control = tuple[Match, str]
"""An actuator with its column, and the unit; empty for SI."""


@dataclass(frozen=True)
class Drive:
    """Controls of an experiment, and the actuators that they need."""

    controls: list[Control]
    model_lines: list[str]
    """Settings of the model in the experiment file."""
    points: list[str]
    """Open points, in sentences."""
    by_torque: bool = False
    """Whether the controls are torques of the joints."""
    unknowns: tuple[ProposedParameter, ...] = ()
    """Gains of servos that neither the model nor the log has."""
    used: tuple[str, ...] = ()
    """Columns that went into settings of the model."""
    efforts: str = TORQUE
    """Kind of the efforts of the log, one of :class:`Efforts`."""


def find_drive(
    robot: mujoco.MjModel,
    log: ImportedLog,
    readings: Sequence[Reading],
    series: JointSeries,
    others: Sequence[Control] = (),
) -> Drive:
    """Controls from the columns of a log.

    Torques make motors, commands with gains make servos with these gains. Commands without gains
    drive the servos of the model; a joint without one gets a servo with an unknown stiffness.

    Args:
      robot: the robot.
      log: the log.
      readings: interpretation of the columns of its joints.
      series: the series of the joints.
      others: controls of actuators that are not on one joint, from :func:`further_controls`.

    Raises:
      RecordingError: efforts are errors of the position, and no commands were recorded.
    """
    joints = log.joints
    assert joints is not None
    moved = {j for m, _ in others for j in joints_moved(robot, m.place.ordinal)}
    own = actuators_by_joint(robot)
    efforts = _columns(joints, readings, "effort") or _columns(joints, readings, "effort", True)
    commands = _columns(joints, readings, "position", True)
    taken = {column for m, _ in others for column in m.columns}
    efforts, commands = (
        {j: c for j, c in columns.items() if c not in taken} for columns in (efforts, commands)
    )
    points: list[str] = []
    kind = judge_efforts(robot, readings, series, efforts, log.recording.units)
    if kind.kind == ERROR and not commands:
        raise RecordingError(" ".join(kind.points))
    points += kind.points
    efforts = {} if kind.kind == ERROR else efforts
    gain = effort_gain(robot, readings, series) if efforts else None
    driven = [r for r in readings if own.get(r.joint)] or list(readings)
    driven = [r for r in driven if r.joint not in moved]
    gains, gain_points = _gains(robot, log, [r for r in driven if r.joint in commands])
    if commands and gains:
        found = _by_commands(robot, joints, readings, commands)
        kinds = _kinds(robot, readings, commands, "position")
        lines = ["# Gains are those of the log.", *kinds, *gains]
        columns = [c.column for c in joints.columns if c.quantity in ("kp", "kd")]
        columns += [n for n in log.recording.metadata if take_apart(n).quantity in ("kp", "kd")]
        return Drive(found, lines, [*points, *gain_points], used=tuple(columns), efforts=kind.kind)
    served = {j for j in commands if any(p.quantity == "position" for p in own.get(j, ()))}
    if efforts and not (commands and served == set(commands)):
        lines = [
            "# Torques were recorded: motors in place of servos.",
            *_kinds(robot, readings, efforts, "torque"),
        ]
        points += _without(robot, driven, efforts, "torque")
        found = _by_efforts(robot, readings, efforts, gain)
        constants = _constants_of(robot, readings, efforts, kind)
        return Drive(found, lines, points, by_torque=True, unknowns=constants, efforts=kind.kind)
    if not commands:
        free = [c for c in log.recording.columns if c not in (*log.used, log.clock.column)]
        if driven:
            points.append(
                f"neither commands nor torques of {_names(robot, driven)} were found: fill in "
                "controls, or leave them out for a robot that swings freely; unused columns are "
                f"{listing(free) or 'none'}"
            )
        return Drive([], [], points, efforts=kind.kind)
    points += _without(robot, driven, commands, "command")
    found = _by_commands(robot, joints, readings, commands)
    if served == set(commands):
        points.append("the gains of the position servos are those of the model: check them")
        return Drive(found, [], points, efforts=kind.kind)
    missing = {j: c for j, c in commands.items() if j not in served}
    stiff = propose_stiffness(robot, readings, series, {j: _actuator(robot, j) for j in missing})
    points.append(
        f"{listing(p.name for p in stiff.values())} is an unknown of the file, as the log has no "
        "gains: if you know kp and kd, write them there and remove the unknown"
    )
    starts = ", ".join(f"{quoted(_actuator(robot, j))}: {p.start:.3g}" for j, p in stiff.items())
    lines = [
        "# The model has no servos for these commands: their stiffness is unknown, and their",
        "# damping is part of the damping of the joint.",
        *_kinds(robot, readings, missing, "position"),
        f"kp: {{{starts}}}",
    ]
    return Drive(found, lines, points, unknowns=tuple(stiff.values()), efforts=kind.kind)


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
        found = [Match(others[0], n, _MATCHED) for n in asked] if len(asked) == 1 else []
    return [(m, "") for m in found]


def _commands_of(robot: mujoco.MjModel, joints: JointLog, actuators: Sequence[Place]) -> list[str]:
    """Commands that were read as those of a joint, which only these actuators move."""
    own = actuators_by_joint(robot)
    moved = {j for place in actuators for j in joints_moved(robot, place.ordinal)} - set(own)
    return [c.column for c in joints.columns if c.commanded and joints.joints.get(c.label) in moved]


def _columns(
    joints: JointLog, readings: Sequence[Reading], quantity: str, commanded: bool = False
) -> dict[int, str]:
    found = {r.joint: joints.column(r.joint, quantity, commanded) for r in readings}
    return {joint: column for joint, column in found.items() if column is not None}


def _actuator(robot: mujoco.MjModel, joint: int) -> str:
    """Name of the actuator of a joint: the first one of the model, or the one that is added."""
    places = actuators_by_joint(robot).get(joint)
    return places[0].name if places else robot.joint(joint).name


def _place(robot: mujoco.MjModel, joint: int, quantity: str, what: str) -> Place:
    name = _actuator(robot, joint)
    return Place(name, joint_label(robot, joint), quantity, joint, joint, what)


def _names(robot: mujoco.MjModel, readings: Sequence[Reading]) -> str:
    return listing(robot.joint(r.joint).name for r in readings)


def _kinds(
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


def _without(
    robot: mujoco.MjModel, driven: Sequence[Reading], columns: Mapping[int, str], what: str
) -> list[str]:
    """Sentence on measured joints that an actuator drives, but whose control is not in the log."""
    left = [r for r in driven if r.joint not in columns]
    if not left:
        return []
    has = bool(actuators_by_joint(robot))
    tail = "their control is zero" if has else "they move without an actuator"
    return [f"no {what} of {_names(robot, left)} was found: {tail}"]


def _by_commands(
    robot: mujoco.MjModel,
    joints: JointLog,
    readings: Sequence[Reading],
    commands: Mapping[int, str],
) -> list[Control]:
    """Commands of position servos, and of velocity actuators on the same joints."""
    own = actuators_by_joint(robot)
    speeds = _columns(joints, readings, "velocity", True)
    out: list[Control] = []
    for r in readings:
        places = own.get(r.joint, [])
        if r.joint in commands:
            servo = next((p for p in places if p.quantity == "position"), None)
            place = servo or _place(robot, r.joint, "position", "position servo")
            column = take_apart(commands[r.joint])
            match = Match(place, column, _MATCHED, scale=r.scale, offset=r.offset, unwrap=r.unwrap)
            unit = r.command_unit or r.unit
            out.append((match, "" if unit in ("rad", "m") else unit))
        speed = next((p for p in places if p.quantity == "velocity"), None)
        if speed is not None and r.joint in speeds:
            unit = r.velocity_unit or "rad/s"
            match = Match(speed, take_apart(speeds[r.joint]), _MATCHED, scale=r.velocity_scale)
            out.append((match, "" if unit in ("rad/s", "m/s") else unit))
    return out


def _by_efforts(
    robot: mujoco.MjModel,
    readings: Sequence[Reading],
    efforts: Mapping[int, str],
    gain: float | None,
) -> list[Control]:
    """Torques of joints as controls of motors."""
    out: list[Control] = []
    for r in readings:
        if r.joint not in efforts:
            continue
        mirrored = -1.0 if r.scale < 0 else 1.0
        what = f"torque of {robot.joint(r.joint).name}"
        place = _place(robot, r.joint, "effort", what)
        gear = _gear(robot, r.joint)
        # a control that needs the gear to fit the weight of the links was recorded before it
        before = gain is not None and abs(np.log(abs(gain / gear))) < abs(np.log(abs(gain)))
        match = Match(
            place,
            take_apart(efforts[r.joint]),
            _MATCHED,
            scale=mirrored if before else mirrored / gear,
            remark="" if gear == 1.0 else f"gear {gear:g} of the motor",
        )
        out.append((match, ""))
    return out


def _constants_of(
    robot: mujoco.MjModel,
    readings: Sequence[Reading],
    efforts: Mapping[int, str],
    kind: Efforts,
) -> tuple[ProposedParameter, ...]:
    """Torque constants as unknowns, where efforts are no torques; their signs are those found."""
    if kind.kind not in (CURRENT, STRANGE):
        return ()
    # a joint whose weight does not tell starts at the usual constant of the others
    usual = float(np.median(np.abs(list(kind.constants.values())))) if kind.constants else 1.0
    unit = "N m/A" if kind.kind == CURRENT else "N m"
    out = []
    for r in readings:
        if r.joint not in efforts:
            continue
        start = abs(kind.constants.get(r.joint, usual))
        known = r.joint in kind.constants
        wide = 3.0 if known else 10.0
        name = _actuator(robot, r.joint)
        out.append(
            ProposedParameter(
                f"{name.replace('/', '_')}_constant",
                f"actuator/{name}/gainprm/0",
                rounded(start),
                rounded(start / wide),
                rounded(start * wide),
                True,
                unit,
            )
        )
    return tuple(out)


def _gear(robot: mujoco.MjModel, joint: int) -> float:
    """Gear of the actuator of a joint that stays when it becomes a motor; 1 for an added one."""
    places = actuators_by_joint(robot).get(joint)
    return float(robot.actuator_gear[places[0].ordinal, 0]) if places else 1.0


def _gains(
    robot: mujoco.MjModel, log: ImportedLog, readings: Sequence[Reading]
) -> tuple[list[str], list[str]]:
    """Gains of the log as settings of the model; empty if it has none."""
    joints = log.joints
    assert joints is not None
    lines, points = [], []
    for kind in ("kp", "kd"):
        values = _constants(log, joints, kind)
        for r in readings:
            column = joints.column(r.joint, kind, True) or joints.column(r.joint, kind)
            if column is None:
                continue
            found = log.recording.column(column)[1]
            found = found[np.isfinite(found)]
            middle = float(np.median(found))
            if np.std(found) > _SAME_GAIN * max(abs(middle), 1e-9):
                points.append(
                    f"{kind} of {robot.joint(r.joint).name} changes in the log, from "
                    f"{found.min():.4g} to {found.max():.4g}: trim to a part with one gain"
                )
            values[r.joint] = middle
        if not {r.joint for r in readings} <= set(values) or not any(values.values()):
            # a law without damping is a law
            return (lines, points) if kind == "kd" else ([], [])
        pairs = ", ".join(
            f"{quoted(_actuator(robot, r.joint))}: {values[r.joint]:.6g}" for r in readings
        )
        lines.append(f"{kind}: {{{pairs}}}")
    return lines, points


def _constants(log: ImportedLog, joints: JointLog, kind: str) -> dict[int, float]:
    """Gains that a file gives once, for all joints or one for each, by joint."""
    labels = list(joints.joints)
    labels = sorted(labels, key=int) if all(label.isdigit() for label in labels) else labels
    for name, value in log.recording.metadata.items():
        numbers = value if isinstance(value, list) else [value] * len(labels)
        if take_apart(name).quantity != kind or len(numbers) != len(labels):
            continue
        known = [float(n) for n in numbers if isinstance(n, int | float)]
        if len(known) == len(labels):
            return {joints.joints[label]: n for label, n in zip(labels, known, strict=True)}
    return {}
