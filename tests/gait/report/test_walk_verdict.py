"""The verdict on a walk: steady, natural, and the same wherever it stands."""

import json
from dataclasses import replace

import numpy as np
import pytest
from given_configurations import FIRST_WALK
from made_up_walks import reference, walk

from trueup.cli import main
from trueup.fitting import Grade, SearchEnd, Status, Verdict
from trueup.gait import (
    GaitProblem,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    survival,
)
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.report.walk_verdict import judge_walk

NAMES = ("hip angle", "knee angle", "ankle angle")


@pytest.fixture(scope="module")
def problem():
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=10.0, threads=1))
    return GaitProblem([Scenario(simulation, WalkObjective(weights={}, speed=1.25, strides=3))])


@pytest.fixture
def walked(problem, monkeypatch):
    """The verdict on a made-up walk in place of a simulated one."""

    def judged(records, repeats=(), norm=None, search=None, problem=problem):
        scenario = problem.scenarios[0]
        monkeypatch.setattr(scenario.simulation, "run", lambda X: records)
        norms = None if norm is None else [GaitNorm(norm)]
        return judge_walk(
            problem, problem.parameters.start, norms=norms, survivals=repeats, search=search
        )

    return judged


@pytest.fixture(scope="module")
def repeats():
    """Twenty repeats, some of which fall."""
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.05, threads=1))
    found = survival(simulation, simulation.parameters.start)

    def falling(count):
        return [replace(found, fell=np.arange(20) < count)]

    return falling


def values(verdict):
    return {criterion.name: criterion for criterion in verdict.criteria}


def test_a_steady_and_natural_walk_can_be_used(walked, repeats):
    verdict = walked(walk(), repeats(5), reference())
    assert verdict.grade is Grade.USE
    found = values(verdict)
    assert found["time before a fall"].value == 10.0
    assert found["deviation of the mean speed from 1.25 m/s"].value < 1e-9
    assert found["repeats under unseen perturbations without a fall"].value == 75.0
    for name in NAMES:
        assert found[f"{name}, RMS difference from made up"].value < 1.5


@pytest.mark.parametrize(
    ("falls", "grade"), [(5, Grade.USE), (6, Grade.LOOK), (10, Grade.LOOK), (11, Grade.DO_NOT_USE)]
)
def test_repeats_that_fall_decide_how_steady_it_is(walked, repeats, falls, grade):
    assert walked(walk(), repeats(falls)).grade is grade


def test_what_was_not_tried_is_said(walked):
    verdict = walked(walk())
    assert verdict.grade is Grade.LOOK
    assert "--perturbations 20" in verdict.reasons[0].sentence


def test_a_fall_is_the_end_of_it(walked, repeats):
    fallen = replace(walk(), length=np.array([640]), ended=np.array([1]))
    verdict = walked(fallen, repeats(0), reference())
    assert verdict.grade is Grade.DO_NOT_USE
    (criterion,) = verdict.criteria
    assert criterion.value == pytest.approx(6.4) and criterion.limit == 10.0
    # also one in the last instant
    last = replace(walk(), ended=np.array([1]))
    assert walked(last, repeats(0)).grade is Grade.DO_NOT_USE


def test_another_speed_is_looked_at(walked, repeats):
    for speed, met in ((1.201, True), (1.199, False), (1.301, False)):
        verdict = walked(walk(speed=speed), repeats(0))
        assert (verdict.grade is Grade.USE) == met, speed


def test_each_joint_has_its_own_limit(walked, repeats):
    """A bend of one joint alone, the same over the whole cycle, is its RMS distance."""
    for joint, limit in (("hip", 9.0), ("knee", 10.0), ("ankle", 9.0)):
        for off, met in ((limit - 1.5, True), (limit + 1.5, False)):
            records = walk()
            for side in "rl":
                records.column(f"{joint}_{side}")[0] -= np.deg2rad(off)
            verdict = walked(records, repeats(0), reference())
            missed = [c.name for c in verdict.criteria if not c.met]
            expected = [] if met else [f"{joint} angle, RMS difference from made up"]
            assert missed == expected
            assert verdict.grade is (Grade.USE if met else Grade.LOOK)


def test_legs_that_differ_do_not_make_up_for_each_other(walked, repeats):
    records = walk()
    records.column("hip_r")[0] += np.deg2rad(15.0)
    records.column("hip_l")[0] -= np.deg2rad(15.0)
    found = values(walked(records, repeats(0), reference()))
    assert found["hip angle, RMS difference from made up"].value == pytest.approx(15.0, abs=0.5)


def test_the_end_of_a_search_counts(walked, repeats):
    ended = SearchEnd(Status.EVALUATION_LIMIT, "80 evaluations")
    assert walked(walk(), repeats(0), search=ended).grade is Grade.LOOK
    assert walked(walk(), repeats(0), search=SearchEnd(Status.CONVERGED)).grade is Grade.USE


def test_the_same_verdict_stands_everywhere(tmp_path, capsys):
    run = tmp_path / "run"
    words = [
        "gait",
        "optimize",
        FIRST_WALK,
        "--sim-time",
        "0.3",
        "--popsize",
        "4",
        "--maxiter",
        "1",
    ]
    assert main([*words, "--save-path", str(run), "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["verdict"]
    assert json.loads((run / "solution.json").read_text())["verdict"] == told
    verdict = Verdict.from_dict(told)
    page = (run / "report.html").read_text()
    assert page.index("<h2>Verdict</h2>") < page.index("<h2>Stick figures</h2>")
    assert main(["study", "resume", str(run), "--quiet"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for line in verdict.lines():
        assert " ".join(line.split()) in shown
    for criterion in verdict.criteria:
        assert criterion.name in page
