"""Forces of a model that inverse dynamics does not support.

Supported are rigid links, armature, damping, friction and springs of joints, and actuators on
joints. Other forces on a joint are listed here, and its torque is not compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import listing

_ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_EQUALITIES = {
    int(mujoco.mjtEq.mjEQ_CONNECT): "connect",
    int(mujoco.mjtEq.mjEQ_WELD): "weld",
    int(mujoco.mjtEq.mjEQ_JOINT): "joint",
    int(mujoco.mjtEq.mjEQ_TENDON): "tendon",
}
LOOPS = ("connect", "weld")
"""Equalities that close a loop of links."""


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
    """Degrees of freedom with a force that inverse dynamics does not support."""
    return {dof for force in left_out_forces(model) for dof in force.dofs}


def torque_is_known(model: mujoco.MjModel, joint: int) -> bool:
    """Whether the torque of a joint is determined by its motion and the links it carries.

    It is not with an unsupported force, nor next to a loop, as its links move with the joint.
    """
    forces = left_out_forces(model)
    dof = int(model.jnt_dofadr[joint])
    return not any(dof in force.dofs or force.loop for force in forces)


def left_out_sentence(model: mujoco.MjModel, dofs: Iterable[int] | None = None) -> str:
    """Sentence on unsupported forces on degrees of freedom; empty for none.

    Args:
      model: the model.
      dofs: degrees of freedom; None: all.
    """
    wanted = set(range(model.nv)) if dofs is None else set(dofs)
    acting = [force for force in left_out_forces(model) if not wanted.isdisjoint(force.dofs)]
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
    flags = int(model.opt.disableflags)
    off = int(mujoco.mjtDisableBit.mjDSBL_EQUALITY) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for i in range(model.neq):
        if not model.eq_active0[i] or flags & off:
            continue
        kind = _EQUALITIES.get(int(model.eq_type[i]), "flex")
        ends = [int(model.eq_obj1id[i]), int(model.eq_obj2id[i])]
        name = model.equality(i).name
        what = f"the equality {name!r} ({kind})" if name else f"the {kind} equality {i}"
        if kind in LOOPS:
            if int(model.eq_objtype[i]) == int(mujoco.mjtObj.mjOBJ_SITE):
                ends = [int(model.site_bodyid[s]) for s in ends]
            # forces on both ends cancel at the joints that carry both
            yield i, LeftOutForce(what, _between(model, ends), True)
        elif kind == "joint":
            dofs = frozenset(int(model.jnt_dofadr[j]) for j in ends if j >= 0)
            yield i, LeftOutForce(what, dofs, couples=True)
        elif kind == "tendon":
            both = [_of_tendon(model, t) for t in ends if t >= 0]
            yield i, LeftOutForce(what, frozenset().union(*both), couples=True)
        else:
            yield i, LeftOutForce(what, frozenset(range(model.nv)))


def _tendons(model: mujoco.MjModel) -> Iterator[LeftOutForce]:
    """Tendons with a passive force or a limit."""
    fields = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature")
    for tendon in range(model.ntendon):
        acts = [n for n in fields if np.any(getattr(model, f"tendon_{n}")[tendon])]
        acts += ["limit"] if model.tendon_limited[tendon] else []
        if acts:
            name = model.tendon(tendon).name or tendon
            what = f"the tendon {name!r} ({', '.join(acts)})"
            yield LeftOutForce(what, _of_tendon(model, tendon), couples=True)


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
            yield LeftOutForce(what, _of_tendon(model, first), couples=True)
        elif kind in (int(mujoco.mjtTrn.mjTRN_SITE), int(mujoco.mjtTrn.mjTRN_SLIDERCRANK)):
            ends = [int(model.site_bodyid[s]) for s in (first, second) if s >= 0]
            yield LeftOutForce(f"{what} on a site", _between(model, ends))
        elif kind == int(mujoco.mjtTrn.mjTRN_BODY):
            yield LeftOutForce(f"{what} on a body", frozenset(_chain(model, first)))
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


def _chain(model: mujoco.MjModel, body: int) -> set[int]:
    """Degrees of freedom that carry a body."""
    out: set[int] = set()
    while body > 0:
        first = int(model.body_dofadr[body])
        out.update(range(first, first + int(model.body_dofnum[body])) if first >= 0 else ())
        body = int(model.body_parentid[body])
    return out


def _between(model: mujoco.MjModel, bodies: Sequence[int]) -> frozenset[int]:
    """Degrees of freedom that carry some but not all of several bodies; all of a single one."""
    chains = [_chain(model, body) for body in bodies]
    every = set().union(*chains)
    return frozenset(every - set.intersection(*chains) if len(chains) > 1 else every)


def _of_tendon(model: mujoco.MjModel, tendon: int) -> frozenset[int]:
    first = int(model.tendon_adr[tendon])
    dofs: set[int] = set()
    bodies = []
    for k in range(first, first + int(model.tendon_num[tendon])):
        kind, element = int(model.wrap_type[k]), int(model.wrap_objid[k])
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            dofs.add(int(model.jnt_dofadr[element]))
        elif kind == int(mujoco.mjtWrap.mjWRAP_SITE):
            bodies.append(int(model.site_bodyid[element]))
        elif kind != int(mujoco.mjtWrap.mjWRAP_PULLEY):
            bodies.append(int(model.geom_bodyid[element]))
    return frozenset(dofs | (_between(model, bodies) if bodies else set()))
