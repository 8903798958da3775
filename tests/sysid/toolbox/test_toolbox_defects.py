"""What the toolbox does wrong, one test a defect: here it is right."""

import re

import mujoco
import numpy as np
import pytest
import yaml
from toolbox_models import SPRING_MASS, mass_params, record, spring_mass, two_tones

from trueup import sysid
from trueup.errors import ParameterError
from trueup.fitting import LARGE_RESIDUAL


def group(spec, start, control, measured, **options):
    return sysid.ModelSequences("group", spec, "run", start, control, measured, **options)


@pytest.fixture
def recording():
    """Spec and model of the spring-mass, and a recording of it without noise."""
    spec = mujoco.MjSpec.from_string(SPRING_MASS)
    return spec, *record(spec, two_tones, 1.0)


def residual_at_truth(models, params=None, **options):
    params = params or mass_params()
    return sysid.residual(np.array([1.0]), params, [models], **options)[0][0]


@pytest.mark.parametrize("names", [["velocity", "position"], ["velocity"], ["position"]])
def test_d1_sensors_in_any_order(recording, names):
    """Columns named in another order than the model's are compared with other sensors."""
    spec, model, start, times, controls, sensor_times, sensors = recording
    columns = [["position", "velocity"].index(name) for name in names]
    measured = sysid.TimeSeries.from_names(sensor_times, sensors[:, columns], model, names=names)
    control = sysid.TimeSeries(times, controls)
    models = group(spec, start, control, measured, allow_missing_sensors=True)
    assert np.abs(residual_at_truth(models)).max() < 1e-12
    hooked = residual_at_truth(
        models, custom_rollout=lambda param_dicts, **rest: sysid.sysid_rollout(**rest)
    )
    assert np.abs(hooked).max() < 1e-12


def test_d2_controls_in_any_order():
    """Controls named in another order than the model's are applied to other actuators."""
    xml = SPRING_MASS.replace(
        "</actuator>", '<motor name="pull" joint="slide" gear="-0.3"/></actuator>'
    )
    spec = mujoco.MjSpec.from_string(xml)

    def two(times):
        return np.column_stack([two_tones(times)[:, 0], np.sin(9 * times)])

    model, start, times, controls, sensor_times, sensors = record(spec, two, 1.0)
    control = sysid.TimeSeries.from_control_names(
        times, controls[:, ::-1], model, names=["pull_ctrl", "push_ctrl"]
    )
    measured = sysid.TimeSeries.from_names(sensor_times, sensors, model)
    assert np.abs(residual_at_truth(group(spec, start, control, measured))).max() < 1e-12


def test_d3_frozen_parameters_are_applied(recording):
    """The modifier of a frozen parameter is not run."""
    spec, model, start, times, controls, sensor_times, sensors = recording
    params = mass_params(start=2.5)
    params["mass"].frozen = True
    assert sysid.apply_param_modifiers(params, spec.copy()).body("ball").mass[0] == 2.5
    params.add(sysid.Parameter("stiffness", 100.0, 10, 200, target="joint/slide/stiffness"))
    control = sysid.TimeSeries(times, controls)
    models = group(spec, start, control, sysid.TimeSeries.from_names(sensor_times, sensors, model))
    wrong = sysid.residual(np.array([100.0]), params, [models])[0][0]
    assert np.abs(wrong).max() > 0.01, "a mass of 2.5 does not fit"
    params["mass"].value[:] = 1.0
    right = sysid.residual(np.array([100.0]), params, [models])[0][0]
    assert np.abs(right).max() < 1e-12


@pytest.mark.parametrize("kind", list(sysid.InertiaType))
def test_d4_d5_every_inertia_type_compiles(recording, kind):
    """The full inertia does not compile, and the mass alone is a TypeError with numpy 2.4."""
    spec, model = recording[:2]
    param = sysid.body_inertia_param(spec, model, "ball", kind, scale_rot_inertia=True)
    param.update_from_vector(param.as_vector() + 0.1)
    params = sysid.ParameterDict({param.name: param})
    compiled = sysid.apply_param_modifiers(params, spec.copy())
    expected = np.exp(2 * param.value[0]) if kind is sysid.InertiaType.Pseudo else param.value[0]
    np.testing.assert_allclose(compiled.body("ball").mass[0], expected)
    assert (compiled.body("ball").inertia > 0).all()
    by_hand = sysid.apply_body_inertia(spec.copy(), "ball", param).compile()
    np.testing.assert_allclose(by_hand.body("ball").inertia, compiled.body("ball").inertia)


