"""Gaussian priors as rows of a residual."""

from collections.abc import Mapping

import numpy as np

from trueup.parameters.parameter_dict import ParameterDict


class PriorRows:
    """One row ``(mean - value) / sd`` for each free element with a prior.

    Args:
      parameters: the parameters.
    """

    def __init__(self, parameters: ParameterDict):
        self.rows = [
            (name, element, mean, sd)
            for name, param in parameters.items()
            if param.prior is not None and param.is_free
            for element, (mean, sd) in enumerate(param.prior.elements(param.size))
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, table: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows ``(n, rows)`` of the values of a batch, from :meth:`ParameterDict.value_table`."""
        return np.stack([(mean - table[n][:, k]) / sd for n, k, mean, sd in self.rows], axis=1)
