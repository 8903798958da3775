"""Errors of trueup: one base class, one class for each kind of failure.

Every message contains what was found, what is available and what to do. The command line prints the
message and exits with code 2; a caller catches :class:`TrueupError`.
"""

import difflib
from collections.abc import Iterable


class TrueupError(Exception):
    """Base class of all errors of trueup."""


class TrueupWarning(UserWarning):
    """A problem to inspect, although the result is valid."""


class RecordingError(TrueupError):
    """A recording cannot be read, or cannot be used for a fit."""


class InputFileError(TrueupError):
    """A file cannot be read as input: a pipe or a device, or implausibly large."""


class ColumnError(RecordingError):
    """A column of a mapping does not exist in the recording."""


class UnitError(RecordingError):
    """A unit is unknown, or is of another quantity."""


class SignalError(TrueupError, ValueError):
    """A time series is malformed, or a signal name cannot be resolved."""


class ParameterError(TrueupError, ValueError):
    """A parameter is malformed: bounds, shape, tie, prior or file."""


class TargetError(TrueupError, ValueError):
    """A parameter target does not exist in the model, or has no effect there."""


class ModelError(TrueupError):
    """A MuJoCo model cannot be read or does not compile."""


class LawError(TrueupError):
    """A compiled control law cannot be installed on a model."""


class SimulationError(TrueupError):
    """A required simulation failed, such as the one at the start values."""


class FitError(TrueupError):
    """A fit cannot be set up: no free parameter, no residual, an unknown method."""


class EvaluationError(TrueupError):
    """The workers that evaluate candidates are lost; the study is saved and can be resumed."""


class StorageError(TrueupError):
    """A storage of studies cannot be reached, or its study does not match the problem."""


class ExperimentError(TrueupError):
    """An experiment file is wrong: unknown key, missing value, bad type."""


class RunDirectoryError(TrueupError):
    """A run directory already exists, is incomplete, or was written by another version."""


class UnfinishedRunError(TrueupError):
    """The search of a run is finished and saved, but a later step failed."""


class GaitError(TrueupError):
    """A walker, its controller or a gait configuration cannot be used as given."""


class HardwareError(TrueupError):
    """A servo does not answer, reports a fault, or is outside its safe limits."""


class ReportError(TrueupError):
    """A report cannot be written, or a rendering context is missing."""


class MissingExtraError(TrueupError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, purpose: str, extra: str, package: str):
        super().__init__(
            f"{purpose} requires the package {package!r}, which is not installed: "
            f'run  pip install "trueup[{extra}]"'
        )


class InstallationError(TrueupError, ImportError):
    """Installed packages overwrite each other, or files are missing."""


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Return names as a readable list of at most ``limit``: ``'a', 'b' and 3 more``."""
    shown = [repr(name) for name in names]
    if not shown:
        return "none"
    if len(shown) <= limit:
        return ", ".join(shown)
    return f"{', '.join(shown[:limit])} and {len(shown) - limit} more"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the names close to ``name``, or the empty string."""
    # ignore case
    spelled = {other.lower(): other for other in reversed(list(names))}
    near = [spelled[n] for n in difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.55)]
    return f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def reason(error: Exception) -> str:
    """Text of an error; for system errors without number and path."""
    return getattr(error, "strerror", None) or str(error)
