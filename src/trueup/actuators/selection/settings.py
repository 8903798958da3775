"""Settings of the fit and comparison of servo models, which stand in the run directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from trueup.actuators.equations.friction_models import FRICTION_MODELS, friction_model
from trueup.actuators.search.fit_settings import FitSettings
from trueup.errors import FitError, listing

_TUPLES = ("models", "terms")


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a run of :func:`trueup.actuators.compare`."""

    models: tuple[str, ...] = tuple(FRICTION_MODELS)
    """Friction models to compare, fitted where no parameter file of them is given."""
    fit: FitSettings = field(default_factory=FitSettings)
    """Settings of the fits; their objective is the error that models are compared by, and what they
    hold out is held out of the whole comparison."""
    extended: bool | None = None
    """Compare one model more: friction model and extended terms that predict training logs best
    that are left out in turn, see :func:`trueup.actuators.choose_model`. None: where models are
    fitted, and gain, mass or trajectory varies among the training logs."""
    terms: tuple[str, ...] | None = None
    """Terms that the extended model may take; all that suit servo and measurements where None."""
    split_by: str | None = None
    """Quantity that training logs are left out by: ``"kp"``, ``"mass"`` or ``"trajectory"``; None:
    all that vary."""

    def __post_init__(self) -> None:
        names = [friction_model(name).name for name in dict.fromkeys(self.models)]
        object.__setattr__(self, "models", tuple(names))
        if self.terms is not None and self.extended is False:
            raise FitError("--friction-only compares no extended terms, --terms names some")
        if (self.extended or self.terms is not None) and not self.models:
            raise FitError(
                "--given-only fits nothing, --extended and --terms fit: give one of them"
            )
        if self.terms == ():
            raise FitError("--terms names no term; trueup actuator list shows them")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {**plain, "fit": self.fit.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ComparisonSettings":
        """Inverse of :meth:`to_dict`.

        Raises:
          FitError: an unknown setting.
        """
        content = {k: v for k, v in content.items() if k != "png"}  # of former runs: a picture too
        known = {each.name for each in fields(cls)}
        if unknown := [name for name in content if name not in known]:
            raise FitError(
                f"a comparison has no setting {listing(unknown)}; it has {listing(known, 40)}"
            )
        tuples = {k: tuple(content[k]) for k in _TUPLES if content.get(k) is not None}
        return cls(**{**content, **tuples, "fit": FitSettings.from_dict(content["fit"])})
