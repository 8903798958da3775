"""Options of ``trueup gait optimize``: each one does what it says, with either spelling."""

import json
import pickle
import re
import sqlite3

import numpy as np
import pytest
from given_configurations import FIRST_WALK, nominal_vector

from trueup.cli import main
from trueup.cli.settings import settings_of
from trueup.errors import FitError, GaitError
from trueup.fitting.searches.random import ScatterSearch
from trueup.gait import EarlyStoppingCmaEs, GaitConfiguration, load_configuration, make_problem
from trueup.gait.costs.stages import PRESETS
from trueup.gait.costs.terms import TERMS
from trueup.gait.search.earlier_runs import best_vector_file, configuration_of_run
from trueup.gait.search.searches import SCATTERED, make_search
from trueup.runs import RunDirectory

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


def test_gains_of_the_frontal_plane_can_have_a_first_deviation_of_their_own():
    for mode in ("uni", "ind"):
        changes = {"frontal_sigma_gain": 20.0, "sigma_gain": 3.0, "reflex_mode": mode}
        configuration = load_configuration("walk3d").with_changes(changes)
        space = make_problem(configuration.staged[0][1], threads=1).space
        wide = [name for name, one in zip(space.names, space.deviation, strict=True) if one == 0.2]
        assert len(wide) == (14 if mode == "uni" else 28)
        assert all("HAB" in name or "HAD" in name or "_f" in name for name in wide)
        assert sum(space.deviation == 0.03) == space.size - len(wide)
    with pytest.raises(GaitError, match="this one is planar"):
        problem_of(frontal_sigma_gain=5.0)


def test_population_options_and_early_stop_reach_the_search():
    space = problem_of().space
    search = make_search(configured(popsize=7, cma_options="maxfevals:20"), space)
    assert len(search.ask()) == 8  # the start goes along in the first generation
    assert type(make_search(configured(early_stop=True), space)) is EarlyStoppingCmaEs
    with pytest.raises(FitError, match="tolfn"):
        make_search(configured(cma_options="tolfn:1"), space)


def test_a_tolerance_of_the_speed_reaches_the_cost():
    assert problem_of().scenarios[0].objective.speed_tolerance == 0.0
    assert problem_of(tgt_vel_tol=0.05).scenarios[0].objective.speed_tolerance == 0.05
    with pytest.raises(GaitError, match="tgt_vel_tol is not supported"):
        problem_of(compat="myoassist", cost="eff", tgt_vel_tol=0.05)


def test_a_scatter_draws_around_the_start_with_the_gain_as_its_deviation():
    problem = problem_of(ExoOn=True, sigma_gain=40.0, exo_sigma_gain=10.0)
    search = make_search(
        configured(search="scatter", maxiter=3, seed=2, popsize=None), problem.space
    )
    assert type(search) is ScatterSearch
    X = search.ask()
    np.testing.assert_array_equal(X[0], problem.space.start)
    assert len(X) == SCATTERED
    inside = (X[1:] > problem.space.lower) & (X[1:] < problem.space.upper)
    steps = np.where(inside, X[1:] - problem.space.start, np.nan)
    free = inside.all(axis=0)  # of the others some end on a bound
    spread = np.nanstd(steps, axis=0) / problem.space.deviation
    assert free.sum() > 5 and np.abs(spread[free] - 1.0).max() < 0.3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"early_stop": True, "maxiter": 2}, "'early_stop' only applies to the search 'cmaes'"),
        (
            {"cma_options": "tolx:1", "maxiter": 2},
            "'cma_options' only applies to the search 'cmaes'",
        ),
        ({}, "no termination criterion: set maxiter"),
    ],
)
def test_what_a_scatter_has_not_is_refused(changes, words):
    space = problem_of().space
    changes = {"maxiter": None, **changes}
    with pytest.raises(GaitError, match=words):
        make_search(configured(search="scatter", **changes), space)


