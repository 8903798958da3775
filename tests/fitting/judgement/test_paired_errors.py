"""Which of two predictions is worse by more than chance, and which estimates contradict."""

import numpy as np
import pytest
from scipy.signal import lfilter

from trueup.fitting.judgement.paired_errors import block_sums, is_clearly_worse
from trueup.fitting.uncertainty import contradiction_ratio


def pair(seed: int, own: float = 1.0, memory: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares of two predictions with the same noise, of which one has ``own`` times it."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(2, 2000))
    errors = lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], errors)
    first, second = np.square(errors)
    return block_sums(own**2 * first), block_sums(second)


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_equally_good_predictions_are_not_told_apart(memory):
    count = 300
    wrong = sum(is_clearly_worse(*pair(seed, memory=memory)) for seed in range(count))
    assert wrong <= 3


def test_a_clear_difference_is_seen_whichever_pieces_hold_it():
    assert all(is_clearly_worse(*pair(seed, own=1.3)) for seed in range(20))
    assert not any(is_clearly_worse(*reversed(pair(seed, own=1.3))) for seed in range(20))
    # one piece holds nearly all of the error, and every piece is worse
    other = np.geomspace(1.0, 1e6, 16)
    assert is_clearly_worse(3.0 * other, other)
    # one piece alone is worse
    alone = other.copy()
    alone[-1] *= 3.0
    assert not is_clearly_worse(alone, other)


def test_few_pieces_need_a_large_ratio():
    assert not is_clearly_worse(np.array([4.0, 4.0]), np.array([1.0, 1.0]))
    assert is_clearly_worse(np.array([400.0, 400.0]), np.array([1.0, 1.0]))


def test_a_prediction_that_diverges_is_worse_than_one_that_does_not():
    assert is_clearly_worse(np.array([1.0, np.inf, 1.0, 1.0]), np.ones(4))
    assert not is_clearly_worse(np.ones(4), np.full(4, np.inf))
    assert not is_clearly_worse(np.full(4, np.inf), np.full(4, np.inf))


def test_estimates_of_many_unknowns_have_to_lie_further_apart():
    few, many = contradiction_ratio(1, 0.95), contradiction_ratio(12, 0.95)
    assert 1.2 < few < many < 2.0
    # so many unknowns that are all the same are said to differ in one of a hundred fits
    draws = np.abs(np.random.default_rng(0).normal(size=(20_000, 12))) / 1.959964
    assert np.mean((draws > many).any(axis=1)) == pytest.approx(0.01, abs=0.003)
    assert np.mean((draws > 1.0).any(axis=1)) > 0.4
    # a width from few degrees of freedom is uncertain itself
    assert contradiction_ratio(12, 0.95, 5.0) > many
    np.testing.assert_allclose(contradiction_ratio(2, 0.95, [np.inf, np.nan, 0.0])[0], 1.4321, 1e-3)
