"""The search of a configuration."""

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
"""Candidates of a batch of a scatter, unless given: most fall at once, so large ones are quick."""


def make_search(configuration: GaitConfiguration, space: Space) -> Any:
    """The search of a configuration, at its start.

    Args:
      configuration: configuration.
      space: unknowns with start values.

    Raises:
      GaitError: a key belongs to another search, or the search has no end of its own.
      FitError: an option of the package cma does not exist or does not fit.
    """
    method = configuration.search
    if method != CMA_ES:
        entry = SEARCH_METHODS[method]
        for_cma = ("early_stop", "fresh_perturbations", "cma_options")
        if foreign := [key for key in for_cma if getattr(configuration, key)]:
            raise GaitError(
                f"{listing(foreign)} belongs to the search {CMA_ES!r}, and this one is {method!r}: "
                "leave it out"
            )
        if configuration.maxiter is None and not entry.converges:
            raise GaitError(
                f"the search {method!r} has no end of its own: give maxiter, its batches"
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
