"""Search methods by name: what each does, what it needs, its settings and its class.

A new method is a class in a module of its own and an entry of :data:`SEARCH_METHODS`. The class has
``settings_class``, the dataclass of its settings or None; what else its constructor takes, besides
``space``, ``settings`` and ``seed``, are settings too. Studies, identifications, servo fits and
gait searches look names up when they are asked for one, so that an entry may be added at any time.
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
    """A search that can be asked for by name."""

    meaning: str
    """What it does, in one line."""
    search: str | type[Any]
    """Its class, or ``module:name`` of it, imported when it is used."""
    population: str | None = None
    """Name of the setting that is the number of candidates in a batch."""
    needs_residuals: bool = False
    """Whether it works on problems with residuals only."""
    several_objectives: bool = False
    """Whether it works on problems with several objectives."""
    converges: bool = True
    """Whether it is expected to converge; a method that is not goes on until its budget ends it."""
    aliases: tuple[str, ...] = ()
    """Other names that it is found by, as other programs call it."""

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
        """The search at its start.

        Args:
          space: the unknowns.
          seed: seed of everything random.
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
        "Sobol points, CMA-ES from the best, then least squares where there are residuals",
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
        "CMA-ES, with restarts if asked for",
        "trueup.fitting.cma_es:CmaEs",
        population="population",
        aliases=("cma", "cma-es"),  # the package, and its name in writing
    ),
    "random": SearchMethod(
        "points at random",
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
        "points at random around the start values",
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
    """Names of the methods that there are by now; of those that suit, where that is asked."""
    return [name for name, entry in SEARCH_METHODS.items() if suits is None or suits(entry)]


def method_named(name: str, among: Sequence[str] | None = None, noun: str = "search method") -> str:
    """Name in the registry of a method that is asked for by its name or an alias.

    Args:
      name: name or alias.
      among: names that can be asked for, those of no search of the registry too; all where None.
      noun: what the names are of, for the message.

    Raises:
      FitError: there is no such method.
    """
    known = method_names() if among is None else list(among)
    entries = {own: entry for own, entry in SEARCH_METHODS.items() if own in known}
    aliases = {alias: own for own, entry in entries.items() for alias in entry.aliases}
    found = name if name in known else aliases.get(name)
    if found is None:
        raise FitError(
            f"there is no {noun} {name!r}; there are {listing(known, 20)}."
            f"{did_you_mean(name, [*known, *aliases])}"
        )
    return found


_POLISHED = "trueup.fitting.searches.polish:Polished"


def class_name(search: Any) -> str:
    """Name under which :func:`restore` knows a search.

    Raises:
      FitError: it is that of no method, so that it could not be restored.
    """
    kind = type(search)
    if kind is not _class_named(kind.__name__):
        raise FitError(
            f"a {kind.__name__} cannot be part of another search, because only searches of "
            f"SEARCH_METHODS can be restored within one: {listing(_class_names(), 20)}"
        )
    return kind.__name__


def restore(name: str, state: dict[str, Any], space: Space) -> Any:
    """A search that continues from its state.

    Raises:
      FitError: there is no search of this name.
    """
    kind = _class_named(name)
    if kind is None:
        raise FitError(
            f"the saved search holds a {name!r}; there are {listing(_class_names(), 20)}."
            f"{did_you_mean(name, _class_names())}"
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
