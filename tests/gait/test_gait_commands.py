"""``trueup gait`` on the command line: evaluate, optimise, resume, mistakes."""

import json
import os
import signal
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK, nominal_vector

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import load_configuration
from trueup.gait.search.myoassist.reader import import_configuration
from trueup.gait.search.run_files import TermsLog, read_terms

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"


@pytest.fixture
def model(recorded_data):
    return str(recorded_data / MODEL)


@pytest.fixture
def vector(recorded_data):
    (path,) = (recorded_data / "myoassist/tutorial").glob("*_Best.txt")
    return str(path)


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_list(capsys):
    code, answer = called(capsys, "gait", "list")
    assert code == 0 and "exo_npoint_cont" in answer["configurations"]


def test_evaluate_as_myoassist_does(capsys, vector, model):
    words = ["gait", "evaluate", vector, f"model_file={model}", "sim_time=8"]
    code, answer = called(capsys, *words, "compat=myoassist")
    assert code == 0 and not answer["fell"]
    assert answer["scalar"] == pytest.approx(166.84005, rel=1e-6)
    assert answer["effort"] == pytest.approx(2.28830, rel=1e-5)
    assert answer["velocity"] == pytest.approx(0.00323, rel=1e-3)
    assert answer["kinematic"] == pytest.approx(136.78851, rel=1e-6)
    assert answer["walked_m"] == pytest.approx(10.2, abs=0.1)


@pytest.mark.parametrize(("delayed", "words"), [((), "without"), (("delayed=1",), "with")])
def test_evaluate_says_who_walks_and_how(capsys, tmp_path, delayed, words):
    """A vector alone does not tell: with and without delays it walks differently."""
    vector = tmp_path / "ones.txt"
    np.savetxt(vector, nominal_vector())
    assert main(["gait", "evaluate", str(vector), "sim_time=0.3", *delayed]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"That is planar22, 0.3 s {words} neural delays on level ground." in lines


def test_evaluate_does_not_tell_the_mean_of_repeats_as_one_walk(capsys, tmp_path):
    """A walk that lasts alone and falls when pushed did not walk the mean of both and fall."""
    vector = tmp_path / "ones.txt"
    np.savetxt(vector, nominal_vector())
    words = ["gait", "evaluate", str(vector), "sim_time=0.3"]
    assert main(words) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if ": walked " in line)
    assert line.endswith("0.30 s without falling.") and first.startswith("Verdict: ")
    pushes = ["perturbed_repeats=4", "perturbation_sizes=angle:40"]
    code, answer = called(capsys, *words, *pushes, "unperturbed_repeat=1")
    assert code == 0 and 0.0 < answer["terms"]["fell"] < 1.0  # the first is not perturbed
    assert main([*words, *pushes, "unperturbed_repeat=1"]) == 0
    (line,) = (
        line for line in capsys.readouterr().out.splitlines() if ": 4 walks, on average " in line
    )
    fell, lasted = round(4 * answer["terms"]["fell"]), answer["terms"]["lasted"]
    assert f": 4 walks, on average {answer['walked_m']:.3f} m in {lasted:.2f} s; " in line
    assert line.endswith(f"; {fell} of them fell.")


def options(model, vector, target, *more):
    words = ["--model-file", model, "--sim_time", "0.3", "--popsize", "4", "--param-path", vector]
    words += ["-eff", "--delayed", "0", "--save-path", target, "--quiet", "compat=myoassist"]
    return ["gait", "optimize", "tutorial", *words, *more]


def test_a_resumed_search_is_an_uninterrupted_one(capsys, tmp_path, model, vector):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    code, answer = called(capsys, *options(model, vector, whole, "--maxiter", "3"))
    assert code == 0
    assert called(capsys, *options(model, vector, parts, "--maxiter", "1"))[0] == 0
    words = ["gait", "optimize", "tutorial", "--save-path", parts, "--resume", "--maxiter", "3"]
    code, other = called(capsys, *words, "--threads", "1", "--quiet")
    assert code == 0 and other["cost"] == answer["cost"]
    assert other["parameters"] == answer["parameters"]
    one, two = (read_terms(run / "terms.jsonl")[0] for run in (whole, parts))
    assert one.keys() == two.keys() == {0, 1, 2}
    for generation, terms in one.items():
        assert len(terms["effort"]) >= 4
        for name, values in terms.items():
            np.testing.assert_array_equal(values, two[generation][name])
    best = np.loadtxt(whole / "myorfl_Effort_2D_1_25_Best.txt")
    assert best.shape == (81,)
    line = (whole / "myorfl_Effort_2D_1_25_Best_Cost.txt").read_text().splitlines()[0]
    assert float(line.partition(" : ")[2]) == answer["cost"]
    last = (whole / "myorfl_Effort_2D_1_25_BestLast_Cost.txt").read_text().splitlines()[0]
    assert float(last.partition(" : ")[2]) >= answer["cost"]
    code, walked = called(capsys, "gait", "evaluate", whole)
    assert code == 0 and walked["scalar"] == pytest.approx(answer["cost"], rel=1e-12)


