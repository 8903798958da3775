"""Whole training runs: what they write, folds, ensembles, resume, and the command."""

import html
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_trainings import SMALL, configured
from tests.waiting import until

from trueup.cli import main
from trueup.cli.key_words import split_keys
from trueup.cli.network.train import TrainNetwork
from trueup.errors import ExperimentError, RunDirectoryError
from trueup.fitting import Grade, Verdict
from trueup.networks import SyntheticSettings, load_network, synthesize, train
from trueup.networks.evaluation.metrics import predict_series
from trueup.networks.runtime.ensemble import NetworkEnsemble
from trueup.networks.training import TrainingInterrupted, read_recordings
from trueup.networks.training.train import resumed_configuration, run_training
from trueup.reports.verdict import MOST_REASONS
from trueup.runs import RunDirectory


def test_a_run_writes_what_deployment_and_readers_need(data, tmp_path):
    result = run_training(
        configured(data, "train.export_jit_model=true", "train.callbacks.early_summary=true"),
        tmp_path / "run",
        verbose=False,
    )
    run = result.directory
    network = load_network(run / "network.safetensors")
    # the groups' inertia describes the joint that the network drives
    motions = result.metrics["closed_loop"]
    assert [motion["group"] for motion in motions] == ["0.05kgm2", "0.083kgm2"]
    squares = [motion["angle_rmse"] ** 2 for motion in motions]
    assert result.metrics["angle_rmse"] == pytest.approx(np.sqrt(np.mean(squares)))
    assert "Closed loop" in (run / "report.html").read_text()
    stats = json.loads((run / "normalization_stats.json").read_text())
    assert stats["feature_names"] == list(network.features)
    (split,) = read_recordings(configured(data)).splits
    stacked = np.concatenate([s.features(network.features) for s in split.training])
    np.testing.assert_allclose(stats["input_mean"], stacked.mean(axis=0))  # of training alone
    summary = json.loads((run / "training_config_summary.json").read_text())
    assert summary["input_dim"] == 3
    assert summary["gru_sequence_length_timesteps"] == 50
    assert summary["rate_hz"] == network.rate == 100.0
    assert set(summary["data_sha256"].values()) == {s.sha256 for s in split.training}
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["scored_on"] == "test"
    assert {"linear", "mean"} <= set(metrics["others"])  # the baseline is always there
    test = split.test[0]
    rmse = np.sqrt(np.mean((predict_series(network, test) - test.torque) ** 2))
    assert metrics["files"][0]["rmse"] == pytest.approx(rmse)
    file = run / "predictions" / test.group / "sine_01.csv"
    table = np.genfromtxt(file, delimiter=",", names=True)
    np.testing.assert_allclose(table["torque_nm"], test.torque, rtol=1e-6)
    assert table["time_s"][0] == pytest.approx(test.start)
    assert (run / "report.html").stat().st_size > 0
    assert (run / "lstm_best_jit.pt").stat().st_size > 0
    assert json.loads((run / "model_summary.json").read_text())["parameters"] > 0
    configuration = yaml.safe_load((run / "config.yaml").read_text())
    assert configuration["model"]["gru_hidden_dim"] == 6
    origin = json.loads((run / "provenance.json").read_text())
    assert {e["name"] for e in origin["inputs"]} == {
        "0.05kgm2/sine_01.csv",
        "0.083kgm2/sine_01.csv",
    }
    assert len((run / "history.jsonl").read_text().splitlines()) == 2
    assert network.provenance["data"]["features"] == list(network.features)
    assert not any("lightning_logs" in str(path) for path in run.rglob("*"))
    assert sorted(p.name for p in data.iterdir()) == [
        "0.05kgm2",
        "0.083kgm2",
        "inertia_groups.json",
    ]


def test_leave_one_group_out_never_sees_the_group_before_its_score(data, tmp_path):
    configuration = configured(data, "evaluation_mode=lomo_cv")
    splits = read_recordings(configuration).splits
    for split in splits:
        for part in (split.training, split.validation):
            assert {each.group for each in part}.isdisjoint({split.name})
        assert {each.group for each in split.test} == {split.name}
    result = run_training(configuration, tmp_path / "run", verbose=False)
    folds = [each.scores.total.rmse for each in result.splits]
    assert result.metrics["rmse"] == pytest.approx(np.mean(folds))
    assert result.metrics["rmse_std"] == pytest.approx(np.std(folds, ddof=1))
    assert set(result.metrics["folds"]) == {"0.05kgm2", "0.083kgm2"}
    assert (result.directory / "fold_2" / "network.safetensors").is_file()


