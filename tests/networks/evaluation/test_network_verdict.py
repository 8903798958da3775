"""Verdicts on networks: baselines on unseen samples, convergence, extrapolation, the loop."""

import html
from dataclasses import replace

import numpy as np
import pytest
from recorded_joints import linear_series

from trueup.fitting import Grade
from trueup.networks import FEATURE_NAMES, AnalyticBase, fit_linear, score
from trueup.networks.evaluation.baseline_networks import base_alone
from trueup.networks.evaluation.network_verdict import (
    evaluation_verdict,
    late_gain,
    start_note,
    training_verdict,
)
from trueup.networks.evaluation.prediction_figures import score_figures
from trueup.networks.evaluation.report import evaluation_report

WEIGHTS = np.array([[2.0, -1.0, 0.3], [0.5, 0.0, -0.2]])
UNSEEN = [linear_series(WEIGHTS, 300, "b", "unseen", 5)]
GOOD = fit_linear([linear_series(WEIGHTS, 300, "a", "seen", 3)], FEATURE_NAMES, 2)
POOR = fit_linear([linear_series(WEIGHTS, 300, "a", "seen", 3)], FEATURE_NAMES, 1)
EARLY = {"stopped": "no improvement in 20 validations", "epochs": 60, "best_epoch": 40}
ENDED = {**EARLY, "late_gain": 0.0}


def metrics(network=GOOD, rival=POOR, series=UNSEEN, **more):
    scores = score(network, series, {"linear": rival}, 0.0).to_dict()
    known = {"scored_on": "test", "split_by": "file", "ended": ENDED}
    files = [{**each, "out_of_range": 0.0} for each in scores["files"]]
    return {**scores, "files": files, **known, **more}


def test_a_network_ahead_of_every_baseline_on_unseen_files_can_be_used():
    verdict = training_verdict(metrics())
    assert verdict.grade is Grade.USE
    assert set(verdict.comparisons[0].baselines) == {"a constant", "a linear model"}
    assert verdict.comparisons[0].held_out


@pytest.mark.parametrize(
    ("change", "grade", "words"),
    [
        ({"scored_on": "validation"}, Grade.LOOK, "No data was held out"),
        ({"split_by": "time"}, Grade.LOOK, "end of recordings used in training"),
        (
            {"ended": {**ENDED, "best_epoch": -1}},
            Grade.LOOK,
            "did not improve on its initial linear model",
        ),
        ({"ended": {**ENDED, "stopped": "max_epochs", "late_gain": 0.2}}, Grade.LOOK, "20 %"),
        ({"ended": {**ENDED, "stopped": "max_epochs", "late_gain": 0.004}}, Grade.USE, "0.4 %"),
        ({"ended": None}, Grade.USE, "Better than every baseline"),
        (
            {"closed_loop": [{"name": "knee", "diverged": True}]},
            Grade.DO_NOT_USE,
            "diverges on knee",
        ),
        ({"closed_loop": [{"name": "knee", "diverged": False}]}, Grade.USE, "Better than"),
    ],
)
def test_what_speaks_against_a_network_is_named(change, grade, words):
    verdict = training_verdict(metrics(**change))
    assert verdict.grade is grade
    assert any(words in reason.sentence for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"choice": {"taken": "linear within a limit"}, "ended": None}, "linear model"),
        ({"ended": {**ENDED, "epochs": 0, "best_epoch": -1}}, "linear model that it started from"),
        ({"ended": {**ENDED, "epochs": 0, "best_epoch": 0}}, "a part of an epoch"),
    ],
)
def test_a_time_that_was_over_before_the_first_epoch_is_named_first(change, words):
    verdict = training_verdict(metrics(completed_epochs=0, **change))
    assert verdict.grade is Grade.DO_NOT_USE
    assert "Give a longer train.time" in verdict.reasons[0].sentence
    assert words in verdict.reasons[0].sentence
    own = [r for r in verdict.reasons if "initial linear" in r.sentence or "taken" in r.sentence]
    assert not own  # no second reason for the same
    assert training_verdict(metrics(completed_epochs=1)).grade is Grade.USE


