"""Problem of recordings with faults as unknowns."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from trueup.fitting.problem import Failures, Problem
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.causes.recording_changes import Change

_KEPT = 8  # problems of other values that are kept


class ChangedProblem(Problem):
    """Problem of recordings with faults, whose values are elements of its space.

    Args:
      make: constructs the problem of recordings; its parameters include those of the changes.
      groups: the recordings.
      changes: faults of the recordings.
    """

    def __init__(
        self,
        make: Callable[[Sequence[ModelSequences]], Any],
        groups: Sequence[ModelSequences],
        changes: Sequence[Change],
    ):
        self._make, self._from, self._changes = make, list(groups), list(changes)
        plain = make(groups)
        names = [change.parameter.name for change in changes]
        self._columns = np.array([plain.space.names.index(name) for name in names], int)
        self._problems = {tuple(change.given for change in changes): plain}
        self.plain = plain
        self.space, self.groups, self.data_rows = plain.space, plain.groups, plain.data_rows
        self.noise_scale = plain.noise_scale
        self.sequences = getattr(plain, "sequences", [])

    @property
    def residual_size(self) -> int:
        """Number of rows of the data and of the priors."""
        return self.plain.residual_size

    def acting_on(self, rows: slice) -> np.ndarray | None:
        """Elements that affect a block: initial states of other windows do not."""
        return self.plain.acting_on(rows)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals; see :meth:`trueup.fitting.Problem.residual_blocks`."""
        X = np.atleast_2d(np.asarray(X, float))
        if not self._changes:
            yield from self.plain.residual_blocks(X, failures)
            return
        values, owner = np.unique(X[:, self._columns], axis=0, return_inverse=True)
        out = np.empty((len(X), self.residual_size))
        for number, own in enumerate(values):
            rows = np.flatnonzero(np.ravel(owner) == number)
            failed: Failures = {}
            out[rows] = self._with(own).residuals(X[rows], failed)
            failures.update({int(rows[k]): why for k, why in failed.items()})
        for group in self.groups:
            yield group.rows, out[:, group.rows]
        if self.residual_size > self.data_rows:
            yield slice(self.data_rows, self.residual_size), out[:, self.data_rows :]

    def _with(self, values: np.ndarray) -> Problem:
        """Problem of the recordings with given values of the faults."""
        key = tuple(values.tolist())
        if key not in self._problems:
            groups: Sequence[ModelSequences] = self._from
            for change, value in zip(self._changes, key, strict=True):
                if value != change.given:
                    groups = change.apply(groups, value)
            if len(self._problems) > _KEPT:  # the first one has no faults
                self._problems.pop(list(self._problems)[1])
            self._problems[key] = self._make(groups)
        return self._problems[key]
