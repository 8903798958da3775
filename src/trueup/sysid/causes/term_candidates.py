"""Candidates for missing terms: attributes of joints, bodies and actuators that are not fitted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np

from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.targets.resolution import resolve

SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
TURNS = int(mujoco.mjtJoint.mjJNT_HINGE)
PREFIX = "missing "
"""Prefix of the name of a candidate, which no parameter of an experiment file has."""


@dataclass(frozen=True)
class Kind:
    """A kind of term, one value for each joint, body or actuator."""

    label: str
    """Its name, as the subject of a sentence."""
    element: str
    """``joint``, ``body`` or ``actuator``."""
    attribute: str
    field: str
    """Field of a compiled model with the values."""
    reach: float
    """Upper bound relative to the inertia about the joint [N m, 1/s, ...], or to the mass."""
    units: tuple[str, str]
    """Unit for a hinge or a body, and for a slide."""


KINDS = {
    "friction": Kind(
        "Coulomb friction", "joint", "frictionloss", "dof_frictionloss", 1e4, ("N m", "N")
    ),
    "damping": Kind(
        "viscous friction", "joint", "damping", "dof_damping", 1e3, ("N m s/rad", "N s/m")
    ),
    "armature": Kind("armature", "joint", "armature", "dof_armature", 1e3, ("kg m^2", "kg")),
    "stiffness": Kind("a spring", "joint", "stiffness", "jnt_stiffness", 1e5, ("N m/rad", "N/m")),
    "mass": Kind("mass", "body", "mass", "body_mass", 10.0, ("kg", "kg")),
    "offset": Kind(
        "a constant force",
        "actuator",
        "biasprm/0",
        "actuator_biasprm",
        1e4,
        ("N m", "N"),
    ),
}
"""Kinds by name, in order of priority."""


class _Element(NamedTuple):
    """A joint, body or actuator, and its value for a kind."""

    name: str
    entry: int
    """Flat index in the field."""
    value: float
    unit: str
    inertia: float
    """Inertia about the joint [kg m^2, kg]; 1 for a body."""


@dataclass(frozen=True)
class Force:
    """A force on a joint as a function of its recorded speed."""

    joint: str
    actuator: str
    """Name of the motor that applies it."""
    shape: str
    """Its dependence on speed."""
    size: float
    """Root mean square speed of the joint [rad/s, m/s]."""


@dataclass(frozen=True)
class Candidate:
    """One attribute of the model that is tested as an additional parameter."""

    kind: str
    where: str
    """Name of the joint, body or actuator."""
    parameter: Parameter
    """The parameter, at its value in the model."""
    replaces: str = ""
    """Frozen parameter that it replaces; empty if there is none."""
    note: str = ""
    """Note on its value in a sentence."""
    force: Force | None = None
    """The force of the value, if the model has no attribute for it."""
    guesses: tuple[float, ...] = ()
    """Start values for a search along it, where the value of the model has no gradient."""
    follows: bool = False
    """Whether it has an effect only with another one of its kind, and is fitted with that."""

    @property
    def given(self) -> float:
        """Value in the model."""
        return float(self.parameter.as_vector()[0])


def candidates(
    models: Sequence[mujoco.MjModel], parameters: ParameterDict, kinds: Sequence[str]
) -> list[Candidate]:
    """Attributes of the model without a free parameter.

    Args:
      models: the models of the recordings; an attribute must be equal in all.
      parameters: parameters of the experiment.
      kinds: keys of :data:`KINDS`.
    """
    model = models[0]
    taken, frozen = _taken(model, parameters)
    out = []
    for key in kinds:
        kind = KINDS[key]
        if key == "mass" and any(p.inertia_type is not None for p in parameters.values()):
            continue  # links are already parameters
        for name, entry, value, unit, scale in _elements(model, kind):
            if (kind.field, entry) in taken:
                continue
            if any(_value(other, kind, name) != value for other in models[1:]):
                continue
            held = frozen.get((kind.field, entry))
            if held is not None:
                value = float(held.as_vector()[0])
            upper = max(kind.reach * (value if key == "mass" else scale), 10.0 * value)
            lower = {"mass": 0.1 * value, "offset": -upper}.get(key, 0.0)
            if not lower <= value < upper:
                continue  # skip a negative damping, or a massless body
            target = f"{kind.element}/{name}/{kind.attribute}"
            parameter = Parameter(
                f"{PREFIX}{target}", value, lower, upper, target=target, unit=unit
            )
            out.append(Candidate(key, name, parameter, "" if held is None else held.name))
    return out


def extended(parameters: ParameterDict, more: Sequence[Any]) -> ParameterDict:
    """The parameters followed by candidates, which replace their frozen parameters."""
    replaced = {c.replaces for c in more}
    out = ParameterDict()
    for param in parameters.copy().values():
        if param.name not in replaced:
            out.add(param)
    for candidate in more:
        param = candidate.parameter
        out.add(param)
    return out


def _value(model: mujoco.MjModel, kind: Kind, name: str) -> float:
    """Value of a named element; NaN if it is not in the model."""
    return next((e.value for e in _elements(model, kind) if e.name == name), np.nan)


def _elements(model: mujoco.MjModel, kind: Kind) -> list[_Element]:
    """Named elements of a kind, of scalar joints and moving bodies."""
    field = getattr(model, kind.field)
    out: list[_Element] = []
    if kind.element == "body":
        moves = set(np.flatnonzero(model.body_weldid != 0).tolist())
        for b in range(1, model.nbody):
            name = model.body(b).name
            if name and b in moves and model.body_mass[b] > 0:
                out.append(_Element(name, b, float(field[b]), kind.units[0], 1.0))
        return out
    if kind.element == "actuator":
        return affine_actuators(model)
    for j in range(model.njnt):
        name = model.joint(j).name
        if not name or int(model.jnt_type[j]) not in SCALAR:
            continue
        dof = int(model.jnt_dofadr[j])
        entry = j if kind.field.startswith("jnt_") else dof
        unit = kind.units[0 if int(model.jnt_type[j]) == TURNS else 1]
        inertia = max(float(model.dof_M0[dof]), 1e-6)
        out.append(_Element(name, entry, float(np.ravel(field[entry])[0]), unit, inertia))
    return out


def affine_actuators(model: mujoco.MjModel) -> list[_Element]:
    """Affine actuators (servos on joints) with the value of their constant force."""
    out, kind = [], KINDS["offset"]
    for i in range(model.nu):
        name, joint = model.actuator(i).name, int(model.actuator_trnid[i, 0])
        affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
        on_joint = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        if not name or not affine or not on_joint or int(model.jnt_type[joint]) not in SCALAR:
            continue
        unit = kind.units[0 if int(model.jnt_type[joint]) == TURNS else 1]
        inertia = max(float(model.dof_M0[int(model.jnt_dofadr[joint])]), 1e-6)
        value = float(model.actuator_biasprm[i, 0])
        out.append(_Element(name, i * model.actuator_biasprm.shape[1], value, unit, inertia))
    return out


def is_taken(model: mujoco.MjModel, target: str, taken: Collection[tuple[str, int]]) -> bool:
    """Whether parameters write any entry of a target.

    Args:
      model: the model.
      target: target of a scalar.
      taken: from :func:`taken_entries`.
    """
    found = resolve(target, model, 1, np.full(1, np.inf))
    return any((write.field, int(e)) in taken for write in found.fields for e in write.entries)


def taken_entries(model: mujoco.MjModel, parameters: ParameterDict) -> set[tuple[str, int]]:
    """Entries of fields that parameters write, including frozen ones."""
    taken, frozen = _taken(model, parameters)
    return taken | set(frozen)


def _taken(
    model: mujoco.MjModel, parameters: ParameterDict
) -> tuple[set[tuple[str, int]], dict[tuple[str, int], Parameter]]:
    """Entries of fields that parameters write, and those of frozen scalars."""
    taken: set[tuple[str, int]] = set()
    frozen: dict[tuple[str, int], Parameter] = {}
    tied = {p.tied_to for p in parameters.values()}
    for param in parameters.values():
        entries: set[tuple[str, int]] = set()
        for target in param.targets:
            if target.startswith("state/"):
                continue
            found = resolve(target, model, param.size, np.full(param.size, np.inf))
            for write in found.fields:
                entries |= {(write.field, int(e)) for e in write.entries}
        of_one_kind = param.size == 1 and len({field for field, _ in entries}) == 1
        if param.frozen and of_one_kind and param.name not in tied and param.tied_to is None:
            frozen.update(dict.fromkeys(entries, param))
        else:
            taken |= entries
    return taken, frozen
