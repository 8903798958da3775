"""Options of ``trueup gait optimize``: each one does what it says, with either spelling."""

import json
import pickle
import sqlite3

import numpy as np
import pytest

from trueup.cli import main
from trueup.cli.gait_optimize import _search, best_vector_file
from trueup.errors import FitError, GaitError
from trueup.gait import EarlyStoppingCmaEs, load_configuration, make_problem

SHORT = {"sim_time": 0.1, "cost": "vel", "delayed": False}


def configured(**changes):
    return load_configuration("tutorial").with_changes({**SHORT, **changes})


def problem_of(**changes):
    return make_problem(configured(**changes), threads=1)


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def optimized(capsys, target, *words):
    ahead = ("optimize", "tutorial", "--sim-time", 0.1, "-vel", "--delayed", 0, "--quiet")
    return called(capsys, *ahead, "--popsize", 4, "--maxiter", 1, "--save-path", target, *words)


def first_candidate(target):
    with sqlite3.connect(target / "study.sqlite") as connection:
        query = "SELECT x FROM evaluations WHERE generation = 0 AND candidate = 0"
        (blob,) = connection.execute(query).fetchone()
    return np.frombuffer(blob)


def test_a_fixed_exoskeleton_is_not_searched():
    """In the reference its four dimensions are searched without effect."""
    free, fixed = problem_of(ExoOn=True), problem_of(ExoOn=True, fixed_exo=True)
    exo = [entry.name for entry in free.parameters.entries if entry.group == "exoskeleton"]
    assert len(exo) == 4 and set(free.space.names) - set(fixed.space.names) == set(exo)
    points = {"ExoOn": True, "use_4param_spline": False, "n_points": 3}
    assert problem_of(**points).space.size - problem_of(**points, fixed_exo=True).space.size == 6


@pytest.mark.parametrize(("gain", "deviation"), [(10.0, 0.1), (2.5, 0.025)])
def test_the_first_deviation_is_a_hundredth_of_the_gain(gain, deviation):
    problem = problem_of(sigma_gain=gain)
    np.testing.assert_allclose(problem.space.deviation, deviation)


def test_the_exoskeleton_can_have_a_first_deviation_of_its_own():
    problem = problem_of(ExoOn=True, sigma_gain=1.0, exo_sigma_gain=10.0)
    is_exo = [name.startswith("exo_") for name in problem.space.names]
    assert sum(is_exo) == 4
    np.testing.assert_allclose(problem.space.deviation, np.where(is_exo, 0.1, 0.01))


def test_population_options_and_early_stop_reach_the_search():
    space = problem_of().space
    search = _search(configured(popsize=7, cma_options="maxfevals:20"), space)
    assert len(search.ask()) == 8  # the start goes along in the first generation
    assert type(_search(configured(early_stop=True), space)) is EarlyStoppingCmaEs
    with pytest.raises(FitError, match="tolfn"):
        _search(configured(cma_options="tolfn:1"), space)


def test_perturbed_repeats_reach_the_problem():
    changes = {"perturbed_repeats": 3, "perturbed_cost": "worst", "perturbation_seed": 5}
    repeats = problem_of(**changes, perturbation_sizes={"push": 10.0}).perturbations
    assert (repeats.repeats, repeats.judged_by, repeats.seed) == (3, "worst", 5)
    assert repeats.sizes.push == 10.0 and repeats.sizes.angle > 0.0
    assert problem_of().perturbations is None
    with pytest.raises(GaitError, match=r"no perturbations 'pussh'.*Did you mean 'push'"):
        problem_of(perturbation_sizes={"pussh": 1.0})


def test_a_vector_is_a_start_from_a_file_or_a_folder(capsys, tmp_path):
    """Best is taken before BestLast, and the exoskeleton's entries are kept."""
    problem = problem_of(ExoOn=True)
    best = problem.parameters.start.copy()
    best[-4:] = (0.31, 0.41, 0.51, 0.21)
    folder = tmp_path / "earlier"
    folder.mkdir()
    np.savetxt(folder / "walk_BestLast.txt", problem.parameters.start)
    np.savetxt(folder / "walk_Best.txt", best)
    assert best_vector_file(folder).name == "walk_Best.txt"
    for source, target in ((folder, tmp_path / "a"), (folder / "walk_Best.txt", tmp_path / "b")):
        assert optimized(capsys, target, "--param_path", source, "--ExoOn", 1)[0] == 0
        np.testing.assert_allclose(first_candidate(target)[-4:], best[-4:], atol=1e-12)


