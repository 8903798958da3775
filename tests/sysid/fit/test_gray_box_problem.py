"""The gray-box problem: truth, order of rows, weights, delays, clocks, failures, memory."""

import resource
import sys

import mujoco
import numpy as np
import pytest
from recorded_models import PENDULUM, recording, simulate, wobble

from trueup.errors import FitError, SignalError
from trueup.fitting import minimise
from trueup.fitting.problem import LARGE_RESIDUAL
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.parameters import Parameter, ParameterDict, Prior
from trueup.signals import TimeSeries
from trueup.simulation.engine import batch as engine
from trueup.simulation.measured.measurement import GainOrBias, MeasurementModel
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem

TRUTH = np.array([0.3, 0.05])


def unknowns():
    made = ParameterDict()
    made.add(Parameter("damping", 0.15, 0.01, 1.0, target="joint/pivot/damping"))
    made.add(Parameter("armature", 0.02, 0.001, 0.2, target="joint/pivot/armature"))
    return made


def true_model(spec):
    joint = spec.joint("pivot")
    joint.damping[0] = TRUTH[0]
    joint.armature = TRUTH[1]


def sequences(n=400, **options):
    return recording(PENDULUM, wobble(n), [0.4], edit=true_model, **options)


def test_the_residual_vanishes_at_the_truth_and_its_rows_are_described():
    problem = GrayBoxProblem(unknowns(), [sequences()])
    residual = problem.residuals(TRUTH)
    assert np.abs(residual).max() < 1e-11
    assert residual.shape == (1, problem.residual_size) == (1, 399 * 2)
    (group,) = problem.groups
    assert group.channels == ("angle", "speed") and group.rows == slice(0, 798)
    assert np.abs(problem.residuals(problem.space.start)).max() > 1e-3


def test_a_fit_recovers_the_truth():
    problem = GrayBoxProblem(unknowns(), [sequences()])
    solution = minimise(problem, LeastSquares(problem.space))
    assert solution.success
    np.testing.assert_allclose(solution.x, TRUTH, rtol=1e-6)


def test_rows_run_over_sequences_then_times_then_channels():
    """weight * (measured - predicted), against simulations of our own."""
    pair = [sequences(200, name="a"), sequences(300, name="b")]
    x = np.array([0.2, 0.1])
    settings = ObservationSettings(normalise="none", weights={"speed": 3.0}, noise={"angle": 0.5})
    problem = GrayBoxProblem(unknowns(), pair, settings)

    def edit(spec):
        spec.joint("pivot").damping[0], spec.joint("pivot").armature = x

    expected = []
    for models, n in zip(pair, (200, 300), strict=True):
        predicted = simulate(PENDULUM, wobble(n), [0.4], edit=edit)[4]
        expected.append(((models.sensordata[0].data - predicted) * [2.0, 3.0]).ravel())
    np.testing.assert_allclose(problem.residuals(x)[0], np.concatenate(expected), atol=1e-10)


