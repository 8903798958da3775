"""Lines between the joints of a model, as a skeleton where bodies have no geometry."""

import mujoco
import numpy as np

_NEAR = 1e-3
"""Length below which a line is not drawn [m]."""


def skeleton_lines(model: mujoco.MjModel, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points ``(n, points, 3)`` of a skeleton [m], and the lines ``(lines, 2)`` between them.

    A line leads from the origin of a body to that of each body on it; the last body of a chain has
    one to its centre of mass. Carriers of points and coordinates, which have next to no mass, are
    not bones.

    Args:
      model: model.
      positions: positions of the joints ``(n, nq)``.
    """
    bones = [body for body in range(1, model.nbody) if model.body_mass[body] > 1e-3]
    places = {body: k for k, body in enumerate(bones)}
    lines, ends = [], []
    for body in bones:
        parent = int(model.body_parentid[body])
        while parent and parent not in places:
            parent = int(model.body_parentid[parent])
        if parent:
            lines.append((places[parent], places[body]))
        if not any(int(model.body_parentid[other]) == body for other in bones):
            lines.append((places[body], len(bones) + len(ends)))
            ends.append(body)
    data = mujoco.MjData(model)
    points = np.zeros((len(positions), len(bones) + len(ends), 3))
    for row, position in zip(points, positions, strict=True):
        data.qpos[:] = position
        mujoco.mj_kinematics(model, data)
        row[: len(bones)] = data.xpos[bones]
        row[len(bones) :] = data.xipos[ends]
    kept = [
        line
        for line in lines
        if np.linalg.norm(points[:, line[0]] - points[:, line[1]], axis=-1).max() > _NEAR
    ]
    return points, np.array(kept, dtype=int).reshape(-1, 2)
