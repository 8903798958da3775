"""The evaluator that the settings ``workers`` and ``scheduler`` select."""

import os

from trueup.errors import FitError
from trueup.runs.evaluators.evaluator import Evaluator
from trueup.runs.evaluators.local import LocalEvaluator


def make_evaluator(workers: int = 1, scheduler: str | None = None) -> Evaluator:
    """The evaluator for a number of workers and a scheduler.

    Args:
      workers: 1 evaluates in this process, which is best for a problem that batches natively; more
        start a process pool, 0 one with a process per core.
      scheduler: address of a Dask scheduler with workers, such as ``"tcp://10.0.0.1:8786"``;
        ``"local"`` starts a cluster of ``workers`` on this machine.

    Raises:
      FitError: a negative or implausible number of workers, or workers for a running scheduler.
      MissingExtraError: Dask is not installed.
    """
    if workers < 0:
        raise FitError(
            f"the number of workers must be positive, or 0 for all cores; found {workers}"
        )
    most = max(64, 8 * (os.cpu_count() or 1))
    if workers > most:
        raise FitError(
            f"the number of workers is {workers}, and this machine has {os.cpu_count()} cores: "
            f"give at most {most}, or 0 for one per core"
        )
    if scheduler is None:
        from trueup.runs.evaluators.process_pool import ProcessPool

        return LocalEvaluator() if workers == 1 else ProcessPool(workers or None)
    from trueup.runs.evaluators.dask_cluster import DaskCluster

    if scheduler == "local":
        return DaskCluster(workers=workers or None)
    return DaskCluster(scheduler, workers=None if workers == 1 else workers)