def test_a_pickle_is_never_read(capsys, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "Pickle.pkl").write_bytes(pickle.dumps(Harmful()))
    (tmp_path / "run").mkdir()
    for path in (folder, folder / "Pickle.pkl"):
        words = ("optimize", "tutorial", "--pickle_path", path)
        code, answer = called(capsys, *words)
        assert code == 2 and "--param-path" in answer["message"]
    assert not (tmp_path / "ran").exists()


def test_a_run_goes_on_by_its_former_name(capsys, tmp_path):
    target = tmp_path / "run"
    assert optimized(capsys, target, "--tgt-vel", 3)[0] == 0
    words = ("optimize", "tutorial", "--pickle_path", target, "--maxiter", 2, "--quiet")
    code, answer = called(capsys, *words)
    assert code == 0 and answer["stats"]["generations"] == 2


def test_the_mode_evaluate_evaluates(capsys, tmp_path):
    path = tmp_path / "walk_Best.txt"
    np.savetxt(path, problem_of(ExoOn=True).parameters.start)
    words = ("optimize", "tutorial", "-vel", "--sim_time", 0.1, "--delayed", 0)
    words = (*words, "--optim_mode", "evaluate")
    code, answer = called(capsys, *words, "--param_path", path)
    assert code == 0 and {"scalar", "walked_m", "fell"} <= set(answer)
    words = ("evaluate", path, "--config", "tutorial", "-vel", "--sim_time", 0.1)
    assert called(capsys, *words, "--delayed", 0)[1]["scalar"] == answer["scalar"]
    code, survived = called(capsys, *words, "--delayed", 0, "--perturbations", 3)
    (found,) = survived["survival"].values()
    assert code == 0 and found["perturbations"] == 3 and len(found["lasted_s"]) == 3


UNDERSCORED = (
    ("--musc_model", 22),
    ("--sim_time", 0.1),
    ("--pose_key", "walk_right"),
    ("--num_strides", 2),
    ("--delayed", 0),
    ("--reflex_mode", "ind"),
    ("--tgt_vel", 1.0, 1.2),
    ("--tgt_slope", 0),
    ("--optim_mode", "multispeed"),
    ("--trunk_err_type", "zero_diff"),
    ("--tgt_sym_th", 0.2),
    ("--tgt_grf_th", 1.2),
    ("--ExoOn", 1),
    ("--use_4param_spline",),
    ("--n_points", 3),
    ("--max_torque", 20),
    ("--fixed_exo",),
    ("--popsize", 4),
    ("--maxiter", 1),
    ("--threads", 1),
    ("--sigma_gain", 5),
    ("--exo_sigma_gain", 8),
    ("--cma_options", "tolfun:1e-9"),
    ("--save_path", "runs/all"),
    ("--perturbed_repeats", 2),
    ("--perturbed_cost", "worst"),
    ("--early_stop", 1),
)


@pytest.mark.parametrize("dashed", [False, True])
def test_every_name_with_underscores_and_dashes(capsys, tmp_path, monkeypatch, dashed):
    monkeypatch.chdir(tmp_path)
    words = [word for option in UNDERSCORED for word in option]
    if dashed:
        words = [str(word).replace("_", "-") if str(word)[:2] == "--" else word for word in words]
    code, answer = called(capsys, "optimize", "debug", "-vel", "--quiet", *words)
    assert code == 0 and (tmp_path / "runs/all/run.json").is_file()
    assert {"1 m/s, 0 deg.cost", "1.2 m/s, 0 deg.cost"} <= set(answer["terms"])
    assert not any(row["name"].startswith("exo") for row in answer["parameters"])


def test_points_are_meant_where_their_number_is_given(capsys, tmp_path):
    """Without a word on the spline; the four parameters of a configuration are then left."""
    path = tmp_path / "walk.txt"
    np.savetxt(path, problem_of(ExoOn=True, use_4param_spline=False, n_points=3).parameters.start)
    words = ("evaluate", path, "--model-file", "planar22", "--exo", 1, "--sim-time", 0.05)
    code, _ = called(capsys, *words, "--n-points", 3)
    assert code == 0
    code, answer = called(capsys, *words)
    assert code == 2 and "4 exoskeleton" in answer["message"]
