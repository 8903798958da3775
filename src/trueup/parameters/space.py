"""The box in which a search moves: names, bounds, start and scale of each free element."""

from dataclasses import dataclass

import numpy as np

from trueup.errors import ParameterError


@dataclass(frozen=True)
class Space:
    """Free elements of a set of parameters, as a search sees them.

    A search moves in search coordinates ``z``: the logarithm of an element on a log scale, the
    element itself otherwise.
    """

    names: tuple[str, ...]
    """Name of each element."""
    lower: np.ndarray
    """Lower bounds ``(p,)``, may be ``-inf``."""
    upper: np.ndarray
    """Upper bounds ``(p,)``, may be ``inf``."""
    start: np.ndarray
    """Start values ``(p,)``, within the bounds."""
    log: np.ndarray
    """Which elements are searched on a log scale ``(p,)`` bool."""
    units: tuple[str, ...] = ()
    """Unit of each element."""
    together: np.ndarray | None = None
    """Group of each element ``(p,)``, from 0: elements of a group never act on the same residual
    (initial states of different windows), so one simulation perturbs them all. None: one each."""

    def __post_init__(self):
        size = len(self.names)
        for field in ("lower", "upper", "start", "log"):
            if getattr(self, field).shape != (size,):
                raise ParameterError(
                    f"space: {field} has shape {getattr(self, field).shape}, there are {size} names"
                )

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.names)

    def to_search(self, x: np.ndarray) -> np.ndarray:
        """Search coordinates of values ``(..., p)``."""
        if not self.log.any():
            return np.array(x, float)
        return np.where(self.log, np.log(np.where(self.log, x, 1.0)), x)

    def from_search(self, z: np.ndarray) -> np.ndarray:
        """Values of search coordinates ``(..., p)``, clipped to the bounds.

        What lies on a bound but for rounding lies on it exactly.
        """
        low, high = self.search_bounds
        with np.errstate(invalid="ignore"):
            near = 1e-14 * np.where(np.isfinite(high - low), high - low, 0.0)
        x = z
        if self.log.any():
            x = np.where(self.log, np.exp(np.where(self.log, z, 0.0)), z)
        x = np.where(z <= low + near, self.lower, np.where(z >= high - near, self.upper, x))
        return np.clip(x, self.lower, self.upper)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Derivative dx/dz of values ``(..., p)``."""
        return np.where(self.log, x, 1.0)

    @property
    def groups(self) -> np.ndarray:
        """Group of each element ``(p,)``."""
        return np.arange(self.size) if self.together is None else self.together

    @property
    def search_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds in search coordinates."""
        return self.to_search(self.lower), self.to_search(self.upper)

    def at_bound(self, x: np.ndarray, tolerance: float = 1e-3) -> np.ndarray:
        """Which elements of ``x`` (p,) lie within ``tolerance`` of the range from a bound."""
        lower, upper = self.search_bounds
        z = self.to_search(x)
        span = upper - lower
        reach = np.where(np.isfinite(span), tolerance * span, 0.0)
        return (z - lower <= reach) | (upper - z <= reach)
