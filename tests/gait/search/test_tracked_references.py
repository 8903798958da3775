"""What is tracked: a reference for each speed, activations of their own file."""

import json

import numpy as np
import pytest
from given_configurations import FIRST_WALK, nominal_vector

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import Curve, WalkObjective, make_problem, read_norm
from trueup.gait.costs.reference import GaitReference
from trueup.gait.search.configuration import make_configuration

SCHWARTZ = "gait_norms/Schwartz2008.json"
EMG = "gait_norms/myoassist/ref_EMG.csv"
KINEMATICS = "gait_norms/myoassist/ref_kinematics_radians.csv"


def configured(**content):
    return make_configuration({"sim_time": 0.3, **content}, "test")


def reference(joints=("hip", "knee", "ankle"), emg=(), name="mine"):
    curve = Curve(0.2 * np.sin(np.arange(50) * 2 * np.pi / 50))
    activation = Curve(0.5 + 0.4 * np.sin(np.arange(50) * 2 * np.pi / 50))
    angles = dict.fromkeys(joints, curve)
    return GaitReference(name, 1.25, angles, dict.fromkeys(emg, activation))


def test_each_speed_tracks_its_own_reference(recorded_data):
    configuration = configured(
        optim_mode="multispeed",
        tgt_vel=[0.8, 1.5],
        reference=str(recorded_data / SCHWARTZ),
        reference_speed=["Slow", "Fast"],
    )
    names = [one.objective.reference.name for one in make_problem(configuration).scenarios]
    assert names == ["Schwartz2008 Slow", "Schwartz2008 Fast"]
    again = make_configuration(configuration.to_dict(), "again")
    assert again == configuration


def test_each_speed_may_have_a_file(tmp_path):
    for name in ("slow", "fast"):
        reference(name=name).save(tmp_path / f"{name}.json")
    files = [str(tmp_path / "slow.json"), str(tmp_path / "fast.json")]
    content = {"optim_mode": "multispeed", "tgt_vel": [0.8, 1.5], "tgt_slope": [0.0, 5.0]}
    problem = make_problem(configured(**content, reference=files))
    found = [(one.name, one.objective.reference.name) for one in problem.scenarios]
    assert found == [
        ("0.8 m/s, 0 deg", "slow"),
        ("0.8 m/s, 5 deg", "slow"),
        ("1.5 m/s, 0 deg", "fast"),
        ("1.5 m/s, 5 deg", "fast"),
    ]
    with pytest.raises(GaitError, match="reference has 2 values for 3 target speeds"):
        make_problem(configured(**{**content, "tgt_vel": [1.0, 1.2, 1.4]}, reference=files))


@pytest.mark.parametrize("mode", ["multispeed", "multislope"])
def test_several_speeds_and_slopes_are_one_objective(mode):
    configuration = configured(optim_mode=mode, tgt_vel=[1.0, 1.3], tgt_slope=[0, 5], cost="vel")
    assert configuration.conditions == [(1.0, 0.0), (1.0, 5.0), (1.3, 0.0), (1.3, 5.0)]
    problem = make_problem(configuration, threads=1)
    cost = problem.costs(problem.space.start[None])[0, 0]
    parts = [problem.terms[f"{scenario.name}.cost"][0] for scenario in problem.scenarios]
    assert cost == pytest.approx(np.mean(parts)) and len(set(parts)) == 4


