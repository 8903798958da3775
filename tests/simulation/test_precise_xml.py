"""Models written with every digit."""

import mujoco
import numpy as np
import pytest

from trueup.simulation.models.precise_xml import precise_xml

MODEL = """
<mujoco>
  <compiler angle="degree"/>
  <worldbody>
    <body name="arm">
      <joint name="hinge" axis="0 1 0" range="-12.3456789 45.6789012" limited="true"/>
      <geom name="link" type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="hinge" kp="12.3456789"/></actuator>
</mujoco>
"""


def test_every_identified_number_survives_the_file():
    rng = np.random.default_rng(0)
    spec = mujoco.MjSpec.from_string(MODEL)
    spec.compile()
    joint, body, servo = spec.joint("hinge"), spec.body("arm"), spec.actuator("servo")
    joint.armature, joint.frictionloss = rng.uniform(0.1, 1, 2)
    joint.range = rng.uniform([-60, 10], [-10, 60])
    body.explicitinertial = True
    body.mass, body.ipos = rng.uniform(1, 2), rng.uniform(0.1, 0.2, 3)
    body.inertia, body.iquat = rng.uniform(0.01, 0.012, 3), [1, 0, 0, 0]
    body.fullinertia = [np.nan, 0, 0, 0, 0, 0]
    servo.gainprm[0], servo.biasprm[1] = 31.41592653589793, -31.41592653589793
    spec.option.gravity = [0.1234567891, 0, -9.80665123456]
    model = spec.compile()
    again = mujoco.MjModel.from_xml_string(precise_xml(spec))
    for field in (
        "dof_armature",
        "dof_frictionloss",
        "jnt_range",
        "body_mass",
        "body_ipos",
        "body_inertia",
        "actuator_gainprm",
        "actuator_biasprm",
    ):
        wanted, found = getattr(model, field), getattr(again, field)
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=field)
    np.testing.assert_allclose(again.opt.gravity, model.opt.gravity, rtol=1e-15)


@pytest.mark.parametrize("largest", [1.0, 812547.0, 1e30])
def test_custom_numerics_keep_small_numbers_and_every_digit(largest):
    # MuJoCo 4.0.1 writes 0 for what is small compared with the largest number of the list
    wanted = [largest, 1 / 3, -1.8e-3, 5e-12, 0.0, 123456789.125]
    spec = mujoco.MjSpec.from_string(MODEL)
    spec.add_numeric(name="gains", data=wanted)
    spec.add_numeric(name="room", size=3, data=[0.1])
    spec.compile()
    model = mujoco.MjModel.from_xml_string(precise_xml(spec))
    np.testing.assert_array_equal(model.numeric("gains").data, wanted)
    np.testing.assert_array_equal(model.numeric("room").data, [0.1, 0, 0])


def test_the_plain_writer_would_have_rounded():
    """The reason for the second pass; once MuJoCo writes all digits it can go."""
    spec = mujoco.MjSpec.from_string(MODEL)
    spec.compile()
    spec.joint("hinge").armature = 1 / 3
    spec.compile()
    assert "0.333333" in spec.to_xml()
    assert repr(1 / 3) in precise_xml(spec)
    assert mujoco.MjModel.from_xml_string(spec.to_xml()).dof_armature[0] != pytest.approx(
        1 / 3, rel=1e-9
    )
