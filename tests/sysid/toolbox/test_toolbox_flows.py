"""The toolbox's tutorial from end to end, with its own calls."""

import mujoco
import numpy as np
import pytest
from toolbox_models import (
    ARMATURE,
    arm,
    armature_params,
    cart_force,
    cart_params,
    cart_specs,
    mass_params,
    sequences,
    spring_mass,
)

from trueup import sysid
from trueup.errors import TrueupWarning
from trueup.fitting import Status
from trueup.sysid.fit.problem import GrayBoxProblem


@pytest.fixture(scope="module")
def arm_fit():
    spec, models = arm()
    params = armature_params()
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(params, function, verbose=False)
    return spec, models, params, function, found, result


def test_spring_mass_recovers_the_mass():
    _, models = spring_mass()
    function = sysid.build_residual_fn(models_sequences=[models])
    assert isinstance(function.problem(mass_params()), GrayBoxProblem)
    found, result = sysid.optimize(mass_params(), function, verbose=False)
    np.testing.assert_allclose(found["mass"].value[0], 1.0, rtol=1e-4)
    assert result.success and result.status.success
    assert result.extras["objective"][0] > 1e3 * result.extras["objective"][-1]
    np.testing.assert_allclose(result.extras["candidate"][0], [2.0])


@pytest.mark.parametrize("optimizer", ["scipy", "scipy_parallel_fd"])
def test_other_backends_recover_the_mass(optimizer):
    _, models = spring_mass()
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(mass_params(), function, optimizer, verbose=False)
    np.testing.assert_allclose(found["mass"].value[0], 1.0, rtol=1e-4)
    assert result.jac.shape == (2 * 1499, 1) and result.status is Status.CONVERGED


def test_arm_recovers_all_armatures(arm_fit):
    *_, params, _, found, result = arm_fit
    for name, value in ARMATURE.items():
        np.testing.assert_allclose(found[f"{name}_armature"].value[0], value, rtol=1e-4)
    assert params.as_vector().tolist() == [0.01] * 5, "the start values are not changed"
    assert result.x.shape == (5,) and result.jac.shape == (5 * 999, 5)


def test_arm_with_noise_has_all_truths_in_their_intervals():
    _, models = arm(noise=0.6)
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(armature_params(), function, verbose=False)
    residuals, _, _ = function(result.x, found)
    covariance, half_widths = sysid.calculate_intervals(residuals, result.jac)
    error = np.abs(result.x - list(ARMATURE.values()))
    assert (error < half_widths).all(), (error, half_widths)
    np.testing.assert_allclose(half_widths, 1.9604 * np.sqrt(np.diag(covariance)), rtol=1e-3)


def test_cart_with_one_sequence_stays_and_says_nothing_of_either():
    base, _ = cart_specs()
    models = sequences(base, cart_force, 0.6, "cart")
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(cart_params(), function, verbose=False)
    np.testing.assert_allclose(found.as_vector(), [3.5, 5.25], rtol=1e-6)
    _, half_widths = sysid.calculate_intervals(function(result.x, found)[0], result.jac)
    assert np.isinf(half_widths).all()


def test_cart_with_a_payload_is_identified():
    base, loaded = cart_specs()
    groups = [
        sequences(base, cart_force, 0.6, "cart"),
        sequences(loaded, cart_force, 0.6, "cart_payload"),
    ]
    function = sysid.build_residual_fn(models_sequences=groups)
    found, _ = sysid.optimize(cart_params(), function, verbose=False)
    np.testing.assert_allclose(found.as_vector(), [2.0, 3.0], rtol=1e-4)
    residuals, predictions, records = function(np.array([2.0, 3.0]), cart_params())
    assert len(residuals) == len(predictions) == len(records) == 2


def test_cost_surface_of_the_tutorial_in_one_call():
    base, _ = cart_specs()
    function = sysid.build_residual_fn(models_sequences=[sequences(base, cart_force, 0.6)])
    params = cart_params()
    one_by_one = [function(np.array([m, 1.5 * m]), params)[0][0] for m in (1.0, 2.0, 4.0)]
    together = function(np.array([[1.0, 2.0, 4.0], [1.5, 3.0, 6.0]]), params)[0][0]
    np.testing.assert_allclose(np.stack(one_by_one, axis=1), together, rtol=0, atol=1e-12)
    assert np.abs(together).max() < 1e-9, "only the ratio matters"


