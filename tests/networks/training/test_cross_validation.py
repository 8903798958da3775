"""A trained network is compared with its baselines on whole recordings held out in turn."""

import json

import numpy as np
import pytest
from tests.networks.training.test_network_choice import settings_of, write_recordings
from tests.networks.training_recordings import made_series

pytest.importorskip("lightning")

from trueup.networks import FEATURE_NAMES, split_global, train
from trueup.networks.evaluation.metrics import predict_series
from trueup.networks.evaluation.network_verdict import choice_words
from trueup.networks.evaluation.report import training_report
from trueup.networks.model.network_file import load_network
from trueup.networks.training.cross_validation import (
    SHARES,
    best_of,
    folds_of,
    held_out_errors,
    mixture,
    mixture_name,
    mixtures,
)
from trueup.networks.training.network_training import template_network, with_linear_skip
from trueup.networks.training.settings import ModelSettings, ModelType
from trueup.networks.training.simple_networks import simple_networks

SERIES = [made_series(seed, group=f"g{seed}") for seed in range(3)]
SPLIT = split_global(SERIES, by="stretch")


def test_folds_leave_each_recording_out_and_test_on_all_of_it():
    folds = folds_of(split_global(SERIES, 0.85, 0.15, by="stretch"))
    assert len(folds) == 3
    for fold, series in zip(folds, SERIES, strict=True):
        (whole,) = fold.test
        np.testing.assert_array_equal(whole.torque, series.torque)
        np.testing.assert_array_equal(whole.features(FEATURE_NAMES), series.features(FEATURE_NAMES))
        assert all(each.name != series.name for each in (*fold.training, *fold.validation))
    # stretches that are tested on are in no fold
    ends = [each.start + len(each) / each.rate for fold in folds_of(SPLIT) for each in fold.test]
    begins = [each.start for each in SPLIT.test]
    np.testing.assert_allclose(ends, begins)


def test_there_are_no_folds_where_whole_recordings_validate_or_two_are_all():
    assert folds_of(split_global(SERIES, 0.34, 0.33, by="file")) == []
    assert folds_of(split_global(SERIES[:2], by="stretch")) == []


@pytest.mark.parametrize(("family", "skip"), [("gru", False), ("gru", True), ("mlp", True)])
def test_a_mixture_gives_the_mixture_of_both_torques(family, skip):
    model = ModelSettings(ModelType(family), gru_hidden_dim=5, gru_num_layers=2, history=4,
                          linear_skip=skip)  # fmt: skip
    network = template_network(SPLIT.training, FEATURE_NAMES, model, seed=3)
    random = np.random.default_rng(0)
    moved = {n: random.normal(0.0, 0.3, v.shape).astype(v.dtype)
             for n, v in network.weights.items()}  # fmt: skip
    network.weights.update(moved)
    linear = with_linear_skip(network, SPLIT.training, 0.0)
    own, straight = (predict_series(each, SERIES[0]) for each in (network, linear))
    mixed = predict_series(mixture(network, linear, 0.25), SERIES[0])
    np.testing.assert_allclose(mixed, 0.25 * own + 0.75 * straight, atol=1e-5)
    found = mixtures(network, SPLIT.training, 0.0)
    assert found["trained"] is network
    half = predict_series(found["trained, 50 % beside a linear model"], SERIES[0])
    np.testing.assert_allclose(half, 0.5 * own + 0.5 * straight, atol=1e-5)


def test_the_simplest_of_equals_is_taken():
    errors = {"constant": 1.0, "linear": 0.502, mixture_name(0.5): 0.5, "trained": 0.9}
    assert best_of(errors) == "linear"
    assert best_of({**errors, "linear": 0.6}) == "trained, 50 % beside a linear model"


def test_errors_are_in_deviations_of_the_recording_that_is_left_out():
    folds = folds_of(split_global(SERIES, 0.85, 0.15, by="stretch"))
    model = ModelSettings(ModelType("gru"), gru_hidden_dim=3, gru_num_layers=1, linear_skip=True)

    def start(fold, number):
        assert fold is folds[number]
        return template_network(fold.training, FEATURE_NAMES, model, seed=number)

    simple = simple_networks(SPLIT, FEATURE_NAMES, None)
    found = held_out_errors(folds, start, simple, 0.0)
    errors = found.relative()
    assert set(errors) == {*simple, *map(mixture_name, SHARES)}
    assert len(found.recordings) == len(folds)
    squares = []
    for fold in folds:
        mean = np.concatenate([each.torque for each in fold.training]).mean()
        torque = fold.test[0].torque
        squares.append(np.mean((torque - mean) ** 2) / torque.var())
    rmse = np.sqrt(np.array(squares)) * found.deviations
    np.testing.assert_allclose(found.rmse["constant"], rmse, rtol=1e-6)
    assert errors["constant"] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-6)
    # a network that is not trained is its linear start in every mixture
    assert errors["trained"] == pytest.approx(errors[mixture_name(0.25)], rel=1e-4)


def test_a_run_takes_what_is_best_on_recordings_left_out(tmp_path):
    folder = write_recordings(tmp_path / "data", 3)
    result = train(settings_of(folder), tmp_path / "run", verbose=False)
    choice = json.loads((tmp_path / "run" / "metrics.json").read_text())["choice"]
    assert set(choice["left_out_errors"]) == set(choice["validation_errors"])
    assert choice["taken"] == best_of(choice["left_out_errors"])
    words = choice_words(choice, load_network(tmp_path / "run" / "network.safetensors"))
    assert "on recordings held out in turn" in words
    assert result.metrics["choice"] == choice
    # verdict and page take the same table
    reasons = [reason["sentence"] for reason in result.metrics["verdict"]["reasons"]]
    error = choice["left_out_errors"][choice["taken"]]
    assert any(
        f"the error is {error:.3g} of the standard deviation of the torque" in each
        for each in reasons
    )
    channels = [each["channel"] for each in result.metrics["verdict"]["comparisons"]]
    assert channels == [
        *(f"torque of {n}, held out" for n in choice["left_out"]["recordings"]),
        "torque of recordings held out",
        "torque",
    ]
    page = training_report(tmp_path / "run").html()
    assert "Recordings held out in turn" in page
    assert "error on recordings held out in turn" in page
