"""Searches by the name of their class: how a search that holds another one restores it."""

import importlib
from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.parameters import Space

_MODULES = {
    "AutoSearch": "trueup.fitting.auto_search",
    "CmaEs": "trueup.fitting.cma_es",
    "LeastSquares": "trueup.fitting.least_squares",
    "MultiStart": "trueup.fitting.multi_start",
    "NSGA2": "trueup.fitting.nsga2",
    "Polished": "trueup.fitting.polish",
    "RandomSearch": "trueup.fitting.random_search",
    "ScatterSearch": "trueup.fitting.random_search",
    "SobolSearch": "trueup.fitting.random_search",
}


def name_of(search: Any) -> str:
    """Name under which :func:`restore` knows a search.

    Raises:
      FitError: it is none of trueup's, so that it could not be restored.
    """
    name = type(search).__name__
    if type(search).__module__ != _MODULES.get(name):
        raise FitError(
            f"a {name} cannot be part of another search, because only trueup's own searches can be "
            f"restored within one: {listing(_MODULES)}"
        )
    return name


def restore(name: str, state: dict[str, Any], space: Space) -> Any:
    """A search that goes on from its state.

    Raises:
      FitError: there is no search of this name.
    """
    if name not in _MODULES:
        raise FitError(
            f"the saved search holds a {name!r}; there are {listing(_MODULES)}."
            f"{did_you_mean(name, _MODULES)}"
        )
    kind = getattr(importlib.import_module(_MODULES[name]), name)
    return kind.from_state(state, space)
