"""A further robot of a fleet: the common values, and the spread between robots."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.errors import RunDirectoryError, listing
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.identified import IdentifiedRun, identified_run
from trueup.reconcile.reconciled import ReconciledRuns, reconcile


def fleet_run(
    runs: Sequence[str | os.PathLike[str]],
    anyway: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> tuple[IdentifiedRun, ReconciledRuns]:
    """Runs of several robots merged into one, with the distribution of the next robot.

    Runs that do not fit the others are excluded from common values and spread.

    Args:
      runs: run directories, three or more.
      anyway: accept runs with the verdict "do not use".
      folder: folder of the inputs, if they have moved.

    Returns:
      The first run that fits, with the distribution of a robot of the fleet instead of its own; and
        the result of the reconciliation.

    Raises:
      RunDirectoryError: as :func:`reconcile`; or the unknowns include initial states.
    """
    found = reconcile(runs, anyway=anyway, folder=folder)
    outlying = {outlier.index for outlier in found.pooled.outlying}
    first = next(i for i in range(len(found.runs)) if i not in outlying)
    given = None if folder is None else Path(folder)
    one = identified_run(found.runs[first], anyway=anyway, folder=given)
    if missing := set(one.known.names) - set(found.names):
        raise RunDirectoryError(
            f"initial states ({listing(sorted(missing))}) belong to a recording, not to a "
            "fleet: fix them in the experiments, or export one run"
        )
    pooled = found.pooled
    # elements that no run determines have a huge variance: only their bounds limit them
    unknown = np.isinf(pooled.intervals).any(axis=1)
    covariance = pooled.new_run
    covariance[unknown] = covariance[:, unknown] = 0.0
    covariance[unknown, unknown] = 1.0
    precision = np.linalg.inv(covariance)
    precision[unknown, unknown] = 0.0
    known = Gaussian(pooled.names, pooled.common, precision, one.known.inflation)
    wide = np.ones(len(known.names))
    return replace(one, known=known, widening=wide, mark=found.mark, of_fleet=True), found
