"""What a user registers is known by name in every capability, whenever it is registered."""

import json
import subprocess
import sys
from pathlib import Path

import driven_pendulum
import numpy as np
import pytest
import yaml
from halving_search import ENTRY
from servo_bench_logs import write_logs

from trueup import actuators, fitting, gait, runs, sysid
from trueup.actuators import FitSettings
from trueup.cli import main
from trueup.errors import ExperimentError, FitError, GaitError
from trueup.explain import CAUSES
from trueup.fitting import LOSSES, SEARCH_METHODS
from trueup.gait import GaitConfiguration
from trueup.runs import Budget, StudySettings

PROBLEM = f"""
import sys

sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
from halving_search import ENTRY

from trueup import fitting
from trueup.parameters import Parameter, ParameterDict

fitting.SEARCH_METHODS["halving"] = ENTRY
SPACE = ParameterDict({{"mass": Parameter("mass", 1.0, 0.0, 2.0)}}).space()


def problem():
    return fitting.Vectorised(lambda X: X - 0.7, SPACE)
"""


def welsch(z):
    """Welsch loss (Dennis and Welsch 1978)."""
    decay = np.exp(-z)
    return 1 - decay, decay, -decay


@pytest.fixture
def halving(monkeypatch):
    monkeypatch.setitem(SEARCH_METHODS, "halving", ENTRY)


@pytest.fixture
def pendulum(tmp_path):
    """Identify the driven pendulum with settings of a search."""
    files = driven_pendulum.write(tmp_path)

    def identified(**search):
        content = {**driven_pendulum.EXPERIMENT, "search": search}
        files.experiment.write_text(yaml.safe_dump(content))
        experiment = sysid.load_experiment(files.experiment)
        return sysid.identify(experiment, tmp_path, output=tmp_path / "run", verbose=False)

    return identified


def test_a_study_by_a_registered_method(halving, tmp_path):
    settings = StudySettings(method="halving", population=40, seed=2)
    result = runs.study("sphere", tmp_path / "run", settings=settings, dimension=2, verbose=False)
    assert result.solution.cost < 1e-6
    runs.resume(tmp_path / "run", verbose=False)
    assert (
        "halving"
        in yaml.safe_load((tmp_path / "run/experiment.yaml").read_text())["settings"]["method"]
    )


def test_a_method_that_the_file_of_a_problem_registers(tmp_path):
    (tmp_path / "mine.py").write_text(PROBLEM)
    words = ["run", f"{tmp_path / 'mine.py'}:problem", "--method", "halving"]
    words += ["--output", str(tmp_path / "run")]
    for each in (words, ["resume", str(tmp_path / "run")]):  # processes that know nothing of it
        command = [sys.executable, "-m", "trueup", "study", *each, "--quiet", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["parameters"]


def test_an_identification_by_a_registered_method(halving, pendulum):
    found = pendulum(method="halving", population=24)
    for name, truth in driven_pendulum.TRUE.items():
        assert found.solution.parameters[name] == pytest.approx(truth, rel=0.05)
    assert "least squares" in found.solution.message or found.solution.success


@pytest.mark.parametrize("method", ["auto", "multi-start"])
def test_an_identification_by_the_methods_of_a_study(pendulum, method):
    found = pendulum(method=method)
    for name, truth in driven_pendulum.TRUE.items():
        assert found.solution.parameters[name] == pytest.approx(truth, rel=0.05)


def test_a_servo_fit_by_a_registered_method(halving, tmp_path):
    settings = FitSettings("halving", trials=400)
    fit = actuators.fit("xl330", "m1", write_logs(tmp_path), settings=settings)
    assert fit.training.mae < fit.training_start.mae


def test_a_walk_by_a_registered_method(halving, tmp_path):
    changes = {"sim_time": 0.05, "popsize": 4, "maxiter": 2, "search": "halving"}
    result = gait.optimize("tutorial", tmp_path / "run", changes=changes, verbose=False)
    assert result.solution.stats["evaluations"] == 8


def test_other_names_become_the_name_of_the_registry(pendulum, tmp_path):
    assert FitSettings("cma").method == "cmaes"
    assert GaitConfiguration(search="cma").search == "cmaes"
    found = pendulum(method="mujoco", max_iters=3)
    assert found.prepared.experiment.search.method == "least-squares"
    made = StudySettings(method="cma-es", seed=1)
    limits = Budget(max_evaluations=20)
    runs.study("sphere", tmp_path / "study", settings=made, limits=limits, verbose=False)
    written = yaml.safe_load((tmp_path / "study/experiment.yaml").read_text())
    assert written["settings"]["method"] == "cmaes"


def test_help_and_refusals_list_what_is_registered(halving, pendulum, capsys, monkeypatch):
    for words in ("study run --help", "actuator fit --help", "gait optimize --help-keys"):
        assert main(words.split()) == 0
        assert "halving" in capsys.readouterr().out
    monkeypatch.setitem(CAUSES, "springs", CAUSES["armature"])
    assert main(["explain", "--help"]) == 0
    assert "springs" in capsys.readouterr().out
    with pytest.raises(
        FitError, match=r"'halvin'. Did you mean 'halving'\? Available: .*'halving'"
    ):
        FitSettings("halvin")
    with pytest.raises(GaitError, match=r"search: unknown search of a walk 'halvin'.*'halving'"):
        gait.optimize("tutorial", changes={"search": "halvin"})
    with pytest.raises(
        ExperimentError, match=r"search.method: .*'halvin'. Did you mean 'halving'\?"
    ):
        pendulum(method="halvin")
    assert main(["study", "run", "sphere", "--method", "halvin"]) == 2
    assert "Did you mean 'halving'" in capsys.readouterr().err


def test_methods_without_an_end_are_refused_where_one_is_needed(pendulum, tmp_path):
    with pytest.raises(ExperimentError, match="unknown method of an identification 'random'"):
        pendulum(method="random")
    with pytest.raises(GaitError, match="'sobol' has no termination criterion: set maxiter"):
        changes = {"search": "sobol", "maxiter": None}
        gait.optimize("tutorial", tmp_path / "walk", changes=changes, verbose=False)
    assert not (tmp_path / "walk").exists()


def test_a_loss_that_is_registered_later_is_known(pendulum, monkeypatch, tmp_path):
    with pytest.raises(ExperimentError, match=r"search.loss: unknown loss 'welsch'"):
        pendulum(loss="welsch")
    monkeypatch.setitem(LOSSES, "welsch", welsch)
    found = pendulum(loss="welsch", loss_scale=3.0)
    for name, truth in driven_pendulum.TRUE.items():
        assert found.solution.parameters[name] == pytest.approx(truth, rel=0.05)
    runs.report(tmp_path / "run")
    with pytest.raises(ExperimentError, match=r"'welsch'.*Did you mean 'welsch'"):
        pendulum(loss="welsh")
    settings = fitting.LeastSquaresSettings(loss="welsch")
    assert settings.loss == "welsch"
