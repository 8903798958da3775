"""Arguments of ``trueup actuator fit``, ``evaluate`` and ``list``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

from trueup.actuators.bench.objective import OBJECTIVES, Objective
from trueup.actuators.search.fit_settings import FitSettings, values_of_options
from trueup.cli.actuator.simulation_options import SimulationOptions, names_in
from trueup.cli.output import Output
from trueup.cli.registered_names import ServoMethod
from trueup.cli.study.options import Json, TrackerOptions
from trueup.errors import FitError
from trueup.runs.trackers.registry import TRACKERS

Scheme = Literal["semi-implicit", "bam"]


@dataclass(frozen=True, kw_only=True)
class ServoFitOptions:
    """Options of a servo fit, except those of trackers."""

    actuator: Annotated[str, arg(metavar="SERVO")]
    """Servo; trueup actuator list shows them."""
    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs; trueup actuator process makes them."""
    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """Friction model, m1 to m6. Where absent, all are tried with the extended terms that servo and
    logs can carry, and what predicts unseen gains, masses and trajectories best is taken; of
    several, m1,m4,m6, the choice is among these."""
    try_terms: Annotated[str | None, arg(metavar="TERM,...")] = None
    """Extended terms that a choice may add, none for none; all that servo and logs can carry where
    absent."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")] = Path("params.json")
    """Parameter file to write."""
    method: ServoMethod = "auto"
    """Search; auto: Sobol points, least squares from the best, CMA-ES, polish. least-squares: the
    same without CMA-ES. refine: from the start alone. cmaes: the whole box, BIPOP restarts. nsgaii:
    position and speed error."""
    trials: Annotated[int | None, arg(metavar="INT")] = None
    """Evaluated candidates at most, 100000 where absent. No batch is begun that would pass it."""
    workers: Annotated[int | None, arg(metavar="INT")] = None
    """Threads that simulate; all cores where absent. The result is the same with any number."""
    load_study: Annotated[str | None, arg(metavar="STUDY")] = None
    """Start from the best of an earlier study: a run directory, an SQLite file of Optuna, or the
    name of a study in --storage, which the trials of this fit are added to."""
    reset_period: Annotated[float | None, arg(metavar="S")] = None
    """Take position and speed from the log again after this time [s]."""
    validation_kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Hold out the logs of these gains; 0 holds out none."""
    validation_mass: Annotated[tuple[float, ...], arg(metavar="KG [KG ...]")] = ()
    """Hold out the logs of these masses [kg]."""
    validation_trajectory: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Hold out the logs of these trajectories."""
    eval: bool = False
    """Fit nothing: give the errors of the parameter file that --output names."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="NAME=VALUE,...")] = ()
    """Parameters that keep a value, such as R=2.0,kt=0.4."""
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of everything random."""
    objective: Literal[*OBJECTIVES] = "mae"  # pyright: ignore[reportInvalidTypeForm]
    """Error to minimise: mean absolute, root mean square, or Huber."""
    speed_weight: Annotated[float, arg(metavar="WEIGHT")] = 0.0
    """Weight of the speed error [s] beside that of the position, which is 1."""
    duty_weight: Annotated[float, arg(metavar="WEIGHT")] = 0.0
    """Weight of the error of the duty cycle."""
    scheme: Scheme = "semi-implicit"
    """How the bench steps; bam reproduces Better Actuator Models, one explicit step a sample."""
    terms: Annotated[str, arg(metavar="TERM,...")] = ""
    """Extended terms, such as command_delay,measured_voltage; trueup actuator list shows them."""
    quadratic: Literal["gated", "ungated"] = "gated"
    """Quadratic term of m6: only where load and motor oppose each other, or always."""
    vin: Annotated[float | None, arg(metavar="V")] = None
    """Nominal bus voltage [V] in place of the logs' own."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """YAML file with further servos."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""
    storage: Annotated[str | None, arg(metavar="URL")] = None
    """Write the finished search as a study of Optuna, for its dashboard: sqlite:///study.db or the
    URL of another database, or a file .db or .log."""
    resume: bool = False
    """Continue the fit in the run directory."""
    overwrite: bool = False
    """Replace an earlier fit."""
    dry_run: bool = False
    """Check everything, time the simulator, say what would be done, write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class FitServo(TrackerOptions, ServoFitOptions):
    """Fit a friction model and the motor's parameters of a servo to logs from a bench.

    Without --model, the friction model and its extended terms are chosen by cross-validation: some
    minutes, with a first usable file after half a minute.

    Examples:
      trueup actuator fit --actuator xl330 --logdir logs --output params/xl330.json
      trueup actuator fit --actuator xl330 --model m6 --logdir logs -o m6.json --validation-kp 400
      trueup actuator fit --actuator xl330 --model m1 --logdir logs --output m1.json --set R=2.0
      trueup actuator fit --actuator xl330 --model m6 --logdir logs --output m6.json --eval

    The parameter file holds the best so far while the fit runs. The run directory beside it,
    m6.run for m6.json, keeps the search: Ctrl-C saves, --resume or trueup study resume continues.
    Exit codes: 0 done, 2 wrong input, 3 did not converge, 130 interrupted, 143 terminated.
    """

    @property
    def execution(self) -> Any:
        """The options as settings of the library."""
        from trueup.runs import Execution

        return Execution(
            workers=self.workers,
            storage=self.storage,
            load_study=self.load_study if self.storage else None,
            trackers=tuple(name for name in TRACKERS if getattr(self, name)),
        )

    @property
    def settings(self) -> FitSettings:
        """The options as settings of a fit."""
        return FitSettings(
            method=self.method,
            seed=self.seed,
            objective=Objective(self.objective, 1.0, self.speed_weight, self.duty_weight),
            scheme=self.scheme,
            reset_period=self.reset_period,
            vin=self.vin,
            terms=names_in(self.terms),
            models=self._models if len(self._models) > 1 else (),
            try_terms=names_in(self.try_terms or "") or None,
            quadratic=self.quadratic,
            fixed=values_of_options(self.set),
            validation_kp=tuple(kp for kp in self.validation_kp if kp != 0),
            validation_mass=self.validation_mass,
            validation_trajectory=self.validation_trajectory,
        )

    @property
    def _models(self) -> tuple[str, ...]:
        return names_in((self.model or "").lower())

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import FitSpec
        from trueup.cli.actuator.fit import run_fit, run_fit_evaluation
        from trueup.runs.loop.budget import Budget

        if self.trials is not None and self.trials < 1:
            raise FitError(f"--trials is {self.trials}: it has to be 1 or more")
        if len(self._models) == 1 and self.try_terms not in (None, "", "none"):
            raise FitError("--model names one model: give --terms instead of --try-terms")
        spec = FitSpec.of(
            self.actuator,
            self._models[0] if len(self._models) == 1 else None,
            self.logdir,
            self.settings,
            output=self.output,
            limits=Budget(max_evaluations=self.trials),
            start=None if self.storage else self.load_study,
            catalogue=self.catalogue,
            skip_bad_logs=self.skip_bad_logs,
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
class EvaluateServo(SimulationOptions):
    """Give the mean absolute position error of a parameter file on logs, in all and for each.

    Examples:
      trueup actuator evaluate --actuator xl330 --model m6 --logdir logs --params m6.json
      trueup actuator evaluate --logdir logs --params m6.json --scheme bam --json

    Exit codes: 0 done, 2 wrong input.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs."""
    params: Annotated[Path, arg(metavar="FILE")]
    """Parameter file."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo that the file has to be of."""
    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """Friction model that the file has to be of."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.evaluate import show_evaluation

        return show_evaluation(
            self.params,
            self.logdir,
            self.actuator,
            self.model,
            self.skip_bad_logs,
            self.simulation,
            output,
            catalogue=self.catalogue,
            anyway=self.anyway,
        )


@dataclass(frozen=True, kw_only=True)
class ListServos:
    """List servos, friction models, extended terms, and their parameters with units and bounds.

    Examples:
      trueup actuator list
      trueup actuator list --actuator xl330
      trueup actuator list --json

    Exit codes: 0 done, 2 wrong input.
    """

    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Show this servo only, with all its parameters."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """YAML file with further servos."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.actuator.list import run_list

        return run_list(self.actuator, self.catalogue, output)
