"""Prediction and measurement matched by name."""

import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.signals import SignalType, TimeSeries
from trueup.signals.signal_type import same_signals
from trueup.sysid.toolbox.aligned_signals import construct_ts_from_defaults, locate_observations

TIMES = np.arange(1, 6) * 0.1
SENSORS = TimeSeries.create(
    TIMES,
    np.arange(20.0).reshape(5, 4),
    {
        "pos": (SignalType.MjSensor, 0),
        "acc": (SignalType.MjSensor, [1, 2]),
        "vel": (SignalType.MjSensor, 3),
    },
)
STATES = TimeSeries.create(
    TIMES,
    100 + np.arange(10.0).reshape(5, 2),
    {"j_qpos": (SignalType.MjStateQPos, 0), "j_qvel": (SignalType.MjStateQVel, 1)},
)
RECORDED = np.linspace(0, 1, 8)


def measured(*signals: tuple[str, int, SignalType]) -> TimeSeries:
    width = sum(signal[1] for signal in signals)
    return TimeSeries.from_custom_map(RECORDED, np.zeros((8, width)), signals)


POS = ("pos", 1, SignalType.MjSensor)
VEL = ("vel", 1, SignalType.MjSensor)
ACC = ("acc", 2, SignalType.MjSensor)
QVEL = ("j_qvel", 1, SignalType.MjStateQVel)
CUSTOM = ("battery", 1, SignalType.CustomObs)


@pytest.mark.parametrize(
    ("signals", "columns"),
    [
        ([POS, ACC, VEL], [0, 1, 2, 3]),
        ([VEL, ACC, POS], [3, 1, 2, 0]),
        ([VEL], [3]),
        ([VEL, POS], [3, 0]),
    ],
)
def test_columns_are_matched_by_name(signals, columns):
    """A reordered or partial recording is compared with the channels that it names."""
    recording = measured(*signals)
    kept, predicted = construct_ts_from_defaults(STATES, SENSORS, recording)
    np.testing.assert_array_equal(predicted.data, SENSORS.data[:, columns])
    assert same_signals(predicted.signal_mapping, kept.signal_mapping)
    np.testing.assert_array_equal(predicted.times, TIMES)
    np.testing.assert_array_equal(kept.times, RECORDED)


def test_states_and_sensors_together():
    _, predicted = construct_ts_from_defaults(STATES, SENSORS, measured(QVEL, VEL))
    np.testing.assert_array_equal(
        predicted.data, np.column_stack([STATES.data[:, 1], SENSORS.data[:, 3]])
    )


def test_states_that_carry_the_time_as_first_column():
    data = np.column_stack([TIMES, STATES.data])
    mapping = {name: (kind, c + 1) for name, (kind, c) in STATES.signal_mapping.items()}
    _, predicted = construct_ts_from_defaults(
        TimeSeries(TIMES, data, mapping), SENSORS, measured(QVEL)
    )
    np.testing.assert_array_equal(predicted.data, STATES.data[:, [1]])


@pytest.mark.parametrize("enabled", [[("vel", SignalType.MjSensor)], ["vel"]])
def test_enabled_observations_select(enabled):
    recording = measured(POS, CUSTOM, ACC, VEL)
    recording.data[:, 4] = 7
    kept, predicted = construct_ts_from_defaults(STATES, SENSORS, recording, enabled)
    assert list(kept.signal_mapping) == ["vel"]
    np.testing.assert_array_equal(kept.data, np.full((8, 1), 7.0))
    np.testing.assert_array_equal(predicted.data, SENSORS.data[:, [3]])


def test_unnamed_measurement_takes_the_names_of_the_prediction():
    kept, predicted = construct_ts_from_defaults(
        None, SENSORS, TimeSeries(RECORDED, np.zeros((8, 4)))
    )
    assert same_signals(kept.signal_mapping, SENSORS.signal_mapping)
    np.testing.assert_array_equal(predicted.data, SENSORS.data)


@pytest.mark.parametrize(
    ("recording", "enabled", "message"),
    [
        (measured(POS, CUSTOM), None, "'battery' is of type CustomObs"),
        (measured(("velo", 1, SignalType.MjSensor)), None, "Did you mean 'vel'"),
        (measured(("acc", 3, SignalType.MjSensor)), None, "3 columns and is predicted with 2"),
        (measured(POS), [("pos", SignalType.CustomObs)], "measured as MjSensor but enabled as"),
        (measured(POS), ["vel"], "No measured signal named 'vel'"),
        (measured(POS), ["pos", "pos"], "enabled twice"),
        (TimeSeries(RECORDED, np.zeros((8, 3))), None, "3 columns without names"),
    ],
)
def test_errors(recording, enabled, message):
    with pytest.raises(SignalError, match=message):
        construct_ts_from_defaults(STATES, SENSORS, recording, enabled)


def test_states_that_were_not_given():
    with pytest.raises(SignalError, match="MjStateQVel named 'j_qvel'"):
        construct_ts_from_defaults(None, SENSORS, measured(QVEL))


def test_locations():
    is_sensor, column = locate_observations(
        measured(QVEL, ACC).signal_mapping, SENSORS.signal_mapping, STATES.signal_mapping
    )
    assert is_sensor.tolist() == [False, True, True]
    assert column.tolist() == [1, 1, 2]
