"""Waiting for another process without a limit in seconds, as a busy machine takes longer."""

import subprocess
import time
from collections.abc import Callable


def until(condition: Callable[[], bool], process: subprocess.Popen | None = None) -> None:
    """Wait until a condition holds; the process that brings it about must not end before."""
    while not condition():
        assert process is None or process.poll() is None, _end(process)
        time.sleep(0.02)


def _end(process: subprocess.Popen | None) -> str:
    assert process is not None
    said = process.stderr.read() if process.stderr is not None else ""
    return f"the process ended with code {process.returncode}: {said!s}"
