"""Names in ``held``, ``moved`` and ``start_values``: what they mean with other devices and legs."""

import json
import re

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK, WITH_DEVICE

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import load_configuration, make_problem

SHORT = ("--popsize", 4, "--maxiter", 1, "--sim-time", 0.1, "--quiet")
CURVE = ("exo_peak", "exo_rise", "exo_peak_time", "exo_fall")
LEFT_OUT = "'exo_peak', 'exo_rise', 'exo_peak_time', 'exo_fall'"


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def sparing(capsys, target, *words):
    """A short search of ``walk_sparing_device`` over two repeats."""
    repeats = ("perturbed_repeats=2", "fresh_perturbations=0")
    ahead = ("optimize", WITH_DEVICE, *SHORT, *repeats, "--save-path", target)
    return called(capsys, *ahead, *words)


def experiment_of(folder):
    return yaml.safe_load((folder / "experiment.yaml").read_text())


def best_of(folder):
    return np.loadtxt(next(folder.glob("*_Best.txt")))


def problem_of(**changes):
    return make_problem(load_configuration(FIRST_WALK).with_changes(changes), threads=1)


@pytest.fixture
def file(tmp_path):
    """A vector of a walk with a device."""
    parameters = problem_of(ExoOn=True).parameters
    values = parameters.start + 0.01
    values[parameters.group("exoskeleton")] = (0.3, 0.2, 0.5, 0.2)
    np.savetxt(tmp_path / "walk.txt", values)
    return tmp_path / "walk.txt"


def test_the_name_of_a_gain_means_that_of_both_legs():
    changes = {"reflex_mode": "ind", "moved": ("1_SOL_FG",), "held": {"C_d": 1.1, "C_d_l": 1.2}}
    problem = problem_of(**changes)
    assert set(problem.space.names) == {"1_SOL_FG_r", "1_SOL_FG_l"}
    entries = {entry.name: entry for entry in problem.parameters.entries}
    assert (entries["C_d_r"].start, entries["C_d_l"].start) == (1.1, 1.2)
    with pytest.raises(GaitError, match=r"'1_SOL_FG_r', '1_SOL_FG_l' is in both moved and held"):
        problem_of(**{**changes, "held": {"1_SOL_FG": 1.1}})


def test_a_configuration_for_both_legs_holds_for_gains_of_each(capsys, tmp_path, file):
    words = ("--param-path", file, "--reflex-mode", "ind", "start_values=5_TA_PG:1.3")
    assert sparing(capsys, tmp_path / "run", *words)[0] == 0
    start = experiment_of(tmp_path / "run")["start"]
    assert len(start) == 2 * 9 + 4
    assert start["5_TA_PG_r"] == start["5_TA_PG_l"] == 1.3
    # what was held for both legs is part of what another search starts from
    words = ("--param-path", file, "held=C_d:1.4", "--reflex-mode", "ind")
    assert sparing(capsys, tmp_path / "held", *words)[0] == 0
    words = ("--param-path", tmp_path / "held", "--reflex-mode", "ind")
    code, _ = called(
        capsys, "optimize", FIRST_WALK, *SHORT, *words, "--ExoOn", 1, "--save-path", tmp_path / "on"
    )
    start = experiment_of(tmp_path / "on")["start"]
    assert code == 0 and start["C_d_r"] == start["C_d_l"] == 1.4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--n-points", 3), r"start_values: 'exo_peak' is not an entry of this torque curve"),
        (("--n-points", 3), "'exo_torque_2', 'exo_time_0', 'exo_time_1', 'exo_time_2'. Use"),
        (("--n-points", 3), "start_values=none"),
        (
            ("held=exo_torque_1:0.2",),
            "held: 'exo_torque_1' is not an entry of this torque curve",
        ),
        (("moved=exo_time_1",), "moved: 'exo_time_1' is not an entry of this torque curve"),
        (("held=1_SOL:1",), "held: the parameter vector has no entry '1_SOL'"),
        (("start_values=1_SOL:1",), "start_values: the parameter vector has no entry"),
        (("start_values=1_SOL_FG:-1",), "start_values: the initial value of '1_SOL_FG' is"),
        (("moved=exo",), "moved: unknown group 'exo'; groups: 'gain', 'pose'"),
        (("moved=gains",), "Did you mean 'gain'"),
        (("start_values=7_BFSH_PG:0.5",), "it is not used here: remove it"),
        (("held=exo_peak:0.2",), "'exo_peak' is in both moved and held"),
    ],
)
def test_a_wrong_name_is_told_with_where_it_stands(capsys, tmp_path, words, told):
    code, answer = sparing(capsys, tmp_path / "run", *words)
    assert code == 2 and told in answer["message"]
    assert not (tmp_path / "run").exists()


