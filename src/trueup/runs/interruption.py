"""Ctrl-C and SIGTERM in a run."""

from pathlib import Path

from trueup.fitting.solution import Solution


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped; the message says how to continue it."""

    def __init__(self, message: str, directory: Path, solution: Solution | None = None):
        self.directory = directory
        """Run directory."""
        self.solution = solution
        """Best candidate so far, where the search gave one."""
        super().__init__(message)
