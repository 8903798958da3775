"""Values and knowledge of the last recording's identification, for the next design."""

from pathlib import Path

import numpy as np

from trueup.design.robot.start_states import is_start
from trueup.errors import RunDirectoryError, listing
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.identified import IdentifiedRun
from trueup.sysid.experiment.settings import Experiment


def knowledge_of(run: IdentifiedRun, experiment: Experiment) -> tuple[np.ndarray, Gaussian]:
    """Values and knowledge of a run about the unknowns except initial states.

    The knowledge is widened for the model error on held-out data.

    Raises:
      RunDirectoryError: the run is of another model, or has other unknowns.
    """
    own, other = run.prepared.experiment, experiment
    if Path(own.model.file).name != Path(other.model.file).name:
        raise RunDirectoryError(
            f"{run.directory.path} is of model {own.model.file}, the experiment of "
            f"{other.model.file}: a design requires a run of the same model"
        )
    first, second = (
        {name for name, part in e.parameters.items() if not is_start(part)} for e in (own, other)
    )
    if first != second:
        only = sorted(first ^ second)
        raise RunDirectoryError(
            f"{run.directory.path} has different unknowns than the experiment: {listing(only)}"
        )
    owners = [p for p in run.parameters.free for _ in range(p.size)]
    keep = [i for i, p in enumerate(owners) if not any(t.startswith("state/") for t in p.targets)]
    shrink = 1.0 / run.widening
    known = run.known
    precision = known.precision * np.outer(shrink, shrink)
    wide = Gaussian(known.names, known.centre, precision, known.inflation)
    return run.fit[keep], wide.marginal(keep)
