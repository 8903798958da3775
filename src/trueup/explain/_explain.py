"""Explains the gap between a simulation and a recording."""

from collections.abc import Sequence
from pathlib import Path

from trueup.explain.explanation import Explanation
from trueup.explain.run import run_explanation
from trueup.explain.spec import ExplanationSpec
from trueup.runs import start
from trueup.sysid.experiment.settings import Experiment


def explain(
    experiment: Experiment,
    folder: str | Path = ".",
    *,
    causes: Sequence[str] = (),
    level: float = 0.95,
    output: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> Explanation:
    """Attribute the gap between simulated and recorded motion to causes.

    Args:
      experiment: model and recordings, from :func:`trueup.sysid.load_experiment`; it needs no
        parameters.
      folder: folder that its file names refer to.
      causes: names in :data:`trueup.explain.CAUSES`; all where empty.
      level: coverage of intervals.
      output: run directory; ``runs/<name>-explained`` in the folder where None.
      resume: continue an interrupted run.
      overwrite: replace a run that the directory holds.
      anyway: take an identified model whose run has other inputs by now too; every file says so.
      verbose: show progress on the error stream.

    Returns:
      The explanation; its run directory holds the report.

    Raises:
      TrueupError: whatever is wrong, before anything is written.
      RunInterrupted: Ctrl-C; the fits that were made are saved.
      UnfinishedRunError: the fits are saved, and something after them failed.
    """
    spec = ExplanationSpec.of(experiment, folder, causes, level, anyway)
    return start(
        run_explanation,
        spec,
        spec.run_directory(output),
        resume=resume,
        overwrite=overwrite,
        verbose=verbose,
    ).result
