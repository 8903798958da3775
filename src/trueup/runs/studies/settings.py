"""Settings of a study, and the search that they ask for."""

from dataclasses import asdict, dataclass
from typing import Any

from trueup._seeds import check_count, check_seed
from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting import SEARCH_METHODS, Problem, make_search, parse_cma_options
from trueup.runs.loop.budget import Budget

_LARGEST_SIGMA = 10.0
_LARGEST_POPULATION = 1_000_000


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; its history depends on all of them."""

    method: str = "auto"
    """Search, one of :data:`trueup.fitting.SEARCH_METHODS`; ``"auto"``: NSGA-II for several
    objectives, else Sobol points, CMA-ES from the best, and least squares where there are
    residuals."""
    seed: int = 0
    """Seed of everything random."""
    population: int | None = None
    """Candidates of a generation; None: what suits the search and the number of parameters."""
    sigma: float | None = None
    """Start deviation of CMA-ES and scatter as a part of each range; None: 0.2, or the parameter's
    own."""
    cma_options: str = ""
    """Options of the package cma by name, such as ``tolfun:1e-9``."""
    restarts: str = "none"
    """Restarts of CMA-ES: ``"none"``, ``"ipop"`` or ``"bipop"``."""
    polish: bool = False
    """Whether least squares takes the result further, where the problem has residuals."""

    def __post_init__(self) -> None:
        if self.method not in SEARCH_METHODS:
            raise FitError(
                f"there is no search {self.method!r}; there are {listing(SEARCH_METHODS)}."
                f"{did_you_mean(self.method, SEARCH_METHODS)}"
            )
        check_seed(self.seed)
        if self.population is not None:
            check_count("the population", self.population, 1, _LARGEST_POPULATION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def resolved_method(method: str, problem: Problem) -> str:
    """The method that ``auto`` means for a problem with several objectives."""
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
    method = settings.method
    for_cma: dict[str, Any] = {"cma_options": "", "restarts": "none"}
    if method != "scatter":
        for_cma["sigma"] = None
    foreign = [key for key, default in for_cma.items() if getattr(settings, key) != default]
    if method not in ("cmaes", "auto") and foreign:
        options = listing(f"--{key.replace('_', '-')}" for key in foreign)
        those = "CMA-ES and scatter" if foreign == ["sigma"] else "CMA-ES"
        raise FitError(f"{options} is for {those}; --method is {method}")
    if method in ("random", "sobol", "scatter") and budget == Budget():
        raise FitError(
            f"--method {method} has no end of its own: give --max-evaluations, "
            "--max-generations, --max-seconds or --target-cost"
        )
    if SEARCH_METHODS[method].needs_residuals and not problem.has_residuals:
        others = [name for name, m in SEARCH_METHODS.items() if not m.needs_residuals]
        raise FitError(
            f"--method {method} needs residuals and this problem has costs only: use one of "
            f"{listing(others)}"
        )
    own: dict[str, Any] = {}
    if method in ("cmaes", "auto"):
        own["restarts"] = settings.restarts
        own["options"] = parse_cma_options(settings.cma_options)
    if settings.sigma is not None:
        if not 0.0 < settings.sigma <= _LARGEST_SIGMA:
            raise FitError(
                f"--sigma is {settings.sigma:g}; it is a part of each range, above 0 and at "
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