def test_an_ensemble_tells_how_far_its_members_disagree(data, tmp_path):
    configuration = configured(data, "model.ensemble_members=3")
    result = run_training(configuration, tmp_path / "run", verbose=False)
    ensemble = NetworkEnsemble.load(result.directory)
    assert len(ensemble.networks) == 3
    (split,) = read_recordings(configuration).splits
    inputs = split.test[0].features(ensemble.inputs)
    torque = ensemble.predict(inputs)
    each = np.stack([predict_series(n, split.test[0]) for n in ensemble.networks])
    np.testing.assert_allclose(torque.mean, each.mean(axis=0))
    np.testing.assert_allclose(torque.spread, each.std(axis=0, ddof=1))
    assert (torque.spread > 0).any()
    far = inputs.copy()
    far[7, 0] = 1e3
    assert ensemble.predict(far).out_of_range[7]
    assert result.metrics["ensemble"]["spread"]["rms"] > 0
    best = int(result.metrics["member"])
    assert (result.directory / f"members/{best:02d}/network.safetensors").is_file()


def test_an_interrupted_run_keeps_the_best_and_goes_on(data, tmp_path, monkeypatch):
    configuration = configured(data, "train.max_epochs=6", "train.checkpointing.every_seconds=0")
    whole = run_training(configuration, tmp_path / "whole", verbose=False)
    target = tmp_path / "cut"

    class Impatient:
        """Asks to stop once an epoch is in the history."""

        at_once = False

        def __init__(self, verbose, unit):
            assert unit == "epoch"

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        @property
        def requested(self):
            history = target / "history.jsonl"
            return "SIGINT" if history.is_file() and history.read_text() else None

    with monkeypatch.context() as patch:
        patch.setattr("trueup.networks.training.run.Interrupts", Impatient)
        with pytest.raises(TrainingInterrupted, match="study resume"):
            run_training(configuration, target, verbose=False)
    assert load_network(target / "network.safetensors").features
    assert not (target / "metrics.json").exists()
    again = resumed_configuration(RunDirectory.open(target))
    resumed = run_training(again, target, resume=True, verbose=False)
    assert resumed.metrics["rmse"] == whole.metrics["rmse"]
    names = ("history.jsonl", "metrics.json")
    first, second = ([(run / n).read_text() for n in names] for run in (tmp_path / "whole", target))
    assert first[0] == second[0]
    # a finished run has nothing left to do, and another configuration is another run
    assert run_training(again, target, resume=True, verbose=False).metrics["rmse"] == pytest.approx(
        whole.metrics["rmse"]
    )