def test_a_curve_of_points_is_started_by_its_own_names_or_none(capsys, tmp_path, file):
    points, bare = tmp_path / "points", tmp_path / "bare"
    words = ("--param-path", file, "--n-points", 3)
    assert sparing(capsys, points, *words, "start_values=exo_torque_1:0.06")[0] == 0
    assert experiment_of(points)["start"]["exo_torque_1"] == 0.06
    assert sparing(capsys, bare, *words, "start_values=none")[0] == 0
    assert experiment_of(bare)["start"]["exo_torque_1"] == 0.5


def test_a_fixed_exoskeleton_is_neither_moved_nor_started(capsys, tmp_path, file):
    run = tmp_path / "run"
    assert sparing(capsys, run, "--fixed-exo", "--param-path", file)[0] == 0
    assert len(experiment_of(run)["start"]) == 9
    np.testing.assert_array_equal(best_of(run)[-4:], (0.3, 0.2, 0.5, 0.2))
    told = f"The exoskeleton is fixed: {LEFT_OUT} in start_values has no effect"
    assert any(note.startswith(told) for note in experiment_of(run)["notes"])
    words = ("--fixed-exo", "moved=gain", "--param-path", file, "held=exo_peak:0.1")
    assert sparing(capsys, tmp_path / "gains", *words)[0] == 0
    np.testing.assert_array_equal(best_of(tmp_path / "gains")[-4:], (0.1, 0.2, 0.5, 0.2))


@pytest.mark.parametrize(
    "words",
    [
        ("start_values=exo_peak:7",),
        ("start_values=exo_torque_0:0.2",),
        ("held=exo_peak:0.2", "start_values=none"),
        ("moved=theta_tgt,exo_peak", "start_values=none"),
    ],
)
def test_a_curve_says_nothing_without_an_exoskeleton(capsys, tmp_path, file, words):
    run, second = tmp_path / "run", tmp_path / "second"
    without = ("--model", "baseline", "--ExoOn", 0, "--param-path", file)
    assert sparing(capsys, run, *without, *words)[0] == 0
    (note,) = [line for line in experiment_of(run)["notes"] if line.startswith("No exosk")]
    name = re.search("exo_[a-z0-9_]+", " ".join(words)).group()
    assert note == f"No exoskeleton is on: {name!r} has no effect."
    assert called(capsys, "evaluate", run)[0] == 0
    # nor to a search with one that goes on from there
    words = ("--ExoOn", 1, "--param-path", run, "--save-path", second)
    assert called(capsys, "optimize", FIRST_WALK, *SHORT, *words)[0] == 0
    assert experiment_of(second)["start"]["exo_peak"] == 0.5


def test_what_is_not_moved_counts_among_what_comes_from_the_path(capsys, tmp_path, file):
    problem = problem_of(ExoOn=True)
    run = tmp_path / "run"
    words = ("--param-path", file, "held=Tr_Sw:0.7")
    assert sparing(capsys, run, *words)[0] == 0
    # the curve has start values of its own, and one entry is held
    count = problem.space.size - len(CURVE) - 1
    assert experiment_of(run)["notes"] == [
        f"{count} start values come from {file}.",
        "13 entries are optimised, the others are fixed.",
    ]


def test_what_is_not_moved_and_not_in_the_file_is_told(capsys, tmp_path):
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"C_d": 1.2, "knee_angle_r": 1.1, "1_VAS_FG": 0.9}))
    run = tmp_path / "run"
    words = ("--param-path", path, "moved=theta_tgt", "held=1_VAS_FG:1.1")
    assert sparing(capsys, run, *words)[0] == 0
    notes = experiment_of(run)["notes"]
    assert notes[0] == f"2 start values come from {path}."
    assert "'theta_tgt', 'alpha_0'" in notes[1] and "at their default" in notes[1]
    names = problem_of().parameters.names
    best = best_of(run)
    found = [best[names.index(name)] for name in ("C_d", "knee_angle_r", "1_VAS_FG")]
    assert found == [1.2, 1.1, 1.1]


def test_it_is_told_that_what_is_not_moved_stays_nominal(capsys, tmp_path):
    assert sparing(capsys, tmp_path / "run")[0] == 0
    (note,) = experiment_of(tmp_path / "run")["notes"]
    assert note.startswith("Fixed entries have their nominal values")


@pytest.mark.parametrize("moved", ["all", "gain"])
def test_the_experiment_of_a_run_moves_no_others(capsys, tmp_path, file, moved):
    run = tmp_path / "run"
    assert sparing(capsys, run, "--param-path", file)[0] == 0
    words = ("optimize", run / "experiment.yaml", "--save-path", tmp_path / "other")
    code, answer = called(capsys, *words, f"moved={moved}")
    assert code == 2 and "use the original configuration" in answer["message"]
