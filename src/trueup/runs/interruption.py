"""Ctrl-C and SIGTERM in a run."""

from pathlib import Path

from trueup.fitting.solution import Solution


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped; the message contains the command to resume it."""

    def __init__(self, message: str, directory: Path, solution: Solution | None = None):
        self.directory = directory
        """Run directory."""
        self.solution = solution
        """Best candidate so far, if any."""
        super().__init__(message)
