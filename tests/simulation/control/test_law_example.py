"""The example of a compiled law finds what it looks for."""

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "compiled_pd_law.py"


def test_example_finds_the_delay(capsys):
    module = runpy.run_path(str(EXAMPLE))
    module["main"]()
    words = capsys.readouterr().out.split()
    true, found = float(words[2]), float(words[5])
    assert true == 23.4
    assert abs(found - true) <= 0.3


def test_example_is_later_with_more_delay():
    module = runpy.run_path(str(EXAMPLE))
    positions = module["step_responses"](np.array([0.0, 0.02]))
    crossing = np.argmax(positions > 0.25, axis=1)
    assert crossing[1] - crossing[0] == 20
