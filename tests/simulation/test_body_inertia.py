"""Inertia parameters: fields equal to recompiled specs, whatever the model says about inertia."""

import mujoco
import numpy as np
import pytest
from simulation_models import PENDULUM, everything

from trueup.errors import TargetError
from trueup.parameters import InertiaType, Parameter, ParameterDict
from trueup.simulation.engine.batch import BatchEngine, Segment
from trueup.simulation.targets.body_inertia import (
    Inertial,
    inertial_from_value,
    inertial_of,
    make_explicit,
    theta_of,
)
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.model_modifier import body_inertia_param

_KINDS = list(InertiaType)


def _drive(model):
    rng = np.random.default_rng(0)
    data = mujoco.MjData(model)
    data.qvel[:] = rng.normal(size=model.nv)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return Segment(0.0, state, rng.normal(size=(150, model.nu)))


def _motion(model, n, writes=(), models=None):
    engine = BatchEngine(model, [_drive(model)], ("qpos", "sensordata"))
    failures = {}
    blocks = list(engine.run(n, writes, models, failures))
    assert not failures
    return np.concatenate(
        [np.concatenate([b.records[f] for b in blocks], axis=2).reshape(n, -1)
         for f in ("qpos", "sensordata")],
        axis=1,
    )  # fmt: skip


def _candidates(parameters, n=3):
    rng = np.random.default_rng(5)
    lower, upper = parameters.get_bounds()
    start = parameters.as_vector()
    return start + rng.uniform(-0.3, 0.3, (n, start.size)) * np.minimum(
        upper - start, start - lower
    )


_MODELS = {
    "explicit": (PENDULUM.replace("<geom name", '<inertial pos="0 .01 -.25" mass="1" '
                 'fullinertia=".03 .029 .004 .001 .0005 .0002"/><geom name'), "rod"),
    "from geoms": (PENDULUM, "rod"),
    "all from geoms": (PENDULUM.replace("<option", '<compiler inertiafromgeom="true"/><option'),
                       "rod"),
    "simple": (everything(), "block"),
    "mesh": (everything(), "stone"),
    "parent of others": (everything(), "arm"),
}  # fmt: skip


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("which", _MODELS)
def test_fields_move_as_a_recompiled_spec(kind, which):
    text, body = _MODELS[which]
    spec = mujoco.MjSpec.from_string(text)
    before = spec.to_xml()
    parameters = ParameterDict()
    parameters.add(body_inertia_param(spec, spec.copy().compile(), body, kind))
    variants = ModelVariants(spec, parameters)
    assert not variants.compiles
    X = _candidates(parameters)
    written = _motion(variants.model, 3, variants.field_writes(X))
    compiled = _motion(variants.model, 3, models=[variants.model_at(x) for x in X])
    np.testing.assert_allclose(written, compiled, rtol=1e-9, atol=1e-9)
    falls_freely = which == "mesh" and kind is InertiaType.Mass
    assert np.abs(written[0] - written[1]).max() > 1e-6 or falls_freely
    assert spec.to_xml() == before


@pytest.mark.parametrize("which", _MODELS)
def test_making_a_body_explicit_changes_nothing(which):
    text, body = _MODELS[which]
    spec = mujoco.MjSpec.from_string(text)
    model = spec.copy().compile()
    edited = spec.copy()
    make_explicit(edited, model, [body])
    again = edited.compile()
    for field in ("body_mass", "body_ipos", "body_inertia"):
        np.testing.assert_allclose(getattr(again, field), getattr(model, field), atol=1e-12)
    np.testing.assert_allclose(_motion(again, 1), _motion(model, 1), atol=1e-9)


