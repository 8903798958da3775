"""What follows a training while it runs, and may stop it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any


class Interrupted(Exception):  # noqa: N818 - a wish, not an error
    """Training was stopped from outside; what was reached is saved."""


def _nothing(*arguments: Any) -> None:
    """Do nothing."""


def _never() -> bool:
    """Never stop."""
    return False


@dataclass(frozen=True)
class TrainingHooks:
    """Functions that a training calls; each does nothing unless given."""

    progress: Callable[[str, float], None] = field(default_factory=lambda: _nothing)
    """Called after each epoch with words and the share of the epochs that is done."""
    stop: Callable[[], bool] = field(default_factory=lambda: _never)
    """Asked between chunks; true ends the training after the epoch, with a checkpoint."""
    stop_at_once: Callable[[], bool] = field(default_factory=lambda: _never)
    """Asked between chunks; true ends the training there: the epochs since the last checkpoint are
    computed again by a resumed run."""
    log: Callable[[dict[str, Any]], None] = field(default_factory=lambda: _nothing)
    """Called with events, as JSON values."""
    started: Callable[[Any, int], None] = field(default_factory=lambda: _nothing)
    """Called once with the torch module and the number of epochs that are done already."""
    epoch: Callable[[dict[str, Any]], None] = field(default_factory=lambda: _nothing)
    """Called after each epoch with its loss and scores."""

    def part(self, words: str, index: int, count: int) -> "TrainingHooks":
        """The hooks of one of ``count`` trainings, whose progress is a part of the whole."""

        def progress(own: str, fraction: float) -> None:
            self.progress(words + own, (index + fraction) / count)

        return replace(self, progress=progress)