def test_a_scatter_goes_on_where_it_was_interrupted(capsys, tmp_path):
    words = ("search=scatter", "--popsize", 5, "--seed", 3)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    code, answer = optimized(capsys, whole, *words, "--maxiter", 3)
    assert code == 0 and answer["stats"]["evaluations"] == 15
    assert optimized(capsys, parts, *words, "--maxiter", 1)[0] == 0
    code, other = called(capsys, "optimize", "tutorial", "--save-path", parts, "--resume",
                         "--maxiter", 3, "--quiet")  # fmt: skip
    assert code == 0 and other["cost"] == answer["cost"]
    assert other["parameters"] == answer["parameters"]
    best = np.loadtxt(next(whole.glob("*_Best.txt")))
    code, _ = optimized(capsys, tmp_path / "on", "--param-path", whole)
    assert code == 0
    best = best[problem_of(ExoOn=True).parameters.free]
    np.testing.assert_allclose(first_candidate(tmp_path / "on"), best, atol=1e-12)


def test_perturbed_repeats_reach_the_problem():
    changes = {"perturbed_repeats": 3, "perturbed_cost": "worst", "perturbation_seed": 5}
    repeats = problem_of(**changes, perturbation_sizes={"push": 10.0}).perturbations
    assert (repeats.repeats, repeats.judged_by, repeats.seed) == (3, "worst", 5)
    assert repeats.sizes.push == 10.0 and repeats.sizes.angle > 0.0
    assert problem_of().perturbations is None and not repeats.first_unperturbed
    assert problem_of(**changes, unperturbed_repeat=True).perturbations.first_unperturbed
    aimless = {"perturbed_cost": "worst", "perturbation_seed": 5, "unperturbed_repeat": True}
    for name, value in aimless.items():
        with pytest.raises(
            GaitError, match=f"^'?{name}.*requires perturbed repeats: set perturbed_repeats"
        ):
            problem_of(**{name: value})
    with pytest.raises(GaitError, match=r"unknown perturbations 'pussh'.*Did you mean 'push'"):
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


def test_a_walk_with_a_device_starts_one_without(capsys, tmp_path):
    """Its gains are taken, and what is left of it is told."""
    bare = problem_of(ExoOn=False)
    vector = problem_of(ExoOn=True).parameters.start
    vector[0] = 0.87
    np.savetxt(tmp_path / "walk.txt", vector)
    words = ("--ExoOn", 0, "--param-path", tmp_path / "walk.txt")
    code, answer = optimized(capsys, tmp_path / "run", *words)
    assert code == 0
    start = vector[:-4][bare.parameters.free]
    np.testing.assert_allclose(first_candidate(tmp_path / "run"), start, atol=1e-12)
    assert any("exo_peak" in sentence for sentence in answer["notes"])


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
    words = (*words, "optim_mode=evaluate")
    code, answer = called(capsys, *words, "--param_path", path)
    assert code == 0 and {"scalar", "walked_m", "fell"} <= set(answer)
    words = ("evaluate", path, "--config", "tutorial", "cost=vel", "sim_time=0.1")
    assert called(capsys, *words, "delayed=0")[1]["scalar"] == answer["scalar"]
    code, survived = called(capsys, *words, "delayed=0", "--perturbations", 3)
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
    ("tgt_vel_tol=0.05",),
    ("--tgt_slope", 0),
    ("--optim_mode", "multispeed"),
    ("--trunk_err_type", "zero_diff"),
    ("--tgt_sym_th", 0.2),
    ("--tgt_grf_th", 1.2),
    ("--ExoOn", 1),
    ("--max_torque", 20),
    ("--fixed_exo",),
    ("held=vel_pelvis_tx:0.9",),
    ("moved=gain,knee_angle_r",),
    ("start_values=knee_angle_r:1.1",),
    ("perturbation_sizes=push:10",),
    ("--popsize", 4),
    ("--maxiter", 1),
    ("--threads", 1),
    ("--sigma_gain", 5),
    ("exo_sigma_gain=8",),
    ("--cma_options", "tolfun:1e-9"),
    ("--save_path", "runs/all"),
    ("perturbed_repeats=2",),
    ("unperturbed_repeat=1",),
    ("perturbed_cost=worst",),
    ("fresh_perturbations=0",),
    ("early_stop=1",),
)