def test_a_warm_start_keeps_the_exoskeleton(capsys, tmp_path, model, vector):
    """In the reference its parameters are overwritten by their defaults in every case."""
    target = tmp_path / "run"
    code, _ = called(capsys, *options(model, vector, target, "--maxiter", "1"))
    assert code == 0
    with sqlite3.connect(target / "study.sqlite") as connection:
        (blob,) = connection.execute(
            "SELECT x FROM evaluations WHERE generation = 0 AND candidate = 0"
        ).fetchone()
    first, given = np.frombuffer(blob), np.loadtxt(vector)
    np.testing.assert_allclose(first, given, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["optimize", "tutorail"], "unknown configuration 'tutorail'"),
        (
            ["optimize", "tutorial", "--model-file", "absent.xml"],
            "no such model file or shipped model",
        ),
        (["optimize", "tutorial", "-eff", "-vel"], "exclude each other"),
        (["optimize", "tutorial", "optim_mode=evaluate"], "has no search"),
        (["optimize", "tutorial", "--pickle-path", "run.pkl"], "run.pkl is not a run directory"),
        (["optimize", "tutorial", "--cma-options", "tolfn:1"], "tolfn"),
        (["evaluate", "absent.txt"], "no run directory or file"),
        (["import", "absent.bat"], "cannot read"),
        (["import", "walker.xml"], "needs no import"),
        (["optimize", "absent.yaml"], "shipped configurations: 'baseline'"),
        (
            ["optimize", FIRST_WALK, "--model-file", "MODEL", "--model", "hipp"],
            "unknown device 'hipp'",
        ),
        (["optimize", FIRST_WALK, "--sim-time", "inf"], "finite"),
        (["optimize", FIRST_WALK, "--tgt-vel", "nan"], "finite"),
        (["optimize", FIRST_WALK, "--speed", "nan"], "finite"),
        (["optimize", FIRST_WALK, "--slope", "nan"], "finite"),
        (["optimize", FIRST_WALK, "--threads", "-2"], "0 for all cores"),
        (["optimize", FIRST_WALK, "--cost", "efff"], "Did you mean 'eff'"),
        (["optimize", "baseline", "--tgt-vel", "1.75"], "reference=adult"),
        (["optimize", "baseline", "reference=names.csv"], "trunk, then hip, knee and ankle"),
        (["optimize", "baseline", "reference=few.csv"], "2 rows of 3 numbers"),
    ],
)
def test_mistakes(capsys, tmp_path, monkeypatch, model, words, message):
    monkeypatch.chdir(tmp_path)
    Path("names.csv").write_text("hip,knee\n1,2\n")
    Path("few.csv").write_text("1,2,3\n4,5,6\n")
    if "tolfn:1" in words or "-vel" in words:
        words = [*words, "--model-file", model]
    words = [model if word == "MODEL" else word for word in words]
    code, answer = called(capsys, "gait", *words)
    assert code == 2 and message in answer["message"]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v[:50], "require 81 entries"),
        (lambda v: v[:77], "it fits this walker without an exoskeleton: ExoOn=0"),
        (lambda v: np.where(np.arange(81) == 52, 60.0, v), "cannot start: hip"),
        (lambda v: np.where(np.arange(81) == 80, -1.0, v), "out of order"),
    ],
)
def test_wrong_vectors(capsys, tmp_path, model, vector, change, message):
    path = tmp_path / "wrong.txt"
    np.savetxt(path, change(np.loadtxt(vector)))
    words = ["gait", "evaluate", path, f"model_file={model}", "sim_time=0.1", "ExoOn=1"]
    code, answer = called(capsys, *words)
    assert code == 2 and message in answer["message"]


def test_a_vector_with_a_torque_curve_needs_an_exoskeleton(capsys, tmp_path, model, vector):
    words = ["gait", "evaluate", vector, f"model_file={model}", "sim_time=0.1", "ExoOn=0"]
    code, answer = called(capsys, *words)
    assert code == 2
    assert (
        "the additional 4 may be the torque curve of an exoskeleton: ExoOn=1" in answer["message"]
    )
    # as long as that of a walker in space, which has no curve
    words[2] = tmp_path / "space.txt"
    np.savetxt(words[2], np.ones(97))
    code, answer = called(capsys, *words)
    assert code == 2 and answer["message"].endswith("18 activation)")


def test_import(capsys, tmp_path, monkeypatch, recorded_data):
    monkeypatch.chdir(tmp_path)
    (source,) = (recorded_data / "myoassist/tutorial").glob("*.bat")
    code, answer = called(capsys, "gait", "import", source)
    assert code == 0 and answer["configuration"]["cost"] == "eff"
    assert Path(answer["file"]).is_file()
    code, answer = called(capsys, "gait", "import", source)
    assert code == 2 and "exists" in answer["message"]


