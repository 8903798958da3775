"""Arguments of ``trueup actuator compare``."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from trueup.actuators.bench.objective import Objective
from trueup.actuators.search.fit_settings import FitSettings
from trueup.cli.actuator.simulation_options import ParameterFiles, SimulationOptions
from trueup.cli.output import Output
from trueup.cli.registered_names import ServoMethod
from trueup.cli.study.options import Json
from trueup.errors import FitError


@dataclass(frozen=True, kw_only=True)
class CompareServoModels(SimulationOptions):
    """Compare models of a servo on logs, and say which of them to take.

    Friction models M1 to M6 that no parameter file is given for are fitted to the logs that are not
    held out, and so is the model, extended terms included, that trueup actuator fit would choose.

    Examples:
      trueup actuator compare --logdir logs --validation-kp 400
      trueup actuator compare --logdir logs --models m1,m3,m6 --validation-mass 0.5
      trueup actuator compare --logdir logs --validation-kp 400 --friction-only
      trueup actuator compare --logdir logs --terms command_delay,torque_saturation
      trueup actuator compare --logdir logs --params m1.json m6.json --given-only

    Writes comparison.html, comparison.json and the parameter files of what it fitted. Ctrl-C saves;
    --resume or trueup study resume continues.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs; trueup actuator process makes them."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo; that of the parameter files, or else of the logs, where absent."""
    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")] = ()
    """Parameter files of models; may be given several times."""
    models: Annotated[str, arg(metavar="M1,M2,...")] = "m1,m2,m3,m4,m5,m6"
    """Models to compare, fitted where no file of them is given."""
    extended: bool = False
    """Insist on the model with extended terms; without it, it is left out where the training logs
    are of one gain, mass and trajectory."""
    friction_only: bool = False
    """Compare friction models alone, without extended terms."""
    terms: Annotated[str | None, arg(metavar="TERM,TERM,...")] = None
    """Extended terms to try; all that suit servo and measurements where absent."""
    split_by: Literal["all", "kp", "mass", "trajectory"] = "all"
    """Key by which training logs are left out, to choose extended terms."""
    given_only: bool = False
    """Compare the parameter files alone and fit nothing."""
    validation_kp: Annotated[tuple[float, ...], arg(metavar="GAIN [GAIN ...]")] = ()
    """Hold out the logs of these gains; 0 holds out none."""
    validation_mass: Annotated[tuple[float, ...], arg(metavar="KG [KG ...]")] = ()
    """Hold out the logs of these masses [kg]."""
    validation_trajectory: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Hold out the logs of these trajectories."""
    error: Literal["mae", "rmse"] = "mae"
    """Error that fits minimise and models are compared by."""
    method: ServoMethod = "auto"
    """Search of the fits, as in trueup actuator fit."""
    trials: Annotated[int | None, arg(metavar="INT")] = None
    """Evaluated candidates of each fit at most; 100000 where absent."""
    seed: int = 0
    """Seed of everything random."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIRECTORY")] = Path("comparison")
    """Run directory."""
    workers: Annotated[int | None, arg(metavar="INT")] = None
    """Threads that simulate; all cores where absent. The result is the same with any number."""
    resume: bool = False
    """Continue the comparison in the run directory."""
    overwrite: bool = False
    """Replace the run that the directory holds."""
    dry_run: bool = False
    """Read and check everything, say what would be fitted, write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    @staticmethod
    def check_words(words: Sequence[str]) -> None:
        """Raise FitError where models are separated by blanks."""
        for place, word in enumerate(words[:-2]):
            following = list(takewhile(lambda w: not w.startswith("-"), words[place + 1 :]))
            if word == "--models" and len(following) > 1:
                names = ",".join(name.strip(",") for name in following)
                raise FitError(f"--models takes one list, with commas: --models {names}")

    @property
    def settings(self) -> Any:
        """The options as settings of the library."""
        from trueup.actuators import ComparisonSettings

        models = tuple(name.strip().lower() for name in self.models.split(",") if name.strip())
        if not models and not self.given_only:
            raise FitError("no model is named: --models m1,m3, or --given-only for parameter files")
        if self.extended and self.friction_only:
            raise FitError("--extended tries extended terms, --friction-only none: give one")
        fit = FitSettings(
            method=self.method,
            seed=self.seed,
            objective=Objective(self.error),
            validation_kp=tuple(kp for kp in self.validation_kp if kp != 0),
            validation_mass=self.validation_mass,
            validation_trajectory=self.validation_trajectory,
            **self.simulation,
        )
        terms = None if self.terms is None else self.terms.split(",")
        return ComparisonSettings(
            models=() if self.given_only else models,
            fit=fit,
            extended=False if self.friction_only else self.extended or None,
            terms=None if terms is None else tuple(t.strip() for t in terms if t.strip()),
            split_by=None if self.split_by == "all" else self.split_by,
        )

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import ComparisonSpec
        from trueup.cli.actuator.compare import run_compare
        from trueup.runs import Execution
        from trueup.runs.loop.budget import Budget

        spec = ComparisonSpec.of(
            [file for files in self.params for file in files],
            self.logdir,
            self.settings,
            servo=self.actuator,
            name=self.output.resolve().name,
            limits=Budget(max_evaluations=self.trials),
            catalogue=self.catalogue,
            skip_bad_logs=self.skip_bad_logs,
            anyway=self.anyway,
        )
        return run_compare(
            spec,
            self.output,
            Execution(workers=self.workers),
            output,
            resume=self.resume,
            overwrite=self.overwrite,
            dry_run=self.dry_run,
            verbose=not (self.quiet or output.json),
        )