TABLE = {
    "recordings": ["slow", "fast", "hard"],
    "deviations": [2.0, 4.0, 10.0],
    "rmse": {"constant": [2.0, 4.0, 10.0], "linear": [1.2, 2.4, 8.0], "trained": [0.8, 1.6, 7.0]},
}


def left_out(taken="trained", table=True, network=GOOD, rival=POOR, **errors):
    """Metrics of an easy test part, and a choice by recordings left out with these errors [N m]."""
    rmse = {**TABLE["rmse"], **errors}
    scale = np.array(TABLE["deviations"])
    relative = {n: float(np.sqrt(np.mean((np.array(e) / scale) ** 2))) for n, e in rmse.items()}
    kept = {**TABLE, "rmse": rmse, "settled": rmse} if table else None
    choice = {"taken": taken, "left_out_errors": relative, "left_out": kept}
    return metrics(network, rival, choice=choice), relative


@pytest.mark.parametrize(
    ("errors", "grade", "words"),
    [
        ({}, Grade.USE, "Better than every baseline"),
        ({"trained": [0.8, 1.6, 8.4]}, Grade.LOOK, "hard, held out RMSE 8.4"),
        ({"trained": [2.4, 4.8, 9.0]}, Grade.DO_NOT_USE, "Worse than a linear model"),
        (
            {"trained": [2.0, 4.0, 9.9], "linear": [3.0, 6.0, 15.0]},
            Grade.DO_NOT_USE,
            "not better than a constant",
        ),
    ],
)
@pytest.mark.parametrize("table", [True, False])
def test_recordings_left_out_decide_however_easy_the_test_part_is(errors, grade, words, table):
    assert training_verdict(metrics()).grade is Grade.USE
    scores, relative = left_out(table=table, **errors)
    verdict = training_verdict(scores)
    if table or grade is not Grade.LOOK:  # a run of an older trueup keeps no single recordings
        assert verdict.grade is grade
        assert any(words in reason.sentence for reason in verdict.reasons)
    sentence = f"the error is {relative['trained']:.3g} of the standard deviation of the torque"
    assert any(sentence in reason.sentence for reason in verdict.reasons)
    assert all(each.held_out for each in verdict.comparisons)


def test_the_worst_recording_left_out_is_named_in_verdict_and_tiles():
    scores, relative = left_out()
    sentences = [reason.sentence for reason in training_verdict(scores).reasons]
    assert any("largest: 0.7" in sentence for sentence in sentences)
    first, second, *_ = score_figures(scores).figures
    assert first.value == pytest.approx(relative["trained"])
    assert second.value == pytest.approx(1.0 - relative["trained"] ** 2)
    assert "linear" in first.note and "hard 0.7" in first.note
    plain = score_figures(metrics()).figures
    assert not any("left out" in figure.label for figure in plain)


def test_recordings_left_out_say_what_the_end_of_known_recordings_cannot():
    ends = {"split_by": "time"}
    words = "end of recordings used in training"
    scores, _ = left_out()
    known = training_verdict({**scores, **ends})
    assert known.grade is Grade.USE
    assert not any(words in reason.sentence for reason in known.reasons)
    assert any(words in r.sentence for r in training_verdict(metrics(**ends)).reasons)


def test_recordings_left_out_stand_in_for_a_test_part():
    scores, _ = left_out()
    assert training_verdict({**scores, "scored_on": "validation"}).grade is Grade.USE


def test_a_linear_model_that_was_taken_is_compared_with_what_is_simpler():
    scores, _ = left_out("linear", network=POOR)
    verdict = training_verdict(scores)
    assert verdict.grade is Grade.USE
    assert {name for c in verdict.comparisons for name in c.baselines} == {"a constant"}
    assert any("A linear model was taken" in r.sentence for r in verdict.reasons)
    useless, _ = left_out("linear", network=POOR, linear=[2.0, 4.0, 9.9])
    assert training_verdict(useless).grade is Grade.DO_NOT_USE


