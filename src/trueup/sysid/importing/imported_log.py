"""Log for an import: its clock, its joints, and their series on one clock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import ColumnError, RecordingError, listing
from trueup.signals import Recording, read, suspect_units
from trueup.signals.checks.clock import FEWEST_SAMPLES
from trueup.signals.checks.spikes import spike_rows
from trueup.signals.clocks.runs import runs_of
from trueup.sysid.importing.clock import (
    Clock,
    check_steps,
    counts_rows,
    find_clock,
    without_clock,
)
from trueup.sysid.importing.columns.families import families
from trueup.sysid.importing.columns.joint_families import (
    JointColumn,
    JointLog,
    is_driven,
    recognise,
    scalar_joints,
)
from trueup.sysid.importing.columns.matching import finite, match_columns
from trueup.sysid.importing.columns.names import likeness, take_apart
from trueup.sysid.importing.columns.roles import BY_NAMES, completed, joint_log
from trueup.sysid.importing.columns.unnamed import is_unnamed, read_unnamed, time_column
from trueup.sysid.importing.evidence.reading import JointSeries, Reading, values_of
from trueup.sysid.recordings.coupled_joints import coupled_joints
from trueup.sysid.torque.left_out_forces import torque_is_known
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

_EVIDENCE = 1e30
"""Largest value that is evidence of the meaning of a column, in any unit."""


@dataclass(frozen=True)
class ImportedLog:
    """A log and the meaning of its columns."""

    recording: Recording
    clock: Clock
    joints: JointLog | None
    """Columns of the joints; None if none were found."""
    unnamed: bool = False
    """Whether the file has no column names."""
    notes: tuple[str, ...] = ()
    whole: Recording | None = None
    """The file as it was read; ``recording`` is its first run without spikes."""

    @property
    def used(self) -> list[str]:
        """Columns of the joints."""
        return [] if self.joints is None else [c.column for c in self.joints.columns]


def imported_log(
    path: Path, model: mujoco.MjModel, rate: float | None = None, episode: int | None = None
) -> ImportedLog:
    """Read a log and find the columns of the joints.

    Args:
      path: the log.
      model: the robot.
      rate: sampling rate [Hz], for a log without a clock.
      episode: episode of a data set.

    Raises:
      RecordingError: the log cannot be read, or has no clock.
    """
    raw = None if episode is not None else _unnamed(path)
    if raw is not None:
        return _of_values(path, raw, model, rate)
    clock, whole = find_clock(path, rate, episode)
    _check_clock(path, whole)
    # foreign samples are no evidence of anything
    recording = _without_spikes(_within_limits(runs_of(whole)[0]))
    joints = recognise(recording, model)
    scalar = scalar_joints(model)
    driven = [j for j in scalar if is_driven(model, j)]
    names = [name for name in recording.columns if name != clock.column]
    found = families(names, model, scalar, driven)
    if joints is None:
        labels = {j: model.joint(j).name for j in scalar}
        named = _by_names(recording, model, clock.column)
        structured = joint_log(recording, found, labels)
        joints = max((structured, named), key=_found)
    if joints is not None:
        joints = _with_values(completed(joints, recording, found), recording)
    return ImportedLog(recording, clock, joints, notes=_repeated(recording), whole=whole)


def _found(joints: JointLog | None) -> tuple[int, int]:
    """Number of joints with a position, and of all columns of joints."""
    columns = () if joints is None else joints.columns
    positions = sum(c.quantity == "position" for c in columns if not c.commanded)
    return positions, len(columns)


def _check_clock(path: Path, recording: Recording) -> None:
    """Check that there are samples enough, at times that a clock may have.

    Raises:
      RecordingError: there are fewer than any check of a recording needs, or their times are not
        those of a clock.
    """
    count = max(len(stream.times) for stream in recording.streams)
    if count < FEWEST_SAMPLES:
        raise RecordingError(
            f"{path.name} has {count} {'sample' if count == 1 else 'samples'}; an import needs at "
            f"least {FEWEST_SAMPLES}. Give a recording of the moving robot"
        )
    check_steps(path, recording)


def _within_limits(recording: Recording) -> Recording:
    """A recording whose values are limited to `_EVIDENCE`, as evidence of its columns.

    Larger ones are of no sensor, and their squares overflow. Where such a column is used, reading
    it refuses the values themselves.
    """
    streams = [
        replace(
            stream,
            columns={n: np.clip(v, -_EVIDENCE, _EVIDENCE) for n, v in stream.columns.items()},
        )
        for stream in recording.streams
    ]
    return replace(recording, streams=tuple(streams))


def _without_spikes(recording: Recording) -> Recording:
    """A recording whose single foreign samples are interpolated, as evidence of its columns."""
    streams = []
    for stream in recording.streams:
        columns = dict(stream.columns)
        for name, values in stream.columns.items():
            rows = spike_rows(values) if np.isfinite(values).all() else np.zeros(0, bool)
            if rows.any():
                columns[name] = np.interp(
                    np.arange(values.size), np.flatnonzero(~rows), values[~rows]
                )
        streams.append(replace(stream, columns=columns))
    return replace(recording, streams=tuple(streams))


def _with_values(joints: JointLog, recording: Recording) -> JointLog:
    """The columns that have values: a driver without torque sensors sends NaN as efforts."""
    kept = [c for c in joints.columns if np.isfinite(recording.column(c.column)[1]).any()]
    return replace(joints, columns=tuple(kept))


def _repeated(recording: Recording) -> tuple[str, ...]:
    """Sentence on columns whose names the header repeats."""
    repeated = recording.metadata.get("repeated")
    if not isinstance(repeated, dict) or not repeated:
        return ()
    return (
        f"the header repeats {listing(sorted(set(repeated.values())))}: the columns are "
        f"distinguished by their place, as {listing(repeated)}. The first of each name is used",
    )


def _unnamed(path: Path) -> Recording | None:
    """A file without names, read at 1 Hz; None for any other."""
    try:
        recording = read(path)
    except ColumnError:
        recording = read(path, rate=1.0)
    return recording if is_unnamed(recording) and len(recording.streams) == 1 else None


def _of_values(
    path: Path, raw: Recording, model: mujoco.MjModel, rate: float | None
) -> ImportedLog:
    names = list(raw.columns)
    table = np.column_stack([raw.column(name)[1] for name in names])
    place = time_column(table)
    if rate is not None:
        clock = Clock(rate=rate)
        recording = read(path, rate=rate, header=False)
    elif place < 0:
        raise RecordingError(without_clock(path, raw))
    elif counts_rows(table[:, place]):
        raise RecordingError(without_clock(path, raw, f"column {names[place]} counts rows"))
    else:
        values = table[:, place]
        unit = "s"
        for word in ("ms", "us", "ns"):
            if f" {word}" in (suspect_units(names[place], values, "time") or ""):
                unit = word
        clock = Clock(names[place], unit)
        recording = read(path, time=names[place], time_unit=unit, header=False)
    _check_clock(path, recording)
    recording = _within_limits(recording)
    found = read_unnamed(recording, model, clock.column)
    joints, notes = found.joints, []
    if joints is None:
        notes.append("no columns look like positions and velocities of the joints: fill in signals")
        return ImportedLog(recording, clock, None, True, tuple(notes))
    if found.efforts:
        chosen, note = _chosen_effort(recording, model, joints, found.efforts)
        columns = [*joints.columns]
        columns += [JointColumn(c, "effort", False, str(k)) for k, c in enumerate(chosen)]
        joints = JointLog(joints.source, tuple(columns), joints.joints, True, joints.notes)
        notes.append(note)
    return ImportedLog(recording, clock, joints, True, tuple(notes))


def _chosen_effort(
    recording: Recording,
    model: mujoco.MjModel,
    joints: JointLog,
    blocks: Sequence[tuple[str, ...]],
) -> tuple[tuple[str, ...], str]:
    """The block closest to torques in N m, and a note on all of them."""
    gains = []
    for block in blocks:
        columns = [JointColumn(c, "effort", False, str(k)) for k, c in enumerate(block)]
        log = JointLog(joints.source, (*joints.columns, *columns), joints.joints, True)
        series = joint_series(ImportedLog(recording, Clock(), log), model)
        readings = [Reading(j, joints.column(j, "position") or "") for j in series.joints]
        gains.append(effort_gain(model, readings, series) or 0.0)
    far = [abs(np.log(max(abs(g), 1e-6))) for g in gains]
    best = int(np.argmin(far))
    said = "; ".join(
        f"columns {b[0]} to {b[-1]}: {f'{1 / g:.3g} for each N m' if abs(g) > 1e-6 else 'unclear'}"
        for b, g in zip(blocks, gains, strict=True)
    )
    chosen = blocks[best]
    return chosen, (
        f"columns {chosen[0]} to {chosen[-1]} are assumed to be torques in N m, from inverse "
        f"dynamics of the model ({said}): check that they are measured, and on the joint side"
    )


def _by_names(recording: Recording, model: mujoco.MjModel, time: str) -> JointLog | None:
    """Joints of a table with named columns."""
    signals, controls = match_columns(recording, model, [time])
    columns, joints, notes = [], {}, ()
    for match in signals:
        place = match.place
        if place.joint >= 0 and place.quantity in ("position", "velocity") and match.sure:
            label = model.joint(place.joint).name
            joints[label] = place.joint
            columns.append(JointColumn(match.column.column, place.quantity, False, label))
    if not joints:
        columns, joints = _only_joint(recording, model, [time])
        notes = tuple(
            f"{c.column} is read as {c.label!r}, as the log has one position and the model one "
            "independent joint"
            for c in columns
        )
    taken = {c.column for c in columns}
    for match in controls:
        place = match.place
        label = model.joint(place.joint).name if place.joint >= 0 else ""
        if label in joints and match.sure and place.quantity in ("position", "velocity", "effort"):
            commanded = place.quantity != "effort"
            columns.append(JointColumn(match.column.column, place.quantity, commanded, label))
            taken.add(match.column.column)
    for quantity, commanded in _FURTHER:
        found = _named(recording, model, joints, columns, quantity, commanded)
        columns += found
    if not any(c.quantity == "position" and not c.commanded for c in columns):
        return None
    return JointLog(BY_NAMES, tuple(columns), joints, False, notes)


_FURTHER = (
    ("effort", False),
    ("position", True),
    ("velocity", True),
    ("effort", True),
    ("kp", False),
    ("kd", False),
)
"""Quantities that joints have without an actuator of the model, and whether they are commanded."""


def _named(
    recording: Recording,
    model: mujoco.MjModel,
    joints: dict[str, int],
    columns: list[JointColumn],
    quantity: str,
    commanded: bool,
) -> list[JointColumn]:
    """Columns of a quantity of joints that do not have it yet, by name or by number."""
    used = {c.column for c in columns}
    names = [take_apart(c) for c in recording.columns if c not in used]
    if commanded:
        # a command without a quantity is one of the position if it is near it
        names = [n for n in names if n.commanded and n.quantity in (quantity, "command")]
    else:
        names = [n for n in names if n.quantity == quantity and not n.commanded]
    # zeros in place of a quantity that was not recorded; gains are constant
    if quantity not in ("kp", "kd") and not any(np.ptp(finite(recording, n.column)) for n in names):
        return []
    order = {j: k for k, j in enumerate(scalar_joints(model))}
    numbers = [n.number for n in names if n.number is not None and not n.words]
    lowest = min([*numbers, 1])
    has = {c.label for c in columns if (c.quantity, c.commanded) == (quantity, commanded)}
    measured = {c.label: c.column for c in columns if c.quantity == "position" and not c.commanded}
    out = []
    for label, joint in joints.items():
        if label in has:
            continue
        scored = []
        for n in names:
            by_number = not n.words and n.number is not None and n.number - lowest == order[joint]
            alone = len(names) == len(joints) == 1 and not n.words and n.number is None
            score = max(likeness(n, label), 0.8 if by_number or alone else 0.0)
            vague = n.quantity == "command" and label in measured
            if vague and quantity != _commanded_quantity(recording, n.column, measured[label]):
                continue
            scored.append((score, n.column))
        score, column = max(scored, default=(0.0, ""))
        if score > 0.6 and column not in used:
            used.add(column)
            out.append(JointColumn(column, quantity, commanded, label))
    return out


def _commanded_quantity(recording: Recording, command: str, position: str) -> str:
    """Quantity of a command by its values: position near the measured one, else effort."""
    times, moved = recording.column(position)
    asked = _on(times, *recording.column(command))
    known = np.isfinite(moved)
    error = float(np.std((asked - moved)[known]))
    return "position" if error < 0.7 * float(np.std(asked[known])) else "effort"


def _only_joint(
    recording: Recording, model: mujoco.MjModel, without: Sequence[str]
) -> tuple[list[JointColumn], dict[str, int]]:
    """The one position of a log for the one independent joint of a model, whatever its name."""
    scalar = scalar_joints(model)
    if len(scalar) != model.njnt:
        return [], {}
    free = [j for j in scalar if _leads_all(model, j, scalar)]
    named = [take_apart(c) for c in recording.columns if c not in without]
    places = [n for n in named if n.quantity == "position" and not n.commanded]
    if not free or len(places) != 1:
        return [], {}
    label = model.joint(free[0]).name
    return [JointColumn(places[0].column, "position", False, label)], {label: free[0]}


def _leads_all(model: mujoco.MjModel, joint: int, scalar: list[int]) -> bool:
    """Whether the position of a joint determines those of all others."""
    led = coupled_joints(model, [int(model.jnt_qposadr[joint])])
    return {joint, *(c.joint for c in led)} == set(scalar)


def joint_series(log: ImportedLog, model: mujoco.MjModel) -> JointSeries:
    """Series of all joints with a position, on the clock of the first position."""
    joints = log.joints
    assert joints is not None
    chosen = tuple(j for j in scalar_joints(model) if joints.column(j, "position") is not None)
    times = log.recording.column(str(joints.column(chosen[0], "position")))[0]

    def table(quantity: str, commanded: bool = False) -> np.ndarray | None:
        columns = [joints.column(j, quantity, commanded) for j in chosen]
        if not all(columns):
            return None
        series = [log.recording.column(str(c)) for c in columns]
        return np.column_stack([_on(times, clock, values) for clock, values in series])

    position = table("position")
    assert position is not None
    return JointSeries(
        times,
        chosen,
        position,
        table("velocity"),
        table("position", True),
        table("effort"),
    )


def _on(times: np.ndarray, clock: np.ndarray, values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    return np.interp(times, clock[known], values[known]) if known.any() else np.zeros(len(times))


def stated_units(log: ImportedLog, model: mujoco.MjModel) -> dict[int, str]:
    """Unit of the position by joint, where the file or the name of its column states it."""
    joints, out = log.joints, {}
    assert joints is not None
    for j in scalar_joints(model):
        column = joints.column(j, "position")
        if column is None:
            continue
        unit = log.recording.units.get(column) or take_apart(column).unit
        if unit:
            out[j] = unit
    return out


def effort_gain(
    model: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries
) -> float | None:
    """Ratio of the torque of inverse dynamics to the recorded effort; None if unclear.

    The median over joints that carry weight: 1 for torques in N m, a motor constant times a gear
    for currents.
    """
    if series.effort is None or model.nv != model.njnt:
        return None
    every = max(1, len(series.times) // 400)
    qpos = np.tile(model.qpos0, (len(series.times[::every]), 1))
    for k, r in enumerate(readings):
        qpos[:, model.jnt_qposadr[r.joint]] = values_of(r, series.position[::every, k])
    still = np.zeros((len(qpos), model.nv))
    weight = link_regressor(model, qpos, still, still) @ parameters_of(model)
    gains, sizes = [], []
    for k, r in enumerate(readings):
        if not torque_is_known(model, r.joint):
            continue
        load = weight[:, int(model.jnt_dofadr[r.joint])]
        effort = series.effort[::every, k]
        load, effort = load - load.mean(), effort - effort.mean()
        if np.std(load) > 0 and np.std(effort) > 0 and np.corrcoef(load, effort)[0, 1] ** 2 > 0.25:
            gains.append(float(load @ load) / float(effort @ load))
            sizes.append(float(np.std(load)))
    if not gains:
        return None
    return gains[int(np.argmax(sizes))]
