"""Multiple shooting: windows partition the rows, are exact, and tame chaos."""

import itertools

import mujoco
import numpy as np
import pytest
from recorded_models import DOUBLE_PENDULUM, PENDULUM, recording, simulate, wobble

from trueup.errors import SignalError
from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.simulation.measured.measurement import MeasurementModel
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.recordings.measured_state import local_fit, measured_state, state_columns


def unknowns():
    return ParameterDict({"d": Parameter("d", 0.15, 0.01, 1.0, target="joint/pivot/damping")})


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("every", "clock"), [(1, 0.0), (3, 100.0), (1, 1.7e9)])
@pytest.mark.parametrize("window", [0.05, 0.1, 0.333, 5.0])
def test_windows_partition_the_rows_of_the_whole(window, every, clock, exact):
    models = recording(PENDULUM, wobble(500), [0.4], clock=clock, every=every, exact=exact)
    settings = {"exact_sensor_times": exact, "control": "zoh"}
    whole = GrayBoxProblem(unknowns(), [models], ObservationSettings(**settings))
    cut = GrayBoxProblem(unknowns(), [models], ObservationSettings(window=window, **settings))
    (a,), (b,) = whole.sequences, cut.sequences
    np.testing.assert_array_equal(a.times, b.times)
    np.testing.assert_array_equal(a.measured, b.measured)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert len(b.windows) == int(np.ceil(499 / round(window / 0.002)))
    ends = [g.rows for g in cut.groups]
    assert ends[0].start == 0 and ends[-1].stop == cut.residual_size == whole.residual_size
    assert all(p.stop == q.start for p, q in itertools.pairwise(ends))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("delay", [0.0, 0.0137])
def test_windows_of_exact_states_predict_exactly_to_their_last_row(exact, delay):
    """Every row of every window, at the seams too, for states and sensors and delays together."""
    spec, model, start, state, sensors = simulate(PENDULUM, wobble(600), [0.4])
    times = 0.002 * np.arange(600)
    sensor_times = times[:-1] if exact else times[1:]
    # fine samples, so that the local fit of the states is exact to the step
    when = times[20:-20] + (0.0007 if delay else 0.0)
    columns = [np.interp(when - delay, sensor_times, c) for c in sensors.T]
    data = np.stack([*columns, np.interp(when - delay, times[1:], state[:, 1])], axis=1)
    mapping = dict(TimeSeries.from_names(times[1:], sensors, model).signal_mapping or {})
    pivot = TimeSeries.from_names(times[1:], state[:, 1:2], model, ["pivot_qpos"]).signal_mapping
    mapping["pivot_qpos"] = (pivot["pivot_qpos"][0], np.array([2]))
    models = ModelSequences(
        "m", spec, "run", start, TimeSeries(times, wobble(600)),
        TimeSeries(when, data, mapping), allow_missing_sensors=True,
    )  # fmt: skip
    made = unknowns()
    made.add(Parameter("delay", delay, 0.0, 0.02))
    settings = ObservationSettings(
        window=0.1, exact_sensor_times=exact, control="zoh", normalise="none"
    )
    measurement = MeasurementModel({0: "delay", 1: "delay", 2: "delay"})
    problem = GrayBoxProblem(made, [models], settings, measurement)
    observed = problem.sequences[0]
    # give every window the exact state, which a fit to late samples gives to rounding only
    problem._groups[0].starts.clear()
    rows = np.round((np.array([w.start_time for w in observed.windows])) / 0.002)
    for window, row in zip(observed.windows, rows.astype(int), strict=True):
        if row:
            window.initial_state[:] = state[row - 1]
    problem._groups[0].engine = type(problem._groups[0].engine)(
        model, observed.windows, problem._groups[0].engine.record
    )
    assert len(observed.windows) > 5
    assert np.abs(problem.residuals(problem.space.start)).max() < 1e-9


def _double(n, noise=0.0, seed=0):
    def edit(spec):
        spec.body("lower").first_geom().mass = 0.8

    models = recording(DOUBLE_PENDULUM, np.zeros((n, 0)), [2.2, 1.0], edit=edit)
    data = models.sensordata[0]
    noisy = data.data + noise * np.random.default_rng(seed).normal(size=data.data.shape)
    return ModelSequences(
        "m", models.spec, "run", models.initial_state[0], models.control[0],
        TimeSeries(data.times, noisy, data.signal_mapping),
    )  # fmt: skip


