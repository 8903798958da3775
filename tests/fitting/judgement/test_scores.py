"""Scores a channel, trivial predictors, and the answers for channels without spread."""

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting.judgement.scores import ScoredSequence, channel_scores, compare_predictors

TIME = np.linspace(0.0, 10.0, 500)
SINE = np.sin(TIME)


def test_scores_follow_their_definitions():
    measured = np.column_stack([SINE, 3.0 + 2.0 * SINE])
    predicted = measured + np.column_stack([0.1 * np.cos(TIME), np.full(500, 0.5)])
    first, second = channel_scores(measured, predicted, ["position", "torque"])
    error = 0.1 * np.cos(TIME)
    spread = SINE - SINE.mean()
    assert first.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    expected = 100.0 * (1.0 - np.linalg.norm(error) / np.linalg.norm(spread))
    assert first.fit_percent == pytest.approx(expected)
    assert first.r2 == pytest.approx(1.0 - error @ error / (spread @ spread))
    assert first.vaf == pytest.approx(100.0 * (1.0 - np.var(error) / np.var(SINE)))
    assert second.channel == "torque"
    assert second.vaf == pytest.approx(100.0)
    assert second.fit_percent < 100.0 * (1.0 - 0.3)


def test_perfect_mean_and_wrong():
    measured = SINE[:, None]
    assert channel_scores(measured, measured)[0].fit_percent == 100.0
    mean = np.full_like(measured, SINE.mean())
    assert channel_scores(measured, mean)[0].r2 == pytest.approx(0.0, abs=1e-12)
    assert channel_scores(measured, -measured)[0].fit_percent < 0.0


@pytest.mark.parametrize(("offset", "percent"), [(0.0, 100.0), (0.1, 0.0)])
@pytest.mark.parametrize("level", [0.0, 7.3, 1e9])
def test_a_constant_channel_has_finite_scores(offset, percent, level):
    measured = np.full((100, 1), level)
    (score,) = channel_scores(measured, measured + offset)
    assert score.constant
    assert (score.fit_percent, score.vaf, score.r2) == (percent, percent, percent / 100.0)
    assert score.rmse == pytest.approx(offset, rel=1e-5)


def test_sequences_are_pooled_by_sample():
    long, short = np.zeros((90, 1)), np.ones((10, 1))
    (score,) = channel_scores([long, short], [long + 0.1, short])
    assert score.rmse == pytest.approx(np.sqrt(0.9 * 0.01))
    assert score.samples == 100


def sequence(scale, offset=0.0, name="run"):
    measured = np.column_stack([scale * SINE + offset])
    return ScoredSequence(
        measured, {"identified": measured + 0.01, "initial": 0.5 * measured}, name
    )


def test_every_predictor_is_scored_on_every_set():
    table = compare_predictors(
        {"training": [sequence(1.0)], "held-out": [sequence(2.0, 5.0)]}, ["position"]
    )
    assert {row.part for row in table.rows} == {"training", "held-out"}
    assert [r.predictor for r in table.rows if r.part == "training"] == [
        "identified",
        "initial",
        "mean of training",
        "hold first value",
    ]
    assert table.row("training", "mean of training").channels[0].r2 == pytest.approx(0.0, abs=1e-9)
    # The held-out set is judged by the mean of the training set, not by its own.
    expected = np.sqrt(np.mean((2.0 * SINE + 5.0 - SINE.mean()) ** 2))
    assert table.row("held-out", "mean of training").channels[0].rmse == pytest.approx(expected)
    held = table.row("held-out", "hold first value").channels[0].rmse
    assert held == pytest.approx(np.sqrt(np.mean((2.0 * SINE) ** 2)))
    assert table.remarks == ()


def test_a_fit_worse_than_trivial_is_told():
    measured = SINE[:, None]
    bad = ScoredSequence(measured, {"identified": -measured, "initial": 0.9 * measured})
    table = compare_predictors({"training": [bad]}, ["position"])
    assert len(table.remarks) == 3
    assert "a constant (mean of training)" in table.remarks[0]
    assert "that of the initial model only 0.069" in table.remarks[2]


def test_a_window_may_hold_the_first_value_of_its_record():
    later = ScoredSequence(
        SINE[100:, None], {"identified": SINE[100:, None]}, start=np.array([SINE[0]])
    )
    table = compare_predictors({"training": [later]})
    expected = np.sqrt(np.mean((SINE[100:] - SINE[0]) ** 2))
    assert table.row("training", "hold first value").channels[0].rmse == pytest.approx(expected)


def test_wrong_arguments_are_named():
    with pytest.raises(FitError, match="measured has shape"):
        channel_scores(np.zeros((5, 1)), np.zeros((4, 1)))
    with pytest.raises(FitError, match="1 values are not finite"):
        channel_scores(np.zeros((2, 1)), np.array([[0.0], [np.nan]]))
    with pytest.raises(FitError, match="expected 1 channel names, found 2"):
        channel_scores(np.zeros((5, 1)), np.zeros((5, 1)), ["a", "b"])
    with pytest.raises(FitError, match="at least one sample, found none"):
        channel_scores(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(FitError, match="no training set 'training'; available: 'held-out'"):
        compare_predictors({"held-out": [sequence(1.0)]})
    with pytest.raises(FitError, match="no sequence in 'held-out'"):
        compare_predictors({"training": [sequence(1.0)], "held-out": []})
    with pytest.raises(FitError, match="no scores for training/best"):
        compare_predictors({"training": [sequence(1.0)]}).row("training", "best")
    odd = ScoredSequence(SINE[:, None], {"identified": SINE[:, None]}, "odd")
    with pytest.raises(FitError, match="'odd' has predictions"):
        compare_predictors({"training": [sequence(1.0), odd]})
