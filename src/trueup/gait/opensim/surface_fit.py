"""Cylinders and spheres fitted to paths that MuJoCo tendons do not support."""

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.rotations import inverse, moved, pose
from trueup.gait.opensim.wrapping import wrap

LEAST_RADIUS = 1e-4
"""Smallest radius of a fitted surface [m]: MuJoCo rejects zero, the limit of a fit where the
surface is not required."""

CLEARANCE = 0.002
"""Smallest distance of the ends of a path from a fitted surface [m]; inside it nothing is
wrapped."""


def fit_surface(
    guesses: list[Surface], start: np.ndarray, end: np.ndarray, lengths: np.ndarray
) -> tuple[Surface, float]:
    """Fit a cylinder or sphere to the required lengths of paths.

    Position and radius are fitted from each initial guess; the axis of a cylinder is fixed.

    Args:
      guesses: cylinders and spheres, in a body.
      start: starts of the paths ``(n, 3)`` in the body [m].
      end: ends, likewise.
      lengths: required lengths ``(n,)`` [m].

    Returns:
      The surface, and the largest error of the length [m].
    """
    best, least = guesses[0], np.inf
    for guess in guesses:
        moves = 2 if guess.kind == "cylinder" else 3
        size = float(guess.radii[0])

        def shaped(x: np.ndarray, guess: Surface = guess, moves: int = moves) -> Surface:
            shift = np.zeros(3)
            shift[:moves] = x[:-1]
            placed = pose(guess.pose[:3, :3], moved(guess.pose, shift))
            return replace(guess, pose=placed, radii=np.full(3, LEAST_RADIUS + np.exp(x[-1])))

        def errors(x: np.ndarray, shaped=shaped, moves: int = moves) -> np.ndarray:
            surface = shaped(x)
            ends = [moved(inverse(surface.pose), points) for points in (start, end)]
            errors = 1e3 * (wrap(surface, *ends).length - lengths)  # [mm]
            away = np.concatenate([np.linalg.norm(points[:, :moves], axis=1) for points in ends])
            inside = np.maximum(float(surface.radii[0]) + CLEARANCE - away, 0.0)
            return np.concatenate([errors, 1e3 * inside])

        first = np.array([*np.zeros(moves), np.log(max(size - LEAST_RADIUS, LEAST_RADIUS))])
        scale = np.array([*np.full(moves, 0.2 * size), 0.2])
        options = {"diff_step": 1e-4, "ftol": 1e-5, "xtol": 1e-5, "max_nfev": 30}
        fit = least_squares(errors, first, x_scale=scale, **options)
        worst = float(np.abs(errors(fit.x)).max())
        if worst < least:
            best, least = shaped(fit.x), worst
    return best, 1e-3 * least


def ellipsoid_guesses(surface: Surface) -> list[Surface]:
    """Spheres and cylinders along the axes, of the sizes of an ellipsoid.

    Spheres have no side: MuJoCo would also wrap a path that passes without contact.
    """
    sizes = float(np.prod(surface.radii) ** (1 / 3)), float(surface.radii.min())
    guesses = [replace(surface, kind="sphere", radii=np.full(3, size), side=None) for size in sizes]
    for k in range(3):
        turned = np.eye(3)[[(k + 1) % 3, (k + 2) % 3, k]]  # z of the cylinder is axis k
        across = replace(
            surface,
            kind="cylinder",
            pose=surface.pose @ pose(turned.T, np.zeros(3)),
            radii=np.full(3, np.sqrt(np.prod(np.delete(surface.radii, k)))),
            length=np.inf,
            side=None,
        )
        guesses.append(across)
        if surface.side is not None and abs(surface.side[k]) < 0.5:
            guesses.append(replace(across, side=turned @ surface.side))
    return guesses


def point_guesses(
    name: str, body: str, place: np.ndarray, start: np.ndarray, end: np.ndarray
) -> list[Surface]:
    """Thin cylinders next to a conditional point of paths.

    Args:
      name: name of the surface.
      body: body of the point.
      place: position in the body ``(3,)`` [m].
      start: starts of the paths ``(n, 3)`` in the body, in poses with the point active.
      end: ends, likewise.
    """
    along = end - start
    part = np.sum((place - start) * along, axis=1) / np.sum(along**2, axis=1)
    outward = np.mean(place - (start + part[:, None] * along), axis=0)
    size = np.linalg.norm(outward)
    direction = np.mean(along, axis=0)
    if size < 1e-6:
        outward = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
        size = np.linalg.norm(outward)
    x = outward / size
    z = np.cross(x, direction)
    z /= np.linalg.norm(z)
    turned = np.stack([x, np.cross(z, x), z], axis=1)
    return [
        Surface(
            name,
            body,
            "cylinder",
            pose(turned, place - radius * x),
            np.full(3, radius),
            np.inf,
            np.array([1.0, 0.0, 0.0]),
        )
        for radius in (0.002, 0.01, 0.03)
    ]
