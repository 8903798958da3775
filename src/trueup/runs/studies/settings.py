"""Settings of a study, and the search that is made from them."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from trueup._options import Option
from trueup._seeds import check_count, check_seed
from trueup.errors import FitError, listing
from trueup.fitting import SEARCH_METHODS, Problem, make_search, parse_cma_options
from trueup.fitting.searches.methods import method_named
from trueup.runs.loop.budget import Budget

_OF_SOME_METHODS: dict[str, tuple[str, Any]] = {
    "sigma": ("deviation", None),
    "cma_options": ("options", ""),
    "restarts": ("restarts", "none"),
}
"""Field of the settings -> setting of the search, supported by some methods only, and its default
value."""

_LARGEST_SIGMA = 10.0
_LARGEST_POPULATION = 1_000_000


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; its history depends on all of them.

    ``method`` is a name of :data:`trueup.fitting.SEARCH_METHODS` or an alias, looked up at the
    start of the search.
    """

    method: Annotated[str, Option()] = "auto"
    """Search. auto: Sobol points, CMA-ES from the best of them, and least squares if the problem
    has residuals; NSGA-II for several objectives."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of all random numbers."""
    population: int | None = None
    """Number of candidates per generation; by default set by the search from the number of
    parameters."""
    sigma: float | None = None
    """Initial standard deviation of CMA-ES and of scatter, as a share of each range; by default
    0.2, or that of the parameter."""
    cma_options: str = ""
    """Options of the package cma by name, such as tolfun:1e-9,tolstagnation:150."""
    restarts: Literal["none", "ipop", "bipop"] = "none"
    """Restarts of CMA-ES: none, with a doubled population (ipop), or with large and small ones in
    turn (bipop)."""
    polish: bool = False
    """Least squares from the result, if the problem has residuals."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.population is not None:
            check_count("the population", self.population, 1, _LARGEST_POPULATION)

    def to_dict(self) -> dict[str, Any]:
        """JSON values of all settings."""
        return asdict(self)


def resolved_method(method: str, problem: Problem) -> str:
    """Name of a method in the registry; ``auto`` is ``nsgaii`` for several objectives.

    It is resolved after the file of a problem is loaded, since that file may register a method.

    Raises:
      FitError: the method does not exist.
    """
    method = method_named(method)
    return "nsgaii" if method == "auto" and len(problem.objectives) > 1 else method


def search_of(settings: StudySettings, problem: Problem, budget: Budget) -> Any:
    """The search of a study, before its first generation.

    Args:
      settings: settings with a resolved method.
      problem: the problem; its space contains the start values.
      budget: limits of the study.

    Raises:
      FitError: a setting is not supported by the method or the problem.
    """
    method = method_named(settings.method)
    entry = SEARCH_METHODS[method]
    known = entry.settings()
    for key, (setting, default) in _OF_SOME_METHODS.items():
        if getattr(settings, key) != default and setting not in known:
            those = [name for name, m in SEARCH_METHODS.items() if setting in m.settings()]
            raise FitError(
                f"{key} is not supported by the method {method}, only by {listing(those)}; remove "
                "it"
            )
    if not entry.converges and "candidates" in known and budget == Budget():
        raise FitError(
            f"the method {method} requires a limit: give --evaluations, --generations, --seconds "
            "or target_cost"
        )
    if entry.needs_residuals and not problem.has_residuals:
        others = [name for name, m in SEARCH_METHODS.items() if not m.needs_residuals]
        raise FitError(
            f"the method {method} requires residuals, but this problem has costs only: use one of "
            f"{listing(others)}"
        )
    own: dict[str, Any] = {}
    if "restarts" in known:
        own["restarts"] = settings.restarts
    if "options" in known:
        own["options"] = parse_cma_options(settings.cma_options)
    if settings.sigma is not None:
        if not 0.0 < settings.sigma <= _LARGEST_SIGMA:
            raise FitError(
                f"sigma is {settings.sigma:g}; as a share of each range it must be above 0 and at "
                f"most {_LARGEST_SIGMA:g}"
            )
        own["deviation"] = settings.sigma
    return make_search(
        method,
        problem.space,
        seed=settings.seed,
        population=settings.population,
        settings=own,
        polish=settings.polish and problem.has_residuals,
        objectives=len(problem.objectives),
    )
