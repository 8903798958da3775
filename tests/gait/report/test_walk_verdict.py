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
    adult_norm,
    given_walk,
    survival,
)
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.gait.walk.frames import FRAME
from trueup.reports.verdict import MOST_REASONS

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
    assert found["repeats under unseen perturbations that keep walking"].value == 75.0
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


def changed(joint_or_column, change, sides="rl"):
    """A made-up walk with another column of each leg, by a function of it and the time."""
    records = walk()
    for side in sides:
        column = records.column(f"{joint_or_column}_{side}")[0]
        column[:] = change(column)
    return records


def leaning(records):
    """The walk with its right knee against the stop for half of the time, at 1 N m/kg."""
    time = records.column("time")[0]
    records.column("limit_knee_r")[0] = np.where(time % 1.1 < 0.55, records.mass * 1.0, 0.0)
    return records


def spending(records, rate):
    """The walk with a metabolic rate [W/kg]."""
    records.column("metabolic")[0] = rate * records.mass * records.column("time")[0]
    return records


def swinging(records, degrees):
    """The walk with a trunk whose lean has a range [deg] in each stride."""
    lean = np.deg2rad(degrees) * 0.5 * np.sin(2 * np.pi * records.column("time")[0] / 1.1)
    records.column("torso_pitch")[0] = lean
    return records


def stamping(records, weights):
    """The walk with a ground reaction [body weights] of one frame at each touch-down."""
    for side in "rl":
        load = records.column(f"load_{side}")[0]
        begins = np.flatnonzero((load[1:] > 0.1) & (load[:-1] <= 0.1)) + 1
        load[begins] = weights
    return records


def shuffling(records, rate):
    """The walk with its strides at another rate, at the same speed."""
    other = walk(duration=10.0 * rate, speed=1.25 / rate)
    length = records.frames.shape[1]
    at = np.clip(np.round(np.arange(1, length + 1) * rate).astype(int) - 1, 0, None)
    frames = other.frames[:, at[at < other.frames.shape[1]]]
    frames[0, :, FRAME.index("time")] = np.arange(1, frames.shape[1] + 1) * 0.01
    frames[0, :, FRAME.index("x")] = 1.25 * frames[0, :, FRAME.index("time")]
    return replace(records, frames=frames, length=np.array([frames.shape[1]]))


@pytest.mark.parametrize(
    ("records", "quantity", "said"),
    [
        (leaning(walk()), "mean torque of the knee's stop", "knee leans on its stop for 50 %"),
        (spending(walk(), 6.3), "metabolic rate of the muscles", "Adults need 4.1 W/kg"),
        (spending(walk(), 6.0), "", ""),
        (swinging(walk(), 14.0), "range of the lean of the trunk in a stride", "weights=trunk"),
        (swinging(walk(), 10.0), "", ""),
        (stamping(walk(), 1.6), "peak of the ground reaction of a foot", "weights=grf"),
        (stamping(walk(), 1.45), "", ""),
        (shuffling(walk(), 1.3), "difference of the cadence", "its steps are too short"),
        (shuffling(walk(), 0.72), "difference of the cadence", "79 steps/min, adults 107: its"),
        (shuffling(walk(), 0.9), "", ""),
    ],
)
def test_a_steady_walk_that_is_not_natural_is_looked_at(walked, repeats, records, quantity, said):
    verdict = walked(records, repeats(0))
    missed = [c for c in verdict.criteria if not c.met]
    if not quantity:
        assert verdict.grade is Grade.USE
        return
    assert verdict.grade is Grade.LOOK
    assert [c.name.startswith(quantity) for c in missed] == [True]
    assert said in missed[0].sentence


def test_straight_legs_under_load_are_not_natural(walked, repeats):
    """The knee bends under load at least as much as in all but one of a hundred people."""
    knees = changed("knee", lambda angle: np.pi - 0.02 * (np.pi - angle))
    verdict = walked(knees, repeats(0), reference())
    missed = {c.name: c for c in verdict.criteria if not c.met}
    flexion = missed["flexion of the knee under load, compared with made up"]
    assert flexion.value < 2.0 < flexion.limit and "straight legs" in flexion.sentence


def test_steps_are_not_compared_with_adults_where_adults_do_not_walk(walked, repeats):
    names = [c.name for c in walked(walk(speed=0.4), repeats(0)).criteria]
    assert any("stop" in name for name in names)
    assert not any(w in n for n in names for w in ("cadence", "metabolic", "trunk", "reaction"))


def test_stops_without_sensors_are_not_judged_in_silence(problem, walked, repeats):
    scenario = problem.scenarios[0]
    body = scenario.simulation.walker.body_map(())
    blind = body._replace(parts=body.parts.copy())
    blind.parts[0]["limits"][:, 1] = -1

    class Blind:
        slope, stairs, assistance = 0.0, None, 0.0
        anatomy = scenario.simulation.walker.anatomy

        def body_map(self, entries):
            return blind

    walker = scenario.simulation.walker
    scenario.simulation.walker = Blind()
    try:
        verdict = walked(walk(), repeats(0))
    finally:
        scenario.simulation.walker = walker
    assert verdict.grade is Grade.LOOK
    assert "stops of knee is unknown" in verdict.reasons[0].sentence


def test_the_shipped_walk_is_judged_by_what_it_does():
    """It bends its knees under load at the cadence of adults, on no stop of hip or ankle; its trunk
    swings, its ground reaction is too large, and it spends more than adults do."""
    walk = given_walk(SHIPPED_WALK, "walk", {"sim_time": 8.0})
    verdict = judge_walk(walk.problem, walk.vector, norms=[adult_norm()])
    assert verdict.grade is not Grade.USE
    for met, words in (
        (True, ("flexion of the knee", "cadence", "hip's stop", "ankle's stop", "time before")),
        (False, ("knee's stop", "lean of the trunk", "metabolic")),
    ):
        for word in words:
            (one,) = [c for c in verdict.criteria if word in c.name]
            assert one.met is met, one


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
    for line in verdict.lines(MOST_REASONS):
        assert " ".join(line.split()) in shown
    for criterion in verdict.criteria:
        assert criterion.name in page
