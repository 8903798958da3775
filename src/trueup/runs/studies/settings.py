"""Settings of a study, and the search that they ask for."""

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
"""Field of the settings -> setting of the search that it becomes, and its default; only some
methods have that setting."""

_LARGEST_SIGMA = 10.0
_LARGEST_POPULATION = 1_000_000


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; its history depends on all of them.

    ``method`` is a name of :data:`trueup.fitting.SEARCH_METHODS` or an alias, looked up when the
    search begins.
    """

    method: Annotated[str, Option()] = "auto"
    """Search; auto: Sobol points, CMA-ES from the best and least squares where there are residuals;
    NSGA-II for several objectives."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of everything random."""
    population: int | None = None
    """Candidates of a generation; by default what suits the search and the number of
    parameters."""
    sigma: float | None = None
    """Start deviation of CMA-ES and of scatter, as a part of each range; by default 0.2, or that of
    the parameter."""
    cma_options: str = ""
    """Options of the package cma by name, such as tolfun:1e-9,tolstagnation:150."""
    restarts: Literal["none", "ipop", "bipop"] = "none"
    """Restarts of CMA-ES: with a doubled population, or with large and small ones in turn."""
    polish: bool = False
    """Least squares from the result, where the problem has residuals."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.population is not None:
            check_count("the population", self.population, 1, _LARGEST_POPULATION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def resolved_method(method: str, problem: Problem) -> str:
    """Name of the method in the registry; what ``auto`` means with several objectives.

    The file of a problem may have registered a method of its own, which is known only now.

    Raises:
      FitError: there is no such method.
    """
    method = method_named(method)
    return "nsgaii" if method == "auto" and len(problem.objectives) > 1 else method


def search_of(settings: StudySettings, problem: Problem, budget: Budget) -> Any:
    """The search at its start.

    Args:
      settings: settings, the method resolved.
      problem: the problem; its space holds the start values.
      budget: where the study stops.

    Raises:
      FitError: a setting that does not fit the method or the problem.
    """
    method = method_named(settings.method)
    entry = SEARCH_METHODS[method]
    known = entry.settings()
    for key, (setting, default) in _OF_SOME_METHODS.items():
        if getattr(settings, key) != default and setting not in known:
            those = [name for name, m in SEARCH_METHODS.items() if setting in m.settings()]
            raise FitError(
                f"{key} is for the methods {listing(those)}, and the method is {method}; remove it"
            )
    if not entry.converges and "candidates" in known and budget == Budget():
        raise FitError(
            f"the method {method} does not end by itself: give --evaluations, --generations, "
            "--seconds or target_cost"
        )
    if entry.needs_residuals and not problem.has_residuals:
        others = [name for name, m in SEARCH_METHODS.items() if not m.needs_residuals]
        raise FitError(
            f"the method {method} needs residuals and this problem has costs only: use one of "
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
                f"sigma is {settings.sigma:g}; it is a part of each range, above 0 and at "
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
