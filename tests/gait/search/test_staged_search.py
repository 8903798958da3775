"""Searches in stages: one run, one history, resumable in any stage, and their refusals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup import gait, runs
from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait.report import interim_report
from trueup.gait.search.earlier_runs import configuration_of_run
from trueup.gait.search.shipped_walk import SHIPPED_CONDITION, SHIPPED_WALK
from trueup.gait.search.staged_search import Stage, StagedSearch
from trueup.gait.search.starts import resolved_start
from trueup.parameters import Space
from trueup.runs import Budget, RunDirectory, Store

STAGES = {
    "find": {"from_nominal": True, "maxiter": 2, "sigma_gain": 10},
    "steady": {"maxiter": 2, "sigma_gain": 2, "perturbed_repeats": 2, "early_stop": True},
    "sparing": {"maxiter": 3, "step": 0.5, "weights": {"effort": 20000}},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A configuration with three stages, of walks of a fraction of a second."""
    content = yaml.safe_load(Path(FIRST_WALK).read_text()) | {"stages": STAGES}
    content |= {"sim_time": 0.3, "popsize": 6, "maxiter": None}
    path = tmp_path_factory.mktemp("staged") / "staged.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def whole(file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged") / "whole"
    return gait.optimize(file, folder, verbose=False)


def history(folder):
    with Store.open(folder / "study.sqlite") as store:
        return store.history()


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_stages_follow_each_other_in_one_history(whole):
    found = history(whole.directory)
    assert found.generation.max() == 6
    costs = found.costs[:, 0]
    stages = [costs[np.isin(found.generation, part)] for part in ([0, 1], [2, 3], [4, 5, 6])]
    assert stages[0].min() > stages[1].max() > stages[1].min() > stages[2].max()
    # the second stage begins with the best candidate of the first
    best = found.X[int(np.argmin(stages[0]))]
    assert (found.X[found.generation == 2] == best).all(axis=1).any()
    # and the result is the best one of the last stage, by its weights
    last = found.X[found.generation >= 4][int(np.argmin(stages[2]))]
    np.testing.assert_array_equal(whole.solution.x, last)
    assert whole.solution.cost == stages[2].min()
    assert whole.problem.scenarios[0].objective.weights == {"effort": 20000.0}
    # which is dearer than what the stage before has found: costs of stages do not compare
    assert whole.solution.cost > stages[1].min() - whole.problem.cost_per_step
    assert whole.problem.perturbations is None


@pytest.mark.parametrize("generations", [1, 2, 5])
def test_a_run_goes_on_in_any_stage(file, whole, tmp_path, generations):
    first = Budget(max_generations=generations)
    gait.optimize(file, tmp_path / "run", limits=first, verbose=False)
    outcome = runs.resume(tmp_path / "run", limits=Budget(max_generations=7), verbose=False)
    np.testing.assert_array_equal(history(tmp_path / "run").X, history(whole.directory).X)
    assert outcome.result.solution.cost == whole.solution.cost


def test_a_run_that_ends_early_has_the_cost_of_its_stage(file, tmp_path):
    limits = Budget(max_generations=1)
    result = gait.optimize(file, tmp_path / "run", limits=limits, verbose=False)
    assert result.solution.cost < result.problem.cost_per_step
    assert result.problem.names[result.problem.stage] == "find"
    assert "has changed since" not in result.report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "limits", [Budget(max_generations=3), Budget(max_evaluations=13), Budget(max_generations=1)]
)
def test_messages_have_the_costs_of_their_stage(file, tmp_path, limits):
    # a later stage of repeats, which is evaluated again; in the history its costs are larger
    result = gait.optimize(file, tmp_path / "run", limits=limits, verbose=False)
    said = [float(number) for number in re.findall(r"cost ([\d.e+]+)", result.solution.message)]
    assert said and max(said) < result.problem.cost_per_step
    log = (tmp_path / "run/log.jsonl").read_text().splitlines()
    (message,) = (line["message"] for line in map(json.loads, log) if "message" in line)
    assert max(map(float, re.findall(r"cost ([\d.e+]+)", message))) < result.problem.cost_per_step


