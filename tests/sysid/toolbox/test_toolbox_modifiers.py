"""Gains, inertias and all modifiers of a set, written into a spec."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from toolbox_models import sequences

from trueup import sysid
from trueup.errors import ParameterError, TargetError
from trueup.simulation.models.visuals import remove_visuals
from trueup.sysid import model_modifier as mm
from trueup.sysid import modifiers

SERVO = """
<mujoco>
  <worldbody>
    <body name="explicit"><inertial pos=".1 .2 .3" mass="2" diaginertia=".03 .02 .015"
      quat=".9 .1 .3 .2"/><joint name="a" axis="0 1 0"/><geom name="rod" size=".1" pos="1 0 0"/>
      <body name="inferred" pos="0 0 .5"><joint name="b" axis="1 0 0"/>
        <geom name="box" type="box" size=".1 .05 .2" pos=".02 .01 0" mass="1.5"/></body></body>
  </worldbody>
  <actuator>
    <position name="servo" joint="a" kp="50" kv="3"/><motor name="motor" joint="b"/>
    <general name="late" joint="b" nsample="6" delay="0.004" interp="linear"/>
  </actuator>
  <sensor><jointpos name="pa" joint="a"/><jointpos name="pb" joint="b"/>
    <jointvel name="va" joint="a"/><jointvel name="vb" joint="b"/></sensor>
