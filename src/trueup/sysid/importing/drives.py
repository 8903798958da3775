"""Drives of the joints of a log: recorded torques, or commands of position servos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco

from trueup.errors import RecordingError, listing
from trueup.sysid.importing.columns.matching import actuators_by_joint, joints_moved
from trueup.sysid.importing.columns.names import take_apart
from trueup.sysid.importing.drive_controls import (
    Control,
    actuator_name,
    by_commands,
    by_efforts,
    columns_of,
    efforts_of_followers,
    kinds_of,
)
from trueup.sysid.importing.drive_gains import gains_of_log, torque_constants
from trueup.sysid.importing.evidence.efforts import ERROR, TORQUE, judge_efforts
from trueup.sysid.importing.evidence.reading import JointSeries, Reading
from trueup.sysid.importing.imported_log import ImportedLog, effort_gain
from trueup.sysid.importing.proposed_parameters import ProposedParameter
from trueup.sysid.importing.servo_stiffness import propose_stiffness
from trueup.sysid.importing.template_text import quoted


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
    followers: tuple[int, ...] = ()
    """Joints with a torque that were not measured, but follow from measured ones."""
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
      others: controls of actuators that are not on one joint, from
        :func:`~trueup.sysid.importing.drive_controls.further_controls`.

    Raises:
      RecordingError: efforts are errors of the position, and no commands were recorded.
    """
    joints = log.joints
    assert joints is not None
    moved = {j for m, _ in others for j in joints_moved(robot, m.place.ordinal)}
    own = actuators_by_joint(robot)
    efforts = columns_of(joints, readings, "effort") or columns_of(joints, readings, "effort", True)
    commands = columns_of(joints, readings, "position", True)
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
    gains, gain_points = gains_of_log(robot, log, [r for r in driven if r.joint in commands])
    if commands and gains:
        found = by_commands(robot, joints, readings, commands)
        kinds = kinds_of(robot, readings, commands, "position")
        lines = ["# Gains are those of the log.", *kinds, *gains]
        columns = [c.column for c in joints.columns if c.quantity in ("kp", "kd")]
        columns += [n for n in log.recording.metadata if take_apart(n).quantity in ("kp", "kd")]
        return Drive(found, lines, [*points, *gain_points], used=tuple(columns), efforts=kind.kind)
    served = {j for j in commands if any(p.quantity == "position" for p in own.get(j, ()))}
    if efforts and not (commands and served == set(commands)):
        lines = [
            "# Torques were recorded: motors in place of servos.",
            *kinds_of(robot, readings, efforts, "torque"),
        ]
        points += _without(robot, driven, efforts, "torque")
        found = by_efforts(robot, readings, efforts, gain)
        constants = torque_constants(robot, readings, efforts, kind)
        return Drive(found, lines, points, by_torque=True, unknowns=constants, efforts=kind.kind)
    behind = efforts_of_followers(robot, log.recording.columns, readings)
    if behind and not commands and not efforts:
        lines = [
            "# Torques were recorded: motors in place of servos.",
            *kinds_of(robot, readings, behind, "torque"),
        ]
        names = listing(robot.joint(j).name for j in behind)
        points.append(
            f"the torque of {names} drives the measured joints: its sign and zero are assumed to "
            "be those of the model, as its joint was not measured"
        )
        return Drive(
            by_efforts(robot, readings, behind, None),
            lines,
            points,
            by_torque=True,
            followers=tuple(behind),
        )
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
    found = by_commands(robot, joints, readings, commands)
    if served == set(commands):
        points.append("the gains of the position servos are those of the model: check them")
        return Drive(found, [], points, efforts=kind.kind)
    missing = {j: c for j, c in commands.items() if j not in served}
    stiff = propose_stiffness(
        robot, readings, series, {j: actuator_name(robot, j) for j in missing}
    )
    points.append(
        f"{listing(p.name for p in stiff.values())} is an unknown of the file, as the log has no "
        "gains: if you know kp and kd, write them there and remove the unknown"
    )
    starts = ", ".join(
        f"{quoted(actuator_name(robot, j))}: {p.start:.3g}" for j, p in stiff.items()
    )
    lines = [
        "# The model has no servos for these commands: their stiffness is unknown, and their",
        "# damping is part of the damping of the joint.",
        *kinds_of(robot, readings, missing, "position"),
        f"kp: {{{starts}}}",
    ]
    return Drive(found, lines, points, unknowns=tuple(stiff.values()), efforts=kind.kind)


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


def _names(robot: mujoco.MjModel, readings: Sequence[Reading]) -> str:
    return listing(robot.joint(r.joint).name for r in readings)
