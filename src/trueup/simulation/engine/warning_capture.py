"""Capture of MuJoCo's warnings, away from the terminal and ``MUJOCO_LOG.TXT``."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco

_lock = threading.Lock()
_depth = 0
_former = None
_messages: list[str] = []


@contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """Collect MuJoCo's warnings while the block runs; without a handler it writes a log file.

    The handler is process-wide. Blocks may be nested and may run in several threads: the previous
    handler is restored when the last one ends.

    Yields:
      The list that messages are added to, at most 100 of them.
    """
    global _depth, _former
    with _lock:
        if _depth == 0:
            _former = mujoco.get_mju_user_warning()
            _messages.clear()
            mujoco.set_mju_user_warning(_collect)
        _depth += 1
    try:
        yield _messages
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                mujoco.set_mju_user_warning(_former)


def _collect(message: str) -> None:
    if len(_messages) < 100:
        _messages.append(message)


def warning_reasons(counts) -> str:
    """Text of one simulation's warning counters, ``(number of warnings, 2)``; '' for none."""
    raised = [
        mujoco.mju_warningText(w, int(counts[w, 0]))
        for w in range(counts.shape[0])
        if counts[w, 1] > 0
    ]
    return " ".join(raised)