def test_a_batch_is_its_candidates_and_blocks_change_nothing(monkeypatch):
    pair = [sequences(200, name="a"), sequences(300, name="b", every=3)]
    problem = GrayBoxProblem(unknowns(), pair)
    X = np.random.default_rng(0).uniform([0.01, 0.001], [1, 0.2], (5, 2))
    whole = problem.residuals(X)
    for x, row in zip(X, whole, strict=True):
        np.testing.assert_array_equal(problem.residuals(x)[0], row)
    np.testing.assert_allclose(problem.costs(X)[:, 0], 0.5 * (whole**2).sum(axis=1), rtol=1e-12)
    monkeypatch.setattr(engine, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(problem.residuals(X), whole)


@pytest.mark.parametrize(
    "options", [{}, {"clock": 1.7e9}, {"every": 3}, {"every": 3, "clock": 5.0}]
)
def test_a_part_has_the_first_rows_of_each_sequence(options):
    """With the weights of the whole, whose spread it does not have."""
    settings = ObservationSettings(normalise="spread", weights={"speed": 3.0})
    pair = [sequences(200, name="a", **options), sequences(301, name="b", **options)]
    made = unknowns()
    made["damping"].prior = Prior(0.4, 0.1)
    whole = GrayBoxProblem(made, pair, settings)
    part = whole.part(0.25)
    X = np.random.default_rng(0).uniform([0.01, 0.001], [1, 0.2], (4, 2))
    rows, expected = whole.residuals(X), []
    for group, shorter in zip(whole.groups, part.groups, strict=True):
        count = len(shorter.times)
        assert 0.2 * len(group.times) <= count <= 0.26 * len(group.times)
        np.testing.assert_array_equal(shorter.times, group.times[:count])
        expected.append(rows[:, group.first : group.first + 2 * count])
    expected.append(rows[:, whole.data_rows :])
    assert expected[-1].shape[1] == 1
    np.testing.assert_array_equal(part.residuals(X), np.concatenate(expected, axis=1))
    np.testing.assert_array_equal(whole.residuals(X), rows)


def test_sequences_in_windows_have_no_part():
    settings = ObservationSettings(window=0.2)
    assert GrayBoxProblem(unknowns(), [sequences()], settings).part(0.25) is None


@pytest.mark.parametrize("clock", [100.0, 1.7e9])
def test_clocks_that_do_not_start_at_zero(clock):
    for exact in (False, True):
        settings = ObservationSettings(exact_sensor_times=exact, control="zoh")
        problem = GrayBoxProblem(unknowns(), [sequences(clock=clock, exact=exact)], settings)
        early = GrayBoxProblem(unknowns(), [sequences(exact=exact)], settings)
        assert problem.residual_size == early.residual_size
        assert np.abs(problem.residuals(TRUTH)).max() < 1e-11


def test_delays_and_gains_and_biases_are_found():
    """Signals late by 7.3 ms, scaled and shifted, and sampled off the grid."""
    spec, model, start, _, sensors = simulate(PENDULUM, wobble(1500), [0.4], edit=true_model)
    times = 0.002 * np.arange(1500)
    when = np.arange(0.05, 2.9, 0.0131)
    late = np.stack([np.interp(when - 0.0073, times[1:], column) for column in sensors.T], axis=1)
    data = late * [1.25, 1.0] + [0.0, -0.4]
    models = ModelSequences(
        "m", spec, "run", start, TimeSeries(times, wobble(1500)),
        TimeSeries.from_names(when, data, model),
    )  # fmt: skip
    made = unknowns()
    made.add(Parameter("delay", 0.001, 0.0, 0.02))
    made.add(Parameter("gain", 1.0, 0.5, 2.0))
    made.add(Parameter("bias", 0.0, -1.0, 1.0))
    changes = (
        GainOrBias("gain", np.array([0]), np.array([0]), True, True, False),
        GainOrBias("bias", np.array([1]), np.array([0]), False, True, False),
    )
    measurement = MeasurementModel({0: "delay", 1: "delay"}, changes)
    problem = GrayBoxProblem(made, [models], measurement=measurement)
    truth = np.array([*TRUTH, 0.0073, 1.25, -0.4])
    assert np.abs(problem.residuals(truth)).max() < 1e-9
    solution = minimise(problem, LeastSquares(problem.space))
    np.testing.assert_allclose(solution.x, truth, rtol=1e-5)


@pytest.mark.parametrize("normalise", ["toolbox", "spread"])
def test_a_gain_on_the_measured_side_cannot_win_by_shrinking_the_data(normalise):
    spec, model, start, _, sensors = simulate(PENDULUM, wobble(600), [0.4], edit=true_model)
    times = 0.002 * np.arange(600)
    data = sensors / [2.0, 1.0] - [0.1, 0.0]
    models = ModelSequences(
        "m", spec, "run", start, TimeSeries(times, wobble(600)),
        TimeSeries.from_names(times[1:], data, model),
    )  # fmt: skip
    made = unknowns()
    made.add(Parameter("gain", 1.0, 0.0, 4.0))
    made.add(Parameter("offset", 0.0, -1.0, 1.0))
    changes = (
        GainOrBias("gain", np.array([0]), np.array([0]), True, False, True),
        GainOrBias("offset", np.array([0]), np.array([0]), False, False, True),
    )
    settings = ObservationSettings(normalise=normalise)
    problem = GrayBoxProblem(made, [models], settings, MeasurementModel({}, changes))
    X = np.array([[*TRUTH, 2.0, 0.2], [*TRUTH, 0.01, 0.2], [*TRUTH, 1.0, 0.0]])
    values = problem.residuals(X)
    assert np.abs(values[0]).max() < 1e-9
    assert (values[1:] ** 2).sum(axis=1).min() > 1e-3
    # the weights are those of the changed signal, computed from it
    changed = np.stack([g * data[:, 0] + o for g, o in X[:, 2:]])
    if normalise == "spread":
        size = changed.std(axis=1)
    else:
        size = np.linalg.norm(changed, axis=1) / np.sqrt(2)
    predicted = problem.predictions(X)[0][1][:, :, 0]
    expected = (changed - predicted) / size[:, None]
    np.testing.assert_allclose(values.reshape(3, -1, 2)[:, :, 0], expected, atol=1e-9)
    solution = minimise(problem, LeastSquares(problem.space))
    np.testing.assert_allclose(solution.x, X[0], rtol=1e-4)


def test_the_window_of_a_tied_delay_is_that_of_its_source():
    made = unknowns()
    made.add(Parameter("a", 0.0, 0.0, 0.05))
    made.add(Parameter("b", 0.0, 0.0, 0.0, tied_to="a"))
    tied = GrayBoxProblem(made, [sequences()], measurement=MeasurementModel({0: "b"}))
    direct = GrayBoxProblem(made, [sequences()], measurement=MeasurementModel({0: "a"}))
    assert tied.residual_size == direct.residual_size < 798
    made.add(Parameter("c", 0.0, 0.0, np.inf))
    with pytest.raises(FitError, match="finite bounds"):
        GrayBoxProblem(made, [sequences()], measurement=MeasurementModel({0: "c"}))


def test_priors_are_rows_in_units_of_the_noise():
    made = unknowns()
    made["damping"].prior = Prior(0.2, 0.05)
    problem = GrayBoxProblem(made, [sequences()])
    assert problem.residual_size == problem.data_rows + 1
    x = np.array([0.3, 0.05])
    assert problem.residuals(x)[0, -1] == pytest.approx(-2.0)
    problem.noise_scale = 0.1
    assert problem.residuals(x)[0, -1] == pytest.approx(-0.2)


def test_a_channel_without_signal_gives_finite_residuals():
    models = recording(PENDULUM, np.zeros(100), [0.0])
    assert (models.sensordata[0].data == 0).all()
    for normalise in ("toolbox", "spread"):
        problem = GrayBoxProblem(unknowns(), [models], ObservationSettings(normalise=normalise))
        assert np.isfinite(problem.residuals(problem.space.start)).all()


def test_a_diverging_candidate_is_one_large_row_and_never_raises(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = ParameterDict()
    made.add(Parameter("stiffness", 0.0, -1e9, 10.0, target="joint/pivot/stiffness"))
    problem = GrayBoxProblem(made, [sequences(name="a"), sequences(150, name="b")])
    X = np.array([[0.0], [-1e8], [1.0]])
    failures: dict[int, str] = {}
    values = problem.residuals(X, failures)
    assert list(failures) == [1] and failures[1]
    assert (values[1] == LARGE_RESIDUAL).all()
    np.testing.assert_array_equal(values[[0, 2]], problem.residuals(X[[0, 2]]))
    assert np.isfinite(problem.costs(X)).all()
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_a_modifier_gives_the_residual_of_a_target():
    def modifier(spec, param):
        spec.joint("pivot").damping = param.value[0]

    made = unknowns()
    made["damping"] = Parameter("damping", 0.15, 0.01, 1.0, modifier=modifier)
    models = sequences(150)
    before = models.spec.to_xml()
    X = np.random.default_rng(0).uniform([0.01, 0.001], [1, 0.2], (4, 2))
    np.testing.assert_allclose(
        GrayBoxProblem(made, [models]).residuals(X),
        GrayBoxProblem(unknowns(), [models]).residuals(X),
        atol=1e-9,
    )
    assert models.spec.to_xml() == before


def test_predictions_are_in_physical_units():
    problem = GrayBoxProblem(unknowns(), [sequences(name="a"), sequences(150, name="b")])
    pairs = problem.predictions(np.stack([TRUTH, problem.space.start]))
    assert [p.shape for _, p in pairs] == [(2, 399, 2), (2, 149, 2)]
    for measured, predicted in pairs:
        np.testing.assert_allclose(predicted[0], measured[0], atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"channels": ("angel",)}, "Did you mean 'angle'"),
        ({"weights": {"angel": 2.0}}, "Did you mean 'angle'"),
        ({"weights": {"angle": -1.0}}, "positive"),
        ({"noise": {"angle": 0.0}}, "positive"),
        ({"weights": {"angle": 0.0, "speed": 0.0}}, "every recorded signal has the weight 0"),
    ],
)
def test_settings_that_fit_no_signal_are_refused(settings, words):
    with pytest.raises(SignalError, match=words):
        GrayBoxProblem(unknowns(), [sequences(100)], ObservationSettings(**settings))