def test_d5_mass_set_to_an_array_of_one_element(recording):
    """``body.mass = p.value`` is a TypeError."""
    spec = recording[0]
    params = sysid.ParameterDict()

    def set_mass(spec, param):
        spec.body("ball").mass = param.value

    params.add(sysid.Parameter("mass", 1.5, 0.3, 3.0, modifier=set_mass))
    assert sysid.apply_param_modifiers(params, spec.copy()).body("ball").mass[0] == 1.5


def test_d6_single_numbers_for_damping_and_stiffness():
    """``joint.damping = number`` is a TypeError, as in the README's example."""
    _, models = spring_mass()
    params = sysid.ParameterDict()

    def set_damping(spec, param):
        spec.joint("slide").damping = param.value[0]

    params.add(sysid.Parameter("damping", 8.0, 0.1, 20.0, modifier=set_damping))
    function = sysid.build_residual_fn(models_sequences=[models])
    found, _ = sysid.optimize(params, function, verbose=False)
    np.testing.assert_allclose(found["damping"].value, 5.0, rtol=1e-4)


def test_d7_signal_transform_is_an_argument():
    """``build_residual_fn(signal_transform=...)`` is documented and a TypeError."""
    _, models = spring_mass()
    params = mass_params()
    params.add(sysid.Parameter("offset", 0.1, -0.2, 0.2))
    transform = sysid.SignalTransform()
    transform.bias("position", params["offset"], target="predicted")
    given = sysid.build_residual_fn(models_sequences=[models], signal_transform=transform)
    applied = sysid.build_residual_fn(models_sequences=[models], modify_residual=transform.apply)
    x = params.as_vector()
    np.testing.assert_array_equal(given(x, params)[0][0], applied(x, params)[0][0])
    found, _ = sysid.optimize(params, given, verbose=False)
    np.testing.assert_allclose(found.as_vector(), [1.0, 0.0], rtol=1e-4, atol=1e-6)


def test_d8_weights_act_through_every_path():
    """Weights are ignored beside a transform, and raise with some of the signals or 3-D sensors."""
    _, models = spring_mass()
    x, params = np.array([1.5]), mass_params()
    weights = {"velocity": 4.0}
    plain = sysid.residual(x, params, [models])[0][0].reshape(-1, 2)
    expected = plain * [1.0, 4.0]
    transform = sysid.SignalTransform()
    for options in (
        {},
        {"modify_residual": transform.apply},
        {"modify_residual": lambda *a, **k: transform.apply(*a, **k)},
        {"custom_rollout": lambda param_dicts, **rest: sysid.sysid_rollout(**rest)},
    ):
        found = sysid.residual(x, params, [models], sensor_weights=weights, **options)[0][0]
        np.testing.assert_allclose(found.reshape(-1, 2), expected, rtol=1e-9, atol=1e-12)
    for name, factor in (("velocity", 4.0), ("position", 1.0)):
        kinds = [(name, sysid.SignalType.MjSensor)]
        found = sysid.residual(
            x, params, [models], sensor_weights=weights, enabled_observations=kinds
        )[0][0]
        column = plain[:, ["position", "velocity"].index(name)]
        np.testing.assert_allclose(found, factor * column, rtol=1e-12)


@pytest.mark.parametrize("hooked", [False, True])
def test_d9_channel_of_zeros(recording, hooked):
    """A measured channel that is zero throughout gives NaN."""
    spec, model, start, times, controls, sensor_times, sensors = recording
    sensors[:, 1] = 0.0
    models = group(
        spec,
        start,
        sysid.TimeSeries(times, controls),
        sysid.TimeSeries.from_names(sensor_times, sensors, model),
    )
    rollout = (lambda param_dicts, **rest: sysid.sysid_rollout(**rest)) if hooked else None
    function = sysid.build_residual_fn(models_sequences=[models], custom_rollout=rollout)
    (residual,), (predicted,), _ = function(np.array([1.5]), mass_params())
    assert np.isfinite(residual).all()
    np.testing.assert_allclose(residual[1::2], -predicted[0].data[:, 1])
    _, result = sysid.optimize(mass_params(), function, verbose=False)
    assert np.isfinite(result.x).all() and np.isfinite(result.cost)


