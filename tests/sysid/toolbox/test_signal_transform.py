"""The declarative measurement model."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.parameters import Parameter, ParameterDict
from trueup.signals import SignalType, TimeSeries
from trueup.signals.signal_type import same_signals
from trueup.sysid.signal_modifier import apply_bias, apply_gain
from trueup.sysid.toolbox.signal_transform import SignalTransform

MODEL = """
<mujoco>
  <worldbody>
    <body><joint name="j"/><geom size=".1" pos=".1 0 0"/><site name="imu"/></body>
  </worldbody>
  <sensor>
    <jointpos name="j_pos" joint="j"/><accelerometer name="acc" site="imu"/>
    <jointvel name="j_vel" joint="j"/>
  </sensor>
</mujoco>
"""
TIMES = np.arange(1, 401) * 0.005


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODEL)


def signals(times: np.ndarray) -> np.ndarray:
    """Five channels, each a function of time."""
    return np.column_stack([np.sin((k + 2) * times) + 0.1 * k for k in range(5)])


@pytest.fixture
def predicted(model) -> TimeSeries:
    return TimeSeries.from_names(TIMES, signals(TIMES), model)


@pytest.fixture
def measured(model) -> TimeSeries:
    times = 0.1 + np.arange(150) * 0.01
    return TimeSeries.from_names(times, signals(times) + 0.2, model)


def dictionary(*parameters: Parameter) -> ParameterDict:
    return ParameterDict({parameter.name: parameter for parameter in parameters})


def delay(name: str = "delay", value=0.01, low=0.0, high=0.05) -> Parameter:
    return Parameter(name, value, low, high)


class TestDelays:
    def test_patterns_select_and_the_last_match_holds(self):
        transform = SignalTransform()
        general, special = delay("general"), delay("special", 0.05, 0.0, 0.1)
        transform.delay("*_torque", general)
        transform.delay("joint5_torque", special)
        params = dictionary(general, special)
        names = ["joint1_torque", "joint5_torque", "joint1_pos"]
        assert transform.resolve_delays(names, params) == {
            "joint1_torque": 0.01,
            "joint5_torque": 0.05,
        }
        assert transform.resolve_delays(["joint1_vel"], params) == {}

    def test_present_values_come_from_the_dictionary(self):
        transform, parameter = SignalTransform(), delay()
        transform.delay("*", parameter)
        params = dictionary(delay())
        params["delay"].value[:] = 0.03
        assert transform.resolve_delays(["a"], params) == {"a": 0.03}
        assert transform.resolve_delays(["a"], dictionary()) == {"a": 0.01}

    def test_bounds_come_from_the_parameters(self):
        transform = SignalTransform()
        assert transform.delay_bounds() == (0.0, 0.0)
        parameter = delay(low=-0.02)
        transform.delay("*_pos", parameter)
        transform.delay("*_vel", parameter)
        assert transform.delay_bounds() == (-0.02, 0.05)
        transform.delay("*_acc", delay("other", 0.07, 0.06, 0.08))
        assert transform.delay_bounds() == (-0.02, 0.08)

    def test_signals_without_a_delay_count_as_zero(self):
        transform = SignalTransform()
        transform.delay("*_pos", delay(value=0.02, low=0.01))
        assert transform.delay_bounds(["a_pos"]) == (0.01, 0.05)
        assert transform.delay_bounds(["a_pos", "a_vel"]) == (0.0, 0.05)

    def test_infinite_bounds_and_vector_delays_are_refused(self):
        transform = SignalTransform()
        transform.delay("*", delay(high=np.inf))
        with pytest.raises(
            SignalError, match=r"'delay' requires finite bounds, found 0\.0 to inf s"
        ):
            transform.delay_bounds()
        vector = SignalTransform()
        vector.delay("*", delay(value=[0.01, 0.02]))
        with pytest.raises(SignalError, match="2 values"):
            vector.resolve_delays(["a"], dictionary())

    def test_the_right_delay_explains_the_data_and_keeps_the_length(self, model, predicted):
        parameter = delay(value=0.03, low=0.0, high=0.05)
        transform = SignalTransform()
        transform.delay("j_*", parameter)
        times = np.arange(0, 500) * 0.004
        late = signals(times - 0.03)
        late[:, 1:4] = signals(times)[:, 1:4]
        recording = TimeSeries.from_names(times, late, model)
        params = dictionary(parameter)
        lengths, costs = set(), []
        for value in (0.0, 0.03, 0.05):
            params["delay"].value[:] = value
            residual, _, compared = transform.apply(params, predicted, recording, model, False)
            lengths.add(residual.shape)
            costs.append(np.abs(residual).max())
            # Every allowed delay samples the prediction where it was simulated.
            assert compared.times[0] - 0.05 >= TIMES[0] - 1e-9
            assert compared.times[-1] <= TIMES[-1] + 1e-9
        assert len(lengths) == 1
        assert costs[1] < 1e-4 < 1e-3 < min(costs[0], costs[2])


class TestGainsAndBiases:
    def test_bad_targets_are_refused(self):
        transform = SignalTransform()
        for register in (transform.gain, transform.bias):
            with pytest.raises(ValueError, match=r"target must be .* Did you mean 'measured'"):
                register("*", delay(), target="mesured")

    def test_gains_come_before_biases_and_all_matches_apply(self, predicted):
        gain, more = Parameter("gain", 1.5, 0.5, 3.0), Parameter("more", 2.0, 0.5, 3.0)
        bias = Parameter("bias", 0.3, -1.0, 1.0)
        transform = SignalTransform()
        transform.bias("j_*", bias)
        transform.gain("j_*", gain)
        transform.gain("j_vel", more)
        params = dictionary(gain, bias, more)
        expected = predicted
        for name in ("j_pos", "j_vel"):
            expected = apply_gain(expected, name, gain)
        expected = apply_gain(expected, "j_vel", more)
        for name in ("j_pos", "j_vel"):
            expected = apply_bias(expected, name, bias)
        before = predicted.data.copy()
        for side in ("predicted", "measured"):
            np.testing.assert_array_equal(
                transform.scaled(predicted, side, params).data, expected.data
            )
        np.testing.assert_array_equal(predicted.data, before)

    def test_one_side_only(self, predicted):
        gain = Parameter("gain", 2.0, 0.5, 3.0)
        transform = SignalTransform()
        transform.gain("acc", gain, target="measured")
        params = dictionary(gain)
        assert transform.scaled(predicted, "predicted", params) is predicted
        scaled = transform.scaled(predicted, "measured", params).data
        np.testing.assert_array_equal(scaled[:, 1:4], 2 * predicted.data[:, 1:4])
        np.testing.assert_array_equal(scaled[:, [0, 4]], predicted.data[:, [0, 4]])

    def test_registrations_can_be_read(self):
        gain, bias, late = Parameter("g", 1, 0, 2), Parameter("b", 0, -1, 1), delay()
        transform = SignalTransform()
        transform.gain("a*", gain, target="predicted")
        transform.bias("b*", bias)
        transform.delay("c*", late)
        assert transform.gains == (("a*", gain, "predicted"),)
        assert transform.biases == (("b*", bias, "both"),)
        assert transform.delays == (("c*", late),)
        assert transform.delays[0].parameter is late


class TestApply:
    def test_residual_is_the_normalised_difference(self, model, predicted, measured):
        residual, kept, compared = SignalTransform().apply(
            dictionary(), predicted, measured, model, False
        )
        np.testing.assert_array_equal(compared.data, measured.data)
        assert same_signals(kept.signal_mapping, compared.signal_mapping)
        size = np.linalg.norm(measured.data, axis=0) / np.sqrt(2)
        np.testing.assert_allclose(
            residual, (measured.data - predicted.interpolate(measured.times)) / size, rtol=1e-12
        )
        plain, *_ = SignalTransform(normalize=False).apply(
            dictionary(), predicted, measured, model, False
        )
        np.testing.assert_allclose(plain, residual * size)

    def test_the_list_of_sensors_is_copied(self):
        transform, names = SignalTransform(), ["a", "b"]
        transform.enable_sensors(names)
        names.append("c")
        assert transform.enabled_sensors == ["a", "b"]
        with pytest.raises(SignalError, match="must be a list"):
            transform.enable_sensors("a")

    def test_enabled_sensors_keep_their_order_and_names(self, model, predicted, measured):
        everything, *_ = SignalTransform().apply(dictionary(), predicted, measured, model, True)
        transform = SignalTransform()
        transform.enable_sensors(["j_vel", "acc"])
        residual, kept, compared = transform.apply(dictionary(), predicted, measured, model, False)
        np.testing.assert_array_equal(residual, everything[:, [4, 1, 2, 3]])
        np.testing.assert_array_equal(compared.data, measured.data[:, [4, 1, 2, 3]])
        assert kept.get_indices("acc")[1].tolist() == [1, 2, 3]
        full, *_ = transform.apply(dictionary(), predicted, measured, model, True)
        assert full.shape[1] == 5
        transform.enable_sensors(["j_pose"])
        with pytest.raises(SignalError, match="Did you mean 'j_pos'"):
            transform.apply(dictionary(), predicted, measured, model, False)

    def test_weights_are_honoured_passed_or_set(self, model, predicted, measured):
        def residual(transform: SignalTransform, **kwargs) -> np.ndarray:
            return transform.apply(dictionary(), predicted, measured, model, False, **kwargs)[0]

        plain = residual(SignalTransform())
        expected = plain * [1, 0.5, 0.5, 0.5, 3]
        weights = {"acc": 0.5, "j_vel": 3.0}
        np.testing.assert_allclose(residual(SignalTransform(), sensor_weights=weights), expected)
        transform = SignalTransform()
        transform.set_sensor_weights(weights)
        np.testing.assert_allclose(residual(transform), expected)
        assert transform.sensor_weights == weights
        np.testing.assert_allclose(residual(transform, sensor_weights={}), plain)
        transform.enable_sensors(["j_vel", "acc"])
        np.testing.assert_allclose(residual(transform), expected[:, [4, 1, 2, 3]])
        with pytest.raises(SignalError, match="Did you mean 'j_vel'"):
            residual(transform, sensor_weights={"j_vell": 1.0})

    def test_reordered_and_partial_recordings_meet_their_channels(self, model, predicted, measured):
        whole, *_ = SignalTransform().apply(dictionary(), predicted, measured, model, False)
        part = TimeSeries.from_names(
            measured.times, measured.data[:, [4, 0]], model, ["j_vel", "j_pos"]
        )
        transform = SignalTransform()
        transform.set_sensor_weights({"j_vel": 2.0, "acc": 5.0})
        residual, kept, _ = transform.apply(dictionary(), predicted, part, model, False)
        np.testing.assert_allclose(residual, whole[:, [4, 0]] * [2, 1])
        assert list(kept.signal_mapping) == ["j_vel", "j_pos"]

    def test_measured_states_are_compared_with_the_simulated_states(
        self, model, predicted, measured
    ):
        state = np.column_stack([TIMES, np.cos(TIMES), -np.sin(TIMES)])
        recording = TimeSeries.from_names(
            measured.times,
            np.column_stack([-np.sin(measured.times), measured.data[:, 0]]),
            model,
            [("j", SignalType.MjStateQVel), "j_pos"],
        )
        transform = SignalTransform(normalize=False)
        residual, *_ = transform.apply(
            dictionary(), predicted, recording, model, False, state=state
        )
        np.testing.assert_allclose(residual, [[0.0, 0.2]] * len(residual), atol=1e-4)
        with pytest.raises(SignalError, match="j_qvel"):
            transform.apply(dictionary(), predicted, recording, model, False)

    def test_unnamed_recordings_have_the_models_order(self, model, predicted, measured):
        unnamed = TimeSeries(measured.times, measured.data)
        named, *_ = SignalTransform().apply(dictionary(), predicted, measured, model, False)
        result, *_ = SignalTransform().apply(dictionary(), predicted, unnamed, model, False)
        np.testing.assert_array_equal(result, named)

    def test_inputs_are_left_alone(self, model, predicted, measured):
        gain, late = Parameter("gain", 2.0, 0.5, 3.0), delay()
        transform = SignalTransform()
        transform.gain("*", gain)
        transform.delay("*", late)
        copies = predicted.data.copy(), measured.data.copy()
        transform.apply(dictionary(gain, late), predicted, measured, model, False)
        np.testing.assert_array_equal(predicted.data, copies[0])
        np.testing.assert_array_equal(measured.data, copies[1])

    def test_a_silent_channel_stays_finite(self, model, predicted, measured):
        silent = measured.data.copy()
        silent[:, 2] = 0
        recording = TimeSeries(measured.times, silent, measured.signal_mapping)
        residual, *_ = SignalTransform().apply(dictionary(), predicted, recording, model, False)
        assert np.isfinite(residual).all()

    def test_clocks_that_do_not_meet_are_an_error(self, model, predicted, measured):
        late = TimeSeries(measured.times + 100, measured.data, measured.signal_mapping)
        with pytest.raises(SignalError, match="No sample is in the window"):
            SignalTransform().apply(dictionary(), predicted, late, model, False)
