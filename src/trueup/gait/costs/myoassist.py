"""The cost function of MyoAssist, reproduced for comparison with its results.

Differences from ``stages``: the sum of ``|p - 1|`` over the whole vector is added, effort
depends on the rate of the controller and excludes muscles of the toes, costs are discontinuous
at constraints, the side of a step is inferred from the ankles, and a ground reaction above the
threshold counts in full.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing, reason
from trueup.gait.costs import _myoassist_kernel as k
from trueup.gait.models.anatomy import Anatomy
from trueup.gait.walk.frames import ACTIVATIONS, Frame
from trueup.gait.walk.records import WalkRecords
from trueup.gait.walk.settings import WalkSettings

INVALID = 1_200_000.0
"""Cost of a walk that cannot start."""

KINDS = (
    "Effort",
    "Eff_Knee",
    "Velocity",
    "Vel_grf",
    "Classic",
    "Kine",
    "Kine_grf",
    "Kine_grf_musc",
    "vel_musc",
    "vel_musc_grf",
)
"""Kinds of costs."""

FLAGS = {
    "-eff": "Effort",
    "-eff_knee": "Eff_Knee",
    "-vel": "Velocity",
    "-vel_grf": "Vel_grf",
    "-class": "Classic",
    "-kine": "Kine",
    "-kine_grf": "Kine_grf",
    "-kine_grf_musc": "Kine_grf_musc",
    "-vel_musc": "vel_musc",
    "-vel_musc_grf": "vel_musc_grf",
}
"""Flag of the command line -> kind."""

_UNCONSTRAINED = ("Effort", "Eff_Knee")
_SUMS = {
    "Effort": ("effort",),
    "Eff_Knee": ("effort",),
    "Vel_grf": ("effort", "grf", "trunk"),
    "Classic": ("effort", "trunk"),
    "Kine": ("effort", "kinematic", "trunk"),
    "Kine_grf": ("effort", "kinematic", "trunk", "grf"),
    "Kine_grf_musc": ("effort", "kinematic", "trunk", "grf", "emg"),
    "vel_musc": ("effort", "emg"),
    "vel_musc_grf": ("effort", "trunk", "grf", "emg"),
}
_EFFORT_LEAVES_OUT = ("FDL", "EDL", "HAB", "HAD")
EMG_GROUPS: tuple[str, ...] = ("HFL", "GLU", "HAM", "RF", "VAS", "BFSH", "GAS", "SOL", "TA")
"""Muscle groups whose activations MyoAssist tracks, in the order of its reference."""
_SAME_STEP = 0.3


@dataclass(frozen=True)
class MyoAssistCost:
    """Cost of a walk in MyoAssist.

    Args:
      kind: one of :data:`KINDS`.
      speed: target speed [m/s].
      strides: number of evaluated strides, the last of a walk.
      symmetry_threshold: largest difference between the legs at touch-down [m].
      grf_threshold: ground reaction above which it is penalised [body weights].
      kinematics: reference ``(100, 7)``: trunk, left hip, knee and ankle, right hip, knee and
        ankle [rad].
      emg: reference ``(100, 9)``: HFL GLU HAM RF VAS BFSH GAS SOL TA.

    Raises:
      GaitError: unknown kind, or missing reference.
    """

    kind: str = "Kine"
    speed: float = 1.25
    strides: int = 5
    symmetry_threshold: float = 0.1
    grf_threshold: float = 1.5
    kinematics: np.ndarray | None = field(default=None, repr=False)
    emg: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self):
        if self.kind not in KINDS:
            raise GaitError(
                f"unknown or unusable cost {self.kind!r} of MyoAssist; available: {listing(KINDS)}."
                f"{did_you_mean(self.kind, KINDS)}"
            )
        needs = _SUMS.get(self.kind, ())
        if self.kinematics is None and ("kinematic" in needs or "trunk" in needs):
            raise GaitError(
                f"the cost {self.kind!r} requires reference kinematics: set kinematics, on the "
                "command line reference=FILE"
            )
        if self.emg is None and "emg" in needs:
            raise GaitError(
                f"the cost {self.kind!r} requires reference activations: set emg, on the "
                "command line reference_emg=FILE"
            )

    def terms(self, records: WalkRecords, anatomy: Anatomy) -> dict[str, np.ndarray]:
        """Terms of each walk ``(n,)`` by name; NaN where a walk was too short."""
        frames = records.frames
        groups = anatomy.muscle_groups(records.muscles)
        effort = [i for i, (group, _) in enumerate(groups) if group not in _EFFORT_LEAVES_OUT]
        setup = np.zeros(1, dtype=k.SETUP)
        setup["strides"], setup["gap"] = self.strides, int(_SAME_STEP / records.period + 1e-9)
        setup["speed"], setup["grf"] = self.speed, self.grf_threshold
        setup["mass"] = records.mass
        angle_columns = [
            Frame.torso_pitch,
            *(Frame[f"{joint}_{side}"] for side in "lr" for joint in ("hip", "knee", "ankle")),
        ]
        emg_columns = [
            ACTIVATIONS + groups.index((group, side))
            for side in ("left", "right")
            for group in EMG_GROUPS
            if (group, side) in groups
        ]
        emg = np.zeros((0, 0)) if self.emg is None else np.tile(self.emg, (1, 2))
        kinematics = np.zeros((0, 0)) if self.kinematics is None else self.kinematics
        most = max(len(angle_columns), len(emg_columns))
        places, sides = np.zeros((2, frames.shape[1]), dtype=np.int64)
        values = np.zeros((len(frames), len(k.Term)))
        k.myoassist_terms(
            frames,
            np.ascontiguousarray(records.length),
            setup,
            np.array(effort, dtype=np.int64),
            _tracked(angle_columns, kinematics),
            _tracked(emg_columns, emg),
            k.Scratch(places, sides, np.zeros(most)),
            values,
        )
        return dict(zip(k.Term.__members__, values.T, strict=True))

    def scalars(
        self,
        X: np.ndarray,
        records: WalkRecords,
        terms: dict[str, np.ndarray],
        settings: WalkSettings,
    ) -> np.ndarray:
        """The cost that MyoAssist minimises ``(n,)``.

        Args:
          X: vectors ``(n, size)``.
          records: their walks.
          terms: their terms, see :meth:`terms`.
          settings: settings of the simulation.
        """
        n = len(X)
        last = np.maximum(records.length - 1, 0)
        x = records.column("x")[np.arange(n), last]
        steps = np.nan_to_num(terms["lefts"] + terms["rights"])
        regulariser = np.abs(X - 1.0).sum(axis=1)
        value = 99_000.0 - x - 0.5 * steps
        value[terms["stage"] == k.Stage.few_pairs] -= 1000.0
        complete = terms["stage"] == k.Stage.complete
        value[complete] = (self._judged(terms) + regulariser)[complete]
        fell = records.length < int(settings.duration / records.period + 1e-9) - 1
        value[fell] = 99_000.0 - x[fell]
        value[list(records.invalid)] = INVALID
        return value

    def _judged(self, terms: dict[str, np.ndarray]) -> np.ndarray:
        """Cost of walks with enough steps, without the regulariser."""
        speed, symmetry = terms["velocity"], terms["symmetry"]
        too_fast, lame = speed > 0.01, symmetry > self.symmetry_threshold
        if self.kind == "Classic":
            violated = 10_000.0 + 1000.0 * speed
        else:
            violated = 10_000.0 + 100.0 * speed * too_fast + 100.0 * symmetry * lame
        if self.kind == "Velocity":
            return violated
        kept = sum(np.asarray(terms[name]) for name in _SUMS[self.kind])
        if self.kind in _UNCONSTRAINED:
            return np.asarray(kept)
        passed = (speed < 0.01) & (symmetry < self.symmetry_threshold)
        return np.where(passed, kept, violated)


def _tracked(columns: Sequence[int], reference: np.ndarray) -> k.Tracked:
    reference = np.ascontiguousarray(reference, dtype=float)
    return k.Tracked(np.array(columns, dtype=np.int64), reference)


def read_myoassist_kinematics(path: str | Path) -> np.ndarray:
    """MyoAssist's reference kinematics ``(100, 7)`` [rad], a table without a header.

    Raises:
      GaitError: the file is missing or has another form.
    """
    return _table(path, 7, "trunk, then hip, knee and ankle of the left and of the right leg [rad]")


def read_myoassist_emg(path: str | Path) -> np.ndarray:
    """MyoAssist's reference activations ``(100, 9)``, of its table of 11 columns without a header.

    Raises:
      GaitError: the file is missing or has another form.
    """
    return _table(path, 11, "activations of HAB HAD HFL GLU HAM RF VAS BFSH GAS SOL TA")[:, 2:]


def _table(path: str | Path, columns: int, what: str) -> np.ndarray:
    wanted = f"{k.POINTS} rows of {columns} numbers without a header, {what}"
    try:
        table = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise GaitError(
            f"cannot read the reference {path}: {reason(error)} Expected {wanted}"
        ) from error
    if table.shape != (k.POINTS, columns) or not np.isfinite(table).all():
        raise GaitError(
            f"the reference {path} has {table.shape[0]} rows of {table.shape[1]} numbers, "
            f"{int(np.isnan(table).sum())} of them missing; expected {wanted}"
        )
    return table
