"""Reading of a finished run of any kind to draw from."""

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
"""Kind of run -> reader, as ``module:function``, imported when it is needed."""


def drawn_run(
    directory: str | os.PathLike[str],
    *,
    anyway: bool = False,
    folder: Path | None = None,
    joints: int | None = None,
) -> DrawnRun:
    """Read a finished run to draw rows of parameters from.

    Args:
      directory: run directory, or parameter file of a servo with its run next to it.
      anyway: accept a run with the verdict "do not use".
      folder: folder of the inputs, if they have moved relative to the run.
      joints: number of joints per environment that are driven by the networks of an ensemble.

    Raises:
      RunDirectoryError: draws are not supported for this kind of run, or the run is not finished,
        has no intervals, or has the verdict "do not use".
    """
    path = run_directory_of(directory)
    opened = RunDirectory.open(path)
    kind = kind_of(opened)
    if kind not in _READERS:
        raise RunDirectoryError(
            f"{opened.path} is a run of the kind {kind!r}; draws require an identification of a "
            "model (trueup identify), a servo fit (trueup actuator fit) or an ensemble of networks "
            "(trueup network train model.ensemble_members=5)"
        )
    if joints is not None and kind != "network":
        raise RunDirectoryError(
            f"{opened.path} contains no networks, but joints requires an ensemble of networks: "
            "remove joints"
        )
    module, name = _READERS[kind].split(":")
    further = {"joints": joints} if kind == "network" else {}
    return getattr(importlib.import_module(module), name)(
        path, anyway=anyway, folder=folder, **further
    )


def run_directory_of(path: str | os.PathLike[str]) -> Path:
    """Run directory of a path: the path, or for a parameter file of a servo, the run next to it.

    Raises:
      RunDirectoryError: the path is a file without a run next to it.
    """
    path = Path(path)
    if not path.is_file():
        return path
    directory = path.with_suffix(".run")
    if not directory.is_dir():
        raise RunDirectoryError(
            f"{path} is a file without its run directory {directory}, which contains the "
            "uncertainty of the parameters: give a run directory, or move the run there"
        )
    return directory
