"""Where recordings for a network are, what their columns mean and how they become even signals."""

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
"""File of a base folder that lists its groups, for settings that name none."""

COMPUTED_TARGET = "tau_measured"
"""Name of the target that is computed from inertia and acceleration."""

TORQUE = "torque"
REFERENCE_TORQUE = "reference_torque"
ACCELERATION = "acceleration"
EXTRA_SIGNALS = (TORQUE, REFERENCE_TORQUE, ACCELERATION)
"""What a column can be besides a feature."""


SIGNS = "position-velocity"
UNITS = "units"
COMMAND = "command"
GAINS = "gains"
ACCEPTABLE = (SIGNS, UNITS, COMMAND, GAINS, TORQUE)
"""Kinds of findings that refuse recordings, and can be accepted: a velocity whose sign or unit does
not fit the angle, angles that look like degrees, commands that never change, several gains of which
the network sees none, and a torque that never changes."""


@dataclass(frozen=True)
class InertiaGroup:
    """Recordings with one load, in one folder."""

    id: str
    """Name of the group."""
    folder: str
    """Folder under the base folder."""
    inertia: float | None = None
    """Inertia of load and joint about the joint's axis [kg m2]; None where it is not known."""

    def __post_init__(self):
        check_finite(self, ExperimentError)
        if self.inertia is not None and not self.inertia > 0:
            raise ExperimentError(
                f"the inertia of the group {self.id!r} is {self.inertia} kg m2; it must be positive"
            )


