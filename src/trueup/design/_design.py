"""The public function of a design."""

import os

from trueup.design.run import Design, run_design
from trueup.design.search_settings import SECONDS
from trueup.design.spec import DesignSpec
from trueup.runs import start
from trueup.runs.loop.budget import Budget
from trueup.sysid.experiment.settings import Experiment, on_device


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
    device: str | None = None,
    anyway: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> Design:
    """Design the next recording: the motion under the controller that determines the unknowns best.

    Args:
      experiment: the experiment; its ``design`` has duration and limits.
      folder: base folder of its file names.
      output: run directory.
      after: run directory of the last recording's identification, for values, knowledge and
        noise. None: start values and bounds.
      predicted: run directory of the design of that recording; to compare it with the result.
      seconds: time of the search [s].
      evaluations: greatest number of evaluated designs.
      library: number of random pieces to select from; None: as many as the time allows.
      seed: random seed; None: that of the experiment.
      device: device of large batches of simulations (``auto``, ``cpu``, ``cuda``, ``warp-cpu``);
        None: that of the experiment.
      anyway: accept runs with the verdict "do not use", or with changed inputs; every
        output records this.
      resume: continue an interrupted design.
      overwrite: replace the run in the directory.
      verbose: show progress on the error stream.

    Returns:
      The design; the run directory contains ``motion.csv``, ``motion_ros2.yaml``,
      ``motion_lerobot``, ``next_experiment.yaml`` and ``report.html``.

    Raises:
      ExperimentError: the controller is not in the model, or the limits exclude any motion.
      RunDirectoryError: the run has no intervals, has the verdict "do not use", or is of another
        model.
    """
    spec = DesignSpec.of(
        on_device(experiment, device),
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
