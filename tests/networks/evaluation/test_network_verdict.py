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
        ({"scored_on": "validation"}, Grade.LOOK, "Nothing was held out"),
        ({"split_by": "time"}, Grade.LOOK, "end of recordings that were trained on"),
        ({"ended": {**ENDED, "best_epoch": -1}}, Grade.LOOK, "did not better its linear start"),
        ({"ended": {**ENDED, "stopped": "max_epochs", "late_gain": 0.2}}, Grade.LOOK, "20 %"),
        ({"ended": {**ENDED, "stopped": "max_epochs", "late_gain": 0.004}}, Grade.USE, "0.4 %"),
        ({"ended": None}, Grade.USE, "Better than every baseline"),
        ({"closed_loop": [{"name": "knee", "diverged": True}]}, Grade.DO_NOT_USE, "along knee"),
        ({"closed_loop": [{"name": "knee", "diverged": False}]}, Grade.USE, "Better than"),
    ],
)
def test_what_speaks_against_a_network_is_named(change, grade, words):
    verdict = training_verdict(metrics(**change))
    assert verdict.grade is grade
    assert any(words in reason.sentence for reason in verdict.reasons)


def test_a_network_that_a_baseline_beats_is_never_green():
    worse = training_verdict(metrics(POOR, GOOD))
    assert worse.grade is Grade.DO_NOT_USE
    same = training_verdict(metrics(POOR, POOR))
    assert same.grade is Grade.LOOK
    page = evaluation_report(POOR, UNSEEN, score(POOR, UNSEEN, {"linear": GOOD}), verdict=worse)
    text = html.unescape(page.html())
    assert worse.reasons[0].sentence in text
    # a controller's own estimate is a baseline too, here one without error
    told = [replace(UNSEEN[0], reference_torque=UNSEEN[0].torque + 1e-9)]
    verdict = training_verdict(metrics(POOR, fit_linear(told, FEATURE_NAMES[:1], 1), told))
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
    far = {**good, "files": [{**good["files"][0], "out_of_range": 0.4}]}
    verdict = training_verdict({"folds": {"a": good, "b": far}})
    assert verdict.grade is Grade.LOOK
    assert any(r.sentence.startswith("b: More than 5 %") for r in verdict.reasons)


def test_an_evaluation_says_whether_the_recordings_were_seen():
    scores = metrics()
    assert evaluation_verdict(scores, True).grade is Grade.USE
    assert evaluation_verdict(scores, False).grade is Grade.LOOK
    assert "is not known" in evaluation_verdict(scores, None).reasons[0].sentence


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