def test_section_two_assigns_single_numbers_to_stiffness_and_damping():
    spec, models = spring_mass()
    params = sysid.ParameterDict()
    for name, start, low, high, write in (
        ("mass", 1.4, 0.3, 3.0, lambda s, p: setattr(s.body("ball"), "mass", p.value[0])),
        (
            "stiffness",
            80.0,
            30,
            300,
            lambda s, p: setattr(s.joint("slide"), "stiffness", p.value[0]),
        ),
        ("damping", 5.0, 0.0, 20, lambda s, p: setattr(s.joint("slide"), "damping", p.value[0])),
    ):
        params.add(sysid.Parameter(name, start, low, high, modifier=write))
    params["damping"].frozen = True
    assert params.as_vector().tolist() == [1.4, 80.0]
    function = sysid.build_residual_fn(models_sequences=[models])
    found, _ = sysid.optimize(params, function, verbose=False)
    np.testing.assert_allclose(found.as_vector(), [1.0, 100.0], rtol=1e-4)
    model = sysid.apply_param_modifiers(found, spec.copy())
    np.testing.assert_allclose(model.jnt_stiffness, 100.0, rtol=1e-4)


def test_several_trajectories_of_one_spec():
    spec, one = spring_mass()
    models = sysid.ModelSequences(
        "spring_mass",
        spec,
        ["traj_0", "traj_1"],
        one.initial_state * 2,
        one.control * 2,
        one.sensordata * 2,
    )
    function = sysid.build_residual_fn(models_sequences=[models])
    residuals, _, _ = function(np.array([2.0]), mass_params())
    alone = sysid.build_residual_fn(models_sequences=[one])(np.array([2.0]), mass_params())[0]
    assert len(residuals) == 2
    for residual in residuals:
        np.testing.assert_allclose(residual, alone[0], rtol=0, atol=1e-13)


def test_saved_results_can_be_read_applied_and_fitted_again(arm_fit, tmp_path):
    spec, models, params, function, found, result = arm_fit
    before = spec.to_xml()
    sysid.save_results(tmp_path / "run", [models], params, found, result, function)
    written = {p.name for p in (tmp_path / "run").iterdir()}
    assert written == {
        "params_x_0.yaml",
        "params_x_hat.yaml",
        "results.json",
        "results.npz",
        "confidence.json",
        "arm.xml",
    }
    assert spec.to_xml() == before
    modifiers = {name: param.modifier for name, param in params.items()}
    saved = sysid.load_results(tmp_path / "run", modifiers)
    np.testing.assert_array_equal(saved.opt_params.as_vector(), found.as_vector())
    np.testing.assert_array_equal(saved.initial_params.as_vector(), params.as_vector())
    np.testing.assert_array_equal(saved.result.jac, result.jac)
    assert saved.result.status is result.status and saved.names == result.names
    assert saved.covariance.shape == (5, 5) and saved.intervals.shape == (5,)
    assert not saved.at_bound.any() and "mujoco" in saved.provenance["versions"]
    identified = mujoco.MjModel.from_xml_path(str(saved.models["arm"]))
    np.testing.assert_allclose(identified.dof_armature, list(ARMATURE.values()), rtol=1e-4)
    again, _ = sysid.optimize(saved.opt_params, function, verbose=False)
    np.testing.assert_allclose(again.as_vector(), found.as_vector(), rtol=1e-6)


def rank_one(x, params):
    return [np.stack([x[0] - 1.0, 2.0 * x[0] - 2.0])], None, None


def full_rank(x, params):
    return [np.stack([x[0] - 1.0, x[1] - 2.0])], None, None


@pytest.mark.parametrize("optimizer", ["mujoco", "scipy"])
def test_conditioning_is_checked_on_request(optimizer, recwarn):
    params = sysid.ParameterDict()
    params.add(sysid.Parameter("a", 1.0, -10.0, 10.0))
    params.add(sysid.Parameter("b", 1.0, -10.0, 10.0))
    options = {"verbose": False, "check_conditioning": True, "max_iters": 1}
    sysid.optimize(params, full_rank, optimizer, **options)
    assert not recwarn.list
    with pytest.warns(TrueupWarning, match=r"cond\(J\^T J\).*'b'"):
        sysid.optimize(params, rank_one, optimizer, **options)
