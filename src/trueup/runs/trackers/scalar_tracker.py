"""Base of trackers that record scalars by step."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueup.fitting.solution import Solution
from trueup.runs.loop.generation import Generation
from trueup.runs.trackers.study_scalars import Pace, scalars
from trueup.runs.trackers.tracker import Study


@dataclass(frozen=True)
class TrackedRun:
    """Description of a run for a tracker of scalars: a study, or the training of a network."""

    folder: Path
    """Folder for the tracker's files."""
    name: str
    """Display name of the run."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Settings, as plain data."""
    group: str | None = None
    """Name of a group of runs, such as the folds of a cross-validation."""
    step_name: str = "generation"
    """Name of a step: ``generation`` of a study, ``epoch`` of a training."""
    first_step: int = 0
    """Index of the next step: larger than 0 after a resume."""


class ScalarTracker(ABC):
    """Base of trackers that record scalars by step, the configuration and files.

    A subclass implements :meth:`begin`, :meth:`log` and :meth:`finish`, which a training calls. A
    study calls :meth:`start`, :meth:`generation` and :meth:`end`, which use them and skip
    generations if recording would take more than 2 % of the time; the last one is always recorded.
    """

    name = ""
    """Name of the tracker in messages."""

    @abstractmethod
    def begin(self, run: TrackedRun) -> None:
        """Start or resume the record of a run."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record scalars of a step by name; ``/`` separates the parts of a name."""

    @abstractmethod
    def finish(self, summary: Mapping[str, Any]) -> None:
        """Record the result and close."""

    def add_file(self, path: Path) -> None:  # noqa: B027 - optional
        """Store a file with the run, if the tracker supports files."""

    def watch(self, module: Any, every: int) -> None:  # noqa: B027 - optional
        """Record weights and gradients of a torch module every ``every`` steps, if supported."""

    def start(self, study: Study) -> None:
        """Start or resume the record of a study."""
        self._study = study
        self._pace = Pace()
        self.begin(
            TrackedRun(
                folder=study.directory.path,
                name=study.directory.path.name,
                config={
                    "search": study.search,
                    "parameters": list(study.names),
                    "objectives": list(study.objectives),
                    "settings": study.settings,
                },
                first_step=study.generations,
            )
        )

    def generation(self, generation: Generation) -> None:
        """Record the scalars of a generation, if it is time to."""
        if self._pace.is_due(generation):
            self._record(generation)

    def end(self, solution: Solution) -> None:
        """Record the last generation and the result."""
        if self._pace.waiting is not None:
            self._record(self._pace.waiting)
        self.finish(
            {
                "status": solution.status.value,
                "message": solution.message,
                "cost": float(solution.cost),
                "parameters": solution.parameters,
            }
        )

    def _record(self, generation: Generation) -> None:
        self.log(generation.number, scalars(self._study, generation))
        self._pace.sent()
