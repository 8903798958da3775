"""Protocol of a tracker; a tracker that fails never stops a run."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trueup._secrets import mask
from trueup.errors import TrueupError, TrueupWarning
from trueup.fitting.solution import Solution
from trueup.parameters import Space
from trueup.runs.loop.generation import Generation
from trueup.runs.store.event_log import EventLog
from trueup.runs.store.history import History
from trueup.runs.store.run_directory import RunDirectory


@dataclass(frozen=True)
class Study:
    """Description of a study for trackers, at its start and when it is resumed."""

    directory: RunDirectory
    """Run directory of the study."""
    names: tuple[str, ...]
    """Names of the parameters."""
    objectives: tuple[str, ...]
    """Names of the costs."""
    space: Space
    """Bounds, start and scales."""
    search: str
    """Class of the search."""
    settings: dict[str, Any]
    """Settings that the history depends on."""
    generations: int
    """Number of finished generations: larger than 0 after a resume."""
    history: Callable[[], History]
    """Reads the committed evaluations, for a tracker that has to catch up."""


class Tracker(Protocol):
    """Observer of a study; called from the loop, so a slow one must batch its work."""

    name: str
    """Name in messages."""

    def start(self, study: Study) -> None:
        """The study starts or is resumed.

        A :class:`trueup.errors.TrueupError`, such as an unreachable storage, stops the run before
        it starts.
        """
        ...

    def generation(self, generation: Generation) -> None:
        """A generation was evaluated."""
        ...

    def end(self, solution: Solution) -> None:
        """The study ended, or was interrupted."""
        ...


class Trackers:
    """Several trackers; one that fails is removed.

    Args:
        trackers: trackers, called in this order.
        log: log for failures, in addition to a :class:`trueup.errors.TrueupWarning`.
    """

    def __init__(self, trackers: Sequence[Tracker], log: EventLog):
        self._working = list(trackers)
        self._log = log

    def __bool__(self) -> bool:
        return bool(self._working)

    def start(self, study: Study) -> None:
        """Notify that the study starts.

        Raises:
            TrueupError: a tracker cannot work with its settings.
        """
        for tracker in list(self._working):
            try:
                tracker.start(study)
            except TrueupError:
                raise
            except Exception as error:
                self._drop(tracker, error)

    def generation(self, generation: Generation) -> None:
        """Notify of a generation."""
        self.tell("generation", generation)

    def end(self, solution: Solution) -> None:
        """Notify that the study ended."""
        self.tell("end", solution)

    def tell(self, what: str, *arguments: Any) -> None:
        """Call a method of each tracker, and remove those that fail.

        A training calls the methods of :class:`ScalarTracker` this way: ``begin``, ``log``,
        ``add_file``, ``watch`` and ``finish``.
        """
        for tracker in list(self._working):
            try:
                getattr(tracker, what)(*arguments)
            except Exception as error:
                self._drop(tracker, error)

    def _drop(self, tracker: Tracker, error: Exception) -> None:
        self._working.remove(tracker)
        message = mask(" ".join(str(error).split())) or type(error).__name__
        self._log.write("tracker failed", tracker=tracker.name, message=message)
        warnings.warn(
            f"{tracker.name} failed and is removed; the run continues: {message}",
            TrueupWarning,
            stacklevel=2,
        )
