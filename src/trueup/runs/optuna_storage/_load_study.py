"""The trials of a study in an Optuna storage, as the start of a search."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import StorageError, did_you_mean, listing
from trueup.parameters import Space
from trueup.runs.optuna_storage.compatibility import check_compatible
from trueup.runs.optuna_storage.storage import existing_study, opened, study_names

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class LoadedStudy:
    """The finished trials of a study, best first, as candidates of a space."""

    study_name: str
    """Name of the study in its storage."""
    trials: int
    """Trials of the study, in whatever state: the next one has this number."""
    X: np.ndarray
    """Candidates ``(n, p)`` of the complete trials, within the bounds, the lowest cost first. With
    several objectives, by the first."""
    costs: np.ndarray
    """Their costs ``(n, k)``."""
    missing: tuple[str, ...]
    """Parameters of the space that the study does not have: at their start values in ``X``."""
    extra: tuple[str, ...]
    """Parameters of the study that the space does not have: omitted."""
    moved: tuple[str, ...]
    """Parameters with values outside the bounds, which were moved onto them."""

    @property
    def x(self) -> np.ndarray | None:
        """Best candidate ``(p,)``; None where no trial is complete."""
        return self.X[0] if len(self.X) else None

    def notes(self) -> list[str]:
        """Sentences for the user: what was found, and what did not fit."""
        notes = [f"the study {self.study_name!r} has {self.trials} trials, {len(self.X)} complete"]
        if self.x is not None:
            notes[0] += f"; the best has cost {self.costs[0, 0]:.6g}"
        if self.missing:
            notes.append(f"not in it, so at the start values: {listing(self.missing)}")
        if self.extra:
            notes.append(f"in it and unknown here, so omitted: {listing(self.extra)}")
        if self.moved:
            notes.append(f"outside the bounds here, so moved onto them: {listing(self.moved)}")
        return notes


def load_study(
    storage: str,
    study_name: str | None,
    space: Space,
    objectives: tuple[str, ...] = ("cost",),
) -> LoadedStudy:
    """Read a study of an Optuna storage, also one that Optuna's own samplers made.

    Parameters are matched by name.

    Args:
        storage: URL of the database, such as ``sqlite:///study.db``, or a file.
        study_name: name of the study; may be None where the storage has only one.
        space: the parameters that a search has.
        objectives: names of the costs.

    Raises:
        StorageError: the storage cannot be reached, has no such study (the message lists those that
            it has), or the study does not fit: it maximises, has another number of objectives,
            another kind of a parameter, or none of the parameters.
        MissingExtraError: optuna is not installed.
    """
    with opened(storage, create=False) as (backend, shown):
        name = _only_study(backend, shown) if study_name is None else study_name
        study = existing_study(backend, shown, name)
        trials = study.get_trials(deepcopy=False)
        check_compatible(study, trials, space.names, objectives)
    there = dict.fromkeys(parameter for trial in trials for parameter in trial.params)
    if there and not set(there) & set(space.names):
        raise StorageError(
            f"the study {name!r} has none of the parameters {listing(space.names)}; it has "
            f"{listing(there)}.{did_you_mean(space.names[0], there)}"
        )
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    X, moved = _candidates(complete, space)
    costs = np.array([trial.values for trial in complete], float).reshape(-1, len(objectives))
    order = np.lexsort(costs.T[::-1])
    return LoadedStudy(
        study_name=name,
        trials=len(trials),
        X=X[order],
        costs=costs[order],
        missing=tuple(n for n in space.names if n not in there),
        extra=tuple(n for n in there if n not in space.names),
        moved=moved,
    )


def _only_study(storage: "BaseStorage", shown: str) -> str:
    names = study_names(storage)
    if len(names) == 1:
        return names[0]
    if not names:
        raise StorageError(f"{shown} has no studies")
    raise StorageError(
        f"{shown} has {len(names)} studies, {listing(names)}: give the storage and the name of one"
    )


def _candidates(trials: "list[FrozenTrial]", space: Space) -> tuple[np.ndarray, tuple[str, ...]]:
    X = np.tile(space.start, (len(trials), 1))
    for row, trial in zip(X, trials, strict=True):
        for i, name in enumerate(space.names):
            if name in trial.params:
                row[i] = trial.params[name]
    inside = np.clip(X, space.lower, space.upper)
    moved = tuple(np.array(space.names)[(inside != X).any(axis=0)].tolist())
    return inside, moved
