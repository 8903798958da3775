"""Inertia of a body as a parameter: in the spec, and as fields of the compiled model.

MuJoCo keeps mass, centre of mass, and principal moments with the orientation of their axes. The
three parameterisations of :class:`trueup.parameters.InertiaType` are written both ways: into an
``MjSpec`` (one compilation per candidate) and into the fields of a batch (none).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trueup.errors import TargetError, did_you_mean, listing
from trueup.parameters import InertiaType, Parameter, inertial_from_theta, theta_from_inertial
from trueup.parameters.inertia import inertia_matrix, principal_axes
from trueup.simulation.targets.resolution import FieldWrite, element_names

_FIELDS = {"body_mass": 1, "body_ipos": 3, "body_inertia": 3, "body_iquat": 4}


@dataclass(frozen=True)
class Inertial:
    """Inertia of one body in the form of the compiler."""

    mass: float
    """Mass [kg]."""
    ipos: np.ndarray
    """Centre of mass in the body frame [m], ``(3,)``."""
    iquat: np.ndarray
    """Orientation of the principal axes (w, x, y, z)."""
    moments: np.ndarray
    """Principal moments about the centre of mass [kg m^2], ``(3,)``."""

    @property
    def matrix(self) -> np.ndarray:
        """Inertia about the centre of mass in the axes of the body frame ``(3, 3)`` [kg m^2]."""
        return inertia_matrix(self.iquat, self.moments)


def inertial_of(model: mujoco.MjModel, body: str) -> Inertial:
    """Inertia of a body of a compiled model.

    Raises:
      TargetError: no such body.
    """
    i = body_id(model, body)
    return Inertial(
        float(model.body_mass[i]),
        model.body_ipos[i].copy(),
        model.body_iquat[i].copy(),
        model.body_inertia[i].copy(),
    )


def body_id(model: mujoco.MjModel, body: str) -> int:
    """Index of a body by name.

    Raises:
      TargetError: no such body.
    """
    i = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body)
    if i < 0:
        names = element_names(model, "body")
        raise TargetError(
            f"the model has no body {body!r}; available: "
            f"{listing(names)}.{did_you_mean(body, names)}"
        )
    return i


def set_spec_inertial(spec: Any, body: str, inertial: Inertial) -> None:
    """Set an explicit inertia of a body of an ``MjSpec``, which the compiler keeps.

    A model that computes every inertia from geoms (``inertiafromgeom="true"``) must be made
    explicit first: see :func:`make_explicit`.
    """
    element = spec.body(body)
    element.explicitinertial = True
    element.mass = inertial.mass
    element.ipos = inertial.ipos
    # principal moments with their orientation; NaN marks that no full matrix is given
    element.fullinertia = np.array([np.nan, 0, 0, 0, 0, 0])
    element.inertia = inertial.moments
    element.iquat = inertial.iquat


def make_explicit(spec: Any, model: mujoco.MjModel, bodies: Iterable[str]) -> None:
    """Write the compiled inertia of bodies into the spec, so that single values can be changed.

    Where the compiler infers all inertias from geoms, every body is made explicit and the
    inference is switched off: no other body changes.
    """
    wanted = set(bodies)
    if spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        wanted |= {n for n in element_names(model, "body") if n != "world"}
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    for body in wanted:
        set_spec_inertial(spec, body, inertial_of(model, body))


def inertial_from_value(
    base: Inertial, kind: InertiaType, scale_rotation: bool, values: np.ndarray
) -> dict[str, np.ndarray]:
    """Model fields of a body for a batch of parameter values.

    Args:
      base: the body's inertia in the unchanged model.
      kind: parameterisation.
      scale_rotation: scale the rotational inertia with the mass (Mass and MassIpos).
      values: ``(n, 1)``, ``(n, 4)`` or ``(n, 10)``.

    Returns:
      ``body_mass (n, 1)``, ``body_ipos (n, 3)``, ``body_inertia (n, 3)``, ``body_iquat (n, 4)``.
    """
    n = len(values)
    if kind is InertiaType.Pseudo:
        mass, ipos, matrix = inertial_from_theta(values)
        moments, iquat = principal_axes(matrix)
        return {
            "body_mass": mass[:, None],
            "body_ipos": ipos,
            "body_inertia": moments,
            "body_iquat": iquat,
        }
    mass = values[:, :1]
    ipos = values[:, 1:4] if kind is InertiaType.MassIpos else np.tile(base.ipos, (n, 1))
    ratio = mass / base.mass if scale_rotation else np.ones((n, 1))
    return {
        "body_mass": mass,
        "body_ipos": ipos,
        "body_inertia": base.moments * ratio,
        "body_iquat": np.tile(base.iquat, (n, 1)),
    }


class BodyInertiaModifier:
    """Modifier of a parameter made by ``body_inertia_param``: writes the value into a spec.

    It changes values relative to the inertia at construction, so it is idempotent and needs no
    extra compilation.
    """

    from_inertia_type = True
    """Whether body and parameterisation in a file fully define this modifier."""

    def __init__(self, body: str, base: Inertial, model: mujoco.MjModel):
        self.body = body
        self.base = base
        self.model = model

    def __call__(self, spec: Any, param: Parameter) -> None:
        kind = param.inertia_type or InertiaType.Mass
        fields = inertial_from_value(
            self.base, kind, param.scale_rot_inertia, param.as_vector()[None, :]
        )
        make_explicit(spec, self.model, [self.body])
        set_spec_inertial(
            spec,
            self.body,
            Inertial(
                float(fields["body_mass"][0, 0]),
                fields["body_ipos"][0],
                fields["body_iquat"][0],
                fields["body_inertia"][0],
            ),
        )


def inertia_writes(model: mujoco.MjModel, body: str) -> dict[str, FieldWrite]:
    """Entries of the fields of :func:`inertial_from_value` in the compiled model."""
    i = body_id(model, body)
    return {
        field: FieldWrite(field, i * width + np.arange(width), np.arange(width))
        for field, width in _FIELDS.items()
    }


def theta_of(inertial: Inertial) -> np.ndarray:
    """Log-Cholesky coordinates ``(10,)`` of an inertia.

    Raises:
      TargetError: the inertia is not physical.
    """
    try:
        return theta_from_inertial(inertial.mass, inertial.ipos, inertial.matrix)
    except np.linalg.LinAlgError as error:
        raise TargetError(
            f"the inertia with mass {inertial.mass:g} and principal moments {inertial.moments} is "
            f"not that of a rigid body with volume (each moment must be below the sum of the "
            f"other two); correct the model before identifying the full inertia"
        ) from error
