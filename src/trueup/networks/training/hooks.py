"""Callbacks of a training, which may stop it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any


class Interrupted(Exception):  # noqa: N818 - a request, not an error
    """Training was stopped from outside; the state is saved."""


def _nothing(*arguments: Any) -> None:
    """Do nothing."""


def _never() -> bool:
    """Never stop."""
    return False


@dataclass(frozen=True)
class TrainingHooks:
    """Functions called by a training; by default they do nothing."""

    progress: Callable[[str, float], None] = field(default_factory=lambda: _nothing)
    """Called after each epoch with a text and the completed fraction of the epochs."""
    stop: Callable[[], bool] = field(default_factory=lambda: _never)
    """Called between chunks; True ends the training after the epoch, with a checkpoint."""
    stop_at_once: Callable[[], bool] = field(default_factory=lambda: _never)
    """Called between chunks; True ends the training at once: a resumed run repeats the epochs since
    the last checkpoint."""
    log: Callable[[dict[str, Any]], None] = field(default_factory=lambda: _nothing)
    """Called with events as JSON values."""
    started: Callable[[Any, int], None] = field(default_factory=lambda: _nothing)
    """Called once with the torch module and the number of completed epochs."""
    epoch: Callable[[dict[str, Any]], None] = field(default_factory=lambda: _nothing)
    """Called after each epoch with its loss and scores."""

    def part(self, words: str, index: int, count: int) -> "TrainingHooks":
        """The hooks of one of ``count`` trainings, with its progress scaled to its part."""

        def progress(own: str, fraction: float) -> None:
            self.progress(words + own, (index + fraction) / count)

        return replace(self, progress=progress)
