"""Trainings with every combination of swept overrides."""

import json
import shutil

import pytest
import yaml

from trueup.cli import main
from trueup.networks import SyntheticSettings, synthesize
from trueup.networks.training.multirun import jobs_of

SMALL = (
    "model.model_type.name=gru",
    "model.gru_num_layers=1",
    "train.max_epochs=1",
    "train.accelerator=cpu",
    "train.burn_in=20",
    "data.sequence_duration_s=0.5",
)


def test_jobs_are_every_combination_in_the_order_of_hydra():
    jobs = jobs_of(["seed=1,2", "model.activation=relu", "model.history=choice(3,5)"])
    assert [job.swept for job in jobs] == [
        ("seed=1", "model.history=3"),
        ("seed=1", "model.history=5"),
        ("seed=2", "model.history=3"),
        ("seed=2", "model.history=5"),
    ]
    assert jobs[1].overrides == ("seed=1", "model.activation=relu", "model.history=5")
    # a list is one value, and so is a quoted text
    jobs = jobs_of(["data.test=[a,b],[c]", "wandb.project='x,y'"])
    assert [job.swept for job in jobs] == [("data.test=[a,b]",), ("data.test=[c]",)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("multirun")
    synthesize(SyntheticSettings(inertias=(0.05,), duration=3.0), folder / "data")
    words = [
        *("network", "train", "-m", "model.gru_hidden_dim=3,4", *SMALL),
        *(f"data.data_base_dir={folder}/data", "--output", str(folder / "runs"), "--json"),
    ]
    return folder / "runs", words


def test_every_job_has_a_run_and_a_resume_trains_what_is_missing(swept, capsys):
    runs, words = swept
    assert main(words) in (0, 3)
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [job["swept"] for job in jobs] == [[f"model.gru_hidden_dim={width}"] for width in (3, 4)]
    for number, width in enumerate((3, 4)):
        kept = yaml.safe_load((runs / str(number) / "config.yaml").read_text())
        assert kept["model"]["gru_hidden_dim"] == width
        assert jobs[number]["directory"] == str(runs / str(number))
    assert main(words) == 2
    assert "resume it with --resume" in capsys.readouterr().out
    first = (runs / "0" / "network.safetensors").read_bytes()
    shutil.rmtree(runs / "1")
    resumed = ["network", "train", "-m", "--resume", "--output", str(runs), "--json"]
    assert main(resumed) in (0, 3)
    again = json.loads(capsys.readouterr().out)["jobs"]
    assert [job["rmse"] for job in again] == [job["rmse"] for job in jobs]
    assert (runs / "0" / "network.safetensors").read_bytes() == first
