"""Coverage of the intervals: a short version of ``benchmarks/interval_coverage.py``."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

REPEATS = 80


@pytest.fixture(scope="module")
def study():
    path = Path(__file__).parents[3] / "benchmarks" / "interval_coverage.py"
    spec = spec_from_file_location("interval_coverage", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["interval_coverage"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["interval_coverage"]


def within(low, high):
    """Range that a true coverage between ``low`` and ``high`` leaves once in 1000 [%]."""
    few = 100.0 * binom.ppf(5e-4, REPEATS, low / 100.0) / REPEATS
    many = 100.0 * binom.ppf(1.0 - 5e-4, REPEATS, high / 100.0) / REPEATS
    return few, many


def test_the_response_and_its_derivatives_are_exact(study):
    force = study.two_tone_force(300)
    values = np.array([1.0, 100.0, 5.0])
    both, sensitivity = study.response(values, force)
    position = velocity = 0.0
    for step in range(300):
        np.testing.assert_allclose(both[step], [position, velocity], atol=1e-12)
        dt = study.TIME_STEP
        velocity = (velocity + dt * (force[step] - 100.0 * position)) / (1.0 + dt * 5.0)
        position += dt * velocity
    for i in range(3):
        shifted = values.copy()
        shifted[i] *= 1.0 + 1e-6
        slope = (study.response(shifted, force)[0] - both) / (shifted[i] - values[i])
        np.testing.assert_allclose(slope, sensitivity[..., i], atol=1e-4 * np.abs(slope).max())


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["white", "ar1", "moving"])
def test_intervals_hold_the_truth_as_often_as_they_say(study, noise):
    low, high = within(*study.TARGETS.get(noise, (93.0, 97.0)))
    for row in study.coverage_study(REPEATS, noises=(noise,), seed=11):
        for name, coverage in zip(row["free"], row["coverage"]):
            assert low <= coverage <= high, (noise, row["free"], name)
        if noise == "ar1":
            assert max(row["classical_coverage"]) < 45.0
            assert row["chosen"].get("autoregressive", 0) == REPEATS
        if noise == "moving":
            assert row["size_change_reported"] > 95.0
        else:
            assert row["size_change_reported"] < 8.0
