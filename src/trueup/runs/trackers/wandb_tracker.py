"""Weights & Biases: online, or offline in the run directory."""

import contextlib
import io
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueup._secrets import masked
from trueup.errors import MissingExtraError
from trueup.runs.store.atomic import read_json, write_json
from trueup.runs.trackers.scalar_tracker import ScalarTracker, TrackedRun

IDENTITY_FILE = "wandb.json"
"""File within the run directory with project and id of its W&B run."""


class WandbTracker(ScalarTracker):
    """A tracker that sends scalars, settings and the result to Weights & Biases.

    The environment variables of wandb apply, such as ``WANDB_MODE=offline``: then all data is kept
    in the run directory, to be sent later with ``wandb sync``. A resumed run continues the same W&B
    run. The horizontal axis is the step, so that a step repeated after a kill coincides with the
    original. Nothing is written to the terminal, and neither source code nor system metrics are
    sent.

    Args:
      project: W&B project; None: that of ``WANDB_PROJECT``, or ``trueup``.
      name: name of the W&B run; None: that of the run.
      entity: W&B user or team; None: that of the account.

    Raises:
      MissingExtraError: wandb is not installed.
    """

    name = "Weights & Biases"

    def __init__(
        self, project: str | None = None, name: str | None = None, entity: str | None = None
    ):
        try:
            import wandb  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("Weights & Biases", "tracking", "wandb") from error
        self._project = project or os.environ.get("WANDB_PROJECT") or "trueup"
        self._run_name, self._entity = name, entity
        self._run: Any = None
        self._is_alone = True

    def begin(self, run: TrackedRun) -> None:
        """Start the W&B run, or resume it."""
        import wandb

        self._step_name = run.step_name
        self._is_alone = wandb.run is None
        project, identity = self._identity(run)
        with _without_questions():
            self._run = wandb.init(
                dir=str(run.folder),
                name=self._run_name or run.name,
                group=run.group,
                project=project,
                entity=self._entity,
                id=identity,
                resume="allow",
                reinit="create_new",
                config=masked(run.config),
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
        self._run.define_metric(run.step_name)
        self._run.define_metric("*", step_metric=run.step_name)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Send the scalars of a step."""
        self._run.log({self._step_name: step, **values})

    def add_file(self, path: Path) -> None:
        """Send a file as an artifact with its name."""
        self._run.log_artifact(str(path), name=path.name, type=path.suffix.lstrip(".") or "file")

    def watch(self, module: Any, every: int) -> None:
        """Send histograms of the weights and gradients of a torch module every ``every`` steps."""
        self._run.watch(module, log="all", log_freq=every)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Send the result, and end the W&B run and its service."""
        import wandb

        self._run.summary.update(masked(summary))
        self._run.finish()
        if self._is_alone:  # the service is shared by all W&B runs of the process
            try:
                wandb.teardown()
            except SystemExit as error:
                raise RuntimeError(f"its service ended with exit code {error.code}") from error

    def _identity(self, run: TrackedRun) -> tuple[str, str]:
        """Project and id of the W&B run: those of the earlier session, or new ones."""
        path = run.folder / IDENTITY_FILE
        if run.first_step and path.is_file():
            former = read_json(path)
            return str(former["project"]), str(former["id"])
        chosen = os.environ.get("WANDB_RUN_ID") or secrets.token_hex(4)
        write_json(path, {"project": self._project, "id": chosen})
        return self._project, chosen


@contextlib.contextmanager
def _without_questions() -> Iterator[None]:
    """Suppress wandb's login prompt below the status line; its error explains how to log in."""
    former = sys.stdin
    sys.stdin = io.StringIO()
    try:
        yield
    finally:
        sys.stdin = former
