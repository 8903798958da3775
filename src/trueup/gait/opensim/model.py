"""A model of OpenSim as data: bodies, joints, coordinates, surfaces and muscles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from trueup.gait.opensim.functions import Function
from trueup.gait.opensim.muscle_curves import MuscleCurves
from trueup.gait.opensim.parts.content import Parts

GROUND = "ground"
"""Name of the fixed body."""


@dataclass(frozen=True)
class Remark:
    """Remark on a part that MuJoCo cannot represent exactly.

    Attributes:
      kind: ``refused``: an error without ``partial``, omitted with it; ``deviates``: an error
        without ``partial``, written with deviating geometry with it; ``left out``: omitted, with or
        without ``partial``; ``approximated``; ``added``; ``scaled``: of another size than in the
        file.
      part: name of the part.
      words: description of its conversion.
    """

    kind: Literal["refused", "deviates", "left out", "approximated", "added", "scaled"]
    part: str
    words: str


@dataclass(frozen=True)
class Frame:
    """A frame fixed in a body: its name and the pose ``(4, 4)`` in it."""

    body: str
    pose: np.ndarray


@dataclass(frozen=True)
class Body:
    """A rigid body: mass [kg], center of mass [m], inertia ``(3, 3)`` about it [kg m2]."""

    name: str
    mass: float
    center: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint [rad or m].

    Attributes:
      name: name.
      default: value in the default pose.
      range: lowest and highest value.
      clamped: the range is a limit.
      locked: fixed at its default.
      turns: whether it is an angle; otherwise a distance.
    """

    name: str
    default: float
    range: tuple[float, float]
    clamped: bool
    locked: bool
    turns: bool


@dataclass(frozen=True)
class Axis:
    """One motion of a joint: a function of a coordinate, about or along an axis ``(3,)``.

    ``name`` is rotation1 to rotation3 or translation1 to translation3; without a coordinate the
    function is constant.
    """

    name: str
    axis: np.ndarray
    coordinate: str | None
    function: Function

    @property
    def turns(self) -> bool:
        """Whether it is a rotation."""
        return self.name.startswith("rotation")


@dataclass(frozen=True)
class Joint:
    """A joint: three rotations, body-fixed, in that order, and translations in the parent's
    frame."""

    name: str
    parent: Frame
    child: Frame
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Coupler:
    """A coordinate that is a function of another one."""

    name: str
    dependent: str
    independent: str
    function: Function


@dataclass(frozen=True)
class Surface:
    """Wrapping surface of muscles.

    Attributes:
      name: name.
      body: body to which it is fixed.
      kind: cylinder, sphere, ellipsoid or torus.
      pose: pose ``(4, 4)`` in the body; the axis of a cylinder and of a torus is z.
      radii: semi-axes ``(3,)`` [m]; equal for a sphere, the first for a cylinder; of a torus, the
          radius of the ring, then that of the tube, twice.
      length: length of a cylinder [m].
      side: direction ``(3,)`` of the wrapping half; None for either.
    """

    name: str
    body: str
    kind: Literal["cylinder", "sphere", "ellipsoid", "torus"]
    pose: np.ndarray
    radii: np.ndarray
    length: float
    side: np.ndarray | None


@dataclass(frozen=True)
class PathPoint:
    """A point of the path of a muscle.

    Attributes:
      name: name.
      body: body to which it is attached.
      place: position in the body ``(3,)`` [m]; of a moving point, its fixed components.
      active: coordinate and its range in which the point is active.
      moves: component of the position -> its function and coordinate.
    """

    name: str
    body: str
    place: np.ndarray
    active: tuple[str, float, float] | None = None
    moves: dict[int, tuple[Function, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PathWrap:
    """Wrapping surface of a path between its points ``first`` and ``last`` (from 0)."""

    surface: str
    first: int
    last: int


@dataclass(frozen=True)
class Muscle:
    """A muscle.

    Attributes:
      name: name.
      points: points of the path.
      wraps: surfaces.
      force: largest isometric force [N].
      fiber: optimal fiber length [m].
      tendon: tendon slack length [m].
      pennation: pennation angle at the optimal length [rad].
      speed: largest shortening speed [optimal lengths/s].
      times: time constants of activation and deactivation [s].
      curves: curves of fiber and tendon.
      rigid: whether the tendon is rigid.
    """

    name: str
    points: tuple[PathPoint, ...]
    wraps: tuple[PathWrap, ...]
    force: float
    fiber: float
    tendon: float
    pennation: float
    speed: float
    times: tuple[float, float]
    curves: MuscleCurves
    rigid: bool


@dataclass(frozen=True)
class OsimModel:
    """A model of OpenSim.

    Attributes:
      name: name.
      gravity: gravity ``(3,)`` [m/s2].
      bodies: bodies by name, without the ground.
      joints: joints, parents first.
      coordinates: coordinates by name.
      couplers: coupled coordinates, by name.
      surfaces: surfaces by name.
      muscles: muscles.
      remarks: parts that the reader does not support.
      parts: markers, motors, springs and meshes.
      factors: scale factors ``(3,)`` of the bodies of a scaled model; empty for others.
    """

    name: str
    gravity: np.ndarray
    bodies: dict[str, Body]
    joints: tuple[Joint, ...]
    coordinates: dict[str, Coordinate]
    couplers: dict[str, Coupler]
    surfaces: dict[str, Surface]
    muscles: tuple[Muscle, ...]
    remarks: tuple[Remark, ...]
    parts: Parts = field(default_factory=Parts)
    factors: Mapping[str, np.ndarray] = field(default_factory=dict)

    def leader(self, coordinate: str) -> tuple[str, tuple[Function, ...]]:
        """The free coordinate that drives one, and the functions from it, in order of
        application."""
        functions: tuple[Function, ...] = ()
        while coordinate in self.couplers:
            coupler = self.couplers[coordinate]
            coordinate, functions = coupler.independent, (coupler.function, *functions)
        return coordinate, functions

    @cached_property
    def _joint_of(self) -> dict[str, Joint]:
        return {joint.child.body: joint for joint in self.joints}

    def chain(self, body: str) -> list[str]:
        """A body and its ancestors, without the ground."""
        found = []
        while body != GROUND:
            found.append(body)
            body = self._joint_of[body].parent.body
        return found

    @property
    def free(self) -> tuple[str, ...]:
        """Coordinates that are neither locked nor coupled."""
        return tuple(
            name
            for name, one in self.coordinates.items()
            if name not in self.couplers and not one.locked
        )
