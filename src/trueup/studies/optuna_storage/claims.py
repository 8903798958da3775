"""The trials of a shared study: posted by one process, claimed and answered by several.

Each transition is one transaction under the lock of the study, so a trial has one claim at a time,
and each is harmless to repeat, so a commit whose receipt was lost is found out by what is there.

What a shared study holds beside Optuna's own (keys of system attributes):

``trueup:shared`` (of the study)
    which run shares it, a digest of its problem, whether it is open, the batch that is to be
    evaluated and the first and last of its trials.
``trueup:worker:<name>`` (of the study)
    a count that a living worker raises; see :class:`Worker`.
``trueup:candidate:<run>`` (of a trial)
    its batch, its row therein, a digest of the batch.
``trueup:claim`` (of a trial)
    the last claim on it, by whom, and how many claims before it were lost.
``trueup:failure`` (of a trial)
    why the problem calls the candidate invalid.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.parameters import Space
from trueup.studies.optuna_storage.database import Database
from trueup.studies.optuna_storage.trial_ranges import TrialRanges
from trueup.studies.optuna_storage.trials import (
    ATTRIBUTE_COLUMNS,
    NOT_A_NUMBER,
    REASON,
    VALUE_COLUMNS,
    NewTrial,
    attribute_rows,
    cost_rows,
    exact_costs,
    exact_x,
    insert_trials,
    storage_time,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHARED = "trueup:shared"
WORKER = "trueup:worker:"
CANDIDATE = "trueup:candidate:"
CLAIM = "trueup:claim"
FAILURE = "trueup:failure"


@dataclass(frozen=True)
class Posting:
    """What the workers of a shared study go by."""

    run: str
    """Identity of the run whose candidates they are."""
    problem: str
    """See :func:`digest_of_problem`."""
    lease: float
    """A worker that gave no sign of life for so long is taken for dead [s]."""
    is_open: bool = True
    """Whether more batches may follow."""
    batch: int = -1
    """Number of the batch to be evaluated, from 0."""
    first: int = 0
    """``trial_id`` of its first candidate."""
    last: int = -1
    """And of its last."""


@dataclass(frozen=True)
class Claim:
    """Candidates that one process evaluates."""

    name: str
    """Of this claim; begins with the name of the process."""
    trials: tuple[int, ...]
    """Their ``trial_id``."""
    X: np.ndarray
    """The candidates ``(n, p)``."""


def digest_of_problem(space: Space, objectives: Sequence[str]) -> str:
    """What a problem is to its workers: names, bounds and scales of parameters, and objectives."""
    identity = [list(space.names), list(objectives)]
    arrays = [np.asarray(a, float) for a in (space.lower, space.upper, space.log)]
    text = json.dumps(identity).encode() + b"".join(array.tobytes() for array in arrays)
    return hashlib.sha256(text).hexdigest()[:16]


def digest_of_batch(X: np.ndarray) -> str:
    """What tells the candidates ``X (n, p)`` from others."""
    return hashlib.sha256(np.asarray(X, "<f8").tobytes()).hexdigest()[:16]


class SharedTrials:
    """The trials of one shared study.

    Args:
        database: the storage.
        study: number of the study.
        space: the parameters.
        patience: how long a storage that is away is waited for [s].

    Every method raises :class:`trueup.errors.StorageError` when the storage stays away.
    """

    def __init__(self, database: Database, study: int, space: Space, patience: float):
        self.database = database
        self.study = study
        self.space = space
        self.patience = patience
        self._ranges = TrialRanges(space)
        self._columns = {name: i for i, name in enumerate(space.names)}
        self._trials = database.tables["trials"]
        self._attributes = database.tables["trial_system_attributes"]

    def posting(self) -> Posting | None:
        """What is posted; None where the study is not shared."""
        found = self._do(lambda c: self.database.attribute(c, self.study, SHARED))
        return None if found is None else Posting(**found)

    def set_posting(self, posting: Posting) -> None:
        """Tell the workers."""

        def work(connection: "Connection") -> None:
            self.database.lock(connection, self.study)
            self.database.set_attribute(connection, self.study, SHARED, asdict(posting))

        self._do(work)

    def batches(self, run: str) -> dict[int, tuple[str, list[int]]]:
        """Batches that a run has posted: number -> digest, and the trials in order of rows."""
        table, trials = self._attributes, self._trials
        query = (
            table.select()
            .select_from(table.join(trials, table.c.trial_id == trials.c.trial_id))
            .where(trials.c.study_id == self.study, table.c.key == f"{CANDIDATE}{run}")
            .order_by(table.c.trial_id)
        )
        found: dict[int, tuple[str, list[int]]] = {}
        for row in self._do(lambda connection: connection.execute(query).all()):
            batch, _, digest = json.loads(row.value_json)
            found.setdefault(batch, (digest, []))[1].append(row.trial_id)
        return found

    def post(self, posting: Posting, X: np.ndarray) -> tuple[Posting, list[int]]:
        """Add the candidates of the next batch, and tell the workers.

        Args:
            posting: what is posted so far.
            X: candidates ``(n, p)``.

        Returns:
            What is posted now, and the trials of the batch in order of rows.
        """
        batch, digest = posting.batch + 1, digest_of_batch(X)

        def work(connection: "Connection") -> tuple[Posting, list[int]]:
            self.database.lock(connection, self.study)
            # Not empty: an earlier attempt came through.
            numbers = self._posted(connection, posting.run, posting.last)
            if not numbers:
                trials = [
                    NewTrial(
                        x=x,
                        state="WAITING",
                        user={"generation": batch, "candidate": row},
                        system={f"{CANDIDATE}{posting.run}": [batch, row, digest]},
                    )
                    for row, x in enumerate(np.array(X, float))
                ]
                numbers = insert_trials(self.database, connection, self.study, self._ranges, trials)
            new = replace(posting, batch=batch, first=numbers[0], last=numbers[-1])
            self.database.set_attribute(connection, self.study, SHARED, asdict(new))
            return new, numbers

        return self._do(work)

    def claim(self, posting: Posting, name: str, limit: int) -> Claim | None:
        """Take up to ``limit`` waiting candidates; None where none is waiting.

        Args:
            posting: as read; another batch may be posted by now.
            name: of the claim; no other claim ever has it.
            limit: most candidates to take.
        """
        waiting = self._in_batch(posting, "WAITING").limit(limit)
        if not self._do(lambda connection: connection.execute(waiting.limit(1)).all()):
            return None

        def work(connection: "Connection") -> Claim | None:
            self.database.lock(connection, self.study)
            running = connection.execute(self._in_batch(posting, "RUNNING")).all()
            claims = self._claims(connection, [row.trial_id for row in running])
            ours = [trial for trial, (owner, _) in claims.items() if owner == name]
            if not ours:  # or an earlier attempt came through
                ours = [row.trial_id for row in connection.execute(waiting)]
                self._take(connection, ours, name)
            return Claim(name, tuple(ours), self._values(connection, ours)) if ours else None

        return self._do(work)

    def report(self, claim: Claim, costs: np.ndarray, failures: dict[int, str]) -> int:
        """Answer a claim with costs ``(n, k)``; return how many candidates were still claimed.

        The answer for a candidate that was given to another process meanwhile is dropped.
        """

        def work(connection: "Connection") -> int:
            self.database.lock(connection, self.study)
            held = self._held(connection, claim)
            values, user, system = [], [], []
            for state in ("COMPLETE", "FAIL"):
                finished = []
                for i, trial in enumerate(claim.trials):
                    reason = failures.get(i)
                    if reason is None and np.isnan(costs[i]).any():
                        reason = NOT_A_NUMBER
                    if trial not in held or (reason is None) != (state == "COMPLETE"):
                        continue
                    finished.append(trial)
                    rows, more = cost_rows(trial, costs[i], complete=reason is None)
                    values += rows
                    if reason is not None:
                        user += attribute_rows(trial, {REASON: reason})
                    if i in failures:  # a reason that the problem gave, and no other
                        more[FAILURE] = reason
                    system += attribute_rows(trial, more)
                self._set_state(connection, finished, state, datetime_complete=storage_time())
            insert = self.database.insert
            insert(connection, "trial_values", VALUE_COLUMNS, values)
            insert(connection, "trial_user_attributes", ATTRIBUTE_COLUMNS, user)
            insert(connection, "trial_system_attributes", ATTRIBUTE_COLUMNS, system)
            return len(held)

        return self._do(work)

    def states(self, posting: Posting) -> dict[int, str]:
        """States of the trials of the batch that is posted."""
        query = self._in_batch(posting)
        rows = self._do(lambda connection: connection.execute(query).all())
        return {row.trial_id: row.state for row in rows}

    def answers(self, trials: Sequence[int]) -> tuple[np.ndarray, dict[int, str]]:
        """Costs ``(n, k)`` of finished trials, and why candidates are invalid, by row."""
        values = self.database.tables["trial_values"]

        def work(connection: "Connection") -> tuple[np.ndarray, dict[int, str]]:
            costs: dict[int, list[tuple[int, float]]] = {trial: [] for trial in trials}
            for row in connection.execute(_of(values, trials)):
                costs[row.trial_id].append((row.objective, row.value))
            attributes = self._trial_attributes(connection, trials)
            rows, failures = [], {}
            for i, trial in enumerate(trials):
                system = attributes.get(trial, {})
                kept = exact_costs(system)
                rows.append([v for _, v in sorted(costs[trial])] if kept is None else kept)
                if FAILURE in system:
                    failures[i] = system[FAILURE]
            return np.array(rows, float), failures

        return self._do(work)

    def release(self, owner: str, posting: Posting, *, lost: bool) -> int:
        """Make the candidates that a process has claimed wait again.

        Args:
            owner: name of the process, or an empty string for every one.
            posting: their batch.
            lost: whether it died over them: counted.

        Returns:
            How many claims on one candidate were lost, at most.
        """

        def work(connection: "Connection") -> int:
            self.database.lock(connection, self.study)
            rows = connection.execute(self._in_batch(posting, "RUNNING")).all()
            claims = self._claims(connection, [row.trial_id for row in rows])
            worst = 0
            for trial, (name, losses) in claims.items():
                if name.startswith(owner):
                    count = losses + 1 if lost else 0
                    worst = max(worst, count)
                    self._set_state(connection, [trial], "WAITING", datetime_start=None)
                    self._set_claims(connection, {trial: ("", count)})
            return worst

        return self._do(work)

    def forget_losses(self, posting: Posting) -> None:
        """Count the claims on the candidates of a batch from nothing again.

        Those that are claimed too: by a process that died since, its claim would be one too many.
        """

        def work(connection: "Connection") -> None:
            self.database.lock(connection, self.study)
            waiting = connection.execute(self._in_batch(posting, "WAITING")).all()
            running = connection.execute(self._in_batch(posting, "RUNNING")).all()
            claims = self._claims(connection, [row.trial_id for row in running])
            counted = {trial: (name, 0) for trial, (name, _) in claims.items()}
            self._set_claims(connection, {row.trial_id: ("", 0) for row in waiting} | counted)

        self._do(work)

    def workers(self) -> dict[str, int]:
        """The count of each worker, by its name."""
        return self._do(lambda c: self.database.attributes(c, self.study, WORKER))

    def set_worker(self, name: str, count: int | None, patience: float | None = None) -> None:
        """Write the count of a worker; None strikes it off the list."""
        key = f"{WORKER}{name}"
        self.database.transact(
            lambda c: self.database.set_attribute(c, self.study, key, count),
            self.patience if patience is None else patience,
        )

    def _do(self, work: Any) -> Any:
        return self.database.transact(work, self.patience)

    def _in_batch(self, posting: Posting, state: str | None = None) -> Any:
        table = self._trials
        query = table.select().where(
            table.c.trial_id.between(posting.first, posting.last), table.c.study_id == self.study
        )
        return (query if state is None else query.where(table.c.state == state)).order_by(
            table.c.trial_id
        )

    def _posted(self, connection: "Connection", run: str, after: int) -> list[int]:
        table = self._attributes
        query = table.select().where(table.c.trial_id > after, table.c.key == f"{CANDIDATE}{run}")
        return [row.trial_id for row in connection.execute(query.order_by(table.c.trial_id))]

    def _claims(
        self, connection: "Connection", trials: Sequence[int]
    ) -> dict[int, tuple[str, int]]:
        rows = connection.execute(
            _of(self._attributes, trials).where(self._attributes.c.key == CLAIM)
        )
        return {row.trial_id: tuple(json.loads(row.value_json)) for row in rows}

    def _set_claims(self, connection: "Connection", claims: dict[int, tuple[str, int]]) -> None:
        table = self._attributes
        gone = table.c.trial_id.in_(list(claims)), table.c.key == CLAIM
        connection.execute(table.delete().where(*gone))
        rows = [
            row for trial, claim in claims.items() for row in attribute_rows(trial, {CLAIM: claim})
        ]
        self.database.insert(connection, "trial_system_attributes", ATTRIBUTE_COLUMNS, rows)

    def _take(self, connection: "Connection", trials: Sequence[int], name: str) -> None:
        former = self._claims(connection, trials)
        self._set_state(connection, trials, "RUNNING", datetime_start=storage_time())
        self._set_claims(
            connection, {trial: (name, former.get(trial, ("", 0))[1]) for trial in trials}
        )

    def _held(self, connection: "Connection", claim: Claim) -> set[int]:
        rows = connection.execute(
            _of(self._trials, claim.trials).where(self._trials.c.state == "RUNNING")
        ).all()
        claims = self._claims(connection, [row.trial_id for row in rows])
        return {trial for trial, (name, _) in claims.items() if name == claim.name}

    def _set_state(
        self, connection: "Connection", trials: Sequence[int], state: str, **times: Any
    ) -> None:
        if trials:
            here = self._trials.c.trial_id.in_(list(trials))
            connection.execute(self._trials.update().where(here).values(state=state, **times))

    def _values(self, connection: "Connection", trials: Sequence[int]) -> np.ndarray:
        X = np.full((len(trials), self.space.size), np.nan)
        rows = {trial: row for row, trial in enumerate(trials)}
        for row in connection.execute(_of(self.database.tables["trial_params"], trials)):
            X[rows[row.trial_id], self._columns[row.param_name]] = row.param_value
        for trial, system in self._trial_attributes(connection, trials).items():
            exact = exact_x(system)
            if exact is not None:
                X[rows[trial]] = exact
        return X

    def _trial_attributes(
        self, connection: "Connection", trials: Sequence[int]
    ) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for row in connection.execute(_of(self._attributes, trials)):
            found.setdefault(row.trial_id, {})[row.key] = json.loads(row.value_json)
        return found


def _of(table: Any, trials: Sequence[int]) -> Any:
    """Rows of a table that belong to trials."""
    return table.select().where(table.c.trial_id.in_(list(trials)))
