"""A log whose motion is linear in the unknowns of its causes: every fit has a closed form."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from trueup.explain.log import ExplainedLog
from trueup.fitting import Problem
from trueup.parameters import Space

COUNT = 400
NOISE = 0.01


def shape(number: int, times: np.ndarray) -> np.ndarray:
    """What an unknown adds to both channels, (n, 2); no two are alike."""
    turn = (0.9 + 0.7 * number) * times
    return np.stack([np.sin(turn + number), np.cos(1.3 * turn)], axis=1)


class LinearProblem(Problem):
    """Recordings of two channels: ``matrix @ x``, the truth, and noise.

    Args:
      matrix: change of the channels by each unknown ``(n, 2, p)``.
      truth: values that were at work ``(p,)``.
      noise: added to the recording ``(n, 2)``.
      space: the unknowns.
    """

    def __init__(self, matrix: np.ndarray, truth: np.ndarray, noise: np.ndarray, space: Space):
        self.space, self.matrix = space, matrix
        self.measured = matrix @ truth + noise
        self.data_rows, self.noise_scale = self.measured.size, None
        windows = [SimpleNamespace(first=0)]
        self.sequences = [
            SimpleNamespace(weights=np.full(noise.shape, 1.0 / NOISE), windows=windows)
        ]

    def predictions(self, X: np.ndarray, failures: dict[int, str]) -> list[Any]:
        """Measured and predicted channels ``(1, n, 2)``, ``(candidates, n, 2)``."""
        for row in np.flatnonzero(np.abs(X).max(axis=1) > 1e6):
            failures[int(row)] = "diverges"
        return [(self.measured[None], np.einsum("tcp,np->ntc", self.matrix, X))]

    def residual_blocks(self, X: np.ndarray, failures: dict[int, str]) -> Any:
        """All residuals at once, in multiples of noise."""
        ((measured, predicted),) = self.predictions(X, failures)
        yield slice(0, self.data_rows), ((predicted - measured) / NOISE).reshape(len(X), -1)


def linear_log(
    columns: dict[str, list[int]],
    truth: list[float],
    change: Any = None,
    units: Any = 1.0,
    seed: int = 0,
) -> ExplainedLog:
    """A log with causes by name, of which some were at work.

    Args:
      columns: unknowns of each cause.
      truth: value of each unknown; the model has 0 of all.
      change: in place of the shapes ``(n, 2, p)`` of the unknowns, what is made of them.
      units: unit of each unknown: its values are so many times larger.
      seed: seed of the noise.
    """
    count, units = len(truth), np.broadcast_to(units, len(truth))
    space = Space(
        tuple(f"x{k}" for k in range(count)), -5.0 * units, 5.0 * units, np.zeros(count),
        np.zeros(count, bool),
    )  # fmt: skip
    parts = []
    rng = np.random.default_rng(seed)
    for begin in (0.0, 10.0):
        times = begin + 0.02 * np.arange(COUNT)
        matrix = np.stack([shape(k, times) for k in range(count)], axis=2)
        matrix = (matrix if change is None else change(matrix)) / units
        noise = NOISE * rng.normal(size=(COUNT, 2))
        parts.append(LinearProblem(matrix, np.asarray(truth) * units, noise, space))
    none = np.zeros(0, int)
    return ExplainedLog(
        None, *parts, {c: np.array(own) for c, own in columns.items()}, none, none,  # type: ignore
        [()] * count, np.zeros(count), list(space.names), [""] * count, [], [],
    )  # fmt: skip
