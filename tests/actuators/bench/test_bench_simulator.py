"""The bench simulator: its ways of computing agree, its steps converge, no sample is cut off."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from bench_logs import make_log, make_model

from trueup.actuators import BenchSimulator, Objective, Servo, bench_of
from trueup.actuators.bench._lane_code import LANES, LEAST_EXPONENT, Place, lane_function
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.errors import FitError, RecordingError
from trueup.fitting.problem import LARGE_COST

LOGS = (
    make_log("one", 300, kp=200.0),
    make_log("another", 211, kp=50.0, off_from=0.6),
    make_log("coarse", 120, kp=400.0, dt=0.01),
)
ALL_TERMS = (
    "command_delay",
    "winding_braking",
    "measured_voltage",
    "supply_resistance",
    "resistance_temperature",
    "torque_saturation",
    "max_velocity",
    "current_limit",
)
TERM_VALUES = {
    "command_delay": 0.0123,
    "winding_braking": 0.4,
    "measured_voltage": 0.3,
    "supply_resistance": 0.5,
    "resistance_temperature": 0.004,
    "torque_saturation": 0.7,
    "max_velocity": 2.5,
    "current_limit": 0.6,
    "backlash": 0.03,
}


def by_the_equations(model, log, scheme):
    """Positions and duty cycles of a log, step by step with the equations and numpy."""
    substeps = 1 if scheme == "bam" else 5
    h, bench = log.dt / substeps, bench_of(log)
    values, q, v = model.values, log.position[0], log.speed[0]
    target = 0.0 if scheme == "bam" else q
    positions, duties = [], []
    for sample in range(len(log)):
        positions.append(q)
        on, goal = float(log.torque_enable[sample]), log.goal_position[sample]
        for substep in range(substeps):
            if on == 0.0 and scheme != "bam":
                target = q
            reach = values.get("max_velocity", np.inf) * h
            target = equations.slewed_target(goal, target, reach)
            p = law_parameters(model.servo, values, kp=log.kp)
            measured = p.measured_voltage * (log.input_volts[sample] - log.vin)
            warm = 1.0 + p.resistance_temperature * (log.temperature[sample] - 25.0)
            p = ParameterValues(
                p._values, vin=log.vin + measured, resistance=p.R * warm,
                gate=float(model.quadratic == "gated"),
            )  # fmt: skip
            driven, duty, damping = equations.LAWS[model.servo.law](target - q, v, p)
            driven = equations.saturated_torque(driven, p)
            torque, damping = equations.shaft_torque(on, driven, damping, v, p)
            load = -bench.gravity_torque * np.sin(q + values["q_offset"])
            loss = equations.friction_loss(torque, load, v, p)
            momentum, net = (bench.inertia + values["armature"]) / h, torque + load
            if substep == 0:
                duties.append(duty)
            if scheme == "bam":
                free = equations.explicit_speed(v, net, momentum, loss, p.friction_viscous)
                new = np.clip(free, -100.0, 100.0)
                q, v = q + h * new + 0.5 * h * (free - v), new
            else:
                v = equations.implicit_speed(v, net, momentum, damping, loss, p.friction_viscous)
                q = q + h * v
    return np.array(positions), np.array(duties)


@pytest.mark.parametrize("scheme", ["bam", "semi-implicit"])
@pytest.mark.parametrize("quadratic", ["gated", "ungated"])
@pytest.mark.parametrize("terms", [(), ALL_TERMS[1:]], ids=["plain", "all terms"])
def test_rollouts_are_those_of_the_equations(scheme, quadratic, terms):
    values = {name: TERM_VALUES[name] for name in terms}
    model = dataclasses.replace(make_model("m6", terms, **values), quadratic=quadratic)
    motion = BenchSimulator(model, LOGS[:2], scheme=scheme).simulate()
    for k, log in enumerate(LOGS[:2]):
        positions, duties = by_the_equations(model, log, scheme)
        np.testing.assert_allclose(motion.position[k][0], positions, atol=1e-9)
        np.testing.assert_allclose(motion.duty[k][0], duties, atol=1e-8)


def test_batches_threads_and_lone_candidates_agree(monkeypatch):
    # so that this little work is divided between threads
    monkeypatch.setattr("trueup.actuators.bench.simulator._STEPS_OF_THREAD", 1000)
    model = make_model()
    X = model.vector() * np.random.default_rng(5).uniform(0.8, 1.25, (40, len(model.names)))
    costs = BenchSimulator(model, LOGS, threads=1).costs(X)
    np.testing.assert_array_equal(BenchSimulator(model, LOGS, threads=2).costs(X), costs)
    lone = BenchSimulator(model, LOGS, threads=1)
    np.testing.assert_allclose([lone.costs(x)[0] for x in X], costs, rtol=1e-12)


def test_kernels_of_a_cache_stand_beside_those_compiled_anew(tmp_path):
    """Names of functions of one process must not meet those of another in machine code."""
    code = """