def test_a_new_stage_without_a_better_walk_shows_the_cost_of_the_one_before():
    space = Space(("x",), np.zeros(1), np.ones(1), np.full(1, 0.5), np.zeros(1, bool))
    own = gait.GaitConfiguration(maxiter=1, popsize=4)
    stages = [Stage(name, own, np.full(1, 0.1)) for name in ("first", "second")]
    search = StagedSearch(space, stages, 1e4)
    X = search.ask()
    search.tell(X, np.full((len(X), 1), 159.0), {})
    assert search.stage == 1 and search.cost == 10159.0 and search.own_cost == 159.0
    X = search.ask()
    search.tell(X, np.full((len(X), 1), np.nan), dict.fromkeys(range(len(X)), "fails"))
    assert search.own_cost == 159.0


def test_a_start_leaves_out_the_stage_that_finds_a_walk(file, whole, capsys, tmp_path):
    limits = ("--maxiter", 1, "--quiet")
    for words, names in [
        (("--from", whole.directory), ["steady", "sparing"]),
        (("--from", "nominal", "stages=sparing,find"), ["find", "sparing"]),
        (("--from", "shipped", "stages=find"), ["find"]),
    ]:
        run = tmp_path / names[0] / names[-1]
        assert called(capsys, "optimize", file, *words, *limits, "--save-path", run)[0] == 0
        assert list(configuration_of_run(RunDirectory.open(run)).stages or {}) == names


@pytest.fixture(scope="module")
def tried(file, tmp_path_factory):
    """A configuration whose first stage begins three times, and its search."""
    content = yaml.safe_load(file.read_text())
    content["stages"]["find"] |= {"attempts": [3, 2], "maxiter": 4}
    folder = tmp_path_factory.mktemp("tried")
    path = folder / "tried.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path, gait.optimize(path, folder / "whole", verbose=False)


def test_the_best_of_several_attempts_goes_on(tried):
    _, result = tried
    found = history(result.directory)
    # three attempts of two generations, two more of the best one, and the other stages
    attempts = [one.get("attempt") for one in found.generations]
    assert attempts == [0, 0, 1, 1, 2, 2, *[None] * 7]
    assert [one["stage"] for one in found.generations] == [0] * 8 + [1] * 2 + [2] * 3
    costs = [found.costs[found.generation == number, 0] for number in range(6)]
    begun = [found.X[found.generation == number] for number in (0, 2, 4)]
    assert not any(np.array_equal(begun[i], begun[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    # it goes on near the candidates of the attempt whose costs are the lowest
    medians = [np.mean([np.median(one) for one in costs[k : k + 2]]) for k in (0, 2, 4)]
    means = [found.X[np.isin(found.generation, (k, k + 1))].mean(axis=0) for k in (0, 2, 4)]
    at = found.X[found.generation == 6].mean(axis=0)
    near = [np.linalg.norm(at - mean) for mean in means]
    assert int(np.argmin(near)) == int(np.argmin(medians))


def test_a_search_of_attempts_resumes_in_any_of_them(tried, tmp_path):
    path, result = tried
    for at in (1, 3, 7):
        folder = tmp_path / str(at)
        gait.optimize(path, folder, limits=Budget(max_generations=at), verbose=False)
        gait.optimize(path, folder, limits=Budget(max_generations=13), resume=True, verbose=False)
        np.testing.assert_array_equal(history(folder).X, history(result.directory).X)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("stages=stedy",), "unknown stage 'stedy'; available: 'find', 'steady', 'sparing'"),
        (("stages=find", "search=scatter"), "remove stages"),
        (("compat=myoassist", "-eff"), "remove stages or compat"),
    ],
)
def test_stages_that_cannot_be_are_refused(file, capsys, tmp_path, words, told):
    run = tmp_path / "run"
    code, answer = called(capsys, "optimize", file, *words, "--save-path", run)
    assert code == 2 and told in answer["message"]
    assert not run.exists()
    code, answer = called(capsys, "optimize", FIRST_WALK, "stages=find", "--save-path", run)
    assert code == 2 and "has no stages" in answer["message"]


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ({"maxiter": 2, "model": "ankle"}, "cannot change 'model'"),
        ({"sigma_gain": 2}, "has no termination criterion"),
        ({"maxiter": 2, "step": 1.0, "popsize": 8}, "remove step or popsize"),
        ({"maxiter": 2, "popsize": 1}, "popsize"),
        ({"maxiter": 2, "step": -1.0}, "step must be above 0"),
        ({"maxiter": 2, "attempts": 3}, "two whole numbers"),
        ({"maxiter": 2, "attempts": [2, 3]}, "longer than the stage"),
        ({"maxiter": 2, "attempts": [2, 1], "step": 1.0}, "remove step or attempts"),
        ({"maxiter": 2, "attempts": [2, 1], "gradually": 3}, "remove gradually or attempts"),
        ({"maxiter": 2, "gradually": 0}, "gradually must be from 1 to 1000"),
        ({"maxiter": 2, "begins_at": 1.25}, "a speed"),
        ({"maxiter": 2, "other_condition": "hill"}, "true or false, or one of 'speed', 'slope'"),
        ({"maxiter": 2, "from_nominal": "speed"}, "must be true or false$"),
    ],
)
def test_a_stage_that_cannot_be_is_refused(stage, told):
    with pytest.raises(GaitError, match=told):
        gait.load_configuration(FIRST_WALK).with_changes({"stages": {"one": stage}})


