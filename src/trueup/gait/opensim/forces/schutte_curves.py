"""Force curves of Schutte1993Muscle, the muscle of many models of version 3 and before.

L. M. Schutte, M. M. Rodgers, F. E. Zajac, R. M. Glaser, "Improving the efficacy of electrical
stimulation-induced leg cycle ergometry", IEEE Trans. Rehabil. Eng. 1 (1993), with the constants of
OpenSim. Units are those of :mod:`trueup.gait.opensim.muscle_curves`.
"""

from dataclasses import dataclass

import numpy as np

from trueup.gait.opensim.functions import Function, Spline

_ACTIVE = Spline(
    (
        -5.307692, -4.307692, -1.923077, -0.884615, -0.269231, 0.230769, 0.461538, 0.52725, 0.62875,
        0.71875, 0.86125, 1.045, 1.2175, 1.43875, 1.5, 1.615385, 2.0, 2.961538, 3.692308, 5.461538,
        9.901902,
    ),
    (
        0.012188, 0.021899, 0.036466, 0.052493, 0.075312, 0.114158, 0.157859, 0.226667, 0.636667,
        0.856667, 0.95, 0.993333, 0.77, 0.246667, 0.193821, 0.133252, 0.072683, 0.044417, 0.036341,
        0.021899, 0.007332,
    ),
)  # fmt: skip
_TENDON = Spline(
    (
        -10.0, -0.002, -0.001, 0.0, 0.00131, 0.00281, 0.00431, 0.00581, 0.00731, 0.00881, 0.0103,
        0.0118, 0.0123, 9.2, 9.201, 9.202, 20.0,
    ),
    (
        0.0, 0.0, 0.0, 0.0, 0.0108, 0.0257, 0.0435, 0.0652, 0.0915, 0.123, 0.161, 0.208, 0.227,
        345.0, 345.0, 345.0, 345.0,
    ),
)  # fmt: skip
"""Active force by length of the fibers, and force of the tendon by its strain, in OpenSim."""

_BEND, _SLOPE, _MOST = 0.15, 0.13, 1.4
"""Shape of force by speed: curvature, slope at rest when lengthening, and largest force."""


@dataclass(frozen=True)
class SchutteCurves:
    """Curves of Schutte1993Muscle.

    Attributes:
      active_curve: active force as a function of the length of the fibers.
      passive_curve: passive force as a function of that length; None: an exponential.
      tendon_curve: force of the tendon as a function of its strain.
      damping: force of the damping of the fibers at their largest speed.
    """

    active_curve: Function = _ACTIVE
    passive_curve: Function | None = None
    tendon_curve: Function = _TENDON
    damping: float = 0.1

    def active(self, length: np.ndarray) -> np.ndarray:
        """Active force at a length of the fibers."""
        return np.maximum(self.active_curve(length), 0.0)

    def passive(self, length: np.ndarray) -> np.ndarray:
        """Passive force at a length of the fibers."""
        if self.passive_curve is None:
            # 1 at 1.5 optimal lengths; bounded against overflow at lengths that no fibers have
            return np.exp(np.minimum(8.0 * (length - 1.0) - 4.0, 50.0))
        return self.passive_curve(length)

    def tendon(self, length: np.ndarray) -> np.ndarray:
        """Force of the tendon at its length."""
        return np.where(length > 1.0, self.tendon_curve(np.maximum(length - 1.0, 0.0)), 0.0)

    def velocity(self, velocity: np.ndarray, activation: float | np.ndarray = 1.0) -> np.ndarray:
        """Factor of the active force at a velocity of the fibers, whatever the activation."""
        # hyperbolas of Hill that OpenSim solves for the velocity, with the damping added to them
        v, rest = np.clip(velocity, -1.0, None), _SLOPE * _BEND / (_BEND + 1.0)
        shortening = (1.0 + v) / (1.0 - np.minimum(v, 0.0) / _BEND)
        stretched = np.maximum(v, 0.0)
        lengthening = (rest + _MOST * stretched) / (rest + stretched)
        return np.where(v <= 0.0, shortening, lengthening)
