"""Models without what is only there to be looked at, which compile faster."""

from typing import Any

import mujoco
import numpy as np

from trueup.simulation.body_inertia import inertial_of, make_explicit
from trueup.simulation.spec_view import plain
from trueup.simulation.variants import compile_spec


def remove_visuals(in_spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Return a copy without visual geoms, the meshes of those alone, materials and textures.

    A geom is visual when it collides with nothing and no pair, sensor or tendon names it. A body
    that took its inertia from a removed geom keeps that inertia.

    Raises:
      ModelError: the spec does not compile.
    """
    spec = plain(in_spec).copy()
    before = compile_spec(spec.copy())
    meshes_before = _meshes_in_use(spec)
    named = _named_geoms(spec)
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
    """Geoms that act although they collide with nothing."""
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