def test_a_network_that_a_baseline_beats_is_never_green():
    worse = training_verdict(metrics(POOR, GOOD))
    assert worse.grade is Grade.DO_NOT_USE
    same = training_verdict(metrics(POOR, POOR))
    assert same.grade is Grade.LOOK
    page = evaluation_report(POOR, UNSEEN, score(POOR, UNSEEN, {"linear": GOOD}), verdict=worse)
    text = html.unescape(page.html())
    assert worse.reasons[0].sentence in text
    # the controller's estimate, here one without error, grades only what is deployed with it
    told = [replace(UNSEEN[0], reference_torque=UNSEEN[0].torque + 1e-9)]
    informed = metrics(POOR, fit_linear(told, FEATURE_NAMES[:1], 1), told)
    verdict = training_verdict(informed)
    assert verdict.grade is Grade.USE
    assert any("The controller's estimate, which uses" in r.sentence for r in verdict.reasons)
    verdict = training_verdict({**informed, "not_deployable": ["current_a"]})
    assert verdict.grade is Grade.DO_NOT_USE
    assert any("the controller's estimate" in r.sentence for r in verdict.reasons)


def test_the_base_alone_is_a_baseline():
    base = AnalyticBase(kp=3.0, kd=0.4, target_velocity=True)
    velocity = np.gradient(UNSEEN[0].channels["target_angle_rad"], 0.01)
    channels = {**UNSEEN[0].channels, "target_ang_vel_rad_s": velocity}
    series = replace(UNSEEN[0], channels=channels)
    alone = score(base_alone(base, 100.0), [series]).series[0].predicted
    np.testing.assert_allclose(alone, base.torque(series.features(base.features)))
    scores = score(GOOD, [series], {"base": base_alone(base, 100.0)}).to_dict()
    compared = evaluation_verdict(scores, True).comparisons[0]
    assert compared.baselines["the base alone"] == scores["others_settled"]["base"]["rmse"]


def test_the_worst_group_held_out_decides():
    good, worse = metrics(), metrics(POOR, GOOD)
    assert training_verdict({"folds": {"a": good, "b": good}}).grade is Grade.USE
    verdict = training_verdict({"folds": {"a": good, "b": worse}})
    assert verdict.grade is not Grade.USE


def test_samples_outside_the_range_of_training_are_looked_at_unless_they_are_predicted():
    good = metrics()
    file = {**good["files"][0], "out_of_range": 0.4}
    verdict = training_verdict({"folds": {"a": good, "b": {**good, "files": [file]}}})
    assert verdict.grade is Grade.USE
    reasons = [r for r in verdict.reasons if r.sentence.startswith("b: More than 5 % of unseen")]
    assert "better than every baseline there" in reasons[0].sentence
    # no better than chance gives
    file["settled"] = {**file["settled"], "pieces": file["others_settled"]["linear"]["pieces"]}
    verdict = training_verdict({"folds": {"a": good, "b": {**good, "files": [file]}}})
    assert verdict.grade is Grade.LOOK
    assert "the network extrapolates there" in verdict.reasons[0].sentence


def test_an_evaluation_says_whether_the_recordings_were_seen():
    scores = metrics()
    assert evaluation_verdict(scores, True).grade is Grade.USE
    assert evaluation_verdict(scores, False).grade is Grade.LOOK
    assert "is unknown" in evaluation_verdict(scores, None).reasons[0].sentence


def test_a_baseline_without_error_is_no_division_by_zero():
    still = replace(UNSEEN[0], torque=np.zeros(300), reference_torque=np.zeros(300))
    flat = fit_linear([still], FEATURE_NAMES, 1)
    assert training_verdict(metrics(GOOD, flat, [still])).grade is Grade.DO_NOT_USE
    assert training_verdict(metrics(flat, flat, [still])).grade is Grade.LOOK


def test_the_cost_of_a_cold_start_is_told_where_it_is_large():
    scores = {"rmse": 1.3, "settled": {"rmse": 1.0}}
    assert "1.30 times" in start_note(scores)
    assert start_note({**scores, "rmse": 1.1}) == ""


def test_the_gain_of_the_last_epochs():
    assert late_gain([4.0, 3.0, 2.0, 1.0]) == pytest.approx(0.5)
    assert late_gain([1.0, 2.0]) == 0.0
    assert late_gain([10.0 - k for k in range(10)]) == pytest.approx(0.5)
    assert late_gain([1.0]) is None
