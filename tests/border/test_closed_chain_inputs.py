"""Closed chains that a log does not determine are refused by every command, with the reason."""

import numpy as np
import pytest
import yaml
from work import refused

CHAIN = """<mujoco><compiler angle="radian"/>
<default><geom type="capsule" size=".01" contype="0" conaffinity="0"/></default><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0" damping=".1"/>
 <geom fromto="0 0 0 {crank}" mass=".3"/>
 <body name="coupler" pos="{crank}">{extra}<joint name="coupler" {kind}/>
  <geom fromto="0 0 0 {coupler}" mass=".3"/></body></body>
<body name="rocker" pos="{ground} 0 0"><joint name="rocker" axis="0 1 0"/>
 <geom fromto="0 0 0 {rocker}" mass=".4"/></body></worldbody>
<equality><connect name="loop" body1="coupler" body2="rocker" anchor="{coupler}"/></equality>
<actuator><motor name="motor" joint="crank"/></actuator></mujoco>"""
PLAIN = {
    "crank": "0 0 .2",
    "coupler": ".3 0 0",
    "ground": ".3",
    "rocker": "0 0 .2",
    "extra": "",
    "kind": 'axis="0 1 0"',
}
CASES = {
    "beyond reach": (
        {"crank": "0 0 .3", "coupler": ".3 0 -.1"},
        ("'loop' (connect) cannot be closed at", "with 'crank' at", "zeros, signs or units"),
    ),
    "a dead point": (
        {},
        ("is at a dead point at", "'crank' does not determine 'coupler', 'rocker'", "trim"),
    ),
    "no assembly": (
        {"crank": ".2 0 0", "ground": ".4", "rocker": ".1 0 0"},
        ("dead point in every pose of the model", "add a keyframe"),
    ),
    "one joint too many": (
        {"extra": '<joint name="extra" axis="0 1 0" pos="0 0 -.1"/>'},
        ("does not determine 'extra', 'coupler', 'rocker' from 'crank'", "record one more"),
    ),
    "a ball joint": (
        {"kind": 'type="ball"'},
        ("only 'crank' is measured, not 'coupler', 'rocker'", "the free or ball joint 'coupler'"),
    ),
}
EXPERIMENT = {
    "model": {"file": "chain.xml"},
    "recordings": [
        {
            "file": "log.csv",
            "signals": {"crank_qpos": "crank_pos"},
            "controls": {"motor": "crank_torque"},
        }
    ],
    "parameters": {"damping": {"target": "joint/crank/damping", "bounds": [0, 1]}},
}


@pytest.mark.parametrize("command", ["check", "identify", "explain", "import"])
@pytest.mark.parametrize("case", CASES)
def test_a_chain_that_a_log_does_not_determine_is_refused(case, command, tmp_path, capfd):
    changes, named = CASES[case]
    (tmp_path / "chain.xml").write_text(CHAIN.format(**PLAIN | changes))
    times = np.arange(0, 4, 0.01)
    table = np.column_stack([times, 0.6 * times * np.sin(1.3 * times), np.cos(times)])
    header = "t,crank_pos,crank_torque"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=header, comments="")
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    words = [command, str(tmp_path / "experiment.yaml")]
    if command == "import":
        files = [str(tmp_path / name) for name in ("log.csv", "chain.xml")]
        words = [command, *files, "-o", str(tmp_path / "new.yaml")]
    refused(words, tmp_path, capfd, named=named)
