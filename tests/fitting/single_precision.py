"""Problems whose quick form rounds, as on a device."""

import copy

import numpy as np

from trueup.fitting.problem import Problem


class OnDevice(Problem):
    """A problem whose quick form rounds residuals to single precision, and counts its batches.

    Args:
      problem: the problem.
      least: smallest batch for which the quick form pays.
      fails: whether a candidate fails in the quick form.
      factor: factor of residuals in the quick form, such as one that makes them too small.
    """

    def __init__(self, problem, least=1, fails=lambda x: False, factor=1.0):
        self.space, self.groups = problem.space, problem.groups
        self.data_rows, self.objectives = problem.data_rows, problem.objectives
        self.batches: dict[str, list[int]] = {"single": [], "double": []}
        self._problem, self._least, self._fails, self._single = problem, least, fails, False
        self._factor = factor

    def quick(self, candidates):
        if candidates < self._least:
            return self
        twin = copy.copy(self)
        twin._single = True
        return twin

    def residual_blocks(self, X, failures):
        self.batches["single" if self._single else "double"].append(len(X))
        for rows, values in self._problem.residual_blocks(X, failures):
            if self._single:
                values = self._factor * values
                size = np.abs(values).max()
                values = (values + 4 * size).astype(np.float32) - np.float32(4 * size)
                for row in np.flatnonzero([self._fails(x) for x in X]):
                    failures[int(row)] = "unstable"
            yield rows, values.astype(float)
