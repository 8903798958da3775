"""``trueup gait``: its commands and their arguments; what they do is imported when they run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.gait_options import GaitOverrides
from trueup.cli.output import Output
from trueup.cli.study_options import Json


@dataclass(frozen=True, kw_only=True)
class ListGait:
    """List the configurations that are shipped, with a sentence each.

    Examples:
      trueup gait list
      trueup gait list --json

    Exit codes: 0 done.
    """

    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait_show import run_gait_list

        return run_gait_list(output)


@dataclass(frozen=True, kw_only=True)
class OptimizeGait(GaitOverrides):
    """Search gains, pose and exoskeleton torque of a walk that costs little.

    Examples:
      trueup gait optimize tutorial --model-file walker.xml
      trueup gait optimize baseline --model-file walker.xml --reference gait.json --cost kine
      trueup gait optimize mine.yaml --param-path runs/tutorial --max-torque 50 --ExoOn 1
      trueup gait optimize tutorial --save-path runs/tutorial --resume

    The run directory holds the resolved configuration, every evaluation with its terms, and the
    vectors *_Best.txt and *_BestLast.txt. Ctrl-C saves and says how to resume.
    Exit codes: 0 done, 2 wrong input, 3 did not converge, 130 interrupted.
    """

    configuration: Annotated[Positional[str], arg(metavar="CONFIG")]
    """Configuration by name, or a YAML, .bat or .sh file; trueup gait list shows the names."""
    save_path: Annotated[Path | None, arg(aliases=["-o", "--output"], metavar="DIRECTORY")] = None
    """Run directory; runs/CONFIG where absent."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Threads that simulate; all cores where absent. The result is the same with any number."""
    max_evaluations: Annotated[int | None, arg(metavar="INT")] = None
    """Stop after this many evaluated candidates; the last generation is finished."""
    max_seconds: Annotated[float | None, arg(metavar="S")] = None
    """Stop after this time [s]; the last generation is finished."""
    resume: bool = False
    """Continue the run in the run directory."""
    pickle_path: Annotated[Path | None, arg(metavar="DIRECTORY")] = None
    """Continue the run in this directory; the former name of --save-path DIRECTORY --resume."""
    overwrite: bool = False
    """Replace the run that the directory holds."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait_optimize import run_optimize

        return run_optimize(self, output)


@dataclass(frozen=True, kw_only=True)
class EvaluateGait(GaitOverrides):
    """Walk with a parameter vector and show what the walk costs.

    Examples:
      trueup gait evaluate runs/tutorial
      trueup gait evaluate walk_Best.txt --model-file walker.xml --exo 1 --max-torque 100
      trueup gait evaluate walk_Best.txt --config tutorial --model-file walker.xml
          --compat myoassist --json

    A run is evaluated as it was searched; for a file, --config names the configuration. Without
    one a vector walks without neural delays, with an exoskeleton of 100 N m if it has the entries
    of one, and tracks MyoAssist's reference kinematics if they lie near the model or the vector.
    Exit codes: 0 done, 2 wrong input.
    """

    target: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory, or a file with a vector such as *_Best.txt."""
    config: Annotated[str | None, arg(metavar="CONFIG")] = None
    """Configuration that a file belongs to, by name or file."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Threads that simulate."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait_show import run_gait_evaluate

        return run_gait_evaluate(self, output)


@dataclass(frozen=True, kw_only=True)
class ImportGait:
    """Write the configuration that a .bat or .sh file of MyoAssist asks for.

    Examples:
      trueup gait import tutorial.bat --output tutorial.yaml

    Exit codes: 0 done, 2 wrong input.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The .bat or .sh file."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """YAML file to write; FILE with that ending in this folder where absent."""
    overwrite: bool = False
    """Replace a file that exists."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait_show import run_gait_import

        return run_gait_import(self, output)


@dataclass(frozen=True)
class Gait:
    """Reflex controllers of walking and exoskeletons: search, evaluate, import.

    Examples:
      trueup gait list                                    the shipped configurations
      trueup gait optimize tutorial --model-file w.xml    search
      trueup gait evaluate runs/tutorial                  what its best walk costs
      trueup gait import tutorial.bat                     a configuration of MyoAssist as YAML
    """

    COMMANDS: ClassVar[dict[str, type]] = {
        "list": ListGait,
        "optimize": OptimizeGait,
        "evaluate": EvaluateGait,
        "import": ImportGait,
    }
