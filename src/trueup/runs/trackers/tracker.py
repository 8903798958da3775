"""The protocol of a tracker, and the rule that one that fails never stops a run."""

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
    """Generations that are done already: more than 0 after a resume."""
    history: Callable[[], History]
    """Reads what was evaluated and committed so far; for one that has to catch up."""


class Tracker(Protocol):
    """Told of a study as it runs; called from the loop, so that a slow one has to batch."""

    name: str
    """Name in messages."""

    def start(self, study: Study) -> None:
        """The study begins or goes on.

        A :class:`trueup.errors.TrueupError` says that the tracker cannot work as it was asked to
        (a storage that cannot be reached): it stops the run before it begins.
        """
        ...

    def generation(self, generation: Generation) -> None:
        """A generation was evaluated."""
        ...

    def end(self, solution: Solution) -> None:
        """The study ended, or was interrupted."""
        ...


class Trackers:
    """Several trackers; one that fails is left out from then on.

    Args:
        trackers: told in this order.
        log: where a failure is noted, beside a :class:`trueup.errors.TrueupWarning`.
    """

    def __init__(self, trackers: Sequence[Tracker], log: EventLog):
        self._working = list(trackers)
        self._log = log

    def __bool__(self) -> bool:
        return bool(self._working)

    def start(self, study: Study) -> None:
        """Tell that the study begins.

        Raises:
            TrueupError: a tracker cannot work as it was asked to.
        """
        for tracker in list(self._working):
            try:
                tracker.start(study)
            except TrueupError:
                raise
            except Exception as error:
                self._drop(tracker, error)

    def generation(self, generation: Generation) -> None:
        """Tell of a generation."""
        self.tell("generation", generation)

    def end(self, solution: Solution) -> None:
        """Tell that the study ended."""
        self.tell("end", solution)

    def tell(self, what: str, *arguments: Any) -> None:
        """Call a method of each tracker, and leave out those that fail.

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
            f"{tracker.name} failed and is left out from here on; the run goes on: {message}",
            TrueupWarning,
            stacklevel=2,
        )
