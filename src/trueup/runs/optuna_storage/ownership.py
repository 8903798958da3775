"""Ownership of the studies in a storage: a run writes to its own alone."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import StorageError, listing
from trueup.parameters import Space
from trueup.runs.optuna_storage.address import sqlite_url
from trueup.runs.optuna_storage.database import Database
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FILE = "storage.json"
_RUN = "trueup:run:"


def default_storage(directory: RunDirectory) -> str:
    """URL of the storage within a run directory, where no other is given."""
    return sqlite_url(directory.inside("trials.sqlite"))


def run_identity(directory: RunDirectory) -> str:
    """Identity of a run: kept in its directory, the same after a resume."""
    path = directory.inside(_FILE)
    if path.is_file():
        return str(atomic.read_json(path)["run"])
    identity = secrets.token_hex(8)
    atomic.write_json(path, {"run": identity})
    return identity


def adopt_study(
    database: Database,
    name: str,
    run: str,
    space: Space,
    objectives: Sequence[str],
    *,
    load: bool,
) -> int:
    """Number of the study that a run writes to: made, or found again, or (with ``load``) taken on.

    Raises:
        StorageError: the study is that of another run and ``load`` is not set, or it is set and
            there is no such study, or its parameters or objectives are others.
    """
    found = database.find_study(name)
    if found is not None:
        owners = database.transact(lambda c: database.attributes(c, found, _RUN))
        if run in owners:
            return found
    if load:
        study = database.existing_study(name)
        check_study(database, study, name, space, objectives)
    elif found is not None:
        raise _is_there_already(database, name)
    else:
        study = database.create_study(name, objectives)
    return database.transact(lambda c: _claim(database, c, study, run))


def check_new_run(
    url: str, name: str, space: Space, objectives: Sequence[str], *, load: bool
) -> None:
    """Raise what `adopt_study` would for a run that is yet to be made, and change nothing.

    Raises:
        StorageError: as `adopt_study`, or the storage cannot be reached.
        MissingExtraError: optuna is not installed.
    """
    database = Database.open(url, create=not load)
    try:
        if load:
            check_study(database, database.existing_study(name), name, space, objectives)
        elif database.find_study(name) is not None:
            raise _is_there_already(database, name)
    finally:
        database.close()


def _is_there_already(database: Database, name: str) -> StorageError:
    return StorageError(
        f"{database.address.shown} has a study {name!r} already: continue it with "
        f"--load-study {name}, or give this run another folder, whose name its study takes"
    )


def _claim(database: Database, connection: "Connection", study: int, run: str) -> int:
    database.lock(connection, study)
    database.set_attribute(connection, study, f"{_RUN}{run}", True)
    return study


def check_study(
    database: Database, study: int, name: str, space: Space, objectives: Sequence[str]
) -> None:
    """Raise StorageError unless trials of ``space`` and ``objectives`` can stand in a study."""
    from optuna.distributions import FloatDistribution
    from optuna.study import StudyDirection

    directions = database.storage.get_study_directions(study)
    if StudyDirection.MAXIMIZE in directions:
        raise StorageError(
            f"the study {name!r} maximises; a cost is minimised here. Choose another study"
        )
    if len(directions) != len(objectives):
        raise StorageError(
            f"the study {name!r} has {len(directions)} objectives, this problem has "
            f"{len(objectives)}: {listing(objectives)}. Choose another study"
        )
    for parameter, kinds in _kinds_of_parameters(database, study, space.names).items():
        for kind in kinds:
            if not isinstance(kind, FloatDistribution) or kind.step is not None:
                raise StorageError(
                    f"the parameter {parameter!r} of the study {name!r} is no plain number but "
                    f"{kind}: rename one of the two, or choose another study"
                )


def scales_in_study(database: Database, study: int, space: Space) -> np.ndarray:
    """Which parameters stand on a log scale in a study ``(p,)``; as in ``space`` where it has none.

    Optuna takes a parameter on one scale only, whatever that of the search is.
    """
    log = space.log.copy()
    for parameter, kinds in _kinds_of_parameters(database, study, space.names).items():
        log[space.names.index(parameter)] = any(getattr(kind, "log", False) for kind in kinds)
    return log


def _kinds_of_parameters(
    database: Database, study: int, names: Sequence[str]
) -> dict[str, list[object]]:
    """Distributions that the trials of a study have for some parameters."""
    from optuna.distributions import json_to_distribution

    parameters, trials = database.tables["trial_params"], database.tables["trials"]
    joined = parameters.join(trials, parameters.c.trial_id == trials.c.trial_id)
    query = (
        parameters.select()
        .with_only_columns(parameters.c.param_name, parameters.c.distribution_json)
        .select_from(joined)
        .where(trials.c.study_id == study)
        .distinct()
    )
    kinds: dict[str, list[object]] = {}
    for row in database.transact(lambda connection: connection.execute(query).all()):
        if row.param_name in names:
            kinds.setdefault(row.param_name, []).append(json_to_distribution(row.distribution_json))
    return kinds
