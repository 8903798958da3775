"""Least squares with the derivatives that a problem gives itself."""

from collections.abc import Iterator

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting import LeastSquares, LeastSquaresSettings, Vectorised, minimise
from trueup.fitting.problem import Failures
from trueup.parameters import Space

TIMES = np.linspace(0.0, 2.0, 40)


def space() -> Space:
    return Space(
        names=("size", "rate"),
        lower=np.array([0.0, 0.05]),
        upper=np.array([10.0, 20.0]),
        start=np.array([1.0, 3.0]),
        log=np.array([False, True]),
    )


def decay(X: np.ndarray) -> np.ndarray:
    return X[:, :1] * np.exp(-X[:, 1:] * TIMES)


class Decay(Vectorised):
    """An exponential whose data are those of size 4 and rate 0.8, in two blocks."""

    def __init__(self):
        self.evaluations = 0
        super().__init__(self._residual, space())

    def _residual(self, X: np.ndarray) -> np.ndarray:
        self.evaluations += len(X)
        return decay(X) - decay(np.array([[4.0, 0.8]]))

    def jacobian_blocks(
        self, x: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        shape = np.exp(-x[1] * TIMES)
        derivatives = np.array([shape, -x[0] * TIMES * shape])
        residual = self._residual(x[None, :])[0]
        for rows in (slice(0, 15), slice(15, 40)):
            yield rows, residual[rows], derivatives[:, rows]


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_exact_derivatives_find_the_same_optimum_in_fewer_evaluations(loss):
    found, spent = [], []
    for jacobian in ("differences", "exact"):
        problem = Decay()
        settings = LeastSquaresSettings(jacobian=jacobian, loss=loss, loss_scale=0.1)
        found.append(minimise(problem, LeastSquares(problem.space, settings)).x)
        spent.append(problem.evaluations)
    np.testing.assert_allclose(found[0], [4.0, 0.8], rtol=1e-6)
    np.testing.assert_allclose(found[1], [4.0, 0.8], rtol=1e-9)
    assert spent[1] < 0.6 * spent[0]


def test_a_problem_without_derivatives_says_so():
    problem = Vectorised(lambda X: decay(X) - 1.0, space())
    assert not problem.has_jacobian and Decay().has_jacobian
    search = LeastSquares(problem.space, LeastSquaresSettings(jacobian="exact"))
    with pytest.raises(FitError, match="finite differences"):
        search.evaluate(problem, search.ask(), {})


def test_an_unknown_jacobian_is_refused():
    with pytest.raises(FitError, match="'exact', found 'guess'"):
        LeastSquares(space(), LeastSquaresSettings(jacobian="guess"))
