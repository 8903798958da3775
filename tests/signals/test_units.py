"""Units: conversion to SI, and values that hardly are in the unit they are taken for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import UnitError
from trueup.signals import UNITS, find_unit, si_unit, suspect_units
from trueup.signals.units import convert


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (180.0, "deg", math.pi),
        (0.5, "turn", math.pi),
        (0.5, "rev", math.pi),
        (1.0, "rad", 1.0),
        (90.0, "deg/s", math.pi / 2),
        (60.0, "rpm", 2 * math.pi),
        (1500.0, "ms", 1.5),
        (1500.0, "us", 1.5e-3),
        (1500.0, "ns", 1.5e-6),
        (12.0, "mm", 0.012),
        (12.0, "cm", 0.12),
        (3.0, "N mm", 0.003),
        (3.0, "mA", 0.003),
        (3.0, "mV", 0.003),
        (250.0, "g", 0.25),
        (1.0, "kgf cm", 0.0980665),
        (25.0, "degC", 298.15),
        (3.0, "counts", 3.0),
        (50.0, "%", 0.5),
    ],
)
def test_known_values(value, unit, expected):
    assert convert(value, unit) == pytest.approx(expected, rel=1e-15)


def test_encoder_counts_with_offset_and_scale():
    raw = np.array([2048, 3072, 1024], dtype=np.uint16)
    angles = convert(raw, "turn", offset=2048, scale=1 / 4096)
    np.testing.assert_allclose(angles, [0.0, math.pi / 2, -math.pi / 2])
    assert raw.tolist() == [2048, 3072, 1024]


def test_order_is_offset_scale_unit():
    assert convert(30.0, "degC", offset=10.0, scale=2.0) == pytest.approx(40.0 + 273.15)


@pytest.mark.parametrize("spelling", ["N m", "Nm", "N*m", "N·m", "N.m", " N m "])
def test_spellings_of_newton_metre(spelling):
    assert find_unit(spelling) is UNITS["N m"]


@pytest.mark.parametrize(
    ("spelling", "unit"),
    [("°", "deg"), ("°/s", "deg/s"), ("µs", "us"), ("m/s^2", "m/s2"), ("m/s²", "m/s2")],
)
def test_other_spellings(spelling, unit):
    assert find_unit(spelling) is UNITS[unit]


def test_case_matters():
    assert convert(1.0, "mA") == 1e-3
    with pytest.raises(UnitError):
        convert(1.0, "MA")


def test_unknown_unit_lists_near_names_and_what_exists():
    with pytest.raises(UnitError, match=r"'degs'.*Did you mean .*'deg'.*'rpm'.*'counts'"):
        convert(1.0, "degs")


@pytest.mark.parametrize("arguments", [{"scale": 0.0}, {"offset": math.nan}, {"scale": math.inf}])
def test_senseless_offset_or_scale(arguments):
    with pytest.raises(UnitError, match="finite"):
        convert(1.0, "rad", **arguments)


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_leads_to_its_si_unit(name):
    si = si_unit(name)
    assert UNITS[si].factor == 1.0
    assert UNITS[si].quantity == UNITS[name].quantity


@given(st.text(max_size=12))
def test_any_text_is_a_unit_or_a_unit_error(text):
    try:
        convert(np.ones(2), text)
    except UnitError as error:
        assert "Available units" in str(error)


class TestSuspectUnits:
    time = np.linspace(0, 5, 2001)

    def test_joint_at_180_rad_looks_like_degrees(self):
        sentence = suspect_units("elbow", 180.0 * np.sin(self.time), "angle")
        assert sentence and "elbow reaches 180 rad" in sentence and "degrees" in sentence

    def test_plausible_joint(self):
        assert suspect_units("elbow", 6.0 * np.sin(self.time), "angle") is None

    def test_wheel_is_no_suspect(self):
        assert suspect_units("wheel", 40.0 * self.time, "angle") is None

    def test_integers_look_like_counts(self):
        raw = np.round(2048 + 1500 * np.sin(self.time))
        assert "counts" in (suspect_units("elbow", raw, "angle") or "")

    @pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us"), (1e9, "ns")])
    def test_times_in_another_unit(self, factor, unit):
        sentence = suspect_units("t", 1000 + self.time * factor, "time")
        assert sentence and f"as {unit}." in sentence and "400 samples a second" in sentence

    def test_times_in_seconds(self):
        assert suspect_units("t", 1.7e9 + self.time, "time") is None
        assert suspect_units("t", [1.0], "time") is None

    def test_hours(self):
        assert "hours" in (suspect_units("t", np.arange(0, 20_000, 0.5), "time") or "")

    def test_speed_and_length(self):
        assert "rpm" in (suspect_units("w", [0.0, 3000.0], "angular velocity") or "")
        assert suspect_units("w", [0.0, 30.0], "angular velocity") is None
        assert "mm" in (suspect_units("x", [0.0, 250.0], "length") or "")
        assert suspect_units("x", [0.0, 2.5], "length") is None

    def test_nan_and_nothing_are_no_suspects(self):
        assert suspect_units("q", [np.nan, 1.0], "angle") is None
        assert suspect_units("q", [], "angle") is None

    def test_unknown_kind(self):
        with pytest.raises(UnitError, match="angle"):
            suspect_units("q", [1.0], "angles")