def test_a_path_that_is_imported_leads_where_it_did(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub/prep").mkdir(parents=True)
    (tmp_path / "sub/t.bat").write_text(
        "python train.py --delayed 0 -eff --ExoOn 1 --n_points 6 --param_path prep"
    )
    target = tmp_path / "there/t.yaml"
    target.parent.mkdir()
    code, answer = called(capsys, "gait", "import", "sub/t.bat", "-o", target)
    assert code == 0 and answer["notes"] == []
    assert yaml.safe_load(target.read_text()) == {
        "delayed": False,
        "cost": "eff",
        "ExoOn": True,
        "n_points": 6,
        "use_4param_spline": False,
        "param_path": "../sub/prep",
    }
    assert load_configuration(target) == load_configuration("sub/t.bat")
    (tmp_path / "sub/prep").rmdir()
    code, answer = called(capsys, "gait", "import", "sub/t.bat")
    assert code == 0 and str(tmp_path / "prep") in answer["notes"][0]


def test_a_path_of_myoassist_that_is_not_there_is_told_with_what_was_tried(capsys, tmp_path):
    file = tmp_path / "sub/t.bat"
    file.parent.mkdir()
    file.write_text("python train.py --ExoOn 0 -eff --param_path prep")
    words = ["gait", "optimize", file, "--popsize", 4, "--maxiter", 1, "--sim-time", 0.1, "--quiet"]
    code, answer = called(capsys, *words, "--save-path", tmp_path / "run")
    tried = f"is neither {tmp_path / 'sub/prep'} nor {tmp_path / 'prep'}"
    assert code == 2 and tried in answer["message"] and "param_path=PATH" in answer["message"]
    np.savetxt(tmp_path / "ones.txt", nominal_vector())
    words += ["--param-path", tmp_path / "ones.txt", "--save-path", tmp_path / "run"]
    assert called(capsys, *words)[0] == 0


def test_runs_with_weights_of_their_own_are_labelled_so(capsys, tmp_path):
    words = ["gait", "optimize", FIRST_WALK, "--popsize", 4, "--maxiter", 1, "--sim-time", 0.1]
    assert called(capsys, *words, "--quiet", "--save-path", tmp_path / "run")[0] == 0
    assert (tmp_path / "run/myorfl_Weighted_2D_1_25_Best.txt").is_file()
    assert not list((tmp_path / "run").glob("*Kine*"))


def test_a_search_that_is_stopped_tells_one_way_to_go_on(capsys, tmp_path, monkeypatch):
    def stop(log, generation):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(TermsLog, "write", stop)
    run = tmp_path / "run"
    words = ["gait", "optimize", FIRST_WALK, "--popsize", 4, "--maxiter", 3, "--sim-time", 0.1]
    code, answer = called(capsys, *words, "--quiet", "--save-path", run)
    assert code == 130
    assert answer["message"].endswith(f"Resume with  trueup study resume {run}")
    assert "--resume" not in answer["message"]


@pytest.mark.parametrize(
    ("lines", "cost"),
    [
        ("REM python train.py --musc_model 26 -kine\npython train.py --musc_model 22 -eff", "eff"),
        ("echo run train a--b\npython -m ctrl_optim.train --musc_model 22", "vel"),
    ],
)
def test_import_skips_comments_and_takes_the_default_of_myoassist(tmp_path, lines, cost):
    """Its train.py minimises the velocity where no flag is given."""
    file = tmp_path / "run.bat"
    file.write_text(lines)
    found = import_configuration(file)
    assert found.cost == cost and found.musc_model == 22


def test_import_of_a_file_that_starts_nothing(tmp_path):
    file = tmp_path / "run.bat"
    file.write_text("echo run train a--b\npython train.py a--b")
    with pytest.raises(GaitError, match="not contain a command that starts a training"):
        import_configuration(file)


@pytest.mark.parametrize("cut", [0, 1, 10])
def test_terms_of_a_killed_run_are_those_of_a_whole_one(cut, tmp_path):
    """Killed after, at the end of, or within the line of generation 1, which is then repeated."""
    problem = SimpleNamespace(terms={"effort": np.array([1.0, np.nan])})
    path = tmp_path / "terms.jsonl"
    for number in range(2):
        TermsLog(path, problem).write(SimpleNamespace(number=number, committed=-1))
    written = path.read_bytes()
    path.write_bytes(written[: len(written) - cut])
    resumed = TermsLog(path, problem)
    for number in (1, 2):
        resumed.write(SimpleNamespace(number=number, committed=-1))
    terms, unreadable = read_terms(path)
    assert list(terms) == [0, 1, 2] and not unreadable
    assert path.read_bytes().startswith(written)
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "line", ["[1, 2]", "{}", '{"generation": null, "terms": {}}', '{"generation": 1, "terms": 2}']
)
def test_a_line_that_holds_no_terms_is_left_out_by_its_number(line, tmp_path):
    path = tmp_path / "terms.jsonl"
    path.write_text(f'{{"generation": 0, "terms": {{"effort": [1.0, null]}}}}\n{line}\n')
    terms, unreadable = read_terms(path)
    assert list(terms) == [0] and unreadable == [2]


@pytest.mark.parametrize("key", ["tgt_vel", "tgt_slope", "reference"])
def test_no_values_at_all_are_refused(tmp_path, key):
    file = tmp_path / "mine.yaml"
    file.write_text(f"{key}: []")
    with pytest.raises(GaitError, match=f"{key}: .*at least 1 item"):
        load_configuration(file)
