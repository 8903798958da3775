"""Gains, biases, delays, windows, weights and normalisation."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.parameters import Parameter
from trueup.signals import SignalType, TimeSeries
from trueup.sysid import signal_modifier
from trueup.sysid.signal_modifier import (
    apply_bias,
    apply_delay,
    apply_delayed_ts_window,
    apply_gain,
    apply_resample_and_delay,
    apply_time_window,
    get_sensor_indices,
    normalize_residual,
    prepare_sensor_weights,
    weighted_diff,
)

MODEL = """
<mujoco>
  <worldbody>
    <body><joint name="j"/><geom size=".1" pos=".1 0 0"/><site name="imu"/></body>
  </worldbody>
  <sensor>
    <jointpos name="pos" joint="j"/><accelerometer name="acc" site="imu"/>
    <jointvel name="vel" joint="j"/>
  </sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODEL)


@pytest.fixture
def series(model) -> TimeSeries:
    data = np.random.default_rng(42).normal(size=(10, model.nsensordata))
    return TimeSeries.from_names(np.linspace(0, 1, 10), data, model)


def others(columns) -> list[int]:
    return [column for column in range(5) if column not in columns]


def test_sensor_indices(model):
    assert get_sensor_indices(model, "acc") == [1, 2, 3]
    assert get_sensor_indices(model, ["vel", "pos"]) == [4, 0]
    assert get_sensor_indices(model, ["vel", "pos"], sort=True) == [0, 4]
    with pytest.raises(SignalError, match=r"no sensor 'velo'. Did you mean 'vel'"):
        get_sensor_indices(model, ["pos", "velo"])


@pytest.mark.parametrize(
    ("modify", "expected"), [(apply_gain, lambda y: 2 * y), (apply_bias, lambda y: y + 2)]
)
@pytest.mark.parametrize("name", ["pos", "acc"])
def test_gain_and_bias_touch_only_their_signal(series, modify, expected, name):
    before = series.data.copy()
    result = modify(series, name, Parameter("p", 2.0, 0.5, 3.0))
    columns = series.get_indices(name)[1]
    np.testing.assert_array_equal(result.data[:, columns], expected(before[:, columns]))
    rest = others(columns)
    np.testing.assert_array_equal(result.data[:, rest], before[:, rest])
    np.testing.assert_array_equal(series.data, before)
    assert result.signal_mapping is series.signal_mapping


def test_one_gain_a_component(series):
    result = apply_gain(series, "acc", Parameter("p", [1.0, 2.0, 3.0], 0.0, 5.0))
    np.testing.assert_array_equal(result.data[:, 1:4], series.data[:, 1:4] * [1, 2, 3])


def test_modifiers_of_integer_data():
    series = TimeSeries.from_custom_map(np.arange(3.0), np.arange(3)[:, None], ["a"])
    np.testing.assert_array_equal(
        apply_gain(series, "a", Parameter("p", 0.5, 0, 1)).data[:, 0], [0, 0.5, 1]
    )


def test_delay_leaves_its_input_alone_and_shifts_one_signal():
    times = np.arange(100) * 0.01
    series = TimeSeries.from_custom_map(times, np.column_stack([times, times]), ["a", "b"])
    before = series.data.copy()
    result = apply_delay(series, "b", Parameter("d", 0.1, 0.0, 0.2))
    np.testing.assert_array_equal(series.data, before)
    np.testing.assert_array_equal(result.data[:, 0], times)
    np.testing.assert_allclose(result.data[:, 1], np.maximum(times - 0.1, 0), atol=1e-12)
    early = apply_delay(series, "b", Parameter("d", -0.1, -0.2, 0.2))
    np.testing.assert_allclose(early.data[:, 1], np.minimum(times + 0.1, 0.99), atol=1e-12)
    with pytest.raises(SignalError, match="one number of seconds"):
        apply_delay(series, "b", Parameter("d", [0.1, 0.2], 0.0, 0.2))


def test_time_window_includes_both_ends():
    series = TimeSeries(np.arange(6.0), np.arange(6.0))
    np.testing.assert_array_equal(apply_time_window(series, 1.0, 3.5).times, [1, 2, 3])
    with pytest.raises(SignalError, match=r"No sample .* from 8 to 9 s: .* from 0 to 5 s"):
        apply_time_window(series, 8.0, 9.0)


@pytest.mark.parametrize("clock", [0.0, 100.0, 1.7e9])
@pytest.mark.parametrize(
    ("lowest", "highest"), [(0.0, 0.0), (0.0, 0.05), (-0.03, 0.02), (0.01, 0.02)]
)
def test_every_allowed_delay_finds_samples_inside_the_window(clock, lowest, highest):
    measured = TimeSeries(clock + np.arange(1001) * 0.001, np.zeros(1001))
    predicted = TimeSeries(clock + 0.1 + np.arange(801) * 0.001, np.zeros(801))
    window = apply_delayed_ts_window(measured, predicted, lowest, highest)
    for delay in (lowest, highest):
        sampled = window.times - delay
        assert sampled[0] >= predicted.times[0] - 1e-6
        assert sampled[-1] <= predicted.times[-1] + 1e-6
    assert len(window) == 801 - round((highest - lowest) / 0.001)


