"""Frames of the film of a motion."""

from collections.abc import Iterator

import mujoco
import numpy as np

from trueup.gait.replay.motion_file import Motion
from trueup.gait.replay.skeleton_lines import skeleton_lines
from trueup.gait.report.annotations import ACTIVE, REST
from trueup.gait.report.film import lit, rows_of_frames
from trueup.simulation.models.rendering import render_states

_THICKNESS = 0.01
"""Radius of the lines between joints, relative to the size of the model."""

_BONE = np.array([0.75, 0.72, 0.65, 1.0], dtype=np.float32)


def film_frames(
    model: mujoco.MjModel,
    motion: Motion,
    positions: np.ndarray,
    rate: float,
    width: int,
    height: int,
) -> Iterator[np.ndarray]:
    """RGB frames of a motion from the right side.

    Args:
      model: model.
      motion: motion, whose activations colour the muscles.
      positions: positions of the joints ``(n, nq)``.
      rate: frames per second of the motion [Hz].
      width: width of a frame [pixel].
      height: height of a frame [pixel].
    """
    rows = rows_of_frames(motion.times, rate)
    points, lines = skeleton_lines(model, positions[rows])
    middle = 0.5 * (points.min(axis=1) + points.max(axis=1))
    # the camera follows the middle of the skeleton, evened over about a second
    window = np.ones(max(1, min(round(rate), len(rows))))
    count = np.convolve(np.ones(len(rows)), window, "same")
    lookat = np.stack([np.convolve(line, window, "same") / count for line in middle.T], axis=1)
    size = float(np.abs(points - lookat[:, None]).max())
    model = lit(model)
    tendons = {
        int(model.actuator(name).trnid[0]): values
        for name, values in motion.activations.items()
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) >= 0
    }

    def prepare(frame: int, shown: mujoco.MjModel) -> None:
        for tendon, values in tendons.items():
            level = min(max(float(values[rows[frame]]), 0.0), 1.0)
            shown.tendon_rgba[tendon] = REST + level * (ACTIVE - REST)

    def decorate(frame: int, scene: mujoco.MjvScene) -> None:
        for start, end in lines:
            if scene.ngeom >= scene.maxgeom:
                return
            geom = scene.geoms[scene.ngeom]
            mujoco.mjv_initGeom(
                geom, mujoco.mjtGeom.mjGEOM_CAPSULE, np.zeros(3), np.zeros(3), np.eye(3).ravel(),
                _BONE,
            )  # fmt: skip
            mujoco.mjv_connector(
                geom, mujoco.mjtGeom.mjGEOM_CAPSULE, _THICKNESS * size,
                points[frame, start], points[frame, end],
            )  # fmt: skip
            scene.ngeom += 1

    return render_states(
        model,
        _states(model, positions[rows]),
        lookat,
        distance=2.6 * max(size, 1e-3),
        width=width - width % 2,
        height=height - height % 2,
        prepare=prepare,
        decorate=decorate,
    )


def _states(model: mujoco.MjModel, positions: np.ndarray) -> np.ndarray:
    """States at rest for rendering, at the positions of the joints ``(n, nq)``."""
    data, drawn = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    found = np.zeros((len(positions), mujoco.mj_stateSize(model, drawn)))
    for position, row in zip(positions, found, strict=True):
        data.qpos[:] = position
        mujoco.mj_getState(model, data, row, drawn)
    return found
