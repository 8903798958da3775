"""The residual: equal to the toolbox's where that is right, and the hooks of its users."""

import mujoco
import numpy as np
import pytest
from toolbox_models import (
    CART,
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
from trueup.errors import FitError, SignalError
from trueup.fitting import LARGE_RESIDUAL
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.toolbox.hooked_problem import HookedProblem


@pytest.fixture(scope="module")
def reference():
    module = pytest.importorskip("mujoco.sysid")
    if not hasattr(module, "optimize"):
        pytest.skip("the toolbox lacks its dependencies")
    return module


def cart(api):
    base, loaded = cart_specs()
    return [
        sequences(base, cart_force, 0.6, "cart", api),
        sequences(loaded, cart_force, 0.6, "cart_payload", api),
    ]


CASES = {
    "spring_mass": (lambda api: [spring_mass(api)[1]], mass_params, [1.7]),
    "arm": (lambda api: [arm(api, noise=0.1)[1]], armature_params, [0.4, 0.1, 0.2, 0.3, 0.05]),
    "cart": (cart, cart_params, [2.5, 2.0]),
}


def with_first_sample(api, models):
    """The group with one more sample at the time of the initial state, which is left out again."""
    recorded = models.sensordata[0]
    times = np.concatenate([[0.0], recorded.times])
    data = np.vstack([np.zeros(recorded.data.shape[1]), recorded.data])
    return api.ModelSequences(
        models.name,
        models.spec,
        "run",
        models.initial_state[0],
        models.control[0],
        api.TimeSeries(times, data, recorded.signal_mapping),
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("resample", [True, False])
@pytest.mark.parametrize("columns", [0, 3])
def test_equal_to_the_toolbox(reference, case, resample, columns):
    make, make_params, x = CASES[case]
    x = np.array(x)
    if columns:
        x = x[:, None] * np.linspace(0.8, 1.2, columns)
    answers = []
    for api in (reference, sysid):
        groups = make(api) if resample else [with_first_sample(api, m) for m in make(api)]
        function = api.build_residual_fn(models_sequences=groups, resample_true=resample)
        answers.append(function(x, make_params(api)))
    theirs, ours = answers
    assert len(theirs[0]) == len(ours[0])
    for expected, found in zip(theirs[0], ours[0], strict=True):
        assert expected.shape == found.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    for side in (1, 2):
        for expected, found in zip(theirs[side], ours[side], strict=True):
            assert len(expected) == len(found)
            for e, f in zip(expected, found, strict=True):
                assert set(e.signal_mapping) == set(f.signal_mapping)
                np.testing.assert_allclose(f.data, e.data, rtol=0, atol=1e-11)
                if resample:
                    np.testing.assert_allclose(f.times, e.times, rtol=0, atol=1e-12)


@pytest.mark.parametrize("option", ["sensor_weights", "enabled_observations"])
def test_weights_and_selection_equal_the_toolbox(reference, option):
    found = []
    for api in (reference, sysid):
        chosen = {
            "sensor_weights": {"velocity": 3.0},
            "enabled_observations": [("position", api.SignalType.MjSensor)],
        }
        groups = [spring_mass(api)[1]]
        function = api.build_residual_fn(models_sequences=groups, **{option: chosen[option]})
        found.append(function(np.array([1.7]), mass_params(api))[0][0])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)


def test_single_functions_agree_with_the_residual_function():
    spec, models = spring_mass()
    x, params = np.array([1.4]), mass_params()
    expected = sysid.build_residual_fn(models_sequences=[models])(x, params)[0][0]
    np.testing.assert_array_equal(sysid.residual(x, params, [models])[0][0], expected)
    alone, predictions, _ = sysid.model_residual(
        x,
        params,
        lambda p: sysid.apply_param_modifiers(p, spec.copy()),
        models.measured_rollout[0],
    )
    np.testing.assert_allclose(alone, expected, rtol=0, atol=1e-12)
    assert predictions[0].data.shape == (1499, 2)
    both, predictions, _ = sysid.model_residual(
        np.array([[1.4, 1.0]]),
        params,
        lambda p: sysid.apply_param_modifiers(p, spec.copy()),
        models.measured_rollout * 2,
    )
    assert both.shape == (2 * expected.size, 2) and len(predictions) == 4
    np.testing.assert_allclose(both[: expected.size, 0], expected, rtol=0, atol=1e-12)
    assert np.abs(both[:, 1]).max() < 1e-9


def test_declarative_targets_give_the_residual_of_modifiers():
    _, models = arm()
    params = sysid.ParameterDict()
    for i in range(1, 6):
        name = f"joint{i}_armature"
        params.add(sysid.Parameter(name, 0.2, 0.001, 1.0, target=f"joint/joint{i}/armature"))
    function = sysid.build_residual_fn(models_sequences=[models])
    x = np.array([0.4, 0.1, 0.2, 0.3, 0.05])
    np.testing.assert_allclose(
        function(x, params)[0][0], function(x, armature_params())[0][0], rtol=0, atol=1e-10
    )
    plain = sysid.build_residual_fn(
        models_sequences=[models],
        custom_rollout=lambda param_dicts, **rest: sysid.sysid_rollout(**rest),
    )
    np.testing.assert_allclose(
        plain(x, params)[0][0], function(x, params)[0][0], rtol=0, atol=1e-10
    )


def test_own_build_model_is_honoured():
    _, models = spring_mass()
    seen = []

    def build(params, spec):
        seen.append(float(params["mass"].value[0]))
        spec.body("ball").mass = params["mass"].value[0] / 2
        return spec.compile()

    function = sysid.build_residual_fn(models_sequences=[models], build_model=build)
    assert isinstance(function.problem(mass_params()), GrayBoxProblem)
    found, _ = sysid.optimize(mass_params(), function, verbose=False)
    np.testing.assert_allclose(found["mass"].value[0], 2.0, rtol=1e-4)
    assert len(seen) > 3


def test_own_rollout_gets_the_documented_arguments():
    _, models = spring_mass()
    calls = []

    def rollout(
        *,
        models,
        datas,
        control_signal,
        initial_states,
        param_dicts,
        rollout_signal_mapping,
        rollout_state_mapping,
        ctrl_mapping,
    ):
        assert len(models) == len(control_signal) == len(initial_states) == len(param_dicts)
        assert set(rollout_signal_mapping) == {"position", "velocity"}
        assert set(rollout_state_mapping) == {"slide_qpos", "slide_qvel"}
        assert set(ctrl_mapping) == {"push_ctrl"}
        calls.append([float(p["mass"].value[0]) for p in param_dicts])
        return sysid.sysid_rollout(
            models, datas, control_signal, initial_states, rollout_signal_mapping
        )

    plain = sysid.build_residual_fn(models_sequences=[models])
    function = sysid.build_residual_fn(
        models_sequences=[models], custom_rollout=rollout, n_threads=2
    )
    assert isinstance(function.problem(mass_params()), HookedProblem)
    x = np.array([[1.2, 1.9]])
    np.testing.assert_allclose(
        function(x, mass_params())[0][0], plain(x, mass_params())[0][0], rtol=0, atol=1e-12
    )
    assert calls == [[1.2, 1.9]], "all candidates in one call"
    found, _ = sysid.optimize(mass_params(), function, verbose=False)
    np.testing.assert_allclose(found["mass"].value[0], 1.0, rtol=1e-4)


def test_own_comparison_gets_the_documented_arguments():
    _, models = spring_mass()
    seen = []

    def compare(params, predicted, measured, model, return_pred_all, state=None, **more):
        seen.append((float(params["mass"].value[0]), state.shape, more))
        measured = sysid.apply_delayed_ts_window(measured, predicted, 0.0, 0.0)
        predicted = predicted.resample(measured.times)
        return measured.data - predicted.data, predicted, measured

    function = sysid.build_residual_fn(
        models_sequences=[models], modify_residual=compare, sensor_weights={"velocity": 2.0}
    )
    residuals, _, _ = function(np.array([[1.2, 1.0]]), mass_params())
    assert residuals[0].shape == (2998, 2) and np.abs(residuals[0][:, 1]).max() < 1e-9
    assert [mass for mass, *_ in seen] == [1.2, 1.0]
    assert seen[0][1] == (1499, 3) and seen[0][2] == {"sensor_weights": {"velocity": 2.0}}
    found, _ = sysid.optimize(mass_params(), function, verbose=False)
    np.testing.assert_allclose(found["mass"].value[0], 1.0, rtol=1e-4)


def transform_and_params():
    params = mass_params(start=1.3)
    params.add(sysid.Parameter("late", 0.006, 0.0, 0.02))
    params.add(sysid.Parameter("late_velocity", 0.003, 0.0, 0.01))
    params.add(sysid.Parameter("gain", 1.1, 0.5, 2.0))
    params.add(sysid.Parameter("offset", 0.02, -0.1, 0.1))
    transform = sysid.SignalTransform()
    transform.delay("*", params["late"])
    transform.delay("vel*", params["late_velocity"])
    transform.gain("velocity", params["gain"], target="predicted")
    transform.bias("pos*", params["offset"])
    transform.set_sensor_weights({"velocity": 2.0})
    return transform, params


@pytest.mark.parametrize("enabled", [None, ["velocity"], ["velocity", "position"]])
@pytest.mark.parametrize("return_pred_all", [False, True])
def test_batched_transform_equals_its_function(enabled, return_pred_all):
    _, models = spring_mass()
    transform, params = transform_and_params()
    if enabled:
        transform.enable_sensors(enabled)
    batched = sysid.build_residual_fn(models_sequences=[models], modify_residual=transform.apply)
    single = sysid.build_residual_fn(
        models_sequences=[models], modify_residual=lambda *a, **k: transform.apply(*a, **k)
    )
    assert isinstance(batched.problem(params), GrayBoxProblem)
    assert isinstance(single.problem(params), HookedProblem)
    x = np.stack([params.as_vector(), params.as_vector() * 0.9], axis=1)
    found = batched(x, params, return_pred_all=return_pred_all)
    expected = single(x, params, return_pred_all=return_pred_all)
    np.testing.assert_allclose(found[0][0], expected[0][0], rtol=0, atol=1e-11)
    for side in (1, 2):
        for f, e in zip(found[side][0], expected[side][0], strict=True):
            assert list(f.signal_mapping) == list(e.signal_mapping)
            np.testing.assert_allclose(f.data, e.data, rtol=0, atol=1e-11)


def test_parameter_known_to_the_transform_alone_keeps_its_value():
    _, models = spring_mass()
    transform, all_params = transform_and_params()
    function = sysid.build_residual_fn(models_sequences=[models], signal_transform=transform)
    x, params = all_params.as_vector(), mass_params()
    for name in ("late", "late_velocity"):
        params.add(all_params[name])
    few = function(x[:3], params)[0][0]
    np.testing.assert_allclose(few, function(x, all_params)[0][0], rtol=0, atol=1e-13)


def test_rules_added_later_count():
    _, models = spring_mass()
    params = mass_params()
    params.add(sysid.Parameter("gain", 1.5, 0.5, 2.0))
    transform = sysid.SignalTransform()
    function = sysid.build_residual_fn(models_sequences=[models], signal_transform=transform)
    before = function(params.as_vector(), params)[0][0]
    transform.gain("velocity", params["gain"], target="predicted")
    after = function(params.as_vector(), params)[0][0]
    np.testing.assert_array_equal(before[::2], after[::2])
    assert np.abs(before[1::2] - after[1::2]).max() > 1e-3


def test_parameters_and_spec_are_left_alone():
    spec, models = spring_mass()
    before, params = spec.to_xml(), mass_params()
    function = sysid.build_residual_fn(models_sequences=[models])
    function(np.array([0.7]), params)
    sysid.optimize(params, function, verbose=False)
    assert params["mass"].value.tolist() == [2.0]
    assert spec.to_xml() == before


def test_state_signals_are_compared_as_the_toolbox_does(reference):
    found = []
    for api in (reference, sysid):
        spec, models = spring_mass(api)
        model = spec.compile()
        recorded = models.sensordata[0]
        names = [
            ("position", api.SignalType.MjSensor),
            ("slide_qvel", api.SignalType.MjStateQVel),
        ]
        measured = api.TimeSeries.from_names(recorded.times, recorded.data, model, names=names)
        models = api.ModelSequences(
            "s", spec, "run", models.initial_state[0], models.control[0], measured, True
        )
        found.append(
            api.build_residual_fn(models_sequences=[models])(np.array([1.5]), mass_params(api))
        )
    np.testing.assert_allclose(found[1][0][0], found[0][0][0], rtol=0, atol=1e-12)


def test_weights_reach_sensors_of_several_columns():
    xml = CART.replace("<sensor>", '<sensor><framepos name="place" objtype="body" objname="cart"/>')
    models = sequences(mujoco.MjSpec.from_string(xml), cart_force, 0.6)
    x, params = np.array([2.5, 2.0]), cart_params()
    plain = sysid.build_residual_fn(models_sequences=[models])(x, params)[0][0]
    weighted = sysid.build_residual_fn(
        models_sequences=[models], sensor_weights={"place": 3.0, "velocity": 0.5}
    )(x, params)[0][0]
    factors = np.array([3.0, 3.0, 3.0, 1.0, 0.5])
    np.testing.assert_allclose(
        weighted.reshape(-1, 5), plain.reshape(-1, 5) * factors, rtol=1e-12, atol=1e-15
    )


def test_candidate_that_does_not_compile_spoils_no_neighbour():
    _, models = spring_mass()
    for options in ({}, {"custom_rollout": lambda param_dicts, **k: sysid.sysid_rollout(**k)}):
        function = sysid.build_residual_fn(models_sequences=[models], **options)
        good = function(np.array([[1.5]]), mass_params())[0][0]
        mixed = function(np.array([[1.5, -1.0, 1.5]]), mass_params())[0][0]
        np.testing.assert_array_equal(mixed[:, [0]], good)
        np.testing.assert_array_equal(mixed[:, [2]], good)
        assert (mixed[:, 1] == LARGE_RESIDUAL).all()


def test_wrong_arguments_are_refused():
    _, models = spring_mass()
    with pytest.raises(FitError, match=r"'sensor_weigths'.*'sensor_weights'"):
        sysid.build_residual_fn(models_sequences=[models], sensor_weigths={})
    with pytest.raises(FitError, match="at least one recorded sequence"):
        sysid.build_residual_fn(models_sequences=[])
    transform = sysid.SignalTransform()
    with pytest.raises(FitError, match="not both"):
        sysid.build_residual_fn(
            models_sequences=[models], signal_transform=transform, modify_residual=transform.apply
        )
    function = sysid.build_residual_fn(models_sequences=[models])
    with pytest.raises(FitError, match=r"2 elements.*'mass'"):
        function(np.ones(2), mass_params())
    with pytest.raises(SignalError, match=r"velocty.*velocity"):
        function(np.ones(1), mass_params(), sensor_weights={"velocty": 1.0})
    fixed = sysid.build_residual_fn(
        models_sequences=[models],
        sensor_weights={"velocity": 1.0},
        modify_residual=lambda params, predicted, measured, model, every, state=None: None,
    )
    with pytest.raises(SignalError, match="sensor_weights=None"):
        fixed(np.ones(1), mass_params())
