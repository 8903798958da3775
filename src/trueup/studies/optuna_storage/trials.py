"""Trials written into the tables of an Optuna storage, many in one transaction."""

import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.studies.optuna_storage.database import Database
from trueup.studies.optuna_storage.trial_ranges import COLUMNS as PARAMETER_COLUMNS
from trueup.studies.optuna_storage.trial_ranges import TrialRanges

if TYPE_CHECKING:
    from sqlalchemy import Connection

REASON = "reason"
"""User attribute: why a candidate is invalid."""
NOT_A_NUMBER = "the cost is not a number"
"""The reason where the problem gave none."""

VALUE_COLUMNS = ("trial_id", "objective", "value", "value_type")
ATTRIBUTE_COLUMNS = ("trial_id", "key", "value_json")

ValueRow = tuple[int, int, float | None, str]

_EXACT_X = "trueup:x"
_EXACT_COSTS = "trueup:costs"


@dataclass
class NewTrial:
    """A trial to be written."""

    x: np.ndarray
    """Values of the parameters ``(p,)``."""
    state: str
    """Name of its ``optuna.trial.TrialState``."""
    costs: np.ndarray | None = None
    """Costs ``(k,)`` of a finished one."""
    user: dict[str, Any] = field(default_factory=dict)
    """Attributes that the dashboard shows."""
    system: dict[str, Any] = field(default_factory=dict)
    """Attributes that it does not."""
    started: datetime.datetime | None = None
    """See :func:`storage_time`."""
    completed: datetime.datetime | None = None


def storage_time() -> datetime.datetime:
    """The present time as the installed Optuna keeps it: UTC, or local time before version 5."""
    import optuna

    zone = datetime.UTC if int(optuna.__version__.split(".")[0]) >= 5 else None
    return datetime.datetime.now(zone).replace(tzinfo=None)


def insert_trials(
    database: Database,
    connection: "Connection",
    study: int,
    ranges: TrialRanges,
    trials: Sequence[NewTrial],
) -> list[int]:
    """Write trials with consecutive numbers; return what the storage calls them (``trial_id``).

    The study has to be locked, see :meth:`Database.lock`.
    """
    table = database.tables["trials"]
    ours = table.c.study_id == study
    query = table.select().where(ours).order_by(table.c.trial_id.desc()).limit(1)
    last = connection.execute(query).first()
    first_number, last_id = (0, -1) if last is None else (last.number + 1, last.trial_id)
    connection.execute(
        table.insert(),
        [
            {
                "number": first_number + i,
                "study_id": study,
                "state": trial.state,
                "datetime_start": trial.started,
                "datetime_complete": trial.completed,
            }
            for i, trial in enumerate(trials)
        ],
    )
    # Asked for afterwards, because not every database returns them with an insert.
    new = table.select().where(ours, table.c.trial_id > last_id)
    by_number = {row.number: row.trial_id for row in connection.execute(new)}
    ids = [by_number[first_number + i] for i in range(len(trials))]
    X = np.array([trial.x for trial in trials])
    parameters = ranges.rows(ids, X)
    is_whole = len(parameters) == X.size
    user, system = [], []
    values: list[ValueRow] = []
    for number, trial, is_kept in zip(ids, trials, _are_kept(X), strict=True):
        more = dict(trial.system)
        if not (is_kept and is_whole):
            more[_EXACT_X] = _exact(trial.x)
        if trial.costs is not None:
            rows, exact = cost_rows(number, trial.costs, complete=trial.state == "COMPLETE")
            values += rows
            more |= exact
        user += attribute_rows(number, trial.user)
        system += attribute_rows(number, more)
    database.insert(connection, "trial_params", PARAMETER_COLUMNS, parameters)
    database.insert(connection, "trial_values", VALUE_COLUMNS, values)
    database.insert(connection, "trial_user_attributes", ATTRIBUTE_COLUMNS, user)
    database.insert(connection, "trial_system_attributes", ATTRIBUTE_COLUMNS, system)
    return ids


def cost_rows(
    trial: int, costs: np.ndarray, *, complete: bool
) -> tuple[list[ValueRow], dict[str, Any]]:
    """Rows of ``trial_values``, and system attributes for what those cannot keep."""
    rows: list[ValueRow] = []
    if complete:
        rows = [
            (trial, i, value, "FINITE")
            if math.isfinite(value)
            else (trial, i, None, "INF_POS" if value > 0 else "INF_NEG")
            for i, value in enumerate(costs.tolist())
        ]
    return rows, {} if complete and _are_kept(costs) else {_EXACT_COSTS: _exact(costs)}


def attribute_rows(trial: int, attributes: dict[str, Any]) -> list[tuple[int, str, str]]:
    """Rows of ``trial_user_attributes`` or ``trial_system_attributes``."""
    return [(trial, key, json.dumps(value)) for key, value in attributes.items()]


def exact_x(system: dict[str, Any]) -> np.ndarray | None:
    """Values of a trial ``(p,)`` where its parameters do not tell them exactly, else None."""
    return _from_exact(system.get(_EXACT_X))


def exact_costs(system: dict[str, Any]) -> np.ndarray | None:
    """Costs of a trial ``(k,)`` where its values do not tell them exactly, else None."""
    return _from_exact(system.get(_EXACT_COSTS))


def _are_kept(values: np.ndarray) -> Any:
    """Whether every database gives back rows of numbers ``(..., p)`` bit for bit, ``(...)``.

    None keeps what is not a number, and SQLite forgets the sign of a zero.
    """
    return (np.isfinite(values) & ~((values == 0.0) & np.signbit(values))).all(axis=-1)


def _exact(values: np.ndarray) -> list[str]:
    return [repr(value) for value in values.tolist()]


def _from_exact(document: Any) -> np.ndarray | None:
    return None if document is None else np.array([float(text) for text in document])
