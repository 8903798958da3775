"""Settings of the recordings of a network: files, columns, resampling, filters and splits."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from trueup._finite_numbers import check_finite
from trueup.errors import ExperimentError, did_you_mean, listing, reason
from trueup.networks.data.features import FEATURE_NAMES, FEATURES, check_feature_names
from trueup.networks.plain_settings import build_settings

FilterMode = Literal["none", "zero_phase", "causal"]
SplitBy = Literal["auto", "time", "stretch", "file"]
IdleTarget = Literal["follow", "keep"]

GROUPS_FILE = "inertia_groups.json"
"""File of a base folder with its list of groups, read if the settings have none."""

COMPUTED_TARGET = "tau_measured"
"""Name of the target computed from inertia and acceleration."""

TORQUE = "torque"
REFERENCE_TORQUE = "reference_torque"
ACCELERATION = "acceleration"
EXTRA_SIGNALS = (TORQUE, REFERENCE_TORQUE, ACCELERATION)
"""Signals of columns in addition to the features."""

SIGNS = "position-velocity"
UNITS = "units"
COMMAND = "command"
GAINS = "gains"
COPIES = "copies"
ACCEPTABLE = (SIGNS, UNITS, COMMAND, GAINS, TORQUE, COPIES)
"""Kinds of serious findings that can be accepted: a velocity with a sign or unit inconsistent with
the angle, angles that look like degrees and torques like mN m, commands that never change, are
reversed or repeat the measurement, several gains without a gain among the features, a torque that
never changes, and recordings that hold the samples of another one."""


@dataclass(frozen=True)
class InertiaGroup:
    """Recordings with one load, in one folder."""

    id: str
    """Name of the group."""
    folder: str
    """Folder under the base folder."""
    inertia: float | None = None
    """Inertia of load and joint about the axis of the joint [kg m2]; None if unknown."""

    def __post_init__(self):
        check_finite(self, ExperimentError)
        if self.inertia is not None and not self.inertia > 0:
            raise ExperimentError(
                f"the inertia of the group {self.id!r} is {self.inertia} kg m2; it must be positive"
            )


@dataclass(frozen=True)
class TorqueTerms:
    """Torques added to inertia x acceleration, so that the target is the motor torque.

    ``torque = inertia acceleration + gravity sin(angle - gravity_angle) + spring (angle -
    spring_angle) + coulomb tanh(velocity / coulomb_velocity) + viscous velocity``. If all are zero,
    the target is the net torque on the load.
    """

    gravity: float = 0.0
    """Maximum gravity torque of the load, mass x gravity x lever [N m]."""
    gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    spring: float = 0.0
    """Stiffness of a spring to the frame [N m/rad]."""
    spring_angle: float = 0.0
    """Rest angle of the spring [rad]."""
    coulomb: float = 0.0
    """Coulomb friction [N m]."""
    coulomb_velocity: float = 0.01
    """Velocity over which Coulomb friction changes its sign [rad/s]."""
    viscous: float = 0.0
    """Viscous friction [N m s/rad]."""

    def __post_init__(self):
        check_finite(self, ExperimentError)
        for name in ("coulomb", "viscous"):
            if getattr(self, name) < 0:
                raise ExperimentError(f"{name} is {getattr(self, name)}; it must be 0 or more")
        if not self.coulomb_velocity > 0:
            raise ExperimentError(
                f"coulomb_velocity is {self.coulomb_velocity} rad/s; it must be positive"
            )

    @property
    def stated(self) -> tuple[str, ...]:
        """Names of the terms that are not zero."""
        return tuple(n for n in ("gravity", "spring", "coulomb", "viscous") if getattr(self, n))


@dataclass(frozen=True)
class DataSettings:
    """Recordings of a joint, and their conversion to features and torque.

    The default layout is one folder per inertia, with files of the columns ``Time_ms``,
    ``Encoder_Angle``, ``Commanded_Angle`` [deg], ``Gyro_*`` [deg/s] and ``Acc_*`` [m/s2].
    ``columns`` maps any other layout.
    """

    data_base_dir: str
    """Folder with the folders of the groups, folder of recordings, or one recording."""
    inertia_groups: tuple[InertiaGroup, ...] = ()
    """Groups of recordings with one load. By default those in ``inertia_groups.json`` of the base
    folder; without it, each recording of the base folder is a group, unless ``group_pattern`` joins
    some."""
    pattern: str = "*.csv"
    """Pattern of the names of recordings in a folder."""
    group_pattern: str | None = None
    """Regular expression searched in the name of a file; its match, or its first capture group if
    it has one, is the name of the group. With columns of several joints it is searched in the name
    of the joint."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """Column of each feature, and of ``torque``, ``reference_torque`` and ``acceleration``: a name,
    or column, unit, scale, offset and interpolation. By default the default layout. A name with
    ``*`` for the joint, such as ``dof_pos_*``, or a list with one column for each joint maps the
    signals of several joints of one file, each a separate recording and group."""
    joints: tuple[str, ...] = ()
    """Joints to read from files of several, by name or pattern, such as ``*_hip``; by default
    all."""
    time: str | None = None
    """Time column; by default found by usual names."""
    fallback_sampling_frequency: float | None = None
    """Sampling rate of recordings without a time column [Hz]."""
    gyro_axis_for_ang_vel: str = "Gyro_Z"
    """Column of the velocity in the default layout."""
    accel_axis_for_torque: str = "Acc_Y"
    """Column of the tangential acceleration in the default layout."""
    features: tuple[str, ...] = FEATURE_NAMES
    """Features of the network, in order."""

    target_name: str = COMPUTED_TARGET
    """Target. ``tau_measured``: the column ``torque`` if one is mapped, else inertia x acceleration
    / radius. Any other name is that of the column with the torque [N m]."""
    radius_accel: float = 0.2
    """Distance of the accelerometer from the axis [m]."""
    accel_gravity: float = 0.0
    """Amplitude of gravity in the accelerometer signal, as a factor on sin(angle) [m/s2],
    subtracted before the torque is computed; 9.81 for a tangential axis on a pendulum."""
    torque_terms: TorqueTerms = TorqueTerms()
    """Torques added so that the target is the motor torque."""

    torque_delay: float = 0.0
    """Time by which the recorded torque, or the acceleration that gives it, is later than the other
    signals [s]; negative where it is earlier. It is moved by that."""

    rate: float | None = None
    """Rate to which all recordings are resampled [Hz]; by default their sampling rate, which must
    be the same for all."""
    filter_mode: FilterMode = "zero_phase"
    """Butterworth filter: zero_phase, run forwards and backwards (no delay, but not causal);
    causal; or none."""
    filter_cutoff_freq_hz: float | None = None
    """Cut-off frequency of the filter on the measured torque or acceleration [Hz]; by default no
    filter."""
    filter_order: int = 4
    """Order of one pass of the filter."""
    filter_inputs: bool = False
    """Filter the measured inputs too, so that they have the same delay as the target."""
    idle_target: IdleTarget = "follow"
    """Target angles of a recording in which they never change while the commanded torque does, as
    in torque control. ``follow``: replaced by the motion, so that the errors are zero; ``keep``: as
    recorded."""
    repair: bool = False
    """Sort rows by time, drop repeated times and interpolate up to five missing values in a row, in
    place of an error. Recordings are split at longer gaps."""
    accept: tuple[str, ...] = ()
    """Kinds of serious findings of the checks to accept: position-velocity, units, command, gains
    or torque."""

    split_by: SplitBy = "auto"
    """Split into training, validation and test. ``time``: first, second and last interval of every
    file; ``stretch``: two intervals within every file for validation, its end for the test;
    ``file``: whole files; ``auto``: whole files for the test if there are five or more, and for
    validation if there are six or more and two per group, else intervals."""
    test: tuple[str, ...] = ()
    """Recordings or groups for the test by name, such as ``PMS54*``, or an interval of every
    recording, such as ``85-100%``; by default selected by ``split_by``."""
    validation: tuple[str, ...] = ()
    """Recordings, groups or intervals for validation, as for ``test``."""
    global_train_ratio: float = 0.7
    """Share of the data for training."""
    global_val_ratio: float = 0.15
    """Share of the data for validation; the rest is for the test."""
    sequence_duration_s: float | None = None
    """Length of the intervals unrolled in training [s]; by default 0.15 s, within 16 to 128
    samples."""
    batch_size: int | None = None
    """Number of intervals per batch; by default as many as give 16 gradient steps per epoch, from 4
    to 64."""
    num_workers: int = 0
    """Number of threads that read files; 0 reads one file after the other."""

    def __post_init__(self):
        check_finite(self, ExperimentError, "data.")
        object.__setattr__(self, "data_base_dir", os.fspath(self.data_base_dir))
        object.__setattr__(self, "inertia_groups", tuple(self.inertia_groups))
        object.__setattr__(self, "features", tuple(self.features))
        for name in ("accept", "test", "validation", "joints"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_feature_names(self.features)
        _check_choice("filter_mode", self.filter_mode, get_args(FilterMode))
        _check_choice("idle_target", self.idle_target, get_args(IdleTarget))
        _check_choice("split_by", self.split_by, get_args(SplitBy))
        known = (*FEATURES, *EXTRA_SIGNALS)
        unknown = [name for name in self.columns if name not in known]
        if unknown:
            raise ExperimentError(
                f"unknown signal {unknown[0]!r} in columns.{did_you_mean(unknown[0], known)} "
                f"The signals are {listing(known, limit=len(known))}"
            )
        for kind in self.accept:
            _check_choice("accept", kind, ACCEPTABLE)
        for name in ("radius_accel", "sequence_duration_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ExperimentError(f"{name} is {value}; it must be positive")
        for name in ("rate", "filter_cutoff_freq_hz", "fallback_sampling_frequency"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ExperimentError(f"{name} is {value} Hz; it must be positive")
        for name, lowest in (("batch_size", 1), ("filter_order", 1), ("num_workers", 0)):
            if getattr(self, name) is not None and getattr(self, name) < lowest:
                raise ExperimentError(
                    f"{name} is {getattr(self, name)}; it must be at least {lowest}"
                )
        check_ratios(self.global_train_ratio, self.global_val_ratio)
        ids = [group.id for group in self.inertia_groups]
        if len(set(ids)) != len(ids):
            raise ExperimentError(
                f"the ids of inertia_groups must differ, found {listing(ids)}: rename one of them"
            )

    @property
    def groups(self) -> tuple[InertiaGroup, ...]:
        """The given groups, or those listed in the base folder; empty without either.

        Raises:
          ExperimentError: the list of the base folder cannot be read.
        """
        base = Path(self.data_base_dir)
        if self.inertia_groups:
            return self.inertia_groups
        if (base / GROUPS_FILE).is_file():
            return _listed_groups(base / GROUPS_FILE)
        # the folder of one group, with its inertia in the list next to it
        above = base.resolve().parent / GROUPS_FILE
        if base.is_dir() and above.is_file():
            listed = _listed_groups(above)
            return tuple(replace(g, folder=".") for g in listed if g.folder == base.resolve().name)
        return ()

    def to_dict(self) -> dict[str, Any]:
        """JSON values of all settings."""
        columns = {n: asdict(c) if is_dataclass(c) else c for n, c in self.columns.items()}  # type: ignore[call-overload]
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            **values,
            "columns": columns,
            "inertia_groups": [asdict(group) for group in self.inertia_groups],
            "torque_terms": asdict(self.torque_terms),
            "features": list(self.features),
            "accept": list(self.accept),
            "test": list(self.test),
            "validation": list(self.validation),
            "joints": list(self.joints),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "DataSettings":
        """Settings from JSON values, such as the ``data`` part of a configuration.

        Raises:
          ExperimentError: a key is unknown, or a value is out of range.
        """
        values = dict(content)
        if "data_base_dir" not in values:
            raise ExperimentError("data_base_dir is missing: give the folder of the recordings")
        # null, as in a YAML file, is the default
        defaults: dict[str, Any] = {"torque_terms": TorqueTerms(), "features": FEATURE_NAMES}
        defaults |= {"inertia_groups": (), "accept": (), "test": (), "validation": (), "joints": ()}
        values |= {name: values.get(name) or default for name, default in defaults.items()}
        return build_settings(cls, values, "data")


def check_ratios(training: float, validation: float) -> None:
    """Check that shares are between 0 and 1 and add up to at most 1.

    Raises:
      ExperimentError: they are not.
    """
    if not (0 < training <= 1 and 0 <= validation < 1 and training + validation <= 1 + 1e-9):
        raise ExperimentError(
            f"the shares of training ({training}) and validation ({validation}) must be positive "
            "and add up to at most 1"
        )


def _listed_groups(path: Path) -> tuple[InertiaGroup, ...]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{path} cannot be read: {reason(error)}") from error
    if not isinstance(content, list):
        raise ExperimentError(
            f"{path} must be a list of groups with id, folder and inertia, found "
            f"{type(content).__name__}"
        )
    return tuple(build_settings(InertiaGroup, entry, str(path)) for entry in content)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ExperimentError(
            f"{name} is {value!r}; it must be one of {listing(choices)}."
            f"{did_you_mean(str(value), choices)}"
        )
