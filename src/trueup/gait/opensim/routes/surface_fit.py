"""Cylinders and spheres fitted to paths that MuJoCo tendons do not support."""

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.rotations import inverse, moved, pose
from trueup.gait.opensim.routes.tendon_wrap import tendon_length

LEAST_RADIUS = 1e-4
"""Smallest radius of a fitted surface [m]: MuJoCo rejects zero, the limit of a fit where the
surface is not required."""

CLEARANCE = 0.002
"""Smallest distance of the ends of a path from a fitted surface [m]; inside it nothing is
wrapped."""


def fit_surface(
    guesses: list[Surface], start: np.ndarray, end: np.ndarray, lengths: np.ndarray
) -> Surface:
    """Fit a cylinder or sphere to the required lengths of paths.

    Position and radius are fitted from each initial guess; the axis of a cylinder is fixed.

    Args:
      guesses: cylinders and spheres, in a body.
      start: starts of the paths ``(n, 3)`` in the body [m].
      end: ends, likewise.
      lengths: required lengths ``(n,)`` [m].
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
            errors = 1e3 * (tendon_length(surface, surface.side, *ends) - lengths)  # [mm]
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
    return best


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


def best_side(
    surface: Surface, start: np.ndarray, end: np.ndarray, lengths: np.ndarray
) -> np.ndarray | None:
    """Direction of the side site with which MuJoCo takes the path of the required lengths.

    MuJoCo and OpenSim choose the side of a path by different rules; the direction of the quadrant
    may take a tendon once around.

    Args:
      surface: a cylinder or sphere, in a body.
      start: starts of the paths ``(n, 3)`` in the body [m].
      end: ends, likewise.
      lengths: required lengths ``(n,)`` [m].

    Returns:
      Direction ``(3,)`` in the frame of the surface; None where the shorter side is the best.
    """
    back = inverse(surface.pose)
    start, end = moved(back, start), moved(back, end)
    if surface.kind == "cylinder":
        angle = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
        around = np.stack([np.cos(angle), np.sin(angle), np.zeros(72)], axis=1)
    else:
        height, angle = np.linspace(-0.99, 0.99, 100), np.pi * (1.0 + np.sqrt(5.0)) * np.arange(100)
        flat = np.sqrt(1.0 - height**2)
        around = np.stack([flat * np.cos(angle), flat * np.sin(angle), height], axis=1)
    best, least = surface.side, np.inf
    for side in (surface.side, None, *around):
        error = float(np.abs(tendon_length(surface, side, start, end) - lengths).max())
        if error < least - 1e-9:
            best, least = side, error
        if least < 1e-9:
            break
    return best
