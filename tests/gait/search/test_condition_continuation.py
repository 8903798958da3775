"""Searches that go to another speed or slope level by level, and distributions they begin with."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup import gait, runs
from trueup.cli import main
from trueup.errors import GaitError, RunDirectoryError
from trueup.gait.report.of_walk import progress_section
from trueup.gait.search.continuation import is_ready
from trueup.gait.search.distribution import DISTRIBUTION, SearchDistribution, distribution_at
from trueup.gait.search.run_files import read_terms
from trueup.gait.search.staged_search import StagedSearch, make_staged_search
from trueup.gait.search.starts import resolved_start
from trueup.parameters import Space
from trueup.runs import Budget, RunDirectory, Store, read_study

STAGES = {
    "adapt": {"other_condition": True, "gradually": 4, "maxiter": 8, "step": 1.0},
    "steady": {"maxiter": 2, "step": 1.0, "perturbed_repeats": 2},
}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A run on level ground, of walks of a fraction of a second."""
    content = yaml.safe_load(Path(FIRST_WALK).read_text())
    content |= {"sim_time": 0.3, "popsize": 6, "maxiter": 3, "weights": {"effort": 100}}
    folder = tmp_path_factory.mktemp("continuations")
    path = folder / "first.yaml"
    path.write_text(yaml.safe_dump(content))
    return path, gait.optimize(path, folder / "first", verbose=False)


@pytest.fixture(scope="module")
def uphill(first, tmp_path_factory):
    """A configuration that goes up a slope from there, and its run."""
    content = yaml.safe_load(first[0].read_text())
    content |= {"stages": STAGES, "maxiter": None, "tgt_slope": 2.0}
    folder = tmp_path_factory.mktemp("uphill")
    content["param_path"] = str(first[1].directory)
    path = folder / "uphill.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path, gait.optimize(path, folder / "whole", verbose=False)


def history(folder):
    with Store.open(folder / "study.sqlite") as store:
        return store.history()


def test_a_search_goes_up_a_slope_level_by_level(uphill):
    _, result = uphill
    levels = [one["level"] for one in history(result.directory).generations]
    # walks this short stay up, so it stays two generations at each level and goes on at the last
    assert levels == [0, 0, 1, 1, 2, 2, 3, 3, 0, 0]
    continuation = result.problem.continuations[0]
    slopes = [
        continuation.problem(level).scenarios[0].simulation.walker.slope for level in range(4)
    ]
    np.testing.assert_allclose(slopes, [0.5, 1.0, 1.5, 2.0])
    assert continuation.words == ("at 0.5 deg", "at 1 deg", "at 1.5 deg")


