"""Trainings on a full disk: what is kept, what is said, and the weights after a resume."""

import errno
import json
import os
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from small_trainings import SMALL

from trueup.cli import main
from trueup.networks.training.checkpoint_callback import CheckpointCallback
from trueup.runs import atomic

EVERY_EPOCH = "train.checkpointing.every_seconds=0.01"


def training(data: Path, run: Path) -> list[str]:
    """Words of the command of a small training of three epochs."""
    settings = [word for word in SMALL if "max_epochs" not in word]
    words = ["network", "train", f"data.data_base_dir={data}", *settings]
    return [*words, "train.max_epochs=3", EVERY_EPOCH, "--output", str(run)]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory) -> Path:
    """The run that no full disk stops."""
    run = tmp_path_factory.mktemp("whole") / "run"
    assert main(training(data, run)) in (0, 3)
    return run


def full_at(monkeypatch: pytest.MonkeyPatch, name: str, turn: int) -> None:
    """Let the disk fill up while a file of this name is written for the ``turn``-th time."""
    writer = sys.modules[atomic.write_bytes.__module__]
    plain, turns = writer._write_new, []

    def write(path: Path, content: bytes, permissions: int | None) -> None:
        if f".{name}." in path.name:
            turns.append(path)
        if len(turns) >= turn:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(path, content, permissions)

    monkeypatch.setattr(writer, "_write_new", write)


def same_weights(run: Path, whole: Path) -> None:
    found, expected = (load_file(r / "network.safetensors") for r in (run, whole))
    assert found.keys() == expected.keys()
    for name, weights in expected.items():
        np.testing.assert_array_equal(found[name], weights, err_msg=name)
    metrics = [json.loads((r / "metrics.json").read_text())["rmse"] for r in (run, whole)]
    assert metrics[0] == metrics[1]


@pytest.mark.parametrize(
    ("name", "turn", "says"),
    [
        ("last.ckpt", 1, "no checkpoint"),
        ("last.ckpt", 2, "The last checkpoint is saved"),
        ("network.safetensors", 2, "The last checkpoint is saved"),
    ],
)
def test_what_is_kept_is_said_and_resumes_to_the_same_weights(
    name, turn, says, data, whole, tmp_path, monkeypatch, capfd
):
    run = tmp_path / "run"
    full_at(monkeypatch, name, turn)
    capfd.readouterr()
    assert main(training(data, run)) == 2
    said = capfd.readouterr().err.splitlines()[-1]
    assert name in said and os.strerror(errno.ENOSPC) in said
    assert says in said and f"trueup study resume {run}" in said
    monkeypatch.undo()
    assert not list(run.rglob(".*partial*"))
    if "no checkpoint" not in says:
        torch.load(run / "checkpoints/last.ckpt", weights_only=False)
    assert main(["study", "resume", str(run)]) in (0, 3)
    same_weights(run, whole)


def test_a_full_disk_before_anything_is_saved_leaves_nothing(data, tmp_path, monkeypatch, capfd):
    run = tmp_path / "run"
    full_at(monkeypatch, "network.safetensors", 1)
    capfd.readouterr()
    assert main(training(data, run)) == 2
    assert "resume" not in capfd.readouterr().err
    assert not run.exists()


def test_half_a_line_of_the_history_does_not_stay(data, whole, tmp_path, monkeypatch, capfd):
    """The limit on the size of a file stands for the full disk: a write is cut in the same way."""
    run = tmp_path / "run"
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    append = CheckpointCallback._append

    def cut(self, path: Path, line: str) -> None:
        if path.exists():
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, former[1]))
        try:
            append(self, path, line)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, former)

    monkeypatch.setattr(CheckpointCallback, "_append", cut)
    capfd.readouterr()
    assert main(training(data, run)) == 2
    assert "history.jsonl" in capfd.readouterr().err
    monkeypatch.undo()
    (line,) = (run / "history.jsonl").read_text().splitlines()
    assert json.loads(line)["epoch"] == 0
    assert main(["study", "resume", str(run)]) in (0, 3)
    same_weights(run, whole)
