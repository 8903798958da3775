"""Candidates that are compiled: isolation, parallel equal to serial, untouched specs, payloads."""

import mujoco
import numpy as np
import pytest
from simulation_models import PENDULUM, everything

from trueup.errors import ParameterError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.targets import variants as module
from trueup.simulation.targets.variants import ModelVariants


def _variants(modifier, start=1.0, lower=0.5, upper=1.5, text=PENDULUM, more=()):
    parameters = ParameterDict({"p": Parameter("p", start, lower, upper, modifier=modifier)})
    for param in more:
        parameters.add(param)
    return ModelVariants(mujoco.MjSpec.from_string(text), parameters)


def _set_mass(spec, param):
    spec.body("rod").geoms[0].mass = param.value[0]


def _scale_mass(spec, param):
    geom = spec.body("rod").geoms[0]
    geom.mass = geom.mass * param.value[0]


def _masses(models):
    return [m.body("rod").mass[0] for m in models]


X = np.array([[0.6], [1.4], [1.0], [0.9], [1.1]])


@pytest.mark.parametrize(
    ("start", "lower", "upper"), [(1.0, 0.5, 1.5), (0.5, 0.5, 1.5), (1.5, 0.5, 1.5)]
)
@pytest.mark.parametrize("modifier", [_set_mass, _scale_mass])
def test_modifiers_that_set_and_that_scale_give_each_candidate_its_value(
    modifier, start, lower, upper
):
    """One that scales what it finds must not find what the candidate before it left."""
    models = _variants(modifier, start, lower, upper).models(X, {})
    np.testing.assert_allclose(_masses(models), X[:, 0], rtol=1e-12)


def test_a_modifier_that_sets_numbers_does_not_cost_a_copy_a_candidate():
    assert not _variants(_set_mass)._needs_fresh_spec()
    assert _variants(_scale_mass)._needs_fresh_spec()


def test_a_modifier_that_remembers_only_far_from_the_start_is_found_out():
    def modifier(spec, param):
        _set_mass(spec, param)
        if param.value[0] > 1.3:
            spec.body("rod").gravcomp = 1.0

    models = _variants(modifier).models(X, {})
    assert [m.body_gravcomp[1] for m in models] == [0, 1, 0, 0, 0]


def test_parallel_equals_serial(monkeypatch):
    variants = _variants(_scale_mass)
    parallel = variants.models(X, {})
    monkeypatch.setattr(module.os, "cpu_count", lambda: 1)
    serial = variants.models(X, {})
    for a, b in zip(parallel, serial, strict=True):
        assert module._same(a, b)


def test_the_spec_that_was_given_is_never_modified():
    spec = mujoco.MjSpec.from_string(everything())
    before = spec.to_xml()
    parameters = ParameterDict()
    parameters.add(
        Parameter(
            "p",
            1.0,
            0.5,
            2.0,
            modifier=lambda s, p: setattr(s.body("cart"), "gravcomp", p.value[0]),
        )
    )
    parameters.add(Parameter("q", 1.0, 0.5, 2.0, target="body/cart/mass"))
    variants = ModelVariants(spec, parameters)
    variants.models(np.ones((4, 2)), {})
    variants.model_at(np.full(2, 0.7))
    variants.spec_at(np.full(2, 0.7))
    assert spec.to_xml() == before
    spec.body("cart").gravcomp = 0.3  # and changing it later does not reach in
    assert variants.model_at(np.full(2, 0.7)).body_gravcomp[1] == 0.7


def test_targets_and_modifiers_work_together():
    damping = Parameter("d", 0.1, 0.0, 1.0, target="joint/pivot/damping")
    variants = _variants(_scale_mass, more=[damping])
    assert variants.compiles
    models = variants.models(np.array([[1.2, 0.3], [0.8, 0.6]]), {})
    assert [m.dof_damping[0] for m in models] == [0.3, 0.6]
    np.testing.assert_allclose(_masses(models), [1.2, 0.8])
    assert variants.field_writes(np.ones((2, 2))) == []


def test_a_candidate_that_does_not_compile_is_isolated():
    def modifier(spec, param):
        spec.body("rod").geoms[0].size[0] = param.value[0]  # negative sizes are refused

    failures: dict[int, str] = {}
    variants = _variants(modifier, 0.02, -1.0, 1.0)
    models = variants.models(np.array([[0.02], [-0.5], [0.05]]), failures)
    assert list(failures) == [1]
    assert "does not compile" in failures[1] and "size" in failures[1]
    assert models[2].geom_size[0, 0] == 0.05


def test_a_modifier_that_refuses_a_value_is_a_failure_of_its_candidate():
    def modifier(spec, param):
        if param.value[0] > 1.3:
            raise ParameterError("too much")
        _set_mass(spec, param)

    failures: dict[int, str] = {}
    _variants(modifier).models(X, failures)
    assert list(failures) == [1] and "too much" in failures[1]


def test_a_mistake_in_a_modifier_is_raised():
    def modifier(spec, param):
        spec.body("rodd").geoms[0].mass = param.value[0]

    with pytest.raises(AttributeError):
        _variants(modifier)


def test_a_payload_that_a_modifier_adds_is_part_of_the_model():
    def modifier(spec, param):
        payload = spec.body("rod").add_body(name="payload", pos=[0, 0, -0.5])
        payload.add_geom(size=[0.02, 0, 0], mass=param.value[0])

    variants = _variants(modifier)
    assert variants.model.nbody == 3
    failures: dict[int, str] = {}
    models = variants.models(X, failures)
    assert not failures
    np.testing.assert_allclose([m.body("payload").mass[0] for m in models], X[:, 0])


def test_a_candidate_of_another_layout_is_isolated():
    def modifier(spec, param):
        _set_mass(spec, param)
        if param.value[0] > 1.3:
            spec.body("rod").add_joint(name="extra", axis=[1, 0, 0])

    failures: dict[int, str] = {}
    models = _variants(modifier).models(X, failures)
    assert list(failures) == [1]
    assert "different bodies" in failures[1]
    assert models[1].nv == 1


def test_build_model_replaces_the_compilation():
    def build(parameters, spec):
        spec.body("rod").geoms[0].mass = 2 * parameters["p"].value[0]
        return spec.compile()

    parameters = ParameterDict({"p": Parameter("p", 1.0, 0.5, 1.5)})
    spec = mujoco.MjSpec.from_string(PENDULUM)
    before = spec.to_xml()
    variants = ModelVariants(spec, parameters, build)
    np.testing.assert_allclose(_masses(variants.models(X, {})), 2 * X[:, 0])
    assert spec.to_xml() == before


def test_several_models_share_parameters():
    """The payload trick: the same unknowns in models that differ by something known."""
    heavy = PENDULUM.replace("</body>", '<geom size=".03" pos="0 0 -.5" mass=".4"/></body>')
    parameters = ParameterDict({"a": Parameter("a", 0.1, 0, 1, target="joint/pivot/armature")})
    models = [
        ModelVariants(mujoco.MjSpec.from_string(t), parameters).model_at(np.array([0.3]))
        for t in (PENDULUM, heavy)
    ]
    assert models[0].dof_armature[0] == models[1].dof_armature[0] == 0.3
    assert models[1].body_mass[1] == pytest.approx(models[0].body_mass[1] + 0.4)
