"""Lengths, moment arms and forces of the muscles of two models over the ranges of the joints."""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.gait.models._couplings import couple_joints
from trueup.gait.opensim.mjcf_joints import Skeleton
from trueup.gait.opensim.muscle_fit import MuscleFit
from trueup.gait.opensim.osim_model import OsimModel
from trueup.gait.opensim.osim_paths import moment_arm, route
from trueup.gait.opensim.pose_samples import PoseSamples, muscle_coordinates


@dataclass(frozen=True)
class MuscleComparison:
    """A muscle of MuJoCo beside that of OpenSim.

    Attributes:
      name: name.
      coordinates: coordinates that its length depends on.
      rows: poses that it is compared at, of the samples.
      wanted_length: lengths by OpenSim's geometry ``(rows,)`` [m].
      length: lengths in MuJoCo, likewise.
      wanted_arm: coordinate -> moment arms by OpenSim's geometry ``(rows,)`` [m; 1 of a
        distance].
      arm: coordinate -> moment arms in MuJoCo, likewise.
      fit: numbers of MuJoCo's muscle.
    """

    name: str
    coordinates: list[str]
    rows: np.ndarray
    wanted_length: np.ndarray
    length: np.ndarray
    wanted_arm: dict[str, np.ndarray]
    arm: dict[str, np.ndarray]
    fit: MuscleFit

    @property
    def length_error(self) -> float:
        """Largest error of the length [m]."""
        return float(np.abs(self.length - self.wanted_length).max())

    def arm_errors(self, coordinate: str) -> np.ndarray:
        """Errors of the moment arms about a coordinate ``(rows,)``."""
        return np.abs(self.arm[coordinate] - self.wanted_arm[coordinate])

    @property
    def arm_error(self) -> tuple[float, str]:
        """Largest error of a moment arm, and its coordinate; zero without coordinates."""
        every = [(float(self.arm_errors(name).max()), name) for name in self.coordinates]
        return max(every, default=(0.0, ""))

    @property
    def typical_arm_error(self) -> float:
        """Root mean square of the errors of all moment arms."""
        if not self.coordinates:
            return 0.0
        every = np.concatenate([self.arm_errors(name) for name in self.coordinates])
        return float(np.sqrt(np.mean(every**2)))


def model_positions(compiled: mujoco.MjModel, built: Skeleton, samples: PoseSamples) -> np.ndarray:
    """Positions ``(n, nq)`` of MuJoCo's model in the poses of the samples."""
    count = max((len(one) for one in samples.values.values()), default=1)
    qpos = np.tile(compiled.qpos0, (count, 1))
    for name, values in samples.values.items():
        qpos[:, compiled.joint(name).qposadr[0]] = built.sense(name) * values
    couple_joints(compiled, qpos)
    return qpos


def compare(
    model: OsimModel,
    built: Skeleton,
    compiled: mujoco.MjModel,
    fits: dict[str, MuscleFit],
    samples: PoseSamples,
) -> list[MuscleComparison]:
    """Compare all muscles.

    Args:
      model: model of OpenSim.
      built: what MuJoCo's model was built from.
      compiled: MuJoCo's model.
      fits: numbers of its muscles, by name.
      samples: poses.
    """
    qpos = model_positions(compiled, built, samples)
    lengths, slopes = _lengths(compiled, qpos)
    through = {name: _through(compiled, built, qpos, name) for name in model.free}
    found = []
    for muscle in model.muscles:
        tendon = compiled.tendon(f"{muscle.name}_tendon").id
        coordinates = muscle_coordinates(model, muscle)
        rows = samples.rows(coordinates)
        values = samples.at(rows)
        found.append(
            MuscleComparison(
                muscle.name,
                coordinates,
                rows,
                route(model, muscle, values).length,
                lengths[rows, tendon],
                {name: moment_arm(model, muscle, name, values) for name in coordinates},
                {
                    name: -np.sum(slopes[rows, tendon] * through[name][rows], axis=1)
                    for name in coordinates
                },
                fits[muscle.name],
            )
        )
    return found


def _lengths(compiled: mujoco.MjModel, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths ``(n, tendons)`` and their derivatives by the velocities ``(n, tendons, nv)``."""
    data = mujoco.MjData(compiled)
    lengths = np.zeros((len(qpos), compiled.ntendon))
    slopes = np.zeros((len(qpos), compiled.ntendon, compiled.nv))
    for k, position in enumerate(qpos):
        data.qpos[:] = position
        mujoco.mj_fwdPosition(compiled, data)
        lengths[k] = data.ten_length
        slopes[k] = _dense(compiled, data)
    return lengths, slopes


def _dense(compiled: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Derivatives of the lengths of tendons ``(tendons, nv)``, which MuJoCo keeps sparse."""
    dense = np.zeros((compiled.ntendon, compiled.nv))
    flat = np.asarray(data.ten_J).ravel()
    for k in range(compiled.ntendon):
        begin, count = int(compiled.ten_J_rowadr[k]), int(compiled.ten_J_rownnz[k])
        dense[k, compiled.ten_J_colind[begin : begin + count]] = flat[begin : begin + count]
    return dense


def _through(
    compiled: mujoco.MjModel, built: Skeleton, qpos: np.ndarray, coordinate: str
) -> np.ndarray:
    """Derivatives of all positions by a coordinate ``(n, nv)``, those that follow it included."""
    sense, joint = built.sense(coordinate), compiled.joint(coordinate)
    rates = np.zeros((len(qpos), compiled.nv))
    rates[:, joint.dofadr[0]] = sense
    bend = qpos[:, joint.qposadr[0]] - compiled.qpos0[joint.qposadr[0]]
    for e in np.flatnonzero(compiled.eq_type == mujoco.mjtEq.mjEQ_JOINT):
        if compiled.eq_obj2id[e] == joint.id:
            slope = np.polynomial.polynomial.polyder(compiled.eq_data[e, :5])
            own = compiled.jnt_dofadr[compiled.eq_obj1id[e]]
            rates[:, own] = sense * np.polynomial.polynomial.polyval(bend, slope)
    return rates
