"""Spec of a servo fit: the content of its ``experiment.yaml``."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.friction_models import FRICTION_MODELS
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.logs_spec import LogsSpec, fields_of
from trueup.actuators.search.run_logs import Logs
from trueup.errors import FitError
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop.budget import Budget
from trueup.runs.spec import InputPath, OnResume, OutputPath, Serialised


class ServoFitInterrupted(RunInterrupted):
    """A servo fit that Ctrl-C interrupted; its search is saved and can be resumed."""


class FitSpec(LogsSpec):
    """Spec of a servo fit; :meth:`of` makes one from the arguments of a call.

    Attributes:
      actuator: name of the servo.
      model: friction model, ``m1`` to ``m6``; None: friction model and extended terms are selected
        by cross-validation, see :func:`trueup.actuators.choose_model`.
      settings: settings of the fit; ``limits`` can override the number of evaluations.
      output: parameter file, rewritten whenever a better candidate is found; None: no file.
      start: start values of the free parameters by name; None before the first call has
        determined them, and if the model is selected.
      named_inputs: files to record in the provenance; if empty, those of the logs.
      skipped: reasons for logs that were skipped before, for the summary.
      start_from: start values of the free parameters ``(p,)``, or an earlier result: a run
        directory, a parameter file, or an SQLite file of Optuna.
      benches: load of each log, if passed as objects in Python; by default the pendulum
        that the log describes.
    """

    kind: ClassVar[str] = "servo"
    noun: ClassVar[str] = "a servo fit"
    function: ClassVar[str] = "trueup.actuators.fit"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ("max_evaluations",)
    interruption: ClassVar[type[RunInterrupted]] = ServoFitInterrupted

    actuator: str
    model: str | None
    settings: Annotated[FitSettings, Serialised()] = FitSettings()
    output: Annotated[OutputPath | None, OnResume.FORMER] = None
    start: Annotated[dict[str, float] | None, OnResume.FORMER] = None
    named_inputs: Annotated[tuple[InputPath, ...], OnResume.FORMER] = ()
    skipped: Annotated[tuple[str, ...], OnResume.FORMER] = ()
    start_from: Annotated[np.ndarray | Path | str | None, OnResume.FORMER, Field(exclude=True)] = (
        None
    )
    benches: Annotated[tuple[Any, ...] | None, OnResume.FORMER, Field(exclude=True)] = None

    @classmethod
    def of(
        cls,
        servo: str | Servo,
        model: str | None,
        logs: Logs,
        settings: FitSettings | None = None,
        *,
        output: str | os.PathLike[str] | None = None,
        name: str | None = None,
        limits: Budget | None = None,
        start: np.ndarray | str | os.PathLike[str] | None = None,
        catalogue: str | os.PathLike[str] | None = None,
        skip_bad_logs: bool = False,
        benches: Sequence[Bench] | None = None,
        inputs: Iterable[str | os.PathLike[str]] = (),
        skipped: Sequence[str] = (),
    ) -> "FitSpec":
        """Spec of a fit, from the arguments of :func:`trueup.actuators.fit`.

        Args:
          name: name of the run; default: that of the parameter file.

        Raises:
          FitError: a start without a friction model.
          RunDirectoryError: the search does not support one of the limits.
        """
        if model is None and start is not None:
            raise FitError("--load-study requires a friction model: select it with --model")
        settings = settings or FitSettings()
        file = None if output is None else Path(output)
        return cls(
            name=name or ("fit" if file is None else file.stem),
            seed=settings.seed,
            model=model,
            settings=settings,
            output=file,
            named_inputs=tuple(map(Path, inputs)),
            skipped=tuple(skipped),
            start_from=start if isinstance(start, np.ndarray | str | None) else Path(start),
            benches=None if benches is None else tuple(benches),
            catalogue=None if catalogue is None else Path(catalogue),
            skip_bad_logs=skip_bad_logs,
            **fields_of(servo, logs),
        ).with_limits(limits or Budget())

    def only_in_python(self) -> tuple[str, ...]:
        return (*super().only_in_python(), *(["benches"] if self.benches is not None else []))

    def identity(self) -> dict[str, Any]:
        """All settings except the number of evaluations, which may change on resume."""
        return {name: value for name, value in super().identity().items() if name != "trials"}

    @property
    def servo_or_name(self) -> Servo | str:
        return self.actuator if self.servo is None else self.servo

    @property
    def fit_settings(self) -> FitSettings:
        """Settings with the number of evaluations of the limits."""
        most = self.limits.max_evaluations
        return self.settings if most is None else replace(self.settings, trials=most)

    @property
    def first_model(self) -> str:
        """The friction model; the simplest one if it is to be selected."""
        if self.model is not None:
            return self.model
        return next(iter(self.settings.models or FRICTION_MODELS))
