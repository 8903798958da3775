"""Raw recordings of a joint, with columns named after features, in their units."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import ColumnError, ExperimentError, RecordingError, UnitError, listing
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    COMMANDED_TORQUE,
    FEATURES,
    INERTIA,
    TARGET_ANGLE,
    TARGET_VELOCITY,
    TEMPERATURE,
    VELOCITY,
)
from trueup.networks.data.joint_columns import JOINT, columns_of_joints
from trueup.networks.data.settings import (
    ACCELERATION,
    COMPUTED_TARGET,
    TORQUE,
    DataSettings,
    InertiaGroup,
)
from trueup.signals import Recording, find_unit, read, repaired, select
from trueup.signals.clocks.common import on_one_clock
from trueup.signals.quality import check_clocks

COMMANDS = (TARGET_ANGLE, TARGET_VELOCITY, COMMANDED_TORQUE)
"""Commanded features: held between samples, never filtered."""

_KELVIN = 273.15
_EXTRA_UNITS = {ACCELERATION: "m/s2"}


@dataclass(frozen=True)
class RecordingFile:
    """A file and its group."""

    path: Path
    group: str
    inertia: float | None


def name_of_joint(recording: Recording) -> str:
    """Name of the joint of a recording; empty where its file has one joint."""
    return str(recording.metadata.get("joint") or "")


def load_group(recording: Recording) -> str:
    """Group of a recording."""
    return str(recording.metadata["group"])


def recording_files(settings: DataSettings) -> list[RecordingFile]:
    """The files of the settings, ordered by group.

    Raises:
        RecordingError: a folder does not exist, or contains no recording.
        ExperimentError: the pattern of files is invalid, or that of groups is not a regular
            expression or matches no name.
    """
    base = Path(settings.data_base_dir)
    if not base.exists():
        raise RecordingError(
            f"no such folder {base}: set data_base_dir to the folder of the recordings"
        )
    groups = settings.groups
    if not groups:
        paths = [base] if base.is_file() else _matching(base, settings.pattern)
        return [RecordingFile(path, _group_of_file(path, settings), None) for path in paths]
    missing = [group.folder for group in groups if not (base / group.folder).is_dir()]
    if missing:
        present = sorted(item.name for item in base.iterdir() if item.is_dir())
        raise RecordingError(
            f"{base} has no folder {listing(missing)} for an inertia group; its folders: "
            f"{listing(present)}. Set data.inertia_groups to the recorded groups"
        )
    return [
        RecordingFile(path, group.id, _inertia(group))
        for group in groups
        for path in _matching(base / group.folder, settings.pattern)
    ]


def read_recordings(file: RecordingFile, settings: DataSettings) -> list[Recording]:
    """Read the signals of the settings: on one clock, with columns named after features.

    A file with columns of several joints has a recording for each, whose group is the joint. They
    include ``torque``, ``reference_torque`` and ``acceleration`` where they are mapped. A file
    with several clocks is read on the fastest: commands are held, measurements interpolated.

    Raises:
        RecordingError: the file cannot be read, or its clocks hardly overlap.
        ColumnError: a column does not exist, or no torque is mapped.
        UnitError: a unit is unknown or does not fit its quantity.
    """
    try:
        recording = read(file.path, time=settings.time)
    except ColumnError:
        if settings.fallback_sampling_frequency is None or settings.time is not None:
            raise
        recording = read(file.path, rate=settings.fallback_sampling_frequency)
    available = [name for stream in recording.streams for name in stream.columns]
    joints = columns_of_joints(
        _mappings(settings), available, settings.joints, Path(file.path).name
    )
    return [_of_joint(file, settings, recording, *each) for each in joints.items()]


def _of_joint(
    file: RecordingFile,
    settings: DataSettings,
    recording: Recording,
    joint: str | None,
    mappings: Mapping[str, Any],
) -> Recording:
    """The signals of one joint of a file; None: of its only one."""
    selected = select(recording, mappings)
    if len(selected.streams) > 1:
        selected = on_one_clock(_with_usable_clocks(selected, settings.repair), COMMANDS)
    units = selected.units
    signals = {
        name: _in_unit_of_feature(file.path, name, values, units.get(name))
        for name, values in selected.stream.columns.items()
    }
    if file.inertia is not None:
        signals[INERTIA] = np.full(len(selected.stream.times), file.inertia)
    group = file.group if joint is None else _group_of_joint(file, joint, settings)
    metadata = {**selected.metadata, "group": group, "joint": joint}
    grouped = replace(selected, metadata=metadata)
    return grouped.with_columns(signals)


def _with_usable_clocks(recording: Recording, repair: bool) -> Recording:
    """A recording whose clocks increase: repaired, or refused."""
    if repair:
        recording = repaired(recording, COMMANDS)
    try:
        check_clocks(recording)
    except RecordingError as error:
        if all((np.diff(stream.times) > 0).all() for stream in recording.streams):
            raise
        raise RecordingError(
            f"{error} Or set data.repair=true, which sorts the rows and removes repeated times"
        ) from error
    return recording


def _mappings(settings: DataSettings) -> dict[str, Any]:
    columns = {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in settings.columns.items()
    }
    if not columns:
        columns = {
            ANGLE: {"column": "Encoder_Angle", "unit": "deg"},
            TARGET_ANGLE: {"column": "Commanded_Angle", "unit": "deg"},
            VELOCITY: {"column": settings.gyro_axis_for_ang_vel, "unit": "deg/s"},
        }
        if settings.target_name == COMPUTED_TARGET:
            columns[ACCELERATION] = {"column": settings.accel_axis_for_torque, "unit": "m/s2"}
    if settings.target_name != COMPUTED_TARGET:
        if TORQUE in columns:
            raise ExperimentError(
                f"both target_name ({settings.target_name!r}) and columns.torque name the torque: "
                "remove one of them"
            )
        columns[TORQUE] = {"column": settings.target_name, "unit": "N m"}
    if TORQUE not in columns and ACCELERATION not in columns:
        raise ColumnError(
            "the torque has no column: map that of a measured torque as columns.torque, or that "
            "of the tangential acceleration as columns.acceleration"
        )
    needed = {
        name for name in settings.features if name != INERTIA and name not in columns
    } - _derived(columns)
    if needed:
        raise ColumnError(
            f"the feature {listing(sorted(needed))} has no column; data.columns maps "
            f"{listing(columns)}"
        )
    return columns


def _derived(columns: Mapping[str, Any]) -> set[str]:
    """Features that can be derived from the mapped columns."""
    if ANGLE not in columns:
        return set()
    pair = {TARGET_ANGLE, ANGLE_ERROR}
    return pair if pair & set(columns) else set()


def _in_unit_of_feature(path: Path, name: str, values: np.ndarray, unit: str | None) -> np.ndarray:
    """Values converted to the unit of the feature; they are in SI where the unit is known."""
    if unit is None:
        return values
    wanted = FEATURES[name].unit if name in FEATURES else _EXTRA_UNITS.get(name, "N m")
    if find_unit(unit).quantity != find_unit(wanted).quantity:
        raise UnitError(
            f"{path}: {name} is mapped to a column in {unit} "
            f"({find_unit(unit).quantity}); expected a {find_unit(wanted).quantity} [{wanted}]"
        )
    return values - _KELVIN if name == TEMPERATURE else values


def _matching(folder: Path, pattern: str) -> list[Path]:
    try:
        paths = sorted(path for path in folder.glob(pattern) if path.is_file())
    except (NotImplementedError, ValueError) as error:
        raise ExperimentError(
            f"invalid pattern {pattern!r}: {error}. Use names within the folder, such as *.csv"
        ) from error
    if not paths:
        present = sorted(item.name for item in folder.iterdir())
        raise RecordingError(
            f"{folder} contains no file {pattern!r}; it contains {listing(present)}. Name the "
            "folder of the recordings, or set data.pattern"
        )
    return paths


def _group_of_file(path: Path, settings: DataSettings) -> str:
    """Group of a file by its name; of joints, whose names the pattern is for, the name itself."""
    return path.stem if _has_joints(settings) else _group_of(path.stem, settings.group_pattern)


def _has_joints(settings: DataSettings) -> bool:
    values = [v.get("column") if isinstance(v, Mapping) else v for v in settings.columns.values()]
    return any(isinstance(v, list | tuple) or (isinstance(v, str) and JOINT in v) for v in values)


def _group_of_joint(file: RecordingFile, joint: str, settings: DataSettings) -> str:
    if file.inertia is not None:
        return f"{file.group}, {joint}"
    return _group_of(joint, settings.group_pattern)


def _group_of(name: str, pattern: str | None) -> str:
    if pattern is None:
        return name
    try:
        match = re.search(pattern, name)
    except re.error as error:
        raise ExperimentError(
            f"group_pattern {pattern!r} is not a regular expression: {error}"
        ) from (error)
    if match is None or not match[0]:
        raise ExperimentError(f"group_pattern {pattern!r} does not match the name {name!r}")
    return next((part for part in match.groups() if part), match[0])


def _inertia(group: InertiaGroup) -> float | None:
    if group.inertia is not None and not group.inertia > 0:
        raise ExperimentError(
            f"the inertia of group {group.id!r} is {group.inertia} kg m2; it must be positive"
        )
    return group.inertia
