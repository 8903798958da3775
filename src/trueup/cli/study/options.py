"""Options of every command that runs a search; plain data, nothing heavy is imported."""

from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from trueup.cli.registered_names import StudyMethod
from trueup.runs.trackers.registry import TRACKERS

Json = Annotated[bool, arg(help="Print one JSON object on standard output, errors too.")]


@dataclass(frozen=True, kw_only=True)
class OfRuns:
    """Option of commands that read finished runs."""

    anyway: bool = False
    """Go on where an input of a run has changed since it was made, or its verdict is "do not use";
    all that is made says so."""


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Limits of a study."""

    max_evaluations: Annotated[int | None, arg(metavar="INT")] = None
    """Stop after this many evaluated candidates; a generation that would pass it is not begun."""
    max_generations: Annotated[int | None, arg(metavar="INT")] = None
    """Stop after this many generations."""
    max_seconds: Annotated[float | None, arg(metavar="S")] = None
    """Stop after this time [s], on a resume counted from there; the last generation is finished."""
    target_cost: Annotated[float | None, arg(metavar="COST")] = None
    """Stop once the cost is this low."""

    @property
    def limits(self) -> Any:
        """The limits as a budget."""
        from trueup.runs.loop.budget import Budget

        return Budget(
            self.max_evaluations, self.max_generations, self.max_seconds, self.target_cost
        )


TrackerOptions = make_dataclass(
    "TrackerOptions",
    [
        (name, Annotated[bool, arg(help=kind.help)], field(default=False))
        for name, kind in TRACKERS.items()
    ],
    frozen=True,
    kw_only=True,
    namespace={"__doc__": "A switch for each tracker that is registered."},
)


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Where candidates are evaluated, and what is shown meanwhile."""

    workers: Annotated[int | None, arg(metavar="INT")] = None
    """Processes that evaluate candidates; 0: one a core; absent: this one, which
    batches where the problem can."""
    scheduler: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Dask scheduler that evaluates candidates, such as tcp://host:8786, or local."""
    quiet: bool = False
    """No progress."""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions(TrackerOptions, PlaceOptions):
    """How a study is run and tracked; nothing of it changes the history."""

    @property
    def execution(self) -> Any:
        """The options as settings of the library."""
        from trueup.runs import Execution

        return Execution(
            workers=self.workers,
            scheduler=self.scheduler,
            trackers=tuple(name for name in TRACKERS if getattr(self, name)),
        )


@dataclass(frozen=True, kw_only=True)
class StudyOptions(ExecutionOptions, BudgetOptions):
    """All options of a search; a command that runs one inherits them."""

    method: StudyMethod = "auto"
    """Search; auto: Sobol points, CMA-ES from the best and least squares where there are residuals;
    NSGA-II where there are several objectives."""
    seed: Annotated[int, arg(metavar="INT")] = 0
    """Seed of everything random."""
    population: Annotated[int | None, arg(metavar="INT")] = None
    """Candidates of a generation; absent: what suits the search and the number of parameters."""
    sigma: Annotated[float | None, arg(metavar="PART")] = None
    """Start deviation of CMA-ES and scatter as a part of each range; absent: 0.2, or the
    parameter's own."""
    cma_options: Annotated[str, arg(metavar="KEY:VALUE,...")] = ""
    """Options of the package cma by name, such as tolfun:1e-9,tolstagnation:150."""
    restarts: Literal["none", "ipop", "bipop"] = "none"
    """Restarts of CMA-ES: with a doubled population, or with large and small ones in turn."""
    polish: bool = False
    """Hand the result to least squares, where the problem has residuals."""
    param_path: Annotated[Path | None, arg(metavar="PATH")] = None
    """Start from an earlier result: a parameter file, a run directory or a plain vector."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIRECTORY")] = None
    """Run directory; runs/NAME where absent."""
    resume: bool = False
    """Continue the run in the run directory."""
    pickle_path: Annotated[Path | None, arg(metavar="DIRECTORY")] = None
    """Continue the run in this directory; the former name of --output DIRECTORY --resume."""
    overwrite: bool = False
    """Replace the run that the directory holds."""
    dry_run: bool = False
    """Check everything, time one generation, say what would be done, write nothing."""
