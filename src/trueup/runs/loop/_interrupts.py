"""Ctrl-C and SIGTERM while a study or a training runs."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from trueup import _stop_signals

_IGNORED = (
    "Ctrl-C is ignored here, as in every command that a script starts in the background. Stop it "
    "with  kill {process}  (SIGTERM), which saves it.\n"
)
_NOTE = "\nFinishing this {unit}, then saving. Press Ctrl-C again to stop immediately.\n"


class Interrupts:
    """Convert Ctrl-C and SIGTERM to a stop request; a context manager.

    After the first Ctrl-C the current generation is finished. A second one, and SIGTERM (which a
    batch system follows with a kill), stop the evaluation immediately: that generation is repeated
    on resume. Other operations, such as a commit, are never interrupted.

    Python delivers signals in its main thread only; in another thread this object has no effect.

    Args:
        verbose: report on the error stream.
        unit: name of the unit that is finished before the run stops.
    """

    def __init__(self, verbose: bool = True, unit: str = "generation"):
        self._verbose = verbose
        self._note = _NOTE.format(unit=unit).encode()
        self._former: dict[int, Any] = {}
        self._abort = False
        self._abortable = False
        self.requested: str | None = None
        """Name of the signal of the stop request, or None."""

    @property
    def at_once(self) -> bool:
        """Whether to stop without finishing the current unit."""
        return self._abort

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # Ignored: a shell started this in the background, or nohup did.
                if signal.getsignal(number) is signal.SIG_IGN:
                    if number == signal.SIGINT and self._verbose:
                        self._say(_IGNORED.format(process=os.getpid()).encode())
                    continue
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            # None: the previous handler was not installed from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextlib.contextmanager
    def abortable(self) -> Iterator[None]:
        """Within this block a request to stop immediately raises KeyboardInterrupt."""
        self._abortable = True
        try:
            if self._abort:
                raise KeyboardInterrupt
            yield
        finally:
            self._abortable = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        _stop_signals.note(number)
        again = self.requested is not None
        self.requested = signal.Signals(number).name
        self._abort = again or number == signal.SIGTERM
        if self._abort and self._abortable:
            raise KeyboardInterrupt
        if self._verbose and not self._abort:
            self._say(self._note)

    @staticmethod
    def _say(note: bytes) -> None:
        # Unbuffered: a handler may run during a write to the buffers.
        with contextlib.suppress(OSError):
            os.write(2, note)