import sys
from bench_logs import make_log, make_model
from trueup.actuators import BenchSimulator

for name in sys.argv[1:]:
    log = make_log(samples=20)
    print(name, BenchSimulator(make_model(name), [log]).simulate().position[0][0, -1])
"""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])]),
    }
    answers = [
        subprocess.run(
            [sys.executable, "-c", code, *names], env=environment, check=True,
            capture_output=True, text=True,
        ).stdout.splitlines()
        for names in (["m1"], ["m2", "m1"])
    ]  # fmt: skip
    assert answers[1][1:] == answers[0]


def finite_differences(simulator, x, step=1e-6):
    """Central differences of position, speed and duty ``(3, m, p)``."""
    columns = []
    for k in range(x.size):
        h = step * max(abs(x[k]), 1e-3)
        pair = np.array([x, x])
        pair[0, k] += h
        pair[1, k] -= h
        motion = simulator.simulate(pair)
        channels = (motion.position, motion.speed, motion.duty)
        stacked = np.stack([np.hstack(channel) for channel in channels])
        columns.append((stacked[:, 0] - stacked[:, 1]) / (2 * h))
    return np.stack(columns, axis=-1)


SENSITIVE = [
    ("xl330", "m1", (), "bam", {}),
    ("xl330", "m6", (), "bam", {}),
    ("xl330", "m4", ("command_delay",), "semi-implicit", {}),
    ("xl330", "m6", ALL_TERMS, "semi-implicit", {}),
    ("xl330", "m5", ("backlash", "command_delay"), "semi-implicit", {}),
    (
        "xl330i",
        "m2",
        ("torque_saturation",),
        "bam",
        {"current_limit": 1.2, "torque_saturation": 0.5},
    ),
    ("sts3215", "m2", (), "semi-implicit", {"max_velocity": 3.0}),
    ("erob80_50", "m5", (), "semi-implicit", {"kt": 1.5, "armature": 0.05}),
    ("unitree_go1", "m3", (), "semi-implicit", {"max_torque": 20.0, "armature": 0.01}),
    ("plain_current", "m1", (), "semi-implicit", {}),
]


@pytest.mark.parametrize(("servo", "friction", "terms", "scheme", "values"), SENSITIVE)
def test_sensitivities_are_the_derivatives_of_the_motion(servo, friction, terms, scheme, values):
    logs = [make_log("one", 200, kp=20.0, off_from=0.8), make_log("two", 90, kp=32.0)]
    if servo in ("xl330", "xl330i"):
        logs = [dataclasses.replace(log, kp=10 * log.kp) for log in logs]
    if servo == "erob80_50":
        logs = [dataclasses.replace(log, vin=48.0, damping=0.2) for log in logs]
    if servo == "unitree_go1":
        logs = [dataclasses.replace(log, kp=5.0, damping=0.05) for log in logs]
    if servo == "plain_current":
        known = make_model("m1").servo
        servo = Servo("plain_current", "current", known.parameters, vin=7.4, error_gain=0.05)
    values = {**{t: TERM_VALUES[t] for t in terms}, **values}
    model = make_model(friction, terms, servo, **values)
    simulator = BenchSimulator(model, logs, scheme=scheme)
    x = model.vector()
    motion, derivatives = simulator.sensitivities(x)
    expected = finite_differences(simulator, x)
    np.testing.assert_allclose(
        motion[0, 0], np.hstack(simulator.simulate(x).position)[0], atol=1e-9
    )
    scale = np.abs(expected).max(axis=1, keepdims=True)
    # a derivative that is all but zero drowns in the rounding of its differences
    error = np.abs(derivatives[0] - expected) / np.maximum(scale, 1e-4)
    # a step in which a difference passes a kink, and those after it, may be off
    assert np.quantile(error, 0.97) < 1e-4
    assert np.quantile(error, 0.8, axis=1).max() < 1e-4


@pytest.mark.parametrize("kind", ["mae", "rmse", "huber"])
def test_gradient_of_the_objective(kind):
    model = make_model("m4", ("command_delay",), command_delay=0.0123)
    simulator = BenchSimulator(model, LOGS[:2])
    objective = Objective(kind, 1.0, 0.05, 0.1)
    x = model.vector()
    costs, gradient = simulator.cost_gradients(x, objective)
    assert costs[0] == pytest.approx(simulator.costs(x, objective)[0], rel=1e-9)
    for k in range(x.size):
        h = 1e-5 * max(abs(x[k]), 1e-3)
        pair = np.array([x, x])
        pair[0, k] += h
        pair[1, k] -= h
        high, low = simulator.costs(pair, objective)
        assert gradient[0, k] == pytest.approx((high - low) / (2 * h), rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("channel", ["position", "speed", "duty"])
def test_gradient_of_one_channel_is_never_silently_zero(channel):
    """An objective without a sample to compare would be 0 for any motion: it is refused."""
    model = make_model("m4", ("command_delay",), command_delay=0.0123)
    objective = Objective("mae", **{"position": 0.0, channel: 1.0})
    x = model.vector()
    gradient = BenchSimulator(model, LOGS[:2]).cost_gradients(x, objective)[1]
    assert np.count_nonzero(gradient) > x.size / 2
    without = BenchSimulator(model, [make_log(load=np.full(200, np.nan), samples=200)])
    for of in (without.costs, without.log_costs, without.cost_gradients):
        if channel == "duty":
            with pytest.raises(RecordingError, match="compares duty only, which no log contains"):
                of(x, objective)
        else:
            assert np.any(of(x, objective)[0])


def test_steps_converge_and_the_reference_leads():
    # the reference's position runs ahead of its speed by a whole step, ours converge with theirs
    model, log = make_model("m1"), make_log(kp=100.0, samples=600)
    exact = BenchSimulator(model, [log], max_step=2e-5).simulate().position[0]
    errors = {
        step: np.abs(BenchSimulator(model, [log], max_step=step).simulate().position[0] - exact)
        for step in (5e-3, 2.5e-3, 1e-3)
    }
    means = [error.mean() for error in errors.values()]
    assert means[1] < 0.6 * means[0] and means[2] < 0.3 * means[0]
    reference = BenchSimulator(model, [log], scheme="bam").simulate().position[0]
    assert np.abs(reference - exact).mean() > 1.4 * means[0]


def test_a_joint_that_friction_holds_stays_exactly_where_it_is():
    values = {"friction_base": 0.2, "kt": 0.3}
    log = make_log(goal_position=np.full(300, 0.3), kp=1.0)
    motion = BenchSimulator(make_model("m1", **values), [log]).simulate()
    rest = motion.position[0][0, 150:]
    assert np.ptp(rest) == 0.0 and np.all(motion.speed[0][0, 150:] == 0.0)


def test_winding_braking_slows_a_servo_without_torque():
    log = make_log(off_from=0.0, position=np.full(300, 1.2), speed=np.zeros(300))
    coasting = BenchSimulator(make_model("m1"), [log]).simulate().position[0][0]
    braking = make_model("m1", ("winding_braking",), winding_braking=1.0)
    braked = BenchSimulator(braking, [log]).simulate().position[0][0]
    assert np.abs(np.diff(coasting)).max() > 1.5 * np.abs(np.diff(braked)).max()
    idle = make_model("m1", ("winding_braking",), winding_braking=0.0)
    np.testing.assert_allclose(BenchSimulator(idle, [log]).simulate().position[0][0], coasting)


def test_backlash_lets_the_load_fall_through_the_gap():
    log = make_log(goal_position=np.zeros(300), position=np.full(300, 0.001), kp=400.0)
    gap = 0.06
    model = make_model("m1", ("backlash",), backlash=gap, friction_base=0.05)
    tight = BenchSimulator(make_model("m1", friction_base=0.05), [log]).simulate()
    loose = BenchSimulator(model, [log]).simulate()
    swing = make_log(kp=400.0)
    wide = BenchSimulator(model, [swing]).simulate().position[0]
    narrow = BenchSimulator(model.with_values(backlash=1e-4), [swing]).simulate().position[0]
    without = BenchSimulator(make_model("m1", friction_base=0.05), [swing]).simulate().position[0]
    assert np.abs(tight.position[0] - loose.position[0]).max() <= gap
    assert np.abs(narrow - without).mean() < 0.1 * np.abs(wide - without).mean()


def test_a_delay_shifts_the_motion():
    log = make_log(samples=500)
    plain = BenchSimulator(make_model("m1"), [log]).simulate().position[0][0]
    for delay, steps in ((0.01, 2), (0.0125, 2.5)):
        delayed = make_model("m1", ("command_delay",), command_delay=delay)
        moved = BenchSimulator(delayed, [log]).simulate().position[0][0]
        grid = np.arange(500)
        expected = np.interp(grid - steps, grid, plain)
        assert np.abs(moved - expected)[100:].mean() < 0.1 * np.abs(plain - expected)[100:].mean()


def test_a_servo_with_a_speed_limit_starts_from_where_it_is():
    # the reference's firmware starts from angle 0, and needs a log to have a target at all
    start = np.full(300, 1.0)
    log = make_log(position=start, speed=0 * start, goal_position=start, motor="sts3215", kp=32.0)
    model = make_model("m1", servo="sts3215", max_velocity=1.0, q_offset=0.0)
    ours = BenchSimulator(model, [log]).simulate().position[0][0]
    theirs = BenchSimulator(model, [log], scheme="bam").simulate().position[0][0]
    assert ours.min() > 0.85 and theirs.min() < 0.7


def test_reset_period_takes_the_state_from_the_log():
    log = make_log()
    motion = BenchSimulator(make_model(), [log], reset_period=0.25).simulate()
    hits = np.flatnonzero(motion.position[0][0] == log.position)
    np.testing.assert_array_equal(hits, [0, 49, 99, 149, 199, 249, 299])
    np.testing.assert_array_equal(motion.speed[0][0, hits], log.speed[hits])


def test_a_candidate_that_diverges_has_its_own_cost_and_reason():
    model = make_model()
    simulator = BenchSimulator(model, LOGS)
    X = np.array([model.vector(), model.vector(), model.vector()])
    X[1, model.names.index("kt")] = np.nan
    failures = {}
    costs = simulator.costs(X, failures=failures)
    assert costs[0] == costs[2] < 1.0 and costs[1] == LARGE_COST
    assert list(failures) == [1] and "'one' diverged after" in failures[1]
    costs, gradient = simulator.cost_gradients(X)
    assert costs[1] == LARGE_COST and not gradient[1].any() and gradient[2].any()
    assert (simulator.log_costs(X)[1] == LARGE_COST).all()


def test_a_stiff_motor_does_not_explode():
    # kt^2/R dt/J is 15: explicit steps alternate without end
    model = make_model("m1", kt=3.0, R=2.0, armature=1e-4)
    log = make_log(mass=0.05)
    speed = BenchSimulator(model, [log], max_step=5e-3).simulate().speed[0]
    assert np.abs(speed).max() < 10.0


def test_what_cannot_be_simulated_is_refused():
    model = make_model()
    with pytest.raises(FitError, match="unknown scheme 'euler'; available: 'semi-implicit', 'bam'"):
        BenchSimulator(model, LOGS, scheme="euler")
    with pytest.raises(
        RecordingError, match=r"raw\.json: the samples are not evenly spaced \(a raw log\)"
    ):
        BenchSimulator(model, [dataclasses.replace(make_log("raw"), dt=None)])
    with pytest.raises(RecordingError, match=r"made_up.json.*pendulum"):
        BenchSimulator(model, [make_log(mass=0.0)])
    with pytest.raises(RecordingError, match="requires input_volts, which is missing in the log"):
        measured = make_model("m1", ("measured_voltage",))
        BenchSimulator(measured, [make_log(input_volts=None)])
    with pytest.raises(FitError, match="does not support backlash"):
        BenchSimulator(make_model("m1", ("backlash",)), LOGS, scheme="bam")
    with pytest.raises(FitError, match="must be positive"):
        BenchSimulator(model, LOGS, reset_period=0.0)
    with pytest.raises(FitError, match="have 3 columns, expected one for each of the 15"):
        BenchSimulator(model, LOGS).costs(np.ones((2, 3)))
    with pytest.raises(FitError, match="unknown objective 'l1'"):
        Objective("l1")


def lane_code_of(monkeypatch, **features):
    """A copy of the lanes' code as a processor with given features imports it."""
    import llvmlite.binding

    from trueup.actuators.bench import _lane_code

    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: features)
    spec = importlib.util.spec_from_file_location("copy_of_lane_code", _lane_code.__file__)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def test_wider_vectors_give_the_same_bits(monkeypatch):
    given = np.random.default_rng(4).uniform(0.01, 9.0, LANES)
    operations = ("exp", "log", "sin", "sqrt", "tanh", "negative", "sign")
    code = [("load", Place("lanes", 0))]
    for row, name in enumerate(operations, 1):
        code += [(name, 0), ("store", Place("lanes", row * LANES), len(code))]
    code += [("multiply", 0, 1), ("less", 0, 3), ("where", len(code) + 1, 0, len(code))]
    code += [("store", Place("lanes", (len(operations) + 1) * LANES), len(code) - 1)]
    found = []
    for features in ({"avx2": True}, {"avx2": True, "avx512f": True}):
        copy = lane_code_of(monkeypatch, **features)
        function = copy.lane_function("of_some_operations", [code])
        lanes = np.concatenate([given, np.zeros((len(operations) + 1) * LANES)])
        numba.njit(lambda lanes, slopes, run=function: run(LANES, lanes, slopes))(
            lanes, np.zeros(1)
        )
        found.append((copy.VECTOR, lanes))
    assert [width for width, _ in found] == [4, 8]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][1][LANES : 2 * LANES], np.exp(given), rtol=1e-15)


def test_exponential_is_right_and_far_from_subnormal_numbers():
    # of 0 to the power of alpha comes a number near the smallest one
    given = [0.0, -0.0, 1e-300, -1e-300, 1e-90, -1e-90, 1e-20, -1e-12,
             0.3, -0.3, 1.0, -37.0, 100.0, 600.0, LEAST_EXPONENT, -700.0]  # fmt: skip
    code = [("load", Place("lanes", 0)), ("exp", 0), ("store", Place("lanes", LANES), 1)]
    lanes = np.concatenate([given, np.zeros(LANES)])
    exponential = lane_function("exponential", [code])

    @numba.njit
    def run(lanes, slopes):
        exponential(LANES, lanes, slopes)

    run(lanes, np.zeros(1))
    found = lanes[LANES:]
    np.testing.assert_allclose(found[:-1], np.exp(given[:-1]), rtol=1e-15)
    assert found[-1] == found[-2]
    assert np.all(found > 1e80 * np.finfo(float).tiny)
