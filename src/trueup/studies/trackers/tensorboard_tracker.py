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
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._study = study
        self._writer = EventFileWriter(str(study.directory.inside(FOLDER)), flush_secs=10)
        if study.generations:
            started = SessionLog(status=SessionLog.START)
            self._writer.add_event(
                Event(wall_time=time.time(), step=study.generations, session_log=started)
            )

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
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        assert self._study is not None
        values = [
            Summary.Value(tag=tag, simple_value=value)
            for tag, value in scalars(self._study, generation).items()
            if tag != "generation"  # it is the step
        ]
        self._writer.add_event(
            Event(wall_time=time.time(), step=generation.number, summary=Summary(value=values))
        )
        self._pace.sent()
