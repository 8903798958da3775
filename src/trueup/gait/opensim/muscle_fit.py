"""Fit of a MuJoCo muscle to a muscle of OpenSim.

A MuJoCo muscle has a rigid tendon, no pennation, and quadratic curves. All its parameters are
fitted to the force of fibers and tendon of OpenSim over the lengths within the joint ranges,
activations from 0 to 1 and speeds up to the largest one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from trueup.gait.compiled import compiled_once
from trueup.gait.models.metabolic import force_length, force_velocity
from trueup.gait.opensim.model import Muscle
from trueup.gait.opensim.muscle_curves import muscle_force

ACTIVATIONS = (1.0, 0.5, 0.0)
"""Activations for the comparison of forces at rest."""

SPEEDS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Speeds for the fit and the comparison of forces [largest shortening speeds]."""

WEIGHTS = (0.25, 0.5, 1.0, 0.5, 0.25)
"""Weights of these speeds in the fit: muscles are mostly slow."""

LENGTHS, LEVELS = 20, np.linspace(0.0, 1.0, 11)
"""Number of lengths, and activations, for the fit and the comparison of forces."""

CLOSE = 0.03
"""Error of a force that counts as equal [strengths]."""


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
      lengths: lengths of the force comparison at rest ``(n,)`` [m].
      wanted: forces of the OpenSim muscle at rest ``(activations, n)`` [N].
      reached: forces of the MuJoCo muscle, likewise.
      strength: largest isometric force of the OpenSim muscle [N].
      fiber: optimal fiber length of the OpenSim muscle [m].
      errors: differences of the force over :data:`SPEEDS`, activations of 0.1 to 1 and lengths
        ``(speeds, activations, lengths)``, relative to that strength.
      stretch: stretch of the tendon of OpenSim at that force [m]; 0 for a rigid one. The fibers of
        OpenSim are shorter by it; the tendon of MuJoCo does not stretch.
      delay: shortest time that the fibers take for it at their largest speed [s], by which the
        force of OpenSim rises later.
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
    strength: float
    fiber: float
    errors: np.ndarray
    stretch: float
    delay: float

    @property
    def typical_error(self) -> float:
        """Root mean square of the differences of the force at rest, relative to the strength."""
        return float(np.sqrt(np.mean((self.wanted - self.reached) ** 2)) / self.strength)

    @property
    def error(self) -> float:
        """Largest difference of the force at rest, relative to the strength."""
        return float(np.abs(self.wanted - self.reached).max() / self.strength)

    @property
    def force_error(self) -> float:
        """Largest difference of the force over lengths, activations and speeds, relative to the
        strength."""
        return float(np.abs(self.errors).max())

    @property
    def speed_errors(self) -> tuple[float, ...]:
        """Root mean square of the differences at each of the speeds, relative to the strength."""
        return tuple(float(np.sqrt(np.mean(one**2))) for one in self.errors)

    def to_dict(self) -> dict[str, Any]:
        """Errors of the force relative to the strength, and what the rigid tendon omits, as JSON
        values."""
        return {
            "isometric_force": self.error,
            "isometric_force_rms": self.typical_error,
            "force": self.force_error,
            "force_rms_at_speeds": dict(zip(map(str, SPEEDS), self.speed_errors, strict=True)),
            "share_within_3_percent": self.share_close,
            "tendon_stretch_mm": 1e3 * self.stretch,
            "tendon_delay_ms": 1e3 * self.delay,
        }

    @property
    def share_close(self) -> float:
        """Fraction of lengths, activations and speeds with a difference of at most 3 %."""
        return float(np.mean(np.abs(self.errors) <= CLOSE))


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
    shortest, longest = shortest - margin, longest + margin
    lengths = np.linspace(shortest, longest, LENGTHS)
    rates = np.array(SPEEDS) * muscle.speed * muscle.fiber
    wanted = _force(muscle, lengths, LEVELS[:, None], rates[:, None, None])
    strain = 0.0 if muscle.rigid else _strain_at_one(muscle)
    flat = muscle.fiber * np.cos(muscle.pennation)
    slack = muscle.tendon * (1.0 + 0.5 * strain)
    # strength, lengths and speed relative to those of OpenSim, and the limits of the curves
    start = np.array([1.0, 1.0, 0.0, 0.4, 1.7, 0.5, 1.0, 1.4])
    # MuJoCo refuses a passive force of zero, which fibers have that are always slack
    lower = np.array([0.4, 0.5, -0.7, 0.0, 1.2, 1e-4, 0.2, 1.02])
    upper = np.array([1.3, 2.5, 0.7, 0.95, 3.5, 20.0, 5.0, 2.5])
    weights = np.sqrt(WEIGHTS)[:, None, None]

    def forces(
        x: np.ndarray, lengths: np.ndarray, levels: np.ndarray, rates: np.ndarray
    ) -> np.ndarray:
        """Forces of the MuJoCo muscle ``(rates, levels, lengths)``, relative to the strength."""
        strength, optimal, shift, low, high, passive, speed, most = x
        normal = (lengths - slack - shift * flat) / (optimal * flat)
        active, factors = np.empty_like(normal), np.empty_like(rates)
        _active_forces(normal, low, high, active)
        _velocity_factors(rates / (speed * muscle.speed * optimal * flat), most, factors)
        bare = _passive_force(normal, high, passive)
        return strength * (levels[:, None] * factors[:, None, None] * active + bare)

    found = min(
        (
            least_squares(
                lambda x: ((forces(x, lengths, LEVELS, rates) - wanted) * weights).ravel(),
                np.clip(start * (1.0, 1.0, 1.0, 1.0, high, 1.0, 1.0, 1.0), lower, upper),
                bounds=(lower, upper),
                x_scale=(0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1),
                ftol=1e-6,
                xtol=1e-5,
                max_nfev=80,
            )
            for high in (1.0, 1.5)
        ),
        key=lambda one: one.cost,
    ).x
    strength, optimal, shift, low, high, passive, speed, most = map(float, found)
    fine = np.linspace(shortest, longest, 41)
    still, levels = np.zeros(1), np.array(ACTIVATIONS)
    return MuscleFit(
        strength * muscle.force,
        optimal * flat,
        slack + shift * flat,
        low,
        high,
        passive,
        speed * muscle.speed,
        most,
        fine,
        muscle.force * _force(muscle, fine, levels[:, None], 0.0),
        muscle.force * forces(found, fine, levels, still)[0],
        muscle.force,
        muscle.fiber,
        (forces(found, lengths, LEVELS, rates) - wanted)[:, 1:],
        strain * muscle.tendon,
        strain * muscle.tendon / (muscle.speed * flat),
    )


def _force(
    muscle: Muscle, lengths: np.ndarray, levels: np.ndarray, rates: np.ndarray | float
) -> np.ndarray:
    """Forces of the OpenSim muscle, relative to its strength."""
    return muscle_force(
        muscle.curves,
        lengths,
        levels,
        rates,
        fiber=muscle.fiber,
        tendon=muscle.tendon,
        pennation=muscle.pennation,
        rigid=muscle.rigid,
        speed=muscle.speed,
    )


def _strain_at_one(muscle: Muscle) -> float:
    """Strain of the tendon at the largest isometric force."""
    strains = np.linspace(0.0, 0.5, 2001)
    return float(strains[np.argmax(muscle.curves.tendon(1.0 + strains) >= 1.0)])