def test_the_body_of_an_attached_model():
    outer = mujoco.MjSpec.from_string(
        '<mujoco><compiler inertiafromgeom="true"/><worldbody><body name="base">'
        '<geom size=".1" contype="0"/></body></worldbody></mujoco>'
    )
    inner = mujoco.MjSpec.from_string(PENDULUM)
    outer.attach(inner, prefix="arm/", frame=outer.body("base").add_frame())
    model = outer.copy().compile()
    for kind in _KINDS:
        parameters = ParameterDict()
        parameters.add(body_inertia_param(outer, model, "arm/rod", kind))
        variants = ModelVariants(outer, parameters)
        X = _candidates(parameters)
        np.testing.assert_allclose(
            _motion(variants.model, 3, variants.field_writes(X)),
            _motion(variants.model, 3, models=[variants.model_at(x) for x in X]),
            rtol=1e-9,
            atol=1e-9,
        )


@pytest.mark.parametrize("kind", _KINDS)
def test_the_start_value_is_the_model_itself(kind):
    for text, body in _MODELS.values():
        spec = mujoco.MjSpec.from_string(text)
        model = spec.copy().compile()
        parameters = ParameterDict()
        parameters.add(body_inertia_param(spec, model, body, kind))
        built = ModelVariants(spec, parameters).model_at(parameters.as_vector())
        i = model.body(body).id
        assert built.body_mass[i] == pytest.approx(model.body_mass[i], rel=1e-12)
        np.testing.assert_allclose(
            inertial_of(built, body).matrix, inertial_of(model, body).matrix, atol=1e-12
        )


def test_the_mass_alone_may_scale_the_rotational_inertia():
    base = Inertial(2.0, np.zeros(3), np.array([1.0, 0, 0, 0]), np.array([0.3, 0.2, 0.15]))
    plain = inertial_from_value(base, InertiaType.Mass, False, np.array([[3.0]]))
    scaled = inertial_from_value(base, InertiaType.Mass, True, np.array([[3.0]]))
    np.testing.assert_array_equal(plain["body_inertia"], [[0.3, 0.2, 0.15]])
    np.testing.assert_allclose(scaled["body_inertia"], [[0.45, 0.3, 0.225]])


def test_full_inertia_in_the_pendulum_equation():
    """A pendulum's first acceleration follows from its moment about the pivot alone."""
    spec = mujoco.MjSpec.from_string(PENDULUM)
    model = spec.copy().compile()
    parameters = ParameterDict()
    parameters.add(body_inertia_param(spec, model, "rod", InertiaType.Pseudo))
    variants = ModelVariants(spec, parameters)
    x = _candidates(parameters, 1)[0]
    built = variants.model_at(x)
    body = inertial_of(built, "rod")
    about_pivot = body.matrix[1, 1] + body.mass * (body.ipos[0] ** 2 + body.ipos[2] ** 2)
    data = mujoco.MjData(built)
    data.ctrl[0] = 1.3
    mujoco.mj_forward(built, data)
    # torque of gravity about y: -(z F_x - x F_z) with F = -m g z
    torque = 1.3 + body.mass * 9.81 * body.ipos[0]
    assert data.qacc[0] == pytest.approx(torque / about_pivot, rel=1e-9)


def test_a_mass_target_and_an_inertia_of_the_same_body_are_refused():
    spec = mujoco.MjSpec.from_string(PENDULUM)
    parameters = ParameterDict()
    parameters.add(body_inertia_param(spec, spec.copy().compile(), "rod", InertiaType.MassIpos))
    parameters.add(Parameter("mass", 1.0, 0.5, 2.0, target="body/rod/mass"))
    with pytest.raises(TargetError, match="both write body_mass"):
        ModelVariants(spec, parameters)


def test_an_inertia_that_no_body_has_cannot_be_parameterised():
    flat = Inertial(1.0, np.zeros(3), np.array([1.0, 0, 0, 0]), np.array([3.0, 1.0, 1.0]))
    with pytest.raises(TargetError, match="sum of the"):
        theta_of(flat)
    with pytest.raises(TargetError, match="Did you mean 'rod'"):
        inertial_of(mujoco.MjModel.from_xml_string(PENDULUM), "rot")
