"""Markers, motors, springs and meshes of an OpenSim model, as data."""

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Marker:
    """A marker: its name, body, and position ``(3,)`` in it [m]."""

    name: str
    body: str
    place: np.ndarray


@dataclass(frozen=True)
class Motor:
    """A force or torque along a coordinate.

    Attributes:
      name: name.
      coordinate: coordinate.
      force: force or torque at a control of 1 [N or N m].
      limits: smallest and largest control; infinite without a limit.
      delay: time constant of its activation [s]; 0 without activation.
    """

    name: str
    coordinate: str
    force: float
    limits: tuple[float, float]
    delay: float = 0.0


@dataclass(frozen=True)
class JointSpring:
    """A spring and a damper along a coordinate.

    Attributes:
      name: name.
      coordinate: coordinate.
      stiffness: stiffness [N m/rad or N/m].
      damping: damping [N m s/rad or N s/m].
      rest: value of the coordinate without force.
    """

    name: str
    coordinate: str
    stiffness: float
    damping: float
    rest: float


@dataclass(frozen=True)
class LimitSpring:
    """A spring beyond one limit of a coordinate.

    Attributes:
      name: name.
      coordinate: coordinate.
      side: whether it acts above or below the limit.
      limit: value of the coordinate [rad or m].
      stiffness: stiffness beyond the transition [N m/rad or N/m].
      transition: distance from the limit over which the stiffness rises [rad or m].
    """

    name: str
    coordinate: str
    side: Literal["above", "below"]
    limit: float
    stiffness: float
    transition: float = 0.0

    def force(self, beyond: np.ndarray) -> np.ndarray:
        """Force towards the limit at distances beyond it [N m or N]; the stiffness rises by the
        smooth step of OpenSim, a polynomial of the fifth degree."""
        x = np.clip(beyond / max(self.transition, 1e-12), 0.0, 1.0)
        return self.stiffness * x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * beyond


@dataclass(frozen=True)
class PointSpring:
    """A spring between two points: its name, the bodies, the points ``(3,)`` in them [m], the
    length without force [m] and the stiffness [N/m]."""

    name: str
    bodies: tuple[str, str]
    places: tuple[np.ndarray, np.ndarray]
    rest: float
    stiffness: float


@dataclass(frozen=True)
class Mesh:
    """A visual mesh.

    Attributes:
      file: name of its file, as in the model.
      body: body.
      pose: pose ``(4, 4)`` in the body.
      scale: scale factors ``(3,)``.
      colour: red, green, blue and opacity.
    """

    file: str
    body: str
    pose: np.ndarray
    scale: np.ndarray
    colour: tuple[float, float, float, float]


@dataclass(frozen=True)
class Parts:
    """Parts of a model other than bodies, joints and muscles."""

    markers: tuple[Marker, ...] = ()
    motors: tuple[Motor, ...] = ()
    springs: tuple[JointSpring | LimitSpring | PointSpring, ...] = ()
    meshes: tuple[Mesh, ...] = ()