def test_each_level_costs_less_than_those_before(uphill):
    _, result = uphill
    found, problem = history(result.directory), result.problem
    costs = found.costs[:, 0]
    whole = [costs[found.generation == number] for number in range(10)]
    for before, after in ((1, 2), (3, 4), (5, 6), (7, 8)):
        assert whole[before].min() > whole[after].max()
    np.testing.assert_array_equal(problem.steps_of(costs), found.generation // 2)
    np.testing.assert_array_equal(problem.stages_of(costs), found.generation >= 8)
    # a candidate costs in the history what its level says
    problem.enter(0, 1)
    row = int(np.flatnonzero(found.generation == 2)[0])
    expected = problem.costs(found.X[row][None])[0, 0]
    assert problem.own_costs(costs)[row] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("generations", [1, 4, 9])
def test_a_passage_resumes_at_any_level(uphill, tmp_path, generations):
    path, whole = uphill
    gait.optimize(path, tmp_path / "run", limits=Budget(max_generations=generations), verbose=False)
    runs.resume(tmp_path / "run", limits=Budget(max_generations=10), verbose=False)
    np.testing.assert_array_equal(history(tmp_path / "run").X, history(whole.directory).X)


def test_a_run_that_stops_on_the_way_is_shown_where_it_was_to_go(uphill, tmp_path):
    path, _ = uphill
    run = tmp_path / "run"
    result = gait.optimize(path, run, limits=Budget(max_generations=3), verbose=False)
    assert result.problem.scenarios[0].simulation.walker.slope == 2.0
    cost = result.problem.costs(result.solution.x[None])[0, 0]
    assert result.solution.cost == cost and not result.problem.is_of_target(3e4)
    assert "has changed since" not in result.report.read_text(encoding="utf-8")


def test_candidates_that_fall_or_dawdle_keep_a_search_at_its_level():
    configuration = gait.load_configuration(FIRST_WALK)
    configuration = configuration.with_changes({"weights": {"velocity": 1.0}, "tgt_vel_tol": 0.05})
    problem = gait.make_problem(configuration)
    still = np.zeros(10)
    fell = np.repeat([1.0, 0.0], 5)

    def ready(**terms):
        problem.terms = {"fell": still, "stopped": still, "velocity": still, **terms}
        return is_ready(problem)

    assert ready() and ready(fell=fell)
    assert not ready(fell=np.repeat([1.0, 0.0], [7, 3]))
    assert not ready(fell=fell, stopped=np.repeat([0.0, 1.0], [7, 3]))
    assert not ready(velocity=np.full(10, 0.25)) and not ready(velocity=np.full(10, np.nan))
    assert ready(velocity=np.repeat([0.07, 0.25], 5))
    assert not ready(velocity=np.repeat([0.07, np.nan], [4, 6]))
    assert not ready(velocity=np.repeat([0.09, np.nan], 5))
    # half of those that do not fall, not of all
    assert ready(fell=fell, velocity=np.repeat([np.nan, 0.07], [7, 3]))
    assert not ready(fell=fell, velocity=np.repeat([np.nan, 0.07], [9, 1]))


def begun(uphill, stages):
    """A problem with these stages, and its search."""
    changes = {"stages": stages, "param_path": None}
    configuration = gait.load_configuration(uphill[0]).with_changes(changes)
    problem = gait.make_problem(configuration)
    return problem, make_staged_search(problem, configuration)


def advanced(search, problem, count, what="level"):
    """The level, or the stage, of each of the next generations."""
    found = []
    for _ in range(count):
        X = search.ask()
        answer = search.evaluate(problem, X, {})
        search.tell(X, answer, {})
        found.append(search.info()[what])
    return found


@pytest.fixture
def held_up(monkeypatch):
    """Generations in which one of six candidates stays up above 1.2 degrees; none does in others,
    all do below."""
    evaluated, held_up = [], set()

    def costs(problem, X, failures=None):
        (scenario,) = problem.scenarios
        fell = np.full(len(X), float(scenario.simulation.walker.slope > 1.2))
        fell[0] = 0.0 if len(evaluated) in held_up else fell[0]
        evaluated.append(len(X))
        problem.terms = {"fell": fell, "stopped": 0.0 * fell, "velocity": 0.0 * fell}
        return np.sum(X**2, axis=1)[:, None] + fell[:, None]

    monkeypatch.setattr(gait.GaitProblem, "costs", costs)
    return held_up


STEEP = {"adapt": {"begins_at": [1.25, 0.0], "gradually": 80, "maxiter": 90}}
"""A stage that goes to 2 degrees in steps of 0.025, of which the first 48 are passed."""


def test_a_search_goes_back_and_on_by_half_as_far_where_nearly_all_fall(uphill, held_up):
    problem, search = begun(uphill, STEEP)
    assert advanced(search, problem, 24) == np.repeat(np.arange(0, 48, 4), 2).tolist()
    width = search.distribution[0].mean()
    assert advanced(search, problem, 1) == [48]
    assert search.distribution[0].mean() < 0.8 * width  # with a smaller step size
    assert advanced(search, problem, 3) == [44, 44, 46]
    # as far again after an easy move, then back and on by 2 and by 1
    assert advanced(search, problem, 7) == [46, 50, 46, 46, 48, 46, 46]
    assert advanced(search, problem, 6) == [47, 47, 49, 47, 47, 48]


def test_a_few_that_stay_up_keep_a_search_at_its_level(uphill, held_up):
    held_up.update(range(24, 29))
    problem, search = begun(uphill, STEEP)
    assert advanced(search, problem, 31)[23:] == [44, *[48] * 6, 44]


@pytest.mark.parametrize("generations", [24, 29])
def test_a_search_that_went_back_resumes(uphill, held_up, generations):
    problem, search = begun(uphill, STEEP)
    advanced(search, problem, generations)
    again = StagedSearch.from_state(search.state(), problem.space)
    rest = advanced(search, problem, 40 - generations)
    assert advanced(again, problem, 40 - generations) == rest
    np.testing.assert_array_equal(again.ask(), search.ask())


def test_a_search_says_how_far_it_came(uphill, held_up):
    stages = {"adapt": {**STEEP["adapt"], "maxiter": 26}, "settle": {"maxiter": 1}}
    problem, search = begun(uphill, stages)
    advanced(search, problem, 26)
    again = StagedSearch.from_state(search.state(), problem.space)
    for one in (search, again):
        advanced(one, problem, 1)
        assert one.done() is not None and "adapt ended at 1.1 deg, before its target" in one.message


def test_the_finished_share_is_of_simulated_time(uphill):
    stages = {
        "walk": {"maxiter": 2},
        "steady": {"maxiter": 3, "perturbed_repeats": 2},
        "longer": {"maxiter": 1, "sim_time": 0.9},
    }
    problem, search = begun(uphill, stages)
    shares, limited = [search.share(6)], [search.share(3)]
    for _ in range(5):
        advanced(search, problem, 1)
        shares.append(search.share(6))
        limited.append(search.share(3))
    # 2 generations of one walk of 0.3 s, 3 of two, 1 of one of 0.9 s
    np.testing.assert_allclose(shares, np.array([0, 1, 2, 4, 6, 8]) / 11)
    np.testing.assert_allclose(limited[:4], np.array([0, 1, 2, 4]) / 4)


def test_a_stage_that_moves_is_expected_to_go_on_at_its_pace(uphill, held_up):
    stages = {"adapt": STEEP["adapt"], "settle": {"maxiter": 8}}
    problem, search = begun(uphill, stages)
    advanced(search, problem, 10)
    assert search.share(98) == pytest.approx(10 / (10 + 10 * 59 / 20 + 8), abs=0.01)
    advanced(search, problem, 40)  # to and fro at a slope that is too steep
    assert search.share(98) < 0.6


GENTLE = {"begins_at": [1.25, 1.0], "gradually": 2, "maxiter": 9}
"""A stage that goes to 2 degrees over 1.5."""


def test_the_next_stage_follows_as_soon_as_candidates_have_arrived(uphill, held_up, monkeypatch):
    monkeypatch.setattr("trueup.gait.search.continuation.STAY_UP", 0.1)
    held_up.update(range(40))
    problem, search = begun(uphill, {"adapt": GENTLE, "settle": {"maxiter": 2}})
    assert advanced(search, problem, 3) == [0, 0, 1]
    again = StagedSearch.from_state(search.state(), problem.space)
    for one in (search, again):
        assert advanced(one, problem, 3, "stage") == [0, 1, 1]
        assert one.done() is not None


def test_candidates_that_have_arrived_go_on_where_no_stage_follows(uphill, held_up, monkeypatch):
    monkeypatch.setattr("trueup.gait.search.continuation.STAY_UP", 0.1)
    held_up.update(range(40))
    problem, search = begun(uphill, {"adapt": GENTLE})
    assert advanced(search, problem, 9) == [0, 0, *[1] * 7]
    assert search.done() is not None


def test_only_stages_that_go_elsewhere_know_where_they_begin():
    walk = gait.load_configuration("walk")
    there = resolved_start(walk.with_changes({"tgt_vel": (0.8,)}))
    assert there.stages["adapt"]["begins_at"] == [1.25, 0.0]
    assert "begins_at" not in there.stages["steady_there"]
    both = walk.with_changes({"tgt_slope": (0.0, 5.0), "optim_mode": "multislope"})
    assert "begins_at" not in resolved_start(both).stages["adapt"]


def test_perturbations_grow_in_a_stage_after_one_that_moves():
    walk = gait.load_configuration("walk").with_changes({"tgt_vel": (1.0,)})
    moves, grows = (one.words for one in gait.make_problem(resolved_start(walk)).continuations)
    assert moves[39] == "at 1.12 m/s" and grows[0] == "25 % of the perturbations"


def test_a_reference_of_the_other_speed_is_tracked_on_the_way():
    walk = gait.load_configuration("walk").with_changes(
        {"tgt_vel": (0.8,), "reference": ("adult",)}
    )
    weights = [one.weights["kinematic"] for _, one in resolved_start(walk).staged]
    assert weights == [600.0, 600.0]


def test_a_level_tracks_what_the_target_tracks(tmp_path):
    # back to level ground from a slope: the norm fits the target alone, and the levels track it too
    stages = {"adapt": {"gradually": 2, "begins_at": [1.25, 4.0], "maxiter": 1}}
    walk = gait.load_configuration("walk").with_changes({"param_path": "nominal", "sim_time": 0.2})
    content = {**walk.to_dict(), "stages": stages}
    path = tmp_path / "back.yaml"
    path.write_text(yaml.safe_dump(content))
    problem = gait.make_problem(gait.load_configuration(path))
    (scenario,) = problem.continuations[0].problem(0).scenarios
    assert scenario.simulation.walker.slope == 2.0
    assert scenario.objective.reference is not None


def test_perturbations_of_a_stage_grow_to_their_full_sizes():
    given = {"push": 80.0, "noise": 0.02}
    steady = {"gradually": 4, "maxiter": 9, "perturbed_repeats": 3, "perturbation_sizes": given}
    own = gait.load_configuration(FIRST_WALK).with_changes({"stages": {"steady": steady}})
    (continuation,) = gait.make_problem(own).continuations
    assert continuation.words == tuple(f"{part} % of the perturbations" for part in (25, 50, 75))
    whole = gait.PerturbationSizes(**given)
    for step in range(4):
        problem, part = continuation.problem(step), 0.25 * (step + 1)
        assert problem.perturbations.repeats == 3
        for name, size in dataclasses.asdict(problem.perturbations.sizes).items():
            assert size == pytest.approx(part * getattr(whole, name)), name


def test_a_stage_without_perturbations_has_none_to_grow():
    stages = {"walk": {"gradually": 4, "maxiter": 9}}
    own = gait.load_configuration(FIRST_WALK).with_changes({"stages": stages})
    (continuation,) = gait.make_problem(own).continuations
    assert len(continuation) == 1 and continuation.problem(0).perturbations is None


def test_a_search_begins_with_the_distribution_of_its_walk(first, uphill):
    _, former = first
    found = distribution_at(str(former.directory))
    assert found is not None and len(found.names) == former.problem.space.size
    with Store.open(uphill[1].directory / "study.sqlite") as store:
        _, state = store.last_state() or pytest.fail("no state")
    np.testing.assert_allclose(state["deviations"][0], found.deviation, rtol=1e-12)
    assert not np.allclose(found.deviation, 0.01 * former.configuration.sigma_gain)


def test_a_search_begins_with_sigma_gain_where_there_is_no_distribution(first, uphill, tmp_path):
    path, _ = uphill
    vector = tmp_path / "walk.txt"
    found = first[1].vector
    vector.write_text("".join(f"{value!r}\n" for value in found.tolist()))
    changes = {"param_path": str(vector), "stages": ["adapt"]}
    limits = Budget(max_generations=1)
    gait.optimize(path, tmp_path / "run", changes=changes, limits=limits, verbose=False)
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        _, state = store.last_state() or pytest.fail("no state")
    np.testing.assert_allclose(state["deviations"][0], 0.1)


def some_distribution():
    spread = np.array([0.3, 0.02, 1.5])
    correlation = np.array([[1.0, 0.5, -0.25], [0.5, 1.0, 0.1], [-0.25, 0.1, 1.0]])
    return SearchDistribution(("a", "b", "c"), spread, correlation)


def test_a_distribution_goes_through_its_file():
    own = some_distribution()
    again = SearchDistribution.from_dict(json.loads(json.dumps(own.to_dict())))
    assert again.names == own.names
    np.testing.assert_array_equal(again.deviation, own.deviation)
    np.testing.assert_array_equal(again.correlation, own.correlation)


def test_a_distribution_fits_a_space_with_other_entries():
    bound, nothing = np.full(4, np.inf), np.zeros(4)
    space = Space(
        ("new", "c", "a", "other"), -bound, bound, nothing, nothing > 0, deviation=nothing + 0.7
    )
    deviation, correlation = some_distribution().over(space, 2.0)
    np.testing.assert_allclose(deviation, [0.7, 3.0, 0.6, 0.7])
    expected = np.eye(4)
    expected[1, 2] = expected[2, 1] = -0.25
    np.testing.assert_array_equal(correlation, expected)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"names": ["a", "b"], "deviation": [1, 1]}',
        '{"names": ["a", "b"], "deviation": [1, 0], "correlation": [[], [0]]}',
        '{"names": ["a", "b"], "deviation": [1, 1], "correlation": [[], [1.0]]}',
        '{"names": ["a", "b"], "deviation": [1, 1], "correlation": [[], [0, 0]]}',
        '{"names": ["a", "b"], "deviation": [1], "correlation": [[], [0]]}',
        '{"names": ["a", "b"], "deviation": [1, "x"], "correlation": [[], [0]]}',
    ],
)
def test_a_damaged_distribution_is_refused(tmp_path, content):
    (tmp_path / DISTRIBUTION).write_text(content)
    with pytest.raises(GaitError, match=r"is not a distribution of a search.*Remove it"):
        distribution_at(str(tmp_path))


