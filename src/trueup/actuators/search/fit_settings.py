"""How a servo model is fitted: plain values that stand in the run directory."""

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from trueup._finite_numbers import check_finite
from trueup._seeds import check_seed
from trueup.actuators.bench.objective import Objective
from trueup.errors import FitError, listing
from trueup.fitting.searches.methods import SEARCH_METHODS, method_named, method_names

REFINE = "refine"
"""The search of ``auto`` from the start values alone, which only servo fits have."""

RESTARTED = "cmaes"
"""The search that a fit restarts until its trials are used up."""

DEFAULT_TRIALS = 100_000
"""Evaluations of a fit at most."""


def fit_methods() -> list[str]:
    """Names of the searches of a fit: those of the registry, and :data:`REFINE`."""
    return [*method_names(), REFINE]


def uses_up_trials(method: str) -> bool:
    """Whether a search goes on until its trials are used up: reaching them is its end."""
    return method == RESTARTED or (method != REFINE and not SEARCH_METHODS[method].converges)


_TUPLES = ("terms", "models", "validation_kp", "validation_mass", "validation_trajectory")


@dataclass(frozen=True)
class FitSettings:
    """Settings of :func:`trueup.actuators.fit`; the course of a fit depends on all of them."""

    method: str = "auto"
    """``"auto"``: Sobol points, robust least squares from the best, CMA-ES on the objective,
    polish, of M1 and then of each richer model up to the one wanted, from the optima of those that
    it contains. ``"least-squares"``: the same without CMA-ES. ``"refine"``: least squares, CMA-ES
    and polish of the model wanted, from the start values alone. ``"cmaes"``: CMA-ES over the whole
    box with BIPOP restarts. ``"random"``: points at random. ``"nsgaii"``: NSGA-II on position and
    speed error; the parameters are those of the front with the smallest objective. Others of
    :data:`trueup.fitting.SEARCH_METHODS` search the objective as they are."""
    trials: int = DEFAULT_TRIALS
    """Evaluated candidates at most, in all; a batch that would pass it is not begun."""
    seed: int = 0
    """Seed of everything random."""
    objective: Objective = field(default_factory=Objective)
    """What is minimised over the training logs."""
    scheme: str = "semi-implicit"
    """How the bench steps, one of ``SCHEMES``."""
    reset_period: float | None = None
    """Take position and speed from the log again after this time [s]."""
    vin: float | None = None
    """Nominal bus voltage [V] in place of the logs' own."""
    terms: tuple[str, ...] = ()
    """Extended terms, see :data:`EXTENDED_TERMS`."""
    models: tuple[str, ...] = ()
    """Friction models that a fit without a named one chooses from; all where empty."""
    try_terms: tuple[str, ...] | None = None
    """Extended terms that such a fit may add, ``("none",)`` for none; all that suit servo and
    measurements where None."""
    quadratic: str = "gated"
    """Form of the quadratic term of M6."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values of parameters that are not fitted."""
    validation_kp: tuple[float, ...] = ()
    """Gains whose logs are held out."""
    validation_mass: tuple[float, ...] = ()
    """Masses whose logs are held out [kg]."""
    validation_trajectory: tuple[str, ...] = ()
    """Trajectories whose logs are held out."""
    level: float = 0.95
    """Coverage of the intervals."""

    def __post_init__(self) -> None:
        check_finite(self, FitError)
        for name, limits in (("reset_period", "above 0"), ("vin", "above 0 and at most 1e6 V")):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise FitError(f"{name} is {value}; it must be {limits}")
        method = method_named(self.method, fit_methods(), "search of a servo fit")
        object.__setattr__(self, "method", method)
        if self.try_terms == ("none",):
            object.__setattr__(self, "try_terms", ())
        if self.trials < 1:
            raise FitError(f"trials are at least 1, got {self.trials}")
        check_seed(self.seed)
        if not 0.5 <= self.level < 1.0:
            raise FitError(f"the level of the intervals is between 0.5 and 1, got {self.level}")

    @property
    def holds_out(self) -> bool:
        """Whether logs are held out."""
        return bool(self.validation_kp or self.validation_mass or self.validation_trajectory)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        content = {**asdict(self), "fixed": dict(self.fixed)}
        if self.try_terms is not None:
            content["try_terms"] = list(self.try_terms)
        return content | {name: list(content[name]) for name in _TUPLES}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "FitSettings":
        """Inverse of :meth:`to_dict`.

        Raises:
          FitError: an unknown setting.
        """
        known = {f.name for f in fields(cls)}
        if unknown := [name for name in content if name not in known]:
            raise FitError(f"a fit has no setting {listing(unknown)}; it has {listing(known, 40)}")
        values: dict[str, Any] = {k: tuple(v) if k in _TUPLES else v for k, v in content.items()}
        if values.get("try_terms") is not None:
            values["try_terms"] = tuple(values["try_terms"])
        return cls(**{**values, "objective": Objective(**content.get("objective", {}))})


def parse_values(text: str) -> dict[str, float]:
    """Read values by name: ``R=2.0,kt=0.4``, or ``{'R': 2.0, 'kt': 0.4}``; nothing is evaluated.

    Raises:
      FitError: something else, a name given twice, or a value that is no finite number.
    """
    text = text.strip()
    if text.startswith("{"):
        try:
            pairs = list(_literal_pairs(text))
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise FitError(f"{text!r} is not of the form {{'R': 2.0, 'kt': 0.4}}") from error
    else:
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        pairs = [(name.strip(), value.strip()) for name, _, value in parts]
    values: dict[str, float] = {}
    for name, value in pairs:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not name or not math.isfinite(number):
            raise FitError(f"{text!r}: expected values by name, as in R=2.0,kt=0.4")
        if name in values:
            raise FitError(f"{text!r}: the value of {name!r} is given twice")
        values[name] = number
    return values


def values_of_options(texts: Iterable[str]) -> dict[str, float]:
    """Read values by name from several texts; errors as :func:`parse_values`.

    Raises:
      FitError: a name is given twice.
    """
    found: dict[str, float] = {}
    for text in texts:
        values = parse_values(text)
        if twice := [name for name in values if name in found]:
            raise FitError(f"--set gives {listing(twice)} twice")
        found |= values
    return found


def _literal_pairs(text: str) -> list[tuple[str, Any]]:
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Dict):
        raise ValueError("not a dictionary")
    pairs = []
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else ast.literal_eval(key)
        if not isinstance(name, str):
            raise ValueError("a name is not a string")
        pairs.append((name, ast.literal_eval(value)))
    return pairs
