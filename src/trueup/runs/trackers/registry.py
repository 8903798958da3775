"""Registry of trackers: option, help text and class of each."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueup.runs.trackers.scalar_tracker import ScalarTracker


@dataclass(frozen=True)
class TrackerKind:
    """A tracker by name; its class is imported on first use."""

    help: str
    """Help text of its option."""
    module: str
    """Module of its class."""
    class_name: str
    """Subclass of :class:`ScalarTracker` with a constructor without required arguments."""

    def make(self) -> "ScalarTracker":
        """A tracker with default settings.

        Raises:
          MissingExtraError: a required package is not installed.
        """
        return getattr(importlib.import_module(self.module), self.class_name)()


TRACKERS = {
    "wandb": TrackerKind(
        "Send the study to Weights & Biases; with WANDB_MODE=offline it is kept in the run "
        "directory.",
        "trueup.runs.trackers.wandb_tracker",
        "WandbTracker",
    ),
    "tensorboard": TrackerKind(
        "Write event files for TensorBoard into the run directory.",
        "trueup.runs.trackers.tensorboard_tracker",
        "TensorBoardTracker",
    ),
}
"""Trackers by the name of their option: ``wandb`` is ``--wandb`` on the command line.

A new tracker is a module with its class, and one entry here.
"""


def make_trackers(names: Iterable[str]) -> "list[ScalarTracker]":
    """Trackers by name, in the order of :data:`TRACKERS`.

    Raises:
      MissingExtraError: a required package is not installed.
    """
    wanted = set(names)
    return [kind.make() for name, kind in TRACKERS.items() if name in wanted]
