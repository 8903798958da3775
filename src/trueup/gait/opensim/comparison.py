"""Lengths and moment arms of the muscles of two models over the ranges of the joints."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.gait.models._couplings import couple_joints
from trueup.gait.opensim.model import Muscle, OsimModel
from trueup.gait.opensim.muscle_fit import MuscleFit
from trueup.gait.opensim.paths import moment_arm, route, steady_poses
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates


@dataclass(frozen=True)
class MuscleComparison:
    """Comparison of a muscle in MuJoCo with the original in OpenSim.

    Attributes:
      muscle: muscle of OpenSim.
      coordinates: coordinates that its length depends on.
      rows: indices of the sampled poses for the comparison of lengths.
      wanted_length: lengths by the geometry of OpenSim ``(rows,)`` [m].
      length: lengths in MuJoCo, likewise.
      steady: whether the length of the file has no jump between a pose and the default, so that it
          is compared there ``(rows,)``.
      about: coordinate -> poses for the comparison of moment arms about it: first the lines over
        its range, line by line, then those with all coordinates drawn.
      wanted_arm: coordinate -> moment arms by the geometry of OpenSim in those poses [m; 1 for a
        distance].
      arm: coordinate -> moment arms in MuJoCo, likewise.
      steady_arm: coordinate -> whether moment arms are compared in those poses.
      fit: parameters of the MuJoCo muscle.
    """

    muscle: Muscle
    coordinates: list[str]
    rows: np.ndarray
    wanted_length: np.ndarray
    length: np.ndarray
    steady: np.ndarray
    about: dict[str, np.ndarray]
    wanted_arm: dict[str, np.ndarray]
    arm: dict[str, np.ndarray]
    steady_arm: dict[str, np.ndarray]
    fit: MuscleFit

    @property
    def name(self) -> str:
        """Name of the muscle."""
        return self.muscle.name

    @property
    def length_errors(self) -> np.ndarray:
        """Errors of the compared lengths [m]."""
        return np.abs(self.length - self.wanted_length)[self.steady]

    @property
    def length_error(self) -> float:
        """Largest error of the length [m]."""
        return float(self.length_errors.max(initial=0.0))

    @property
    def typical_length_error(self) -> float:
        """Root mean square of the errors of the length [m]."""
        return rms(self.length_errors)

    def arm_errors(self, coordinate: str) -> np.ndarray:
        """Errors of the moment arms about a coordinate; NaN in poses that are not compared."""
        errors = np.abs(self.arm[coordinate] - self.wanted_arm[coordinate])
        return np.where(self.steady_arm[coordinate], errors, np.nan)

    @property
    def arm_error(self) -> tuple[float, str]:
        """Largest error of a moment arm, and its coordinate; zero without coordinates."""
        every = [(float(np.nanmax(self.arm_errors(name))), name) for name in self.coordinates]
        return max(every, default=(0.0, ""))

    @property
    def typical_arm_error(self) -> float:
        """Root mean square of the errors of all moment arms."""
        if not self.coordinates:
            return 0.0
        return rms(np.concatenate([self.arm_errors(name) for name in self.coordinates]))


@dataclass(frozen=True)
class WrittenModel:
    """A written MuJoCo model, evaluated in the poses of the OpenSim model.

    Attributes:
      compiled: the model, compiled from its text.
      signs: coordinate -> position of its joint per value of the coordinate, 1 or -1.
    """

    compiled: mujoco.MjModel
    signs: Mapping[str, float]

    def positions(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Positions ``(n, nq)`` of the joints at values ``(n,)`` of the free coordinates."""
        count = max((len(one) for one in values.values()), default=1)
        qpos = np.tile(self.compiled.qpos0, (count, 1))
        for name, at in values.items():
            qpos[:, self.compiled.joint(name).qposadr[0]] = self.signs[name] * at
        couple_joints(self.compiled, qpos)
        return qpos

    def paths(self, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths ``(n, tendons)`` [m] and their derivatives by the velocities ``(n, tendons, nv)``
        at positions ``(n, nq)``."""
        compiled, data = self.compiled, mujoco.MjData(self.compiled)
        lengths = np.zeros((len(qpos), compiled.ntendon))
        slopes = np.zeros((len(qpos), compiled.ntendon, compiled.nv))
        for k, position in enumerate(qpos):
            data.qpos[:] = position
            # kinematics only: an inertia may be singular in such a pose
            mujoco.mj_kinematics(compiled, data)
            mujoco.mj_comPos(compiled, data)
            mujoco.mj_tendon(compiled, data)
            lengths[k] = data.ten_length
            slopes[k] = _dense(compiled, data)
        return lengths, slopes

    def rates(self, qpos: np.ndarray, coordinate: str) -> np.ndarray:
        """Derivatives of all positions by a coordinate ``(n, nv)``, including coupled
        ones."""
        compiled, sign = self.compiled, self.signs[coordinate]
        joint = compiled.joint(coordinate)
        rates = np.zeros((len(qpos), compiled.nv))
        rates[:, joint.dofadr[0]] = sign
        bend = qpos[:, joint.qposadr[0]] - compiled.qpos0[joint.qposadr[0]]
        for e in np.flatnonzero(compiled.eq_type == mujoco.mjtEq.mjEQ_JOINT):
            if compiled.eq_obj2id[e] == joint.id:
                slope = np.polynomial.polynomial.polyder(compiled.eq_data[e, :5])
                own = compiled.jnt_dofadr[compiled.eq_obj1id[e]]
                rates[:, own] = sign * np.polynomial.polynomial.polyval(bend, slope)
        return rates


def rms(errors: np.ndarray) -> float:
    """Root mean square of the finite errors; zero without any."""
    known = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(known**2))) if known.size else 0.0


def tendon_of(muscle: str) -> str:
    """Name of the tendon of a muscle."""
    return f"{muscle}_tendon"


def compare(
    model: OsimModel, written: WrittenModel, fits: Mapping[str, MuscleFit], samples: PoseSamples
) -> list[MuscleComparison]:
    """Compare all muscles.

    Args:
      model: model of OpenSim.
      written: model of MuJoCo.
      fits: parameters of its muscles, by name.
      samples: poses.
    """
    qpos = written.positions(samples.values)
    lengths, slopes = written.paths(qpos)
    rates = {name: written.rates(qpos, name) for name in model.free}
    found = []
    for muscle in model.muscles:
        tendon = written.compiled.tendon(tendon_of(muscle.name)).id
        coordinates = muscle_coordinates(model, muscle)
        rows = samples.checks(coordinates)
        about = {name: samples.checks([name]) for name in coordinates}
        found.append(
            MuscleComparison(
                muscle,
                coordinates,
                rows,
                route(model, muscle, samples.at(rows)).length,
                lengths[rows, tendon],
                steady_poses(model, muscle, samples.at(rows)),
                about,
                {
                    name: moment_arm(model, muscle, name, samples.at(here))
                    for name, here in about.items()
                },
                {
                    name: -np.sum(slopes[here, tendon] * rates[name][here], axis=1)
                    for name, here in about.items()
                },
                {
                    name: steady_poses(model, muscle, samples.at(here))
                    for name, here in about.items()
                },
                fits[muscle.name],
            )
        )
    return found


def _dense(compiled: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Derivatives of the lengths of tendons ``(tendons, nv)``, as a dense array."""
    dense = np.zeros((compiled.ntendon, compiled.nv))
    flat = np.asarray(data.ten_J).ravel()
    for k in range(compiled.ntendon):
        begin, count = int(compiled.ten_J_rowadr[k]), int(compiled.ten_J_rownnz[k])
        dense[k, compiled.ten_J_colind[begin : begin + count]] = flat[begin : begin + count]
    return dense
