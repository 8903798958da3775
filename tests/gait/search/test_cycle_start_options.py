"""The keys ``start_in_cycle`` and ``joint_speeds`` of ``trueup gait optimize``."""

import json

import pytest
import yaml
from given_configurations import SPARING

from trueup.cli import main
from trueup.gait import make_problem
from trueup.gait.search.earlier_runs import configuration_of_run
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.gait.search.starts import start_of
from trueup.runs import RunDirectory

SMALL = "perturbation_sizes=noise:0.0005,angle:0.05"

SHORT = [
    SPARING, "--sim-time", "2.5", "--num-strides", "1",
    "perturbed_repeats=2", SMALL, "--popsize", "4", "--maxiter", "1", "--sigma-gain", "0.1",
]  # fmt: skip

BRIEF = [SPARING, "--sim-time", "0.3", "--popsize", "4", "--maxiter", "1"]
"""A search of which only the configuration is looked at."""


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def optimized(capsys, target, *words):
    return called(capsys, "optimize", *SHORT, "--quiet", "--save-path", target, *words)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that starts in the cycle of a walk."""
    target = tmp_path_factory.mktemp("cycle") / "run"
    words = ["--param-path", str(SHIPPED_WALK), "start_in_cycle=1", "--save-path", str(target)]
    assert main(["gait", "optimize", *SHORT, *words, "--quiet", "--json"]) == 0
    return target


def test_a_run_starts_in_the_cycle(begun):
    configuration = configuration_of_run(RunDirectory.open(begun))
    assert configuration.start_in_cycle
    speeds = configuration.joint_speeds
    assert speeds is not None and set(speeds) >= {"knee_angle_r", "hip_flexion_l", "pelvis_ty"}
    assert max(map(abs, speeds.values())) > 2.0
    problem = make_problem(configuration, threads=1)
    assert problem.scenarios[0].simulation.settings.joint_speeds == speeds
    space, notes = start_of(configuration, problem)
    assert any("from the state of that walk" in note for note in notes)
    given = json.loads(SHIPPED_WALK.read_text())["parameters"]
    names = list(problem.parameters.names)
    start = problem.parameters.complete(space.start[None])[0]
    assert start[names.index("1_SOL_FG")] == given["1_SOL_FG"]
    assert start[names.index("knee_angle_r")] != given["knee_angle_r"]


def test_it_resumes_and_is_evaluated_as_it_was_searched(begun, capsys):
    solution = json.loads((begun / "solution.json").read_text())
    code, walked = called(capsys, "evaluate", begun)
    assert code == 0 and not walked["fell"]
    # the result is chosen, and told, over perturbations that no candidate was scored by
    assert "candidates and means of the last generations" in solution["message"]
    assert walked["effort"] == pytest.approx(solution["terms"]["effort"], rel=1e-12)
    code, walked = called(capsys, "evaluate", begun, "perturbed_repeats=2")
    (best,) = begun.glob("*_Best.txt")
    speeds = configuration_of_run(RunDirectory.open(begun)).joint_speeds or {}
    pairs = ",".join(f"{name}:{speed}" for name, speed in speeds.items())
    as_searched = ("--config", SPARING, "sim_time=2.5", SMALL)
    code, same = called(capsys, "evaluate", best, *as_searched, "num_strides=1",
                        "perturbed_repeats=2", f"joint_speeds={pairs}")  # fmt: skip
    assert code == 0 and same["effort"] == walked["effort"]
    code, _ = called(capsys, "optimize", SPARING, "--save-path", begun, "--resume",
                     "--maxiter", 2, "--quiet")  # fmt: skip
    assert code == 0


def test_the_resolved_configuration_alone_starts_the_same(begun, capsys, tmp_path):
    resolved = configuration_of_run(RunDirectory.open(begun))
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(resolved.to_dict()))
    words = ("optimize", tmp_path / "again.yaml", "--save-path", tmp_path / "run", "--quiet")
    assert called(capsys, *words)[0] == 0
    assert configuration_of_run(RunDirectory.open(tmp_path / "run")) == resolved


def test_a_search_that_goes_on_from_it_takes_its_speeds_over(begun, capsys, tmp_path):
    def searched(name, *words):
        ahead = ("optimize", *BRIEF, "--quiet", "--param-path", begun)
        assert called(capsys, *ahead, "--save-path", tmp_path / name, *words)[0] == 0
        return configuration_of_run(RunDirectory.open(tmp_path / name))

    found = searched("next")
    former = configuration_of_run(RunDirectory.open(begun))
    assert found.joint_speeds == former.joint_speeds and not found.start_in_cycle
    own = searched("own", "joint_speeds=knee_angle_r:-5")
    assert own.joint_speeds == {"knee_angle_r": -5.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("start_in_cycle=1",), "set it with --param-path"),
        (("joint_speeds=knee:1",), "unknown joint 'knee'"),
        (
            ("start_in_cycle=1", "--param-path", SHIPPED_WALK, "joint_speeds=knee_angle_r:1"),
            "remove it, or joint_speeds",
        ),
        (
            ("start_in_cycle=1", "--param-path", SHIPPED_WALK, "--tgt-slope", -20),
            "a walk without a fall",
        ),
    ],
)
def test_starts_that_cannot_be(words, message, capsys, tmp_path):
    code, answer = optimized(capsys, tmp_path / "run", *words)
    assert code == 2 and message in answer["message"]
    assert not (tmp_path / "run").exists()
