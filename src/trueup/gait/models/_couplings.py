"""Joints coupled to others by a polynomial."""

import mujoco
import numpy as np


def couple_joints(model: mujoco.MjModel, qpos: np.ndarray) -> None:
    """Set coupled joints to the positions of their polynomials.

    Otherwise equality constraints reach these positions only over time.

    Args:
      model: the model.
      qpos: positions ``(n, nq)``, modified.
    """
    for e in np.flatnonzero((model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_active0 != 0)):
        if model.eq_obj2id[e] < 0:
            continue
        own, other = (model.jnt_qposadr[ids[e]] for ids in (model.eq_obj1id, model.eq_obj2id))
        bend = qpos[:, other] - model.qpos0[other]
        follows = np.polynomial.polynomial.polyval(bend, model.eq_data[e, :5])
        qpos[:, own] = model.qpos0[own] + follows
