"""Noise of measured starts over plain arrays: its size, and how it pulls on the optimum."""

import numpy as np

from trueup.fitting.uncertainty.start_noise import noise_from_changes, pulls_of_starts


def test_noise_is_seen_beneath_a_slow_error_and_a_jump_between_windows_is_not():
    random = np.random.default_rng(0)
    slow = np.sin(np.linspace(0.0, 3.0, 4000))[:, None] * [1.0, 5.0]
    slow[2000:] += 100.0  # another window starts elsewhere
    errors = slow + random.normal(size=slow.shape) * [0.1, 0.02]
    np.testing.assert_allclose(noise_from_changes(errors, [2000]), [0.1, 0.02], rtol=0.05)
    assert (noise_from_changes(errors) > 1.0).all()


def test_gaps_are_left_out_of_the_noise():
    errors = np.array([[0.0, np.nan], [np.nan, np.nan], [1.0, np.nan], [3.0, 1.0]])
    first, second = noise_from_changes(errors)
    assert first == np.sqrt(4.0 / 2.0)
    assert np.isnan(second)


def test_a_pull_is_the_weighted_product_of_slopes_and_effect_over_its_own_stretch():
    random = np.random.default_rng(1)
    effects, weights = random.normal(size=(3, 10, 2)), random.uniform(1, 2, (10, 2))
    jacobian = random.normal(size=(10, 2, 4))
    found = pulls_of_starts(effects, weights, jacobian, [0, 3, 7])
    for start, (first, end) in enumerate([(0, 3), (3, 7), (7, 10)]):
        for error in range(3):
            expected = sum(
                jacobian[t, c] * weights[t, c] * effects[error, t, c]
                for t in range(first, end)
                for c in range(2)
            )
            np.testing.assert_allclose(found[start, error], expected, rtol=1e-12)
