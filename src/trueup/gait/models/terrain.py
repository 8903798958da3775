"""Ground with a slope or with stairs."""

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import GaitError

STEEPEST_SLOPE = 30.0
"""Largest slope of the ground [deg]."""

DEEP = 1.0
"""Depth of the step boxes below the lowest step [m]."""

LANDING = 200.0
"""Length of the level ground before and after stairs [m]."""

WIDTH = 5.0
"""Half width of stairs [m]."""


@dataclass(frozen=True)
class Stairs:
    """Stairs in the direction of walking.

    Raises:
      GaitError: a size is outside its range.
    """

    rise: float
    """Height of a step, negative for descending stairs [m]."""
    run: float
    """Tread depth of a step [m]."""
    start: float = 2.0
    """Distance of the first step from the start of the walk [m]."""
    count: int = 100
    """Number of steps."""

    def __post_init__(self):
        if not 0.0 < abs(self.rise) <= 0.4:
            raise GaitError(
                f"the rise of the stairs is {self.rise:g} m; its magnitude must be above 0 and at "
                "most 0.4 m, negative for descending stairs"
            )
        if not 0.1 <= self.run <= 2.0:
            raise GaitError(f"the run of the stairs is {self.run:g} m; it must be from 0.1 to 2 m")
        if not self.start >= 0.5:
            raise GaitError(
                f"the stairs start at {self.start:g} m; the distance must be at least 0.5 m"
            )
        if not 1 <= self.count <= 1000:
            raise GaitError(f"the number of steps is {self.count}; it must be from 1 to 1000")

    def height(self, x: np.ndarray) -> np.ndarray:
        """Height of the ground at positions along the direction of walking [m]."""
        return step_height(np.asarray(x), self.start, self.run, self.rise, self.count)


def step_height(x, start, run, rise, count):
    """Height of stairs at positions ``x`` along the direction of walking [m].

    For arrays, and compiled for scalars; the other arguments are those of :class:`Stairs`.
    """
    step = np.floor((x - start) / run) + 1.0
    return rise * np.minimum(np.maximum(step, 0.0), count)


def ramp_height(x, start, run, rise, count):
    """Height of a ramp through the middle of each step of stairs [m]; arguments as
    :func:`step_height`."""
    step = (x - start) / run + 0.5
    return rise * np.minimum(np.maximum(step, 0.0), count)


def add_stairs(spec: mujoco.MjSpec, stairs: Stairs) -> None:
    """Build stairs on the ground plane of a model, with the contacts of the plane.

    Raises:
      GaitError: the model has no ground plane.
    """
    planes = [geom for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_PLANE]
    if not planes:
        raise GaitError("the model has no ground plane, which stairs require")
    plane = planes[0]
    pairs = [pair for pair in spec.pairs if plane.name in (pair.geomname1, pair.geomname2)]
    lowest = min(0.0, stairs.rise * stairs.count)
    edges = stairs.start + stairs.run * np.arange(stairs.count + 1)
    columns = [(-LANDING, edges[0], 0.0)] if stairs.rise < 0.0 else []
    columns += [(edges[k], edges[k + 1], stairs.rise * (k + 1)) for k in range(stairs.count - 1)]
    columns.append((edges[-2], edges[-1] + LANDING, stairs.rise * stairs.count))
    floor = lowest - DEEP
    for k, (start, end, top) in enumerate(columns):
        name = f"step_{k}"
        spec.worldbody.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(0.5 * (start + end), 0.0, 0.5 * (top + floor)),
            size=(0.5 * (end - start), WIDTH, 0.5 * (top - floor)),
            contype=plane.contype,
            conaffinity=plane.conaffinity,
            condim=plane.condim,
            priority=plane.priority,
            friction=plane.friction,
            solref=plane.solref,
            solimp=plane.solimp,
            margin=plane.margin,
            rgba=(0.75, 0.8, 0.85, 1.0),
        )
        for pair in pairs:
            other = pair.geomname2 if pair.geomname1 == plane.name else pair.geomname1
            spec.add_pair(
                geomname1=name,
                geomname2=other,
                condim=pair.condim,
                friction=pair.friction,
                solref=pair.solref,
                solimp=pair.solimp,
                margin=pair.margin,
                gap=pair.gap,
            )
    if stairs.rise < 0.0:
        # the plane would cover descending stairs
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        for other in planes:
            to_body = data.xmat[model.body(other.parent.name).id].reshape(3, 3).T
            other.pos = np.asarray(other.pos) + to_body @ (0.0, 0.0, floor)


def ground_friction(model: mujoco.MjModel, plane: int) -> float:
    """Largest friction coefficient of the contacts of a plane; infinite for a plane that no geom
    can touch.

    Args:
      model: model.
      plane: id of the plane.
    """
    one, other = model.pair_geom1, model.pair_geom2
    pairs = np.flatnonzero((one == plane) | (other == plane))
    found = [float(model.pair_friction[pair, 0]) for pair in pairs if model.pair_dim[pair] > 1]
    types, affinities = model.geom_contype, model.geom_conaffinity
    touches = (types & affinities[plane]) | (affinities & types[plane])
    moving = model.body_weldid[model.geom_bodyid] != 0
    geoms = np.flatnonzero((touches != 0) & moving)
    for geom in geoms:
        # of two geoms the one of higher priority decides, else the larger values
        both = np.array([plane, geom])
        priority = model.geom_priority[both]
        deciding = both[priority == priority.max()]
        holds = model.geom_condim[deciding].max() > 1
        found.append(float(model.geom_friction[deciding, 0].max()) if holds else 0.0)
    if not len(geoms) and not len(pairs):
        return np.inf
    return max(found, default=0.0)
