"""Ctrl-C, SIGTERM and a closed terminal while a servo moves."""

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopSignals:
    """Turn signals into a wish that is looked at between two packets; a context manager.

    A packet is never cut off in the middle, and a second Ctrl-C does not cut off the way to a safe
    stop. Signals reach Python in its main thread only; in another thread this object does nothing.
    """

    def __init__(self) -> None:
        self._former: dict[int, Any] = {}
        self.requested: str | None = None
        """Name of the signal that asked to stop, or None."""

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                # Ignored: a shell started this in the background, or nohup did.
                if number is None or signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            # None: the former handler was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def check(self) -> None:
        """Raise KeyboardInterrupt where a signal asked to stop."""
        if self.requested is not None:
            raise KeyboardInterrupt(f"stopped by {self.requested}")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = signal.Signals(number).name
