"""The example of an arm with servos runs and says what it claims."""

import importlib.util
from pathlib import Path

import numpy as np


def test_a_lower_voltage_lags_more():
    path = Path(__file__).resolve().parents[2] / "examples" / "servo_arm.py"
    spec = importlib.util.spec_from_file_location("servo_arm", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    lags = example.lag(np.array([5.0, 8.0]), seconds=1.0)
    assert (lags[0] > 1.05 * lags[1]).all()