@pytest.mark.parametrize("curve", [("--use_4param_spline",), ("--n_points", 3)])
@pytest.mark.parametrize("dashed", [False, True])
def test_every_name_with_underscores_and_dashes(capsys, tmp_path, monkeypatch, dashed, curve):
    monkeypatch.chdir(tmp_path)
    words = [word for option in (*UNDERSCORED, curve) for word in option]
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
    words = ("evaluate", path, "model_file=planar22", "ExoOn=1", "sim_time=0.05")
    code, _ = called(capsys, *words, "n_points=3")
    assert code == 0
    code, answer = called(capsys, *words)
    assert code == 2 and "4 exoskeleton" in answer["message"]


def test_a_fixed_exoskeleton_is_that_of_the_vector_to_start_from(capsys, tmp_path):
    """Held at the curve of the file, also where the run is resumed and evaluated."""
    vector = problem_of(ExoOn=True).parameters.start.copy()
    vector[-4:] = (0.31, 0.41, 0.51, 0.21)
    np.savetxt(tmp_path / "walk_Best.txt", vector)
    words = ("--ExoOn", 1, "--fixed-exo", "--param-path", tmp_path / "walk_Best.txt")
    assert optimized(capsys, tmp_path / "run", *words)[0] == 0
    resumed = ("--save-path", tmp_path / "run", "--resume", "--maxiter", 2, "--quiet")
    code, answer = called(capsys, "optimize", "tutorial", *resumed)
    assert code == 0 and not any(row["name"].startswith("exo") for row in answer["parameters"])
    best = np.loadtxt(next((tmp_path / "run").glob("*_Best.txt")))
    np.testing.assert_allclose(best[-4:], vector[-4:], atol=1e-12)
    (tmp_path / "walk_Best.txt").unlink()
    code, walked = called(capsys, "evaluate", tmp_path / "run")
    assert code == 0 and walked["scalar"] == pytest.approx(answer["cost"], rel=1e-12)


def test_what_a_run_held_is_part_of_what_another_one_starts_from(capsys, tmp_path):
    vector = problem_of(ExoOn=True).parameters.start.copy()
    vector[-4:] = (0.31, 0.41, 0.51, 0.21)
    np.savetxt(tmp_path / "walk_Best.txt", vector)
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    words = ("--ExoOn", 1, "--param-path")
    held = (*words, tmp_path / "walk_Best.txt", "--fixed-exo")
    assert optimized(capsys, first, *held)[0] == 0
    assert optimized(capsys, second, *words, first)[0] == 0
    np.testing.assert_allclose(first_candidate(second)[-4:], vector[-4:], atol=1e-12)
    assert optimized(capsys, third, *words, first, "--fixed-exo")[0] == 0
    best = np.loadtxt(next(third.glob("*_Best.txt")))
    np.testing.assert_allclose(best[-4:], vector[-4:], atol=1e-12)


def test_a_fixed_exoskeleton_of_a_vector_without_one_has_its_defaults(capsys, tmp_path):
    np.savetxt(tmp_path / "walk.txt", nominal_vector())
    words = ("--ExoOn", 1, "--fixed-exo", "--param-path", tmp_path / "walk.txt")
    assert optimized(capsys, tmp_path / "run", *words)[0] == 0
    best = np.loadtxt(next((tmp_path / "run").glob("*_Best.txt")))
    np.testing.assert_array_equal(best[-4:], problem_of(ExoOn=True).parameters.start[-4:])


def test_entries_can_be_held():
    free, held = problem_of(), problem_of(held={"1_SOL_FG": 1.1, "Tr_Sw": 0.7})
    assert set(free.space.names) - set(held.space.names) == {"1_SOL_FG", "Tr_Sw"}
    assert len(held.space.deviation) == held.space.size
    whole = held.parameters.complete(held.space.start[None])[0]
    at = [held.parameters.index(name) for name in ("1_SOL_FG", "Tr_Sw")]
    np.testing.assert_array_equal(whole[at], [1.1, 0.7])


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"1_SOL": 1.0}, "no entry '1_SOL'.*Did you mean"),
        ({"1_SOL_FG": -1.0}, "must be from 0.1 to"),
    ],
)
def test_entries_that_cannot_be_held_are_refused(held, words):
    with pytest.raises(GaitError, match=words):
        problem_of(held=held)


