"""Settings of CMA-ES."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.cma_es.options import check_cma_options

LARGEST_POPULATION = 1_000_000

Restarts = Literal["none", "ipop", "bipop"]

_REPLACED = {
    "popsize": "population",
    "ftarget": "target_cost",
    "maxfevals": "max_evaluations",
    "CMA_active": "active",
    "CMA_diagonal": "separable",
}


@dataclass(frozen=True)
class CmaEsSettings:
    """Settings of :class:`CmaEs`."""

    population: int | None = None
    """Number of candidates per generation in the first run; by default ``4 + 3 ln(p)``, as in
    ``cma``."""
    deviation: float = 0.2
    """Initial standard deviation, as a share of the range of each element in search coordinates, or
    of its start value if its range is not finite. The deviation of a parameter takes precedence."""
    restarts: Restarts = "none"
    """Restarts after a converged run: none, with a larger population (``ipop``), or with larger and
    smaller populations in turn (``bipop``)."""
    max_restarts: int = 9
    """Maximum number of restarts; for BIPOP, of those with a larger population."""
    population_factor: float = 2.0
    """Factor on the population from one restart to the next."""
    active: bool = True
    """Whether bad candidates shrink the covariance (active CMA-ES)."""
    elitist: bool = False
    """Whether the best candidate so far is ranked in each generation (elitism)."""
    separable: bool | None = None
    """Whether the covariance is diagonal; by default above 100 elements."""
    noisy: bool | None = None
    """Whether costs are noisy: candidates are evaluated several times, and the best is assessed by
    evaluations that were not used to select it. By default as declared by the problem."""
    max_repeats: int = 10
    """Maximum number of evaluations of a candidate with noisy costs; beyond it the step size is
    increased instead."""
    noise_treatment: bool = True
    """Whether the number of evaluations of a candidate, or the step size, is adapted to the noise.
    A large population may not need it, as its mean averages the noise. The best candidate is
    reevaluated in any case."""
    contender_evaluations: int = 1
    """Number of evaluations per generation of the best candidate, and of its contender, with noisy
    costs."""
    final_evaluations: int = 20
    """Number of evaluations of the final mean and of the best candidate, with noisy costs."""
    max_evaluations: int | None = None
    """Maximum number of evaluated candidates over all runs; the last generation is completed."""
    max_generations: int | None = None
    """Maximum number of generations over all runs."""
    plateau: int | None = None
    """Number of generations without a reduction of the cost by 1e-4 of it that end a run; None: any
    number. Noise would look like one."""
    target_cost: float | None = None
    """Cost at or below which the search is stopped."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the package ``cma``, see :func:`parse_cma_options`."""

    def __post_init__(self):
        if self.restarts not in get_args(Restarts):
            raise FitError(
                f"restarts is {self.restarts!r}; it must be one of {listing(get_args(Restarts))}."
                f"{did_you_mean(str(self.restarts), get_args(Restarts))}"
            )
        if self.population is not None and self.population > LARGEST_POPULATION:
            raise FitError(
                f"population is {self.population}; it must be at most {LARGEST_POPULATION}"
            )
        for name, least in (
            ("population", 4),
            ("max_restarts", 0),
            ("max_repeats", 1),
            ("contender_evaluations", 1),
            ("final_evaluations", 1),
            ("max_evaluations", 1),
            ("max_generations", 1),
            ("plateau", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise FitError(f"{name} of CMA-ES is {value}; it must be at least {least}")
        if not 0 < self.deviation < float("inf"):
            raise FitError(f"deviation of CMA-ES is {self.deviation}; it must be positive")
        if not self.population_factor > 1:
            raise FitError(
                f"population_factor of CMA-ES is {self.population_factor}; it must be above 1"
            )
        check_cma_options(self.options)
        for option, setting in _REPLACED.items():
            default = type(self).__dataclass_fields__[setting].default
            if option in self.options and getattr(self, setting) != default:
                raise FitError(
                    f"both {setting} and the option {option!r} of CMA-ES are given; remove one of "
                    "them"
                )
