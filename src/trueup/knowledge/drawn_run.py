"""The run that rows are drawn from, whatever its kind."""

import importlib
import os
from pathlib import Path

from trueup.errors import RunDirectoryError
from trueup.knowledge.gaussian_run import DrawnRun
from trueup.runs.kinds import kind_of
from trueup.runs.store.run_directory import RunDirectory

_READERS = {
    "identification": "trueup.knowledge.identified:identified_run",
    "servo": "trueup.knowledge.servo_run:servo_run",
    "network": "trueup.knowledge.network_run:network_run",
}
"""Kind of run -> its reader, as ``module:function``; imported when a run of the kind is met."""


def drawn_run(
    directory: str | os.PathLike[str],
    *,
    anyway: bool = False,
    folder: Path | None = None,
    joints: int | None = None,
) -> DrawnRun:
    """Read a finished run that rows can be drawn from.

    Args:
      directory: run directory; or the parameter file of a servo, whose run lies beside it.
      anyway: take a run whose verdict is "do not use" too.
      folder: where the inputs are, if they have moved away from the run.
      joints: joints of an environment that the networks of an ensemble drive.

    Raises:
      RunDirectoryError: nothing can be drawn from a run of its kind, it is not finished, has no
        intervals, or its verdict is "do not use".
    """
    path = run_directory_of(directory)
    opened = RunDirectory.open(path)
    kind = kind_of(opened)
    if kind not in _READERS:
        raise RunDirectoryError(
            f"{opened.path} is a run of the kind {kind!r}; draws are made from an identification "
            "of a model (trueup identify), a servo fit (trueup actuator fit) or an ensemble of "
            "networks (trueup network train model.ensemble_members=5)"
        )
    if joints is not None and kind != "network":
        raise RunDirectoryError(
            f"{opened.path} holds no networks: the number of joints is for an ensemble of them"
        )
    module, name = _READERS[kind].split(":")
    more = {"joints": joints} if kind == "network" else {}
    return getattr(importlib.import_module(module), name)(
        path, anyway=anyway, folder=folder, **more
    )


def run_directory_of(path: str | os.PathLike[str]) -> Path:
    """The run directory, or that of a servo's parameter file, which lies beside it.

    Raises:
      RunDirectoryError: it is a file without a run beside it.
    """
    path = Path(path)
    if not path.is_file():
        return path
    beside = path.with_suffix(".run")
    if not beside.is_dir():
        raise RunDirectoryError(
            f"{path} is a file, and there is no {beside} beside it: what is known of the numbers "
            "stands in the run directory"
        )
    return beside
