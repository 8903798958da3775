"""The metabolic power of muscles, compiled; the equations stand in ``metabolic``."""

import numpy as np

from trueup.gait.controller._compiled import compiled

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
    ]
)
"""A muscle: length of its tendon and optimal length of its fibers [m], their largest speed [optimal
lengths/s], shortest and longest length with force [optimal lengths], largest force when lengthening
and its strength [N], its mass [kg], its part of slow fibers."""

AEROBIC = 1.5
"""Factor of heat rates where oxygen suffices."""

LEAST_HEAT = 1.0
"""Least heat rate of a muscle [W/kg]."""

SLOW_LIMIT = 100.0
"""Largest shortening heat rate of slow fibers [W/kg]."""


@compiled
def force_length(length, shortest, longest):
    """Isometric force at a length [optimal lengths], of the largest one, as MuJoCo has it."""
    if length < shortest or length > longest:
        return 0.0
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
    """Force at a velocity [largest speeds], lengthening positive, as MuJoCo has it."""
    if velocity <= -1.0:
        return 0.0
    if velocity <= 0.0:
        return (velocity + 1.0) * (velocity + 1.0)
    most = lengthening - 1.0
    if velocity <= most:
        return lengthening - (most - velocity) * (most - velocity) / most
    return lengthening


@compiled
def muscle_power(fiber, stimulation, activation, length, velocity):
    """Metabolic power of a muscle [W].

    Args:
      fiber: a :data:`FIBER`.
      stimulation: 0 to 1.
      activation: 0 to 1.
      length: length of muscle and tendon [m].
      velocity: its rate, lengthening positive [m/s].
    """
    normal = (length - fiber.slack) / fiber.optimal
    rate = velocity / fiber.optimal
    isometric = force_length(normal, fiber.shortest, fiber.longest)
    u = min(max(stimulation, 0.0), 1.0)
    active = u if u > activation else 0.5 * (u + activation)
    fast = 1.0 - fiber.slow
    heat = (128.0 * fast + 25.0) * active**0.6
    slow_factor = 250.0 / fiber.speed
    if rate <= 0.0:
        moving = min(-slow_factor * rate, SLOW_LIMIT) * fiber.slow
        moving += -153.0 / fiber.speed * rate * fast
        moving *= active * active
    else:
        moving = 0.3 * slow_factor * rate * active
    if normal > 1.0:
        heat *= 0.4 + 0.6 * isometric
        moving *= isometric
    heat = max(AEROBIC * (heat + moving), LEAST_HEAT)
    force = fiber.strength * activation * isometric
    force *= force_velocity(rate / fiber.speed, fiber.lengthening)
    return heat * fiber.mass + max(-force * velocity, 0.0)


@compiled
def metabolic_power(fields, muscles, fibers, i):
    """Metabolic power of all muscles of simulation ``i`` [W]."""
    total = 0.0
    for m in range(len(fibers)):
        muscle = muscles[m]
        total += muscle_power(
            fibers[m],
            fields.state[i, fields.ctrl + muscle.ctrl],
            fields.state[i, fields.act + muscle.act],
            fields.actuator_length[i, muscle.actuator],
            fields.actuator_velocity[i, muscle.actuator],
        )
    return total
