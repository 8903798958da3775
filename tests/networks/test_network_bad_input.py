"""Wrong recordings, checkpoints and files from the command line: one clear error, exit code 2."""

import json

import numpy as np
import pytest
from recorded_joints import joint_columns, write_csv

from trueup.cli import main

pytest.importorskip("lightning")

SMALL = ("model.gru_hidden_dim=4", "train.max_epochs=1", "train.accelerator=cpu")
GROUPS = (
    "data.inertia_groups=[{id: a, folder: low, inertia: 0.1}, {id: b, folder: high, inertia: 0.2}]"
)


@pytest.fixture
def data(tmp_path):
    for name in ("low", "high"):
        write_csv(tmp_path / "data" / name / "run.csv", joint_columns())
    return tmp_path / "data"


def lacking_a_column(data):
    columns = joint_columns()
    del columns["Gyro_Z"]
    write_csv(data / "low" / "run.csv", columns)


def another_rate(data):
    write_csv(data / "low" / "run.csv", joint_columns(800, 200.0))


def nothing_but_nan(data):
    columns = joint_columns()
    columns["Acc_Y"] = np.full(400, np.nan)
    write_csv(data / "low" / "run.csv", columns)


def another_name(data):
    (data / "low").rename(data / "other")


CASES = {
    "missing column": (lacking_a_column, (GROUPS,), "Gyro_Z"),
    "missing group folder": (another_name, (GROUPS,), "no folder 'low'"),
    "one group left out": (
        None,
        ("data.inertia_groups=[{id: a, folder: low, inertia: 0.1}]", "evaluation_mode=lomo_cv"),
        "at least two groups",
    ),
    "files of different rates": (another_rate, (GROUPS,), "different rates"),
    "a channel of nan": (nothing_but_nan, (GROUPS, "data.repair=true"), "no finite value"),
}


@pytest.mark.parametrize("case", CASES)
def test_recordings_that_cannot_be_trained_on(case, data, capsys):
    spoil, words, message = CASES[case]
    if spoil is not None:
        spoil(data)
    output = ["--output", str(data.parent / "run")]
    assert main(["network", "train", f"data.data_base_dir={data}", *SMALL, *words, *output]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (data.parent / "run").exists()


def test_a_checkpoint_of_another_shape_and_a_corrupt_network(data, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["network", "train", f"data.data_base_dir={data}", GROUPS, *SMALL]
    assert main([*words, "--output", str(run)]) == 0
    # as if the run had been stopped, and its settings changed since
    (run / "training.json").unlink()
    experiment = run / "experiment.yaml"
    experiment.write_text(experiment.read_text().replace("gru_hidden_dim: 4", "gru_hidden_dim: 5"))
    capsys.readouterr()
    assert main(["network", "train", "--resume", "--output", str(run)]) == 2
    error = capsys.readouterr().err
    assert "another network or is damaged" in error
    assert "Traceback" not in error
    network = run / "network.safetensors"
    whole = network.read_bytes()
    for content in (whole[:200], whole[:-8], b"\x80\x04" + whole, b""):
        network.write_bytes(content)
        assert main(["network", "evaluate", str(run), "--data", str(data), "--json"]) == 2
        result = json.loads(capsys.readouterr().out)
        assert result["error"] == "FitError"
        assert "network.safetensors" in result["message"]
