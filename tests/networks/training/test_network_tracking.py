"""Trackers of trainings: what they are told, when a run is resumed, and when one fails."""

from typing import ClassVar

import pytest
from small_trainings import configured

from trueup.errors import TrueupWarning
from trueup.networks.training.train import resumed_configuration, run_training
from trueup.runs import RunDirectory
from trueup.runs.trackers import TRACKERS, ScalarTracker
from trueup.runs.trackers.registry import TrackerKind


class RecordedCalls(ScalarTracker):
    """A tracker that keeps what it is told."""

    name = "recorded calls"
    calls: ClassVar[list[tuple]] = []

    def __init__(self, *arguments, **named):
        self.calls.append(("made", *arguments, *named.values()))

    def begin(self, run):
        self.calls.append(("begin", run.name, run.group, run.first_step))
        assert run.config["configuration"]["model"]["gru_hidden_dim"] == 6

    def watch(self, module, every):
        self.calls.append(("watch", every, sum(p.numel() for p in module.parameters())))

    def log(self, step, values):
        self.calls.append(("log", step, values["val_rmse_epoch"]))

    def finish(self, summary):
        self.calls.append(("finish", summary["rmse"]))


@pytest.fixture
def recorded_calls(monkeypatch):
    monkeypatch.setattr(RecordedCalls, "calls", [])
    kind = TrackerKind("Keep calls.", __name__, "RecordedCalls")
    monkeypatch.setitem(TRACKERS, "recorded", kind)
    return RecordedCalls.calls


def test_weights_and_biases_is_told_only_where_asked_for(
    data, tmp_path, monkeypatch, recorded_calls
):
    monkeypatch.setattr("trueup.networks.training.tracking.WandbTracker", RecordedCalls)
    run_training(configured(data), tmp_path / "off", verbose=False)
    assert recorded_calls == []
    on = ("active=true", "project=p", "entity=e", "name_suffix=s", "group_suffix=g")
    words = [f"wandb.{each}" for each in (*on, "watch_log_freq=5")]
    result = run_training(configured(data, *words), tmp_path / "on", verbose=False)
    weights = sum(w.size for w in result.splits[0].network.weights.values())
    assert recorded_calls[:3] == [
        ("made", "p", "e"), ("begin", "on-global-s", "on-g", 0), ("watch", 5, weights),
    ]  # fmt: skip
    assert [call[:2] for call in recorded_calls[3:-1]] == [("log", 0), ("log", 1)]
    assert recorded_calls[-1] == ("finish", result.metrics["rmse"])


def test_any_tracker_follows_folds_and_members_and_a_resumed_run(data, tmp_path, recorded_calls):
    words = ("trackers=[recorded]", "evaluation_mode=lomo_cv", "model.ensemble_members=2")
    run_training(configured(data, *words), tmp_path / "run", verbose=False)
    begun = [call[1:] for call in recorded_calls if call[0] == "begin"]
    groups = sorted(path.name for path in data.iterdir() if path.is_dir())
    assert begun == [(f"run-{name}", "run", 0) for name in groups]
    steps = [call[1] for call in recorded_calls if call[0] == "log"]
    assert steps == len(groups) * [0, 1, 2, 3]  # two epochs of each of two members
    # the second member of the second fold is trained again
    member = tmp_path / "run" / "fold_2" / "members" / "02"
    (member / "training.json").unlink()
    (member / "checkpoints" / "last.ckpt").unlink()
    recorded_calls.clear()
    configuration = resumed_configuration(RunDirectory.open(tmp_path / "run"))
    run_training(configuration, tmp_path / "run", resume=True, verbose=False)
    begun = [call[1:] for call in recorded_calls if call[0] == "begin"]
    assert begun[:2] == [(f"run-{groups[0]}", "run", 4), (f"run-{groups[1]}", "run", 2)]
    assert [call[1] for call in recorded_calls if call[0] == "log"] == [2, 3]


def test_a_tracker_that_fails_never_stops_a_training(data, tmp_path, monkeypatch, recorded_calls):
    def failing(self, step, values):
        raise OSError("the disk is full")

    monkeypatch.setattr(RecordedCalls, "log", failing)
    with pytest.warns(TrueupWarning, match=r"recorded calls failed.*the disk is full"):
        run_training(configured(data, "trackers=[recorded]"), tmp_path / "run", verbose=False)
    assert (tmp_path / "run" / "metrics.json").is_file()
    assert "the disk is full" in (tmp_path / "run" / "log.jsonl").read_text()


def test_weights_and_biases_takes_a_run_without_a_network_connection(data, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # the tracker ends the package's service, so that no process of its own is needed
    run_training(
        configured(data, "debug=true", "wandb.active=true"), tmp_path / "on", verbose=False
    )
    written = list((tmp_path / "on").rglob("offline-run-*/*.wandb"))
    assert len(written) == 1
    content = written[0].read_bytes()
    assert b"val_rmse_epoch" in content
    assert b"gru_hidden_dim" in content
