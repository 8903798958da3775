"""Residuals beside a reference in plain numpy: every delay, gain, bias, weight and lag differs."""

import mujoco
import numpy as np
import pytest

from trueup import sysid
from trueup.errors import SignalError
from trueup.parameters import Parameter, ParameterDict, Prior
from trueup.signals import SignalType, TimeSeries
from trueup.simulation import create_initial_state
from trueup.simulation.measured.measurement import DelayRule, MeasurementRules, ScaleRule

STEP = 0.01
MODEL = f"""
<mujoco><option timestep="{STEP}" gravity="0 0 -3"/>
  <worldbody><body>
    <joint name="a" axis="0 1 0" damping="0.4"/><geom size="0.1" pos="0.2 0 -0.4" mass="1.3"/>
    <body pos="0 0 -0.5"><joint name="b" axis="0 1 0" damping="0.2"/>
      <geom size="0.1" pos="0.1 0 -0.2" mass="0.7"/><site name="tip" pos="0.1 0.3 -0.4"/>
    </body></body></worldbody>
  <actuator><motor name="ma" joint="a"/><motor name="mb" joint="b" gear="2"/></actuator>
  <sensor><jointpos name="angle" joint="a"/><framepos name="tip" objtype="site" objname="tip"/>
    <jointvel name="speed" joint="b"/></sensor>
</mujoco>
"""
START = 3.7  # of the recording's clock [s]
STEPS = 121  # simulated steps, until the last control
SIGNALS = ("tip", "angle", "b_qpos", "a_qvel")
CHANNELS = ("tip[0]", "tip[1]", "tip[2]", "angle", "b_qpos", "a_qvel")
IS_SENSOR = np.array([True, True, True, True, False, False])
BOUNDS = {"early": (-0.025, 0.0), "late": (0.0, 0.037)}
WEIGHTS = {"tip": 1.7, "b_qpos": 0.6, "a_qvel": 2.3}
NOISE = {"angle": 0.013}


def parameters():
    out = ParameterDict()
    out.add(Parameter("early", -0.011, *BOUNDS["early"]))
    out.add(Parameter("late", 0.0173, *BOUNDS["late"]))
    out.add(Parameter("tip_gain", [1.31, 0.83, 1.17], 0.5, 2.0))
    out.add(Parameter("wide_gain", 0.91, 0.5, 2.0))
    out.add(Parameter("shown_gain", 1.13, 0.5, 2.0))
    out.add(Parameter("offset", [0.21, -0.34], -1.0, 1.0))
    out.add(Parameter("common_offset", 0.057, -1.0, 1.0))
    return out


RULES = MeasurementRules(
    sizes={name: p.size for name, p in parameters().items()},
    delays=(DelayRule("*", "early"), DelayRule("*_q*", "late")),
    scales=(
        # a bias that is written before the gains comes after them all the same
        ScaleRule("*_q*", "offset", False, "predicted"),
        ScaleRule("tip", "tip_gain", True, "predicted"),
        ScaleRule("t*", "wide_gain", True, "both"),
        ScaleRule("angle", "shown_gain", True, "measured"),
        ScaleRule("*e", "common_offset", False, "measured"),
    ),
)


def recorded():
    """A recording on an irregular clock, its controls, and the initial state."""
    random = np.random.default_rng(5)
    model = mujoco.MjModel.from_xml_string(MODEL)
    state = create_initial_state(model, [0.4, -0.3], [0.2, 0.5])
    control_times = START + np.sort(np.concatenate([[0, 1.203], random.uniform(0, 1.2, 70)]))
    control = TimeSeries.from_control_names(control_times, random.normal(size=(72, 2)), model)
    # also the last instants that can be predicted whatever the delay, of sensors and of states
    ends = STEP * (STEPS - 1 + np.array([0, 1])) + BOUNDS["early"][0]
    times = START + np.sort(np.concatenate([random.uniform(0.0, 1.15, 90), ends]))
    waves = np.sin(np.outer(times, [2.0, 3.0, 5.0, 4.0, 6.0, 7.0])) + np.arange(6) * 0.1
    measured = TimeSeries.from_names(times, waves, model, list(SIGNALS))
    spec = mujoco.MjSpec.from_string(MODEL)
    return sysid.ModelSequences("arm", spec, "run", state, control, measured, True), model


def simulated(model, models, method):
    """Records ``(steps, C)`` of one rollout, and the time of the first record of each channel."""
    (control,), (state,) = models.control, models.initial_state
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    records = []
    for k in range(STEPS):
        at = START + STEP * (k + (0.499 if method == "zoh" else 0.0))
        data.ctrl[:] = control.interpolate(np.array([at]), method)[0]
        mujoco.mj_step(model, data)
        sensors = [*data.sensordata[1:4], data.sensordata[0]]
        records.append([*sensors, data.qpos[1], data.qvel[0]])
    return np.array(records)


