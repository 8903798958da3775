"""Numbers for people and for figures."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.reports import format_number
from trueup.reports.numbers import (
    format_estimate,
    format_interval,
    format_range,
    format_rounded,
    rounded_significant,
    rounded_to_span,
)


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


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ((0.350025, 0.349938, 0.350112), "0.350025 ± 0.000087"),
        ((0.02, 0.0199, 0.0203), "0.02000 (0.01990 to 0.02030)"),
        ((0.012, 0.003, 0.04), "0.0120 (0.0030 to 0.0400)"),
        ((0.99, 0.8904, 1.0896), "0.99 ± 0.10"),
        ((0.0, 0.0, 0.003), "0 (0 to 0.0030)"),
        ((1e-6, -3e-6, 5e-6), "(1.0 ± 4.0)e-6"),
        ((2.0, -math.inf, math.inf), "2 (undetermined)"),
        ((2.0, 1.9, math.inf), "2.00 (1.90 to ∞)"),
        ((0.5, math.nan, math.nan), "0.5"),
        ((1.25, 1.25, 1.25), "1.25"),
    ],
)
def test_an_estimate_is_rounded_by_its_interval(estimate, text):
    assert format_estimate(*estimate) == text


SIZES = st.floats(1e-12, 1e9)


@given(st.floats(-1e6, 1e6), SIZES, SIZES)
def test_an_estimate_can_be_read_back_and_never_collapses(value, below, above):
    low, high = value - below, value + above
    text = format_estimate(value, low, high)
    scale = 10.0 ** int(found[1]) if (found := re.search(r"e(-?\d+)$", text)) else 1.0
    number = r"-?[\d.]+"
    symmetric = re.fullmatch(rf"\(?({number}) ± ({number})\)?(e-?\d+)?", text)
    ends = re.fullmatch(rf"({number}) \(({number}) to ({number})\)( e-?\d+)?", text)
    if symmetric:
        shown, half = (scale * float(part) for part in symmetric.groups()[:2])
        assert half == pytest.approx(max(value - low, high - value), rel=0.06)
        assert len(symmetric[2].replace(".", "").strip("0")) <= 2
        assert abs(shown - value) <= 0.06 * half + 1e-9 * abs(value)
    elif ends:
        shown, first, last = (scale * float(part) for part in ends.groups()[:3])
        assert first < last, "never 0.02 (0.02 to 0.02)"
        assert abs(shown - value) <= 0.06 * (high - low) + 1e-9 * abs(value)
        assert first <= shown <= last
    else:  # an interval that floating point cannot hold
        assert low == value == high


@given(st.floats(-1e6, 1e6), SIZES)
def test_ends_of_a_range_differ(low, width):
    high = low + width
    if high == low:
        return
    found = re.fullmatch(r"\(?(\S+) to ([^)]+?)\)?(?:e-?\d+)?", format_range(low, high))
    first, last = found.groups()
    assert float(first) < float(last)


def test_ranges_without_ends_are_words():
    assert format_range(-math.inf, math.inf) == "anything"
    assert format_range(math.nan, math.nan) == "none"
    assert format_range(0.0, math.inf) == "0 to ∞"


def test_a_value_is_rounded_like_the_one_it_is_compared_with():
    assert format_rounded(0.123456, 0.0021) == "0.1235"
    assert format_rounded(3.2109e-6, 4.5e-8) == "3.211e-6"
    assert format_rounded(0.123456, math.inf) == "0.1235"
