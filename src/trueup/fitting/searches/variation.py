"""Variation of real-coded populations in the unit cube: simulated binary crossover and
polynomial mutation."""

import numpy as np

_SAME = 1e-14  # parents closer than this are not crossed


def simulated_binary_crossover(
    mothers: np.ndarray,
    fathers: np.ndarray,
    random: np.random.Generator,
    probability: float,
    index: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Two children of each pair of parents.

    K. Deb and R. B. Agrawal, "Simulated binary crossover for continuous search space" (1995), with
    the spread of each child limited at its bound as in K. Deb, "An efficient constraint handling
    method for genetic algorithms" (2000), equations 26 to 28. Each element is crossed with
    probability one half, and its two values are assigned to the children at random.

    Args:
      mothers: points of the unit cube ``(n, p)``.
      fathers: the same.
      random: random generator.
      probability: crossover probability of a pair.
      index: distribution index; larger values give children closer to their parents.
    """
    shape = mothers.shape
    low, high = np.minimum(mothers, fathers), np.maximum(mothers, fathers)
    gap = high - low
    crossed = (random.random((shape[0], 1)) < probability) & (random.random(shape) < 0.5)
    crossed &= gap > _SAME
    wide = np.where(crossed, gap, 1.0)
    chance = random.random(shape)
    below = _spread(chance, 1.0 + 2.0 * low / wide, index)
    above = _spread(chance, 1.0 + 2.0 * (1.0 - high) / wide, index)
    middle = 0.5 * (low + high)
    lower = np.clip(middle - 0.5 * below * gap, 0.0, 1.0)
    upper = np.clip(middle + 0.5 * above * gap, 0.0, 1.0)
    swapped = random.random(shape) < 0.5
    first = np.where(crossed, np.where(swapped, upper, lower), mothers)
    second = np.where(crossed, np.where(swapped, lower, upper), fathers)
    return first, second


def _spread(chance: np.ndarray, room: np.ndarray, index: float) -> np.ndarray:
    """Distance of the children over that of the parents."""
    alpha = 2.0 - room ** -(index + 1.0)
    scaled = chance * alpha
    base = np.where(scaled <= 1.0, scaled, 1.0 / np.maximum(2.0 - scaled, 1e-300))
    return base ** (1.0 / (index + 1.0))


def polynomial_mutation(
    points: np.ndarray, chosen: np.ndarray, random: np.random.Generator, index: float
) -> np.ndarray:
    """Mutate some elements of points of the unit cube, within the bounds.

    K. Deb, "Multi-objective optimization using evolutionary algorithms" (2001), section 4.3, in the
    form with limits at the bounds.

    Args:
      points: points of the unit cube ``(n, p)``.
      chosen: elements to mutate ``(n, p)``.
      random: random generator.
      index: distribution index; larger values give smaller mutations.
    """
    chance = random.random(points.shape)
    down = chance < 0.5
    room = np.where(down, 1.0 - points, points) ** (index + 1.0)
    share = np.where(down, 2.0 * chance, 2.0 * (1.0 - chance))
    length = 1.0 - (share + (1.0 - share) * room) ** (1.0 / (index + 1.0))
    return np.where(chosen, np.clip(points + np.where(down, -length, length), 0.0, 1.0), points)
