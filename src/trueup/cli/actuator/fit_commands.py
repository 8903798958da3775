"""Arguments of ``trueup actuator fit``, ``evaluate`` and ``list``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import UseAppendAction, arg

from trueup._options import settings_of
from trueup.actuators.search.fit_settings import FitSettings, values_of_options
from trueup.cli.actuator.options import (
    CatalogueSettings,
    LogSettings,
    LogSimulationSettings,
    ObjectiveSettings,
    WithKeys,
    fit_settings_of,
    simulation_of,
)
from trueup.cli.output import Output
from trueup.cli.registered_names import ServoMethod
from trueup.cli.settings import options_of
from trueup.cli.study.options import Json, OfRuns, TrackerOptions
from trueup.errors import FitError
from trueup.runs.trackers.registry import TRACKERS


@dataclass(frozen=True, kw_only=True)
class FitKeys(ObjectiveSettings, LogSettings, FitSettings):  # type: ignore[override]
    """Settings of a fit and of its logs, with a word for the objective."""


FitOptions = options_of(FitKeys, "FitOptions", types={"method": ServoMethod})
"""An option for each marked setting of a fit."""


@dataclass(frozen=True, kw_only=True)
class FitServo(TrackerOptions, FitOptions, WithKeys):
    """Fit a friction model and the motor's parameters of a servo to logs from a bench.

    Without --model, the friction model and its extended terms are chosen by cross-validation, which
    takes some minutes; a first usable file is written after half a minute.

    Examples:
      trueup actuator fit --actuator xl330 --logdir logs --output params/xl330.json
      trueup actuator fit --actuator xl330 --model m6 --logdir logs -o m6.json --validation-kp 400
      trueup actuator fit --actuator xl330 --model m1 --logdir logs --output m1.json --set R=2.0
      trueup actuator fit --actuator xl330 --model m6 --logdir logs -o m6.json terms=backlash
      trueup actuator fit --actuator xl330 --model m6 --logdir logs --output m6.json --eval

    During the fit the parameter file contains the best parameters so far. The run directory next to
    it, m6.run for m6.json, contains the state of the search: Ctrl-C saves it; --resume or trueup
    study resume continues.
    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = FitKeys

    actuator: Annotated[str, arg(metavar="SERVO")]
    """Servo, as listed by trueup actuator list."""
    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs, as written by trueup actuator process."""
    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """Friction model, m1 to m6, or several to choose from, as m1,m4,m6. By default all are tried,
    with the extended terms that apply to the servo and its logs, and the one with the best
    predictions at held-out gains, masses and trajectories is used."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="NAME=VALUE,...")] = ()
    """Fixed values of parameters, such as R=2.0,kt=0.4."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("params.json")
    """Parameter file to write."""
    eval: bool = False
    """Fit nothing; report the errors of the parameter file in --output."""
    load_study: Annotated[str | None, arg(metavar="STUDY")] = None
    """Earlier study with the start values: a run directory, an SQLite file of Optuna, or the name
    of a study in --storage, which this fit then continues."""
    storage: Annotated[str | None, arg(metavar="URL")] = None
    """Mirror the study into an Optuna storage, such as sqlite:///study.db, for its dashboard."""
    threads: Annotated[int | None, arg(aliases=["--workers"], metavar="INT")] = None
    """Simulation threads; by default one per core. The result does not depend on it."""
    resume: bool = False
    """Continue the fit in the run directory."""
    overwrite: bool = False
    """Replace an earlier fit."""
    dry_run: bool = False
    """Check everything, time the simulator and report the planned fit; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """The words, with --set repeated before each of the parameters that follow it."""
        keys = {name for s in settings_of(FitKeys).values() for name in (s.key, s.name)}
        found: list[str] = []
        fixing = False
        for word in words:
            name, equals, _ = word.partition("=")
            fixing = word == "--set" or (fixing and bool(equals) and name not in keys)
            if fixing and word != "--set" and found[-1] != "--set":
                found.append("--set")
            found.append(word)
        return found

    @property
    def execution(self) -> Any:
        """Execution of the fit: threads, Optuna storage and trackers."""
        from trueup.runs import Execution

        return Execution(
            workers=self.threads,
            storage=self.storage,
            load_study=self.load_study if self.storage else None,
            trackers=tuple(name for name in TRACKERS if getattr(self, name)),
        )

    def settings_values(self) -> tuple[str | None, dict[str, Any]]:
        """The friction model, None if it is to be chosen, and the values of the settings."""
        models = [name.strip().lower() for name in (self.model or "").split(",") if name.strip()]
        further: dict[str, Any] = {"models": tuple(models)} if len(models) > 1 else {}
        if self.set:
            further["fixed"] = values_of_options(self.set)
        values = self.values(further)
        if len(models) != 1:
            return None, values
        for name in ("models", "try_terms"):
            if values.get(name) not in (None, (), ("none",)):
                raise FitError(
                    f"--model names one model, but {name} requires a choice: remove {name}, or "
                    "give terms= for the terms of the model"
                )
        return models[0], values

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import FitSpec
        from trueup.cli.actuator.fit import run_fit, run_fit_evaluation
        from trueup.runs.loop.budget import Budget

        model, values = self.settings_values()
        spec = FitSpec.of(
            self.actuator,
            model,
            self.logdir,
            fit_settings_of(values),
            output=self.output,
            limits=Budget(max_evaluations=values.get("trials")),
            start=None if self.storage else self.load_study,
            catalogue=values.get("catalogue"),
            skip_bad_logs=values.get("skip_bad_logs", LogSettings.skip_bad_logs),
        )
        if self.eval:
            return run_fit_evaluation(spec, output)
        return run_fit(
            spec,
            self.execution,
            output,
            resume=self.resume,
            overwrite=self.overwrite,
            dry_run=self.dry_run,
            verbose=not (self.quiet or output.json),
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateServo(OfRuns, WithKeys):
    """Report the mean absolute position error of a parameter file, over all logs and per log.

    Examples:
      trueup actuator evaluate --actuator xl330 --model m6 --logdir logs --params m6.json
      trueup actuator evaluate --logdir logs --params m6.json scheme=bam --json

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = LogSimulationSettings

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs."""
    params: Annotated[Path, arg(metavar="FILE")]
    """Parameter file."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Expected servo of the file; by default any."""
    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """Expected friction model of the file; by default any."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.evaluate import show_evaluation

        values = self.all_values()
        return show_evaluation(
            self.params,
            self.logdir,
            self.actuator,
            self.model,
            values["skip_bad_logs"],
            simulation_of(values),
            output,
            catalogue=values["catalogue"],
            anyway=self.anyway,
        )


@dataclass(frozen=True, kw_only=True)
class ListServos(WithKeys):
    """List servos, friction models, extended terms, and their parameters with units and bounds.

    Examples:
      trueup actuator list
      trueup actuator list --actuator xl330
      trueup actuator list catalogue=servos.yaml --json

    Exit codes: 0 done, 2 wrong input.
    """

    KEYS: ClassVar[type] = CatalogueSettings

    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo to show with all its parameters; by default all servos in brief."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.list import run_list

        return run_list(self.actuator, self.values().get("catalogue"), output)
