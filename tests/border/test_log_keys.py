"""Keys that mend logs: wrong values are refused by name, and right ones reach the commands."""

import copy
from typing import Any

import driven_pendulum as pendulum
import pytest
import yaml
from work import refused

from trueup.cli import main

RECORDING = pendulum.EXPERIMENT["recordings"][0]


def angle(**keys: Any) -> dict[str, Any]:
    return {"signals": {"angle": {"column": "angle", **keys}, "speed": "speed"}}


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "run zero": ({"run": 0}, ("run",)),
    "run beyond": ({"run": 2}, ("run is 2", "shows one run")),
    "rollover negative": ({"rollover": -1}, ("rollover",)),
    "time scale zero": ({"time_scale": 0}, ("time_scale",)),
    "time scale infinite": ({"time_scale": float("inf")}, ("time_scale",)),
    "unknown samples": ({"leave_out": ["outliers"]}, ("leave_out", "'repeats'", "'spikes'")),
    "repair as text": ({"repair": "maybe"}, ("repair",)),
    "period negative": (angle(unwrap=-4096), ("unwrap",)),
    "late as text": (angle(late="soon"), ("late",)),
    "late beyond the recording": (angle(late=1000.0), ("cover",)),
    "sign bit below zero": (angle(sign_bit=-1), ("sign_bit",)),
    "sign bit as text": (angle(sign_bit="high"), ("sign_bit",)),
    "sign bit of fractions": (angle(sign_bit=15), ("angle", "sign_bit: 15", "whole numbers")),
    "period below the motion": (angle(unwrap=0.01), ("unwrap", "period")),
}


def written(folder, change):
    content = {**copy.deepcopy(pendulum.EXPERIMENT), "recordings": [{**RECORDING, **change}]}
    files = pendulum.write(folder)
    files.experiment.write_text(yaml.safe_dump(content, sort_keys=False))
    return str(files.experiment)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_value_is_refused_by_name(case, tmp_path, capfd):
    change, named = WRONG[case]
    refused(["check", written(tmp_path, change)], tmp_path, capfd, named=named)


def test_keys_that_change_nothing_are_accepted(tmp_path, capsys):
    change = {"run": 1, "rollover": 1000.0, "repair": True, "time_scale": 1.0, "leave_out": [],
              **angle(unwrap=True, late=0.0)}  # fmt: skip
    assert main(["check", written(tmp_path, change), "--json"]) == 0
    assert '"decision": "go on' in capsys.readouterr().out
