"""Construction of a search by its name, for experiment files and the command line."""

from collections.abc import Mapping
from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.fitting.searches.methods import SEARCH_METHODS, method_named
from trueup.fitting.searches.polish import Polished
from trueup.parameters import Space


def make_search(
    method: str,
    space: Space,
    *,
    seed: int = 0,
    population: int | None = None,
    settings: Mapping[str, Any] | None = None,
    polish: bool = False,
    polish_settings: LeastSquaresSettings | None = None,
    objectives: int = 1,
) -> Any:
    """Return a new search.

    Args:
      method: one of :data:`SEARCH_METHODS`, or an alias; ``"auto"`` is NSGA-II for several
        objectives.
      space: search space.
      seed: seed of everything random.
      population: candidates in a batch, for methods that can choose.
      settings: further settings of the method, by name.
      polish: refine the result by least squares, if the problem has residuals; ``"auto"`` always
        does.
      polish_settings: settings of that least squares.
      objectives: number of costs of the problem.

    Raises:
      FitError: an unknown method or setting (with close matches), a population for a method
        without one, a single-objective method for several costs, or an error of the search.
    """
    method = method_named(method)
    if method == "auto" and objectives > 1:
        method = "nsgaii"
    entry = SEARCH_METHODS[method]
    chosen = dict(settings or {})
    known = entry.settings()
    for name in chosen:
        if name not in known:
            raise FitError(
                f"the search method {method!r} has no setting {name!r}."
                f"{did_you_mean(name, known)} "
                f"Available: {listing(known, 40)}"
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
                f"population is {population}, but the setting {entry.population!r} is "
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
    return Polished(search, space, polish_settings)
