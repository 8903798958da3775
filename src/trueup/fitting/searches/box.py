"""Checks of a search space, and the initial standard deviation of a population."""

import numpy as np

from trueup.errors import FitError, listing
from trueup.parameters import Space


def check_box(space: Space) -> None:
    """Check that a population can be drawn in the bounds.

    Raises:
      FitError: a start value outside its bounds or not finite, or equal bounds.
    """
    outside = ~((space.start >= space.lower) & (space.start <= space.upper))
    outside |= ~np.isfinite(space.start)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise FitError(
            f"the start of {listing(_names(space, outside))} is outside the bounds: "
            f"{space.names[i]} starts at {space.start[i]:.6g}, its bounds are "
            f"[{space.lower[i]:.6g}, {space.upper[i]:.6g}]; move the start or widen the bounds"
        )
    empty = ~(space.upper > space.lower)
    if empty.any():
        raise FitError(
            f"the bounds of {listing(_names(space, empty))} are equal: freeze "
            "these parameters, or widen the bounds"
        )


def start_deviations(space: Space, relative: float) -> np.ndarray:
    """Initial standard deviation of a population, in search coordinates ``(p,)``.

    Args:
      space: search space. Its explicit deviations take precedence.
      relative: deviation as a share of the range; of an element without a finite range, as a share
        of the magnitude of its start value, or on a log scale, of a factor of e.

    Raises:
      FitError: an element has no deviation, no finite range, and starts at zero.
    """
    lower, upper = space.search_bounds
    z = space.to_search(space.start)
    with np.errstate(invalid="ignore"):
        span = upper - lower
    magnitude = np.where(space.log, 1.0, np.abs(z))
    deviations = relative * np.where(np.isfinite(span), span, magnitude)
    if space.deviation is not None:
        deviations = np.where(np.isnan(space.deviation), deviations, space.deviation)
    unknown = ~(deviations > 0)
    if unknown.any():
        raise FitError(
            f"no initial deviation for {listing(_names(space, unknown))}: the start is "
            "zero and a bound is infinite. Give a deviation, or finite bounds"
        )
    return deviations


def _names(space: Space, mask: np.ndarray) -> list[str]:
    return [name for name, is_meant in zip(space.names, mask, strict=True) if is_meant]
