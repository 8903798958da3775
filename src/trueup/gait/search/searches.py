"""The search of a configuration."""

from trueup.errors import GaitError, listing
from trueup.fitting import CmaEs, CmaEsSettings, ScatterSearch, parse_cma_options
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.early_stop import EarlyStoppingCmaEs
from trueup.gait.search.fresh_perturbations import FreshPerturbationsCmaEs
from trueup.parameters import Space

SCATTERED = 128
"""Candidates of a batch of a scatter, unless given: most fall at once, so large ones are quick."""


def make_search(configuration: GaitConfiguration, space: Space) -> CmaEs | ScatterSearch:
    """The search of a configuration, at its start.

    Args:
      configuration: configuration.
      space: unknowns with start values.

    Raises:
      GaitError: a key belongs to another search, or a scatter has no end.
      FitError: an option of the package cma does not exist or does not fit.
    """
    if configuration.search == "scatter":
        for_cma = ("early_stop", "fresh_perturbations", "cma_options")
        if foreign := [key for key in for_cma if getattr(configuration, key)]:
            raise GaitError(
                f"{listing(foreign)} belongs to the search 'cma', and this one is 'scatter': leave "
                "it out"
            )
        if configuration.maxiter is None:
            raise GaitError("a scatter has no end of its own: give maxiter, its batches")
        return ScatterSearch(space, configuration.popsize or SCATTERED, seed=configuration.seed)
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
