"""The public function of a design of a servo's logs."""

import os

from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.limits import BenchLimits
from trueup.design.bench.run import BenchDesign, run_bench_design
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.search_settings import SECONDS
from trueup.runs import start
from trueup.runs.loop.budget import Budget


def design_bench(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    choices: BenchChoices | None = None,
    motion_limits: BenchLimits | None = None,
    target: float | None = None,
    predicted: str | os.PathLike[str] | None = None,
    seconds: float = SECONDS,
    evaluations: int | None = None,
    library: int | None = None,
    seed: int | None = None,
    anyway: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    verbose: bool = True,
) -> BenchDesign:
    """Design the next logs of a servo: load, gain and trajectory of each.

    Args:
      run: run directory of a finished servo fit, or its parameter file.
      output: run directory of the design.
      choices: logs, time, and the available masses, lengths and gains.
      motion_limits: limits of the motion; None: those of a recording.
      target: largest acceptable interval, as a fraction of the parameter's bounds; ends the search.
      predicted: run directory of the design of the fit's logs; to compare it with the result.
      seconds: time of the search [s].
      evaluations: greatest number of evaluated designs.
      library: number of random logs to select from.
      seed: random seed.
      anyway: accept runs with the verdict "do not use", or with changed inputs; every
        output records this.
      resume: continue an interrupted design.
      overwrite: replace the run in the directory.
      verbose: show progress on the error stream.

    Returns:
      The design; the run directory contains ``report.html`` and a trajectory per log, for
      ``trueup actuator record --trajectory``.

    Raises:
      FitError: no load is light enough for the servo, or a number is not positive.
      ExperimentError: the limits exclude any motion.
      RunDirectoryError: the run has no intervals, has the verdict "do not use", or the folder
        contains files.
    """
    spec = BenchDesignSpec.of(
        run,
        choices,
        motion_limits,
        target=target,
        predicted=predicted,
        anyway=anyway,
        library=library,
        seed=seed,
        limits=Budget(max_seconds=seconds, max_evaluations=evaluations),
    )
    return start(
        run_bench_design, spec, output, resume=resume, overwrite=overwrite, verbose=verbose
    ).result
