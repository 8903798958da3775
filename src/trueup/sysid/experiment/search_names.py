"""Search methods of an identification, by the names of an experiment file."""

from trueup.fitting.searches.methods import SearchMethod, method_named, method_names

SCIPY_METHODS = ("scipy", "scipy_parallel_fd")
"""Methods whose fits run in one piece: no several starts, no time limit, no resume."""

TORQUES = "inverse-dynamics"
"""Method that explains recorded torques by recorded motion, without a simulation."""


def fit_methods() -> list[str]:
    """Names of the methods: those that converge, scipy's, and inverse dynamics."""
    return [*method_names(_suits), *SCIPY_METHODS, TORQUES]


def fit_method_named(name: str) -> str:
    """Name of a method from its name or an alias.

    Raises:
      FitError: there is no such method.
    """
    return method_named(name, fit_methods(), "method of an identification")


def _suits(entry: SearchMethod) -> bool:
    """Whether a method ends by itself, and over residuals takes the loss of the experiment."""
    return entry.converges and (not entry.needs_residuals or "loss_scale" in entry.settings())
