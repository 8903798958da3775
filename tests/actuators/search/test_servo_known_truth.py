"""Intervals of servo fits hold the truth: ``benchmarks/servo_known_truth.py`` in short."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import servo_model_logs as made

from trueup.actuators import BenchSimulator, Objective, ServoModel, ServoProblem, servos
from trueup.actuators.assess.absolute_errors import signs_and_densities
from trueup.actuators.assess.fit_assessment import assess
from trueup.actuators.assess.fit_intervals import fit_intervals
from trueup.fitting.uncertainty import SequenceFit, estimate_covariance
from trueup.parameters import Space

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
MODULES = ("servo_truths", "servo_coverage", "servo_known_truth")
REPEATS = 8
FEWEST = 5  # an interval of 95 % holds the truth in fewer of 8 once in 2700


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(BENCHMARKS))
    yield import_module("servo_coverage")
    sys.path.remove(str(BENCHMARKS))
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("servo", "model"), [("xl330", "m1"), ("mx64", "m3"), ("erob80_50", "m1")])
def test_identifiable_parameters_lie_within_their_intervals(study, servo, model):
    case = study.Case(servo, model)
    named = study.identifiable(case.truth())
    assert named["kt"] and named["R"] and named["armature"]
    assert named["friction_base"] and named["friction_viscous"]
    result = study.summarise(case, study.run_repeats(case, range(REPEATS)))
    assert result["worse_than_truth"] == 0
    hits = {n: row["hits"] for n, row in result["parameters"].items() if row["identifiable"]}
    assert min(hits.values()) >= FEWEST, hits
    assert np.mean(list(hits.values())) >= 0.85 * REPEATS, hits
    # nor are they wider than the errors ask for
    spread = [row["error_spread"] for row in result["parameters"].values()]
    assert 0.5 < np.median(spread) < 1.6, spread


def test_a_valley_beside_the_lowest_one_is_not_taken(study):
    # the first start of this repeat ends beside a jump of the motion, with less error than the
    # truth has, as noise of the start samples raises that, but a third more than it can be
    case = study.Case("xl330i", "m6")
    (repeat,) = study.run_repeats(case, [6])
    assert not repeat.worse
    known = np.array(list(study.identifiable(case.truth()).values()))
    assert repeat.hits[known].all()
    assert np.abs(repeat.errors[known]).max() < 2.5


def test_the_rule_names_what_the_recordings_cannot_tell(study):
    named = study.identifiable(study.Case("xl320", "m6").truth())
    assert {name for name, known in named.items() if not known} == {
        "load_friction_motor_quad",
        "load_friction_external_quad",
    }
    # without friction near standstill there is no speed up to which it acts
    truth = study.Case("xl330", "m2").truth().with_values(friction_stribeck=0.0)
    named = study.identifiable(truth)
    assert not named["dtheta_stribeck"] and not named["alpha"]
    assert not named["friction_stribeck"]  # on its bound
    assert named["kt"]


def test_every_servo_of_the_catalogue_has_a_truth_within_its_bounds(study):
    truths = import_module("servo_truths")
    assert set(truths.RIGS) == set(servos())
    for servo in truths.RIGS:
        truth = truths.true_model(servo, "m6", seed=3)
        for parameter in truth.parameters:
            value = truth.values[parameter.name]
            assert parameter.lower < value < parameter.upper, (servo, parameter.name)


def test_a_motion_that_jumps_has_intervals_that_are_not_relied_on(study):
    # the torque of this law jumps where the error changes its sign in motion, as a free swing does
    truths = import_module("servo_truths")
    truth = truths.true_model("xl330i", "m1", 0)
    swinging = replace(
        truths.RIGS["xl330i"],
        recordings=truths.RECORDINGS,
        masses=(0.15, 0.4),
        gains=(100.0, 400.0),
    )
    assert all(study.identifiable(truth).values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(truths.RIGS, "xl330i", swinging)
        assert not study.identifiable(truth)["R"]
        logs = truths.noisy_logs(truths.clean_logs(truth), np.random.default_rng(0))
    problem = ServoProblem(BenchSimulator(truth, logs, threads=1))
    found = assess(problem, truth.vector(), logs)
    names = problem.space.names
    assert "R" in found.unreliable(names)
    assert any("'R'" in remark and "unreliable" in remark for remark in found.remarks)
    assert found.to_dict(names, 0.95)["unreliable"] == found.unreliable(names)


def test_rollouts_start_where_the_simulator_takes_the_log(study):
    truths = import_module("servo_truths")
    truth = truths.true_model("mx64", "m1", 0)
    logs = truths.noisy_logs(truths.clean_logs(truth), np.random.default_rng(0))
    for period in (None, 0.5, 0.7123, 3.99, 100.0):
        simulator = BenchSimulator(truth, logs, threads=1, reset_period=period)
        problem = ServoProblem(simulator)
        motion = simulator.simulate(truth.vector()[None])
        taken = np.flatnonzero(motion.position[0][0] == logs[0].position)
        assert np.array_equal(problem.start_samples(0), taken), period


def test_a_start_that_is_off_moves_the_fit_as_foreseen(study, monkeypatch):
    truths = import_module("servo_truths")
    truth = truths.true_model("mx64", "m1", 0)
    clean = truths.clean_logs(truth)
    off = 1e-3
    moved = []
    for shift in (off, -off):
        position = clean[0].position.copy()
        position[0] += shift
        logs = [replace(clean[0], position=position), *clean[1:]]
        problem = ServoProblem(BenchSimulator(truth, logs, threads=1), Objective("rmse"))
        x = truth.vector()
        for _ in range(4):
            blocks = list(problem.jacobian_blocks(x, {}))
            # the first sample is what it starts from: it tells nothing of the fit
            r, slopes = (np.concatenate([b[i] for b in blocks], axis=-1) for i in (1, 2))
            x = x - np.linalg.solve(slopes @ slopes.T, slopes @ r)
        moved.append(x - truth.vector())

    problem = ServoProblem(BenchSimulator(truth, clean, threads=1), Objective("rmse"))
    exact = import_module("trueup.actuators.assess.start_noise")
    sizes = np.zeros((2, len(clean)))
    sizes[0, 0] = off / np.sqrt(3.0)
    monkeypatch.setattr(exact, "start_noise_sizes", lambda *_: sizes)
    monkeypatch.setattr(
        "trueup.actuators.assess.fit_assessment.with_start_noise",
        lambda p, x, c, *rest: exact.with_start_noise(
            p, x, replace(c, matrix=1e-30 * np.eye(len(x))), *rest
        ),
    )
    found = assess(problem, truth.vector(), clean)
    # friction makes errors of both signs act unlike: their mean square is what counts
    expected = np.sqrt(np.square(moved).sum(axis=0) / 6.0)
    np.testing.assert_allclose(found.standard_errors, expected, rtol=0.1)


def test_an_interval_reaches_as_far_as_the_standard_error_at_its_end(study, monkeypatch):
    truths = import_module("servo_truths")
    truth = truths.true_model("xl330", "m2", 0)
    logs = truths.noisy_logs(truths.clean_logs(truth), np.random.default_rng(0))
    problem = ServoProblem(BenchSimulator(truth, logs, threads=1), Objective("rmse"))
    zero = np.zeros((2, len(logs)))
    for name in ("start_noise", "profile_extension"):
        module = import_module(f"trueup.actuators.assess.{name}")
        monkeypatch.setattr(module, "start_noise_sizes", lambda *_: zero)
    given = []

    def spied(*arguments):
        given.append(extension_factors(*arguments))
        return given[0]

    extension_factors = import_module("trueup.actuators.assess.profile_extension").extension_factors
    monkeypatch.setattr("trueup.actuators.assess.fit_assessment.extension_factors", spied)
    found, x, space = assess(problem, truth.vector(), logs), truth.vector(), problem.space

    def variance(at):
        slopes = np.hstack([slopes for _, _, slopes in problem.jacobian_blocks(at, {})])
        slopes = slopes * space.slope(at)[:, None]
        return np.diag(np.linalg.inv(slopes @ slopes.T))

    z, half = space.to_search(x), found.covariance.half_widths
    spread = found.covariance.matrix
    reached = []
    for k in range(len(x)):
        end = space.from_search(z + half[k] / spread[k, k] * spread[k])
        growth = np.sqrt(variance(end)[k] / variance(x)[k])
        reached.append(max(growth, 1.0))
    np.testing.assert_allclose(given[0][:, 1], reached, rtol=1e-6)
    assert max(reached) > 1.05
    high = space.from_search(z + np.diag(half * reached)).diagonal()
    assert (found.intervals[:, 1] >= high * (1.0 - 1e-9)).all()


def test_a_smooth_motion_follows_its_derivatives(study):
    truths = import_module("servo_truths")
    truth = truths.true_model("mx64", "m1", 0)
    logs = truths.noisy_logs(truths.clean_logs(truth), np.random.default_rng(0))
    problem = ServoProblem(BenchSimulator(truth, logs, threads=1))
    found = assess(problem, truth.vector(), logs)
    assert found.unreliable(problem.space.names) == []
    assert np.nanmax(found.departures) < 0.5


# --- a parameter on its bound ----------------------------------------------------------------


def line_fit(rng, slope=0.7, weak=0.5):
    """A strong parameter, fitted beside one that the data hardly know and that lies in 0 to 1."""
    design = np.column_stack([np.linspace(0.5, 1.5, 40), 0.1 * np.linspace(0.6, 1.4, 40)])
    data = design @ [slope, weak] + 0.05 * rng.standard_normal(40)
    best = np.linalg.lstsq(design, data, rcond=None)[0]
    if not 0.0 <= best[1] <= 1.0:
        best[1] = np.clip(best[1], 0.0, 1.0)
        best[0] = design[:, 0] @ (data - best[1] * design[:, 1]) / (design[:, 0] @ design[:, 0])
    return design, design @ best - data, best


def space_of(lower=(-5.0, 0.0), upper=(5.0, 1.0)):
    low, high = np.array(lower), np.array(upper)
    return Space(("strong", "weak"), low, high, 0.5 * (low + high), np.zeros(2, bool))


def intervals_of(design, residual, x, space=None):
    space = space or space_of()
    at_bound = space.at_bound(x, 1e-6)
    covariance = estimate_covariance(
        [SequenceFit(residual[:, None], design[:, None, :], "line", ("y",))],
        "classical",
        at_bound=at_bound if at_bound.any() else None,
        names=space.names,
    )
    ends = fit_intervals(space, x, covariance, design.T @ design, design.T @ residual)
    return covariance, ends


def test_intervals_hold_beside_a_parameter_on_its_bound():
    rng = np.random.default_rng(0)
    held = {"union": 0, "fixed": 0}
    on_bound = 0
    for _ in range(200):
        design, residual, x = line_fit(rng)
        covariance, found = intervals_of(design, residual, x)
        if not covariance.active.any():
            continue
        on_bound += 1
        assert not found.stopped_early.any()
        low, high = found.ends[0]
        held["union"] += low <= 0.7 <= high
        held["fixed"] += abs(x[0] - 0.7) <= covariance.half_widths[0]
        # no further than the other bound allows
        reach = covariance.half_widths[0] + 0.1 * 1.05
        assert max(high - x[0], x[0] - low) < reach
        assert found.ends[1].min() >= 0.0 and found.ends[1].max() <= 1.0
    assert on_bound > 50
    assert held["fixed"] < 0.6 * on_bound
    assert held["union"] > 0.95 * on_bound


def test_a_bound_that_the_data_push_against_moves_no_other_interval():
    design, _, _ = line_fit(np.random.default_rng(1))
    data = design @ [0.7, -40.0] + 0.05 * np.random.default_rng(2).standard_normal(40)
    x = np.array([design[:, 0] @ data / (design[:, 0] @ design[:, 0]), 0.0])
    covariance, found = intervals_of(design, design @ x - data, x)
    assert covariance.active.tolist() == [False, True]
    np.testing.assert_allclose(found.ends[0], x[0] + covariance.half_widths[0] * np.array([-1, 1]))


def test_intervals_reach_the_optimum_that_a_search_did_not():
    rng = np.random.default_rng(3)
    design, noise = rng.standard_normal((100, 2)), 0.05 * rng.standard_normal(100)
    space = space_of()
    data = design @ [0.7, 0.5] + noise
    best = np.linalg.lstsq(design, data, rcond=None)[0]
    stopped = best + np.array([0.3, 0.0])
    covariance, found = intervals_of(design, design @ stopped - data, stopped)
    assert found.stopped_early.tolist() == [True, False]
    half = covariance.half_widths[0]
    np.testing.assert_allclose(found.ends[0], [best[0] - half, stopped[0] + half])
    _, exact = intervals_of(design, design @ best - data, best, space)
    assert not exact.stopped_early.any()


# --- absolute errors -------------------------------------------------------------------------


def test_the_curvature_of_absolute_errors_is_twice_their_density_at_zero():
    rng = np.random.default_rng(4)
    quiet = 0.01 * rng.standard_normal((4000, 1))
    loud = quiet * np.where(np.arange(4000) < 2000, 1.0, 5.0)[:, None]
    loud[500] = 0.0  # not measured
    weights, densities = signs_and_densities([quiet, loud])
    np.testing.assert_allclose(weights[0] * quiet, np.sign(quiet))
    assert np.isfinite(weights[1]).all() and weights[1][500] * loud[500] == 0.0
    expected = 2.0 / np.sqrt(2.0 * np.pi) / 0.01
    assert densities[0].mean() == pytest.approx(expected, rel=0.05)
    assert densities[1][:1900].mean() == pytest.approx(expected, rel=0.05)
    assert densities[1][2100:].mean() == pytest.approx(expected / 5.0, rel=0.05)
    nothing = np.zeros((5, 1))
    assert (signs_and_densities([nothing])[1][0] == 1.0).all()


# --- logs of servos --------------------------------------------------------------------------

TRUTH = ServoModel.create(
    "xl330",
    "m1",
    kt=0.35,
    R=3.2,
    armature=0.0016,
    friction_base=0.02,
    friction_viscous=0.006,
    q_offset=0.02,
)


def problem_of(seconds, kind):
    logs = [
        made.recorded(
            TRUTH,
            made.template_log(
                f"run{i}", seconds=s, kp=100.0 * (1 + i), mass=0.2 * (1 + i), torque_off_after=0.6
            ),
            2e-3,
            i,
        )
        for i, s in enumerate(seconds)
    ]
    return ServoProblem(BenchSimulator(TRUTH, logs, threads=1), Objective(kind)), logs


def test_residuals_count_as_in_the_objective_however_long_their_log_is():
    problem, _ = problem_of((0.5, 1.5), "rmse")
    x = TRUTH.vector() * 1.02
    shares = [problem.shares(number) for number in range(2)]
    assert np.concatenate(shares).mean() == pytest.approx(1.0)
    assert shares[0][0] > 2.5 * shares[1][0]
    blocks = list(problem.jacobian_blocks(x, {}))
    gradient = sum(J @ (share * r) for share, (_, r, J) in zip(shares, blocks, strict=True))
    cost, expected = problem.simulator.cost_gradients(x[None, :], problem.objective)
    # the cost is the root of the mean square
    np.testing.assert_allclose(
        gradient / (problem.data_rows * cost[0]), expected[0], rtol=1e-8, atol=1e-12
    )


def test_what_stands_at_a_bound_or_off_its_optimum_is_said():
    problem, logs = problem_of((1.0, 1.0), "rmse")
    x = TRUTH.vector()
    far = x.copy()
    far[list(TRUTH.names).index("kt")] *= 1.1
    found = assess(problem, far, logs)
    assert any("stopped before its optimum" in s and "kt" in s for s in found.sentences)
    # of a search that has converged, no page says that it stopped early
    ended = assess(problem, far, logs, converged=True)
    assert not any("stopped" in s for s in ended.sentences)
    assert any("not smooth at its minimum" in s and "kt" in s for s in ended.sentences)
    np.testing.assert_array_equal(ended.intervals, found.intervals)
    low, high = found.intervals[list(TRUTH.names).index("kt")]
    assert low < 0.35 < high
    bounded = x.copy()
    bounded[list(TRUTH.names).index("friction_viscous")] = 0.0
    found = assess(problem, bounded, logs)
    assert found.at_bound.sum() == 1
    assert any("friction_viscous is at its bound" in sentence for sentence in found.remarks)
    assert found.to_dict(TRUTH.names, 0.95)["at_bound"] == ["friction_viscous"]
