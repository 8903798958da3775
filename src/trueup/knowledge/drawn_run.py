"""Reading of a finished run of any kind to draw from."""

import importlib
import os
from pathlib import Path
from typing import Any

from trueup.errors import RunDirectoryError
from trueup.knowledge.gaussian_run import DrawnRun
from trueup.runs.kinds import kind_of, noun_of
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
    device: str | None = None,
) -> DrawnRun:
    """Read a finished run to draw rows of parameters from.

    Args:
      directory: run directory, or parameter file of a servo with its run next to it.
      anyway: accept a run with the verdict "do not use".
      folder: folder of the inputs, if they have moved relative to the run.
      joints: number of joints per environment that are driven by the networks of an ensemble.
      device: device that simulates the draws of a model; None: that of its experiment.

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
    if device not in (None, "auto", "cpu") and kind != "identification":
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind)}, whose draws are simulated on the cores of the CPU: "
            "remove the device, which is for identifications of a model (trueup identify)"
        )
    module, name = _READERS[kind].split(":")
    further: dict[str, Any] = {"joints": joints} if kind == "network" else {}
    if kind == "identification":
        further = {"device": device}
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
