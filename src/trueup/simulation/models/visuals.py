"""Models without visual geoms, meshes, materials and textures, which compile faster."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any

import mujoco
import numpy as np

from trueup.simulation.targets.body_inertia import inertial_of, make_explicit
from trueup.simulation.targets.spec_view import plain
from trueup.simulation.targets.variants import compile_spec

_SEEING = tuple(
    int(getattr(mujoco.mjtSensor, f"mjSENS_{kind}"))
    for kind in ("RANGEFINDER", "GEOMDIST", "GEOMNORMAL", "GEOMFROMTO", "PLUGIN", "USER")
)  # sensors that may detect a geom without contacts and references

_NOT_GEOMS = ("mesh", "material", "texture", "skin", "option", "opt")
"""Kinds of targets that may change the effect of a geom without contacts."""

_SIZES = ("nq", "nv", "na", "nu", "nbody", "nsensordata", "ntendon", "neq", "npair", "nsite")


def simulated_spec(in_spec: mujoco.MjSpec, targets: Iterable[str] = ()) -> mujoco.MjSpec:
    """Return the spec without visual elements, to save memory.

    A batch of simulations has several compiled models, and visual meshes are nearly all of their
    size.

    Args:
      in_spec: the model; it is not changed.
      targets: targets of parameters, such as ``geom/foot/friction``, with elements to keep.

    Returns:
      A copy without visual geoms, see :func:`remove_visuals`; the spec itself where it has no mesh
      and no texture, or where a visual element may affect the motion.

    Raises:
      ModelError: the spec does not compile.
    """
    heavy = list(in_spec.meshes) or list(in_spec.textures)
    parts = [target.split("/") for target in targets]
    if not heavy or any(p[0] in _NOT_GEOMS for p in parts):
        return in_spec
    option = in_spec.option
    if option.density or option.viscosity or any(int(s.type) in _SEEING for s in in_spec.sensors):
        return in_spec
    whole = compile_spec(plain(in_spec).copy())
    bare = _without_visuals(in_spec, {p[1] for p in parts if p[0] == "geom" and len(p) > 1})
    return bare if _moves_alike(whole, compile_spec(bare.copy())) else in_spec


def remove_visuals(in_spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Return a copy without visual geoms, the meshes of those alone, materials and textures.

    A geom is visual if it has no contacts and no pair, sensor or tendon refers to it. A body
    with inertia from a removed geom keeps that inertia.

    Args:
      in_spec: the model; it is not changed.

    Raises:
      ModelError: the spec does not compile.
    """
    return _without_visuals(in_spec)


def _without_visuals(in_spec: mujoco.MjSpec, keep: Collection[str] = ()) -> mujoco.MjSpec:
    """Return the copy; geoms with names or patterns in ``keep``, such as ``foot_*``, are kept."""
    spec = plain(in_spec).copy()
    before = compile_spec(spec.copy())
    meshes_before = _meshes_in_use(spec)
    named = _named_geoms(spec)
    named |= {g.name for g in spec.geoms if g.name and any(fnmatchcase(g.name, k) for k in keep)}
    for geom in list(spec.geoms):
        if geom.contype == 0 and geom.conaffinity == 0 and geom.name not in named:
            spec.delete(geom)
    unused = meshes_before - _meshes_in_use(spec)
    for mesh in list(spec.meshes):
        if mesh.name in unused:
            spec.delete(mesh)
    for element in (*spec.geoms, *spec.sites, *spec.tendons, *spec.skins, *spec.flexes):
        element.material = ""
    for asset in (*spec.materials, *spec.textures):
        spec.delete(asset)
    after = compile_spec(spec.copy())
    bodies = [b.name for b in spec.bodies if b.name and b.name != "world"]
    changed = [b for b in bodies if not _same_inertia(before, after, b)]
    if changed:
        make_explicit(spec, before, changed)
    compile_spec(spec)
    return spec


def _meshes_in_use(spec: Any) -> set[str]:
    return {geom.meshname for geom in spec.geoms if geom.meshname}


def _named_geoms(spec: Any) -> set[str]:
    """Geoms with an effect although they have no contacts."""
    pairs = {name for pair in spec.pairs for name in (pair.geomname1, pair.geomname2)}
    geom = mujoco.mjtObj.mjOBJ_GEOM
    sensors = {s.objname for s in spec.sensors if s.objtype == geom}
    references = {s.refname for s in spec.sensors if s.reftype == geom}
    wrapped = {w.target.name for t in spec.tendons for w in t.path if w.target is not None}
    return (pairs | sensors | references | wrapped) - {""}


def _same_inertia(before: mujoco.MjModel, after: mujoco.MjModel, body: str) -> bool:
    first, second = inertial_of(before, body), inertial_of(after, body)
    return bool(
        np.isclose(first.mass, second.mass, rtol=1e-12)
        and np.allclose(first.ipos, second.ipos, rtol=0, atol=1e-12)
        and np.allclose(first.matrix, second.matrix, rtol=1e-9, atol=0)
    )


def _moves_alike(whole: mujoco.MjModel, bare: mujoco.MjModel) -> bool:
    """Whether two models have the same parts, the same inertias and the same colliding geoms."""
    if any(getattr(whole, size) != getattr(bare, size) for size in _SIZES):
        return False
    collides = [((m.geom_contype | m.geom_conaffinity) != 0).sum() for m in (whole, bare)]
    fields = ("body_mass", "body_inertia", "body_ipos", "dof_armature", "dof_damping")
    return collides[0] == collides[1] and all(
        np.allclose(getattr(whole, f), getattr(bare, f), rtol=1e-9, atol=1e-12) for f in fields
    )