def test_a_reference_that_lacks_a_joint_leaves_no_folder(capsys, tmp_path):
    reference(joints=("hip_flexion", "knee", "ankle")).save(tmp_path / "other.json")
    words = [
        "gait",
        "optimize",
        FIRST_WALK,
        "--cost",
        "kine",
        f"reference={tmp_path / 'other.json'}",
    ]
    words += ["--save-path", tmp_path / "run", "--popsize", "4", "--maxiter", "1"]
    code = main([*map(str, words), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == 2 and "has no 'hip'" in answer["message"] and "hip_flexion" in answer["message"]
    assert not (tmp_path / "run").exists()
    with pytest.raises(GaitError, match="has no 'ankle'"):
        WalkObjective(reference=reference(joints=("hip", "knee")))


def test_activations_of_no_muscle_group_are_refused(tmp_path):
    reference(emg=("SOL", "soleus")).save(tmp_path / "mine.json")
    content = {"cost": "vel_musc", "reference": str(tmp_path / "mine.json")}
    with pytest.raises(GaitError, match=r"activations of .soleus., but planar22 .*SOL"):
        make_problem(configured(**content))
    make_problem(configured(**{**content, "cost": "vel"}))  # nothing tracks them


@pytest.mark.parametrize("cost", ["vel_musc", "kine_grf_musc"])
def test_activations_of_myoassist_are_tracked(recorded_data, cost):
    content = {"cost": cost, "reference_emg": str(recorded_data / EMG)}
    if "kine" in cost:
        content["reference"] = str(recorded_data / KINEMATICS)
    (scenario,) = make_problem(configured(**content)).scenarios
    assert list(scenario.objective.reference.emg)[-1] == "TA"
    make_problem(configured(**content, compat="myoassist"))
    without = {key: value for key, value in content.items() if key != "reference_emg"}
    with pytest.raises(GaitError, match="reference_emg=FILE"):
        make_problem(configured(**without, compat="myoassist"))


def test_a_trunk_is_not_silently_compared_with_upright():
    """Only where nobody asked for the reference's trunk, which it has not."""
    bare, whole = reference(), reference(("hip", "knee", "ankle", "trunk"))
    weights = {"trunk": 20.0}
    with pytest.raises(GaitError, match=r"'mine' has 'hip', 'knee', 'ankle'.*zero_diff"):
        WalkObjective(weights, trunk="ref_diff", reference=bare)
    with pytest.raises(GaitError, match=r"there is no reference.*zero_diff"):
        WalkObjective(weights, trunk="ref_diff")
    assert WalkObjective(weights, reference=bare).trunk_kind == "zero_diff"
    for trunk in (None, "ref_diff"):
        assert WalkObjective(weights, reference=whole, trunk=trunk).trunk_kind == "ref_diff"
    # what weighs nothing is in nobody's way
    WalkObjective({}, trunk="ref_diff", reference=bare)


def test_what_the_trunk_is_compared_with_is_told(capsys, tmp_path):
    np.savetxt(tmp_path / "walk.txt", nominal_vector())
    reference().save(tmp_path / "bare.json")
    reference(("hip", "knee", "ankle", "trunk")).save(tmp_path / "whole.json")
    words = ["gait", "evaluate", str(tmp_path / "walk.txt"), "sim_time=0.1"]
    told = "The trunk is compared with upright: the reference has no trunk."
    for name, more, notes in (
        ("bare.json", [], [told]),
        ("bare.json", ["trunk_err_type=zero_diff"], []),
        ("bare.json", ["cost=eff"], []),
        ("whole.json", [], []),
        ("whole.json", ["trunk_err_type=ref_diff"], []),
    ):
        assert main([*words, f"reference={tmp_path / name}", *more, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["notes"] == notes
    chosen = [f"reference={tmp_path / 'bare.json'}", "trunk_err_type=ref_diff", "--json"]
    assert main([*words, *chosen]) == 2
    assert "requires a reference with a trunk" in json.loads(capsys.readouterr().out)["message"]
    page = tmp_path / "walk.html"
    assert main([*words, f"reference={tmp_path / 'bare.json'}", "--report", str(page)]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(("name", "told"), [("baseline", True), (FIRST_WALK, False)])
def test_the_report_of_a_run_tells_what_the_trunk_is_compared_with(tmp_path, name, told):
    """The configuration walk compares with upright, and says so itself."""
    reference().save(tmp_path / "bare.json")
    words = ["gait", "optimize", name, "-kine", f"reference={tmp_path / 'bare.json'!s}"]
    words += ["--sim-time", "0.1", "--popsize", "4", "--maxiter", "1", "--quiet"]
    assert main([*words, "--save-path", str(tmp_path / "run")]) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert ("The trunk is compared with upright: the reference has no trunk." in page) is told


def test_a_search_refuses_a_trunk_that_cannot_be_tracked_and_notes_another(capsys, tmp_path):
    reference().save(tmp_path / "bare.json")
    run = tmp_path / "run"
    words = ["gait", "optimize", "baseline", f"reference={tmp_path / 'bare.json'!s}"]
    words += ["--sim-time", "0.1", "--popsize", "4", "--maxiter", "1", "--quiet", "--json"]
    words += ["--save-path", str(run)]
    assert main([*words, "--trunk-err-type", "ref_diff"]) == 2
    assert "requires a reference with a trunk" in json.loads(capsys.readouterr().out)["message"]
    assert not run.exists()
    assert main(words) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert "The trunk is compared with upright: the reference has no trunk." in notes


def test_a_speed_without_norms_to_choose_from_is_refused(tmp_path):
    with pytest.raises(GaitError, match=r"reference_speed is Slow, but no reference is set"):
        make_configuration({"reference_speed": ["Slow"]}, "own.yaml")
    (tmp_path / "own.csv").write_text("x\n")
    with pytest.raises(
        GaitError, match=r"own\.csv has a single speed, but reference_speed is 'Slow'"
    ):
        read_norm(tmp_path / "own.csv", "Slow")
