"""Annotations of a video of a walk: colours of legs and muscles, ground reaction."""

import mujoco
import numpy as np

from trueup.gait.models.body_map import Joint
from trueup.gait.models.walker import Walker
from trueup.gait.walk.series import JOINTS, WalkSeries

LEG_COLOURS = ((0.0, 0.45, 0.70, 0.45), (0.80, 0.40, 0.0, 0.45))
"""Colours of the right and the left leg, as in the figures of a report; translucent."""

THICKER = 2.5
"""Width of muscles in a video relative to that of the model."""

REST, ACTIVE = np.array([0.45, 0.50, 0.65, 1.0]), np.array([0.95, 0.10, 0.10, 1.0])
"""Colours of a muscle at the activations 0 and 1."""

FORCE_COLOUR = np.array([0.1, 0.55, 0.2, 1.0], dtype=np.float32)
PER_WEIGHT, ARROW_WIDTH, LEAST = 0.6, 0.018, 0.02
"""Arrow length per body weight [m], arrow width [m], smallest drawn force [body
weights]."""

ACTUATOR, TENDON = int(mujoco.mjtObj.mjOBJ_ACTUATOR.value), mujoco.mjtTrn.mjTRN_TENDON

NEAR = 0.03
"""Height above the lowest point of a sole below which its points carry the force [m]."""


class Annotations:
    """Colours and arrows of the frames of a video.

    Args:
      walker: walker.
      model: a copy of its model, modified.
      series: walk.
      rows: indices of the frames of the walk in the video.
      lookat: target of the camera in each frame ``(frames, 3)`` [m].
    """

    def __init__(
        self,
        walker: Walker,
        model: mujoco.MjModel,
        series: WalkSeries,
        rows: np.ndarray,
        lookat: np.ndarray,
    ):
        self.series, self.rows, self.lookat = series, rows, lookat
        self.lights = model.light_pos.copy()
        self.tendons = _tendons(model, series.muscles)
        model.tendon_width[list(self.tendons)] *= THICKER
        for leg, hip in enumerate(walker.parts.joints([Joint[JOINTS[0]]])[:, 0]):
            below = _bodies_below(model, int(model.jnt_bodyid[hip]))
            geoms = np.isin(model.geom_bodyid, below)
            model.geom_rgba[geoms], model.geom_matid[geoms] = LEG_COLOURS[leg], -1

    def prepare(self, frame: int, model: mujoco.MjModel) -> None:
        """Colour the muscles by their activation, and move the lights with the walker."""
        activation = self.series.activations[self.rows[frame]]
        for tendon, muscle in self.tendons.items():
            part = float(np.clip(activation[muscle], 0.0, 1.0))
            model.tendon_rgba[tendon] = (1.0 - part) * REST + part * ACTIVE
        model.light_pos[:] = self.lights
        model.light_pos[:, 0] += self.lookat[frame, 0]

    def decorate(self, frame: int, scene: mujoco.MjvScene) -> None:
        """Add an arrow for the force of the ground on each foot."""
        series, row = self.series, self.rows[frame]
        cos, sin = np.cos(np.deg2rad(series.slope)), np.sin(np.deg2rad(series.slope))
        axes = np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
        for leg in range(2):
            force = series.ground_force[row, leg] / series.weight
            if np.linalg.norm(force) < LEAST or scene.ngeom >= scene.maxgeom:
                continue
            soles = series.places[row, leg, 3:]
            begin = soles[soles[:, 2] <= soles[:, 2].min() + NEAR].mean(axis=0)
            geom = scene.geoms[scene.ngeom]
            kind = mujoco.mjtGeom.mjGEOM_ARROW
            nowhere = np.zeros(3)
            mujoco.mjv_initGeom(geom, kind, nowhere, nowhere, np.eye(3).ravel(), FORCE_COLOUR)
            mujoco.mjv_connector(geom, kind, ARROW_WIDTH, begin, begin + PER_WEIGHT * force @ axes)
            scene.ngeom += 1


def _tendons(model: mujoco.MjModel, muscles: tuple[str, ...]) -> dict[int, int]:
    """Tendon of each muscle -> index of the muscle."""
    found = {}
    for place, name in enumerate(muscles):
        actuator = mujoco.mj_name2id(model, ACTUATOR, name)
        if actuator >= 0 and mujoco.mjtTrn(int(model.actuator_trntype[actuator])) == TENDON:
            found[int(model.actuator_trnid[actuator, 0])] = place
    return found


def _bodies_below(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and its descendants."""
    found = [body]
    for other in range(body + 1, model.nbody):
        if int(model.body_parentid[other]) in found:
            found.append(other)
    return found