</mujoco>
"""


@pytest.fixture
def spec() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(SERVO)


def inertia_of(model: mujoco.MjModel, body: str) -> np.ndarray:
    """Inertia about the centre of mass in the axes of the body."""
    return mm.inertia_to_fullinertia(model.body(body).iquat, model.body(body).inertia)


class TestGains:
    def test_each_gain_lands_with_its_sign(self, spec):
        assert mm.apply_pgain(spec, "servo", 74.0) is spec
        mm.apply_dgain(spec, "servo", np.array([1.2]))
        servo = spec.compile().actuator("servo")
        assert servo.gainprm[0] == 74 and servo.biasprm[1] == -74 and servo.biasprm[2] == -1.2

    def test_both_gains_at_once_and_back(self, spec):
        model = mm.apply_pdgain(spec, "servo", np.array([74, 1.2])).compile()
        assert mm.get_actuator_pd_gains(model, "servo") == (74.0, 1.2)

    def test_refusals_say_what_is_there(self, spec):
        with pytest.raises(TargetError, match="'motor' is of the type 'motor', not a position"):
            mm.apply_pgain(spec, "motor", 1.0)
        with pytest.raises(TargetError, match="mean 'servo'"):
            mm.apply_dgain(spec, "servos", 1.0)
        with pytest.raises(TargetError, match="no actuator 'x'"):
            mm.get_actuator_pd_gains(spec.compile(), "x")
        with pytest.raises(ParameterError, match="2-element"):
            mm.apply_pdgain(spec, "servo", np.ones(3))
        with pytest.raises(ParameterError, match="one number"):
            mm.apply_pgain(spec, "servo", np.ones(2))

    def test_servo_is_told_from_a_motor_in_spec_and_model(self, spec):
        model = spec.compile()
        for source in (spec, model):
            assert mm.is_position_actuator(source.actuator("servo"))
            assert not mm.is_position_actuator(source.actuator("motor"))


class TestInertia:
    @pytest.mark.parametrize(("body", "scale"), [("explicit", 3.3), ("inferred", 0.077)])
    def test_mass_scales_the_rotational_inertia(self, spec, body, scale):
        before = spec.compile()
        mass = before.body(body).mass[0] * scale
        mm.apply_body_mass_ipos(spec, body, mass=np.array([mass]), rot_inertia_scale=True)
        after = spec.compile()
        np.testing.assert_allclose(after.body(body).mass[0], mass)
        np.testing.assert_allclose(
            inertia_of(after, body), inertia_of(before, body) * scale, rtol=1e-9, atol=1e-15
        )

    @pytest.mark.parametrize("body", ["explicit", "inferred"])
    def test_centre_of_mass_and_factor(self, spec, body):
        before = spec.compile()
        mm.apply_body_mass_ipos(spec, body, ipos=np.array([0.3, -0.1, 0.2]))
        mm.scale_body_inertia(spec, body, 2.0)
        after = spec.compile()
        np.testing.assert_allclose(after.body(body).ipos, [0.3, -0.1, 0.2])
        np.testing.assert_allclose(after.body(body).mass, before.body(body).mass)
        np.testing.assert_allclose(
            inertia_of(after, body), 2 * inertia_of(before, body), rtol=1e-9, atol=1e-15
        )

    def test_one_body_changes_no_other(self):
        spec = mujoco.MjSpec.from_string(SERVO.replace("<worldbody>", "<worldbody>", 1))
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
        before = spec.compile()
        mm.apply_body_mass_ipos(spec, "inferred", mass=3.0)
        after = spec.compile()
        np.testing.assert_allclose(after.body("inferred").mass, 3.0)
        for field in ("mass", "ipos", "inertia"):
            np.testing.assert_allclose(
                getattr(after.body("explicit"), field), getattr(before.body("explicit"), field)
            )

    @pytest.mark.parametrize("body", ["explicit", "inferred"])
    def test_coordinates_of_a_body_written_back_change_nothing(self, spec, body):
        before = spec.compile()
        theta = mm.theta_inertia_from_body(spec, body)
        after = mm.apply_body_theta_inertia(spec, body, theta).compile()
        np.testing.assert_allclose(after.body(body).mass, before.body(body).mass)
        np.testing.assert_allclose(after.body(body).ipos, before.body(body).ipos, atol=1e-12)
        np.testing.assert_allclose(inertia_of(after, body), inertia_of(before, body), atol=1e-12)

    def test_inertial_parameters_are_about_the_body_origin(self, spec):
        model = spec.compile()
        pi = mm.pi_from_body(spec, "explicit")
        mass, centre = model.body("explicit").mass[0], model.body("explicit").ipos
        about_origin = inertia_of(model, "explicit") - mass * mm.skew(centre) @ mm.skew(centre)
        np.testing.assert_allclose(pi[0], mass)
        np.testing.assert_allclose(pi[1:4], mass * centre)
        np.testing.assert_allclose(pi[4:].reshape(3, 3), about_origin)
        np.testing.assert_allclose(
            mm.pi_from_theta(mm.theta_inertia_from_body(spec, "explicit")), pi, atol=1e-12
        )

    @given(arrays(float, 10, elements=st.floats(-1, 1)))
    @settings(max_examples=50, deadline=None)
    def test_coordinates_and_parameters_are_inverse(self, theta):
        pseudo = mm.pseudoinertia_from_pi(mm.pi_from_theta(theta))
        assert np.linalg.eigvalsh(pseudo).min() > 0
        np.testing.assert_allclose(mm.theta_from_pseudoinertia(pseudo), theta, atol=1e-8)
        upper = mm.cholesky_decompose_upper(pseudo)
        np.testing.assert_allclose(upper @ upper.T, pseudo, atol=1e-12)
        np.testing.assert_array_equal(np.tril(upper, -1), 0)

    def test_equal_to_the_toolbox(self, spec):
        reference = pytest.importorskip("mujoco.sysid")
        theirs = reference.model_modifier
        theta = mm.theta_inertia_from_body(spec, "explicit") + 0.1
        np.testing.assert_allclose(mm.pi_from_theta(theta), theirs.pi_from_theta(theta))
        pi = mm.pi_from_theta(theta)
        np.testing.assert_allclose(
            mm.pseudoinertia_from_pi(pi), theirs.pseudoinertia_from_pi(pi), atol=1e-15
        )
        copy = spec.copy()
        for body in ("explicit", "inferred"):
            np.testing.assert_allclose(
                mm.theta_inertia_from_body(spec, body),
                theirs.theta_inertia_from_body(copy, body),
                atol=1e-9,
            )
        model = spec.compile()
        for kind in ("Mass", "MassIpos", "Pseudo"):
            ours = sysid.body_inertia_param(spec, model, "explicit", sysid.InertiaType[kind])
            other = reference.body_inertia_param(
                copy, model, "explicit", reference.InertiaType[kind]
            )
            assert ours.name == other.name
            for field in ("nominal", "min_value", "max_value"):
                np.testing.assert_allclose(getattr(ours, field), getattr(other, field), atol=1e-9)

    def test_bad_input(self, spec):
        model = spec.compile()
        with pytest.raises(TargetError, match=r"no body 'inferd'.*'inferred'"):
            mm.apply_body_mass_ipos(spec, "inferd", mass=1.0)
        with pytest.raises(TargetError, match="no body"):
            sysid.body_inertia_param(spec, model, "x")
        with pytest.raises(ParameterError, match="10-element"):
            mm.apply_body_theta_inertia(spec, "explicit", np.ones(9))
        with pytest.raises(ParameterError, match="mass_bound_mult"):
            sysid.body_inertia_param(spec, model, "explicit", mass_bound_mult=np.array([2, 1]))
        with pytest.raises(ParameterError, match="inertia_type"):
            sysid.apply_body_inertia(spec, "explicit", sysid.Parameter("p", 1.0, 0.0, 2.0))


FLYER = """
<mujoco>
  <option timestep="0.002" gravity="0 0 -2"/>
  <worldbody>
    <body name="flyer"><freejoint name="free"/>
      <inertial pos=".05 0 .02" mass="1.2" diaginertia=".03 .02 .015"/></body>
  </worldbody>
  <actuator>
    <motor joint="free" gear="1 0 0 0 0 0"/><motor joint="free" gear="0 1 0 0 0 0"/>
    <motor joint="free" gear="0 0 1 0 0 0"/><motor joint="free" gear="0 0 0 1 0 0"/>
    <motor joint="free" gear="0 0 0 0 1 0"/><motor joint="free" gear="0 0 0 0 0 1"/>
  </actuator>
  <sensor>
    <framelinvel name="velocity" objtype="xbody" objname="flyer"/>
    <frameangvel name="spin" objtype="xbody" objname="flyer"/>
  </sensor>
