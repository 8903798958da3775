"""MuJoCo's muscle that comes nearest to a muscle of OpenSim.

MuJoCo's tendon does not stretch, its fibers have no pennation, and its curves are quadratic.
Lengths, strength and the limits of the curves are fitted to the force that fibers and tendon of
OpenSim give together at rest, activated fully, by a half and not at all, over the lengths that the
joints allow; speed and lengthening force to the curve of force over velocity.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.compiled import compiled_once
from trueup.gait.models.metabolic import force_length, force_velocity
from trueup.gait.opensim.model import Muscle
from trueup.gait.opensim.muscle_curves import isometric_force

ACTIVATIONS = (1.0, 0.5, 0.0)
"""Activations that forces are fitted and compared at."""


@dataclass(frozen=True)
class MuscleFit:
    """Numbers of MuJoCo's muscle.

    Attributes:
      force: strength [N].
      optimal: optimal length [m].
      slack: length of the tendon [m].
      shortest: shortest length with active force [optimal lengths].
      longest: longest one.
      passive: passive force at the longest length, relative to the strength.
      speed: largest speed [optimal lengths/s].
      lengthening: largest force when lengthening, relative to the strength.
      lengths: lengths that the force was compared at ``(n,)`` [m].
      wanted: forces of OpenSim's muscle ``(activations, n)`` [N].
      reached: forces of MuJoCo's, likewise.
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
    """MuJoCo's passive force: quadratic up to half of the way to the longest length, then
    straight."""
    half = 0.5 * (longest - 1.0)
    x = np.maximum(length - 1.0, 0.0) / half
    return passive * np.where(x <= 1.0, 0.5 * x**2, x - 0.5)


def fit_muscle(muscle: Muscle, shortest: float, longest: float) -> MuscleFit:
    """MuJoCo's muscle nearest to one of OpenSim.

    Args:
      muscle: the muscle.
      shortest: shortest length of muscle and tendon that the joints allow [m].
      longest: longest one.
    """
    margin = max(0.02 * (longest - shortest), 0.01 * muscle.fiber)
    lengths = np.linspace(shortest - margin, longest + margin, 41)
    wanted = np.stack([_isometric(muscle, lengths, activation) for activation in ACTIVATIONS])
    strain = _strain_at_one(muscle)
    flat = muscle.fiber * np.cos(muscle.pennation)
    slack = muscle.tendon * (1.0 + (0.0 if muscle.rigid else 0.5 * strain))
    # strength and lengths relative to OpenSim's, then the limits of the curves
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
    """Largest speed and lengthening force of MuJoCo's muscle, and its largest difference."""
    relative = np.linspace(-1.0, 1.0, 81)
    wanted = muscle.curves.velocity(relative)
    # fibers are slower than the tendon by the cosine of their angle
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
