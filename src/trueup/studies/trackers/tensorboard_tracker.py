"""TensorBoard: event files in the run directory, written by tensorboard itself, without torch."""

import time
from typing import Any

from trueup.errors import MissingExtraError
from trueup.fitting.solution import Solution
from trueup.studies.generation import Generation
from trueup.studies.trackers._scalars import Pace, scalars
from trueup.studies.trackers.tracker import Study

FOLDER = "tensorboard"
"""Folder of the event files within the run directory."""


class TensorBoardTracker:
    """A tracker that writes scalars for ``tensorboard --logdir``.

    The step of an event is its generation. A resumed study goes on in a file of its own, which
    tells TensorBoard to drop what the former sitting wrote beyond the last checkpoint.

    Raises:
      MissingExtraError: tensorboard is not installed.
    """

    name = "TensorBoard"

    def __init__(self) -> None:
        try:
            import tensorboard  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("TensorBoard", "tracking", "tensorboard") from error
        self._study: Study | None = None
        self._writer: Any = None
        self._pace = Pace()

    def start(self, study: Study) -> None:
        """Open an event file."""
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._study = study
        self._writer = EventFileWriter(str(study.directory.inside(FOLDER)), flush_secs=10)
        if study.generations:
            messages = _messages()
            started = messages.SessionLog(status=messages.SessionLog.START)
            self._add(study.generations, session_log=started)

    def generation(self, generation: Generation) -> None:
        """Write the scalars of a generation."""
        if self._pace.is_due(generation):
            self._write(generation)

    def end(self, solution: Solution) -> None:
        """Write the last generation and close the file."""
        if self._pace.waiting is not None:
            self._write(self._pace.waiting)
        self._writer.close()

    def _write(self, generation: Generation) -> None:
        assert self._study is not None
        summary = _messages().Event().summary
        for tag, value in scalars(self._study, generation).items():
            if tag != "generation":  # it is the step
                summary.value.add(tag=tag, simple_value=value)
        self._add(generation.number, summary=summary)
        self._pace.sent()

    def _add(self, step: int, **content: Any) -> None:
        self._writer.add_event(_messages().Event(wall_time=time.time(), step=step, **content))


def _messages() -> Any:
    """The kinds of messages in an event file; made when their module is loaded."""
    from tensorboard.compat.proto import event_pb2

    return event_pb2
