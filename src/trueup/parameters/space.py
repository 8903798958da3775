"""Search space: names, bounds, start and scale of each free element."""

import functools
from dataclasses import dataclass

import numpy as np

from trueup.errors import ParameterError

LOGIT_REACH = float(np.log(999.0))
"""Search coordinate at which a logit scale reaches its bounds: there a plain logit is 0.1 % of the
range away from them."""

_LOGIT_EDGE = 1.0 / (1.0 + np.exp(LOGIT_REACH))


@dataclass(frozen=True)
class Space:
    """Search space of the free elements of a set of parameters.

    A search works in coordinates ``z``: the logarithm of an element on a log scale, the log
    odds of its position between the bounds on a logit scale, the element itself otherwise. The log
    odds are stretched so that the bounds themselves lie at ``-LOGIT_REACH`` and ``LOGIT_REACH``:
    ``x = lower + (upper - lower) (s(z) - s(-R)) / (s(R) - s(-R))`` with ``s(z) = 1/(1 + exp(-z))``.
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
    """Group of each element ``(p,)``, from 0: elements of a group never affect the same residual
    (initial states of different windows), so one simulation perturbs them all. None: one each."""
    logit: np.ndarray | None = None
    """Which elements are searched on a logit scale ``(p,)`` bool; None: none of them."""
    deviation: np.ndarray | None = None
    """Initial standard deviation of a population search, in search coordinates ``(p,)``; NaN or
    None: the default of the search."""
    correlation: np.ndarray | None = None
    """Initial correlations of a population search, in search coordinates ``(p, p)``; None: none."""

    def __post_init__(self):
        size = len(self.names)
        for field in ("lower", "upper", "start", "log", "logit", "deviation"):
            value = getattr(self, field)
            if value is not None and value.shape != (size,):
                raise ParameterError(
                    f"space: {field} has shape {value.shape}, expected one value for each of "
                    f"{size} names"
                )
        if self.correlation is not None and self.correlation.shape != (size, size):
            raise ParameterError(
                f"space: correlation has shape {self.correlation.shape}, expected ({size}, {size})"
            )
        if self.logit is not None and (self.logit & self.log).any():
            raise ParameterError("space: an element cannot have both a log and a logit scale")

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.names)

    @property
    def is_linear(self) -> bool:
        """Whether search coordinates are the values themselves."""
        return not self.log.any() and self._on_logit is None

    def to_search(self, x: np.ndarray) -> np.ndarray:
        """Search coordinates of values ``(..., p)``."""
        z = np.array(x, float)
        if self.log.any():
            with np.errstate(divide="ignore"):
                z = np.where(self.log, np.log(np.where(self.log, z, 1.0)), z)
        if (logit := self._on_logit) is not None:
            share = np.clip(self._share(x, logit), _LOGIT_EDGE, 1.0 - _LOGIT_EDGE)
            z = np.where(logit, np.log(share / (1.0 - share)), z)
        return z

    def from_search(self, z: np.ndarray) -> np.ndarray:
        """Values of search coordinates ``(..., p)``, clipped to the bounds.

        Values within rounding of a bound are set to it.
        """
        low, high = self.search_bounds
        with np.errstate(invalid="ignore"):
            near = 1e-14 * np.where(np.isfinite(high - low), high - low, 0.0)
        x = self.unclipped(z)
        x = np.where(z <= low + near, self.lower, np.where(z >= high - near, self.upper, x))
        return np.clip(x, self.lower, self.upper)

    def unclipped(self, z: np.ndarray) -> np.ndarray:
        """Values of search coordinates ``(..., p)`` that may lie outside the bounds."""
        x = z
        if self.log.any():
            with np.errstate(over="ignore"):
                x = np.where(self.log, np.exp(np.where(self.log, z, 0.0)), x)
        if (logit := self._on_logit) is not None:
            share = 0.5 * (1.0 + np.tanh(0.5 * np.where(logit, z, 0.0)))
            place = (share - _LOGIT_EDGE) / (1.0 - 2.0 * _LOGIT_EDGE)
            lower, span = self._range(logit)
            x = np.where(logit, lower + span * place, x)
        return x

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Derivative dx/dz of values ``(..., p)``."""
        out = np.where(self.log, x, 1.0)
        if (logit := self._on_logit) is not None:
            share, span = self._share(x, logit), self._range(logit)[1]
            out = np.where(logit, span * share * (1.0 - share) / (1.0 - 2.0 * _LOGIT_EDGE), out)
        return out

    @property
    def _on_logit(self) -> np.ndarray | None:
        return self.logit if self.logit is not None and self.logit.any() else None

    def _range(self, logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds and widths of the elements on a logit scale, 0 and 1 of the others."""
        lower = np.where(logit, self.lower, 0.0)
        return lower, np.where(logit, self.upper, 1.0) - lower

    def _share(self, x: np.ndarray, logit: np.ndarray) -> np.ndarray:
        """``s(z)`` of values on the logit scale."""
        lower, span = self._range(logit)
        place = (np.where(logit, x, 0.5) - lower) / span
        return _LOGIT_EDGE + (1.0 - 2.0 * _LOGIT_EDGE) * place

    @property
    def groups(self) -> np.ndarray:
        """Group of each element ``(p,)``."""
        return np.arange(self.size) if self.together is None else self.together

    @functools.cached_property
    def search_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds in search coordinates; each step of a search asks for them."""
        bounds = self.to_search(self.lower), self.to_search(self.upper)
        for bound in bounds:
            bound.flags.writeable = False
        return bounds

    def at_bound(self, x: np.ndarray, tolerance: float = 1e-3) -> np.ndarray:
        """Which elements of ``x`` (p,) lie within ``tolerance`` of the range from a bound."""
        lower, upper = self.search_bounds
        z = self.to_search(x)
        span = upper - lower
        reach = np.where(np.isfinite(span), tolerance * span, 0.0)
        return (z - lower <= reach) | (upper - z <= reach)