def test_a_dry_run_says_what_would_be_searched(uphill, tmp_path, capsys):
    path, _ = uphill
    run = tmp_path / "run"
    plan = gait.plan_optimize(path, run)
    stages = [(one["name"], one["generations"], one["walks_of_each"]) for one in plan["stages"]]
    assert stages == [("adapt", 8, 1), ("steady", 2, 2)]
    assert [one["candidates"] for one in plan["stages"]] == [6, 6] and plan["unknowns"] == 76
    # 8 * 6 walks and 2 * 6 * 2, of 0.3 s
    more = gait.plan_optimize(path, run, changes={"popsize": 600})
    assert more["seconds_at_most"] > 3.0 * plan["seconds_at_most"] > 0.0
    assert main(["gait", "optimize", str(path), "--dry-run", "--save-path", str(run)]) == 0
    assert not run.exists() and "at most" in capsys.readouterr().out
    limited = gait.plan_optimize(path, run, changes={"maxiter": 3})
    assert [one["generations"] for one in limited["stages"]] == [3, 0]
    assert limited["seconds_at_most"] < plan["seconds_at_most"]
    with pytest.raises(RunDirectoryError, match="--overwrite"):
        gait.plan_optimize(path, uphill[1].directory)
    assert main(["gait", "optimize", str(path), "--dry-run", "--resume"]) == 2


