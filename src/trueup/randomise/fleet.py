"""Another robot of a fleet: the common values, and the spread between robots."""

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
    """Runs of several robots as one that knows what the next robot would have.

    Runs that do not fit the others are in neither the common values nor the spread.

    Args:
      runs: run directories, three or more.
      anyway: take runs whose verdict is "do not use" too.
      folder: where the inputs are, if they have moved away from the runs.

    Returns:
      The first run that fits, with what is known of a robot of the fleet in place of its own; and
      how the runs were reconciled.

    Raises:
      RunDirectoryError: as :func:`reconcile`; or initial states are among the unknowns.
    """
    found = reconcile(runs, anyway=anyway, folder=folder)
    outlying = {outlier.index for outlier in found.pooled.outlying}
    first = next(i for i in range(len(found.runs)) if i not in outlying)
    given = None if folder is None else Path(folder)
    one = identified_run(found.runs[first], anyway=anyway, folder=given)
    if missing := set(one.known.names) - set(found.names):
        raise RunDirectoryError(
            f"initial states ({listing(sorted(missing))}) belong to a recording and not to a "
            "fleet: fix them in the experiments, or export one run"
        )
    pooled = found.pooled
    # elements that no run knows have a huge variance: their bounds alone say where they lie
    unknown = np.isinf(pooled.intervals).any(axis=1)
    covariance = pooled.new_run
    covariance[unknown] = covariance[:, unknown] = 0.0
    covariance[unknown, unknown] = 1.0
    precision = np.linalg.inv(covariance)
    precision[unknown, unknown] = 0.0
    known = Gaussian(pooled.names, pooled.common, precision, one.known.inflation)
    wide = np.ones(len(known.names))
    return replace(one, known=known, widening=wide, mark=found.mark, of_fleet=True), found
