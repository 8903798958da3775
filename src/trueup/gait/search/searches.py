"""Creation of the search of a configuration."""

from typing import Any

from trueup import fitting
from trueup.errors import GaitError, listing
from trueup.fitting import SEARCH_METHODS, CmaEs, CmaEsSettings, parse_cma_options
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.early_stop import EarlyStoppingCmaEs
from trueup.gait.search.fresh_perturbations import FreshPerturbationsCmaEs
from trueup.gait.search.method_names import CMA_ES
from trueup.parameters import Space

SCATTERED = 128
"""Default batch size of a scatter; most candidates fall at once, so large batches are fast."""


def make_search(configuration: GaitConfiguration, space: Space) -> Any:
    """The search of a configuration in its initial state.

    Args:
      configuration: configuration.
      space: unknowns with initial values.

    Raises:
      GaitError: a key belongs to another search, or the search has no termination criterion.
      FitError: an option of the package cma is unknown or invalid.
    """
    method = configuration.search
    if method != CMA_ES:
        entry = SEARCH_METHODS[method]
        for_cma = ("early_stop", "fresh_perturbations", "cma_options")
        if foreign := [key for key in for_cma if getattr(configuration, key)]:
            raise GaitError(
                f"{listing(foreign)} only applies to the search {CMA_ES!r}, and this one is "
                f"{method!r}: remove it"
            )
        if configuration.maxiter is None and not entry.converges:
            raise GaitError(
                f"the search {method!r} has no termination criterion: set maxiter, its number of "
                "batches"
            )
        population = configuration.popsize
        if population is None and entry.population is not None and not entry.converges:
            population = SCATTERED
        return fitting.make_search(method, space, seed=configuration.seed, population=population)
    settings = CmaEsSettings(
        population=configuration.popsize,
        options=parse_cma_options(configuration.cma_options),
    )
    kind = CmaEs
    if configuration.early_stop:
        kind = EarlyStoppingCmaEs
    elif configuration.fresh_perturbations:
        kind = FreshPerturbationsCmaEs
    return kind(space, settings, seed=configuration.seed)
