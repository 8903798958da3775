"""Proposal of an experiment file from the logs of a robot, of any source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup._rich_display import RichDisplay
from trueup.errors import RecordingError, listing
from trueup.signals import Recording
from trueup.signals.clocks.runs import runs_of
from trueup.simulation.loops.closure import closed_loops, names_of
from trueup.simulation.loops.projection import coordinate_loops
from trueup.simulation.models.element_names import generated_names
from trueup.sysid.experiment.model_loading import load_model, load_spec
from trueup.sysid.experiment.settings import ModelPart
from trueup.sysid.importing import proposed_parameters as proposals
from trueup.sysid.importing.columns.joint_families import JointLog, recognise, scalar_joints
from trueup.sysid.importing.columns.matching import (
    Match,
    actuators_by_joint,
    commandable,
    finite,
    match_columns,
    measurable,
)
from trueup.sysid.importing.columns.names import take_apart
from trueup.sysid.importing.columns.units import suggest_units
from trueup.sysid.importing.data_checks import check_commands, torques_beyond
from trueup.sysid.importing.drive_controls import Control, further_controls
from trueup.sysid.importing.drives import find_drive
from trueup.sysid.importing.episodes import expanded
from trueup.sysid.importing.evidence.calibration import Motor
from trueup.sysid.importing.evidence.efforts import TORQUE
from trueup.sysid.importing.evidence.joints import read_joints
from trueup.sysid.importing.evidence.reading import ASK, CONFIRMED, Reading
from trueup.sysid.importing.further_logs import FurtherLog, further_logs, renamed_points
from trueup.sysid.importing.further_unknowns import with_further_unknowns
from trueup.sysid.importing.imported_log import (
    ImportedLog,
    imported_log,
    joint_series,
    stated_units,
)
from trueup.sysid.importing.joints_at_rest import joints_at_rest
from trueup.sysid.importing.proposed_parameters import FurtherUnknowns
from trueup.sysid.importing.roles import roles_of
from trueup.sysid.importing.servo_calibration import calibrated_motors
from trueup.sysid.importing.template import (
    Proposal,
    left_out,
    noise_levels,
    propose_experiment,
    relative_path,
)
from trueup.sysid.importing.template_text import experiment_text, plain_name, quoted
from trueup.sysid.torque.left_out_forces import (
    left_out_dofs,
    left_out_forces,
    left_out_sentence,
    torque_is_known,
)

_MATCHED = 0.9  # score of a column named by a known source


@dataclass(frozen=True)
class Import(RichDisplay):
    """A proposed experiment, and the interpretation of the columns of the joints."""

    displayed_by = "trueup.sysid.importing.display:of_import"

    proposal: Proposal
    source: str
    """Source of the logs; empty if matched by column names only."""
    rows: tuple[tuple[str, ...], ...]
    """One row per joint: joint, column, order, unit, sign, zero, with the certainty of each."""
    unanswered: tuple[str, ...] = ()
    """Questions on signs, whose wrong answer no fit would show."""
    check: dict[str, Any] | None = None
    """Result of the check of the written file; None before it."""


def propose_import(
    model: Path,
    logs: Sequence[Path],
    folder: Path,
    unmatched: bool = False,
    *,
    episodes: Sequence[int] = (),
    rate: float | None = None,
    mirrored: Collection[str] = (),
) -> Import:
    """Propose an experiment from logs of a robot.

    Args:
      model: MJCF or URDF file.
      logs: recordings with the same columns, in any format of :func:`trueup.signals.read`.
      folder: folder of the experiment file, to which its file names are relative.
      unmatched: propose a file to fill in if no column fits the model.
      episodes: indices of the episodes of a LeRobot data set; empty for all.
      rate: sampling rate [Hz] of logs without a clock.
      mirrored: joints that the log counts the other way, ``none`` for no joint; empty if the log
        has to tell.

    Raises:
      ModelError: the model cannot be read or does not compile.
      RecordingError: a log cannot be read, none of its columns fits the model, or logs are
        inconsistent.
    """
    part = ModelPart(file=str(model.resolve()))
    spec, notes = load_model(part, Path("/"))
    compiled = spec.compile()
    fixed = bool((compiled.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any())
    robot = compiled
    if fixed:
        robot = load_spec(part.model_copy(update={"base": "fixed"}), Path("/")).compile()
    logs, numbers = expanded(logs, episodes)
    first = imported_log(logs[0], robot, rate, numbers[0])
    held = [] if first.joints is None else joints_at_rest(robot, first.joints)
    if held:
        base = "fixed" if fixed else part.base
        robot = load_spec(part.model_copy(update={"base": base, "held": held}), Path("/")).compile()
        first = imported_log(logs[0], robot, rate, numbers[0])
    if first.joints is None:
        if first.unnamed and len(scalar_joints(robot)) > 1:
            raise RecordingError(
                f"{logs[0].name} has no column names, and none of its "
                f"{len(first.recording.columns)} "
                "columns look like positions and velocities of the joints (a velocity is the slope "
                f"of its position, in rad/s, deg/s or rpm; {len(scalar_joints(robot))} "
                "contiguous columns of each). Add a header line with the column names, such as "
                f"t,{robot.joint(scalar_joints(robot)[0]).name}_pos,..."
            )
        return Import(propose_experiment(model, logs, folder, unmatched, rate=rate), "", ())
    further = further_logs(logs, first.recording, first.clock, first.used, first.unnamed, numbers)
    _check_joints(logs, [each.recording for each in further], first.joints, robot)
    return _propose(
        model, logs, numbers, folder, robot, first, fixed, held, further, notes, mirrored
    )


def _propose(
    model: Path,
    logs: Sequence[Path],
    episodes: Sequence[int | None],
    folder: Path,
    robot: mujoco.MjModel,
    log: ImportedLog,
    fixed: bool,
    held: Sequence[str],
    later: Sequence[FurtherLog],
    notes: Sequence[str],
    mirrored: Collection[str],
) -> Import:
    joints = log.joints
    assert joints is not None
    further = [each.recording for each in later]
    series = joint_series(log, robot)
    columns = {j: joints.column(j, "position") or "" for j in series.joints}
    robot_type = str(log.recording.metadata.get("robot_type") or "")
    motors = calibrated_motors(logs, joints, robot_type)
    readings = read_joints(
        robot,
        series,
        columns,
        joints.by_order,
        joints.source,
        stated_units(log, robot),
        robot_type,
        mirrored,
        motors,
    )
    points = [*([log.clock.note] if log.clock.note else []), *joints.notes, *log.notes, *notes]
    points += _calibrations(readings, motors)
    points += renamed_points(logs, log.clock, later)
    points += _several_runs(logs, log, further)
    if chosen := [str(n) for n in episodes if n is not None]:
        many = (
            f"{len(chosen)} episodes, {chosen[0]} to {chosen[-1]},"
            if len(chosen) > 1
            else (f"episode {chosen[0]}")
        )
        points.append(f"{many} of the data set: one recording each (--episode chooses others)")
    points += generated_names(robot)
    points += _questions(robot, readings)
    if joints.by_order and any(r.sure_of("order") != CONFIRMED for r in readings):
        points.append(
            f"joints were assigned by the order of the model: {_listed(robot, readings)}. Check "
            "that the log has the same order, or rename the columns"
        )
    points += _without_data(robot, readings)
    taken = [*log.used, log.clock.column]
    others = further_controls(robot, log.recording, joints, taken)
    drive = find_drive(robot, log, readings, series, others)
    points += drive.points
    signals, controls = _signals(robot, log, readings), [*drive.controls, *others]
    taken += [c for m, _ in (*signals, *controls) for c in m.columns]
    signals += _further_signals(robot, log, taken, signals)
    model_lines = drive.model_lines
    if fixed:
        hangs = "# The base of the robot is fixed: its free joint is removed."
        model_lines = [hangs, "base: fixed", *model_lines]
        points.append("the free joint is removed (base: fixed), for a suspended or clamped robot")
    if held:
        listed = ", ".join(quoted(name) for name in held)
        why = "# Neither recorded nor commanded in the log: held at the position of the model."
        model_lines = [why, f"held: [{listed}]", *model_lines]
        points.append(
            f"{listing(held)} {'has' if len(held) == 1 else 'have'} no column in the log, and "
            f"{'is' if len(held) == 1 else 'are'} held at the position of the model"
            + _free_columns(held[0], log.recording, [*taken, *drive.used])
        )
    check_commands(robot, series, columns, joints)
    if series.effort is not None:
        points += _unknown_torques(robot, readings)
        if drive.efforts == TORQUE:
            points += torques_beyond(robot, series, joints)
    by_torque = drive.by_torque and _explains_torques(robot, readings)
    moved = [r.joint for r in readings]
    if drive.followers:
        # a measured joint without a drive is passive, as those of a loop that follow
        moved = [*drive.followers, *(j for j in moved if actuators_by_joint(robot).get(j))]
    largest = {}
    if series.effort is not None:
        largest = {
            j: float(np.max(np.abs(series.effort[:, k]))) for k, j in enumerate(series.joints)
        }
    unknowns = proposals.propose_parameters(robot, moved, largest)
    positions = {j: series.position[:, k] for k, j in enumerate(series.joints)}
    unknowns = proposals.with_coupled(robot, unknowns, moved, positions)
    unknowns = [*unknowns, *drive.unknowns]
    units = {m.place.name: (u, "") for m, u in [*signals, *controls] if u}
    signal_matches, control_matches = [m for m, _ in signals], [m for m, _ in controls]
    used = {c for m in (*signal_matches, *control_matches) for c in m.columns} | {*drive.used}
    places = {m.place.name for m in (*signal_matches, *control_matches)}
    described = partial(
        experiment_text,
        name=plain_name(logs[0].stem),
        model_file=relative_path(model, folder),
        recording_file=relative_path(logs[0], folder),
        clock=log.clock,
        signals=signal_matches,
        controls=control_matches,
        units=units,
        unmatched_signals=[p for p in measurable(robot) if p.name not in places],
        unmatched_controls=[p for p in commandable(robot) if p.name not in places],
        free_columns=[c for c in log.recording.columns if c not in used and c != log.clock.column],
        noise=noise_levels(log.recording, signal_matches),
        model=robot,
        header=False if log.unnamed else None,
        further=[relative_path(path, folder) for path in logs[1:]],
        runs=[len(runs_of(each)) for each in (log.whole or log.recording, *further)],
        search_lines=_search_lines(by_torque),
        episodes=episodes,
        later=later,
    )

    def proposal(extra: FurtherUnknowns) -> Proposal:
        known = [*unknowns, *extra.parameters]
        lines = [*model_lines, *extra.model_lines]
        return Proposal(
            described(parameters=known, model_lines=lines, biases=extra.biases),
            signal_matches,
            control_matches,
            [p.name for p in known],
            [*points, *extra.notes],
            left_out([log.recording, *further], used, log.clock),
            roles_of(robot, joints, moved, log.recording.columns, {*used, log.clock.column}),
        )

    whole = all(number is None for number in episodes)
    opened = {logs[0].resolve(): log.recording} if whole else {}
    found = with_further_unknowns(proposal, folder, opened)
    open_signs = (
        why for r in readings for what, sure, why in r.says if (what, sure) == ("sign", ASK)
    )
    unanswered = tuple(dict.fromkeys(open_signs))
    return Import(found, joints.source, _rows(robot, readings), unanswered)


def _calibrations(readings: Sequence[Reading], motors: Mapping[int, Motor]) -> list[str]:
    """Sentence on the calibration files whose units and zeros are used."""
    used = {
        motors[r.joint].file
        for r in readings
        if r.joint in motors and any(motors[r.joint].said in why for _, _, why in r.says)
    }
    if not used:
        return []
    return [
        f"the calibration {listing(sorted(used))} was found at the log: units and zeros are by it. "
        "Check that it is that of the robot and of the time of the log"
    ]


def _free_columns(joint: str, recording: Recording, used: Collection[str]) -> str:
    """End of a sentence on a joint without a column: the columns that move and are not used."""
    free = [c for c in recording.columns if c not in used and np.ptp(finite(recording, c)) > 0]
    if not free:
        return ""
    return (
        f". If its position is one of {listing(free)}, which are not used, name that column "
        f"{joint}_pos in the log"
    )


def _several_runs(
    logs: Sequence[Path], log: ImportedLog, further: Sequence[Recording]
) -> list[str]:
    """Sentences on files of several runs, each of which is a recording."""
    counts = [len(runs_of(each)) for each in (log.whole or log.recording, *further)]
    return [
        f"the clock of {path.name} starts again or pauses for long: its {count} runs are {count} "
        "recordings (run). If it is a counter, give its period as rollover instead"
        for path, count in zip(logs, counts, strict=True)
        if count > 1
    ]


def _check_joints(
    logs: Sequence[Path], further: Sequence[Recording], first: JointLog, robot: mujoco.MjModel
) -> None:
    """Raise RecordingError if a column of a further log is of another joint."""
    for path, recording in zip(logs[1:], further, strict=True):
        found = recognise(recording, robot)
        if found is None or first.by_order:
            continue
        labels = {c.column: c.label for c in found.columns}
        for column in first.columns:
            joint = first.joints.get(column.label, -1)
            other = found.joints.get(labels.get(column.column, column.label), -1)
            if joint != other:
                names = [robot.joint(j).name if j >= 0 else "no joint" for j in (joint, other)]
                raise RecordingError(
                    f"the column {column.column!r} is {names[0]} in {logs[0].name} and {names[1]} "
                    f"in {path.name}: import logs with another order of joints separately"
                )


def _signals(
    robot: mujoco.MjModel, log: ImportedLog, readings: Sequence[Reading]
) -> list[tuple[Match, str]]:
    """Measured positions and velocities with their units."""
    out = []
    joints = log.joints
    assert joints is not None
    places = {(p.joint, p.quantity): p for p in measurable(robot) if p.components == 1}
    for quantity in ("position", "velocity"):
        for r in readings:
            column = joints.column(r.joint, quantity)
            place = places.get((r.joint, quantity))
            if column is None or place is None:
                continue
            plain = quantity == "velocity"
            asked = plain and r.sure_of("velocity") == ASK
            if asked and not r.velocity_unit:
                continue
            unit = (r.velocity_unit or "rad/s") if plain else r.unit
            match = Match(
                place,
                take_apart(column),
                _MATCHED,
                scale=r.velocity_scale if plain else r.scale,
                offset=0.0 if plain else r.offset,
                unwrap=False if plain else r.unwrap,
                sign_bit=r.velocity_sign_bit if plain else 0,
                remark=f"scale {ASK}" if asked else "" if plain else _remark(r),
            )
            out.append((match, "" if unit in ("rad", "rad/s", "m", "m/s") else unit))
    return out


def _further_signals(
    robot: mujoco.MjModel, log: ImportedLog, without: Sequence[str], first: Sequence[Control]
) -> list[Control]:
    """Sensors of the model other than those of joints: of a site, a tendon, an actuator."""
    taken = {m.place.name for m, _ in first}
    joints = {(m.place.joint, m.place.quantity) for m, _ in first}
    matches, _ = match_columns(log.recording, robot, without)
    matches = [
        m
        for m in matches
        if m.sure
        and m.place.name not in taken
        and (m.place.joint < 0 or (m.place.joint, m.place.quantity) not in joints)
    ]
    units = suggest_units(matches, log.recording, robot)
    return [(m, units.get(m.place.name, ("", ""))[0]) for m in matches]


def _without_data(robot: mujoco.MjModel, readings: Sequence[Reading]) -> list[str]:
    """Sentences on the joints of the model that the log does not have."""
    measured = [int(robot.jnt_dofadr[r.joint]) for r in readings]
    loops = closed_loops(robot, measured)[0]
    left = [j for j in scalar_joints(robot) if int(robot.jnt_dofadr[j]) not in measured]
    followed = {dof for loop in loops if loop.known for dof in loop.unknown}
    out = []
    for loop in loops:
        if loop.known:
            out.append(
                f"{listing(names_of(robot, loop.unknown))} is not in the log: it follows "
                f"{listing(names_of(robot, loop.known))}, as the model couples them"
            )
    if still := [j for j in left if int(robot.jnt_dofadr[j]) not in followed]:
        out.append(
            f"no column was found for {listing(robot.joint(j).name for j in still)}: it begins at "
            "rest in the pose of the model, and nothing about it is identified"
        )
    return out


def _unknown_torques(robot: mujoco.MjModel, readings: Sequence[Reading]) -> list[str]:
    """Sentence on forces that prevent a comparison of torques with links."""
    known = [torque_is_known(robot, r.joint) for r in readings]
    said = left_out_sentence(robot)
    names = listing(
        robot.joint(r.joint).name for r, k in zip(readings, known, strict=True) if not k
    )
    unsure = f"the zero, sign and gain of {names} were not tested with torques; check them"
    if all(known):
        return []
    if said:
        return [f"{said}: {unsure}. The simulation includes these forces"]
    loops = " and ".join(force.what for force in left_out_forces(robot) if force.solvable)
    return [f"the weight of links acts on several joints by {loops}: {unsure}"]


def _explains_torques(robot: mujoco.MjModel, readings: Sequence[Reading]) -> bool:
    """Whether inverse dynamics is possible: the motion and some torque are known."""
    measured = {int(robot.jnt_dofadr[r.joint]) for r in readings}
    coupled = {dof for f in left_out_forces(robot) if f.couples for dof in f.dofs}
    followed = {dof for loop in closed_loops(robot, measured)[0] for dof in loop.unknown}
    moving = set(range(robot.nv)) - coupled - followed
    loops = coordinate_loops(robot, lambda dof: int(dof not in measured))
    held = {dof for loop in loops for dof in loop.unknown}
    return moving <= measured and bool(measured - left_out_dofs(robot) - held)


def _search_lines(by_torque: bool) -> list[str]:
    if not by_torque:
        return []
    return [
        "# Fit of torques by inverse dynamics; mujoco simulates, and starts from its result.",
        "method: inverse-dynamics",
    ]


def _questions(robot: mujoco.MjModel, readings: Sequence[Reading]) -> list[str]:
    """One sentence for each ambiguous aspect."""
    return [
        f"{robot.joint(r.joint).name}, {aspect}: {why}"
        for r in readings
        for aspect, sure, why in r.says
        if sure == ASK
    ]


def _remark(reading: Reading) -> str:
    parts = [f"{aspect} {sure}" for aspect, sure, _ in reading.says if aspect != "velocity"]
    return ", ".join(parts)


def _rows(robot: mujoco.MjModel, readings: Sequence[Reading]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for r in readings:
        said = {aspect: (sure, why) for aspect, sure, why in r.says}
        cells = [
            f"{said[aspect][0]}: {said[aspect][1]}" if aspect in said else ""
            for aspect in ("order", "unit", "sign", "zero", "velocity")
        ]
        rows.append((robot.joint(r.joint).name, r.position, *cells))
    return tuple(rows)


def _listed(robot: mujoco.MjModel, readings: Sequence[Reading]) -> str:
    pairs = [f"{r.position} is {robot.joint(r.joint).name}" for r in readings]
    return ", ".join(pairs[:6]) + (f" and {len(pairs) - 6} more" if len(pairs) > 6 else "")
