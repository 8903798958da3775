"""Advice on hard joint friction where a search does not converge."""

import mujoco

from trueup.sysid.assess.insights import hard_friction_advice

JOINT = """<mujoco><worldbody><body><joint name="knee" frictionloss="{loss}" {hard}/>
<geom size=".1"/></body></worldbody></mujoco>"""
HARD = 'solreffriction="0.002 1"'


def model(loss: float, hard: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(JOINT.format(loss=loss, hard=hard))


def test_hard_friction_is_named_where_there_is_some():
    (advice,) = hard_friction_advice([model(0.5, HARD)])
    assert "'knee'" in advice and "without model.friction" in advice and "window: 0.1" in advice
    assert hard_friction_advice([model(0.5, "")]) == []
    assert hard_friction_advice([model(0.0, HARD)]) == []
    assert hard_friction_advice([model(0.0, HARD)], searched=True)