def killed_after_a_checkpoint(command: list[str], target: Path) -> None:
    """Run a training in a process of its own, and kill it once there is a checkpoint."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until((target / "checkpoints" / "last.ckpt").is_file, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (target / "metrics.json").exists(), "killed too late to show anything"


def test_a_killed_training_resumes_to_the_network_of_the_uninterrupted(data, tmp_path, capsys):
    settings = [f"data.data_base_dir={data}", *SMALL]
    settings += ["train.max_epochs=40", "train.checkpointing.every_seconds=0"]
    whole = train(settings, tmp_path / "whole", verbose=False)
    # begun by the command and killed, then continued from Python, and a copy of it by the command
    first, target = tmp_path / "command", tmp_path / "copy"
    command = [sys.executable, "-m", "trueup", "network", "train", *settings, "--quiet"]
    killed_after_a_checkpoint([*command, "--output", str(first)], first)
    shutil.copytree(first, target)
    train(directory=first, resume=True, verbose=False)
    grade = json.loads((tmp_path / "whole" / "metrics.json").read_text())["verdict"]["grade"]
    code = 3 if grade == "do not use" else 0
    assert main(["study", "resume", str(target), "--quiet"]) == code
    for run in (first, target):
        resumed = load_network(run / "network.safetensors")
        for name, value in whole.splits[0].network.weights.items():
            np.testing.assert_array_equal(resumed.weights[name], value)
        histories = [(each / "history.jsonl").read_text() for each in (tmp_path / "whole", run)]
        assert histories[0] == histories[1]
    (target / "report.html").unlink()
    capsys.readouterr()
    assert main(["report", str(target)]) == 0
    assert "Verdict" in (target / "report.html").read_text()


def test_a_resumed_training_keeps_its_own_settings(data, tmp_path):
    with pytest.raises(ExperimentError, match="run directory and resume=True alone"):
        train(["seed=1"], tmp_path, resume=True)
    with pytest.raises(ExperimentError, match="overrides and a file"):
        train(configured(data), tmp_path, file="config.yaml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_training_and_says_so(data, tmp_path, number):
    target = tmp_path / "cut"
    words = ["network", "train", f"data.data_base_dir={data}", *SMALL, "train.max_epochs=60"]
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", *words, "--output", str(target)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    history = target / "history.jsonl"
    until(lambda: history.is_file() and len(history.read_text().splitlines()) >= 3, process)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == 128 + number
    assert ("Finishing this epoch, then saving." in said) == (number == signal.SIGINT)
    assert f"the best network so far is in {target}" in said
    done = history.read_text()
    configuration = resumed_configuration(RunDirectory.open(target))
    run_training(configuration, target, resume=True, verbose=False)
    assert history.read_text().startswith(done)  # checkpoints come every 30 s: the stop wrote one
    assert len(history.read_text().splitlines()) == 60


def test_a_stop_between_the_members_of_an_ensemble_trains_no_further_one(
    data, tmp_path, monkeypatch
):
    target = tmp_path / "run"

    class Late:
        """Asks to stop in the last epoch of the first member."""

        at_once = False

        def __init__(self, verbose, unit):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        @property
        def requested(self):
            return "SIGINT" if (target / "members/01/history.jsonl").is_file() else None

    configuration = configured(data, "model.ensemble_members=2", "train.max_epochs=2")
    monkeypatch.setattr("trueup.networks.training.run.Interrupts", Late)
    with pytest.raises(TrainingInterrupted):
        run_training(configuration, target, verbose=False)
    assert (target / "members/01/training.json").is_file()
    assert not list((target / "members/02").iterdir())


def test_a_cut_experiment_file_says_what_it_lacks(data, tmp_path, capsys):
    run = run_training(configured(data, "debug=true"), tmp_path / "run", verbose=False).directory
    file = run / "experiment.yaml"
    whole = file.read_text()
    inner = whole.index("configuration:")
    # ends within the version, and before and after the values of the data
    for cut in (
        whole.index("trueup:") + 10,
        inner,
        inner + len("configuration:\n"),
        whole.index("  data:"),
    ):
        file.write_text(whole[:cut])
        for words in (["network", "train", "--resume", "--output"], ["study", "resume"]):
            assert main([*words, str(run)]) == 2
            error = capsys.readouterr().err
            assert "experiment.yaml is damaged: missing '" in error
            assert "--overwrite" in error


def test_a_run_goes_on_with_its_own_recordings_only(tmp_path):
    data = tmp_path / "data"
    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=4.0), data)
    run = run_training(configured(data, "debug=true"), tmp_path / "run", verbose=False).directory
    file = data / "0.05kgm2" / "sine_01.csv"
    file.write_text(file.read_text().replace("0.", "0.0", 1))
    again = resumed_configuration(RunDirectory.open(run))
    assert len((run / "history.jsonl").read_text().splitlines()) == 1  # debug: one epoch
    with pytest.raises(RunDirectoryError, match=r"sine_01\.csv"):
        run_training(again, run, resume=True, verbose=False)


def test_the_command_trains_and_prints_the_scores(data, tmp_path, capsys):
    words = ["network", "train", f"data.data_base_dir={data}", *SMALL]
    target = str(tmp_path / "run")
    assert main([*words, "--output", target, "--seed", "3", "--json"]) in (
        0,
        3,
    )
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert captured.err == ""
    assert result["rmse"] > 0 and "linear" in result["others"]
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["seed"] == 3
    assert main(["report", target]) == 0
    assert main(["study", "resume", target, "--quiet"]) in (0, 3)
    capsys.readouterr()
    assert main([*words, "--output", target]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["network", "train", "seed=4", "--output", target, "--resume"]) == 2
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["global", "lomo_cv"])
def test_the_terminal_judges_as_the_report_does(data, tmp_path, capsys, mode):
    target = tmp_path / "run"
    words = ["network", "train", f"data.data_base_dir={data}", *SMALL, f"evaluation_mode={mode}"]
    assert main([*words, "--output", str(target), "--quiet"]) in (0, 3)
    said = capsys.readouterr().out
    metrics = json.loads((target / "metrics.json").read_text())
    folds = metrics.get("folds", {"": metrics})
    for fold in folds.values():
        for rmse in (fold["settled"]["rmse"], fold["others_settled"]["linear"]["rmse"]):
            assert f"{rmse:.4g}" in said
    verdict = Verdict.from_dict(metrics["verdict"])
    assert verdict.grade is Grade.DO_NOT_USE  # the linear model is better
    page = html.unescape((target / "report.html").read_text())
    assert "\n".join(verdict.lines(MOST_REASONS)) in said
    for reason in verdict.reasons:
        assert reason.sentence in page
    channels = [f"torque of {name}" if name else "torque" for name in folds]
    assert [each.channel for each in verdict.comparisons] == channels
    if mode == "lomo_cv":
        settled = [fold["others_settled"]["linear"]["rmse"] for fold in folds.values()]
        assert metrics["settled_linear_rmse"] == pytest.approx(np.mean(settled))
        settled = [fold["settled"]["rmse"] for fold in folds.values()]
        assert metrics["settled_rmse"] == pytest.approx(np.mean(settled))


@pytest.mark.parametrize("mode", ["global", "lomo_cv"])
def test_a_finished_training_is_listed_as_such(data, tmp_path, capsys, mode):
    target = tmp_path / "runs" / "run"
    run_training(configured(data, f"evaluation_mode={mode}"), target, verbose=False)
    metrics = json.loads((target / "metrics.json").read_text())

    def listed():
        assert main(["study", "list", str(tmp_path), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        return said["runs"], said["damaged"]

    (run,), _ = listed()
    assert (run["kind"], run["state"], run["cost"]) == ("network", "finished", metrics["rmse"])
    assert run["evaluations"] == (2 if mode == "global" else 4)  # epochs
    assert run["seconds"] > 0
    assert main(["study", "show", str(target)]) == 2
    said = capsys.readouterr().err
    assert "is the training of a network" in said
    assert "not finish" not in said
    assert main(["compare", str(target), str(target), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["cost"] == [metrics["rmse"]] * 2
    folds = metrics.get("folds", {"": metrics}).values()
    assert [score["rmse"] for score in compared["scores"][0]] == [fold["rmse"] for fold in folds]
    assert compared["verdict"][0] == metrics["verdict"]
    with RunDirectory.open(target).lock():
        assert listed()[0][0]["state"] == "running"
    (target / "metrics.json").write_text("[]")
    runs, (damaged,) = listed()
    assert runs == []
    assert "metrics.json is damaged" in damaged["message"]
    (target / "metrics.json").unlink()
    assert [(run["state"], run["cost"]) for run in listed()[0]] == [("stopped", None)]


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(data, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["network", "train", f"data.data_base_dir={data}", *SMALL, "--dry-run"]
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    # LSTM: 4 gates x (3 inputs + 6 hidden + 2 biases) x 6, and a head
    assert result["plan"]["parameters"] == 4 * 6 * (3 + 6 + 2) + 7
    assert result["plan"]["seconds"] > 0
    assert result["configuration"]["model"]["gru_hidden_dim"] == 6
    assert main(words) == 0
    assert "271 weights" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_overrides_may_stand_before_and_after_options(data, tmp_path, capsys):
    start = ["network", "train", f"data.data_base_dir={data}", *SMALL]
    more = ["--dry-run", "seed=7", "--output", str(tmp_path / "a=b"), "train.max_epochs=3"]
    assert main([*start, *more, "--json"]) == 0
    configuration = json.loads(capsys.readouterr().out)["configuration"]
    assert (configuration["seed"], configuration["train"]["max_epochs"]) == (7, 3)
    assert configuration["model"]["gru_hidden_dim"] == 6


@pytest.mark.parametrize(
    ("words", "others", "keys"),
    [
        (["a=1", "--quiet", "b.c=2"], ["--quiet"], ("a=1", "b.c=2")),
        (
            ["a=1", "--output", "x=y", "b=2", "-o", "z"],
            ["--output", "x=y", "-o", "z"],
            ("a=1", "b=2"),
        ),
        (["a=1", "--output=x", "b=2"], ["--output=x"], ("a=1", "b=2")),
        (["a=1", "--dry_run", "b=2", "--output"], ["--dry_run", "--output"], ("a=1", "b=2")),
        (["--seed", "3", "a=1"], ["--seed", "3"], ("a=1",)),
        (["--seed", "-5", "a=1"], ["--seed", "-5"], ("a=1",)),
        (["--seed", "-.5", "a=1", "b=2"], ["--seed", "-.5"], ("a=1", "b=2")),
        (["--quiet"], ["--quiet"], ()),
    ],
)
def test_values_of_options_are_no_overrides(words, others, keys):
    assert split_keys(words, TrainNetwork) == (others, keys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.gru_hiden_dim=3"], "gru_hidden_dim"),
        (["data.data_base_dir=nowhere"], "nowhere"),
        (["data.features=[current_a]"], "current_a"),
        (["--resume"], "--output"),
    ],
)
def test_wrong_input_is_one_clear_error(words, message, data, capsys):
    start = [] if "--resume" in words else [f"data.data_base_dir={data}"]
    assert main(["network", "train", *start, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_one_group_cannot_be_left_out(tmp_path, capsys):
    synthesize(SyntheticSettings(duration=4.0), tmp_path / "one")
    words = [f"data.data_base_dir={tmp_path / 'one'}", "evaluation_mode=lomo_cv"]
    assert main(["network", "train", *words]) == 2
    assert "at least two groups" in capsys.readouterr().err
