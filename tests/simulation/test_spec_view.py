"""The view that lets modifiers assign single numbers."""

import mujoco
import numpy as np
import pytest

from trueup.parameters import Parameter
from trueup.simulation.targets.spec_view import SpecView, apply_modifier, plain

MODEL = """
<mujoco>
  <worldbody>
    <body name="b"><joint name="j" damping="1 2 3" stiffness="10"/><geom name="g" size=".1"/></body>
  </worldbody>
  <actuator><motor name="m" joint="j"/></actuator>
</mujoco>
"""


@pytest.fixture
def spec() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(MODEL)


def test_number_sets_the_linear_coefficient_and_keeps_the_others(spec):
    SpecView(spec).joint("j").damping = 0.5
    setattr(SpecView(spec).joint("j"), "stiffness", np.float64(70))  # noqa: B010
    model = spec.compile()
    assert model.dof_damping[0] == 0.5
    assert model.dof_dampingpoly[0].tolist() == [2, 3]
    assert model.jnt_stiffness[0] == 70


def test_array_of_one_element_is_a_number(spec):
    view = SpecView(spec)
    view.body("b").mass = np.array([2.5])
    view.joint("j").damping = np.array([0.25])
    assert spec.body("b").mass == 2.5
    assert spec.joint("j").damping[0] == 0.25


def test_whole_polynomial_and_live_arrays_pass_unchanged(spec):
    view = SpecView(spec)
    view.joint("j").damping = [1.0, 0.5, 0.25]
    view.actuator("m").gear[0] = 4.0
    assert spec.joint("j").damping.tolist() == [1.0, 0.5, 0.25]
    assert spec.actuator("m").gear[0] == 4.0


def test_what_cannot_be_meant_still_raises(spec):
    with pytest.raises(TypeError):
        SpecView(spec).joint("j").damping = [1.0, 2.0]
    with pytest.raises(TypeError):
        SpecView(spec).geom("g").pos = 1.0
    with pytest.raises(TypeError):
        SpecView(spec).joint("j").damping = "0.5"


def test_looks_and_works_like_the_spec(spec):
    view = SpecView(spec)
    assert isinstance(view, mujoco.MjSpec)
    assert isinstance(view.joint("j"), mujoco.MjsJoint)
    assert view.joint("missing") is None
    assert view.joint("j") == spec.joint("j")
    assert hash(view.joint("j")) == hash(spec.joint("j"))
    assert [b.name for b in view.bodies] == ["world", "b"]
    assert type(plain(view.worldbody)) is mujoco.MjsBody
    for joint in view.joints:
        joint.damping = 3.0
    view.delete(view.geom("g"))
    view.body("b").mass, view.body("b").inertia = 1.0, [0.1, 0.1, 0.1]
    view.body("b").explicitinertial = True
    model = view.compile()
    assert isinstance(model, mujoco.MjModel)
    assert model.ngeom == 0 and model.dof_damping[0] == 3.0


def test_modifier_gets_a_view_whatever_it_is_given(spec):
    param = Parameter("d", 1.0, 0, 9, modifier=lambda s, p: setattr(s.joint("j"), "damping", 0.75))
    apply_modifier(param, spec)
    apply_modifier(param, SpecView(spec))
    assert spec.joint("j").damping[0] == 0.75
