"""Options and keys shared by the commands of servos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from tyro.conf import UseAppendAction

from trueup._options import MISSING, Setting, settings_of
from trueup.actuators.bench.objective import OBJECTIVES, Objective
from trueup.actuators.bench.settings import SimulationSettings
from trueup.actuators.search.fit_settings import FitSettings
from trueup.cli.key_values import check_type, values_of
from trueup.cli.settings import Keys, given
from trueup.errors import ExperimentError

ParameterFiles = UseAppendAction[tuple[tuple[Path, ...], ...]]
"""``--params A --params B`` and ``--params A B``."""


# --- settings of the command line ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CatalogueSettings:
    """Servos that a command supports."""

    catalogue: Path | None = None
    """YAML file with further servos."""


@dataclass(frozen=True, kw_only=True)
class BadLogSettings:
    """Logs that cannot be used."""

    skip_bad_logs: bool = False
    """Skip logs that cannot be used; by default they are an error."""


@dataclass(frozen=True, kw_only=True)
class LogSettings(BadLogSettings, CatalogueSettings):
    """Logs that a command reads, and their servos."""


@dataclass(frozen=True, kw_only=True)
class LogSimulationSettings(LogSettings, SimulationSettings):
    """Logs that a command reads, and settings of their simulation."""


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """Objective of a fit, with a weight of 1 on the position error."""

    objective: Literal[*OBJECTIVES] = "mae"  # pyright: ignore[reportInvalidTypeForm]
    """Error to minimise: mae, mean absolute; rmse, root mean square; or huber."""
    speed_weight: float = 0.0
    """Weight of the speed error [s]."""
    duty_weight: float = 0.0
    """Weight of the duty cycle error [rad], for logs with a measured load."""


# --- values --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WithKeys:
    """A command with settings, as options and as ``KEY=VALUE``."""

    KEYS: ClassVar[type]
    WITHOUT: ClassVar[tuple[str, ...]] = ()

    keys: Keys = ()

    def values(self, further: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Values of the given settings, by name.

        Args:
          further: values of options that the command converts itself.

        Raises:
          ExperimentError: a setting is unknown, given twice, missing or of another type.
        """
        known = settings_of(self.KEYS)
        options = {k: _split(v) for k, v in given(self, self.KEYS).items()}
        options |= further or {}
        found = values_of(self.KEYS, self.keys, options, without=self.WITHOUT)
        if "try_terms" in found and found["try_terms"] is None:
            found["try_terms"] = ()  # none means no term; the default is all that apply
        values = check_type(self.KEYS, found)
        missing = [s for s in known.values() if s.default is MISSING and s.name not in values]
        if missing:
            raise ExperimentError(f"missing: {', '.join(map(_form, missing))}")
        return values

    def all_values(self) -> dict[str, Any]:
        """Values of all settings, by name: the given ones, and the defaults of the others."""
        return {s.name: s.default for s in settings_of(self.KEYS).values()} | self.values()


def _split(value: Any) -> Any:
    """A list of texts, also split at commas as in ``KEY=VALUE``."""
    if isinstance(value, tuple) and all(isinstance(word, str) for word in value):
        parts = [part.strip() for word in value for part in word.split(",")]
        return tuple(part for part in parts if part)
    return value


def _form(setting: Setting) -> str:
    option = setting.option
    assert option is not None
    return f"--{option.name or setting.name} {option.metavar}"


def part_of(values: Mapping[str, Any], settings: type) -> dict[str, Any]:
    """Values of the settings of one class."""
    return {name: values[name] for name in settings_of(settings) if name in values}


def simulation_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all settings of the simulation of logs, by name.

    Raises:
      FitError: a value is out of range.
    """
    settings = SimulationSettings(**part_of(values, SimulationSettings))
    return {name: getattr(settings, name) for name in settings_of(SimulationSettings)}


def fit_settings_of(values: Mapping[str, Any]) -> FitSettings:
    """Settings of a fit, from a word for the objective and its weights among the values.

    Raises:
      FitError: a value is out of range.
    """
    default = ObjectiveSettings()
    objective = Objective(
        kind=values.get("objective", default.objective),
        speed=values.get("speed_weight", default.speed_weight),
        duty=values.get("duty_weight", default.duty_weight),
    )
    return FitSettings(**{**part_of(values, FitSettings), "objective": objective})


def check_former(words: Sequence[str], former: Mapping[str, str]) -> None:
    """Raise ExperimentError for an option that has been renamed."""
    for word in words:
        name = word.partition("=")[0].replace("_", "-")
        if name in former:
            raise ExperimentError(f"{name} is now {former[name]}")