def test_windows_recover_what_a_chaotic_simulation_cannot():
    models = _double(2500, noise=1e-3)
    parameters = ParameterDict()
    parameters.add(Parameter("mass", 0.5, 0.1, 2.0, modifier=_mass))
    long = GrayBoxProblem(parameters, [models])
    solution = minimise(long, LeastSquares(long.space))
    assert abs(solution.x[0] - 0.8) > 0.02
    cut = GrayBoxProblem(parameters, [models], ObservationSettings(window=0.25))
    solution = minimise(cut, LeastSquares(cut.space))
    assert solution.success
    assert solution.x[0] == pytest.approx(0.8, abs=0.008)


def _mass(spec, param):
    spec.body("lower").first_geom().mass = param.value[0]


def test_windows_need_the_position_of_every_joint():
    models = recording(PENDULUM, wobble(200), [0.4])
    model = models.gt_model
    speed = models.sensordata[0].data[:, 1:2]
    only = TimeSeries.from_names(models.sensordata[0].times, speed, model, ["speed"])
    part = ModelSequences(
        "m", models.spec, "run", models.initial_state[0], models.control[0], only,
        allow_missing_sensors=True,
    )  # fmt: skip
    with pytest.raises(SignalError, match="missing: 'pivot'"):
        GrayBoxProblem(unknowns(), [part], ObservationSettings(window=0.1))
    with pytest.raises(SignalError, match="increase window"):
        GrayBoxProblem(unknowns(), [models], ObservationSettings(window=0.002))


# --- the measured state --------------------------------------------------------------------------


def test_a_local_fit_is_exact_for_parabolas_and_averages_noise():
    t = np.sort(np.random.default_rng(0).uniform(0, 1, 200))
    value, slope = local_fit(t, np.stack([t**2, 3 - t], axis=1), 0.4, 0.1)
    np.testing.assert_allclose(value, [0.16, 2.6], atol=1e-12)
    np.testing.assert_allclose(slope, [0.8, -1.0], atol=1e-11)
    rng = np.random.default_rng(1)
    errors = [
        local_fit(t, (t**2 + rng.normal(0, 0.1, 200))[:, None], 0.5, 0.3)[0][0] - 0.25
        for _ in range(300)
    ]
    assert np.std(errors) < 0.025
    assert local_fit(t[:2], np.ones((2, 1)), 0.0, 1.0)[1].tolist() == [0.0]


def test_velocities_come_from_their_sensor_or_from_the_slope():
    models = recording(PENDULUM, wobble(300), [0.4])
    model, data = models.gt_model, models.sensordata[0]
    both = state_columns(model, data)
    assert both.positions == {0: 0} and both.velocities == {0: 1}
    found = measured_state(model, data, both, 0.3, 0.01)
    angle = TimeSeries.from_names(data.times, data.data[:, :1], model, ["angle"])
    without = measured_state(model, angle, state_columns(model, angle), 0.3, 0.01)
    assert found[0] == without[0] == 0.3
    assert without[2] == pytest.approx(found[2], rel=1e-2)


def test_sensors_that_are_labelled_late_give_the_state_of_their_time():
    """The toolbox labels a sensor one step after the state that it measured."""
    models = recording(PENDULUM, wobble(300), [0.4])
    model, data = models.gt_model, models.sensordata[0]
    exact = simulate(PENDULUM, wobble(300), [0.4])[3][99]  # after step 100, at 0.2 s
    columns = state_columns(model, data)
    found = measured_state(model, data, columns, 0.2, 0.004, sensor_lag=0.002)
    np.testing.assert_allclose(found, exact, atol=2e-4)
    early = measured_state(model, data, columns, 0.2, 0.004)
    assert np.abs(early - exact).max() > 5e-3


def test_delay_buffers_of_a_measured_state_are_as_old_as_they_were():
    text = PENDULUM.replace(
        'joint="pivot"/></actuator>', 'joint="pivot" delay=".01" nsample="8"/></actuator>'
    )
    models = recording(text, wobble(200), [0.4], clock=50.0)
    model, data = models.gt_model, models.sensordata[0]
    default = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, mujoco.MjData(model), default, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = measured_state(model, data, state_columns(model, data), 50.2, 0.01)
    stamps = slice(1 + 2 + 2, 1 + 2 + 2 + 8)  # after time, qpos, qvel: user value, cursor, stamps
    np.testing.assert_allclose(state[stamps], default[stamps] + 50.2)