def test_window_keeps_a_sample_that_rounding_pushed_out():
    measured = TimeSeries(np.array([0.1, 0.2, 0.3]), np.zeros(3))
    predicted = TimeSeries(0.1 * np.arange(1, 4), np.zeros(3))
    assert predicted.times[-1] > 0.3
    late = TimeSeries(np.array([0.1 + 1e-12, 0.2, 0.3 - 1e-12]), np.zeros(3))
    assert len(apply_delayed_ts_window(measured, predicted, 0.0, 0.0)) == 3
    assert len(apply_delayed_ts_window(measured, late, 0.0, 0.0)) == 3


def test_window_errors():
    series = TimeSeries(np.arange(3.0), np.zeros(3))
    with pytest.raises(SignalError, match="min_delay must be less"):
        apply_delayed_ts_window(series, series, 0.2, 0.1)
    with pytest.raises(SignalError, match="delay bounds"):
        apply_delayed_ts_window(series, series, -3.0, 3.0)


@pytest.mark.parametrize("predicted_data", [True, False])
def test_grouped_resampling_equals_single_columns_bit_for_bit(predicted_data):
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.uniform(0.001, 0.01, 200))
    series = TimeSeries.from_custom_map(
        times, rng.normal(size=(200, 8)), [f"s{k}" for k in range(8)]
    )
    delays = {"s0": 0.01, "s1": 0.01, "s2": 0.01, "s3": 0.03, "s4": 0.03}
    query = np.linspace(times[0] - 0.05, times[-1] + 0.05, 333)
    result = apply_resample_and_delay(series, query, 0.002, delays, predicted_data)
    for k in range(8):
        delay = delays.get(f"s{k}", 0.002)
        alone = TimeSeries(times, series.data[:, [k]]).interpolate(
            query - delay if predicted_data else query + delay
        )
        np.testing.assert_array_equal(result.data[:, [k]], alone)
    np.testing.assert_array_equal(result.times, query)
    assert result.signal_mapping is series.signal_mapping
    with pytest.raises(SignalError, match="'s9'"):
        apply_resample_and_delay(series, query, 0.0, {"s9": 0.1})


def test_weighted_difference_is_measured_minus_predicted():
    predicted, measured = np.array([[1.0, 2.0]]), np.array([[1.5, 5.0]])
    np.testing.assert_array_equal(weighted_diff(predicted, measured), [[0.5, 3.0]])
    with pytest.raises(SignalError, match="shape"):
        weighted_diff(predicted, np.zeros((1, 3)))


def test_weights_by_name_reach_all_components(model):
    predicted, measured = np.ones((4, 5)), np.full((4, 5), 2.0)
    result = weighted_diff(predicted, measured, model, {"acc": 0.5, "vel": 3.0})
    np.testing.assert_array_equal(result, [[1, 0.5, 0.5, 0.5, 3]] * 4)


def test_weights_of_a_subset_in_another_order(model):
    mapping = {
        "vel": (SignalType.MjSensor, np.array([0])),
        "acc": (SignalType.MjSensor, np.array([1, 2, 3])),
        "j_qpos": (SignalType.MjStateQPos, np.array([4])),
    }
    weights = {"acc": 0.5, "j_qpos": 4.0, "pos": 9.0}
    expected = [1, 0.5, 0.5, 0.5, 4]
    np.testing.assert_array_equal(prepare_sensor_weights(weights, 5, model, mapping), expected)
    result = weighted_diff(np.zeros((2, 5)), np.ones((2, 5)), model, weights, mapping)
    np.testing.assert_array_equal(result, [expected] * 2)


def test_weights_as_an_array(model):
    weights = np.array([1.0, 2, 3, 4, 5])
    np.testing.assert_array_equal(
        weighted_diff(np.zeros((1, 5)), np.ones((1, 5)), None, weights), [weights]
    )


@pytest.mark.parametrize(
    ("weights", "arguments", "message"),
    [
        ({"acce": 1.0}, {}, "unknown signal 'acce'. Did you mean 'acc'"),
        ({"acc": -1.0}, {}, "non-negative"),
        ({"acc": np.nan}, {}, "finite"),
        (np.ones(4), {}, r"shape \(5,\), found \(4,\)"),
        (-np.ones(5), {}, "non-negative"),
        ({"acc": 1.0}, {"model": None}, "model or signal_mapping is required"),
        ({"acc": 1.0}, {"n_sensors": 3}, "pass signal_mapping"),
    ],
)
def test_weight_errors(model, weights, arguments, message):
    arguments = {"model": model, "n_sensors": 5} | arguments
    with pytest.raises(SignalError, match=message):
        prepare_sensor_weights(weights, **arguments)


def test_normalisation_divides_by_the_size_of_the_measurement():
    residual = np.array([[2.0, 4.0], [6.0, 8.0]])
    measured = np.array([[1.0, 2.0], [3.0, 4.0]])
    size = np.linalg.norm(measured, axis=0) / np.sqrt(2)
    np.testing.assert_array_equal(normalize_residual(residual, measured), residual / size)
    cost_of_predicting_zero = 0.5 * np.sum(normalize_residual(measured, measured) ** 2, axis=0)
    np.testing.assert_allclose(cost_of_predicting_zero, 1.0)


def test_a_silent_channel_is_compared_in_its_own_unit():
    residual = np.array([[2.0, 0.5], [6.0, 0.25]])
    measured = np.array([[1.0, 0.0], [3.0, 0.0]])
    result = normalize_residual(residual, measured)
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(result[:, 1], [0.5, 0.25])
    np.testing.assert_array_equal(signal_modifier.residual_scale(np.zeros((3, 2))), [1, 1])
