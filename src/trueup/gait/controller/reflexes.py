"""Description of a reflex controller: gains, signals, muscles and reflexes, by name.

The shipped controller is the file ``reflexes.yaml`` next to this module. A new reflex is an
entry there or in a custom file, see :func:`load_controller`.
"""

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueup._input_files import read_settings, safe_yaml
from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller._registers import (
    ANGLES,
    FRONTAL_GAINS,
    GAINS,
    GATES,
    SIGNALS,
    Measured,
    OptionalSignal,
    Register,
)

Plane = Literal["sagittal", "frontal"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(min_length=1)
    plane: Plane = "sagittal"


class Gain(_Part):
    """Gain: value = scale * p + offset, with the entry p of a parameter vector."""

    scale: float
    offset: float = 0.0
    unit: Literal["1", "deg"] = "1"
    """Unit of scale and offset; with ``deg`` the value is in radians."""
    lower: float | None = None
    """Lower bound of p; None: unbounded."""
    says: str = ""
    """Description."""
    unused: bool = False
    """Whether it is unused, a placeholder for compatibility with older vectors."""


class Signal(_Part):
    """Delayed signal of one leg."""

    measured: str
    """Measured signal."""
    delay: float = Field(ge=0.0, lt=1.0)
    """One-way delay [s]."""


class Muscle(_Part):
    """Muscle group with a common stimulation."""

    delay: float = Field(ge=0.0, lt=1.0)
    """Delay from the spinal cord to the muscle [s]."""


class Term(BaseModel):
    """Summand of a reflex: ``sign * gain * (signal - sum of above)``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gain: str
    signal: str
    above: tuple[str, ...] = Field(default=(), max_length=2)
    sign: Literal[1, -1] = 1


class Reflex(_Part):
    """Stimulation of a muscle: ``gate * [sum of terms]+ * times``, negative where it inhibits."""

    muscle: str | None = None
    """Muscle group; None for a quantity used only by other reflexes."""
    gate: str = "always"
    terms: tuple[Term, ...] = Field(min_length=1)
    times: str = "always"
    inhibits: bool = False
    crossed: bool = False
    """Whether it is included in the crossed copy of the stimulation."""


class ReflexController(BaseModel):
    """A reflex controller as data."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str
    prestimulation: float = Field(ge=0.0, le=1.0)
    """Smallest stimulation of every muscle."""
    load_threshold: float = Field(gt=0.0)
    """Load above which a foot is in contact [body weights]."""
    gains: tuple[Gain, ...]
    signals: tuple[Signal, ...]
    descending_delay: float = Field(ge=0.0, lt=1.0)
    """Delay from the supraspinal layer to the spinal cord [s]."""
    crossed_delay: float = Field(ge=0.0, lt=1.0)
    """Delay from one side of the spinal cord to the other [s]."""
    muscles: tuple[Muscle, ...]
    reflexes: tuple[Reflex, ...]

    def check(self) -> "ReflexController":
        """Check that every name refers to a part of the controller; returns the controller.

        Raises:
          GaitError: an unknown or a repeated name.
        """
        _check_names(self, frontal=any(gain.plane == "frontal" for gain in self.gains))
        _check_names(self.in_plane(False), frontal=False)
        return self

    def in_plane(self, frontal: bool) -> "ReflexController":
        """The controller of a walker with or without frontal motion."""
        if frontal:
            return self
        kept = {
            part: tuple(one for one in getattr(self, part) if one.plane == "sagittal")
            for part in ("gains", "muscles", "reflexes")
        }
        groups = {f"force_{muscle.name}" for muscle in kept["muscles"]}
        groups |= {*Measured.__members__, *OptionalSignal.__members__}
        kept_signals = [signal for signal in self.signals if signal.measured in groups]
        return self.model_copy(update={**kept, "signals": tuple(kept_signals)})

    def senses(self, measured: Collection[str]) -> bool:
        """Whether it has a signal of one of these measured signals."""
        return any(signal.measured in measured for signal in self.signals)


def load_controller(path: str | Path) -> ReflexController:
    """Read a reflex controller from a YAML file.

    Raises:
      GaitError: the file is missing or malformed, or contains an unknown name.
    """
    return _controller(_content(Path(path)), Path(path))


def _content(path: Path) -> Any:
    try:
        return safe_yaml(read_settings(path))
    except OSError as error:
        raise GaitError(f"cannot read the controller {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise GaitError(f"{path} is not a YAML file: {error}") from error


def _controller(content: Any, path: Path) -> ReflexController:
    try:
        return ReflexController.model_validate(content).check()
    except ValidationError as error:
        raise GaitError(f"{path} is not a valid reflex controller: {_reasons(error)}") from error


_SHIPPED = Path(__file__).with_name("reflexes.yaml")


@functools.cache
def default_controller(walker: str | None = None) -> ReflexController:
    """The shipped reflex controller, with the reflexes that are added for a walker.

    Args:
      walker: value of :attr:`Anatomy.reflexes`.
    """
    return _controller(_shipped_content(walker), _SHIPPED)


def shipped_reflexes(walker: str | None = None) -> str:
    """Text of the file of the shipped reflexes, to be changed to own ones.

    Args:
      walker: walker of the package with additional reflexes, which the text then contains: space26.
    """
    if walker is None:
        return _SHIPPED.read_text(encoding="utf-8")
    return yaml.safe_dump(_shipped_content(walker), sort_keys=False, width=100)


def _shipped_content(walker: str | None) -> dict[str, Any]:
    content = _content(_SHIPPED)
    if walker is None:
        return content
    added = _content(_SHIPPED.with_name(f"reflexes_{walker}.yaml"))
    return {**content, **{part: [*content[part], *more] for part, more in added.items()}}


def _reasons(error: ValidationError) -> str:
    found = error.errors()
    shown = [f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in found[:4]]
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return "; ".join(shown) + more


def _check_names(controller: ReflexController, frontal: bool) -> None:
    gains = _distinct("gain", [gain.name for gain in controller.gains])
    muscles = _distinct("muscle", [muscle.name for muscle in controller.muscles])
    signals = _distinct("signal", [signal.name for signal in controller.signals])
    _distinct("reflex", [reflex.name for reflex in controller.reflexes])
    measured = [*Measured.__members__, *(f"force_{muscle}" for muscle in muscles)]
    measured += OptionalSignal.__members__
    for signal in controller.signals:
        _known(f"signal {signal.name!r}", "measured signal", signal.measured, measured)
    _separate("gain", gains, {*Register.__members__} - {*GAINS, *FRONTAL_GAINS})
    _separate("signal", signals, {*Register.__members__, *gains} - {*SIGNALS})
    needed = [*GAINS, *(FRONTAL_GAINS if frontal else ())]
    for name in needed:
        _known("the supraspinal layer", "gain", name, gains)
    for name in SIGNALS:
        _known("the supraspinal layer", "signal", name, signals)
    earlier: list[str] = []
    for reflex in controller.reflexes:
        who = f"reflex {reflex.name!r}"
        readable = [*signals, *ANGLES, *(f"other {m}" for m in muscles)]
        readable += [f"{kind} {name}" for name in earlier for kind in ("drive", "reflex")]
        if reflex.muscle is not None:
            _known(who, "muscle", reflex.muscle, muscles)
        _known(who, "gate", reflex.gate, GATES)
        _known(who, "factor", reflex.times, [*readable, *GATES])
        for term in reflex.terms:
            _known(who, "gain", term.gain, gains)
            _known(who, "signal", term.signal, readable)
            for name in term.above:
                _known(who, "signal or gain", name, [*readable, *gains])
        earlier.append(reflex.name)


def _distinct(what: str, names: list[str]) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GaitError(f"names of each {what} must be unique; repeated: {listing(twice)}")
    return names


def _separate(what: str, names: list[str], taken: set[str]) -> None:
    if both := [name for name in names if name in taken]:
        raise GaitError(
            f"the names {listing(both)} are those of other quantities: rename each {what} of them"
        )


def _known(who: str, what: str, name: str, names) -> None:
    if name not in names:
        raise GaitError(
            f"{who}: unknown {what} {name!r}; available: "
            f"{listing(names, 40)}.{did_you_mean(name, names)}"
        )
