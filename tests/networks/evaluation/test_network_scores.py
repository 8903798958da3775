"""Scores over whole recordings from a cold start, and the linear baseline beside them."""

import json

import numpy as np
import pytest
from recorded_joints import linear_series

from trueup.errors import ColumnError, FitError, SignalError
from trueup.networks import (
    FEATURE_NAMES,
    ActuatorSeries,
    AnalyticBase,
    NetworkRuntime,
    Scores,
    fit_linear,
    fit_linear_chosen,
    predict_series,
    score,
    split_global,
)
from trueup.networks.evaluation.metrics import frequency_bands, speed_bands

WEIGHTS = np.array([[2.0, -1.0, 0.3], [0.5, 0.0, -0.2], [0.0, 0.7, 0.1]])


def noisy(series, deviation, seed=1):
    noise = deviation * np.random.default_rng(seed).standard_normal(len(series))
    return ActuatorSeries(
        series.name, series.group, series.rate, series.channels, series.torque + noise
    )


def test_linear_fit_finds_the_weights_of_a_linear_actuator():
    training = [linear_series(WEIGHTS, 400, seed=seed) for seed in range(2)]
    network = fit_linear(training, FEATURE_NAMES, 3, ridge=0.0)
    stats = network.normalization
    scaled = network.weights["layers.0.weight"][0].reshape(3, 3)
    found = (stats.output_deviation * scaled / stats.input_deviation[:, None]).T
    np.testing.assert_allclose(found, WEIGHTS, atol=1e-8)
    fresh = linear_series(WEIGHTS, 300, seed=9)
    predicted = predict_series(network, fresh)
    np.testing.assert_allclose(predicted[3:], fresh.torque[3:], atol=1e-7)


def test_linear_fit_agrees_with_ordinary_least_squares():
    series = noisy(linear_series(WEIGHTS, 300), 0.5)
    network = fit_linear([series], FEATURE_NAMES, 1, ridge=0.0)
    design = np.column_stack([series.features(FEATURE_NAMES), np.ones(len(series))])
    wanted = design @ np.linalg.lstsq(design, series.torque, rcond=None)[0]
    np.testing.assert_allclose(predict_series(network, series), wanted, atol=1e-9)


def test_linear_fit_over_a_base_learns_what_the_base_leaves():
    base = AnalyticBase(kp=3.0, kd=0.2, k_spring=1.0)
    series = linear_series(np.array([[1.0, 2.0, 0.5]]))
    network = fit_linear([series], FEATURE_NAMES, 1, base, ridge=0.0)
    np.testing.assert_allclose(predict_series(network, series), series.torque, atol=1e-9)
    rest = series.torque - base.torque(series.features(base.features))
    assert network.normalization.output_mean == pytest.approx(rest.mean())
    assert network.normalization.output_deviation == pytest.approx(rest.std())


def test_the_history_is_chosen_on_validation():
    parts = [noisy(linear_series(WEIGHTS, 2000, seed=s), 0.05, s) for s in (1, 2)]
    network = fit_linear_chosen(parts[:1], parts[1:], FEATURE_NAMES, histories=(1, 2, 3, 8, 64))
    assert network.history == 3
    assert network.feature_lowest is not None


def test_a_linear_fit_that_cannot_be_is_refused():
    series = linear_series(WEIGHTS, 20)
    with pytest.raises(FitError, match="longer than the history"):
        fit_linear([series], FEATURE_NAMES, 21)
    slow = ActuatorSeries("slow", "a", 50.0, series.channels, series.torque)
    with pytest.raises(FitError, match="one rate"):
        fit_linear([series, slow], FEATURE_NAMES)
    with pytest.raises(FitError, match="at least 1 and 0"):
        fit_linear([series], FEATURE_NAMES, 0)


def test_scores_are_the_textbook_ones():
    torque, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    scores = Scores.of(torque, predicted)
    assert scores.mse == pytest.approx(5 / 3)
    assert scores.rmse == pytest.approx(np.sqrt(5 / 3))
    assert scores.mae == pytest.approx(1.0)
    assert scores.r2 == pytest.approx(1 - 5 / np.sum((torque - 7 / 3) ** 2))
    assert np.isnan(Scores.of(np.ones(3), predicted).r2)


def test_what_is_scored_is_the_deployed_network_from_a_cold_start():
    training = [linear_series(WEIGHTS, 400)]
    network = fit_linear(training, FEATURE_NAMES, 3)
    fresh = linear_series(WEIGHTS, 400, seed=4).part(100, 400)
    runtime = NetworkRuntime(network)
    stepped = np.array([runtime.step(row[None])[0] for row in fresh.features(network.inputs)])
    scores = score(network, [fresh])
    np.testing.assert_allclose(scores.series[0].predicted, stepped, atol=1e-10)
    assert scores.total.rmse == pytest.approx(Scores.of(fresh.torque, stepped).rmse)
    assert scores.settled.rmse == pytest.approx(Scores.of(fresh.torque[50:], stepped[50:]).rmse)
    # a history of zeros at the start costs, and the settled score tells how much of it is that
    assert scores.settled.rmse < 0.1 * scores.total.rmse


