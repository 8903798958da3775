"""Construction, interpolation and resampling of time series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import SignalError
from trueup.signals import SignalType, TimeSeries

TIMES = np.arange(5.0)
SQUARES = TIMES**2


@pytest.fixture
def squares() -> TimeSeries:
    return TimeSeries(TIMES, SQUARES)


@pytest.fixture
def two_columns() -> TimeSeries:
    return TimeSeries(TIMES, np.column_stack([SQUARES, 2 * SQUARES]))


def named(width: int = 4, clock_start: float = 0.0) -> TimeSeries:
    """Three signals, the second two columns wide, in an order that is not alphabetical."""
    data = np.arange(5 * width, dtype=float).reshape(5, width)
    mapping = {
        "velocity": (SignalType.MjSensor, np.array([0])),
        "wide": (SignalType.CustomObs, np.array([1, 2])),
        "angle": (SignalType.MjStateQPos, np.array([3])),
    }
    return TimeSeries(TIMES + clock_start, data, mapping)


@pytest.mark.parametrize(
    ("times", "data", "message"),
    [
        ([], [], "Empty"),
        ([[0.0], [1.0]], [0.0, 1.0], "1D"),
        ([0.0, 1.0], [0.0, 1.0, 2.0], r"Length of times \(2\) and of data \(3\)"),
        ([0.0, 1.0], 3.0, "Length"),
        ([0.0, 2.0, 1.0], [0.0, 1.0, 2.0], r"strictly increasing, but sample 2 is at 1.0 s"),
        ([0.0, 1.0, 1.0], [0.0, 1.0, 2.0], "strictly increasing"),
        ([0.0, np.nan, 2.0], [0.0, 1.0, 2.0], "strictly increasing"),
    ],
)
def test_malformed_series_is_rejected(times, data, message):
    with pytest.raises(ValueError, match=message) as caught:
        TimeSeries(np.array(times), np.array(data))
    assert isinstance(caught.value, SignalError)


def test_attributes_and_length(two_columns):
    assert len(two_columns) == 5
    np.testing.assert_array_equal(two_columns.times, TIMES)
    assert two_columns.data.shape == (5, 2)
    assert two_columns.signal_mapping is None


def test_zero_columns_are_legal_and_resample():
    series = TimeSeries(TIMES, np.empty((5, 0)))
    assert series.data.shape == (5, 0)
    for method in ("linear", "zoh", "cubic"):
        assert series.resample(target_dt=0.5, method=method).data.shape == (9, 0)
    assert "samples=5" in repr(series)


def test_lists_are_accepted():
    assert TimeSeries([0, 1], [[1], [2]]).interpolate(0.5) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("linear", 6.5),
        ("cubic", 6.25),
        ("quadratic", 6.25),
        ("zero_order_hold", 4.0),
        ("zoh", 4.0),
    ],
)
def test_midpoint_of_a_parabola(squares, method, expected):
    assert squares.interpolate(2.5, method) == pytest.approx([expected])


def test_quintic_reproduces_a_quintic():
    times = np.linspace(0, 2, 9)
    series = TimeSeries(times, times**5 - times)
    query = np.linspace(0, 2, 37)
    np.testing.assert_allclose(series.interpolate(query, "quintic"), query**5 - query, atol=1e-10)


@pytest.mark.parametrize("method", ["linear", "cubic", "quadratic", "quintic", "zoh"])
def test_end_values_are_held_outside_and_knots_are_exact(method):
    rng = np.random.default_rng(1)
    times = 100 + np.cumsum(rng.uniform(0.01, 0.03, 40))
    series = TimeSeries(times, rng.normal(size=(40, 3)))
    values = series.interpolate(np.array([0.0, 99.9, 1e4]), method)
    np.testing.assert_array_equal(values, series.data[[0, 0, -1]])
    np.testing.assert_allclose(series.interpolate(times, method), series.data, atol=1e-12)


def test_linear_agrees_with_numpy_and_leaves_neighbours_of_a_gap_alone():
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.uniform(0.01, 0.03, 50))
    series = TimeSeries(times, rng.normal(size=(50, 4)))
    query = rng.uniform(times[0] - 0.1, times[-1] + 0.1, 300)
    expected = np.column_stack([np.interp(query, times, column) for column in series.data.T])
    np.testing.assert_allclose(series.interpolate(query), expected, atol=1e-14)
    np.testing.assert_array_equal(series.interpolate(times), series.data)
    gap = np.array([0.0, 1.0, np.nan, 3.0])
    held = TimeSeries(np.arange(4.0), gap).interpolate(np.array([0.5, 1.0, 1.5, 3.0]))
    np.testing.assert_array_equal(held, [0.5, 1.0, np.nan, 3.0])


def test_interpolation_errors(squares):
    with pytest.raises(SignalError, match="Did you mean 'linear'"):
        squares.interpolate(0.5, "liner")
    with pytest.raises(SignalError, match="quintic interpolation needs at least 6 samples"):
        squares.interpolate(0.5, "quintic")


def test_integers_interpolate_as_numbers():
    assert TimeSeries(np.array([0, 1]), np.array([0, 1])).interpolate(0.25) == [0.25]


def test_one_sample_is_held():
    series = TimeSeries(np.array([3.0]), np.array([[7.0, 8.0]]))
    for method in ("linear", "zoh"):
        np.testing.assert_array_equal(
            series.interpolate(np.array([0.0, 3.0, 9.0]), method), [[7.0, 8.0]] * 3
        )
    assert "samples=1" in repr(series)
    assert len(series.resample_exact(0.1)) == 1
    with pytest.raises(SignalError, match="at least two samples"):
        series.dt_statistics()


def test_get_keeps_the_shape_of_the_query(two_columns):
    time, values = two_columns.get(0.5)
    assert time.shape == ()
    np.testing.assert_allclose(values, [0.5, 1.0])
    times, values = two_columns.get(np.array([0.5, 1.5]))
    assert times.shape == (2,)
    np.testing.assert_allclose(values, [[0.5, 1.0], [2.5, 5.0]])


def test_resample_at_given_times(squares):
    resampled = squares.resample(new_times=[0.0, 0.5, 2.5, 4.0])
    np.testing.assert_array_equal(resampled.times, [0.0, 0.5, 2.5, 4.0])
    np.testing.assert_allclose(resampled.data, [0.0, 0.5, 6.5, 16.0])


def test_resample_with_a_step_ends_at_the_last_sample(squares):
    np.testing.assert_allclose(squares.resample(target_dt=0.5).times, np.arange(9) * 0.5)
    finer = squares.resample(target_dt=0.3)
    assert len(finer) == 15
    assert finer.times[-1] == 4.0
    assert np.diff(finer.times).max() <= 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither was given"),
        ({"target_dt": -0.5}, "positive"),
        ({"target_dt": 0.0}, "positive"),
        ({"target_dt": np.nan}, "positive"),
        ({"new_times": np.array([0.0, 2.0, 1.0])}, "new_times must be strictly increasing"),
        ({"new_times": np.array([[0.0], [1.0]])}, "1D"),
        ({"new_times": np.array([])}, "empty"),
    ],
)
def test_resample_rejects(squares, arguments, message):
    with pytest.raises(SignalError, match=message):
        squares.resample(**arguments)


def test_exact_resampling_does_not_drift():
    """1 s recorded at 7 ms, simulated at 2 ms: step k stands at k times 2 ms (no 1.8 ms drift)."""
    times = 5.0 + np.arange(144) * 0.007
    series = TimeSeries(times, np.sin(times))
    exact = series.resample_exact(0.002)
    np.testing.assert_array_equal(exact.times, 5.0 + 0.002 * np.arange(len(exact)))
    assert exact.times[-2] < times[-1] <= exact.times[-1]
    assert exact.data[-1] == series.data[-1]
    stretched = series.resample(target_dt=0.002)
    assert np.diff(stretched.times).max() < 0.0019999
    with pytest.raises(SignalError, match="dt must be a positive"):
        series.resample_exact(0.0)


@given(
    steps=st.integers(1, 5000),
    dt=st.floats(1e-4, 0.1),
    start=st.floats(-1e3, 1e3) | st.floats(1.6e9, 1.8e9),
)
def test_exact_resampling_of_a_whole_number_of_steps_adds_none(steps, dt, start):
    series = TimeSeries(np.array([start, start + steps * dt]), np.array([0.0, 1.0]))
    assert len(series.resample_exact(dt)) == steps + 1


def test_remove_from_beginning_starts_the_clock_at_zero(squares):
    late = TimeSeries(TIMES + 100.0, SQUARES)
    for series in (squares, late):
        shortened = series.remove_from_beginning(1.5)
        np.testing.assert_allclose(shortened.times, [0.0, 1.0, 2.0])
        np.testing.assert_array_equal(shortened.data, [4.0, 9.0, 16.0])
        with pytest.raises(SignalError, match="duration"):
            series.remove_from_beginning(4.5)
        with pytest.raises(SignalError, match="non-negative"):
            series.remove_from_beginning(-0.1)


def test_dt_statistics():
    statistics = TimeSeries(np.array([0.0, 1.0, 3.0]), np.zeros(3)).dt_statistics()
    assert statistics == {"mean": 1.5, "median": 1.5, "std": 0.5, "min": 1.0, "max": 2.0}


def test_repr_tells_size_span_step_and_names():
    text = repr(named(clock_start=10))
    for part in (
        "samples=5",
        "shape=(5, 4)",
        "[10, 14]",
        "dt=1 (uniform)",
        "'velocity'",
        "[0, 19]",
    ):
        assert part in text
    assert "min=1, max=2" in repr(TimeSeries([0.0, 1.0, 3.0], np.zeros(3)))


def test_resampling_keeps_names():
    assert named().resample(target_dt=0.5).get_indices("angle")[1] == [3]
    assert named().resample_exact(0.5).get_indices("angle")[1] == [3]


def test_slice_by_name_counts_columns_anew():
    sliced = TimeSeries.slice_by_name(named(), ["angle", "velocity"])
    np.testing.assert_array_equal(sliced.data, named().data[:, [0, 3]])
    assert {name: columns.tolist() for name, (_, columns) in sliced.signal_mapping.items()} == {
        "angle": [1],
        "velocity": [0],
    }
    assert sliced.get_indices("angle")[0] is SignalType.MjStateQPos
    wide = TimeSeries.slice_by_name(named(), ["wide"])
    np.testing.assert_array_equal(wide.get_indices("wide")[1], [0, 1])


def test_slicing_an_unnamed_series_returns_it(squares):
    assert TimeSeries.slice_by_name(squares, ["angle"]) is squares


def test_unknown_names_suggest_near_ones(squares):
    with pytest.raises(SignalError, match=r"'angel'. Did you mean 'angle'"):
        TimeSeries.slice_by_name(named(), ["angel"])
    with pytest.raises(SignalError, match=r"Available names: 'velocity', 'wide', 'angle'"):
        named().get_indices("torque")
    with pytest.raises(SignalError, match="Available names: none"):
        squares.get_indices("torque")


def test_create_accepts_integers_and_lists_as_columns():
    series = TimeSeries.create(
        TIMES,
        np.zeros((5, 3)),
        {"a": (SignalType.CustomObs, 2), "b": (SignalType.MjSensor, [0, 1])},
    )
    assert series.get_indices("a")[1].tolist() == [2]
    assert series.get_indices("b")[1].tolist() == [0, 1]


def test_custom_map_with_widths():
    series = TimeSeries.from_custom_map(TIMES, np.zeros((5, 3)), ["a", ("b", 2, SignalType.MjCtrl)])
    assert series.get_indices("a")[0] is SignalType.CustomObs
    assert series.get_indices("b")[1].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("signals", "data", "message"),
    [
        (["a"], np.zeros((5, 2)), "data has 2 columns, but the signals have 1"),
        ([("a", 0, SignalType.CustomObs)], np.zeros((5, 0)), "positive width"),
        (["a", "a"], np.zeros((5, 2)), "defined twice"),
        (["a"], np.zeros(5), "2-dimensional"),
    ],
)
def test_custom_map_rejects(signals, data, message):
    with pytest.raises(SignalError, match=message):
        TimeSeries.from_custom_map(TIMES, data, signals)