def reference(model, models, values, exact, method, normalise):
    """Residual of one candidate ``(T, C)``."""
    records = simulated(model, models, method)
    (measured,) = models.sensordata
    lags = np.where(IS_SENSOR & exact, 0, 1)
    delays = np.where(IS_SENSOR, values["early"], values["late"])
    steps = len(records)
    first = START + STEP * lags.max() + BOUNDS["late"][1]
    last = START + STEP * (steps - 1 + lags.min()) + BOUNDS["early"][0]
    inside = (measured.times >= first) & (measured.times <= last + 1e-9)
    times, data = measured.times[inside], measured.data[inside]
    predicted = np.stack(
        [
            np.interp(times - delay, START + STEP * (np.arange(steps) + lag), column)
            for delay, lag, column in zip(delays, lags, records.T, strict=True)
        ],
        axis=1,
    )
    predicted[:, :3] *= values["tip_gain"] * values["wide_gain"]
    predicted[:, 4:] += values["offset"]
    gain = np.array([*[values["wide_gain"]] * 3, values["shown_gain"], 1.0, 1.0])
    bias = np.array([0.0, 0.0, 0.0, values["common_offset"], 0.0, 0.0])
    shown = gain * data + bias
    size = {
        "toolbox": lambda y: np.linalg.norm(y, axis=0) / np.sqrt(2),
        "spread": lambda y: np.std(y, axis=0),
        "none": lambda y: np.ones(6),
    }[normalise]
    weights = np.array([1.7, 1.7, 1.7, 1.0, 0.6, 2.3]) / size(shown)
    # a noise level grows with the signal that the gain makes of it
    weights[3] = size(data)[3] / size(shown)[3] / 0.013
    return (shown - predicted) * weights


CASES = [
    ("toolbox", False, "linear"),
    ("spread", True, "zoh"),
    ("none", True, "linear"),
]


@pytest.mark.parametrize(("normalise", "exact", "method"), CASES)
@pytest.mark.parametrize("block", [None, 16])
def test_residuals_are_those_of_the_reference(normalise, exact, method, block, monkeypatch):
    if block is not None:
        # blocks of 16 steps: what a window keeps from block to block is read too
        monkeypatch.setattr("trueup.simulation.engine.batch.BLOCK_BYTES", 1)
    models, model = recorded()
    settings = sysid.ObservationSettings(
        channels=SIGNALS,
        weights=WEIGHTS,
        noise=NOISE,
        normalise=normalise,
        control=method,
        exact_sensor_times=exact,
    )
    made = parameters()
    problem = sysid.GrayBoxProblem(made, [models], settings, RULES, n_threads=1)
    x = made.as_vector()
    other = x * np.linspace(0.8, 1.15, len(x))
    found = problem.residuals(np.stack([x, other]))
    assert problem.sequences[0].channel_names == CHANNELS
    for candidate, residual in zip((x, other), found, strict=True):
        values = parameters()
        values.update_from_vector(candidate)
        plain = {name: np.squeeze(p.value) for name, p in values.items()}
        expected = reference(model, models, plain, exact, method, normalise)
        np.testing.assert_allclose(residual.reshape(expected.shape), expected, rtol=1e-7, atol=1e-9)
    pairs = problem.predictions(np.stack([x, other]))
    shown, predicted = pairs[0]
    own = problem.sequences[0]
    weights = own.weights_for(shown)[:, None, :]
    np.testing.assert_allclose(((shown - predicted) * weights).reshape(2, -1), found, rtol=1e-9)