def test_entries_are_held_by_an_option(capsys, tmp_path):
    held = ("held=Tr_Sw:0.7,1_SOL_FG:1.1",)
    assert optimized(capsys, tmp_path / "run", *held)[0] == 0
    names = problem_of().parameters.names
    best = np.loadtxt(next((tmp_path / "run").glob("*_Best.txt")))
    assert (best[names.index("Tr_Sw")], best[names.index("1_SOL_FG")]) == (0.7, 1.1)


def searched(capsys, tmp_path, *words):
    """Exit code and configuration of a run of ``walk``, or what was wrong."""
    short = ("--sim-time", 0.05, "--popsize", 4, "--maxiter", 1, "--quiet", "--save-path")
    code, answer = called(capsys, "optimize", FIRST_WALK, *short, tmp_path / "run", *words)
    if code:
        return code, answer["message"]
    return code, configuration_of_run(RunDirectory.open(tmp_path / "run"))


def test_a_kind_of_cost_replaces_the_weights_of_a_configuration(capsys, tmp_path):
    """``walk`` has weights; asked for -eff, it was searched with them all the same."""
    assert load_configuration(FIRST_WALK).weights is not None
    code, found = searched(capsys, tmp_path, "-eff")
    assert code == 0 and found.weights is None
    scenario = make_problem(found, threads=1).scenarios[0]
    assert scenario.objective.weights == PRESETS["-eff"]
    code, message = searched(capsys, tmp_path, "compat=myoassist", "--overwrite")
    assert code == 2 and "weights are not supported" in message


def test_weights_and_sizes_by_options(capsys, tmp_path):
    words = ("weights=effort:300,velocity:50", "perturbed_repeats=2")
    code, found = searched(capsys, tmp_path, *words, "perturbation_sizes=push:0,angle:0.5")
    assert code == 0 and found.weights == {"effort": 300.0, "velocity": 50.0}
    assert found.perturbation_sizes == {"push": 0.0, "angle": 0.5}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("held=Tr_Sw:0.7,Tr_Sw:0.8",), "held gives 'Tr_Sw' twice"),
        (("held=Tr_S:0.7",), "no entry 'Tr_S'"),
        (("weights=efort:1",), "unknown cost term 'efort'"),
        (("weights=effort:-1",), "must not be negative"),
        (("weights=effort:1", "-eff"), "has its own weights"),
        (("perturbation_sizes=pus:1",), "unknown perturbations 'pus'"),
        (("perturbation_sizes=push:1,push:2",), "perturbation_sizes gives 'push' twice"),
        (("unperturbed_repeat=1",), "requires perturbed repeats: set perturbed_repeats"),
        (("--n-points", 6, "--use-4param-spline"), "has four parameters or 6 points"),
        (("moved=",), "moved requires a value"),
        (("weights=",), "weights requires a value"),
        (("--tgt-vel",), "--speed requires a value"),
        (("moved=gain", "moved=pose"), "moved is given twice"),
        (("start_values=Tr_Sw:1", "start-values=C_d:1"), "start_values is given twice"),
        (("--tgt-vel", 1, "tgt_vel=1.2"), "tgt_vel is given twice"),
        (("held=Tr_Sw",), "expected values by name, as in held=first:1.5,second:2"),
        (("tgt_vel_tol=fast",), "tgt_vel_tol: Input should be a valid number"),
        (("movd=gain",), "unknown key 'movd'"),
        (("--moved", "gain"), "has no option --moved; give it as moved=VALUE"),
        (("-eff", "-vel"), "costs 'eff', 'vel' exclude each other"),
        (("says=nothing",), "says is not supported by this command"),
        (("moved=all,gain",), "'all' already includes every entry"),
    ],
)
def test_wrong_pairs_leave_nothing_behind(capsys, tmp_path, words, message):
    code, said = searched(capsys, tmp_path, *words)
    assert code == 2 and message in said
    assert not (tmp_path / "run").exists()