def test_an_option_holds_in_every_stage(file):
    found = gait.load_configuration(file).with_changes({"weights": {"effort": 1.0}, "maxiter": 3})
    assert [one.weights for _, one in found.staged] == [{"effort": 1.0}] * 3
    assert [one.maxiter for _, one in found.staged] == [2, 2, 3] and found.maxiter == 3


def test_the_norm_is_not_tracked_where_it_does_not_fit(capsys, tmp_path):
    short = ("--sim-time", 0.2, "--popsize", 4, "--maxiter", 1, "--quiet", "stages=steady")
    run = tmp_path / "run"
    code, answer = called(capsys, "optimize", "walk", "--tgt-slope", 5, *short, "--save-path", run)
    assert code == 0 and any("No gait is tracked" in note for note in answer["notes"])
    weighed = ("weights=kinematic:1",)
    code, answer = called(
        capsys, "optimize", "walk", "--tgt-slope", 5, *short, *weighed, "--save-path", run,
        "--overwrite",
    )  # fmt: skip
    assert code == 2 and "requires a reference gait" in answer["message"]


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({}, ["improve"]),
        ({"tgt_vel": (0.8,)}, ["adapt", "steady_there"]),
        ({"tgt_slope": (-5.0,)}, ["incline", "steady_there"]),
        ({"tgt_vel": (1.0,), "tgt_slope": (2.0,)}, ["adapt", "steady_there"]),
        (
            {"param_path": "nominal", "tgt_slope": (-5.0,)},
            ["two_steps", "four_steps", "eight_steps", "walk", "settle", "steady"],
        ),
    ],
)
def test_a_walk_is_taken_to_another_speed_or_slope(changes, stages):
    configuration = gait.load_configuration("walk").with_changes(changes)
    resolved = resolved_start(configuration)
    assert list(resolved.stages) == stages
    assert list(resolved_start(resolved).stages) == stages


def test_the_run_that_a_search_begins_with_tells_its_speed(whole):
    def stages(**changes):
        own = gait.load_configuration("walk").with_changes(
            {"param_path": str(whole.directory), **changes}
        )
        return list(resolved_start(own).stages)

    (speed,) = whole.configuration.tgt_vel
    assert stages(tgt_vel=(speed,)) == ["improve"]
    assert stages(tgt_vel=(speed + 0.3,)) == ["adapt", "steady_there"]


def test_the_shipped_walk_says_what_found_it():
    content = json.loads(SHIPPED_WALK.read_text())
    assert len(content["parameters"]) == 76
    assert gait.load_configuration("walk").conditions == [SHIPPED_CONDITION]
    origin = content["provenance"]
    assert "trueup gait optimize walk" in origin["command"]
    assert {"seed", "versions", "date"} <= set(origin)


@pytest.mark.parametrize(("apart", "pages"), [(0.0, 2), (1e4, 0)])
def test_a_first_walk_is_shown_while_the_search_goes_on(
    file, apart, pages, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(interim_report, "APART", apart)
    gait.optimize(file, tmp_path / "run", limits=Budget(max_generations=4))
    said = capsys.readouterr().err
    # a first one, and one after a stage, unless that is too soon
    assert said.count("interim report, the search continues") == pages
