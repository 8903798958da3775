"""Gains that an explanation frees are those of the actuator's type; designs follow any servo."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.explain import CAUSES
from trueup.explain.situation import Situation, extended_spec
from trueup.parameters import ParameterDict
from trueup.simulation.targets.variants import ModelVariants

_ON = 'name="m" joint="j"'
_MOTOR = f'dcmotor {_ON} motorconst="0.5" resistance="2"'


_MJCF = """
<mujoco>
  <worldbody>
    <body name="arm">
      <joint name="j" axis="0 1 0" armature="0.02" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.5"/>
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""


def _situation(actuator: str):
    spec = mujoco.MjSpec.from_string(_MJCF.format(actuator=actuator))
    room = extended_spec(spec)
    one = np.ones(1)
    return room, Situation(room.copy().compile(), (0,), one, one, one)


@pytest.mark.parametrize(
    ("actuator", "expected"),
    [
        (f'<position {_ON} kp="20" kv="1"/>', {"kp": 20.0, "kv": 1.0}),
        (f'<pid {_ON} kp="20" ki="12" kv="0.5" imax="2" input="pos"/>',
         {"kp": 20.0, "ki": 12.0, "kv": 0.5}),
        (f'<pid {_ON} kp="20" input="pos"/>', {"kp": 20.0, "kv": 0.0}),
        (f'<velocity {_ON} kv="3"/>', {"kv": 3.0}),
        (f'<intvelocity {_ON} kp="7" kv="2"/>', {"kp": 7.0, "kv": 2.0}),
        (f'<motor {_ON}/>', {"gainprm/0": 1.0}),
        (f'<general {_ON} gainprm="3" biastype="affine" biasprm="0 0 -0.5"/>',
         {"gainprm/0": 3.0, "biasprm/2": -0.5}),
        (f"<{_MOTOR}/>", {"motorconst": 0.5, "resistance": 2.0}),
        (f'<{_MOTOR} input="pos" controller="3 1 0.2 0 0 0"/>', {"kp": 3.0, "ki": 1.0, "kd": 0.2}),
    ],
)  # fmt: skip
def test_the_gains_are_those_of_the_type(actuator, expected):
    room, now = _situation(actuator)
    causes = ("gains", "torque-constant")
    found = [unknown.parameter for c in causes for unknown in CAUSES[c].unknowns(now)]
    started = {p.targets[0].removeprefix("actuator/m/"): float(p.value[0]) for p in found}
    assert started == pytest.approx(expected)
    # every one of them can be written into the model
    ModelVariants(room, ParameterDict({p.name: p for p in found}))


@pytest.mark.parametrize(
    ("actuator", "cause"),
    [
        (f'<position {_ON} kp="20" kv="1"/>', "gains"),
        (f"<motor {_ON}/>", "torque-constant"),
        (f"<{_MOTOR}/>", "torque-constant"),
        (f'<{_MOTOR} input="pos" controller="3 1 0.2 0 0 0"/>', "gains"),
        (f'<velocity {_ON} kv="3"/>', "gains"),
    ],
)
def test_a_motor_has_a_torque_constant_and_a_servo_has_gains(actuator, cause):
    _, now = _situation(actuator)
    other = {"gains": "torque-constant", "torque-constant": "gains"}[cause]
    assert CAUSES[cause].unknowns(now) and not CAUSES[other].unknowns(now)


@pytest.mark.parametrize(
    ("actuator", "refused"),
    [
        (f'<pid {_ON} kp="20" ki="12" input="pos"/>', False),
        (f'<pid {_ON} kp="20" kv="2" input="vel"/>', True),
        (f"<{_MOTOR}/>", True),
    ],
)
def test_a_motion_is_designed_for_whatever_follows_a_position(actuator, refused, tmp_path, capsys):
    (tmp_path / "arm.xml").write_text(_MJCF.format(actuator=actuator))
    experiment = {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [{"file": "next.csv", "controls": {"m": "u"}, "signals": {"j_qpos": "q"}}],
        "parameters": {"d": {"target": "joint/j/damping", "bounds": [0, 2]}},
    }
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(experiment))
    words = ["design", str(tmp_path / "e.yaml"), "--dry-run", "--seconds", "1"]
    assert main([*words, "-o", str(tmp_path / "x")]) == (2 if refused else 0)
    said = capsys.readouterr()
    assert ("not a position servo" in said.err) == refused


@pytest.mark.parametrize("actuator", [f'<pid {_ON} kp="20" input="pos"/>', f"<{_MOTOR}/>"])
def test_a_delay_and_a_limit_are_looked_for_at_every_motor(actuator):
    _, now = _situation(actuator)
    assert CAUSES["delay"].unknowns(now) and CAUSES["limits"].unknowns(now)
