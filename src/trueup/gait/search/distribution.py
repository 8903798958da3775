"""Final distribution of a search, saved for later searches that start from its walk.

Over hundreds of generations a search learns how sensitive a walk is to changes of its entries. A
search that retargets the walk to another speed or slope starts with this distribution.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import GaitError
from trueup.gait.search.shipped_walk import SHIPPED, SHIPPED_DISTRIBUTION, start_path
from trueup.parameters import Space

DISTRIBUTION = "distribution.json"
"""File of the distribution in a run directory."""

_DIGITS = 6


@dataclass(frozen=True)
class SearchDistribution:
    """Standard deviations and correlations of a search, by name of the entries.

    Attributes:
      names: names of the entries.
      deviation: standard deviations ``(p,)``.
      correlation: correlations ``(p, p)``.
    """

    names: tuple[str, ...]
    deviation: np.ndarray
    correlation: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """JSON values; of the correlations the lower triangle, row by row."""
        rows = [
            [_rounded(value) for value in row[:i]]
            for i, row in enumerate(self.correlation.tolist())
        ]
        deviation = [_rounded(value) for value in self.deviation.tolist()]
        return {"names": list(self.names), "deviation": deviation, "correlation": rows}

    @classmethod
    def from_dict(cls, content: Any) -> "SearchDistribution":
        """The distribution from `to_dict`.

        Raises:
          ValueError: the data are not a distribution.
        """
        if not isinstance(content, dict):
            raise ValueError("it does not contain names, deviation and correlation")
        try:
            names = tuple(map(str, content["names"]))
            deviation = np.array(content["deviation"], float)
            rows = [np.array(row, float) for row in content["correlation"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"invalid numbers: {error}") from error
        size = len(names)
        if deviation.shape != (size,) or [row.shape for row in rows] != [(i,) for i in range(size)]:
            raise ValueError(f"deviation and correlation do not have the size of its {size} names")
        correlation = np.eye(size)
        for i, row in enumerate(rows):
            correlation[i, :i] = correlation[:i, i] = row
        if not (np.isfinite(deviation) & (deviation > 0.0)).all():
            raise ValueError("standard deviations must be above 0")
        if not np.isfinite(correlation).all() or not np.linalg.eigvalsh(correlation).min() > 0.0:
            raise ValueError("its correlation matrix is not positive definite")
        return cls(names, deviation, correlation)

    def over(self, space: Space, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviations ``(p,)``, times ``step``, and correlations ``(p, p)`` of a space.

        An entry without a value in the distribution has the deviation of the space.
        """
        assert space.deviation is not None  # set by every gait problem
        deviation, correlation = np.array(space.deviation, float), np.eye(space.size)
        place = {name: i for i, name in enumerate(self.names)}
        known = [i for i, name in enumerate(space.names) if name in place]
        source = [place[space.names[i]] for i in known]
        deviation[known] = step * self.deviation[source]
        correlation[np.ix_(known, known)] = self.correlation[np.ix_(source, source)]
        return deviation, correlation


def distribution_of(names: Sequence[str], found: tuple[np.ndarray, np.ndarray]) -> Any:
    """JSON values of the result of :meth:`trueup.fitting.CmaEs.distribution`."""
    return SearchDistribution(tuple(names), *found).to_dict()


def distribution_at(param_path: str | None) -> SearchDistribution | None:
    """The distribution next to an earlier walk, by the value of ``param_path``; None where it is
    missing.

    Raises:
      GaitError: the file is damaged.
    """
    if param_path is None:
        return None
    path = SHIPPED_DISTRIBUTION if param_path == SHIPPED else start_path(param_path) / DISTRIBUTION
    if not path.is_file():
        return None
    try:
        return SearchDistribution.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise GaitError(
            f"{path} is not a distribution of a search: {error}. Remove it to start the search "
            "with sigma_gain"
        ) from error


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
