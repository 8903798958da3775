"""Logs of a run: read and hashed once, and found again from its run directory."""

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trueup.actuators.logs.files import read_log, read_logs
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError
from trueup.runs.store import provenance

Logs: TypeAlias = (
    Sequence[ServoLog] | str | os.PathLike[str] | Sequence[str] | Sequence[os.PathLike[str]]
)
"""Evenly sampled logs, or their folder, file or files."""

_ARRAYS = ("times", "position", "speed", "goal_position", "torque_enable", "load")
_ARRAYS += ("input_volts", "temperature")
_VALUES = ("motor", "trajectory", "mass", "arm_mass", "length", "kp", "vin", "damping", "dt")


class RunLogs:
    """Logs of a run.

    Args:
      logs: logs, or their folder or files.
      skip_bad: skip unusable logs.
      uniform: reject raw logs, which are unevenly sampled.
      in_files: whether :class:`ServoLog` objects are identical to their files; None: this is
        checked.
    """

    def __init__(
        self,
        logs: Logs,
        skip_bad: bool = False,
        uniform: bool = True,
        in_files: bool | None = None,
    ):
        self.skip_bad, self.uniform = skip_bad, uniform
        self._known_in_files = in_files
        self.skipped: list[str] = []
        """Reasons for skipped logs; complete after they are read."""
        self.place: Path | list[Path] | None = None
        """Folder or files; None for :class:`ServoLog` objects."""
        self._given: list[ServoLog] = []
        if isinstance(logs, str | os.PathLike):
            self.place = Path(logs)
        elif logs and all(isinstance(log, ServoLog) for log in logs):
            self._given = [log for log in logs if isinstance(log, ServoLog)]
        elif any(isinstance(log, ServoLog) for log in logs):
            raise RecordingError("logs are a mix of ServoLog objects and files: pass only one kind")
        else:
            self.place = [Path(os.fspath(log)) for log in logs if not isinstance(log, ServoLog)]

    @functools.cached_property
    def logs(self) -> list[ServoLog]:
        """The logs; read once.

        Raises:
          RecordingError: there are no logs, or one is unusable.
        """
        if self.place is None:
            return self._given
        return read_logs(
            self.place, uniform=self.uniform, skip_bad=self.skip_bad, on_skip=self.skipped.append
        )

    @functools.cached_property
    def in_files(self) -> bool:
        """Whether the logs can be read again from their files."""
        if self._known_in_files is not None:
            return self._known_in_files
        return self.place is not None or all(map(_is_as_in_its_file, self._given))

    def hash_of(self, log: ServoLog) -> str:
        """SHA-256 of the file of a log, or of its values if they are in no file."""
        return log.sha256 if self.in_files else _hash_of_values(log)

    def inputs(self) -> list[Mapping[str, Any]]:
        """Names, hashes and sizes of the files of the logs."""
        files = [log for log in self.logs if log.sha256 and Path(log.source).is_file()]
        return [provenance.known_input(log.source, log.sha256) for log in files]

    def part(self, logs: Sequence[ServoLog]) -> "RunLogs":
        """Some of the logs, without reading them again."""
        return RunLogs(logs, self.skip_bad, self.uniform, in_files=self.in_files)

    def files(self) -> list[Path]:
        """Folder or files of the logs."""
        if self.place is None:
            return [Path(log.source) for log in self._given if log.sha256]
        return [self.place] if isinstance(self.place, Path) else list(self.place)


def _is_as_in_its_file(log: ServoLog) -> bool:
    """Whether the file still matches the log."""
    if not log.sha256 or not Path(log.source).is_file():
        return False
    try:
        read = read_log(log.source, check_motion=False)
    except RecordingError:
        return False
    return read.sha256 == log.sha256 and _hash_of_values(read) == _hash_of_values(log)


def _hash_of_values(log: ServoLog) -> str:
    """SHA-256 of everything in a log that affects a simulation."""
    total = hashlib.sha256(repr([getattr(log, name) for name in _VALUES]).encode())
    for name in _ARRAYS:
        values = getattr(log, name)
        total.update(name.encode() if values is None else np.ascontiguousarray(values).tobytes())
    return total.hexdigest()
