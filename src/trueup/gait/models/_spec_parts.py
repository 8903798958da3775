"""Parts of walkers, added to bodies of an ``MjSpec``.

Body frames are as in OpenSim: x forward, y up, z to the right.
"""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

QUARTER_TURN = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
"""Rotation by 90 degrees about x: from y up to z up."""


ROOT = (
    ("pelvis_tx", "slide", (1.0, 0.0, 0.0)),
    ("pelvis_ty", "slide", (0.0, 1.0, 0.0)),
    ("pelvis_tz", "slide", (0.0, 0.0, 1.0)),
    ("pelvis_tilt", "hinge", (0.0, 0.0, 1.0)),
    ("pelvis_list", "hinge", (1.0, 0.0, 0.0)),
    ("pelvis_rotation", "hinge", (0.0, 1.0, 0.0)),
)
"""Joints of the pelvis, in the order of OpenSim: forward, up, right; tilt (backward), list (to the
right) and rotation (to the left)."""

MIRROR = np.array([1.0, 1.0, -1.0])
"""Mirrors positions from right to left; axes of rotation are mirrored by its negative."""

_FOUND_AND_PLACE = (1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND)) | (
    1 << int(mujoco.mjtConDataField.mjCONDATA_POS)
)
_NET_FORCE = 3
"""Content and reduction of a contact sensor of MuJoCo."""


def set_mass(body: Any, part: Mapping[str, Any], center: ArrayLike) -> None:
    """Set mass and inertia; the second axis of the inertia is that of the joints of the legs.

    Args:
      body: the body, of a ``MjSpec``.
      part: ``mass`` [kg] and ``inertia`` (xx, yy, zz) about the center of mass [kg m2].
      center: center of mass in the body's frame [m].
    """
    xx, yy, zz = part["inertia"]
    body.mass, body.ipos, body.iquat = part["mass"], center, QUARTER_TURN
    body.inertia = (xx, zz, yy)
    body.explicitinertial = True


def add_rod(body: Any, start: ArrayLike, end: ArrayLike, radius: float) -> None:
    """Add a visual capsule without contacts."""
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=np.concatenate([start, end]),
        size=(radius, 0.0, 0.0),
        contype=0,
        conaffinity=0,
        group=1,
        rgba=(0.8, 0.6, 0.4, 1.0),
    )


def add_sole(
    body: Any, name: str, center: ArrayLike, radius: float, friction: float, site: str
) -> None:
    """Add a sphere in contact with the ground only, with a site at its lowest point."""
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=center,
        size=(radius, 0.0, 0.0),
        contype=1,
        conaffinity=0,
        friction=(friction, 0.005, 0.0001),
        rgba=(0.8, 0.6, 0.4, 1.0),
    )
    bottom = np.asarray(center) - (0.0, radius, 0.0)
    body.add_site(name=site, pos=bottom, size=(0.005, 0.005, 0.005))


def add_ground(spec: mujoco.MjSpec, friction: float) -> None:
    """Add a checkered ground plane, a light and a sky."""
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=(0.75, 0.85, 0.95),
        rgb2=(0.95, 0.97, 1.0),
        width=64,
        height=384,
    )
    spec.add_texture(
        name="ground",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=(0.80, 0.84, 0.88),
        rgb2=(0.70, 0.75, 0.80),
        width=128,
        height=128,
    )
    material = spec.add_material(name="ground", texrepeat=(1.0, 1.0), texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "ground"
    spec.worldbody.add_light(pos=(0.0, -3.0, 3.0), dir=(0.0, 0.6, -0.8))
    spec.worldbody.add_geom(
        name="ground-plane",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=(50.0, 2.5, 0.1),
        contype=0,
        conaffinity=1,
        friction=(friction, 0.005, 0.0001),
        material="ground",
    )


def add_touch(spec: mujoco.MjSpec, body: Any, name: str, center: ArrayLike, half: ArrayLike):
    """Add a touch sensor, a box around the soles of a part of the foot."""
    site = f"{name}_touch"
    kind = mujoco.mjtGeom.mjGEOM_BOX
    body.add_site(name=site, type=kind, pos=center, size=half, group=4)
    add_sensor(spec, name, mujoco.mjtSensor.mjSENS_TOUCH, mujoco.mjtObj.mjOBJ_SITE, site)


def add_pressure(spec: mujoco.MjSpec, body: str, name: str) -> None:
    """Add a sensor of the contacts of a foot: their number and their centre of pressure [m].

    Args:
      spec: spec.
      body: body of the foot; contacts of the bodies that it carries count too.
      name: name of the sensor.
    """
    spec.add_sensor(
        name=name,
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=mujoco.mjtObj.mjOBJ_XBODY,
        objname=body,
        # the net force of all contacts, which acts at their centre of pressure
        intprm=(_FOUND_AND_PLACE, _NET_FORCE, 1),
    )


def add_sensor(spec: mujoco.MjSpec, name: str, kind: Any, objtype: Any, target: str) -> None:
    """Add a sensor of a site or a joint."""
    spec.add_sensor(name=name, type=kind, objtype=objtype, objname=target)
