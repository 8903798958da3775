"""Identifies the unknowns of an experiment."""

from collections.abc import Sequence
from pathlib import Path

from trueup.runs import start
from trueup.runs.execution import Execution
from trueup.runs.trackers.tracker import Tracker
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.identification import Identification
from trueup.sysid.fit.run import run_identification
from trueup.sysid.fit.spec import IdentificationSpec


def identify(
    experiment: Experiment,
    folder: str | Path = ".",
    *,
    output: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Identification:
    """Identify the unknowns of an experiment.

    Args:
      experiment: the experiment, from :func:`trueup.sysid.load_experiment`.
      folder: folder that its file names refer to.
      output: run directory; the experiment's own where None.
      resume: continue an interrupted run.
      overwrite: replace a run that the directory holds.
      execution: trackers by name.
      trackers: further trackers.
      verbose: show progress on the error stream.

    Returns:
      The identification; its run directory holds every file.

    Raises:
      TrueupError: whatever is wrong, before anything is written.
      RunInterrupted: Ctrl-C; the fit is saved and can be resumed, except by scipy.
      UnfinishedRunError: the fit is saved, and something after it failed.
    """
    spec = IdentificationSpec.of(experiment, folder)
    return start(
        run_identification,
        spec,
        spec.run_directory(output),
        resume=resume,
        overwrite=overwrite,
        execution=execution,
        trackers=trackers,
        verbose=verbose,
    ).result
