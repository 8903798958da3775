"""Whether the trials of a problem fit into a study of Optuna, and its trials into the problem."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trueup.errors import StorageError, listing

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial


def check_compatible(
    study: "Study",
    trials: Iterable["FrozenTrial"],
    names: Sequence[str],
    objectives: Sequence[str],
) -> None:
    """Raise StorageError unless a study minimises as many costs, over numbers of these names.

    Args:
        study: the study.
        trials: its trials.
        names: parameters of the problem.
        objectives: names of its costs.
    """
    from optuna.distributions import FloatDistribution
    from optuna.study import StudyDirection

    name, directions = study.study_name, study.directions
    if StudyDirection.MAXIMIZE in directions:
        raise StorageError(
            f"the study {name!r} maximises; a cost is minimised here. Choose another study"
        )
    if len(directions) != len(objectives):
        raise StorageError(
            f"the study {name!r} has {len(directions)} objectives, this problem has "
            f"{len(objectives)}: {listing(objectives)}. Choose another study"
        )
    for trial in trials:
        for parameter, kind in trial.distributions.items():
            if parameter in names and (
                not isinstance(kind, FloatDistribution) or kind.step is not None
            ):
                raise StorageError(
                    f"the parameter {parameter!r} of the study {name!r} is not a continuous number "
                    f"but {kind}: rename one of the two, or choose another study"
                )
