"""Fit of a MuJoCo muscle to a muscle of OpenSim.

A MuJoCo muscle has a rigid tendon, no pennation, and quadratic curves. Lengths, strength and the
limits of the curves are fitted to the isometric force of fibers and tendon of OpenSim at the
activations 1, 0.5 and 0, over the lengths within the joint ranges; speed and lengthening force are
fitted to the force-velocity curve.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.compiled import compiled_once
from trueup.gait.models.metabolic import force_length, force_velocity
from trueup.gait.opensim.model import Muscle
from trueup.gait.opensim.muscle_curves import isometric_force

ACTIVATIONS = (1.0, 0.5, 0.0)
"""Activations for the fit and the comparison of forces."""


@dataclass(frozen=True)
class MuscleFit:
    """Parameters of a fitted MuJoCo muscle.

    Attributes:
      force: strength [N].
      optimal: optimal length [m].
      slack: length of the tendon [m].
      shortest: shortest length with active force [optimal lengths].
      longest: longest length with active force [optimal lengths].
      passive: passive force at the longest length, relative to the strength.
      speed: largest speed [optimal lengths/s].
      lengthening: largest force when lengthening, relative to the strength.
      lengths: lengths of the force comparison ``(n,)`` [m].
      wanted: forces of the OpenSim muscle ``(activations, n)`` [N].
      reached: forces of the MuJoCo muscle, likewise.
      velocity_error: largest difference of the force over velocity, relative to the strength.
    """

    force: float
    optimal: float
    slack: float
    shortest: float
    longest: float
    passive: float
    speed: float
    lengthening: float
    lengths: np.ndarray
    wanted: np.ndarray
    reached: np.ndarray
    velocity_error: float

    @property
    def typical_error(self) -> float:
        """Root mean square of the differences of the force at rest, relative to the strength."""
        return float(np.sqrt(np.mean((self.wanted - self.reached) ** 2)) / self.force)

    @property
    def error(self) -> float:
        """Largest difference of the force at rest, relative to the strength."""
        return float(np.abs(self.wanted - self.reached).max() / self.force)


@compiled_once
def _active_forces(lengths, shortest, longest, forces):
    for k in range(len(lengths)):
        forces[k] = force_length(lengths[k], shortest, longest)


@compiled_once
def _velocity_factors(velocities, lengthening, factors):
    for k in range(len(velocities)):
        factors[k] = force_velocity(velocities[k], lengthening)


def _passive_force(length: np.ndarray, longest: float, passive: float) -> np.ndarray:
    """Passive force of MuJoCo: quadratic up to half of the way to the longest length, then
    linear."""
    half = 0.5 * (longest - 1.0)
    x = np.maximum(length - 1.0, 0.0) / half
    return passive * np.where(x <= 1.0, 0.5 * x**2, x - 0.5)


def fit_muscle(muscle: Muscle, shortest: float, longest: float) -> MuscleFit:
    """Fit a MuJoCo muscle to one of OpenSim.

    Args:
      muscle: the muscle.
      shortest: shortest length of muscle and tendon within the joint ranges [m].
      longest: longest length of muscle and tendon within the joint ranges [m].
    """
    margin = max(0.02 * (longest - shortest), 0.01 * muscle.fiber)
    lengths = np.linspace(shortest - margin, longest + margin, 41)
    wanted = np.stack([_isometric(muscle, lengths, activation) for activation in ACTIVATIONS])
    strain = _strain_at_one(muscle)
    flat = muscle.fiber * np.cos(muscle.pennation)
    slack = muscle.tendon * (1.0 + (0.0 if muscle.rigid else 0.5 * strain))
    # strength and lengths relative to those of OpenSim, then the limits of the curves
    start = np.array([1.0, 1.0, 0.0, 0.4, 1.7, 0.5])
    lower = np.array([0.4, 0.5, -0.7, 0.0, 1.2, 0.0])
    upper = np.array([1.3, 2.5, 0.7, 0.95, 3.5, 20.0])

    def forces(x: np.ndarray) -> np.ndarray:
        strength, optimal, shift, low, high, passive = x
        normal = (lengths - slack - shift * flat) / (optimal * flat)
        active = np.empty_like(normal)
        _active_forces(normal, low, high, active)
        bare = _passive_force(normal, high, passive)
        return strength * np.stack([a * active + bare for a in ACTIVATIONS])

    relative = wanted / muscle.force
    found = min(
        (
            least_squares(
                lambda x: (forces(x) - relative).ravel(),
                np.clip(start * (1.0, 1.0, 1.0, 1.0, high, 1.0), lower, upper),
                bounds=(lower, upper),
                x_scale=(0.1, 0.1, 0.1, 0.1, 0.2, 0.2),
                ftol=1e-6,
                xtol=1e-5,
                max_nfev=80,
            )
            for high in (1.0, 1.5)
        ),
        key=lambda one: one.cost,
    ).x
    strength, optimal, shift, low, high, passive = map(float, found)
    speed, lengthening, error = _velocity(muscle, optimal * flat)
    return MuscleFit(
        strength * muscle.force,
        optimal * flat,
        slack + shift * flat,
        low,
        high,
        passive,
        speed,
        lengthening,
        lengths,
        wanted,
        muscle.force * forces(found),
        error,
    )


def _isometric(muscle: Muscle, lengths: np.ndarray, activation: float) -> np.ndarray:
    return muscle.force * isometric_force(
        muscle.curves,
        lengths,
        activation,
        fiber=muscle.fiber,
        tendon=muscle.tendon,
        pennation=muscle.pennation,
        rigid=muscle.rigid,
    )


def _strain_at_one(muscle: Muscle) -> float:
    """Strain of the tendon at the largest isometric force."""
    strains = np.linspace(0.0, 0.5, 2001)
    return float(strains[np.argmax(muscle.curves.tendon(1.0 + strains) >= 1.0)])


def _velocity(muscle: Muscle, optimal: float) -> tuple[float, float, float]:
    """Largest speed and lengthening force of the MuJoCo muscle, and the largest difference."""
    relative = np.linspace(-1.0, 1.0, 81)
    wanted = muscle.curves.velocity(relative)
    # the fiber velocity is that along the tendon times the cosine of the pennation angle
    metres = relative * muscle.speed * muscle.fiber / np.cos(muscle.pennation)

    def factors(x: np.ndarray) -> np.ndarray:
        found = np.empty_like(metres)
        _velocity_factors(metres / (x[0] * optimal), x[1], found)
        return found

    start = np.array([muscle.speed, 1.4])
    fit = least_squares(
        lambda x: factors(x) - wanted,
        start,
        bounds=([0.2 * muscle.speed, 1.02], [5.0 * muscle.speed, 2.5]),
        x_scale=start,
    )
    return float(fit.x[0]), float(fit.x[1]), float(np.abs(factors(fit.x) - wanted).max())
