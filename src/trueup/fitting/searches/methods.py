"""Registry of search methods: description, requirements, settings and class of each.

A new method is a class in a new module and an entry of :data:`SEARCH_METHODS`. The class has
``settings_class``, the dataclass of its settings or None; further arguments of its constructor,
besides ``space``, ``settings`` and ``seed``, are settings too. Studies, identifications, servo fits
and gait searches look up names on use, so that an entry may be added at any time.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.parameters import Space

_NO_SETTINGS = ("self", "space", "settings", "seed")


@dataclass(frozen=True)
class SearchMethod:
    """A search that can be selected by name."""

    meaning: str
    """One-line description."""
    search: str | type[Any]
    """Class, or its ``module:name``, imported on first use."""
    population: str | None = None
    """Name of the setting for the number of candidates in a batch."""
    needs_residuals: bool = False
    """Whether it requires residuals."""
    several_objectives: bool = False
    """Whether it supports several objectives."""
    converges: bool = True
    """Whether it is expected to converge; other methods run to the end of their budget."""
    aliases: tuple[str, ...] = ()
    """Other names, such as those in other programs."""

    def search_class(self) -> type[Any]:
        """Class of the search."""
        return _load(self.search) if isinstance(self.search, str) else self.search

    def settings(self) -> tuple[str, ...]:
        """Names of its settings."""
        kind = self.search_class()
        own = [name for name in inspect.signature(kind).parameters if name not in _NO_SETTINGS]
        described = kind.settings_class
        return (*own, *(f.name for f in fields(described))) if described else tuple(own)

    def make(self, space: Space, seed: int, settings: Mapping[str, Any]) -> Any:
        """Return a new search.

        Args:
          space: search space.
          seed: seed of all random draws.
          settings: settings by name, of those in :meth:`settings`.
        """
        kind = self.search_class()
        arguments = dict(settings)
        if kind.settings_class is not None:
            names = [field.name for field in fields(kind.settings_class)]
            chosen = {name: arguments.pop(name) for name in names if name in arguments}
            arguments["settings"] = kind.settings_class(**chosen)
        if "seed" in inspect.signature(kind).parameters:
            arguments["seed"] = seed
        return kind(space, **arguments)


SEARCH_METHODS: dict[str, SearchMethod] = {
    "auto": SearchMethod(
        "Sobol points, CMA-ES from the best, then least squares if there are residuals",
        "trueup.fitting.searches.auto:AutoSearch",
        population="population",
    ),
    "least-squares": SearchMethod(
        "Levenberg-Marquardt from the start values",
        "trueup.fitting.searches.least_squares:LeastSquares",
        needs_residuals=True,
        aliases=("mujoco",),  # the optimizer of MuJoCo's toolbox
    ),
    "multi-start": SearchMethod(
        "Sobol points, then least squares from the best few",
        "trueup.fitting.searches.multi_start:MultiStart",
        needs_residuals=True,
    ),
    "cmaes": SearchMethod(
        "CMA-ES, with optional restarts",
        "trueup.fitting.cma_es:CmaEs",
        population="population",
        aliases=("cma", "cma-es"),  # the package, and its name in writing
    ),
    "random": SearchMethod(
        "random points",
        "trueup.fitting.searches.random:RandomSearch",
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "sobol": SearchMethod(
        "points of a scrambled Sobol sequence",
        "trueup.fitting.searches.random:SobolSearch",
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "scatter": SearchMethod(
        "random points around the start values",
        "trueup.fitting.searches.random:ScatterSearch",
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "nsgaii": SearchMethod(
        "NSGA-II, the Pareto front of several objectives",
        "trueup.fitting.searches.nsga2:NSGA2",
        population="population",
        several_objectives=True,
        converges=False,
    ),
}
"""Searches by name."""


def method_names(suits: Callable[[SearchMethod], bool] | None = None) -> list[str]:
    """Names of the registered methods, optionally filtered by ``suits``."""
    return [name for name, entry in SEARCH_METHODS.items() if suits is None or suits(entry)]


def method_named(name: str, among: Sequence[str] | None = None, noun: str = "search method") -> str:
    """Registered name of a method given by its name or an alias.

    Args:
      name: name or alias.
      among: allowed names, also ones that are not in the registry; None: all.
      noun: kind of the names, for the message.

    Raises:
      FitError: unknown method.
    """
    known = method_names() if among is None else list(among)
    entries = {own: entry for own, entry in SEARCH_METHODS.items() if own in known}
    aliases = {alias: own for own, entry in entries.items() for alias in entry.aliases}
    found = name if name in known else aliases.get(name)
    if found is None:
        raise FitError(
            f"unknown {noun} {name!r}.{did_you_mean(name, [*known, *aliases])} "
            f"Available: {listing(known, 20)}"
        )
    return found


_POLISHED = "trueup.fitting.searches.polish:Polished"


def class_name(search: Any) -> str:
    """Name of a search for :func:`restore`.

    Raises:
      FitError: the search is not registered, so it could not be restored.
    """
    kind = type(search)
    if kind is not _class_named(kind.__name__):
        raise FitError(
            f"a {kind.__name__} cannot be part of another search: only searches of "
            f"SEARCH_METHODS are supported, {listing(_class_names(), 20)}"
        )
    return kind.__name__


def restore(name: str, state: dict[str, Any], space: Space) -> Any:
    """A search that continues from its state.

    Raises:
      FitError: unknown search.
    """
    kind = _class_named(name)
    if kind is None:
        raise FitError(
            f"the saved search contains an unknown search {name!r}."
            f"{did_you_mean(name, _class_names())} Available: {listing(_class_names(), 20)}"
        )
    return kind.from_state(state, space)


def _classes() -> list[str | type[Any]]:
    return [*(entry.search for entry in SEARCH_METHODS.values()), _POLISHED]


def _name_of(search: str | type[Any]) -> str:
    return search.split(":")[1] if isinstance(search, str) else search.__name__


def _class_names() -> list[str]:
    return [_name_of(search) for search in _classes()]


def _class_named(name: str) -> type[Any] | None:
    """Class of that name; only its own module is imported."""
    for search in _classes():
        if _name_of(search) == name:
            return _load(search) if isinstance(search, str) else search
    return None


def _load(path: str) -> type[Any]:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)