def test_a_warm_start_is_as_if_the_recording_went_on():
    network = fit_linear([linear_series(WEIGHTS, 400)], FEATURE_NAMES, 3, ridge=0.0)
    split = split_global([linear_series(WEIGHTS, 300, seed=4)])
    cold = score(network, split.test, {"same": network})
    warm = score(network, split.test, {"same": network}, warm_up=split.warm_up)
    assert cold.total.rmse > 0.05
    assert warm.total.rmse < 1e-6
    assert warm.others["same"].rmse == warm.total.rmse
    with pytest.raises(SignalError, match="expected 1 warm-ups, one per recording; received 2"):
        score(network, split.test, warm_up=[None, None])


def test_files_groups_and_estimates_stand_beside_each_other():
    series = [
        linear_series(WEIGHTS, 200 + 50 * i, group, f"f{i}", i) for i, group in enumerate("aab")
    ]
    series[2] = ActuatorSeries(
        "f2", "b", 100.0, series[2].channels, series[2].torque, series[2].torque + 0.5
    )
    network = fit_linear(series, FEATURE_NAMES, 3)
    plain = fit_linear(series, FEATURE_NAMES, 1)
    scores = score(network, series, {"linear": plain}, mean_torque=0.25)
    assert [each.name for each in scores.series] == ["f0", "f1", "f2"]
    assert set(scores.groups) == {"a", "b"}
    assert scores.groups["a"].samples == 450
    total = sum(each.scores.mse * each.scores.samples for each in scores.series)
    assert scores.total.mse == pytest.approx(total / scores.total.samples)
    assert scores.series[2].others["reference"].rmse == pytest.approx(0.5)
    assert "reference" not in scores.series[0].others
    # over all recordings only what all of them have
    assert set(scores.others) == {"linear", "mean"}
    wanted = np.sqrt(np.mean((np.concatenate([s.torque for s in series]) - 0.25) ** 2))
    assert scores.others["mean"].rmse == pytest.approx(wanted)
    assert scores.series[0].out_of_range == 0.0
    content = json.loads(json.dumps(scores.to_dict()))
    assert {"rmse", "r2", "files", "groups", "settled"} <= set(content)
    assert content["files"][1]["rmse"] == scores.series[1].scores.rmse


def test_samples_outside_the_range_of_training_are_counted():
    network = fit_linear([linear_series(WEIGHTS, 400)], FEATURE_NAMES, 1)
    fresh = linear_series(WEIGHTS, 100, seed=3)
    channels = {name: values.copy() for name, values in fresh.channels.items()}
    channels["current_angle_rad"][:25] = 99.0
    far = ActuatorSeries("far", "a", 100.0, channels, fresh.torque)
    share = score(network, [far]).series[0].out_of_range
    assert 0.25 <= share < 0.35


def test_frequency_bands_add_up_and_find_the_frequency():
    times = np.arange(1001) / 100
    error = 0.3 * np.sin(2 * np.pi * 15 * times)
    series = linear_series(WEIGHTS, 1001)
    bands = frequency_bands([series], [series.torque + error])
    assert sum(band.rmse**2 for band in bands) == pytest.approx(np.mean(error**2))
    assert sum(band.torque_rms**2 for band in bands) == pytest.approx(np.mean(series.torque**2))
    largest = max(bands, key=lambda band: band.rmse)
    assert (largest.lowest, largest.highest) == (10.0, 20.0)
    assert bands[-1].highest == pytest.approx(50.0)


def test_speed_bands_hold_equal_parts_and_find_the_speed():
    series = linear_series(WEIGHTS, 1000)
    speed = np.abs(series.channels["current_ang_vel_rad_s"])
    error = np.where(speed > np.quantile(speed, 0.8), 1.0, 0.1)
    bands = speed_bands([series], [series.torque + error])
    assert [band.samples for band in bands] == [200] * 5
    np.testing.assert_allclose([band.rmse for band in bands], [0.1] * 4 + [1.0], atol=1e-2)
    bare = ActuatorSeries("bare", "a", 100.0, {"current_angle_rad": series.torque}, series.torque)
    assert speed_bands([bare], [bare.torque]) == ()


def test_recordings_that_do_not_fit_the_network_are_refused():
    network = fit_linear([linear_series(WEIGHTS)], FEATURE_NAMES, 2)
    series = linear_series(WEIGHTS, 50)
    fast = ActuatorSeries("fast", "a", 200.0, series.channels, series.torque)
    with pytest.raises(SignalError, match=r"200 Hz.*100 Hz.*data\.rate=100"):
        score(network, [fast])
    bare = ActuatorSeries("bare", "a", 100.0, {"current_a": series.torque}, series.torque)
    with pytest.raises(ColumnError, match="has no"):
        score(network, [bare])
    with pytest.raises(SignalError, match="recordings to score is empty"):
        score(network, [])
    with pytest.raises(SignalError, match="lengths"):
        score([series.torque[1:]], [series])