def test_windows_and_one_simulation_agree_where_every_joint_starts_as_it_was():
    """Without noise, windows that start from the true states predict what the whole predicts."""
    models, model = recorded()
    (control,), (state,) = models.control, models.initial_state
    records = simulated(model, models, "linear")
    times = START + STEP * np.arange(1, STEPS + 1)  # to the last simulated instant
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states = []
    for k in range(STEPS):
        data.ctrl[:] = control.interpolate(np.array([START + STEP * k]), "linear")[0]
        mujoco.mj_step(model, data)
        states.append([*data.qpos, *data.qvel])
    names = ["a_qpos", "b_qpos", "a_qvel", "b_qvel"]
    measured = TimeSeries.from_names(times, np.array(states), model, names)
    spec = mujoco.MjSpec.from_string(MODEL)
    whole = sysid.ModelSequences("arm", spec, "run", state, control, measured, True)
    made = ParameterDict()
    made.add(Parameter("gain", 1.3, 0.5, 2.0))
    rules = MeasurementRules({"gain": 1}, scales=(ScaleRule("a_*", "gain", True, "both"),))
    long = sysid.GrayBoxProblem(made, [whole], measurement=rules, n_threads=1)
    # a local fit over one step either side gives the state at a window's start to a thousandth
    settings = sysid.ObservationSettings(window=0.23, state_smoothing=STEP)
    cut = sysid.GrayBoxProblem(made, [whole], settings, rules, n_threads=1)
    assert len(cut.sequences[0].windows) == 6 and records.shape == (STEPS, 6)
    assert cut.data_rows == long.data_rows
    residuals = [p.residuals(made.as_vector()[None])[0] for p in (long, cut)]
    np.testing.assert_allclose(residuals[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(residuals[1], 0.0, atol=2e-2)


def test_priors_weigh_as_one_sample_of_the_noise():
    models, _ = recorded()
    made = parameters()
    made["wide_gain"].prior = Prior(1.2, 0.04)
    made["offset"].prior = Prior(0.3, 0.7)
    problem = sysid.GrayBoxProblem(made, [models], measurement=RULES, n_threads=1)
    problem.noise_scale = 1.7
    x = made.as_vector()
    rows = problem.residuals(x[None])[0, problem.data_rows :]
    expected = [(1.2 - 0.91) / 0.04, (0.3 - 0.21) / 0.7, (0.3 + 0.34) / 0.7]
    np.testing.assert_allclose(rows, 1.7 * np.array(expected), rtol=1e-12)


def test_a_parameter_of_the_transform_alone_may_lie_beyond_its_bounds():
    models, _ = recorded()
    unknown = ParameterDict()
    unknown.add(Parameter("wide_gain", 0.91, 0.5, 2.0))
    beyond = Parameter("shown_gain", 1.13, 0.5, 2.0)
    beyond.update_from_vector([2.6])
    transform = sysid.SignalTransform(normalize=False)
    transform.gain("t*", unknown["wide_gain"])
    transform.gain("angle", beyond, target="measured")
    function = sysid.build_residual_fn(models_sequences=[models], modify_residual=transform.apply)
    _, _, ((shown,),) = function(unknown.as_vector(), unknown)
    (measured,) = models.sensordata
    inside = np.isin(measured.times, shown.times)
    np.testing.assert_allclose(shown.data[:, 3], 2.6 * measured.data[inside, 3])


def test_elements_of_a_gain_run_over_all_matched_channels_or_over_each_signal():
    names = ("tip", "tip", "tip", "angle", "b_qpos")
    sizes = {"three": 3, "four": 4, "one": 1}
    each = MeasurementRules(
        sizes, scales=(ScaleRule("t*", "three", True, "both"),), each_signal=True
    )
    (change,) = each(names).changes
    assert change.channels.tolist() == [0, 1, 2] and change.elements.tolist() == [0, 1, 2]
    assert (change.is_gain, change.on_predicted, change.on_measured) == (True, True, True)
    every = MeasurementRules(sizes, scales=(ScaleRule("[ta]*", "four", False, "measured"),))
    (change,) = every(names).changes
    assert change.channels.tolist() == [0, 1, 2, 3] and change.elements.tolist() == [0, 1, 2, 3]
    assert (change.is_gain, change.on_predicted, change.on_measured) == (False, False, True)
    one = MeasurementRules(
        sizes, scales=(ScaleRule("*", "one", True, "predicted"),), each_signal=True
    )
    assert [c.elements.tolist() for c in one(names).changes] == [[0, 0, 0], [0], [0]]
    assert one(names).changes[0].on_measured is False
    with pytest.raises(SignalError, match=r"'four' has 4 elements.*matches 3 channels"):
        MeasurementRules(sizes, scales=(ScaleRule("tip", "four", True, "both"),))(names)


def test_the_last_delay_that_matches_holds():
    rules = MeasurementRules({}, delays=(DelayRule("*", "one"), DelayRule("t*", "two")))
    assert rules(("tip", "angle", "tip")).delays == {0: "two", 1: "one", 2: "two"}
    assert rules.delay_parameters == ("one", "two")
    assert rules(("angle",)).is_plain is False and MeasurementRules({})(("a",)).is_plain


def test_the_toolbox_path_gives_the_same_residuals_one_candidate_at_a_time():
    """Delays, gains, biases and weights of a transform: in a batch, and by its own ``apply``."""
    models, _ = recorded()
    made = parameters()
    transform = sysid.SignalTransform()
    transform.delay("*", made["early"])
    transform.delay("*_q*", made["late"])
    transform.gain("tip", made["tip_gain"], target="predicted")
    transform.gain("t*", made["wide_gain"])
    transform.gain("angle", made["shown_gain"], target="measured")
    transform.bias("*e", made["common_offset"], target="measured")
    transform.set_sensor_weights(WEIGHTS)
    batched = sysid.build_residual_fn(models_sequences=[models], modify_residual=transform.apply)
    single = sysid.build_residual_fn(
        models_sequences=[models], modify_residual=lambda *a, **k: transform.apply(*a, **k)
    )
    x = made.as_vector()
    first, predicted, measured = batched(x, made)
    second, again, shown = single(x, made)
    np.testing.assert_allclose(first[0], second[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(predicted[0][0].data, again[0][0].data, atol=1e-9)
    np.testing.assert_allclose(measured[0][0].data, shown[0][0].data, atol=1e-12)
    assert measured[0][0].signal_mapping["tip"][0] is SignalType.MjSensor