@pytest.mark.parametrize("hooked", [False, True])
def test_d10_one_bad_candidate_stops_nothing(hooked, tmp_path, monkeypatch, capfd):
    """A candidate that diverges or does not compile aborts the whole fit."""
    monkeypatch.chdir(tmp_path)
    _, models = spring_mass()
    params = sysid.ParameterDict()
    # a spring that pushes away so hard that the simulation overflows
    params.add(sysid.Parameter("stiffness", 150.0, -1e5, 1e4, target="joint/slide/stiffness"))
    rollout = (lambda param_dicts, **rest: sysid.sysid_rollout(**rest)) if hooked else None
    function = sysid.build_residual_fn(models_sequences=[models], custom_rollout=rollout)
    x = np.array([[150.0, -1e5, 120.0]])
    (residual,), _, _ = function(x, params)
    alone = function(x[:, [0, 2]], params)[0][0]
    assert (residual[:, 1] == LARGE_RESIDUAL).all()
    np.testing.assert_array_equal(residual[:, [0, 2]], alone)
    assert function(x[:, 1], params)[0][0].shape == (2998,)
    for optimizer in ("mujoco", "scipy_parallel_fd"):
        found, _ = sysid.optimize(params, function, optimizer, verbose=False)
        np.testing.assert_allclose(found.as_vector(), [100.0], rtol=1e-4)
    assert not list(tmp_path.iterdir()) and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("optimizer", ["mujoco", "scipy", "scipy_parallel_fd"])
def test_d11_silence(optimizer, capfd, caplog, recwarn):
    """``verbose=False`` prints all the same."""
    _, models = spring_mass()
    function = sysid.build_residual_fn(models_sequences=[models])
    params = mass_params(start=3.0)  # at a bound
    with caplog.at_level(0):
        sysid.optimize(params, function, optimizer, verbose=False)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records and not recwarn.list


def test_d12_saved_parameters_can_be_used_again(recording, tmp_path):
    """Parameters read from a file cannot be applied or fitted."""
    spec, model = recording[:2]
    params = mass_params(start=1.7)
    params.add(sysid.Parameter("damping", 4.0, 0, 9, target="joint/slide/damping"))
    param = sysid.body_inertia_param(spec, model, "ball", sysid.InertiaType.Mass, param_name="body")
    param.value[:] = 2.2
    declarative = sysid.ParameterDict({"damping": params["damping"], "body": param})
    declarative.save_to_disk(tmp_path / "declarative.yaml")
    again = sysid.ParameterDict.load_from_disk(tmp_path / "declarative.yaml")
    compiled = sysid.apply_param_modifiers(again, spec.copy())
    assert compiled.body("ball").mass[0] == 2.2 and compiled.dof_damping[0] == 4.0
    assert "python" not in str(yaml.safe_load((tmp_path / "declarative.yaml").read_text()))

    params.save_to_disk(tmp_path / "params.yaml")
    lost = sysid.ParameterDict.load_from_disk(tmp_path / "params.yaml")
    with pytest.raises(ParameterError, match=r"'mass'.*modifiers="):
        sysid.apply_param_modifiers(lost, spec.copy())
    modifiers = {"mass": params["mass"].modifier}
    again = sysid.ParameterDict.load_from_disk(tmp_path / "params.yaml", modifiers)
    assert sysid.apply_param_modifiers(again, spec.copy()).body("ball").mass[0] == 1.7


def test_d13_the_spec_is_left_as_it_was(tmp_path):
    """After a fit the spec holds the last trial, after a report the initial parameters."""
    spec, models = spring_mass()
    before, params = spec.to_xml(), mass_params()
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(params, function, verbose=False)
    assert spec.to_xml() == before
    sysid.save_results(tmp_path, [models], params, found, result, function)
    assert spec.to_xml() == before
    sysid.default_report([models], params, found, function, result, generate_videos=False)
    assert spec.to_xml() == before and params["mass"].value[0] == 2.0


