"""Forces of a model that inverse dynamics of a tree of links does not include.

Included are rigid links, armature, damping, friction and springs of joints, and actuators on
joints. Forces of equality constraints are projected out where a recording determines the motion of
their joints; with other forces, the torque of a joint is not compared.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.simulation.loops.equalities import (
    CONNECT,
    JOINT,
    TENDON,
    WELD,
    between,
    chain,
    equality_dofs,
    equality_name,
    is_active,
    tendon_dofs,
    unsolvable_reason,
)

_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


@dataclass(frozen=True)
class LeftOutForce:
    """A part of a model with a force that inverse dynamics does not support."""

    what: str
    """Description of the part: ``the equality 'loop' (connect)``."""
    dofs: frozenset[int]
    """Degrees of freedom that it acts on."""
    loop: bool = False
    """Whether it closes a loop of links."""
    couples: bool = False
    """Whether it couples joints only by their coordinates, such as a gripper's fingers."""
    solvable: bool = False
    """Whether it is an equality, whose force does no work along the motions that it allows."""


def left_out_forces(model: mujoco.MjModel) -> list[LeftOutForce]:
    """Parts of a model with forces that inverse dynamics does not support."""
    found = [
        *(force for _, force in _equalities(model)),
        *_tendons(model),
        *_actuators(model),
        *_joints(model),
        *_everywhere(model),
    ]
    return [force for force in found if force.dofs]


def loop_closures(model: mujoco.MjModel) -> dict[int, LeftOutForce]:
    """Equalities that close loops of links, by index."""
    return {i: force for i, force in _equalities(model) if force.loop and force.dofs}


def left_out_dofs(model: mujoco.MjModel) -> set[int]:
    """Degrees of freedom with a force that is neither supported nor projected out."""
    forces = left_out_forces(model)
    return {dof for force in forces if not force.solvable for dof in force.dofs}


def torque_is_known(model: mujoco.MjModel, joint: int) -> bool:
    """Whether the torque of a joint is determined by its motion and the links it carries.

    It is not with an unsupported force, nor next to a loop, as its links move with the joint.
    """
    forces = left_out_forces(model)
    dof = int(model.jnt_dofadr[joint])
    return not any(dof in force.dofs or force.loop for force in forces)


def left_out_sentence(model: mujoco.MjModel, dofs: Iterable[int] | None = None) -> str:
    """Sentence on forces that are neither supported nor projected out; empty for none.

    Args:
      model: the model.
      dofs: degrees of freedom; None: all.
    """
    wanted = set(range(model.nv)) if dofs is None else set(dofs)
    acting = [
        force
        for force in left_out_forces(model)
        if not wanted.isdisjoint(force.dofs) and not force.solvable
    ]
    if not acting:
        return ""
    named = [force.what for force in acting]
    shown = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
    joints = [
        model.joint(j).name or f"joint {j}"
        for j in range(model.njnt)
        if any(int(model.jnt_dofadr[j]) in force.dofs for force in acting)
        and int(model.jnt_dofadr[j]) in wanted
    ]
    return (
        f"inverse dynamics does not include the forces of {shown}, which act on {listing(joints)}"
    )


def _equalities(model: mujoco.MjModel) -> Iterator[tuple[int, LeftOutForce]]:
    for i in range(model.neq):
        if not is_active(model, i):
            continue
        kind = int(model.eq_type[i])
        yield (
            i,
            LeftOutForce(
                equality_name(model, i),
                equality_dofs(model, i),
                loop=kind in (CONNECT, WELD),
                couples=kind in (JOINT, TENDON),
                solvable=not unsolvable_reason(model, i),
            ),
        )


def _tendons(model: mujoco.MjModel) -> Iterator[LeftOutForce]:
    """Tendons with a passive force or a limit."""
    fields = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature")
    for tendon in range(model.ntendon):
        acts = [n for n in fields if np.any(getattr(model, f"tendon_{n}")[tendon])]
        acts += ["limit"] if model.tendon_limited[tendon] else []
        if acts:
            name = model.tendon(tendon).name or tendon
            what = f"the tendon {name!r} ({', '.join(acts)})"
            yield LeftOutForce(what, tendon_dofs(model, tendon), couples=True)


def _actuators(model: mujoco.MjModel) -> Iterator[LeftOutForce]:
    """Actuators that do not drive a joint, or add damping or armature to their joint."""
    for i in range(model.nu):
        kind, (first, second) = int(model.actuator_trntype[i]), map(int, model.actuator_trnid[i])
        what = f"the actuator {model.actuator(i).name or i!r}"
        if kind in _ON_JOINT:
            extra = [
                word
                for word in ("damping", "dampingpoly", "armature")
                if np.any(getattr(model, f"actuator_{word}")[i])
            ]
            extra += ["plugin"] if int(model.actuator_plugin[i]) >= 0 else []
            if extra:
                dof = frozenset({int(model.jnt_dofadr[first])})
                yield LeftOutForce(f"{what} ({', '.join(extra)})", dof)
        elif kind == int(mujoco.mjtTrn.mjTRN_TENDON):
            name = model.tendon(first).name or first
            what = f"{what} on the tendon {name!r}"
            yield LeftOutForce(what, tendon_dofs(model, first), couples=True)
        elif kind in (int(mujoco.mjtTrn.mjTRN_SITE), int(mujoco.mjtTrn.mjTRN_SLIDERCRANK)):
            ends = [int(model.site_bodyid[s]) for s in (first, second) if s >= 0]
            yield LeftOutForce(f"{what} on a site", between(model, ends))
        elif kind == int(mujoco.mjtTrn.mjTRN_BODY):
            yield LeftOutForce(f"{what} on a body", frozenset(chain(model, first)))
        else:
            yield LeftOutForce(what, frozenset(range(model.nv)))


def _joints(model: mujoco.MjModel) -> Iterator[LeftOutForce]:
    """Nonlinear springs and dampers, and forces that an option disables."""
    flags = int(model.opt.disableflags)
    bits = mujoco.mjtDisableBit
    for j in range(model.njnt):
        dof = int(model.jnt_dofadr[j])
        off = [
            (f"the joint {model.joint(j).name or j!r} ({word})", bool(np.any(values)))
            for word, values in (
                ("stiffnesspoly", model.jnt_stiffnesspoly[j]),
                ("dampingpoly", model.dof_dampingpoly[dof]),
                ("actuatorgravcomp", model.jnt_actgravcomp[j] and model.body_gravcomp.any()),
                (
                    "its spring, which a flag of the model disables",
                    flags & int(bits.mjDSBL_SPRING) and model.jnt_stiffness[j],
                ),
                (
                    "its damping, which a flag of the model disables",
                    flags & int(bits.mjDSBL_DAMPER) and model.dof_damping[dof],
                ),
                (
                    "its friction, which a flag of the model disables",
                    flags & int(bits.mjDSBL_FRICTIONLOSS | bits.mjDSBL_CONSTRAINT)
                    and model.dof_frictionloss[dof],
                ),
            )
        ]
        yield from (LeftOutForce(what, frozenset({dof})) for what, acts in off if acts)


def _everywhere(model: mujoco.MjModel) -> Iterator[LeftOutForce]:
    """Forces on all links."""
    every = frozenset(range(model.nv))
    if model.opt.density > 0 or model.opt.viscosity > 0:
        yield LeftOutForce("the medium (density, viscosity)", every)
    if model.nflex:
        yield LeftOutForce("flexible bodies (flex)", every)
    if (np.asarray(model.body_plugin) >= 0).any():
        yield LeftOutForce("plugins of bodies", every)
