"""Explanation of the gap between a simulation and a recording."""

from collections.abc import Sequence
from pathlib import Path

from trueup.explain.explanation import Explanation
from trueup.explain.run import run_explanation
from trueup.explain.spec import ExplanationSpec
from trueup.runs import start
from trueup.sysid.experiment.settings import Experiment, on_device


def explain(
    experiment: Experiment,
    folder: str | Path = ".",
    *,
    causes: Sequence[str] = (),
    level: float = 0.95,
    device: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> Explanation:
    """Attribute the gap between simulated and recorded motion to causes.

    Args:
      experiment: model and recordings, from :func:`trueup.sysid.load_experiment`; it requires no
        parameters.
      folder: base folder of its file names.
      causes: names in :data:`trueup.explain.CAUSES`; empty: all.
      level: coverage of intervals.
      device: device of large batches of simulations (``auto``, ``cpu``, ``cuda``, ``warp-cpu``);
        None: that of the experiment.
      output: run directory; None: ``runs/<name>-explained`` in the folder.
      resume: continue an interrupted run.
      overwrite: replace the run in the directory.
      anyway: accept an identified model with changed inputs of its run; every output records this.
      verbose: show progress on the error stream.

    Returns:
      The explanation; its run directory contains the report.

    Raises:
      TrueupError: invalid input, before anything is written.
      RunInterrupted: Ctrl-C; finished fits are saved.
      UnfinishedRunError: the fits are saved, but a later step failed.
    """
    spec = ExplanationSpec.of(on_device(experiment, device), folder, causes, level, anyway)
    return start(
        run_explanation,
        spec,
        spec.run_directory(output),
        resume=resume,
        overwrite=overwrite,
        verbose=verbose,
    ).result