def test_a_dry_run_does_not_count_what_happens_once(uphill, tmp_path, monkeypatch):
    clock, calls = [0.0], []
    costs = gait.GaitProblem.costs

    def timed(problem, X, failures=None):
        calls.append(len(X))
        clock[0] += 1000.0 if len(calls) == 1 else 1.0  # the first one loads compiled code
        return costs(problem, X, failures)

    monkeypatch.setattr(gait.GaitProblem, "costs", timed)
    monkeypatch.setattr("trueup.gait.plan.time.perf_counter", lambda: clock[0])
    plan = gait.plan_optimize(uphill[0], tmp_path / "run")
    # 7 candidates in a second, and 8 * 6 + 2 * 6 * 2 walks as long as theirs
    assert len(calls) == 2 and calls[0] < calls[1]
    assert plan["seconds_at_most"] == pytest.approx(72.0 / 7.0, rel=0.5)


def test_a_dry_run_of_a_comparison_writes_nothing(tmp_path, capsys):
    words = ["gait", "device", "popsize=4", "maxiter=2", "--seeds", "2"]
    folder = tmp_path / "device"
    assert main([*words, "--dry-run", "--save-path", str(folder), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["searches"] == 6 and plan["seconds_at_most"] > 0.0 and not folder.exists()


def test_the_page_shows_the_costs_of_each_level(uphill):
    _, result = uphill
    record = read_study(RunDirectory.open(result.directory))
    terms, _ = read_terms(result.directory / "terms.jsonl")
    section = progress_section(record, terms, result.problem)
    assert section is not None and "has a separate cost" in section.summary
    found = history(result.directory)
    own = result.problem.own_costs(found.costs[:, 0])
    first, last = (own[found.generation == number].min() for number in (0, 9))
    assert f"its cost from {first:.5g} to {last:.5g}." in section.summary
    assert first < 2000.0
