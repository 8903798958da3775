"""Ordered set of parameters with one vector of free elements."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.errors import ParameterError, did_you_mean, listing
from trueup.parameters import file as parameter_file
from trueup.parameters import table as parameter_table
from trueup.parameters.parameter import ModifierFn, Parameter
from trueup.parameters.space import Space


class ParameterDict(RichDisplay):
    """Parameters by name, in order. Vectors contain the free ones: neither frozen nor tied.

    Args:
      parameters: parameters by name; None for an empty set. A parameter takes the name of its
        key.
    """

    displayed_by = "trueup.reports.displays:of_parameters"

    def __init__(self, parameters: dict[str, Parameter] | None = None):
        self.parameters: dict[str, Parameter] = {}
        for name, param in (parameters or {}).items():
            self[name] = param

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self.parameters[key]
        except KeyError:
            raise KeyError(
                f"no parameter {key!r}.{did_you_mean(key, self.parameters)} "
                f"Available: {listing(self.parameters)}"
            ) from None

    def __setitem__(self, key: str, value: Parameter) -> None:
        value.name = key
        self.parameters[key] = value

    def __contains__(self, key: object) -> bool:
        return key in self.parameters

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def keys(self) -> list[str]:
        """Names, in order."""
        return list(self.parameters)

    def values(self) -> list[Parameter]:
        """Parameters, in order."""
        return list(self.parameters.values())

    def items(self) -> list[tuple[str, Parameter]]:
        """Names and parameters, in order."""
        return list(self.parameters.items())

    def add(self, param: Parameter) -> None:
        """Add a parameter under its name, replacing one of that name."""
        self.parameters[param.name] = param

    def update(self, pdict: "ParameterDict | Mapping[str, Parameter]") -> None:
        """Add all parameters of another set.

        Raises:
          ParameterError: a name exists in both.
        """
        double = [name for name in pdict.keys() if name in self.parameters]  # noqa: SIM118
        if double:
            raise ParameterError(f"parameters exist already: {listing(double)}")
        for name in pdict.keys():  # noqa: SIM118
            self[name] = pdict[name]

    def copy(self) -> Self:
        """Return a deep copy; modifiers are shared."""
        return copy.deepcopy(self)

    @property
    def free(self) -> list[Parameter]:
        """Parameters that a fit estimates."""
        return [p for p in self.parameters.values() if p.is_free]

    @property
    def size(self) -> int:
        """Number of free elements."""
        return sum(p.size for p in self.free)

    def _chosen(self, include_frozen: bool) -> list[Parameter]:
        return [p for p in self.parameters.values() if p.is_free or (include_frozen and p.frozen)]

    def as_vector(self, include_frozen: bool = False) -> np.ndarray:
        """Values of the free parameters (and optionally the frozen ones), flat, in order."""
        vectors = [p.as_vector() for p in self._chosen(include_frozen)]
        return np.concatenate(vectors) if vectors else np.array([])

    def as_nominal_vector(self, include_frozen: bool = False) -> np.ndarray:
        """Nominal values of the same parameters."""
        vectors = [p.as_nominal_vector() for p in self._chosen(include_frozen)]
        return np.concatenate(vectors) if vectors else np.array([])

    def update_from_vector(self, vector: np.ndarray) -> None:
        """Set the free parameters from a flat array, then the tied ones from theirs.

        Raises:
          ParameterError: the array has another length than :attr:`size`.
        """
        vector = np.asarray(vector, float).reshape(-1)
        if vector.size != self.size:
            raise ParameterError(
                f"expected a vector of {self.size} free elements, found {vector.size}: "
                f"{listing(self.get_non_frozen_parameter_names())}"
            )
        start = 0
        for param in self.free:
            param.update_from_vector(vector[start : start + param.size])
            start += param.size
        self.apply_ties()

    def apply_ties(self) -> None:
        """Copy values along ties.

        Raises:
          ParameterError: a tie to a parameter that does not exist, has another size, or is tied
            itself.
        """
        for param in self.parameters.values():
            if param.tied_to is not None:
                param.value = self.tie_source(param).value.reshape(param.shape).copy()

    def tie_source(self, param: Parameter) -> Parameter:
        """The parameter that ``param`` is tied to, checked."""
        label = f"parameter {param.name!r} is tied to {param.tied_to!r}"
        source = self.parameters.get(param.tied_to or "")
        if source is None:
            raise ParameterError(
                f"{label}, which does not "
                f"exist.{did_you_mean(param.tied_to or '', self.parameters)} "
                f"Available: {listing(self.parameters)}"
            )
        if source.tied_to is not None:
            raise ParameterError(f"{label}, which is itself tied; tie both to {source.tied_to!r}")
        if source.size != param.size:
            raise ParameterError(f"{label}, which has {source.size} elements, not {param.size}")
        return source

    def get_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the free elements."""
        bounds = [p.get_bounds() for p in self.free]
        if not bounds:
            return np.array([]), np.array([])
        return np.concatenate([b[0] for b in bounds]), np.concatenate([b[1] for b in bounds])

    def space(self) -> Space:
        """Search space of the free elements, starting at the current values clipped to bounds."""
        lower, upper = self.get_bounds()
        repeated = [(p.scale, p.unit) for p in self.free for _ in range(p.size)]
        scales = np.array([r[0] for r in repeated], str)
        deviations = [
            np.full(p.size, np.nan) if p.deviation is None else p.deviation.flatten()
            for p in self.free
        ]
        return Space(
            names=tuple(self.get_non_frozen_parameter_names()),
            lower=lower,
            upper=upper,
            start=np.clip(self.as_vector(), lower, upper),
            log=scales == "log",
            units=tuple(r[1] for r in repeated),
            logit=scales == "logit" if "logit" in scales else None,
            deviation=np.concatenate(deviations)
            if any(p.deviation is not None for p in self.free)
            else None,
        )

    def value_table(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Values of all parameters for a batch of free vectors, frozen and tied ones included.

        Args:
          X: ``(n, p)`` candidates.

        Returns:
          name -> ``(n, size)``.
        """
        X = np.asarray(X, float)
        table: dict[str, np.ndarray] = {}
        start = 0
        for name, param in self.parameters.items():
            if param.is_free:
                table[name] = X[:, start : start + param.size]
                start += param.size
            elif param.tied_to is None:
                table[name] = np.broadcast_to(param.as_vector(), (len(X), param.size))
        for name, param in self.parameters.items():
            if param.tied_to is not None:
                table[name] = table[self.tie_source(param).name]
        return table

    def move_off_bounds(self, fraction: float = 0.05, at_bound_tol: float = 1e-3) -> Self:
        """Run :meth:`Parameter.move_off_bound` on every free parameter; returns itself."""
        for param in self.free:
            param.move_off_bound(fraction=fraction, at_bound_tol=at_bound_tol)
        self.apply_ties()
        return self

    def reset(self) -> None:
        """Set all values to nominal."""
        for param in self.parameters.values():
            param.reset()
        self.apply_ties()

    def sample(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """Draw a vector of free elements within the bounds."""
        rng = np.random.default_rng() if rng is None else rng
        drawn = [p.sample(rng) for p in self.free]
        return np.concatenate(drawn) if drawn else np.array([])

    def randomize(self, rng: np.random.Generator | None = None) -> None:
        """Set the free parameters to a random draw within the bounds."""
        self.update_from_vector(self.sample(rng))

    def get_non_frozen_parameter_names(self) -> list[str]:
        """One name for each free element."""
        return [name for p in self.free for name in p.element_names]

    def get_parameter_info(self) -> str:
        """A table of all parameters: name, size, shape, whether frozen or tied."""
        return parameter_table.overview(self.values())

    def compare_parameters(
        self,
        init_params: np.ndarray,
        predicted_params: np.ndarray,
        measured_params: np.ndarray | None = None,
        sig_digits: int = 4,
    ) -> str:
        """A table of initial, nominal and identified values and bounds, with the changes.

        Args:
          init_params: start values of the free elements.
          predicted_params: identified values.
          measured_params: true values, where known, to add the errors.
          sig_digits: digits shown.

        Raises:
          ParameterError: a vector of another length than :attr:`size`.
        """
        return parameter_table.comparison(
            self.free, init_params, predicted_params, measured_params, sig_digits
        )

    def save_to_disk(self, path: str | Path) -> None:
        """Write values, bounds, targets, ties and priors as YAML; see :meth:`load_from_disk`."""
        parameter_file.save(self.values(), Path(path))

    @classmethod
    def load_from_disk(
        cls, path: str | Path, modifiers: Mapping[str, ModifierFn] | None = None
    ) -> "ParameterDict":
        """Read parameters written by :meth:`save_to_disk`.

        Targets and inertia parameterisations come back as they were. A Python modifier cannot be
        stored: pass it again by name.

        Args:
          path: the YAML file.
          modifiers: functions by parameter name.

        Raises:
          ParameterError: the file is missing or not a parameter file, or a modifier names no
            parameter.
        """
        return cls(parameter_file.load(Path(path), dict(modifiers or {})))

    def to_records(self) -> dict[str, dict[str, Any]]:
        """Plain data of all parameters, as :meth:`save_to_disk` writes it."""
        return parameter_file.records(self.values())

    def __str__(self) -> str:
        if not self.parameters:
            return "ParameterDict(empty)"
        lines = "\n".join(f"  {p}" for p in self.parameters.values())
        return f"ParameterDict(\n{lines}\n)"

    __repr__ = __str__
