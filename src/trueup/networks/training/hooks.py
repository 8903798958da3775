"""What follows a training while it runs, and may stop it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class TrainingHooks:
    """Functions that a training calls; each does nothing unless given."""

    progress: Callable[[str, float], None] = lambda words, fraction: None
    """Called after each epoch with words and the share of the epochs that is done."""
    stop: Callable[[], bool] = lambda: False
    """Asked between chunks; true ends the training after the epoch, with a checkpoint."""
    stop_at_once: Callable[[], bool] = lambda: False
    """Asked between chunks; true ends the training there: the epochs since the last checkpoint are
    computed again by a resumed run."""
    log: Callable[[dict[str, Any]], None] = lambda entry: None
    """Called with events, as JSON values."""
    started: Callable[[Any, int], None] = lambda module, epochs: None
    """Called once with the torch module and the number of epochs that are done already."""
    epoch: Callable[[dict[str, Any]], None] = lambda entry: None
    """Called after each epoch with its loss and scores."""

    def part(self, words: str, index: int, count: int) -> "TrainingHooks":
        """The hooks of one of ``count`` trainings, whose progress is a part of the whole."""

        def progress(own: str, fraction: float) -> None:
            self.progress(words + own, (index + fraction) / count)

        return replace(self, progress=progress)
