"""Metabolic power of muscles by Umberger's model, compiled, from the state of MuJoCo's muscles.

B. R. Umberger, K. G. M. Gerritsen, P. E. Martin, "A model of human muscle energy expenditure",
Comput. Methods Biomech. Biomed. Engin. 6 (2003), with the changes of B. R. Umberger, "Stance and
swing phase costs in human walking", J. R. Soc. Interface 7 (2010): the coefficient 0.3 in (4), and
negative work is not given back. Rates are [W/kg] of muscle:

1. power ``E = max(h_AM + h_SL, 1) + w``
2. activation and maintenance heat ``h_AM = 1.5 A^0.6 (128 f + 25)``, above the optimal length times
   ``0.4 + 0.6 F``
3. shortening heat, ``v < 0``: ``h_SL = 1.5 A^2 (min(-a v, 100) (1 - f) - b v f)``
4. lengthening heat: ``h_SL = 1.5 A 0.3 a v``; (3) and (4) above the optimal length times ``F``
5. ``a = 100 / (v_max / 2.5)`` and ``b = 153 / v_max``
6. ``A = u`` where the stimulation ``u`` exceeds the activation, else the mean of both
7. work rate ``w = max(-force * velocity, 0) / mass``, of the active force alone
8. ``mass = strength / specific tension * optimal length * density``

``f`` is the fraction of fast fibers, ``v`` the velocity of the fibers [optimal lengths/s],
``v_max`` its largest, ``F`` the isometric force at the present length relative to the strength. The
tendon of MuJoCo is rigid: the fibers have the length change of the muscle-tendon unit, or the share
of it that the anatomy states, and there is no pennation. The rest of the body has no rate.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from trueup.gait.compiled import compiled, compiled_once
from trueup.gait.models.body_map import muscle_strengths
from trueup.gait.models.walker import Walker

TABLE = Path(__file__).with_name("metabolic.yaml")

FIBER = np.dtype(
    [
        ("slack", np.float64),
        ("optimal", np.float64),
        ("speed", np.float64),
        ("shortest", np.float64),
        ("longest", np.float64),
        ("lengthening", np.float64),
        ("strength", np.float64),
        ("mass", np.float64),
        ("slow", np.float64),
        ("share", np.float64),
    ]
)
"""Fibers of a muscle: length of its tendon and optimal length of its fibers [m], their largest
speed [optimal lengths/s], shortest and longest length with force [optimal lengths], largest force
when lengthening relative to the strength, strength [N], mass [kg], fraction of slow fibers, share
of the fibers in the length change of the muscle-tendon unit (:attr:`Anatomy.fiber_share`)."""

AEROBIC = 1.5
"""Factor of heat rates under aerobic conditions."""

LEAST_HEAT = 1.0
"""Smallest heat rate of a muscle [W/kg]."""

SLOW_LIMIT = 100.0
"""Largest shortening heat rate of slow fibers [W/kg]."""


@lru_cache(maxsize=1)
def metabolic_table() -> dict[str, Any]:
    """Fractions of slow fibers by muscle group, density and specific tension, with sources."""
    return yaml.safe_load(TABLE.read_text(encoding="utf-8"))


def muscle_fibers(walker: Walker) -> np.ndarray:
    """Fibers of the muscles of a walker, an array of :data:`FIBER`."""
    table, model = metabolic_table(), walker.model
    muscles = walker.body_map(()).muscles["actuator"]
    fibers = np.zeros(len(muscles), dtype=FIBER)
    groups = walker.anatomy.muscle_groups(walker.muscle_names)
    strengths = muscle_strengths(model, muscles)
    for fiber, i, strength, (group, _) in zip(fibers, muscles, strengths, groups, strict=True):
        # MuJoCo's muscle: range, force, scale, lmin, lmax, vmax, fpmax, fvmax
        low, high, _, _, shortest, longest, speed, _, lengthening = model.actuator_gainprm[i, :9]
        least, most = model.actuator_lengthrange[i]
        optimal = (most - least) / (high - low)
        fiber["slack"] = least - low * optimal
        fiber["optimal"], fiber["strength"] = optimal, strength
        fiber["shortest"], fiber["longest"] = shortest, longest
        fiber["speed"], fiber["lengthening"] = speed, lengthening
        # (8)
        fiber["share"] = share = walker.anatomy.fiber_share.get(group, 1.0)
        fiber["mass"] = strength / table["specific_tension"] * share * optimal * table["density"]
        fiber["slow"] = table["slow"].get(group, table["slow_otherwise"])
    kinds = model.actuator_gaintype[muscles]
    # actuators other than MuJoCo muscles have no fibers
    fibers[kinds != mujoco.mjtGain.mjGAIN_MUSCLE] = np.zeros((), dtype=FIBER)
    return fibers


@compiled
def force_length(length, shortest, longest):
    """Isometric force at a length [optimal lengths] relative to the strength, MuJoCo's curve."""
    if length < shortest or length > longest:
        return 0.0
    # four parabolas of mju_muscleGain: zero slope at both ends and at the optimal length, half of
    # the force midway between
    rising, falling = 0.5 * (shortest + 1.0), 0.5 * (1.0 + longest)
    if length <= rising:
        x = (length - shortest) / (rising - shortest)
        return 0.5 * x * x
    if length <= 1.0:
        x = (1.0 - length) / (1.0 - rising)
        return 1.0 - 0.5 * x * x
    if length <= falling:
        x = (length - 1.0) / (falling - 1.0)
        return 1.0 - 0.5 * x * x
    x = (longest - length) / (longest - falling)
    return 0.5 * x * x


