"""Distances between the bodies of a robot, and to the ground, over a motion."""

from dataclasses import dataclass

import mujoco
import numpy as np


@dataclass(frozen=True)
class Clearance:
    """Pairs of geoms with a minimum distance.

    Excluded are pairs within a body, of a body and its parent, of bodies without relative motion,
    those that the model excludes from contact, and those that are already closer in the start
    pose.
    """

    model: mujoco.MjModel
    pairs: np.ndarray
    """Geoms ``(k, 2)``."""
    least: float
    """Smallest distance [m]."""
    touching: tuple[str, ...] = ()
    """Pairs that are closer in the start pose: they are not checked."""

    @classmethod
    def of(cls, model: mujoco.MjModel, qpos: np.ndarray, least: float) -> "Clearance":
        """Pairs of a model, given its pose ``(nq,)``."""
        solid = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0))
        if not solid.size:
            solid = np.arange(model.ngeom)
        first, second = np.triu_indices(len(solid), 1)
        pairs = np.column_stack([solid[first], solid[second]])
        weld = model.body_weldid[model.geom_bodyid[pairs]]
        parent = model.body_weldid[model.body_parentid[weld]]
        apart = weld[:, 0] != weld[:, 1]
        # the world is the parent of a base, but distances to the ground are still checked
        apart &= (weld[:, 0] != parent[:, 1]) | (weld[:, 0] == 0)
        apart &= (weld[:, 1] != parent[:, 0]) | (weld[:, 1] == 0)
        excluded = {int(s) for s in model.exclude_signature}
        bodies = model.geom_bodyid[pairs]
        low, high = bodies.min(axis=1), bodies.max(axis=1)
        apart &= ~np.isin((low << 16) + high, list(excluded))
        plane = model.geom_type[pairs] == int(mujoco.mjtGeom.mjGEOM_PLANE)
        apart &= ~plane.all(axis=1)
        pairs = pairs[apart]
        made = cls(model, pairs, least)
        near = made.distances(qpos[None, :], 10 * least + 0.1)[0] < least
        names = [
            " and ".join(_name(model, int(b)) for b in model.geom_bodyid[pair])
            for pair in pairs[near]
        ]
        return cls(model, pairs[~near], least, tuple(dict.fromkeys(names)))

    def distances(self, qpos: np.ndarray, most: float) -> np.ndarray:
        """Distance of each pair ``(m, k)`` in positions ``(m, nq)``, up to ``most`` [m]."""
        model, data = self.model, mujoco.MjData(self.model)
        out = np.full((len(qpos), len(self.pairs)), most)
        if not len(self.pairs):
            return out
        one, other = self.pairs.T
        reach = model.geom_rbound[one] + model.geom_rbound[other] + most
        # a plane has no bounding sphere
        endless = (model.geom_rbound[one] == 0) | (model.geom_rbound[other] == 0)
        for row, place in enumerate(qpos):
            data.qpos[:] = place
            mujoco.mj_kinematics(model, data)
            gap = np.linalg.norm(data.geom_xpos[one] - data.geom_xpos[other], axis=1)
            for k in np.flatnonzero((gap < reach) | endless):
                out[row, k] = mujoco.mj_geomDistance(
                    model, data, int(one[k]), int(other[k]), most, None
                )
        return out

    def lack(self, qpos: np.ndarray) -> float:
        """Largest shortfall of a distance over positions ``(m, nq)`` [m]; 0 without any."""
        if not len(self.pairs):
            return 0.0
        return float(np.maximum(self.least - self.distances(qpos, self.least + 1e-6), 0.0).max())


def _name(model: mujoco.MjModel, body: int) -> str:
    return model.body(body).name or f"body {body}"
