"""Settings of a comparison of servo models, saved in the run directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from trueup._options import Option
from trueup.actuators.equations.friction_models import FRICTION_MODELS, friction_model
from trueup.actuators.search.fit_settings import FitSettings
from trueup.errors import FitError, did_you_mean, listing

_TUPLES = ("models", "try_terms")

_FORMER_TRY_TERMS = "terms"
"""Key of ``try_terms`` in run directories of earlier versions."""


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a run of :func:`trueup.actuators.compare`."""

    models: Annotated[tuple[str, ...], Option("M1,M2,...")] = tuple(FRICTION_MODELS)
    """Friction models to compare; those without a given parameter file are fitted."""
    fit: FitSettings = field(default_factory=FitSettings)
    """Settings of the fits. Models are compared by their objective, and their held-out logs are
    held out of the whole comparison."""
    extended: bool | None = None
    """Include the model with extended terms chosen by cross-validation over the training logs, see
    :func:`trueup.actuators.choose_model`; by default if models are fitted and the training logs
    differ in gain, mass or trajectory."""
    try_terms: tuple[str, ...] | None = None
    """Extended terms that this model may have; by default all that apply to the servo and its
    measurements."""
    split_by: Literal["kp", "mass", "trajectory"] | None = None
    """Quantity by which the cross-validation splits the training logs; by default all that vary."""

    def __post_init__(self) -> None:
        names = [friction_model(name).name for name in dict.fromkeys(self.models)]
        object.__setattr__(self, "models", tuple(names))
        if self.try_terms is not None and self.extended is False:
            raise FitError(
                "--friction-only (extended=0) compares friction models only, but try_terms names "
                "extended terms: remove one of them"
            )
        if (self.extended or self.try_terms is not None) and not self.models:
            raise FitError(
                "--given-only fits nothing, but extended and try_terms require fits: remove one of "
                "them"
            )
        if self.try_terms == ():
            raise FitError(
                "try_terms is empty: give terms listed by trueup actuator list, or compare "
                "friction models only with --friction-only (extended=0)"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON values of all settings."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {**plain, "fit": self.fit.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ComparisonSettings":
        """Inverse of :meth:`to_dict`.

        Raises:
          FitError: a setting is unknown.
        """
        if _FORMER_TRY_TERMS in content and "try_terms" not in content:
            content = dict(content)
            content["try_terms"] = content.pop(_FORMER_TRY_TERMS)
        content = {k: v for k, v in content.items() if k != "png"}  # key of earlier versions
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in content if name not in known]:
            raise FitError(
                f"unknown setting of a comparison: {listing(unknown)}; the settings are "
                f"{listing(known, 40)}.{did_you_mean(unknown[0], known)}"
            )
        tuples = {k: tuple(content[k]) for k in _TUPLES if content.get(k) is not None}
        return cls(**{**content, **tuples, "fit": FitSettings.from_dict(content["fit"])})
