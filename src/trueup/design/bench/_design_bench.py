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
      choices: logs, time, and the masses, lengths and gains at hand.
      motion_limits: limits of the motion; those of a recording where None.
      target: widest interval wanted, as a share of the parameter's bounds; the search ends there.
      predicted: run directory of the design of the fit's logs; it is compared with the result.
      seconds: time of the search [s].
      evaluations: designs that are evaluated at most.
      library: random logs to choose from.
      seed: seed of everything random.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      resume: continue an interrupted design.
      overwrite: replace the run that the directory holds.
      verbose: show progress on the error stream.

    Returns:
      The design; the run directory holds ``report.html`` and a trajectory each, which ``trueup
      actuator record --trajectory`` reads.

    Raises:
      FitError: no load is light enough for the servo, or a number that is not positive.
      ExperimentError: the limits exclude any motion.
      RunDirectoryError: the run has no intervals, is not to be used, or the folder holds something.
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
