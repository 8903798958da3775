"""Callbacks as field writes: the same models as compiled ones, and what is left to the compiler."""

import mujoco
import numpy as np
import pytest

from trueup.errors import ParameterError, TrueupWarning
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.batch import written_models
from trueup.simulation.targets.variants import ModelVariants

XML = """
<mujoco>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping=".1"/>
      <inertial pos="0 0 -.2" mass="1" diaginertia=".02 .02 .01"/>
      <body name="lower" pos="0 0 -.4">
        <joint name="elbow" axis="0 1 0" armature=".1"/>
        <geom name="rod" type="capsule" fromto="0 0 0 0 0 -.3" size=".02" density="500"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="elbow" kp="10"/></actuator>
</mujoco>
"""


def _variants(callbacks, more=(), low=0.5, high=2.0):
    """A model with one unknown a callback, started at 1."""
    parameters = ParameterDict()
    for i, callback in enumerate(callbacks):
        parameters.add(Parameter(f"p{i}", 1.0, low, high, modifier=callback))
    for param in more:
        parameters.add(param)
    return ModelVariants(mujoco.MjSpec.from_string(XML), parameters)


def _candidates(variants, n=12):
    low, high = variants.parameters.get_bounds()
    return np.random.default_rng(1).uniform(low, high, (n, len(low)))


def _check_equal_to_compiled(variants):
    """Candidates as the engine is given them equal compiled ones."""
    X = _candidates(variants)
    models, writes = variants.batch(X, {})
    assert models is None, variants.callbacks.reason
    writes = [w for w in writes if not w[0].field.startswith("state.")]
    for x, model in zip(X, written_models(variants.model, writes, len(X)), strict=True):
        wanted = variants.model_at(x)
        for field in ("body_mass", "body_inertia", "body_ipos", "dof_armature", "dof_damping"):
            np.testing.assert_allclose(getattr(model, field), getattr(wanted, field), rtol=1e-9)
        for field in ("dof_invweight0", "body_subtreemass", "actuator_gainprm", "actuator_biasprm"):
            np.testing.assert_allclose(getattr(model, field), getattr(wanted, field), rtol=1e-9)
        np.testing.assert_allclose(_motion(model), _motion(wanted), rtol=1e-8, atol=1e-12)


def _motion(model):
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.7
    mujoco.mj_step(model, data, 50)
    return np.concatenate([data.qpos, data.qvel])


def _armature(spec, param):
    spec.joint("elbow").armature = param.value[0]


def _affine_armature(spec, param):
    spec.joint("elbow").armature = 0.05 + 0.2 * param.value[0]


def _density(spec, param):
    spec.geom("rod").density = 300 * param.value[0]


def _gains(spec, param):
    servo = spec.actuator("servo")
    gain, bias = np.array(servo.gainprm), np.array(servo.biasprm)
    gain[0], bias[1], bias[2] = param.value[0], -param.value[0], -0.1 * param.value[0] - 0.3
    servo.gainprm, servo.biasprm = gain, bias


def _mass(spec, param):
    spec.body("upper").mass = param.value[0]


def _more_armature(spec, param):
    spec.joint("elbow").armature += 0.3 * param.value[0]


def _centre(spec, param):
    spec.body("upper").ipos = [0.05 * param.value[0], 0, -0.2]


def _damping_by_scaling(spec, param):
    spec.joint("shoulder").damping = param.value[0] * spec.joint("shoulder").damping[0]


@pytest.mark.parametrize(
    "callbacks",
    [
        [_armature],
        [_affine_armature, _density],
        [_gains, _mass, _damping_by_scaling],
        [_armature, _more_armature],
        [_centre],
    ],
    ids=["itself", "affine", "several fields", "sum of two values", "centre of mass"],
)
def test_fields_written_give_the_models_that_a_compilation_gives(callbacks):
    _check_equal_to_compiled(_variants(callbacks))


def test_callbacks_and_targets_are_written_together():
    damping = Parameter("d", 0.3, 0.1, 0.6, target="joint/elbow/damping")
    start = Parameter("q", 0.1, -1.0, 1.0, target="state/elbow/qpos")
    variants = _variants([_affine_armature], [damping, start])
    _check_equal_to_compiled(variants)
    _, writes = variants.batch(_candidates(variants), {})
    assert {w.field for w, _ in writes} == {"dof_armature", "dof_damping", "state.qpos"}


