"""Trials written into the tables of an Optuna storage, many in one transaction."""

import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.runs.optuna_storage.database import Database
from trueup.runs.optuna_storage.trial_ranges import COLUMNS as PARAMETER_COLUMNS
from trueup.runs.optuna_storage.trial_ranges import TrialRanges

if TYPE_CHECKING:
    from sqlalchemy import Connection

_VALUE_COLUMNS = ("trial_id", "objective", "value", "value_type")
_ATTRIBUTE_COLUMNS = ("trial_id", "key", "value_json")


@dataclass
class NewTrial:
    """A finished trial to be written."""

    x: np.ndarray
    """Values of the parameters ``(p,)``."""
    costs: np.ndarray
    """Costs ``(k,)``; written for a valid one only, as Optuna's FAIL has no values."""
    is_valid: bool
    """Whether its state is COMPLETE; otherwise it is FAIL."""
    attributes: dict[str, Any]
    """User attributes, which the dashboard shows."""
    started: datetime.datetime
    """See :func:`storage_time`."""
    completed: datetime.datetime


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
) -> None:
    """Write trials with consecutive numbers.

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
                "state": "COMPLETE" if trial.is_valid else "FAIL",
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
    attributes = [
        (number, key, json.dumps(value))
        for number, trial in zip(ids, trials, strict=True)
        for key, value in trial.attributes.items()
    ]
    values = [
        row
        for number, trial in zip(ids, trials, strict=True)
        if trial.is_valid
        for row in _value_rows(number, trial.costs)
    ]
    parameters = ranges.rows(ids, np.array([trial.x for trial in trials]))
    database.insert(connection, "trial_params", PARAMETER_COLUMNS, parameters)
    database.insert(connection, "trial_values", _VALUE_COLUMNS, values)
    database.insert(connection, "trial_user_attributes", _ATTRIBUTE_COLUMNS, attributes)


def _value_rows(trial: int, costs: np.ndarray) -> list[tuple[int, int, float | None, str]]:
    return [
        (trial, i, value, "FINITE")
        if math.isfinite(value)
        else (trial, i, None, "INF_POS" if value > 0 else "INF_NEG")
        for i, value in enumerate(costs.tolist())
    ]
