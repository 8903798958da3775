"""Joint parameter draws, with names, units and targets."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import RunDirectoryError
from trueup.runs.store import atomic


@dataclass(frozen=True)
class ModelField:
    """Numbers that draws write into a model: one field of MjModel for one element."""

    field: str
    """Field of MjModel, such as ``dof_armature``."""
    kind: str
    """Kind of the element: ``joint``, ``body``, ``actuator``, ..."""
    element: str
    """Name of the element."""
    components: tuple[int, ...]
    """Indices of the numbers within the element, in the order of the field."""
    values: np.ndarray
    """Values ``(n, components)``, in the units of MjModel."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values of the names, without the drawn values."""
        return {
            "field": self.field,
            "kind": self.kind,
            "element": self.element,
            "components": list(self.components),
        }


@dataclass(frozen=True)
class Draws:
    """Joint draws from the distribution of parameters."""

    names: tuple[str, ...]
    """Name of each element."""
    units: tuple[str, ...]
    """Unit of each element."""
    targets: tuple[str, ...]
    """Targets of each element in the model, separated by commas."""
    values: np.ndarray
    """Values ``(n, p)``, in the units of the elements."""
    fields: tuple[ModelField, ...] = ()
    """Numbers of a model that the draws write."""
    signals: tuple[Any, ...] = ()
    """Delays, gains and biases of sensors and commands, as
    :class:`trueup.knowledge.signals.SignalDraw`."""

    def marginals(self) -> list[dict[str, Any]]:
        """Median, 5 % and 95 % quantile of each element."""
        ends = np.quantile(self.values, [0.05, 0.5, 0.95], axis=0)
        return [
            {
                "name": name,
                "unit": unit,
                "target": target,
                "low": float(low),
                "median": float(middle),
                "high": float(high),
            }
            for name, unit, target, low, middle, high in zip(
                self.names, self.units, self.targets, *ends, strict=True
            )
        ]

    def correlation(self) -> np.ndarray:
        """Correlation ``(p, p)`` of the values; 0 for an element that does not vary."""
        centred = self.values - self.values.mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        size = np.where(size > 0.0, size, np.inf)
        out = (centred / size).T @ (centred / size)
        np.fill_diagonal(out, 1.0)
        return out

    def write(self, path: Path) -> None:
        """Write ``posterior.npz``, with arrays of numbers and text only."""
        arrays: dict[str, Any] = {
            "values": self.values,
            "names": np.array(self.names, np.str_),
            "units": np.array(self.units, np.str_),
            "targets": np.array(self.targets, np.str_),
        }
        for index, entry in enumerate(self.fields):
            arrays[f"field_{index}"] = entry.values
        for index, signal in enumerate(self.signals):
            arrays[f"signal_{index}"] = signal.values
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        atomic.write_bytes(path, content.getvalue())

    @classmethod
    def read(cls, path: Path) -> "Draws":
        """Draws from ``posterior.npz``, without the fields of a model, which are in ``dr.json``.

        Raises:
          RunDirectoryError: the file is missing, damaged or not a file of draws.
        """
        try:
            found = read_arrays(path)
            names, units, targets = (
                tuple(map(str, found[name])) for name in ("names", "units", "targets")
            )
            return cls(names, units, targets, found["values"])
        except DAMAGED_ARCHIVE as error:
            raise RunDirectoryError(f"{path} is not a file of draws: {error}") from error