</mujoco>
"""


def six_waves(times: np.ndarray) -> np.ndarray:
    """Forces and torques that excite every direction."""
    frequencies = np.array([1.0, 1.7, 2.3, 1.4, 2.9, 2.1])
    size = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    return size * np.sin(2 * np.pi * frequencies * times[:, None] + np.arange(6))


@pytest.mark.parametrize("own_modifier", [False, True])
@pytest.mark.parametrize("kind", list(sysid.InertiaType))
def test_inertia_types_are_fitted_from_end_to_end(kind, own_modifier):
    truth, start = (mujoco.MjSpec.from_string(FLYER) for _ in range(2))
    model = start.copy().compile()
    true = sysid.body_inertia_param(truth, model, "flyer", kind)
    shift = {"Mass": [0.3], "MassIpos": [0.3, 0.02, -0.01, 0.03]}.get(
        kind.name, [0.1, 0.05, -0.04, 0.06, 0.02, -0.01, 0.015, 0.02, -0.01, 0.03]
    )
    true.update_from_vector(true.value + shift)
    true.apply_modifier(truth)
    measured = sequences(truth, six_waves, 1.0)
    models = sysid.ModelSequences(
        "flyer",
        start,
        "run",
        measured.initial_state[0],
        measured.control[0],
        measured.sensordata[0],
    )
    own = (lambda s, p: sysid.apply_body_inertia(s, "flyer", p)) if own_modifier else None
    params = sysid.ParameterDict()
    params.add(sysid.body_inertia_param(start, model, "flyer", kind, modifier=own))
    function = sysid.build_residual_fn(models_sequences=[models])
    found, _ = sysid.optimize(params, function, verbose=False, max_iters=30)
    np.testing.assert_allclose(found.as_vector(), true.as_vector(), rtol=1e-4, atol=1e-5)


class TestAllModifiers:
    def test_targets_modifiers_inertia_ties_and_frozen_ones_are_applied(self, spec):
        def damp(spec, param):
            spec.joint("a").damping = param.value[0]

        params = sysid.ParameterDict()
        params.add(sysid.Parameter("kp", 60.0, 0, 100, target="actuator/servo/kp"))
        params.add(
            sysid.Parameter(
                "damping",
                0.5,
                0,
                1,
                modifier=lambda s, p: setattr(s.joint("a"), "damping", p.value[0]),
            )
        )
        params.add(sysid.Parameter("armature", 0.1, 0, 1, frozen=True, target="joint/a/armature"))
        params.add(
            sysid.Parameter("other", 0.2, 0, 1, tied_to="armature", target="joint/b/armature")
        )
        params.add(
            sysid.body_inertia_param(spec, spec.compile(), "inferred", sysid.InertiaType.Mass)
        )
        params["inferred_inertia"].value[:] = 4.0
        params.apply_ties()
        before = spec.to_xml()
        assert sysid.apply_param_modifiers_spec(params, spec) is spec
        assert spec.to_xml() != before, "the caller's spec is the one that is written"
        model = spec.compile()
        assert model.actuator("servo").gainprm[0] == 60
        assert model.dof_damping[0] == 0.5
        assert model.dof_armature.tolist() == [0.1, 0.1]
        assert model.body("inferred").mass[0] == 4.0
        assert sysid.apply_param_modifiers(params, spec).body("inferred").mass[0] == 4.0


class TestReadyModifiers:
    def test_each_sets_its_number(self, spec):
        for function, element, value in (
            (modifiers.set_damping, "a", [0.4]),
            (modifiers.set_stiffness, "a", [1.0, 0.5, 0.25]),
            (modifiers.set_armature, "b", [0.05]),
            (modifiers.set_frictionloss, "b", 0.7),
            (modifiers.set_friction, "box", 0.9),
            (modifiers.set_gear, "motor", np.array([12.0])),
            (modifiers.set_actuator_delay, "late", 0.01),
        ):
            param = sysid.Parameter("p", value, 0, 100)
            modifiers.modifier(function, element)(spec, param)
        model = spec.compile()
        assert model.dof_damping[0] == 0.4
        assert model.jnt_stiffness[0] == 1.0 and model.jnt_stiffnesspoly[0].tolist() == [0.5, 0.25]
        assert model.dof_armature[1] == 0.05 and model.dof_frictionloss[1] == 0.7
        assert model.geom("box").friction[0] == 0.9
        assert model.actuator("motor").gear[0] == 12
        assert model.actuator_delay[model.actuator("late").id] == 0.01

    def test_delay_longer_than_its_buffer_is_refused(self, spec):
        with pytest.raises(TargetError, match="has a buffer of 6 command samples"):
            modifiers.set_actuator_delay(spec, "late", 0.05)
        with pytest.raises(TargetError, match="has a buffer of 0 command samples"):
            modifiers.set_actuator_delay(spec, "motor", 0.01)

    def test_several_elements_share_a_value(self, spec):
        write = modifiers.modifier(modifiers.set_armature, "a", "b")
        write(spec, sysid.Parameter("p", 0.3, 0, 1))
        assert spec.compile().dof_armature.tolist() == [0.3, 0.3]
        with pytest.raises(TargetError, match="no joint 'c'"):
            modifiers.set_armature(spec, "c", 1.0)
        with pytest.raises(ParameterError, match="at most 3"):
            modifiers.set_damping(spec, "a", np.ones(4))

    def test_measurement_parameters(self):
        assert modifiers.sensor_delay_param("d", 0.05).max_value[0] == 0.05
        assert modifiers.sensor_gain_param("g").value[0] == 1.0
        assert modifiers.sensor_bias_param("b", 0.2, "rad").min_value[0] == -0.2


VISUALS = """
<mujoco>
  <asset>
    <texture name="t" type="2d" builtin="checker" width="8" height="8"/>
    <material name="m" texture="t"/>
    <mesh name="shown" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <mesh name="both" vertex="0 0 0 1 0 0 0 1 0 0 0 2"/>
  </asset>
  <worldbody>
    <body name="body"><joint/>
      <geom name="skin" type="mesh" mesh="shown" material="m" contype="0" conaffinity="0"/>
      <geom name="skin2" type="mesh" mesh="both" contype="0" conaffinity="0"/>
      <geom name="hull" type="mesh" mesh="both" material="m"/>
      <geom name="paired" size=".1" contype="0" conaffinity="0"/>
    </body>
    <geom name="floor" type="plane" size="1 1 1" material="m"/>
  </worldbody>
  <contact><pair geom1="paired" geom2="floor"/></contact>
</mujoco>
"""


def test_without_visuals_nothing_moves_differently():
    spec = mujoco.MjSpec.from_string(VISUALS)
    before, model = spec.to_xml() if spec.compile() else "", spec.compile()
    bare = remove_visuals(spec)
    assert spec.to_xml() == before
    assert not bare.textures and not bare.materials
    assert {g.name for g in bare.geoms} == {"hull", "paired", "floor"}
    assert [m.name for m in bare.meshes] == ["both"]
    after = bare.compile()
    np.testing.assert_allclose(after.body_mass, model.body_mass)
    np.testing.assert_allclose(after.body_ipos, model.body_ipos)
    np.testing.assert_allclose(inertia_of(after, "body"), inertia_of(model, "body"))
