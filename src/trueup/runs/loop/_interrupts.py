"""Ctrl-C and SIGTERM while a study or a training runs."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from trueup import _stop_signals

_NOTE = "\nFinishing this {unit}, then saving. Press Ctrl-C again to stop at once.\n"


class Interrupts:
    """Turn Ctrl-C and SIGTERM into a wish to stop; a context manager.

    The first Ctrl-C lets the generation in progress finish. A second one, and SIGTERM (which a
    batch system follows with a kill), stop the evaluation at once: that generation is computed
    again on resume. Nothing else is ever cut off, a commit least of all.

    Signals reach Python in its main thread only; in another thread this object does nothing.

    Args:
        verbose: say on the error stream what happens now.
        unit: name of what is finished before the run stops.
    """

    def __init__(self, verbose: bool = True, unit: str = "generation"):
        self._verbose = verbose
        self._note = _NOTE.format(unit=unit).encode()
        self._former: dict[int, Any] = {}
        self._abort = False
        self._abortable = False
        self.requested: str | None = None
        """Name of the signal that asked to stop, or None."""

    @property
    def at_once(self) -> bool:
        """Whether the wish is to stop without finishing what is in progress."""
        return self._abort

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # Ignored: a shell started this in the background, or nohup did.
                if signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            # None: the former handler was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextlib.contextmanager
    def abortable(self) -> Iterator[None]:
        """Within this block a wish to stop at once raises KeyboardInterrupt."""
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
            # Written past the buffers: a handler may run in the middle of a write to them.
            with contextlib.suppress(OSError):
                os.write(2, self._note)