def test_nothing_to_compare_is_refused():
    with pytest.raises(FitError, match="no recorded sequence"):
        GrayBoxProblem(unknowns(), [])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_a_recording():
    """20 candidates x 10 minutes x 1 kHz x 12 channels are 1.15 GB of residuals.

    A twelfth of the time is simulated here: blocks of time hold 64 MB of records at any length,
    and what does grow with it is the recording itself.
    """
    axes = "".join(
        f'<body><joint name="j{k}" type="slide" damping="1"/><geom size=".1" contype="0"/></body>'
        for k in range(6)
    )
    sensors = "".join(
        f'<jointpos name="p{k}" joint="j{k}"/><jointvel name="v{k}" joint="j{k}"/>'
        for k in range(6)
    )
    text = (
        f'<mujoco><option timestep=".001" gravity="0 0 0"/><worldbody>{axes}</worldbody>'
        f"<sensor>{sensors}</sensor></mujoco>"
    )
    spec = mujoco.MjSpec.from_string(text)
    model = spec.copy().compile()
    steps = 50_000
    times = 1e-3 * np.arange(steps + 1)
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    models = ModelSequences(
        "m", spec, "run", start, TimeSeries(times, np.zeros((steps + 1, 0))),
        TimeSeries.from_names(times[1:], np.ones((steps, 12)), model),
    )  # fmt: skip
    made = ParameterDict({"d": Parameter("d", 1.0, 0.1, 10.0, target="joint/j0/damping")})
    problem = GrayBoxProblem(made, [models])
    X = np.linspace(0.5, 2, 20)[:, None]
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    costs = problem.costs(X)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before
    assert np.isfinite(costs).all()
    whole = 20 * steps * 12 * 8  # all residuals at once would be 96 MB, and temporaries more
    assert used < 400e6, f"{used / 1e6:.0f} MB beside {whole / 1e6:.0f} MB of residuals"
