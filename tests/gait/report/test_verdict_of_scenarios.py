"""The verdict on a walk in several scenarios: each of its criteria names its own."""

from made_up_walks import walk

from trueup.gait import (
    GaitProblem,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
)
from trueup.gait.report.walk_verdict import judge_walk


def judged(*scenarios):
    """Verdict on a made-up walk in scenarios with a name and a wanted speed [m/s] each."""
    settings = WalkSettings(duration=10.0, threads=1)
    parts = []
    for name, speed in scenarios:
        simulation = WalkSimulation(Walker.load("planar22"), settings)
        simulation.run = lambda X: walk()
        parts.append(Scenario(simulation, WalkObjective(weights={}, speed=speed, strides=3), name))
    problem = GaitProblem(parts)
    return judge_walk(problem, problem.parameters.start)


def test_criteria_of_several_scenarios_carry_their_names():
    names = [criterion.name for criterion in judged(("level", 1.25), ("uphill", 1.0)).criteria]
    assert sum(name.startswith("level: ") for name in names) == len(names) / 2
    assert sum(name.startswith("uphill: ") for name in names) == len(names) / 2
    alone = [criterion.name for criterion in judged(("level", 1.25)).criteria]
    assert [f"level: {name}" for name in alone] == names[: len(alone)]


def test_each_scenario_is_judged_by_its_own_speed():
    found = {c.name: c for c in judged(("level", 1.25), ("uphill", 1.0)).criteria}
    distances = {name.split(":")[0]: c for name, c in found.items() if "speed" in name}
    assert distances["level"].value < 1e-9 and distances["level"].met
    assert distances["uphill"].value > 0.2 and not distances["uphill"].met
