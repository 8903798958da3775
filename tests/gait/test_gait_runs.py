"""Runs of gait optimisations: begun in Python or on the command line, continued in the other."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from given_configurations import FIRST_WALK
from tests.waiting import until

from trueup import runs
from trueup.cli import main
from trueup.errors import GaitError, RunDirectoryError
from trueup.gait import GaitResult, Walker, load_configuration, optimize
from trueup.runs import Budget, Store

CHANGES = {"sim_time": 0.2, "popsize": 4, "maxiter": 4, "seed": 3}
OPTIONS = ["--sim-time", "0.2", "--popsize", "4", "--maxiter", "4", "--seed", "3"]


def history(run):
    with Store.open(run / "study.sqlite") as store:
        return store.history()


def generations(run):
    """Generations that are saved; a run that is killed may have walked one more."""
    return int(history(run).generation.max(initial=-1)) + 1


def check_beginning(run, whole):
    """The run walked what a run without a stop walks, as far as that went."""
    expected = history(whole.directory).X
    np.testing.assert_array_equal(history(run).X[: len(expected)], expected)


def content(run):
    """What a finished run holds, but for times and paths."""
    solution = json.loads((run / "solution.json").read_text())
    return {key: solution[key] for key in ("cost", "parameters", "terms", "verdict", "survival")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing stopped, made in Python."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return optimize(FIRST_WALK, folder, changes=CHANGES, verbose=False)


def killed(command, run):
    """Run a command, and kill it once it has walked two generations."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment)
    terms = run / "terms.jsonl"
    until(lambda: terms.is_file() and len(terms.read_text().splitlines()) >= 2, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


LONG = {**CHANGES, "maxiter": 400}


def test_a_run_begun_in_python_goes_on_on_the_command_line(tmp_path, whole, capsys):
    run = tmp_path / "run"
    code = "import sys; from trueup import gait; "
    code += f"gait.optimize({FIRST_WALK!r}, sys.argv[1], changes={LONG!r}, verbose=False)"
    killed([sys.executable, "-c", code, str(run)], run)
    assert not (run / "solution.json").exists()
    assert main(["report", str(run)]) == 0
    assert "not finished" in (run / "report.html").read_text()
    assert main(["study", "resume", str(run), "--generations", "4", "--quiet"]) == 0
    assert "Verdict:" in capsys.readouterr().out
    check_beginning(run, whole)
    if generations(run) == 4:  # it was killed before the fifth one
        assert content(run) == content(whole.directory)
    assert main(["report", str(run)]) == 0
    assert "<h2>Verdict</h2>" in (run / "report.html").read_text()


def test_a_run_begun_on_the_command_line_goes_on_in_python(tmp_path, whole):
    run = tmp_path / "run"
    words = ["gait", "optimize", FIRST_WALK, *OPTIONS, "--save-path", str(run), "--quiet"]
    words[words.index("--maxiter") + 1] = "400"
    code = "import sys; from trueup.cli import main; sys.exit(main(sys.argv[1:]))"
    killed([sys.executable, "-c", code, *words], run)
    known = generations(run)
    result = optimize(
        FIRST_WALK, run, changes={**LONG, "maxiter": known + 4}, resume=True, verbose=False
    )
    assert isinstance(result, GaitResult) and result.directory == run
    assert generations(run) == known + 4
    check_beginning(run, whole)
    # nothing is searched again, and the rest is done as before
    outcome = runs.resume(run, limits=Budget(max_generations=max(known, 1)), verbose=False)
    assert outcome.summary["verdict"] == result.verdict.to_dict()
    assert runs.report(run).html().count("<h2>Verdict</h2>") == 1


def test_the_command_and_the_function_make_the_same_run(tmp_path, whole, capsys):
    run = tmp_path / "run"
    words = ["gait", "optimize", FIRST_WALK, *OPTIONS, "--save-path", str(run), "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert content(run) == content(whole.directory)
    assert {p.name for p in run.iterdir()} == {p.name for p in whole.directory.iterdir()}
    assert told["directory"] == str(run) and told["report"] == str(run / "report.html")


def test_the_result_holds_what_the_run_came_to(whole):
    solution = json.loads((whole.directory / "solution.json").read_text())
    assert whole.solution.cost == solution["cost"] and whole.report.is_file()
    assert whole.terms["cost"] == pytest.approx(solution["cost"])
    best = np.loadtxt(next(whole.directory.glob("*_Best.txt")))
    np.testing.assert_allclose(whole.vector, best)
    assert whole.survivals[0].to_dict() == solution["survival"][""]
    assert whole.configuration.sim_time == 0.2
    state = runs.state(whole.directory)
    assert (state.kind, state.generations) == ("gait", 4)


def test_a_configuration_as_an_object_and_one_that_is_repeated(tmp_path, whole):
    configuration = load_configuration(FIRST_WALK).with_changes(CHANGES)
    one = optimize(configuration, tmp_path / "one", verbose=False)
    other = optimize(whole.directory / "experiment.yaml", tmp_path / "other", verbose=False)
    for result in (one, other):
        np.testing.assert_array_equal(result.vector, whole.vector)
        assert content(result.directory) == content(whole.directory)


def test_wrong_calls_write_nothing(tmp_path, whole):
    run = tmp_path / "run"
    with pytest.raises(GaitError, match="unknown configuration 'wlk'"):
        optimize("wlk", run)
    with pytest.raises(GaitError, match="unknown keys 'sim_tim'"):
        optimize(FIRST_WALK, run, changes={"sim_tim": 1.0})
    with pytest.raises(GaitError, match="has no search"):
        optimize(FIRST_WALK, run, changes={"optim_mode": "evaluate"})
    with pytest.raises(GaitError, match="'scatter' has no termination criterion"):
        optimize(FIRST_WALK, run, changes={"search": "scatter", "maxiter": None})
    assert not run.exists()
    with pytest.raises(RunDirectoryError, match="another configuration"):
        changes = {**CHANGES, "sigma_gain": 3.0}
        optimize(FIRST_WALK, whole.directory, changes=changes, resume=True, verbose=False)
    with pytest.raises(RunDirectoryError, match="started with another configuration"):
        optimize("walk", whole.directory, resume=True, verbose=False)
    with pytest.raises(RunDirectoryError):
        optimize(FIRST_WALK, whole.directory, changes=CHANGES, verbose=False)


def test_a_model_that_moved_is_found_in_another_folder(tmp_path):
    import mujoco

    from trueup.gait import planar22

    spec = planar22()
    spec.compile()
    source = tmp_path / "walker.xml"
    source.write_text(spec.to_xml())
    assert Walker.load(source).mass > 0.0 and mujoco.MjModel.from_xml_path(str(source)).nv == 11
    run = tmp_path / "run"
    optimize(FIRST_WALK, run, changes={**CHANGES, "model_file": str(source)}, verbose=False)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    source.rename(moved / "walker.xml")
    with pytest.raises(RunDirectoryError, match=r"missing, also in"):
        runs.resume(run, folder=tmp_path, verbose=False)
    outcome = runs.resume(run, folder=moved, limits=Budget(max_generations=5), verbose=False)
    assert outcome.result.directory == run and generations(run) == 5