@compiled
def force_velocity(velocity, lengthening):
    """Force at a velocity [largest speeds], lengthening positive, MuJoCo's curve."""
    if velocity <= -1.0:
        return 0.0
    if velocity <= 0.0:
        return (velocity + 1.0) * (velocity + 1.0)
    # parabolas of mju_muscleGain: shortening (1 + v)^2, and lengthening with the same slope 2 at
    # rest that reaches its limit with slope zero at v = lengthening - 1
    most = lengthening - 1.0
    if velocity <= most:
        return lengthening - (most - velocity) * (most - velocity) / most
    return lengthening


@compiled
def muscle_power(fiber, stimulation, activation, length, velocity):
    """Metabolic power of a muscle [W]; numbers in comments refer to the module docstring.

    Args:
      fiber: a :data:`FIBER`.
      stimulation: stimulation [0, 1].
      activation: activation [0, 1].
      length: length of muscle and tendon [m].
      velocity: its rate, lengthening positive [m/s].
    """
    normal = (length - fiber.slack) / fiber.optimal
    rate = velocity / fiber.optimal
    isometric = force_length(normal, fiber.shortest, fiber.longest)
    u = min(max(stimulation, 0.0), 1.0)
    active = u if u > activation else 0.5 * (u + activation)  # (6)
    fast = 1.0 - fiber.slow
    heat = (128.0 * fast + 25.0) * active**0.6  # (2)
    slow_factor = 250.0 / fiber.speed  # (5), 100 * 2.5
    if rate <= 0.0:
        moving = min(-slow_factor * rate, SLOW_LIMIT) * fiber.slow  # (3)
        moving += -153.0 / fiber.speed * rate * fast
        moving *= active * active
    else:
        moving = 0.3 * slow_factor * rate * active  # (4)
    if normal > 1.0:
        heat *= 0.4 + 0.6 * isometric
        moving *= isometric
    heat = max(AEROBIC * (heat + moving), LEAST_HEAT)
    force = fiber.strength * activation * isometric
    force *= force_velocity(rate / fiber.speed, fiber.lengthening)
    return heat * fiber.mass + max(-force * fiber.share * velocity, 0.0)  # (1), (7)


@compiled
def metabolic_power(fields, muscles, fibers, i):
    """Metabolic power of all muscles of simulation ``i`` [W]."""
    total = 0.0
    for m in range(len(fibers)):
        muscle = muscles[m]
        total += muscle_power(
            fibers[m],
            fields.ctrl[i, muscle.ctrl],
            fields.act[i, muscle.act],
            fields.actuator_length[i, muscle.actuator],
            fields.actuator_velocity[i, muscle.actuator],
        )
    return total


@compiled_once
def measure_muscle_powers(fibers, stimulation, activation, length, velocity, powers):
    """Measure the metabolic power of each muscle at each frame.

    Args:
      fibers: fibers ``(muscles,)``, an array of :data:`FIBER`.
      stimulation: stimulations ``(frames, muscles)`` [0, 1].
      activation: activations, likewise.
      length: lengths of muscle and tendon, likewise [m].
      velocity: their rates, lengthening positive, likewise [m/s].
      powers: output, powers, likewise [W].
    """
    for k in range(len(activation)):
        for m in range(len(fibers)):
            if fibers[m].mass > 0.0:
                powers[k, m] = muscle_power(
                    fibers[m], stimulation[k, m], activation[k, m], length[k, m], velocity[k, m]
                )
