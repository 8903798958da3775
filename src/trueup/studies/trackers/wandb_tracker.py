"""Weights & Biases: online, or offline in the run directory."""

import contextlib
import io
import os
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from trueup.errors import MissingExtraError
from trueup.fitting.solution import Solution
from trueup.studies.atomic import read_json, write_json
from trueup.studies.generation import Generation
from trueup.studies.trackers._scalars import Pace, scalars
from trueup.studies.trackers.tracker import Study

IDENTITY_FILE = "wandb.json"
"""File within the run directory that holds project and id of its W&B run."""


class WandbTracker:
    """A tracker that sends scalars, settings and the result to Weights & Biases.

    The package's own environment variables count, such as ``WANDB_MODE=offline``: then everything
    stays in the run directory, to be sent later with ``wandb sync``. A resumed study goes on in the
    same W&B run. The horizontal axis is the generation, so that one that was computed again after a
    kill falls onto itself. Nothing is written to the terminal, and neither source code nor the
    machine's load is sent.

    Args:
      project: W&B project; ``trueup`` unless given.
      name: name of the W&B run; that of the run directory unless given.

    Raises:
      MissingExtraError: wandb is not installed.
    """

    name = "Weights & Biases"

    def __init__(self, project: str | None = None, name: str | None = None):
        try:
            import wandb  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("Weights & Biases", "tracking", "wandb") from error
        self._project, self._run_name = project or "trueup", name
        self._study: Study | None = None
        self._run: Any = None
        self._is_alone = True
        self._pace = Pace()

    def start(self, study: Study) -> None:
        """Begin the W&B run, or go on with it."""
        import wandb

        self._study = study
        self._is_alone = wandb.run is None
        project, identity = self._identity(study)
        with _without_questions():
            self._run = wandb.init(
                dir=str(study.directory.path),
                name=self._run_name or study.directory.path.name,
                project=project,
                id=identity,
                resume="allow",
                reinit="create_new",
                config={
                    "search": study.search,
                    "parameters": list(study.names),
                    "objectives": list(study.objectives),
                    "settings": study.settings,
                },
                settings=wandb.Settings(
                    silent=True,
                    quiet=True,
                    console="off",
                    disable_git=True,
                    disable_code=True,
                    x_disable_stats=True,
                    x_disable_meta=True,
                ),
            )
        self._run.define_metric("generation")
        self._run.define_metric("*", step_metric="generation")

    def generation(self, generation: Generation) -> None:
        """Send the scalars of a generation."""
        if self._pace.is_due(generation):
            self._send(generation)

    def end(self, solution: Solution) -> None:
        """Send the last generation and the result, and end the W&B run and its service."""
        import wandb

        if self._pace.waiting is not None:
            self._send(self._pace.waiting)
        self._run.summary.update(
            {
                "status": solution.status.value,
                "message": solution.message,
                "cost": float(solution.cost),
                "parameters": solution.parameters,
            }
        )
        self._run.finish()
        if self._is_alone:  # the service is shared by all W&B runs of the process
            try:
                wandb.teardown()
            except SystemExit as error:
                raise RuntimeError(f"its service ended with exit code {error.code}") from error

    def _send(self, generation: Generation) -> None:
        assert self._study is not None
        self._run.log(scalars(self._study, generation))
        self._pace.sent()

    def _identity(self, study: Study) -> tuple[str, str]:
        """Project and id of the W&B run: those of the former sitting, or new ones."""
        path = study.directory.inside(IDENTITY_FILE)
        if study.generations and path.is_file():
            former = read_json(path)
            return str(former["project"]), str(former["id"])
        chosen = os.environ.get("WANDB_RUN_ID") or secrets.token_hex(4)
        write_json(path, {"project": self._project, "id": chosen})
        return self._project, chosen


@contextlib.contextmanager
def _without_questions() -> Iterator[None]:
    """Keep wandb from asking for an account below the status line: it says how to log in."""
    former = sys.stdin
    sys.stdin = io.StringIO()
    try:
        yield
    finally:
        sys.stdin = former
