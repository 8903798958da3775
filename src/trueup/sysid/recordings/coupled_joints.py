"""Joints coupled by joint equalities of a model: fingers, mimic joints, gears."""

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

_POWERS = 5  # number of coefficients of a joint equality


@dataclass(frozen=True)
class CoupledJoint:
    """A joint with a position determined by that of another one.

    MuJoCo couples displacements from ``qpos0`` by a polynomial: the first joint's is that of the
    second's.
    """

    joint: int
    leader: int
    """Leading joint; -1: the joint is fixed."""
    coefficients: np.ndarray
    """Coefficients of the polynomial, constant first."""
    inverted: bool = False
    """Whether the leader's displacement is the polynomial of this joint's."""


def coupled_joints(model: mujoco.MjModel, known: Iterable[int]) -> list[CoupledJoint]:
    """Joints with positions determined by known ones, each after its leader.

    Args:
      model: the model.
      known: indices into qpos of the positions that are known.
    """
    flags = int(model.opt.disableflags)
    off = int(mujoco.mjtDisableBit.mjDSBL_EQUALITY) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    if flags & off:
        return []
    places = set(known)
    found: list[CoupledJoint] = []
    left = [
        i
        for i in range(model.neq)
        if int(model.eq_type[i]) == int(mujoco.mjtEq.mjEQ_JOINT) and model.eq_active0[i]
    ]
    while ready := [each for i in left if (each := _following(model, i, places)) is not None]:
        # an equality determines one joint, which may determine the next
        found.append(ready[0])
        places.add(int(model.jnt_qposadr[ready[0].joint]))
    return found


def _following(model: mujoco.MjModel, equality: int, known: set[int]) -> CoupledJoint | None:
    """The joint that an equality determines; None for none."""
    first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    coefficients = np.array(model.eq_data[equality, :_POWERS], float)
    knows = [j < 0 or int(model.jnt_qposadr[j]) in known for j in (first, second)]
    if second < 0:
        return None if knows[0] else CoupledJoint(first, -1, coefficients[:1])
    if knows[1] and not knows[0]:
        return CoupledJoint(first, second, coefficients)
    if knows[0] and not knows[1] and np.any(coefficients[1:]):
        return CoupledJoint(second, first, coefficients, inverted=True)
    return None
