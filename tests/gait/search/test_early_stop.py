"""Candidates that cannot be among the best are stopped; all others cost what they cost."""

import json

import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.fitting import CmaEs, CmaEsSettings, VectorisedCosts, minimise
from trueup.gait import (
    EarlyStoppingCmaEs,
    GaitProblem,
    Perturbations,
    PerturbationSizes,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
)
from trueup.gait.costs.stages import PRESETS
from trueup.gait.search.shipped_walk import SHIPPED_WALK

DURATION = 1.6


@pytest.fixture(scope="module")
def scenario():
    walker = Walker.load("planar22")

    def make(speed=1.25):
        settings = WalkSettings(duration=DURATION, threads=1)
        simulation = WalkSimulation(walker, settings)
        return Scenario(simulation, WalkObjective(PRESETS["-vel"], speed=speed), f"{speed} m/s")

    return make


@pytest.fixture(scope="module")
def candidates(scenario):
    """The shipped walk, four that fall, and one that cannot start."""
    parameters = scenario().simulation.parameters
    start = dict(zip(parameters.names, parameters.start, strict=True))
    start |= json.loads(SHIPPED_WALK.read_text())["parameters"]
    X = np.tile(list(start.values()), (6, 1))
    X[1:5, :50] *= np.array([0.7, 0.5, 0.2, 0.0])[:, None]
    X[5, parameters.index("hip_flexion_r")] = 90.0
    return X


def problem(*scenarios, kind="mean"):
    repeats = Perturbations(2, 3, kind, PerturbationSizes(push=100.0, angle=2.0))
    deviation = np.full(scenarios[0].simulation.parameters.space.size, 0.3)
    return GaitProblem(scenarios, perturbations=repeats, deviation=deviation)


@pytest.mark.parametrize("kind", ["mean", "worst"])
def test_those_below_the_bound_cost_what_they_cost(scenario, candidates, kind):
    slow, fast = scenario(1.0), scenario(1.4)
    judged = problem(slow, fast, kind=kind)
    whole = judged.whole_costs(candidates)
    walked = {name: values.copy() for name, values in judged.terms.items()}
    judged.bound = float(whole.min()) + 1e-6
    costs = judged.whole_costs(candidates)
    kept = whole <= judged.bound
    np.testing.assert_array_equal(costs[kept], whole[kept])
    for name, values in judged.terms.items():
        if name in walked:
            np.testing.assert_array_equal(values[kept], walked[name][kept])
    # those stopped stay behind, and the saving is real
    assert (costs[~kept] > judged.bound).all()
    stopped = judged.terms["1.4 m/s.stopped"]
    assert stopped.any() and (stopped[kept] == 0.0).all()
    lasted = sum(judged.terms[f"{name} m/s.lasted"] for name in ("1.0", "1.4"))
    assert lasted.sum() < sum(walked[f"{name} m/s.lasted"] for name in ("1.0", "1.4")).sum()


def test_of_those_stopped_the_longer_walk_at_pace_is_the_better(scenario, candidates):
    """A sum of what is known alone would put a walk that fell later behind."""
    judged = problem(scenario())
    judged.bound = 1.0
    costs = judged.whole_costs(candidates)
    assert judged.terms["stopped"].any()
    kept_pace = (judged.terms["survived"] * judged.terms["pace"])[1:5]
    order = np.argsort(kept_pace)
    clearly = np.diff(kept_pace[order]) > 0.02
    assert clearly.any() and (np.diff(costs[1:5][order])[clearly] < 0.0).all()


def test_without_repeats_nothing_is_gained_and_nothing_changes(scenario, candidates):
    single = GaitProblem([scenario()])
    whole = single.whole_costs(candidates)
    single.bound = 100.0
    np.testing.assert_array_equal(single.whole_costs(candidates), whole)


def search_of(judged, kind):
    return kind(judged.space, CmaEsSettings(population=5, max_generations=3), seed=4)


def test_a_resumed_search_has_the_bound_of_an_uninterrupted_one(scenario):
    judged = problem(scenario())
    bounds = []

    def go(search, generations):
        for _ in range(generations):
            X, failures = search.ask(), {}
            costs = search.evaluate(judged, X, failures)
            bounds.append((X, costs))
            search.tell(X, costs, failures)
        return search

    go(search_of(judged, EarlyStoppingCmaEs), 2)
    whole, bounds = bounds, []
    first = go(search_of(judged, EarlyStoppingCmaEs), 1)
    state = first.state()
    go(EarlyStoppingCmaEs.from_state(state, judged.space), 1)
    assert judged.bound == np.inf
    for one, two in zip(whole, bounds, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def test_a_search_stops_candidates(scenario):
    judged = problem(scenario(), kind="worst")
    stopped = []
    costs = judged.costs

    def watched(X, failures=None):
        answer = costs(X, failures)
        stopped.append(judged.terms["stopped"].sum())
        return answer

    judged.costs = watched
    solution = minimise(judged, search_of(judged, EarlyStoppingCmaEs))
    assert stopped[0] == 0.0 and sum(stopped) > 0.0
    assert solution.cost == pytest.approx(costs(solution.x[None])[0, 0], rel=1e-12)


def test_other_problems_are_refused(scenario):
    space = problem(scenario()).space
    search = EarlyStoppingCmaEs(space, CmaEsSettings(population=6))
    other = VectorisedCosts(lambda X: X.sum(axis=1), space)
    with pytest.raises(GaitError, match="evaluated in this process"):
        minimise(other, search)
    assert issubclass(EarlyStoppingCmaEs, CmaEs)
