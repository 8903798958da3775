"""Profile likelihood: the linear case exactly, lopsided and open ends."""

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting.uncertainty import SequenceFit, estimate_covariance, profile_likelihood


def test_a_linear_problem_gives_the_linear_intervals():
    rng = np.random.default_rng(0)
    design = rng.standard_normal((300, 1, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]])
    target = design @ [2.0, -1.0] + 0.1 * rng.standard_normal((300, 1))
    flat = design[:, 0]
    best = np.linalg.lstsq(flat, target[:, 0], rcond=None)[0]

    def cost_with(index, value):
        other = 1 - index
        rest = target[:, 0] - flat[:, index] * value
        solution = np.linalg.lstsq(flat[:, [other]], rest, rcond=None)[0]
        return 0.5 * np.sum((rest - flat[:, other] * solution[0]) ** 2)

    residual = (flat @ best)[:, None] - target
    estimate = estimate_covariance([SequenceFit(residual, design)], "classical")
    profiles = profile_likelihood(
        cost_with,
        best,
        estimate.half_widths * [0.3, 4.0],
        0.5 * np.sum(residual**2),
        estimate.variance_inflation,
        estimate.dof,
        tolerance=1e-6,
    )
    for i, profile in enumerate(profiles):
        assert profile.lower == pytest.approx(best[i] - estimate.half_widths[i], rel=1e-4)
        assert profile.upper == pytest.approx(best[i] + estimate.half_widths[i], rel=1e-4)
        assert not (profile.lower_open or profile.upper_open)
        assert profile.remarks == ()


def test_an_interval_may_be_lopsided():
    # cost = (log x)^2 / 2: the interval is symmetric in log x.
    profile = profile_likelihood(
        lambda _, value: 0.5 * np.log(value) ** 2,
        np.ones(1),
        np.full(1, 0.5),
        0.0,
        0.04,
        1e9,
        lower=np.array([1e-3]),
        tolerance=1e-6,
    )[0]
    assert profile.upper == pytest.approx(np.exp(1.96 * 0.2), rel=1e-4)
    assert profile.lower == pytest.approx(np.exp(-1.96 * 0.2), rel=1e-4)


def test_open_ends_are_flagged():
    def flat_above(_, value):
        return 0.5 * min(value - 1.0, 0.0) ** 2

    bounded = profile_likelihood(
        flat_above,
        np.ones(1),
        np.full(1, np.inf),
        0.0,
        1e-4,
        100,
        upper=np.array([3.0]),
        names=["gear"],
    )[0]
    assert (bounded.upper, bounded.upper_open, bounded.lower_open) == (3.0, True, False)
    assert "gear is not limited above" in bounded.remarks[0]
    unbounded = profile_likelihood(flat_above, np.ones(1), np.full(1, 0.1), 0.0, 1e-4, 100)[0]
    assert unbounded.upper == np.inf


def test_a_parameter_on_its_bound_stays_there():
    profile = profile_likelihood(
        lambda _, value: 0.5 * (value - 0.9) ** 2,
        np.ones(1),
        np.full(1, 0.1),
        0.005,
        0.01,
        50,
        lower=np.ones(1),
    )[0]
    assert (profile.lower, profile.lower_open) == (1.0, True)


def test_better_fits_and_failed_fits_are_told():
    def cost(_, value):
        return np.nan if value > 2.5 else 0.5 * (value - 1.5) ** 2

    profile = profile_likelihood(cost, np.ones(1), np.full(1, 0.4), 0.125, 1.0, 50)[0]
    text = " ".join(profile.remarks)
    assert "a better fit was found" in text
    assert "failed" in text
    assert np.isfinite(profile.upper)


def test_wrong_arguments_are_named():
    with pytest.raises(FitError, match="half_widths has shape"):
        profile_likelihood(lambda *_: 0.0, np.ones(2), np.ones(1), 0.0, 1.0, 5)
    with pytest.raises(FitError, match="must be positive"):
        profile_likelihood(lambda *_: 0.0, np.ones(1), np.ones(1), 0.0, 0.0, 5)
