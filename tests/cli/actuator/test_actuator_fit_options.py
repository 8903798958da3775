"""Storages, trackers, resumes and reports of ``trueup actuator fit``."""

import numpy as np
import pytest
from servo_bench_logs import write_logs

from trueup.actuators import ServoModel
from trueup.runs import RunDirectory, Store

QUICK = ("--method", "random", "--trials", "64")


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    return write_logs(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def fit(command, logdir, tmp_path):
    def run(name, *words):
        options = ("--actuator", "xl330", "--model", "m1", "--logdir", logdir)
        return command("actuator", "fit", *options, "--output", tmp_path / f"{name}.json", *words)

    return run


def costs(run):
    with Store.open(RunDirectory.open(run).study) as store:
        return store.history().costs


def test_a_fit_is_written_into_a_storage_and_another_starts_from_there(fit, tmp_path):
    optuna = pytest.importorskip("optuna")
    url = f"sqlite:///{tmp_path / 'fits.db'}"
    code, found = fit("first", *QUICK, "--storage", url)
    assert code == 0
    study = optuna.load_study(study_name="first", storage=url)
    # the start and what is evaluated beside the search are trials as well
    assert len(study.trials) == len(costs(tmp_path / "first.run"))
    assert study.best_value == pytest.approx(found["cost"], rel=1e-12)

    again = ("--method", "random", "--trials", "1", "--storage", url, "--load-study", "first")
    code, second = fit("second", *again)
    assert code == 0
    assert second["cost"] <= found["cost"]
    assert any("first" in note for note in second["notes"])


def test_a_study_with_linear_scales_is_continued(fit, tmp_path):
    # as Better Actuator Models writes it: every parameter on a linear scale, kt and R among them
    optuna = pytest.importorskip("optuna")
    url = f"sqlite:///{tmp_path / 'study.db'}"
    ranges = {p.name: (p.lower, p.upper) for p in ServoModel.create("xl330", "m1").parameters}

    def objective(trial):
        values = [trial.suggest_float(name, low, high) for name, (low, high) in ranges.items()]
        return 10.0 + values[0]

    study = optuna.create_study(study_name="bam", storage=url)
    study.optimize(objective, n_trials=3)
    code, found = fit("after", *QUICK, "--storage", url, "--load-study", "bam")
    assert code == 0
    assert any("bam" in note for note in found["notes"])
    study = optuna.load_study(study_name="bam", storage=url)
    ours = study.trials[3:]
    assert len(ours) == len(costs(tmp_path / "after.run"))
    assert [trial.number for trial in ours] == list(range(3, 3 + len(ours)))
    assert study.best_value == pytest.approx(found["cost"], rel=1e-12)
    (kt,) = [row["value"] for row in found["parameters"] if row["name"] == "kt"]
    assert study.best_params["kt"] == pytest.approx(kt, rel=1e-12)
    study.optimize(objective, n_trials=1)  # Optuna continues in turn


def test_a_storage_with_that_name_is_found_before_anything_is_written(fit, tmp_path):
    pytest.importorskip("optuna")
    url = f"sqlite:///{tmp_path / 'fits.db'}"
    fit("one", *QUICK, "--storage", url)
    (tmp_path / "one.json").unlink()
    (tmp_path / "one.run").rename(tmp_path / "kept.run")
    code, answer = fit("one", *QUICK, "--storage", url)
    assert (code, "already has a study 'one'" in answer["message"]) == (2, True), answer
    assert not (tmp_path / "one.run").exists()
    assert not (tmp_path / "one.json").exists()


def test_weights_and_biases_keeps_an_offline_copy(fit, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    code, _ = fit("tracked", *QUICK, "--wandb")
    assert code == 0
    assert list((tmp_path / "tracked.run").rglob("*.wandb"))


def test_a_raised_budget_goes_on_where_it_ended(fit, command, tmp_path):
    fit("short", "--method", "cmaes", "--trials", "64", "--seed", "3")
    fit("long", "--method", "cmaes", "--trials", "160", "--seed", "3")
    code, _ = command("study", "resume", tmp_path / "short.run", "--evaluations", 160)
    assert code in (0, 3)
    short, straight = costs(tmp_path / "short.run"), costs(tmp_path / "long.run")
    assert len(straight) > 64
    assert np.array_equal(short[: len(straight)], straight)
    code, refused = command("study", "resume", tmp_path / "short.run", "--generations", 3)
    assert (code, "--evaluations" in refused["message"]) == (2, True)


def test_the_report_can_be_made_again(fit, command, tmp_path):
    fit("whole", *QUICK, "--validation-kp", "400")
    report = tmp_path / "whole.run" / "report.html"
    before = report.read_text()
    report.unlink()
    code, _ = command("report", tmp_path / "whole.run")
    assert code == 0
    after = report.read_text()
    for text in ("kp400", "held out", "friction_viscous"):
        assert text in before
        assert text in after
