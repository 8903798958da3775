"""Draws from a Gaussian within bounds: moments, bounds, directions without data."""

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from trueup.errors import FitError
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.fitting.uncertainty.information import inverted
from trueup.knowledge.belief import Belief

COVARIANCE = np.array([[0.04, 0.054, 0.0], [0.054, 0.09, 0.01], [0.0, 0.01, 0.25]])


def belief(covariance, centre, lower, upper):
    names = tuple("abc"[: len(centre)])
    return Belief(
        names, np.array(centre, float), np.linalg.inv(covariance), np.array(lower), np.array(upper)
    )


def test_without_near_bounds_the_draws_have_the_covariance():
    wide = belief(COVARIANCE, [1.0, 2.0, 3.0], [-50.0] * 3, [50.0] * 3)
    found = wide.draw(20000, np.random.default_rng(0))
    np.testing.assert_allclose(found.mean(axis=0), [1.0, 2.0, 3.0], atol=0.02)
    np.testing.assert_allclose(np.cov(found.T), COVARIANCE, atol=0.01)


def test_a_bound_cuts_the_gaussian_exactly():
    one = belief(np.array([[1.0]]), [0.0], [0.7], [np.inf])
    found = one.draw(4000, np.random.default_rng(1))[:, 0]
    assert found.min() >= 0.7
    assert kstest(found, truncnorm(0.7, np.inf).cdf).pvalue > 1e-3
    far = belief(np.array([[1.0]]), [0.0], [9.0], [np.inf])  # in the tail, digits are kept
    assert far.draw(4000, np.random.default_rng(2)).mean() == pytest.approx(9.109, abs=0.02)


def test_correlated_elements_within_bounds_equal_rejected_draws():
    cut = belief(COVARIANCE[:2, :2], [0.0, 0.0], [0.1, -1.0], [1.0, 0.2])
    rng = np.random.default_rng(3)
    found = cut.draw(20000, rng)
    every = rng.multivariate_normal([0.0, 0.0], COVARIANCE[:2, :2], 2_000_000)
    inside = ((every >= cut.lower) & (every <= cut.upper)).all(axis=1)
    wanted = every[inside]
    np.testing.assert_allclose(found.mean(axis=0), wanted.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(np.cov(found.T), np.cov(wanted.T), atol=0.001)


def test_a_direction_without_data_comes_from_the_bounds_and_not_from_the_centre():
    # the sum is known to 0.01, the difference not at all
    along = np.array([1.0, 1.0]) / np.sqrt(2)
    known = Belief(
        ("a", "b"), np.array([0.9, 0.1]), 1e4 * np.outer(along, along), np.zeros(2), np.ones(2)
    )
    found = known.draw(5000, np.random.default_rng(4))
    assert found.sum(axis=1).std() == pytest.approx(0.0141, rel=0.1)
    assert kstest(found[:, 0], "uniform").pvalue > 1e-3
    steps = known.determined_steps(2000, np.random.default_rng(5))
    assert np.abs(steps[:, 0] - steps[:, 1]).max() < 1e-9


def test_a_direction_that_nothing_limits_is_named():
    endless = Belief(
        ("a", "b"), np.zeros(2), np.diag([1.0, 0.0]), np.full(2, -np.inf), np.full(2, np.inf)
    )
    with pytest.raises(
        FitError, match="do not determine 'b', and there are no finite bounds and no prior"
    ):
        endless.draw(10, np.random.default_rng(0))


def test_independent_draws_keep_the_widths_and_lose_the_correlation():
    wide = belief(COVARIANCE, [0.0] * 3, [-50.0] * 3, [50.0] * 3).independent()
    np.testing.assert_allclose(
        np.linalg.inv(wide.precision), np.diag(np.diag(COVARIANCE)), atol=1e-12
    )
    widened = belief(COVARIANCE, [0.0] * 3, [-50.0] * 3, [50.0] * 3).widened(np.array([1, 2, 3]))
    expected = COVARIANCE * np.outer([1, 2, 3], [1, 2, 3])
    np.testing.assert_allclose(np.linalg.inv(widened.precision), expected, atol=1e-12)


def test_the_marginal_of_a_gaussian_is_that_of_its_covariance():
    known = Gaussian(("a", "b", "c"), np.arange(3.0), np.linalg.inv(COVARIANCE), 2.5)
    part = known.marginal([0, 2])
    assert part.names == ("a", "c")
    np.testing.assert_allclose(np.linalg.inv(part.precision), COVARIANCE[::2, ::2], atol=1e-12)
    again = Gaussian.from_dict(part.to_dict())
    np.testing.assert_array_equal(again.precision, part.precision)
    assert again.inflation == 2.5


def test_an_exact_fit_has_a_precision_and_draws_of_its_values_alone():
    known = inverted(np.array([[4.0, 1.0], [1.0, 3.0]]))
    precision = known.precision(np.zeros((2, 2)))
    assert np.isfinite(precision).all()
    exact = Belief(("a", "b"), np.array([1.0, 2.0]), precision, np.full(2, -9.0), np.full(2, 9.0))
    found = exact.draw(50, np.random.default_rng(0))
    np.testing.assert_allclose(found, np.tile([1.0, 2.0], (50, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"centre": [0.0]}, "is inconsistent: 2 names"),
        ({"precision": "x"}, "cannot be read: "),
        ({"inflation": None}, "cannot be read: "),
        ({"centre": [0, np.nan]}, "contains numbers that are not finite"),
    ],
)
def test_a_damaged_gaussian_is_refused(change, words):
    plain = Gaussian(("a", "b"), np.zeros(2), np.eye(2)).to_dict()
    with pytest.raises(FitError, match=f"the Gaussian of the parameters {words}"):
        Gaussian.from_dict({**plain, **change})
