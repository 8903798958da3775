"""Search methods of a walk, by the names of a configuration."""

from trueup.fitting.searches.methods import method_named, method_names

CMA_ES = "cmaes"
"""CMA-ES, the only method with early stop, fresh perturbations and stages."""


def walk_searches() -> list[str]:
    """Names of the available methods: all that only require costs."""
    return method_names(lambda entry: not entry.needs_residuals)


def walk_search_named(name: str) -> str:
    """Name of a method from its name or an alias; ``cma`` in MyoAssist is CMA-ES.

    Raises:
      FitError: unknown method.
    """
    return method_named(name, walk_searches(), "search of a walk")
