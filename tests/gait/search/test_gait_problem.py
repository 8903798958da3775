"""The problem of a search: scenarios, terms, invalid candidates, other processes."""

import pickle

import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.fitting import CmaEs, CmaEsSettings, minimise
from trueup.gait import (
    FourParameterProfile,
    GaitProblem,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    load_configuration,
    make_problem,
)

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"
WEIGHTS = {"effort": 100.0, "velocity": 100.0}


@pytest.fixture(scope="module")
def scenario(tutorial_walker):
    """Walks of a length and a target speed."""

    def make(duration=0.6, speed=1.25, profile=None):
        settings = WalkSettings(duration=duration, delayed=False, threads=1)
        profile = FourParameterProfile() if profile is None else profile
        simulation = WalkSimulation(tutorial_walker, settings, profile=profile)
        return Scenario(simulation, WalkObjective(WEIGHTS, speed=speed), f"{speed} m/s")

    return make


@pytest.fixture
def candidates(tutorial_vector):
    """Free entries of three vectors; the second one cannot start."""
    X = np.tile(np.delete(tutorial_vector, 39), (3, 1))
    X[1, 51] = 60.0
    X[2, :30] = 0.0
    return X


def test_several_speeds_are_one_cost(scenario, candidates):
    slow, fast = scenario(speed=1.0), scenario(speed=3.0)
    alone = [GaitProblem([one]).costs(candidates) for one in (slow, fast)]
    problem = GaitProblem([slow, fast], most_at_once=2)
    failures = {}
    costs = problem.costs(candidates, failures)
    assert costs.shape == (3, 1) and set(failures) == {1} and "hip" in failures[1]
    np.testing.assert_allclose(costs, 0.5 * (alone[0] + alone[1]), rtol=1e-12)
    assert alone[0][0, 0] != alone[1][0, 0]
    np.testing.assert_array_equal(problem.terms["1.0 m/s.walked"], problem.terms["3.0 m/s.walked"])
    assert problem.terms["1.0 m/s.cost"].shape == (3,)


def test_the_worst_candidate_does_not_raise(scenario):
    problem = GaitProblem([scenario(duration=0.1)])
    X = np.tile(problem.space.start, (4, 1))
    X[0, :] = 1e6
    X[1, :] = -1e6
    X[2, :50] = 1e3
    failures = {}
    costs = problem.costs(X, failures)
    assert np.isfinite(costs).all() and (costs[:2] > costs[3]).all()
    assert {0, 1} <= set(failures)


def test_a_search_finds_better_walks(scenario, tutorial_vector):
    problem = GaitProblem([scenario(duration=1.0)], deviation=np.full(80, 0.05))
    search = CmaEs(problem.space, CmaEsSettings(population=6, max_generations=4), seed=2)
    solution = minimise(problem, search)
    assert solution.cost < problem.costs(problem.space.start[None])[0, 0]


def test_problems_travel_to_other_processes(scenario, candidates):
    problem = GaitProblem([scenario()])
    costs = problem.costs(candidates)
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(costs, again.costs(candidates))


def test_scenarios_have_to_fit_together(scenario):
    with pytest.raises(GaitError, match="at least one scenario"):
        GaitProblem([])
    other = scenario(profile=FourParameterProfile(fixed=True))
    assert GaitProblem([scenario(), other]).space.size == 80
    bare = WalkSimulation(other.simulation.walker, other.simulation.settings)
    with pytest.raises(GaitError, match=r"parameters of the scenario .* differ"):
        GaitProblem([scenario(), Scenario(bare, other.objective, "bare")])


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"optim_mode": "multispeed", "tgt_vel": [1.0, 1.6]}, ("1 m/s, 0 deg", "1.6 m/s, 0 deg")),
        ({"optim_mode": "multislope", "tgt_slope": [0, 4]}, ("1.25 m/s, 0 deg", "1.25 m/s, 4 deg")),
    ],
)
def test_modes_of_a_configuration(recorded_data, changes, names):
    model = str(recorded_data / MODEL)
    configuration = load_configuration("tutorial").with_changes(
        {"model_file": model, "sim_time": 0.1, "cost": "combined", **changes}
    )
    with pytest.raises(GaitError, match="requires a reference"):
        make_problem(configuration, threads=1)
    problem = make_problem(configuration.with_changes({"cost": "vel"}), threads=1)
    assert tuple(one.name for one in problem.scenarios) == names
    assert problem.scenarios[1].simulation.walker.slope == changes.get("tgt_slope", [0, 0])[1]
    assert np.isfinite(problem.costs(problem.space.start[None])).all()


def test_slopes_do_not_share_a_model(recorded_data):
    flat, steep = Walker.load(recorded_data / MODEL), Walker.load(recorded_data / MODEL, slope=5.0)
    assert flat.grade == 0.0 and steep.grade == pytest.approx(np.tan(np.deg2rad(5.0)))
    assert not np.array_equal(flat.model.geom_quat, steep.model.geom_quat)
