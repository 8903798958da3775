"""Searches by name, as an experiment file or a command line asks for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.parameters import Space

if TYPE_CHECKING:
    from trueup.fitting.least_squares import LeastSquaresSettings

Settings = dict[str, Any]


@dataclass(frozen=True)
class SearchMethod:
    """A search that can be asked for by name."""

    meaning: str
    """What it does, in one line."""
    make: Callable[[Space, int, Settings], Any]
    """Space, seed and settings -> search."""
    settings: Callable[[], tuple[str, ...]]
    """Names of its settings."""
    population: str | None = None
    """Which of them is the number of candidates in a batch."""
    needs_residuals: bool = False
    """Whether it works on problems with residuals only."""
    several_objectives: bool = False
    """Whether it works on problems with several objectives."""
    converges: bool = True
    """Whether it has a test of convergence; a method without one ends with its budget."""


def make_search(
    method: str,
    space: Space,
    *,
    seed: int = 0,
    population: int | None = None,
    settings: Mapping[str, Any] | None = None,
    polish: bool = False,
    polish_settings: "LeastSquaresSettings | None" = None,
    objectives: int = 1,
) -> Any:
    """A search at its start.

    Args:
      method: one of :data:`SEARCH_METHODS`; ``"auto"`` is NSGA-II for several objectives.
      space: the unknowns.
      seed: seed of everything random.
      population: candidates in a batch, for methods that can choose.
      settings: further settings of the method, by name.
      polish: hand the result to least squares, where the problem has residuals; ``"auto"`` does so
        anyway.
      polish_settings: settings of that least squares.
      objectives: number of costs of the problem.

    Raises:
      FitError: an unknown method or setting (with the nearest names), a population where there is
        none, a method for one cost on several, or what the search itself refuses.
    """
    if method not in SEARCH_METHODS:
        raise FitError(
            f"there is no search method {method!r}; there are {listing(SEARCH_METHODS)}."
            f"{did_you_mean(method, SEARCH_METHODS)}"
        )
    if method == "auto" and objectives > 1:
        method = "nsgaii"
    entry = SEARCH_METHODS[method]
    chosen = dict(settings or {})
    known = entry.settings()
    for name in chosen:
        if name not in known:
            raise FitError(
                f"the search method {method!r} has no setting {name!r}; it has "
                f"{listing(known, 40)}."
                f"{did_you_mean(name, known)}"
            )
    if objectives > 1 and not entry.several_objectives:
        several = [name for name, other in SEARCH_METHODS.items() if other.several_objectives]
        raise FitError(
            f"the search method {method!r} minimises one cost, the problem has {objectives}: "
            f"use one of {listing(several)}"
        )
    if population is not None:
        if entry.population is None:
            raise FitError(f"the search method {method!r} has no population")
        if chosen.setdefault(entry.population, population) != population:
            raise FitError(
                f"population is {population}, the setting {entry.population!r} "
                f"{chosen[entry.population]}: give one of them"
            )
    try:
        search = entry.make(space, seed, chosen)
    except TypeError as error:
        raise FitError(
            f"a setting of the search method {method!r} has the wrong type: {error}"
        ) from error
    if method != "auto" and not (polish and not entry.needs_residuals):
        return search
    from trueup.fitting.polish import Polished

    return Polished(search, space, polish_settings)


def _least_squares(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.least_squares import LeastSquares, LeastSquaresSettings

    return LeastSquares(space, LeastSquaresSettings(**settings))


def _multi_start(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.least_squares import LeastSquaresSettings
    from trueup.fitting.multi_start import MultiStart

    own, rest = _split(settings, ("starts", "polished"))
    return MultiStart(space, LeastSquaresSettings(**rest), seed=seed, **own)


def _cmaes(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.cma_es import CmaEs
    from trueup.fitting.cma_es_settings import CmaEsSettings

    return CmaEs(space, CmaEsSettings(**settings), seed)


def _auto(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.auto_search import AutoSearch
    from trueup.fitting.cma_es_settings import CmaEsSettings

    own, rest = _split(settings, ("scanned",))
    return AutoSearch(space, CmaEsSettings(**rest), seed=seed, **own)


def _random(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.random_search import RandomSearch

    return RandomSearch(space, seed=seed, **settings)


def _sobol(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.random_search import SobolSearch

    return SobolSearch(space, seed=seed, **settings)


def _scatter(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.random_search import ScatterSearch

    return ScatterSearch(space, seed=seed, **settings)


def _nsgaii(space: Space, seed: int, settings: Settings) -> Any:
    from trueup.fitting.nsga2 import NSGA2, NSGA2Settings

    return NSGA2(space, NSGA2Settings(**settings), seed)


def _split(settings: Settings, own: tuple[str, ...]) -> tuple[Settings, Settings]:
    first = {name: settings[name] for name in own if name in settings}
    return first, {name: value for name, value in settings.items() if name not in own}


def _names_of_least_squares() -> tuple[str, ...]:
    from trueup.fitting.least_squares import LeastSquaresSettings

    return tuple(field.name for field in fields(LeastSquaresSettings))


def _names_of_cma_es() -> tuple[str, ...]:
    from trueup.fitting.cma_es_settings import CmaEsSettings

    return tuple(field.name for field in fields(CmaEsSettings))


def _names_of_nsga2() -> tuple[str, ...]:
    from trueup.fitting.nsga2 import NSGA2Settings

    return tuple(field.name for field in fields(NSGA2Settings))


SEARCH_METHODS: dict[str, SearchMethod] = {
    "auto": SearchMethod(
        "Sobol points, CMA-ES from the best, then least squares where there are residuals",
        _auto,
        lambda: ("scanned", *_names_of_cma_es()),
        population="population",
    ),
    "least-squares": SearchMethod(
        "Levenberg-Marquardt from the start values",
        _least_squares,
        _names_of_least_squares,
        needs_residuals=True,
    ),
    "multi-start": SearchMethod(
        "Sobol points, then least squares from the best few",
        _multi_start,
        lambda: ("starts", "polished", *_names_of_least_squares()),
        needs_residuals=True,
    ),
    "cmaes": SearchMethod(
        "CMA-ES, with restarts if asked for", _cmaes, _names_of_cma_es, population="population"
    ),
    "random": SearchMethod(
        "points at random",
        _random,
        lambda: ("batch", "candidates"),
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "sobol": SearchMethod(
        "points of a scrambled Sobol sequence",
        _sobol,
        lambda: ("batch", "candidates"),
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "scatter": SearchMethod(
        "points at random around the start values",
        _scatter,
        lambda: ("batch", "candidates", "deviation"),
        population="batch",
        several_objectives=True,
        converges=False,
    ),
    "nsgaii": SearchMethod(
        "NSGA-II, the Pareto front of several objectives",
        _nsgaii,
        _names_of_nsga2,
        population="population",
        several_objectives=True,
        converges=False,
    ),
}
"""Searches by name."""