@dataclass(frozen=True)
class TorqueTerms:
    """Torques added to inertia x acceleration so that the target is what the motor gives.

    ``torque = inertia acceleration + gravity sin(angle - gravity_angle) + spring (angle -
    spring_angle) + coulomb tanh(velocity / coulomb_velocity) + viscous velocity``. All zero leaves
    the net torque on the load.
    """

    gravity: float = 0.0
    """Largest torque of the load's weight, mass x gravity x lever [N m]."""
    gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    spring: float = 0.0
    """Stiffness of a spring to the frame [N m/rad]."""
    spring_angle: float = 0.0
    """Angle at which it is at rest [rad]."""
    coulomb: float = 0.0
    """Coulomb friction [N m]."""
    coulomb_velocity: float = 0.01
    """Velocity over which Coulomb friction turns its sign [rad/s]."""
    viscous: float = 0.0
    """Viscous friction [N m s/rad]."""

    def __post_init__(self):
        check_finite(self, ExperimentError)
        for name in ("coulomb", "viscous"):
            if getattr(self, name) < 0:
                raise ExperimentError(f"{name} is {getattr(self, name)}; friction is at least 0")
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
    """Recordings of a joint, and how they become features and torque.

    The defaults are the layout with one folder an inertia, of files with the columns ``Time_ms``,
    ``Encoder_Angle``, ``Commanded_Angle`` [deg], ``Gyro_*`` [deg/s] and ``Acc_*`` [m/s2].
    ``columns`` maps any other.
    """

    data_base_dir: str
    """Folder with the groups' folders, folder of recordings, or one recording."""
    inertia_groups: tuple[InertiaGroup, ...] = ()
    """Groups. None given: those that ``inertia_groups.json`` of the base folder lists, or the
    recordings of the base folder itself, each its own group unless ``group_pattern`` joins some."""
    pattern: str = "*.csv"
    """Which files of a folder are recordings."""
    group_pattern: str | None = None
    """Regular expression searched in the name of a file; what it matches (its first parenthesis
    where it has one) names the group."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """Column of each feature, and of ``torque``, ``reference_torque`` and ``acceleration``: a name,
    or column, unit, scale, offset and interpolation. Empty: the default layout."""
    time: str | None = None
    """Time column; guessed by usual names where absent."""
    fallback_sampling_frequency: float | None = None
    """Rate of recordings without a time column [Hz]."""
    gyro_axis_for_ang_vel: str = "Gyro_Z"
    """Column of the velocity in the default layout."""
    accel_axis_for_torque: str = "Acc_Y"
    """Column of the tangential acceleration in the default layout."""
    features: tuple[str, ...] = FEATURE_NAMES
    """Features of the network, in order."""

    target_name: str = COMPUTED_TARGET
    """``tau_measured``: the column ``torque`` where one is mapped, or else inertia x acceleration /
    radius. Any other name is the column that holds the torque [N m]."""
    radius_accel: float = 0.2
    """Distance of the accelerometer from the axis [m]."""
    accel_gravity: float = 0.0
    """Share of gravity that the accelerometer's axis measures, as amplitude of sin(angle) [m/s2];
    9.81 for a tangential axis on a pendulum, subtracted before the torque is computed."""
    torque_terms: TorqueTerms = TorqueTerms()
    """What is added so that the target is motor torque."""

    rate: float | None = None
    """Rate that all recordings are put on [Hz]; None: their own, which must then be one."""
    filter_mode: FilterMode = "zero_phase"
    """Butterworth filter: run both ways (no delay, but it sees the future), or causal."""
    filter_cutoff_freq_hz: float | None = None
    """Corner of the filter on the measured torque or acceleration [Hz]; None: no filter."""
    filter_order: int = 4
    """Order of one pass of the filter."""
    filter_inputs: bool = False
    """Filter the measured inputs alike, so that they are not late or early against the target."""
    idle_target: IdleTarget = "follow"
    """Targets of a recording whose target angle never changes while the commanded torque does, so
    that the drive obeys the torque alone. ``follow``: they follow the motion, and the errors are
    zero; ``keep``: as recorded."""
    repair: bool = False
    """Sort rows by time, drop repeated times and bridge up to five missing values in a row, rather
    than refuse. Recordings are split at longer holes."""
    accept: tuple[str, ...] = ()
    """Kinds of findings of the checks that are known to be right, and refuse no recording: those of
    `ACCEPTABLE`."""

    split_by: SplitBy = "auto"
    """``time``: the first stretch of every file trains, the next validates, the last tests;
    ``stretch``: two stretches within every file validate, its end tests; ``file``: whole files;
    ``auto``: whole files test where there are five or more, and validate where there are six or
    more and two a group; else stretches do."""
    test: tuple[str, ...] = ()
    """Recordings or groups by name, such as ``PMS54*``, that test as a whole; or stretches of every
    recording, such as ``85-100%``. None given: as ``split_by`` says."""
    validation: tuple[str, ...] = ()
    """The same for validation."""
    global_train_ratio: float = 0.7
    """Share for training."""
    global_val_ratio: float = 0.15
    """Share for validation; what is left is for the test."""
    sequence_duration_s: float | None = None
    """Length of the stretches that training unrolls at a time [s]; None: 0.15 s, within 16 to 128
    samples."""
    batch_size: int | None = None
    """Stretches trained on side by side; None: as many as leave 16 gradient steps an epoch, from 4
    to 64."""
    num_workers: int = 0
    """Threads that read files; 0 reads one after the other."""

    def __post_init__(self):
        check_finite(self, ExperimentError, "data.")
        object.__setattr__(self, "data_base_dir", os.fspath(self.data_base_dir))
        object.__setattr__(self, "inertia_groups", tuple(self.inertia_groups))
        object.__setattr__(self, "features", tuple(self.features))
        for name in ("accept", "test", "validation"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_feature_names(self.features)
        _check_choice("filter_mode", self.filter_mode, get_args(FilterMode))
        _check_choice("idle_target", self.idle_target, get_args(IdleTarget))
        _check_choice("split_by", self.split_by, get_args(SplitBy))
        known = (*FEATURES, *EXTRA_SIGNALS)
        unknown = [name for name in self.columns if name not in known]
        if unknown:
            raise ExperimentError(
                f"columns names no signal {unknown[0]!r}.{did_you_mean(unknown[0], known)} "
                f"Signals: {listing(known, limit=len(known))}"
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
                raise ExperimentError(f"{name} is {getattr(self, name)}; at least {lowest}")
        check_ratios(self.global_train_ratio, self.global_val_ratio)
        ids = [group.id for group in self.inertia_groups]
        if len(set(ids)) != len(ids):
            raise ExperimentError(f"two inertia groups have the same id: {listing(ids)}")

    @property
    def groups(self) -> tuple[InertiaGroup, ...]:
        """The groups given, or those that the base folder lists; empty without either.

        Raises:
          ExperimentError: the base folder's list cannot be read.
        """
        base = Path(self.data_base_dir)
        if self.inertia_groups:
            return self.inertia_groups
        if (base / GROUPS_FILE).is_file():
            return _listed_groups(base / GROUPS_FILE)
        # the folder of one group, whose inertia the list beside it tells
        above = base.resolve().parent / GROUPS_FILE
        if base.is_dir() and above.is_file():
            listed = _listed_groups(above)
            return tuple(replace(g, folder=".") for g in listed if g.folder == base.resolve().name)
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
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
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "DataSettings":
        """Settings from plain values, such as the ``data`` part of a configuration.

        Raises:
          ExperimentError: a key is unknown, or a value cannot be used.
        """
        values = dict(content)
        if "data_base_dir" not in values:
            raise ExperimentError("data_base_dir is missing: give the folder of the recordings")
        # null, as in a YAML file, is none given
        defaults: dict[str, Any] = {"torque_terms": TorqueTerms(), "features": FEATURE_NAMES}
        defaults |= {"inertia_groups": (), "accept": (), "test": (), "validation": ()}
        values |= {name: values.get(name) or default for name, default in defaults.items()}
        return build_settings(cls, values, "data")


def check_ratios(training: float, validation: float) -> None:
    """Refuse shares that are not between 0 and 1 or add up to more than 1.

    Raises:
      ExperimentError: they do not.
    """
    if not (0 < training <= 1 and 0 <= validation < 1 and training + validation <= 1 + 1e-9):
        raise ExperimentError(
            f"the shares of training ({training}) and validation ({validation}) must be positive "
            "and add up to 1 at most"
        )


def _listed_groups(path: Path) -> tuple[InertiaGroup, ...]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{path} cannot be read: {reason(error)}") from error
    if not isinstance(content, list):
        raise ExperimentError(f"{path} must hold a list of id, folder and inertia")
    return tuple(build_settings(InertiaGroup, entry, str(path)) for entry in content)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ExperimentError(
            f"{name} {value!r} does not exist.{did_you_mean(str(value), choices)} There is "
            f"{listing(choices)}"
        )
