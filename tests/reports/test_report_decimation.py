"""Decimated curves keep their envelope."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup.errors import ReportError
from trueup.reports import decimate
from trueup.reports.decimation import bucket_size

SAMPLES = st.one_of(st.floats(-1e9, 1e9, width=32), st.sampled_from([np.nan, np.inf, -np.inf, 0.0]))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 400).flatmap(lambda n: arrays(float, n, elements=SAMPLES)), st.integers(4, 60)
)
def test_every_bucket_keeps_its_extremes(values, points):
    times = np.arange(values.size, dtype=float)
    kept_times, kept = decimate(times, values, points)
    assert kept.size <= max(points, 4)
    assert (np.diff(kept_times) > 0).all()
    np.testing.assert_array_equal(kept, values[kept_times.astype(int)])
    assert kept_times[0] == 0 and kept_times[-1] == values.size - 1
    if values.size <= points:
        np.testing.assert_array_equal(kept, values)
        return
    size = bucket_size(values.size, points)
    for start in range(1, values.size - 1, size):
        stop = min(start + size, values.size - 1)
        original = values[start:stop]
        inside = kept[(kept_times >= start) & (kept_times < stop)]
        finite = original[np.isfinite(original)]
        if finite.size:
            assert inside[np.isfinite(inside)].min() == finite.min()
            assert inside[np.isfinite(inside)].max() == finite.max()
        else:
            assert inside.size >= 1


def test_one_sample_spike_in_ten_minutes_survives():
    times = np.arange(600_000) / 1000
    values = np.sin(times)
    values[432_101] = 50.0
    kept_times, kept = decimate(times, values)
    assert kept.size <= 1000
    assert kept.max() == 50.0
    assert kept_times[kept.argmax()] == times[432_101]


def test_a_gap_stays_a_gap():
    values = np.ones(10_000)
    values[4000:6000] = np.nan
    times, kept = decimate(np.arange(10_000.0), values)
    assert np.isnan(kept[(times > 4100) & (times < 5900)]).all()
    assert np.isfinite(kept[(times < 4000) | (times >= 6000)]).all()


@pytest.mark.parametrize(
    ("times", "values", "points"),
    [(np.arange(3), np.arange(4), 10), (np.eye(2), np.eye(2), 10), (np.arange(9), np.arange(9), 3)],
)
def test_what_cannot_be_decimated_is_refused(times, values, points):
    with pytest.raises(ReportError):
        decimate(times, values, points)