def test_d14_inputs_are_not_written_and_chunks_can_be_fitted(recording):
    """``apply_delay`` writes into its input; chunks of a trajectory lose their names."""
    spec, model, start, times, controls, _, sensors = recording
    control = sysid.TimeSeries.from_control_names(times[:-1], controls[:-1], model)
    series = sysid.TimeSeries.from_names(times[:-1], sensors, model)
    kept = series.data.copy()
    late = sysid.apply_delay(series, "velocity", sysid.Parameter("d", 0.02, 0.0, 0.1))
    np.testing.assert_array_equal(series.data, kept)
    assert np.abs(late.data[:, 1] - kept[:, 1]).max() > 0.01

    trajectory = sysid.SystemTrajectory(model, control, series, start)
    chunks = trajectory.split(100)
    assert all(c.sensordata.signal_mapping and c.control.signal_mapping for c in chunks)
    names = [f"chunk {i}" for i in range(len(chunks))]
    models = sysid.ModelSequences.from_trajectories("group", spec, names, chunks)
    residuals, _, _ = sysid.residual(np.array([1.0]), mass_params(), [models])
    assert len(residuals) == len(chunks) == 4
    assert max(np.abs(r).max() for r in residuals) < 0.1


def test_d15_report_to_a_path_given_as_text(tmp_path):
    """A path as text is a TypeError, videos need a screen, the page loads code from elsewhere."""
    _, models = spring_mass()
    params = mass_params()
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(params, function, verbose=False)
    sysid.default_report(
        [models],
        params,
        found,
        function,
        result,
        title="<script>alert(1)</script>",
        save_path=str(tmp_path),
        generate_videos=False,
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="?http', page)


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("origin", [100.0, -3.0, 1.7e9])
def test_d16_clocks_start_anywhere(recording, origin, hooked):
    """A recording whose clock does not start at zero fails."""
    spec, model, start, times, controls, sensor_times, sensors = recording
    models = group(
        spec,
        start,
        sysid.TimeSeries(times + origin, controls),
        sysid.TimeSeries.from_names(sensor_times + origin, sensors, model),
    )
    rollout = (lambda param_dicts, **rest: sysid.sysid_rollout(**rest)) if hooked else None
    (residual,), _, (record_,) = sysid.residual(
        np.array([1.0]), mass_params(), [models], custom_rollout=rollout
    )
    # a clock of 1.7e9 s has a resolution of 2.4e-7 s
    assert np.abs(residual).max() < (1e-4 if origin > 1e6 else 1e-8)
    assert residual.size >= 2 * 498 and record_[0].times[0] >= origin


@pytest.mark.parametrize("hooked", [False, True])
def test_d17_the_step_is_the_simulations_own(recording, hooked):
    """Controls of a duration that is no multiple of the step drift against the simulation."""
    spec, model, start, *_ = recording
    step = model.opt.timestep
    fine = np.arange(0, 1.0, step)
    coarse = np.concatenate([np.arange(0, 0.99, 0.0103), [0.9969]])
    control = sysid.TimeSeries(coarse, two_tones(coarse))
    steps = fine[fine <= coarse[-1] + step]
    held = np.interp(steps, coarse, control.data[:, 0])[:, None]
    state, sensors = mujoco.rollout.rollout(model, mujoco.MjData(model), start, held[:-1])
    measured = sysid.TimeSeries.from_names(
        np.asarray(state)[0, :, 0], np.asarray(sensors)[0], model
    )
    models = group(spec, start, control, measured)
    rollout = (lambda param_dicts, **rest: sysid.sysid_rollout(**rest)) if hooked else None
    (residual,), _, _ = sysid.residual(
        np.array([1.0]), mass_params(), [models], custom_rollout=rollout
    )
    assert residual.size >= 2 * 490 and np.abs(residual).max() < 1e-9


def test_d18_an_interval_at_a_bound_is_flagged(tmp_path):
    """An estimate that lies on a bound gets a narrow interval and no remark."""
    _, models = spring_mass()
    params = sysid.ParameterDict()

    def set_mass(spec, param):
        spec.body("ball").mass = param.value[0]

    params.add(sysid.Parameter("mass", 2.0, 1.2, 3.0, modifier=set_mass))
    function = sysid.build_residual_fn(models_sequences=[models])
    found, result = sysid.optimize(params, function, verbose=False)
    assert found["mass"].value[0] == 1.2 and result.active_mask.tolist() == [-1]
    sysid.save_results(tmp_path, [models], params, found, result, function)
    saved = sysid.load_results(tmp_path, {"mass": set_mass})
    assert saved.at_bound.tolist() == [True]
    page = sysid.default_report(
        [models], params, found, function, result, generate_videos=False
    ).build()
    assert "on a bound" in page
