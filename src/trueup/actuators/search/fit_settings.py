"""Settings of the fit of a servo model, saved in the run directory."""

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Literal

from trueup._options import Option
from trueup._seeds import check_seed
from trueup.actuators.bench.objective import Objective
from trueup.actuators.bench.settings import SimulationSettings
from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.searches.methods import SEARCH_METHODS, method_named, method_names

REFINE = "refine"
"""Least squares from the start values alone; a search of servo fits only."""

RESTARTED = "cmaes"
"""The search that is restarted until its evaluations are used up."""

DEFAULT_TRIALS = 100_000
"""Maximum number of evaluations of a fit."""


def fit_methods() -> list[str]:
    """Names of the searches of a fit: those of the registry, and :data:`REFINE`."""
    return [*method_names(), REFINE]


def uses_up_trials(method: str) -> bool:
    """Whether a search continues to its limit of evaluations, which is then its regular end."""
    return method == RESTARTED or (method != REFINE and not SEARCH_METHODS[method].converges)


_TUPLES = ("terms", "models", "validation_kp", "validation_mass", "validation_trajectory")


@dataclass(frozen=True)
class FitSettings(SimulationSettings):
    """Settings of :func:`trueup.actuators.fit`; the search depends on all of them."""

    method: Annotated[str, Option()] = "auto"
    """Search. auto: Sobol points, robust least squares from the best of them, CMA-ES and a final
    least squares, for M1 and then for each richer model up to the named one. least-squares: the
    same without CMA-ES. refine: least squares from the start values alone. cmaes: CMA-ES over the
    whole box with BIPOP restarts. random: random points. nsgaii: position and speed error. All
    others minimise the objective with their defaults."""
    trials: Annotated[int, Option("INT", name="evaluations", aliases=("--trials",))] = (
        DEFAULT_TRIALS
    )
    """Maximum number of evaluated candidates; a batch that would exceed it is not started."""
    seed: Annotated[int, Option("INT")] = 0
    """Seed of all random numbers."""
    objective: Objective = field(default_factory=Objective)
    """Error over the training logs to minimise."""
    terms: tuple[str, ...] = ()
    """Extended terms of the model, such as command_delay,measured_voltage; listed by trueup
    actuator list."""
    models: tuple[str, ...] = ()
    """Friction models to choose from, if none is named; by default all."""
    try_terms: tuple[str, ...] | None = None
    """Extended terms that the choice of a model may add, or none; by default all that apply to the
    servo and its measurements."""
    quadratic: Literal["gated", "ungated"] = "gated"
    """Quadratic term of M6: only when load and motor oppose each other (gated), or always
    (ungated)."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values of parameters that are not fitted, by name."""
    validation_kp: Annotated[tuple[float, ...], Option("GAIN [GAIN ...]")] = ()
    """Gains of the held-out logs; 0 for none."""
    validation_mass: Annotated[tuple[float, ...], Option("KG [KG ...]")] = ()
    """Masses of the held-out logs [kg]."""
    validation_trajectory: Annotated[tuple[str, ...], Option("NAME [NAME ...]")] = ()
    """Trajectories of the held-out logs."""
    level: float = 0.95
    """Coverage of the intervals, from 0.5 to below 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        method = method_named(self.method, fit_methods(), "search of a servo fit")
        object.__setattr__(self, "method", method)
        # the default of Better Actuator Models, which means the same as none
        kept = tuple(kp for kp in self.validation_kp if kp != 0)
        object.__setattr__(self, "validation_kp", kept)
        if self.try_terms == ("none",):
            object.__setattr__(self, "try_terms", ())
        if self.trials < 1:
            raise FitError(f"trials (--evaluations) is {self.trials}; it must be 1 or more")
        check_seed(self.seed)
        if not 0.5 <= self.level < 1.0:
            raise FitError(f"level is {self.level}; it must be from 0.5 to below 1")

    @property
    def holds_out(self) -> bool:
        """Whether logs are held out."""
        return bool(self.validation_kp or self.validation_mass or self.validation_trajectory)

    def to_dict(self) -> dict[str, Any]:
        """JSON values of all settings."""
        content = {**asdict(self), "fixed": dict(self.fixed)}
        if self.try_terms is not None:
            content["try_terms"] = list(self.try_terms)
        return content | {name: list(content[name]) for name in _TUPLES}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "FitSettings":
        """Inverse of :meth:`to_dict`.

        Raises:
          FitError: a setting is unknown.
        """
        known = [f.name for f in fields(cls)]
        if unknown := [name for name in content if name not in known]:
            raise FitError(
                f"unknown setting of a fit: {listing(unknown)}; the settings are "
                f"{listing(known, 40)}.{did_you_mean(unknown[0], known)}"
            )
        values: dict[str, Any] = {k: tuple(v) if k in _TUPLES else v for k, v in content.items()}
        if values.get("try_terms") is not None:
            values["try_terms"] = tuple(values["try_terms"])
        return cls(**{**values, "objective": Objective(**content.get("objective", {}))})


def parse_values(text: str) -> dict[str, float]:
    """Read values by name: ``R=2.0,kt=0.4``, or ``{'R': 2.0, 'kt': 0.4}``; nothing is evaluated.

    Raises:
      FitError: the text has another form, a name is given twice, or a value is not a finite number.
    """
    text = text.strip()
    if text.startswith("{"):
        try:
            pairs = list(_literal_pairs(text))
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise FitError(
                f"{text!r}: expected the form {{'R': 2.0, 'kt': 0.4}} or R=2.0,kt=0.4"
            ) from error
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
            raise FitError(f"{text!r}: {name!r} is given twice; give it once")
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
            raise FitError(f"--set gives {listing(twice)} twice; give it once")
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
