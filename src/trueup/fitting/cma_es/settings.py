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
    """Candidates a generation, of the first run; None: ``4 + 3 ln(p)``, as of ``cma``."""
    deviation: float = 0.2
    """First standard deviation: share of an element's range in search coordinates; of an element
    without a finite range, share of its start value. A parameter's own deviation rules."""
    restarts: Restarts = "none"
    """What follows a finished run: nothing, a run with a larger population (``ipop``), or larger
    and smaller ones in turn (``bipop``)."""
    max_restarts: int = 9
    """Restarts at most; of BIPOP, those with a larger population."""
    population_factor: float = 2.0
    """By which the population grows from restart to restart."""
    active: bool = True
    """Whether bad candidates shrink the covariance."""
    elitist: bool = False
    """Whether the best candidate so far takes part in each generation's ranking."""
    separable: bool | None = None
    """Whether the covariance is diagonal; None: above 100 elements."""
    noisy: bool | None = None
    """Whether costs are noisy: candidates are evaluated several times, and the best is judged by
    evaluations that did not choose it. None: as the problem says."""
    max_repeats: int = 10
    """Evaluations of a candidate at most where costs are noisy; then the steps grow instead."""
    noise_treatment: bool = True
    """Whether candidates are evaluated several times, or steps grow, as noise demands. A large
    population may do without: its mean averages noise. The best is judged anew in any case."""
    contender_evaluations: int = 1
    """Evaluations in each generation of the best candidate, and of the one that may replace it,
    where costs are noisy."""
    final_evaluations: int = 20
    """Evaluations of the last mean and of the best candidate at the end, where costs are noisy."""
    max_evaluations: int | None = None
    """Evaluated candidates over all runs; the last generation is finished."""
    max_generations: int | None = None
    """Generations over all runs."""
    target_cost: float | None = None
    """Stop once the best cost is this low."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of ``cma`` itself, see :func:`parse_cma_options`."""

    def __post_init__(self):
        if self.restarts not in get_args(Restarts):
            raise FitError(
                f"restarts is {self.restarts!r}; it can be {listing(get_args(Restarts))}."
                f"{did_you_mean(str(self.restarts), get_args(Restarts))}"
            )
        if self.population is not None and self.population > LARGEST_POPULATION:
            raise FitError(f"population is {self.population}; at most {LARGEST_POPULATION}")
        for name, least in (
            ("population", 4),
            ("max_restarts", 0),
            ("max_repeats", 1),
            ("contender_evaluations", 1),
            ("final_evaluations", 1),
            ("max_evaluations", 1),
            ("max_generations", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise FitError(f"{name} of CMA-ES is {value}; it has to be at least {least}")
        if not 0 < self.deviation < float("inf"):
            raise FitError(f"deviation of CMA-ES is {self.deviation}; it has to be positive")
        if not self.population_factor > 1:
            raise FitError(
                f"population_factor of CMA-ES is {self.population_factor}; it has to be above 1"
            )
        check_cma_options(self.options)
        for option, setting in _REPLACED.items():
            default = type(self).__dataclass_fields__[setting].default
            if option in self.options and getattr(self, setting) != default:
                raise FitError(
                    f"both {setting} and the option {option!r} of CMA-ES are given; give one"
                )
