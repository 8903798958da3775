"""Run directory of a servo fit."""

import os
from pathlib import Path

from trueup.actuators.search.spec import FitSpec
from trueup.errors import RunDirectoryError
from trueup.runs.store.run_directory import RunDirectory


def run_target(
    spec: FitSpec,
    directory: str | os.PathLike[str] | RunDirectory | None = None,
    *,
    replace: bool = False,
) -> Path | RunDirectory:
    """Run directory of a fit: by default ``m6.run`` next to its parameter file ``m6.json``.

    Args:
      spec: the fit.
      directory: run directory; None: the default.
      replace: whether an existing parameter file is replaced.

    Raises:
      RunDirectoryError: the parameter file already exists.
    """
    target = Path(directory) if isinstance(directory, str | os.PathLike) else directory
    if target is None:
        assert spec.output is not None  # or it is a fit in memory
        target = spec.output.with_suffix(".run")
    # an existing run directory is reported before the file
    held = isinstance(target, Path) and (target / "run.json").is_file()
    if spec.output is not None and spec.output.exists() and not held and not replace:
        raise RunDirectoryError(
            f"{spec.output} already exists: choose another --output, or replace it with --overwrite"
        )
    return target
