"""Sums over lagged samples, against the matrix of all histories."""

import numpy as np
import pytest

from trueup.networks.model.lag_sums import LagSums, lags, response


def histories(values, history):
    """Histories by the definition, newest first, feature by feature."""
    rows = range(history - 1, len(values))
    return np.array([values[t - history + 1 : t + 1][::-1].T.ravel() for t in rows])


@pytest.mark.parametrize("history", [1, 2, 7, 30])
@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("weighting", ["equal", "some", "random", "none"])
def test_the_sums_are_those_of_the_matrix_of_all_histories(history, features, weighting):
    random = np.random.default_rng(history + 100 * features)
    # the last recording is shorter than the longest history
    found = LagSums.none(features * history)
    squares, products, sums, output, weight = 0.0, 0.0, 0.0, 0.0, 0.0
    for length in (50, 31, 30, 12):
        values, wanted = random.normal(1.0, 1.0, (length, features)), random.normal(size=length)
        weights = {
            "equal": np.full(length, 0.7),
            "some": np.where(random.random(length) < 0.3, 0.0, 1.5),
            "random": random.random(length),
            "none": np.zeros(length),
        }[weighting]
        found.add(values, wanted, weights, history)
        if length < history:
            continue
        rows, own, goal = histories(values, history), weights[history - 1 :], wanted[history - 1 :]
        squares = squares + rows.T @ (own[:, None] * rows)
        products, sums = products + rows.T @ (own * goal), sums + rows.T @ own
        output, weight = output + own @ goal, weight + own.sum()
    np.testing.assert_allclose(found.squares, squares, atol=1e-11)
    np.testing.assert_allclose(found.products, products, atol=1e-11)
    np.testing.assert_allclose(found.values, sums, atol=1e-11)
    assert found.output == pytest.approx(output, abs=1e-11)
    assert found.weight == pytest.approx(weight, abs=1e-11)


def test_a_response_is_the_product_with_each_history():
    random = np.random.default_rng(1)
    values, weights = random.normal(size=(40, 3)), random.normal(size=15)
    rows = histories(values, 5)
    np.testing.assert_array_equal(lags(values, 5), rows)
    np.testing.assert_array_equal(lags(values, 5, np.array([3, 0])), rows[[3, 0]])
    np.testing.assert_allclose(response(values, weights, 5), rows @ weights, atol=1e-12)
    assert response(values[:5], weights, 5).shape == (1,)
