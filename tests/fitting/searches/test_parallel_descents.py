"""Descents side by side: each as it would be alone, scored by an objective of its own."""

import numpy as np

from trueup.fitting import LeastSquares, LeastSquaresSettings, Vectorised, minimise
from trueup.fitting.searches.parallel_descents import ParallelDescents
from trueup.fitting.test_problems.test_problem import box


def problem():
    """Two minima: near 1 and near -1 of the first unknown."""
    return Vectorised(
        lambda X: np.stack([X[:, 0] ** 2 - 1.0, 0.1 * (X[:, 0] - 1.0), X[:, 1]], axis=1),
        box([0.5, 0.5], -3.0, 3.0),
    )


def run(descents, task, resumed=False):
    while descents.at_work:
        if resumed:
            descents = ParallelDescents.from_state(descents.state(), task.space)
        X = descents.ask()
        descents.tell(X, descents.evaluate(task, task, X, {}, threads=2))
    return descents


def test_each_descent_ends_where_it_would_end_alone():
    task = problem()
    starts = np.array([[2.0, 1.0], [-2.0, 0.3], [0.5, -1.0]])
    together = run(ParallelDescents(task.space, starts, LeastSquaresSettings()), task)
    for start, x in zip(starts, together.x, strict=True):
        search = LeastSquares(task.space)
        search.x = start.copy()
        np.testing.assert_allclose(x, minimise(task, search).x, atol=1e-6)
    assert set(together.best(2)) == {0, 2}  # the minimum near 1 is the lower one


def test_descents_resumed_after_every_batch_are_the_same():
    task = problem()
    starts = np.array([[2.0, 1.0], [-2.0, 0.3]])
    whole = run(ParallelDescents(task.space, starts, LeastSquaresSettings()), task)
    parts = run(ParallelDescents(task.space, starts, LeastSquaresSettings()), task, resumed=True)
    assert whole.x.tobytes() == parts.x.tobytes()
    assert whole.costs.tobytes() == parts.costs.tobytes()
