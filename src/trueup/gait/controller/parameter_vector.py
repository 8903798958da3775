"""Parameter vector of a walk: its entries by name, and their physical values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.parameters import Space

GROUPS = ("gain", "pose", "activation", "exoskeleton")
"""Groups of entries, in their order in a vector."""

ROUNDING = 1e-9
"""Tolerance of the bounds for a vector read from text, due to rounding."""

MOST_NAMED = 8
"""Largest number of entries in an error message."""


@dataclass(frozen=True)
class Entry:
    """Entry of a parameter vector: value = scale * p + offset."""

    name: str
    """Name, unique in the vector."""
    group: str
    """One of :data:`GROUPS`."""
    scale: float = 1.0
    """Value per unit of the entry, in ``unit``."""
    offset: float = 0.0
    """Value at the entry 0, in ``unit``."""
    unit: str = "1"
    """Unit of scale and offset; degrees become radians in :meth:`ParameterVector.values`."""
    lower: float = -np.inf
    """Lower bound of the entry."""
    upper: float = np.inf
    """Upper bound of the entry."""
    start: float = 1.0
    """Nominal value of the entry."""
    free: bool = True
    """Whether a search optimises it."""

    @property
    def bounds(self) -> str:
        """Text with the bounds."""
        if np.isinf(self.upper):
            return "any number" if np.isinf(self.lower) else f"{self.lower:g} or more"
        if np.isinf(self.lower):
            return f"{self.upper:g} or less"
        return f"{self.lower:g} to {self.upper:g}"


@dataclass(frozen=True)
class ParameterVector:
    """The entries of a parameter vector, in order."""

    entries: tuple[Entry, ...]
    """The entries."""

    def __post_init__(self):
        names = self.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise GaitError(
                f"names of a parameter vector must be unique; repeated: {listing(twice)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries."""
        return tuple(entry.name for entry in self.entries)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.entries)

    @property
    def start(self) -> np.ndarray:
        """The nominal vector ``(size,)``."""
        return np.array([entry.start for entry in self.entries])

    @property
    def free(self) -> np.ndarray:
        """Whether a search optimises each entry ``(size,)`` bool."""
        return np.array([entry.free for entry in self.entries], dtype=bool)

    def group(self, group: str) -> slice:
        """Indices of the entries of a group."""
        found = [i for i, entry in enumerate(self.entries) if entry.group == group]
        return slice(found[0], found[-1] + 1) if found else slice(0, 0)

    def index(self, name: str) -> int:
        """Index of an entry.

        Raises:
          GaitError: no entry has this name.
        """
        if name not in self.names:
            raise GaitError(
                f"the parameter vector has no entry {name!r}; it has {listing(self.names, 100)}."
                f"{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)

    def with_entries(self, changes: Mapping[str, Mapping[str, float | bool]]) -> "ParameterVector":
        """The same vector with other bounds, start values or free entries, by name."""
        for name in changes:
            self.index(name)
        return ParameterVector(
            tuple(replace(entry, **changes.get(entry.name, {})) for entry in self.entries)  # pyright: ignore[reportArgumentType]
        )

    def values(self, X: np.ndarray, group: str) -> np.ndarray:
        """Physical values ``(n, entries of the group)`` of vectors ``X (n, size)`` [SI, rad]."""
        part = self.group(group)
        entries = self.entries[part]
        scaled = X[:, part] * np.array([entry.scale for entry in entries])
        offset = np.array([entry.offset for entry in entries])
        degrees = np.array([entry.unit == "deg" for entry in entries], dtype=bool)
        in_radians = scaled * np.pi / 180.0 + offset * np.pi / 180.0
        return np.where(degrees, in_radians, scaled + offset)

    def check(self, vector: Sequence[float] | np.ndarray, source: str = "") -> np.ndarray:
        """A vector ``(size,)`` or vectors ``(n, size)``, checked.

        Raises:
          GaitError: another length, or values that are not finite.
        """
        values = np.asarray(vector, dtype=float)
        where = f"{source}: " if source else ""
        if values.ndim not in (1, 2) or values.shape[-1] != self.size:
            groups = ", ".join(
                f"{part.stop - part.start} {name}"
                for name in GROUPS
                if (part := self.group(name)).stop > part.start
            )
            raise GaitError(
                f"{where}the parameter vector has shape {values.shape}; this walker and "
                f"controller require {self.size} entries ({groups})"
                f"{self._hint(values.shape[-1] if values.ndim else 0)}"
            )
        wrong = [self.names[i] for i in np.unique(np.argwhere(~np.isfinite(values))[:, -1])]
        if wrong:
            raise GaitError(f"{where}the entries {listing(wrong)} are not finite")
        return values

    def _hint(self, length: int) -> str:
        """Hint on the probable kind of a vector of wrong length; a curve of n points has 2 n
        entries."""
        exo = self.group("exoskeleton")
        curve = exo.stop - exo.start
        if curve and length == self.size - curve:
            return "; it fits this walker without an exoskeleton: ExoOn=0"
        # with many more entries it belongs to another model
        if not curve and length - self.size in range(2, 13, 2):
            return (
                f"; the additional {length - self.size} may be the torque curve of an exoskeleton: "
                "ExoOn=1 and its model=DEVICE"
            )
        return ""

    def check_given(self, vector: Sequence[float] | np.ndarray, source: str) -> np.ndarray:
        """A vector ``(size,)`` from a user, checked as in :meth:`check`, and against its bounds.

        A column ``(size, 1)`` or a row ``(1, size)`` is a vector too.

        Raises:
          GaitError: also for a table, or entries outside their bounds.
        """
        values = np.asarray(vector, dtype=float)
        if values.ndim > 1 and values.size != max(values.shape):
            shape = " x ".join(str(count) for count in values.shape)
            raise GaitError(
                f"{source} contains a table of {shape} numbers; expected one column or one row"
            )
        values = self.check(values.reshape(-1), source)
        outside = [
            (entry, value)
            for entry, value in zip(self.entries, values, strict=True)
            if not entry.lower - ROUNDING <= value <= entry.upper + ROUNDING
        ]
        if outside:
            named = [f"{entry.name!r} is {value:g} ({entry.bounds})" for entry, value in outside]
            more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
            curve = any(entry.group == "exoskeleton" for entry, _ in outside)
            raise GaitError(
                f"{source} contains values outside their bounds: "
                f"{', '.join(named[:MOST_NAMED])}{more}"
                + (". The times or torques of the exoskeleton are out of order" if curve else "")
            )
        return values

    @property
    def space(self) -> Space:
        """Search space of the free entries."""
        entries = [entry for entry in self.entries if entry.free]
        lower = np.array([entry.lower for entry in entries])
        upper = np.array([entry.upper for entry in entries])
        start = np.clip([entry.start for entry in entries], lower, upper)
        return Space(
            names=tuple(entry.name for entry in entries),
            lower=lower,
            upper=upper,
            start=start,
            log=np.zeros(len(entries), dtype=bool),
            units=("1",) * len(entries),
        )

    def complete(self, X: np.ndarray) -> np.ndarray:
        """Complete vectors ``(n, size)`` from the values of the free entries ``(n, free)``."""
        X = np.atleast_2d(np.asarray(X, dtype=float))
        whole = np.tile(self.start, (len(X), 1))
        whole[:, self.free] = X
        return whole
