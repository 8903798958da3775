"""Grades of a network by recordings that it has not seen: gain over chance, single recordings."""

import numpy as np
import pytest
from test_network_verdict import ENDED, metrics

from trueup.fitting import Grade
from trueup.networks.evaluation.cross_validation import UnseenRecording
from trueup.networks.evaluation.network_verdict import training_verdict
from trueup.networks.evaluation.unseen_recordings import gain_over, judged_recordings

LINEAR, CONSTANT = "a linear model", "a constant"


def choice(gains, pieces=8, spread=0.1, seed=0, taken="trained", scale=1.0):
    """A choice by recordings held out, on which a linear model errs by 1 N m, and a network by a
    factor."""
    rng = np.random.default_rng(seed)
    linear = [1.0 + spread * rng.random(pieces) for _ in gains]
    network = [
        gain**2 * sums * (1.0 + spread * rng.standard_normal(pieces))
        for gain, sums in zip(gains, linear, strict=True)
    ]
    sums = {"constant": [[9.0] * pieces] * len(gains), "linear": linear, taken: network}
    sums = {name: [list(scale * np.asarray(s)) for s in each] for name, each in sums.items()}
    rmse = {name: [float(np.sqrt(np.mean(s))) for s in each] for name, each in sums.items()}
    relative = {name: float(np.sqrt(np.mean(np.square(e)))) / 3.0 for name, e in rmse.items()}
    table = {
        "recordings": [f"run_{k}" for k in range(len(gains))],
        "deviations": [3.0] * len(gains),
        "rmse": rmse,
        "settled": rmse,
        "pieces": sums,
    }
    return {"taken": taken, "left_out_errors": relative, "left_out": table}


def verdict(gains, **options):
    return training_verdict({**metrics(), "choice": choice(gains, **options)})


def sentences(found):
    return " ".join(reason.sentence for reason in found.reasons)


@pytest.mark.parametrize("gains", [[0.96] * 6, [0.9, 0.95, 0.93, 0.97], [0.5, 0.6, 0.7]])
def test_a_gain_that_is_the_same_on_all_recordings_is_said(gains):
    found = verdict(gains, spread=0.02)
    assert found.grade is Grade.USE
    assert f"better than {LINEAR} over {len(gains)} recordings held out" in sentences(found)


def test_a_gain_that_chance_gives_leaves_a_linear_model():
    found = verdict([0.6, 1.05, 0.8, 1.06], spread=0.05)
    assert found.grade is Grade.LOOK
    text = sentences(found)
    assert "A linear model is enough" in text and "which chance gives too" in text
    assert "trueup network export RUN/linear.safetensors" in text


def test_gains_of_equal_networks_are_seldom_certain():
    """Networks that are as good as a linear model count as better in one of twenty, not more."""
    certain = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        table = choice(np.exp(0.1 * rng.standard_normal(5)), seed=seed)["left_out"]
        recordings = [
            UnseenRecording(
                name, 3.0, table["settled"]["trained"][k], {LINEAR: table["settled"]["linear"][k]},
                table["pieces"]["trained"][k], {LINEAR: table["pieces"]["linear"][k]},
            )
            for k, name in enumerate(table["recordings"])
        ]  # fmt: skip
        found = gain_over(recordings, LINEAR)
        assert found is not None
        certain += found[1]
    assert certain <= 0.07 * 400


def test_the_recording_on_which_a_linear_model_is_better_is_named():
    found = verdict([0.5, 0.6, 1.4, 0.55], spread=0.05)
    assert found.grade is Grade.LOOK
    assert "Worse than a linear model on run_2: run_2, held out RMSE" in sentences(found)
    channels = [each.channel for each in found.comparisons]
    assert [f"torque of run_{k}, held out" for k in range(4)] == channels[:4]
    assert found.comparisons[2].baselines[LINEAR] < found.comparisons[2].error
    # a difference that chance gives is none
    assert verdict([0.5, 0.6, 1.01, 0.55], spread=0.3).grade is Grade.USE


def test_the_recording_that_is_not_predicted_is_named():
    found = verdict([0.5, 0.6, 3.1, 0.55], spread=0.05)
    assert found.grade is not Grade.USE
    assert "The network does not predict run_2: run_2 3." in sentences(found)
    alone = UnseenRecording("a", 1.0, 0.99, {CONSTANT: 1.0})
    assert judged_recordings([alone], CONSTANT)[0].grade is Grade.LOOK


def test_a_simpler_network_is_compared_with_simpler_ones():
    found = verdict([0.5] * 4, taken="linear within a limit")
    assert found.grade is Grade.USE
    assert "A linear model within a torque limit was taken" in sentences(found)
    assert {CONSTANT, LINEAR} == set(found.comparisons[0].baselines)


def test_a_contradicting_recording_leads_the_verdict():
    wrong = {"recording": "b", "sentence": "b: its sign is reversed.", "certain": True}
    found = training_verdict(
        {**metrics(ended={**ENDED, "best_epoch": -1}), "contradictions": [wrong]}
    )
    assert found.grade is Grade.DO_NOT_USE and found.reasons[0].sentence == wrong["sentence"]
    doubtful = training_verdict({**metrics(), "contradictions": [{**wrong, "certain": False}]})
    assert doubtful.grade is Grade.LOOK and doubtful.reasons[0].sentence == wrong["sentence"]
