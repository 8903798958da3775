"""Numbers for people and for figures."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.reports import format_number
from trueup.reports.numbers import format_interval, rounded_significant, rounded_to_span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (3, "3"),
        (np.int64(123456789), "123456789"),
        (1 / 3, "0.33333"),
        (1.5e-9, "1.5e-09"),
        (123456.7, "123457"),
        (2e7, "2e+07"),
        (-0.0, "0"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "n/a"),
        ("two", "two"),
        (np.float32(0.5), "0.5"),
    ],
)
def test_numbers_are_short(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (0.012345, 0.00041, "0.01235 ± 0.00041"),
        (1234.6, 23.4, "1235 ± 23"),
        (15234.6, 1234.0, "15200 ± 1200"),
        (2.0, math.inf, "2 ± ∞"),
        (2.0, math.nan, "2"),
        (2.5, 0.0, "2.5"),
        (3.21e-6, 4.5e-8, "(3.210 ± 0.045)e-6"),
        (0.0, 0.004, "0.0000 ± 0.0040"),
    ],
)
def test_intervals_show_two_digits_of_the_half_width(value, half_width, text):
    assert format_interval(value, half_width) == text


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30))
def test_rounding_to_span_is_invisible(values):
    rounded = np.array(rounded_to_span(values), dtype=float)
    reference = np.ptp(values) or np.abs(values).max()
    assert np.abs(rounded - values).max() <= 1e-5 * reference


def test_epoch_times_keep_their_steps():
    times = 1.7e9 + np.arange(100) / 1000
    np.testing.assert_allclose(
        np.diff(np.array(rounded_to_span(times), dtype=float)), 1e-3, atol=2e-6
    )


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20))
def test_rounded_numbers_are_json(values):
    for rounded in (rounded_to_span(values), rounded_significant(values)):
        assert len(rounded) == len(values)
        again = json.loads(json.dumps(rounded, allow_nan=False))
        assert [x is None for x in again] == [not math.isfinite(x) for x in values]


def test_significant_digits_for_logarithmic_axes():
    assert rounded_significant([1.23456789e-12, 3e8]) == [1.23457e-12, 300000000]
