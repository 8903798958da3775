"""Arguments of ``trueup actuator compare``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from tyro.conf import arg

from trueup._options import Option
from trueup.actuators.search.fit_settings import DEFAULT_TRIALS, FitSettings
from trueup.actuators.selection.settings import ComparisonSettings
from trueup.cli.actuator.options import (
    LogSettings,
    ParameterFiles,
    WithKeys,
    check_former,
    fit_settings_of,
    part_of,
)
from trueup.cli.output import Output
from trueup.cli.settings import options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import FitError

FORMER = {
    "--terms": "try_terms=TERM,TERM,...",
    "--error": "objective=mae or objective=rmse",
    "--trials": "--evaluations",
    "--workers": "--threads",
}
"""Options of earlier versions, and their replacements."""


@dataclass(frozen=True, kw_only=True)
class ComparisonKeys(LogSettings, ComparisonSettings, FitSettings):  # type: ignore[override]
    """Settings of a comparison, of its fits and of its logs."""

    objective: Literal["mae", "rmse"] = "mae"  # type: ignore[assignment]
    """Error of the fits and of the comparison: mae, mean absolute, or rmse, root mean square."""
    trials: Annotated[int, Option("INT", name="evaluations")] = DEFAULT_TRIALS
    """Maximum number of evaluated candidates per fit."""


ComparisonOptions = options_of(
    ComparisonKeys,
    "ComparisonOptions",
    only=(
        *("models", "trials", "seed"),
        *("validation_kp", "validation_mass", "validation_trajectory"),
    ),
)
"""Options for the settings that most comparisons use."""


@dataclass(frozen=True, kw_only=True)
class CompareServoModels(OfRuns, ComparisonOptions, WithKeys):
    """Compare models of a servo on logs, and recommend one of them.

    Friction models without a parameter file are fitted to the training logs, as is the model with
    extended terms that trueup actuator fit would choose.

    Examples:
      trueup actuator compare --logdir logs --validation-kp 400
      trueup actuator compare --logdir logs --models m1,m3,m6 --validation-mass 0.5
      trueup actuator compare --logdir logs --validation-kp 400 --friction-only
      trueup actuator compare --logdir logs try_terms=command_delay,torque_saturation
      trueup actuator compare --logdir logs --params m1.json m6.json --given-only

    Writes comparison.html, comparison.json and the parameter files of the fitted models. Ctrl-C
    saves the state; --resume or trueup study resume continues.
    Exit codes: 0 done, 2 wrong input, 130 interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = ComparisonKeys
    WITHOUT: ClassVar[tuple[str, ...]] = ("fit", "terms")

    logdir: Annotated[Path, arg(metavar="FOLDER")]
    """Folder of evenly sampled logs, as written by trueup actuator process."""
    actuator: Annotated[str | None, arg(metavar="SERVO")] = None
    """Servo; by default that of the parameter files, else that of the logs."""
    params: Annotated[ParameterFiles, arg(metavar="FILE [FILE ...]")] = ()
    """Parameter files of models; may be given several times."""
    friction_only: bool = False
    """Compare friction models only, same as extended=0. By default extended terms are tried if the
    training logs differ in gain, mass or trajectory; extended=1 requires them."""
    given_only: bool = False
    """Compare the parameter files only; fit nothing."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIRECTORY")] = Path("comparison")
    """Run directory."""
    threads: Annotated[int | None, arg(metavar="INT")] = None
    """Simulation threads; by default one per core. The result does not depend on it."""
    resume: bool = False
    """Continue the comparison in the run directory."""
    overwrite: bool = False
    """Replace the run in the directory."""
    dry_run: bool = False
    """Check everything and report the planned fits; write nothing."""
    quiet: bool = False
    """Hide the progress."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """The words, checked for options of earlier versions."""
        check_former(words, FORMER)
        return list(words)

    def settings_values(self) -> dict[str, Any]:
        """Values of the given settings, by name."""
        values = self.values({"extended": False} if self.friction_only else {})
        if self.given_only:
            if values.get("models"):
                raise FitError(
                    "--given-only fits nothing, but models names friction models: remove one of "
                    "them"
                )
            values["models"] = ()
        elif values.get("models") == ():
            raise FitError(
                "models is empty: give --models m1,m3, or --given-only for parameter files only"
            )
        return values

    def settings_from(self, values: dict[str, Any]) -> ComparisonSettings:
        """Settings of a comparison, from their values by name."""
        of_comparison = part_of(values, ComparisonSettings)
        others = {name: value for name, value in values.items() if name not in of_comparison}
        return ComparisonSettings(**of_comparison, fit=fit_settings_of(others))

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.actuators import ComparisonSpec
        from trueup.cli.actuator.compare import run_compare
        from trueup.runs import Execution
        from trueup.runs.loop.budget import Budget

        values = self.settings_values()
        spec = ComparisonSpec.of(
            [file for files in self.params for file in files],
            self.logdir,
            self.settings_from(values),
            servo=self.actuator,
            name=self.output.resolve().name,
            limits=Budget(max_evaluations=values.get("trials")),
            catalogue=values.get("catalogue"),
            skip_bad_logs=values.get("skip_bad_logs", LogSettings.skip_bad_logs),
            anyway=self.anyway,
        )
        return run_compare(
            spec,
            self.output,
            Execution(workers=self.threads),
            output,
            resume=self.resume,
            overwrite=self.overwrite,
            dry_run=self.dry_run,
            verbose=not (self.quiet or output.json),
        )
