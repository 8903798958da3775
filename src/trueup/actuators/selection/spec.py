"""Spec of a comparison of servo models: the content of its ``experiment.yaml``."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.logs_spec import LogsSpec, fields_of
from trueup.actuators.search.run_logs import Logs
from trueup.actuators.selection.settings import ComparisonSettings
from trueup.errors import ParameterError
from trueup.runs.loop.budget import Budget
from trueup.runs.spec import InputPath, OnResume, Serialised


class ComparisonSpec(LogsSpec):
    """Spec of a comparison of servo models; :meth:`of` makes one from the arguments of a call.

    Attributes:
      actuator: name of the servo; None: that of the parameter files, or else of the logs.
      params: parameter files of models.
      settings: models to fit, and settings of the fits; ``limits`` can override the evaluations of
        each fit.
      anyway: accept parameter files of fits with changed logs; every output records this.
    """

    kind: ClassVar[str] = "comparison"
    noun: ClassVar[str] = "a comparison of servo models"
    function: ClassVar[str] = "trueup.actuators.compare"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ("max_evaluations",)
    searched: ClassVar[bool] = False

    params: Annotated[tuple[InputPath, ...], OnResume.FORMER] = ()
    settings: Annotated[ComparisonSettings, Serialised()] = ComparisonSettings()
    anyway: Annotated[bool, OnResume.FORMER] = False

    @classmethod
    def of(
        cls,
        params: Sequence[str | os.PathLike[str]],
        logs: Logs,
        settings: ComparisonSettings | None = None,
        *,
        servo: str | Servo | None = None,
        name: str = "comparison",
        limits: Budget | None = None,
        catalogue: str | os.PathLike[str] | None = None,
        skip_bad_logs: bool = False,
        anyway: bool = False,
    ) -> "ComparisonSpec":
        """Spec of a comparison, from the arguments of :func:`trueup.actuators.compare`.

        Args:
          name: name of the run.
          limits: number of evaluations of each fit that replaces that of the settings.

        Raises:
          ParameterError: neither a parameter file nor a model to fit.
          RunDirectoryError: the fits do not support one of the limits.
        """
        settings = settings or ComparisonSettings()
        if not params and not settings.models:
            raise ParameterError("--given-only compares parameter files: pass them with --params")
        return cls(
            name=name,
            seed=settings.fit.seed,
            params=tuple(Path(path) for path in dict.fromkeys(params)),
            settings=settings,
            anyway=anyway,
            catalogue=None if catalogue is None else Path(catalogue),
            skip_bad_logs=skip_bad_logs,
            **fields_of(servo, logs),
        ).with_limits(limits or Budget())

    def identity(self) -> dict[str, Any]:
        """All settings except evaluations, which may change on resume."""
        same = super().identity()
        fit = same.pop("fit")
        # models and terms to try are settings of both
        same |= {f"{k} of the fits" if k in same and k != "seed" else k: fit[k] for k in fit}
        return {name: value for name, value in same.items() if name != "trials"}

    @property
    def full_settings(self) -> ComparisonSettings:
        """Settings with the number of evaluations of the limits."""
        return replace(self.settings, fit=self.fit_settings)

    @property
    def fit_settings(self) -> FitSettings:
        """Settings of each fit, with the number of evaluations of the limits."""
        fit, most = self.settings.fit, self.limits.max_evaluations
        return fit if most is None else replace(fit, trials=most)
