"""Motions of an explained log: recording, model, and model with the named causes."""

from trueup.errors import RunDirectoryError
from trueup.explain.fits import key_of
from trueup.explain.run import FITS, read_and_check, read_fits
from trueup.runs.kinds import read_spec
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.sysid.results.motions import Motion, motions_of
from trueup.sysid.results.run_motions import MOST


def motions_of_run(directory: RunDirectory) -> list[Motion]:
    """Motions of the recordings of an explanation.

    Raises:
      RunDirectoryError: the run is not finished or is damaged.
      TrueupError: its inputs cannot be read.
    """
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} is not finished: resume it with  trueup study resume "
            f"{directory.path}"
        )
    chosen = read_solution(directory)["chosen"]
    log, _ = read_and_check(read_spec(directory))  # type: ignore[arg-type]
    shown = {"initial": ("the model", log.start)}
    fits = read_fits(directory.inside(FITS)) if chosen else {}
    if (key := key_of(chosen)) in fits:
        words = f"the model with {' and '.join(chosen)} changed"
        shown["identified"] = (words, fits[key].x[: log.start.size])
    return motions_of(log.training, log.prepared.training, shown, MOST)
