"""``trueup gait``: commands and arguments; their implementation is imported when they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from trueup._marks import marked
from trueup.cli.gait.device import CompareDevice
from trueup.cli.gait.export import ExportWalk
from trueup.cli.gait.import_model import ImportGait
from trueup.cli.gait.options import (
    GaitOptions,
    WalkOfTarget,
    changes_of,
    current_options,
    with_cost,
)
from trueup.cli.gait.replay import ReplayMotion
from trueup.cli.output import Output
from trueup.cli.settings import Keys, given, options_of
from trueup.cli.study.options import Json, OfRuns
from trueup.errors import GaitError
from trueup.gait.search.configuration import GaitConfiguration
from trueup.runs.loop.budget import Budget

GaitLimits = options_of(Budget, "GaitLimits", only=("max_evaluations", "max_seconds"))
"""Limits of a search, which counts its generations by maxiter."""


@dataclass(frozen=True, kw_only=True)
class ListGait:
    """List the shipped configurations with their descriptions.

    Examples:
      trueup gait list
      trueup gait list --json

    Exit codes: 0 done.
    """

    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait.show import run_gait_list

        return run_gait_list(output)


@dataclass(frozen=True, kw_only=True)
class OptimizeGait(GaitOptions, GaitLimits, OfRuns):
    """Search gains, pose and exoskeleton torque of a walk for the lowest cost.

    Examples:
      trueup gait optimize walk
      trueup gait optimize walk --param-path nominal --seed 1 --output runs/one
      trueup gait optimize walk --slope -5 --dry-run
      trueup gait optimize mine.yaml --param-path runs/tutorial --max-torque 50 --ExoOn 1
      trueup gait optimize walk --controller reflexes.yaml --param-path nominal
      trueup gait optimize walk stages=improve weights=effort:300,velocity:100,trunk:20
      trueup gait optimize tutorial --output runs/tutorial --resume

    Options and KEY=VALUE replace values of the configuration. The run directory contains the
    resolved configuration, also as .sh and .bat, every evaluation with its terms, the vectors
    *_Best.txt and *_BestLast.txt, outcmaes/ for the package cma, and the verdict: whether the walk
    is steady and natural. Ctrl-C saves and prints the command that resumes.
    Exit codes: 0 done, 2 wrong input, 3 "do not use" or not converged, 130
    interrupted, 143 terminated.
    """

    KEYS: ClassVar[type] = GaitConfiguration
    WITHOUT: ClassVar[tuple[str, ...]] = ("says",)

    configuration: Annotated[Positional[str | None], arg(metavar="CONFIG")] = None
    """Configuration by name, or a YAML, .bat or .sh file; without one the names are listed."""
    keys: Keys = ()
    output: Annotated[Path | None, arg(aliases=["-o", "--save-path"], metavar="DIRECTORY")] = None
    """Run directory; by default runs/CONFIG."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Simulation threads; 0 uses all cores. The result does not depend on it."""
    resume: bool = False
    """Continue the run in the run directory."""
    pickle_path: Annotated[Path | None, arg(metavar="DIRECTORY")] = None
    """Continue the run in this directory, as --output DIRECTORY --resume. Pickle files are not
    read: give the vector of another program's search to --param-path."""
    overwrite: bool = False
    """Replace the run in the directory."""
    dry_run: bool = False
    """Report what would be searched, and the time it takes; write nothing."""
    quiet: bool = False
    """No progress."""
    json: Json = False

    @staticmethod
    def prepare_words(words: Sequence[str]) -> list[str]:
        """Words with the cost flags of MyoAssist as --cost."""
        return with_cost(words)

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait.optimize import run_optimize, without_configuration

        if self.configuration is None:
            raise GaitError(without_configuration())
        if self.pickle_path is not None and (self.output is not None or self.overwrite):
            raise GaitError(
                "--pickle-path means --output and --resume; remove --output and --overwrite"
            )
        return run_optimize(
            self.configuration,
            self.pickle_path or self.output,
            changes_of(self.keys, current_options(self), without=self.WITHOUT),
            Budget(**given(self, Budget)),
            self.threads,
            output,
            pickle=self.pickle_path is not None,
            resume=self.resume,
            overwrite=self.overwrite,
            dry_run=self.dry_run,
            anyway=self.anyway,
            verbose=not (self.quiet or output.json),
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateGait(WalkOfTarget):
    """Simulate the walk of a parameter vector and show its cost terms.

    Examples:
      trueup gait evaluate runs/tutorial
      trueup gait evaluate runs/tutorial --report walk.html --norm Schwartz2008.json
      trueup gait evaluate runs/exo --report walk.html --dose 0 10 25 50 --film
      trueup gait evaluate runs/tutorial --perturbations 20
      trueup gait evaluate walk_Best.txt model_file=walker.xml ExoOn=1 max_torque=100
      trueup gait evaluate walk_Best.txt --config tutorial model_file=walker.xml compat=myoassist

    A run is evaluated with the configuration of its search; for a file, --config selects one. By
    default a vector walks without neural delays, with an exoskeleton of 100 N m if it has entries
    of one, and tracks MyoAssist's reference kinematics if they are near the model or the vector.
    Exit codes: 0 done, 2 wrong input, 3 "do not use".
    """

    report: Annotated[Path | None, arg(aliases=["-o", "--output"], metavar="FILE")] = None
    """HTML file to write: gait cycle, moments, ground reaction, muscles, device, strides, costs."""
    norm: Annotated[Path | None, arg(metavar="FILE")] = None
    """Norm in the report: adult, a reference gait, or the norms of Schwartz et al. 2008; by default
    the tracked reference, or adult at 1.25 m/s."""
    norm_speed: Annotated[str, arg(metavar="NAME")] = "Free"
    """Speed of the norms of Schwartz et al., such as Slow, Free or Fast."""
    dose: Annotated[tuple[float, ...] | None, arg(metavar="NM [NM ...]")] = None
    """Maximum torques of the exoskeleton for a dose-response in the report [N m]."""
    film: bool = False
    """Film in the report; requires the extra video, and EGL or OSMesa."""
    perturbations: Annotated[int, arg(metavar="INT")] = 0
    """Number of repeats under perturbations that no search uses, for the verdict."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait.show import run_gait_evaluate

        if self.dose == ():
            raise GaitError("--dose requires values; give some or remove it")
        if self.report is None and (self.dose or self.film):
            raise GaitError("--dose and --film require a report; set its file with --report")
        walk = self.walk
        with marked(walk.mark):
            return run_gait_evaluate(
                walk,
                output,
                report=self.report,
                norm=self.norm,
                norm_speed=self.norm_speed,
                dose=self.dose,
                film=self.film,
                perturbations=self.perturbations,
            )


@dataclass(frozen=True, kw_only=True)
class VideoOfGait(WalkOfTarget):
    """Film a walk, without a display: by EGL or OSMesa.

    Examples:
      trueup gait video runs/tutorial --output walk.mp4
      trueup gait video runs/tutorial --output slow.mp4 --pace 0.25 sim_time=5
      trueup gait video walk_Best.txt --config tutorial model_file=walker.xml -o walk.mp4

    The walk is selected as in  trueup gait evaluate. MUJOCO_GL=egl or MUJOCO_GL=osmesa selects the
    graphics library. Requires the extra video.
    Exit codes: 0 done, 2 wrong input, or no graphics on this machine.
    """

    output: Annotated[Path, arg(aliases=["-o"], metavar="FILE")]
    """MP4 file to write; an existing file is replaced."""
    framerate: Annotated[int, arg(metavar="INT")] = 30
    """Frame rate [1/s]."""
    pace: Annotated[float, arg(metavar="FLOAT")] = 1.0
    """Time of the walk over time of the film; below 1 is slow motion."""
    width: Annotated[int, arg(metavar="INT")] = 800
    """Width [pixel]."""
    height: Annotated[int, arg(metavar="INT")] = 450
    """Height [pixel]."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        from trueup.cli.gait.show import run_gait_video

        walk = self.walk
        with marked(walk.mark):
            return run_gait_video(
                walk,
                self.output,
                output,
                framerate=self.framerate,
                pace=self.pace,
                width=self.width,
                height=self.height,
            )


@dataclass(frozen=True)
class Gait:
    """Reflex controllers of walking and exoskeletons: search, compare, evaluate, film, import.

    Examples:
      trueup gait list                                    the shipped configurations
      trueup gait optimize walk                           a steady walk
      trueup gait device --model ankle --max-torque 50    walking with a device and without
      trueup gait evaluate runs/tutorial                  cost terms of its best walk
      trueup gait video runs/tutorial -o walk.mp4         its best walk as a film
      trueup gait export runs/tutorial -o walk.mot        its best walk over time, for OpenSim
      trueup gait import tutorial.bat                     a configuration of MyoAssist as YAML
      trueup gait import model.osim                       a model of OpenSim as MJCF
      trueup gait replay model.xml walk.mot               muscle lengths over a motion
    """

    COMMANDS: ClassVar[dict[str, type]] = {
        "list": ListGait,
        "optimize": OptimizeGait,
        "device": CompareDevice,
        "evaluate": EvaluateGait,
        "video": VideoOfGait,
        "export": ExportWalk,
        "import": ImportGait,
        "replay": ReplayMotion,
    }
