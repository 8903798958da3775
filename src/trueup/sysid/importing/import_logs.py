"""Import of logs: a proposed experiment file, checked and written."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trueup.errors import ExperimentError, TrueupError
from trueup.runs.store import atomic
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.importing.import_log import Import, propose_import


def import_logs(
    model: Path,
    logs: Sequence[Path],
    target: Path,
    *,
    overwrite: bool = False,
    check: bool = True,
    episodes: Sequence[int] = (),
    rate: float | None = None,
    mirrored: Collection[str] = (),
    on_progress: Callable[[str, float], None] = lambda doing, share: None,
) -> Import:
    """Write an experiment file from logs of a robot, after :func:`check_experiment` of it.

    Args:
      model: MJCF or URDF file.
      logs: recordings with the same columns, in any format of :func:`trueup.signals.read`.
      target: the experiment file.
      overwrite: replace an existing file.
      check: check the experiment before it is written; if not, a file to fill in is written also if
        no column fits the model.
      episodes: indices of the episodes of a LeRobot data set; empty for all.
      rate: sampling rate [Hz] of logs without a clock.
      mirrored: joints that the log counts the other way, ``none`` for no joint; empty if the log
        has to tell.
      on_progress: called with the next step, and the finished share.

    Raises:
      TrueupError: an input or the data cannot be used; nothing is written.
    """
    _check_target(target, model, logs, overwrite)
    on_progress("reading the logs", 0.0)
    with _folder(target.parent):
        found = propose_import(
            model, logs, target.parent, not check, episodes=episodes, rate=rate, mirrored=mirrored
        )
        if check and found.unanswered:
            raise ExperimentError(
                f"{'; '.join(found.unanswered)}. Name the joints that the log counts the other way "
                "with --reversed, or give --reversed none. Nothing was written"
            )
        if check:
            experiment = parse_experiment(found.proposal.text)
            try:
                result = check_experiment(experiment, target.parent, on_progress)
            except TrueupError as error:
                raise ExperimentError(
                    f"{error}\nNothing was written; --no-check writes the experiment file without "
                    "this check, to be completed by hand"
                ) from error
            found = replace(found, check=result)
        atomic.write_text(target, found.proposal.text)
    return found


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """A folder that is made, and removed again if nothing is written into it."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in made:
            path.rmdir()
        raise


def _check_target(target: Path, model: Path, logs: Sequence[Path], overwrite: bool) -> None:
    """Raise ExperimentError if a file must not be overwritten."""
    if target.is_dir():
        raise ExperimentError(f"{target} is a folder; give a file with --output")
    for path, what in ((model, "model"), *((log, "recording") for log in logs)):
        if target.resolve() == path.resolve():
            raise ExperimentError(f"{target} is the {what} itself; give another --output")
    if target.exists() and not overwrite:
        raise ExperimentError(
            f"{target} exists; replace it with --overwrite, or give another --output"
        )
