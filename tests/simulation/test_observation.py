"""Reading predictions from blocks of records: any blocks give what the whole gives."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.simulation import ObservedSequence, Segment
from trueup.simulation.engine.window_reader import WindowReader
from trueup.simulation.measured.measurement import GainOrBias, apply_changes
from trueup.simulation.measured.observation import Channel, clock_slack

_STEP = 0.01


def _sequence(times, channels, steps, delay_range=(0.0, 0.0), start=0.0):
    times = np.asarray(times, float)
    return ObservedSequence(
        name="run",
        channels=channels,
        signal_names=tuple(channel.name for channel in channels),
        timestep=_STEP,
        times=times,
        measured=np.zeros((len(times), len(channels))),
        weights=np.ones(len(channels)),
        segments=(Segment(start, np.zeros(1), np.zeros((steps, 0)), end=len(times)),),
        delay_range=delay_range,
    )


def _read(sequence, delays, records, cuts):
    reader = WindowReader(sequence, sequence.windows[0], delays)
    steps = next(iter(records.values())).shape[1]
    edges = sorted({0, steps, *(c for c in cuts if 0 < c < steps)})
    n = next(iter(records.values())).shape[0]
    out = np.full((n, len(sequence.times), len(sequence.channels)), np.nan)
    for first, end in itertools.pairwise(edges):
        block = {k: v[:, first:end] for k, v in records.items()}
        for rows, values in reader.feed(first, block, end == steps):
            assert np.isnan(out[:, rows]).all()
            out[:, rows] = values
    return out


def _expected(sequence, delays, records):
    """np.interp, channel by channel and candidate by candidate."""
    n, steps = next(iter(records.values())).shape[:2]
    out = np.empty((n, len(sequence.times), len(sequence.channels)))
    for i, channel in enumerate(sequence.channels):
        start = sequence.windows[0].start_time
        clock = start + _STEP * (np.arange(steps) + channel.lag)
        for c in range(n):
            late = delays[i][c] if i in delays else 0.0
            out[c, :, i] = np.interp(
                sequence.times - late, clock, records[channel.field][c, :, channel.column]
            )
    return out


_CHANNELS = (
    Channel("a", "qpos", 0, 1),
    Channel("b", "sensordata", 2, 0),
    Channel("c", "sensordata", 1, 0),
    Channel("d", "qpos", 1, 1),
)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(4, 60),
    rows=st.integers(1, 80),
    cuts=st.lists(st.integers(1, 59), max_size=12),
    on_grid=st.booleans(),
    delayed=st.sets(st.integers(0, 3)),
    low=st.floats(-0.03, 0.03),
    span=st.floats(0, 0.05),
)
def test_blocks_of_any_size_give_what_interpolation_of_the_whole_gives(
    seed, steps, rows, cuts, on_grid, delayed, low, span
):
    rng = np.random.default_rng(seed)
    records = {"qpos": rng.normal(size=(3, steps, 2)), "sensordata": rng.normal(size=(3, steps, 4))}
    times = np.sort(rng.uniform(0, steps * _STEP, rows))
    if on_grid:
        times = np.unique(np.round(times / _STEP)) * _STEP
    delays = {i: rng.uniform(low, low + span, 3) for i in delayed}
    sequence = _sequence(times, _CHANNELS, steps, (low, low + span) if delayed else (0.0, 0.0))
    found = _read(sequence, delays, records, cuts)
    np.testing.assert_allclose(found, _expected(sequence, delays, records), atol=1e-9)
    np.testing.assert_array_equal(found, _read(sequence, delays, records, []))


def test_samples_on_the_grid_are_taken_as_they_are_on_any_clock():
    """Rounding of a clock must not turn samples into interpolations."""
    rng = np.random.default_rng(0)
    records = {"qpos": rng.normal(size=(2, 50, 2)), "sensordata": rng.normal(size=(2, 50, 4))}
    for start in (0.0, 100.3, 1.7e9 + 0.123):
        sequence = _sequence(start + _STEP * np.arange(1, 50), _CHANNELS, 50, start=start)
        found = _read(sequence, {}, records, [7, 8, 31])
        np.testing.assert_array_equal(found[:, :, 0], records["qpos"][:, :-1, 0])
        np.testing.assert_array_equal(found[:, :, 1], records["sensordata"][:, 1:, 2])


def test_slack_grows_with_the_clock():
    assert clock_slack(np.array([1.0]), 0.001) == pytest.approx(1e-9, rel=1e-3)
    assert 2.4e-7 < clock_slack(np.array([1.7e9]), 0.001) < 2e-6
    assert clock_slack(np.array([]), 0.5) == pytest.approx(5e-7)


def test_memory_of_blocks_is_bounded_by_the_delay():
    steps = 4000
    records = {"qpos": np.zeros((1, steps, 1))}
    channel = (Channel("a", "qpos", 0, 1),)
    sequence = _sequence(_STEP * np.arange(60, steps - 5), channel, steps, (0.0, 0.5))
    reader = WindowReader(sequence, sequence.windows[0], {0: np.array([0.2])})
    longest = 0
    for first in range(0, steps, 16):
        list(reader.feed(first, {"qpos": records["qpos"][:, first : first + 16]}, False))
        longest = max(longest, reader._kept["qpos"].shape[1])
    assert longest < 50 + 2 * 16


def test_gains_then_biases_of_one_side():
    table = {"g": np.array([[2.0], [3.0]]), "b": np.array([[1.0, 5.0], [10.0, 50.0]])}
    changes = (
        GainOrBias("g", np.array([0]), np.array([0]), True, True, False),
        GainOrBias("b", np.array([0, 2]), np.array([0, 1]), False, True, True),
    )
    values = np.ones((2, 4, 3))
    predicted = apply_changes(values, changes, table, True)
    np.testing.assert_array_equal(predicted[:, 0], [[3.0, 1.0, 6.0], [13.0, 1.0, 51.0]])
    assert (values == 1).all()
    # the measured side is the same for every candidate until a parameter changes it
    measured = apply_changes(np.ones((1, 4, 3)), changes, table, False)
    np.testing.assert_array_equal(measured[:, 0], [[2.0, 1.0, 6.0], [11.0, 1.0, 51.0]])
    assert apply_changes(values, changes[:1], table, False) is values
