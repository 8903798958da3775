"""Attributes of targets: the compiled field of each and its attribute in the spec."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

Locate = Callable[[mujoco.MjModel, int], np.ndarray]
"""``locate(model, element id)`` -> flat indices into the field that the attribute covers."""


@dataclass(frozen=True)
class Part:
    """A field of the compiled model that an attribute writes, with its factor."""

    field: str
    locate: Locate
    factor: float = 1.0


@dataclass(frozen=True)
class Attribute:
    """One attribute of a kind of element, such as the armature of a joint."""

    parts: tuple[Part, ...]
    """Compiled fields; all but the first follow the first (``kp`` writes gain and bias)."""
    write: Callable[[Any, int, float], None]
    """``write(spec element, index, value)`` sets one number in the ``MjSpec``."""
    shared: bool = False
    """One number for all covered entries (a ball joint's three armatures)."""
    width: int = 0
    """Number of values of the attribute in the spec, where an element covers several rows (the
    degrees of freedom of a ball joint); 0 for one row."""
    lowest: float = -np.inf
    """Physical lower bound of the value."""
    strict: bool = False
    """Whether the value must be greater than ``lowest``, not equal."""
    buffer: str = ""
    """Field with the number of samples that a delay may span; longer delays are clipped."""
    needs: str = ""
    """Field that must be nonzero for an effect of the value: a limit flag, a history buffer."""
    acts: Callable[[mujoco.MjModel, int], Any] | None = None
    """Whether the value has an effect on an element, where one field does not determine it."""
    needs_advice: str = ""
    """Advice for an attribute without effect: the change in the MJCF."""
    angle: bool = False
    """Whether the spec uses degrees for a hinge or ball joint."""


def _rows(field: str) -> Locate:
    """All entries of the element's row of ``field``."""

    def locate(model: mujoco.MjModel, element: int) -> np.ndarray:
        width = int(np.prod(getattr(model, field).shape[1:], dtype=int))
        return element * width + np.arange(width)

    return locate


def _entry(field: str, index: int) -> Locate:
    """One entry of the element's row of ``field``."""

    def locate(model: mujoco.MjModel, element: int) -> np.ndarray:
        return _rows(field)(model, element)[index : index + 1]

    return locate


def _at(field: str, address: str) -> Locate:
    """First row of an element in a field with a row for each control or force, from ``address``."""

    def locate(model: mujoco.MjModel, element: int) -> np.ndarray:
        width = int(np.prod(getattr(model, field).shape[1:], dtype=int))
        return int(getattr(model, address)[element]) * width + np.arange(width)

    return locate


def _dofs(width: int = 1, offset: int = 0, count: int = 1) -> Locate:
    """Entries of a joint's degrees of freedom in a field with ``width`` entries each."""

    def locate(model: mujoco.MjModel, element: int) -> np.ndarray:
        sizes = {int(mujoco.mjtJoint.mjJNT_FREE): 6, int(mujoco.mjtJoint.mjJNT_BALL): 3}
        first = model.jnt_dofadr[element]
        dofs = first + np.arange(sizes.get(int(model.jnt_type[element]), 1))
        return (dofs[:, None] * width + offset + np.arange(count)).reshape(-1)

    return locate


def _scalar(name: str) -> Callable[[Any, int, float], None]:
    def write(element: Any, index: int, value: float) -> None:
        setattr(element, name, value)

    return write


def _vector(name: str, offset: int = 0) -> Callable[[Any, int, float], None]:
    def write(element: Any, index: int, value: float) -> None:
        # MjSpec vectors are live views, but every version of the bindings documents assignment
        values = np.array(getattr(element, name), float)
        values[offset + index] = value
        setattr(element, name, values)

    return write


def _plain(field: str, spec: str, **options: Any) -> Attribute:
    return Attribute((Part(field, _rows(field)),), _scalar(spec), shared=True, **options)


def _plain_vector(field: str, spec: str, **options: Any) -> Attribute:
    return Attribute((Part(field, _rows(field)),), _vector(spec), **options)


def _write_symmetric(name: str) -> Callable[[Any, int, float], None]:
    def write(element: Any, index: int, value: float) -> None:
        setattr(element, name, (-value, value))

    return write


def _symmetric(field: str, name: str, **options: Any) -> Attribute:
    """Size of a range that is symmetric about zero."""
    parts = (Part(field, _entry(field, 1)), Part(field, _entry(field, 0), -1.0))
    return Attribute(parts, _write_symmetric(name), shared=True, lowest=0.0, strict=True, **options)


def _write_geom_pos(geom: Any, index: int, value: float) -> None:
    ends = np.array(geom.fromto, float)
    if not np.isfinite(ends).all():
        _vector("pos")(geom, index, value)
        return
    # a geom defined by fromto has its position in the middle
    ends[[index, index + 3]] += value - (ends[index] + ends[index + 3]) / 2
    geom.fromto = ends


_JOINT_LIMIT = {
    "needs": "jnt_limited",
    "needs_advice": 'set limited="true" and a range on the joint',
}
_ACTUATOR_HISTORY = {
    "buffer": "actuator_history",
    "needs": "actuator_history",
    "needs_advice": "give the actuator a history buffer in the MJCF (nsample, delay, interp)",
}

ATTRIBUTES: dict[str, dict[str, Attribute]] = {
    "joint": {
        "armature": Attribute(
            (Part("dof_armature", _dofs()),), _scalar("armature"), shared=True, lowest=0.0
        ),
        "frictionloss": Attribute(
            (Part("dof_frictionloss", _dofs()),), _scalar("frictionloss"), shared=True, lowest=0.0
        ),
        "damping": Attribute((Part("dof_damping", _dofs()),), _vector("damping"), shared=True),
        "dampingpoly": Attribute(
            (Part("dof_dampingpoly", _rows("dof_dampingpoly")),), _vector("damping", 1)
        ),
        "stiffness": Attribute(
            (Part("jnt_stiffness", _rows("jnt_stiffness")),), _vector("stiffness"), shared=True
        ),
        "stiffnesspoly": Attribute(
            (Part("jnt_stiffnesspoly", _rows("jnt_stiffnesspoly")),), _vector("stiffness", 1)
        ),
        "springref": Attribute(
            (Part("qpos_spring", lambda m, j: m.jnt_qposadr[j : j + 1]),),
            _scalar("springref"),
            shared=True,
            angle=True,
        ),
        "ref": Attribute(
            (Part("qpos0", lambda m, j: m.jnt_qposadr[j : j + 1]),), _scalar("ref"), angle=True
        ),
        "pos": _plain_vector("jnt_pos", "pos"),
        "range": _plain_vector("jnt_range", "range", angle=True, **_JOINT_LIMIT),
        "solref_limit": _plain_vector("jnt_solref", "solref_limit", **_JOINT_LIMIT),
        "solimp_limit": _plain_vector("jnt_solimp", "solimp_limit", **_JOINT_LIMIT),
        "solref_friction": Attribute(
            (Part("dof_solref", _dofs(2, 0, 2)),), _vector("solref_friction"), width=2
        ),
        "solimp_friction": Attribute(
            (Part("dof_solimp", _dofs(5, 0, 5)),), _vector("solimp_friction"), width=5
        ),
        "actfrcrange": _plain_vector(
            "jnt_actfrcrange",
            "actfrcrange",
            needs="jnt_actfrclimited",
            needs_advice="set actfrcrange on the joint in the MJCF",
        ),
        "actfrclimit": _symmetric(
            "jnt_actfrcrange",
            "actfrcrange",
            needs="jnt_actfrclimited",
            needs_advice="set actfrcrange on the joint in the MJCF",
        ),
    },
    "body": {
        "mass": _plain("body_mass", "mass", lowest=0.0, strict=True),
        "inertia": _plain_vector("body_inertia", "inertia", lowest=0.0, strict=True),
        "ipos": _plain_vector("body_ipos", "ipos"),
        "pos": _plain_vector("body_pos", "pos"),
        "gravcomp": _plain("body_gravcomp", "gravcomp"),
    },
    "geom": {
        "friction": _plain_vector("geom_friction", "friction", lowest=0.0),
        "size": _plain_vector("geom_size", "size", lowest=0.0, strict=True),
        "pos": Attribute((Part("geom_pos", _rows("geom_pos")),), _write_geom_pos),
        "solref": _plain_vector("geom_solref", "solref"),
        "solimp": _plain_vector("geom_solimp", "solimp"),
        "margin": _plain("geom_margin", "margin"),
        "gap": _plain("geom_gap", "gap"),
    },
    "actuator": {
        "gear": Attribute(
            (Part("actuator_gear", _at("actuator_gear", "actuator_outadr")),), _vector("gear")
        ),
        "gainprm": _plain_vector("actuator_gainprm", "gainprm"),
        "biasprm": _plain_vector(
            "actuator_biasprm",
            "biasprm",
            needs="actuator_biastype",
            needs_advice='write the actuator as general with biastype="affine" in the MJCF',
        ),
        "dynprm": _plain_vector(
            "actuator_dynprm",
            "dynprm",
            needs="actuator_dyntype",
            needs_advice="give the actuator a dyntype or a timeconst in the MJCF",
        ),
        "armature": _plain("actuator_armature", "armature", lowest=0.0),
        "damping": Attribute(
            (Part("actuator_damping", _rows("actuator_damping")),), _vector("damping"), shared=True
        ),
        "ctrlrange": Attribute(
            (Part("actuator_ctrlrange", _at("actuator_ctrlrange", "actuator_ctrladr")),),
            _vector("ctrlrange"),
            acts=lambda m, i: m.actuator_ctrllimited[m.actuator_ctrladr[i]],
            needs_advice="set ctrlrange on the actuator in the MJCF",
        ),
        "forcerange": _plain_vector(
            "actuator_forcerange",
            "forcerange",
            needs="actuator_forcelimited",
            needs_advice="set forcerange on the actuator in the MJCF",
        ),
        "forcelimit": _symmetric(
            "actuator_forcerange",
            "forcerange",
            needs="actuator_forcelimited",
            needs_advice="set forcerange on the actuator in the MJCF",
        ),
        "delay": _plain("actuator_delay", "delay", lowest=0.0, **_ACTUATOR_HISTORY),
    },
    "sensor": {
        "delay": _plain(
            "sensor_delay",
            "delay",
            lowest=0.0,
            buffer="sensor_history",
            needs="sensor_history",
            needs_advice="give the sensor a history buffer in the MJCF (nsample, delay, interp)",
        ),
        "cutoff": _plain("sensor_cutoff", "cutoff", lowest=0.0),
    },
    "tendon": {
        "stiffness": Attribute(
            (Part("tendon_stiffness", _rows("tendon_stiffness")),),
            _vector("stiffness"),
            shared=True,
        ),
        "damping": Attribute(
            (Part("tendon_damping", _rows("tendon_damping")),), _vector("damping"), shared=True
        ),
        "frictionloss": _plain("tendon_frictionloss", "frictionloss", lowest=0.0),
        "armature": _plain("tendon_armature", "armature", lowest=0.0),
        "springlength": _plain_vector("tendon_lengthspring", "springlength"),
    },
    "site": {"pos": _plain_vector("site_pos", "pos")},
    "pair": {
        "friction": _plain_vector("pair_friction", "friction", lowest=0.0),
        "solref": _plain_vector("pair_solref", "solref"),
        "solimp": _plain_vector("pair_solimp", "solimp"),
        "margin": _plain("pair_margin", "margin"),
        "gap": _plain("pair_gap", "gap"),
    },
    "equality": {
        "data": _plain_vector("eq_data", "data"),
        "solref": _plain_vector("eq_solref", "solref"),
        "solimp": _plain_vector("eq_solimp", "solimp"),
    },
}
"""Attributes by kind of element and name; those of one type of actuator are in
:data:`~trueup.simulation.targets.actuator_targets.ACTUATOR_TARGETS`."""

OPTIONS: dict[str, int] = {
    "timestep": 1,
    "gravity": 3,
    "wind": 3,
    "magnetic": 3,
    "density": 1,
    "viscosity": 1,
    "impratio": 1,
    "o_margin": 1,
    "o_solref": 2,
    "o_solimp": 5,
    "o_friction": 5,
}
"""Number of values of each physics option of ``option/<name>``. The integrator and the solver are
settings of an experiment, not parameters. The time step as a parameter is the time of the machine
per step of the simulation: samples keep their steps, so that it is the rate of their clock."""

OBJECT_TYPES = {
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "sensor": mujoco.mjtObj.mjOBJ_SENSOR,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
    "equality": mujoco.mjtObj.mjOBJ_EQUALITY,
}

COUNTS = {
    "joint": "njnt",
    "body": "nbody",
    "geom": "ngeom",
    "actuator": "nactuator",
    "sensor": "nsensor",
    "tendon": "ntendon",
    "site": "nsite",
    "pair": "npair",
    "equality": "neq",
}
