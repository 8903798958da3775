"""Motions of a finished identification, from its run directory: for the viewer and for films."""

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.runs.kinds import read_spec
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.sysid.fit.run import read_and_check
from trueup.sysid.results.motions import Motion, motions_of

MOST = 12
"""Maximum number of recordings that are shown."""


def motions_of_run(directory: RunDirectory) -> list[Motion]:
    """Motions of the recordings of an identification, of its first and identified model.

    Raises:
      RunDirectoryError: the run is not finished or is damaged.
      TrueupError: its inputs cannot be read.
    """
    values = values_of(directory)
    ready = read_and_check(read_spec(directory))  # type: ignore[arg-type]
    space = ready.problem.space
    x = np.array([values.get(name, start) for name, start in zip(space.names, space.start)])
    shown = {"initial": ("the initial model", space.start), "identified": ("the identified one", x)}
    return motions_of(ready.problem, ready.prepared.training, shown, MOST)


def values_of(directory: RunDirectory) -> dict[str, float]:
    """Values of the parameters of a finished run, by element.

    Raises:
      RunDirectoryError: the run is not finished or is damaged.
    """
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} is not finished: resume it with  trueup study resume "
            f"{directory.path}"
        )
    return {row["name"]: float(row["value"]) for row in read_solution(directory)["parameters"]}
