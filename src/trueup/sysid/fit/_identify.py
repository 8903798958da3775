"""Python function of an identification."""

from collections.abc import Sequence
from pathlib import Path

from trueup.runs import start
from trueup.runs.execution import Execution
from trueup.runs.trackers.tracker import Tracker
from trueup.sysid.experiment.settings import Experiment, on_device
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
    device: str | None = None,
    execution: Execution | None = None,
    trackers: Sequence[Tracker] = (),
    verbose: bool = True,
) -> Identification:
    """Identify the parameters of an experiment.

    Args:
      experiment: the experiment, from :func:`trueup.sysid.load_experiment`.
      folder: folder to which its file names are relative.
      output: run directory; None: that of the experiment.
      resume: continue an interrupted run.
      overwrite: replace the run of the directory.
      device: device of large batches of simulations (``auto``, ``cpu``, ``cuda``, ``warp-cpu``);
        None: that of the experiment.
      execution: trackers by name.
      trackers: further trackers.
      verbose: show progress on the error stream.

    Returns:
      The identification; its run directory holds every file.

    Raises:
      TrueupError: invalid inputs or settings, before anything is written.
      RunInterrupted: Ctrl-C; the fit is saved and can be resumed, except with scipy.
      UnfinishedRunError: the fit is saved, but a later step failed.
    """
    spec = IdentificationSpec.of(on_device(experiment, device), folder)
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
