"""Search methods of a walk, by the names of a configuration."""

from trueup.fitting.searches.methods import method_named, method_names

CMA_ES = "cmaes"
"""CMA-ES, which alone stops early, walks over fresh perturbations and has stages."""


def walk_searches() -> list[str]:
    """Names of the methods: all that need costs only."""
    return method_names(lambda entry: not entry.needs_residuals)


def walk_search_named(name: str) -> str:
    """Name of a method from its name or an alias; MyoAssist calls CMA-ES ``cma``.

    Raises:
      FitError: there is no such method.
    """
    return method_named(name, walk_searches(), "search of a walk")
