"""Search methods of an identification, by the names of an experiment file."""

from trueup.fitting.searches.methods import SearchMethod, method_named, method_names

SCIPY_METHODS = ("scipy", "scipy_parallel_fd")
"""Methods without multi-start, time limit and resume."""

TORQUES = "inverse-dynamics"
"""Method that fits recorded torques by inverse dynamics, without a simulation."""


def fit_methods() -> list[str]:
    """Names of the methods: those that converge, scipy's, and inverse dynamics."""
    return [*method_names(_suits), *SCIPY_METHODS, TORQUES]


def fit_method_named(name: str) -> str:
    """Name of a method from its name or an alias.

    Raises:
      FitError: unknown method.
    """
    return method_named(name, fit_methods(), "method of an identification")


def _suits(entry: SearchMethod) -> bool:
    """Whether a method converges, and supports the loss of the experiment on residuals."""
    return entry.converges and (not entry.needs_residuals or "loss_scale" in entry.settings())
