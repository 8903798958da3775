"""TensorBoard: event files in the run directory, written by tensorboard itself, without torch."""

import time
from collections.abc import Mapping
from typing import Any

from trueup.errors import MissingExtraError
from trueup.runs.trackers.scalar_tracker import ScalarTracker, TrackedRun

FOLDER = "tensorboard"
"""Folder of the event files within the run directory."""


class TensorBoardTracker(ScalarTracker):
    """A tracker that writes scalars for ``tensorboard --logdir``.

    A resumed run continues in a new event file, so that TensorBoard drops the entries of the
    earlier session after the last checkpoint.

    Raises:
      MissingExtraError: tensorboard is not installed.
    """

    name = "TensorBoard"

    def __init__(self) -> None:
        try:
            import tensorboard  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("TensorBoard", "tracking", "tensorboard") from error
        self._writer: Any = None

    def begin(self, run: TrackedRun) -> None:
        """Open an event file."""
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._step_name = run.step_name
        self._writer = EventFileWriter(str(run.folder / FOLDER), flush_secs=10)
        if run.first_step:
            messages = _messages()
            started = messages.SessionLog(status=messages.SessionLog.START)
            self._add(run.first_step, session_log=started)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Write the scalars of a step."""
        summary = _messages().Event().summary
        for tag, value in values.items():
            if tag != self._step_name:
                summary.value.add(tag=tag, simple_value=value)
        self._add(step, summary=summary)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Close the event file, which contains scalars only."""
        self._writer.close()

    def _add(self, step: int, **content: Any) -> None:
        self._writer.add_event(_messages().Event(wall_time=time.time(), step=step, **content))


def _messages() -> Any:
    """The protobuf messages of an event file; the module defines them when it is loaded."""
    from tensorboard.compat.proto import event_pb2

    return event_pb2