def test_a_tied_callback_follows_its_source():
    tied = Parameter("t", 1.0, 0.5, 2.0, modifier=_density, tied_to="p0")
    variants = _variants([_affine_armature], [tied])
    _check_equal_to_compiled(variants)


def test_a_payload_that_a_callback_adds_is_written():
    def payload(spec, param):
        body = spec.body("lower").add_body(name="payload", pos=[0, 0, -0.3])
        body.add_geom(size=[0.03, 0, 0], mass=param.value[0])

    _check_equal_to_compiled(_variants([payload]))


def _size(spec, param):
    spec.geom("rod").size = [0.02 * param.value[0], 0, 0]


def _threshold(spec, param):
    spec.joint("elbow").armature = 0.1 if param.value[0] < 1.3 else 0.2


def _scaled_armature(spec, param):
    spec.joint("elbow").armature *= param.value[0]


def _integrator(spec, param):
    spec.joint("elbow").armature = param.value[0]
    spec.option.integrator = 3 if param.value[0] > 1.2 else 0


def _refuses(spec, param):
    if param.value[0] > 1.7:
        raise ParameterError("too much")
    spec.joint("elbow").armature = param.value[0]


@pytest.mark.parametrize(
    ("callbacks", "reason"),
    [
        ([_size], "not an affine function"),
        ([_threshold], "dof_armature is not an affine function"),
        ([_armature, _scaled_armature], "dof_armature is not an affine function"),
        ([_integrator], "opt.integrator"),
        ([_refuses], "too much"),
    ],
    ids=["curved", "threshold", "product", "whole number", "refused value"],
)
def test_whatever_else_a_callback_does_is_compiled(callbacks, reason):
    variants = _variants(callbacks)
    X = _candidates(variants)
    models, writes = variants.batch(X, {})
    assert writes == [] and reason in variants.callbacks.sentence()
    for x, model in zip(X[:, 0], models, strict=True):
        if callbacks[0] is _armature:
            continue
        if callbacks[0] is _size:
            assert model.geom_size[0, 0] == pytest.approx(0.02 * x)
        if callbacks[0] is _threshold:
            assert model.dof_armature[1] == (0.1 if x < 1.3 else 0.2)


def test_a_few_candidates_are_compiled_and_not_probed():
    calls = []

    def callback(spec, param):
        calls.append(param.value[0])
        _armature(spec, param)

    variants = _variants([callback])
    calls.clear()
    models, _ = variants.batch(np.array([[0.7]]), {})
    assert len(models) == 1 and len(calls) == 1
    assert "too few candidates" in variants.callbacks.sentence()


def test_after_probing_no_candidate_calls_the_callback():
    calls = []

    def callback(spec, param):
        calls.append(param.value[0])
        _armature(spec, param)

    variants = _variants([callback])
    variants.batch(_candidates(variants), {})
    calls.clear()
    models, writes = variants.batch(_candidates(variants, 40), {})
    assert models is None and calls == []
    np.testing.assert_array_equal(writes[0][1][:, 0], _candidates(variants, 40)[:, 0])


def _edge(spec, param):
    """Something else in a corner that probes are not likely to meet."""
    spec.joint("elbow").armature = param.value[0]
    if param.value[0] > 1.9999:
        spec.joint("elbow").damping = 5.0


def test_a_callback_that_differs_at_the_solution_is_compiled_from_then_on():
    variants = _variants([_edge])
    assert variants.batch(_candidates(variants), {})[0] is None
    assert variants.confirm(np.array([1.2]))
    with pytest.warns(TrueupWarning, match="are not affine away from the probed values"):
        assert not variants.confirm(np.array([2.0]))
    models, _ = variants.batch(np.array([[2.0]]), {})
    assert models[0].dof_damping[1] == 5.0


def test_long_fits_check_a_candidate_now_and_then():
    variants = _variants([_edge])
    X = np.array([[2.0], [1.0]])
    variants.batch(_candidates(variants), {})
    with pytest.warns(TrueupWarning, match="compiled for each candidate"):
        for _ in range(10):
            models, _ = variants.batch(X, {})
    assert models is not None and models[0].dof_damping[1] == 5.0
