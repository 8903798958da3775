"""Models without what is only there to be looked at move as before, and lose nothing that acts."""

import mujoco
import numpy as np
import pytest

from trueup.simulation.models.visuals import simulated_spec

CORNERS = "0 0 0 .1 0 0 0 .1 0 0 0 .1"
ARM = """<mujoco><asset><mesh name="cover" vertex="{corners}"/>
<mesh name="foot" vertex="{corners}"/></asset>
<worldbody><body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
<geom name="cover" type="mesh" mesh="cover" contype="0" conaffinity="0"/>
<geom name="foot" type="mesh" mesh="foot" pos="0 0 -.3"/></body></worldbody>
<actuator><motor joint="hinge"/></actuator>{sensor}</mujoco>"""


def meshes(spec) -> set[str]:
    return {mesh.name for mesh in spec.meshes}


def test_covers_go_and_the_motion_stays():
    spec = mujoco.MjSpec.from_string(ARM.format(corners=CORNERS, sensor=""))
    bare = simulated_spec(spec)
    assert meshes(bare) == {"foot"} and meshes(spec) == {"cover", "foot"}
    ends = []
    for each in (spec, bare):
        model = each.copy().compile()
        data = mujoco.MjData(model)
        data.qpos[0] = 0.5
        mujoco.mj_step(model, data, 200)
        ends.append(np.concatenate([data.qpos, data.qvel]))
    # the cover gave the body a part of its inertia
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("sensor", "targets"),
    [
        ("", ["geom/cov*/friction"]),
        ("", ["mesh/cover/scale"]),
        ('<sensor><rangefinder site="eye"/></sensor>', []),
    ],
)
def test_what_may_act_or_is_named_stays(sensor, targets):
    text = ARM.format(corners=CORNERS, sensor=sensor).replace(
        '<joint name="hinge"', '<site name="eye"/><joint name="hinge"'
    )
    assert meshes(simulated_spec(mujoco.MjSpec.from_string(text), targets)) == {"cover", "foot"}