GIVEN = {
    "musc_model": (26, "26"),
    "model": ("hip", "hip"),
    "model_file": ("planar22", "planar22"),
    "controller": ("/mine.yaml", "/mine.yaml"),
    "sim_time": (0.25, "0.25"),
    "pose_key": ("walk_right", "walk_right"),
    "num_strides": (3, "3"),
    "delayed": (False, "0"),
    "optim_mode": ("multispeed", "multispeed"),
    "reflex_mode": ("ind", "ind"),
    "tgt_vel": ((0.8, 1.2), "0.8,1.2"),
    "tgt_slope": ((-3.0,), "-3"),
    "trunk_err_type": ("vel_square", "vel_square"),
    "tgt_sym_th": (0.3, "0.3"),
    "tgt_grf_th": (1.1, "1.1"),
    "cost": ("vel_grf", "vel_grf"),
    "exo": (True, "1"),
    "use_4param_spline": (True, "1"),
    "n_points": (6, "6"),
    "max_torque": (33.0, "33"),
    "fixed_exo": (True, "1"),
    "popsize": (12, "12"),
    "maxiter": (7, "7"),
    "sigma_gain": (4.5, "4.5"),
    "cma_options": ("tolx:1e-9", "tolx:1e-9"),
    "seed": (5, "5"),
    "device": ("cpu", "cpu"),
    "param_path": ("shipped", "shipped"),
}
"""A value of each key that is an option, other than its default, and its text."""


@pytest.mark.parametrize("name", GIVEN)
def test_an_option_and_its_key_give_the_same_value(monkeypatch, name):
    given: list[dict[str, object]] = []
    monkeypatch.setattr(
        "trueup.cli.gait.optimize.run_optimize",
        lambda _, __, changes, *a, **k: given.append(changes),
    )
    setting = settings_of(GaitConfiguration)[name]
    value, text = GIVEN[name]
    spelled = setting.option.name or name
    texts = [] if setting.option.flag else text.split(",")
    for option in (spelled, name) if name not in ("exo", "maxiter") else (spelled,):
        main(["gait", "optimize", "walk", f"--{option}", *texts])
    for key in (setting.key, name, name.replace("_", "-")):
        main(["gait", "optimize", "walk", f"{key}={text}"])
    assert len(given) >= 4
    for changes in given:
        assert set(changes) == {setting.key}
        assert configured(**changes) == configured(**{setting.key: value})


def test_every_option_of_a_configuration_is_tried():
    marked = [s.name for s in settings_of(GaitConfiguration).values() if s.option is not None]
    assert marked == list(GIVEN)


def test_help_describes_every_key(capsys):
    assert main(["gait", "optimize", "--help"]) == 0
    shown = capsys.readouterr().out
    keys = shown.split("described by --help-keys: ")[1].split(".\n")[0]
    further = set(re.findall(r"\w+", keys))
    assert further == set(GaitConfiguration.model_fields) - set(GIVEN) - {"says"}
    assert main(["gait", "optimize", "--help-keys"]) == 0
    described = capsys.readouterr().out
    assert set(re.findall(r"^(\w+): ", described, re.M)) == further
    for term in TERMS:
        assert term in described


def test_what_a_configuration_gives_by_name_can_be_left_out(capsys, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "moved: [gain]\nheld: {knee_angle_r: 1.1}\nstart_values: {Tr_Sw: 0.7}\ncost: eff\n"
    )
    short = ("--sim-time", 0.05, "--popsize", 4, "--maxiter", 1, "--quiet", "--save-path")
    words = ("moved=all", "held=none", "start_values=none")
    code, _ = called(capsys, "optimize", file, *short, tmp_path / "run", *words)
    assert code == 0
    found = configuration_of_run(RunDirectory.open(tmp_path / "run"))
    assert (found.moved, found.held, found.start_values) == (None, None, None)


def test_an_empty_list_of_torques_is_refused(capsys, tmp_path):
    words = ("evaluate", tmp_path / "walk.txt", "--report", tmp_path / "walk.html", "--dose")
    code, answer = called(capsys, *words)
    assert code == 2 and "--dose requires values" in answer["message"]
