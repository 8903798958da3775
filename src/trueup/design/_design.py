"""The public function of a design."""

import os

from trueup.design.run import Design, run_design
from trueup.design.search_settings import SECONDS
from trueup.design.spec import DesignSpec
from trueup.runs import start
from trueup.runs.loop.budget import Budget
from trueup.sysid.experiment.settings import Experiment


def design(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    after: str | os.PathLike[str] | None = None,
    predicted: str | os.PathLike[str] | None = None,
    seconds: float = SECONDS,
    evaluations: int | None = None,
    library: int | None = None,
    seed: int | None = None,
    anyway: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> Design:
    """Design the next recording: the motion that tells the unknowns apart, under its controller.

    Args:
      experiment: the experiment; its ``design`` says how long and within which limits.
      folder: folder that its file names refer to.
      output: run directory.
      after: run directory of the last recording's identification: its values, what it knows and its
        noise are taken. Start values and bounds where None.
      predicted: run directory of the design of that recording; it is compared with the result.
      seconds: time of the search [s].
      evaluations: designs that are evaluated at most.
      library: random pieces to choose from; as many as the time allows where None.
      seed: seed of everything random; that of the experiment where None.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      resume: continue an interrupted design.
      overwrite: replace the run that the directory holds.
      verbose: show progress on the error stream.

    Returns:
      The design; the run directory holds ``motion.csv``, ``motion_ros2.yaml``, ``motion_lerobot``,
      ``next_experiment.yaml`` and ``report.html``.

    Raises:
      ExperimentError: a controller that the model does not have, or limits that exclude any motion.
      RunDirectoryError: the run has no intervals, is not to be used, or is of another model.
    """
    spec = DesignSpec.of(
        experiment,
        folder,
        after,
        predicted=predicted,
        anyway=anyway,
        library=library,
        seed=seed,
        limits=Budget(max_seconds=seconds, max_evaluations=evaluations),
    )
    return start(
        run_design, spec, output, resume=resume, overwrite=overwrite, verbose=verbose
    ).result
