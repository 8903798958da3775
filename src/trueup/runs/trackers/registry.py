"""The trackers that a user can name: option, help text and class of each."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueup.runs.trackers.scalar_tracker import ScalarTracker


@dataclass(frozen=True)
class TrackerKind:
    """A tracker by name; its class is imported when one is made."""

    help: str
    """Help text of its option."""
    module: str
    """Module of its class."""
    class_name: str
    """Subclass of :class:`ScalarTracker` that can be made without arguments."""

    def make(self) -> "ScalarTracker":
        """A tracker with its own defaults.

        Raises:
          MissingExtraError: a package that it needs is not installed.
        """
        return getattr(importlib.import_module(self.module), self.class_name)()


TRACKERS = {
    "wandb": TrackerKind(
        "Send the study to Weights & Biases; WANDB_MODE=offline keeps it in the run directory.",
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
      MissingExtraError: a package that one needs is not installed.
    """
    wanted = set(names)
    return [kind.make() for name, kind in TRACKERS.items() if name in wanted]
