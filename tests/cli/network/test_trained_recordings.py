"""The recordings of a training are found from anywhere, and known again by their hashes."""

import json
import shutil

import pytest
import yaml

from trueup.cli import main
from trueup.networks import SyntheticSettings, load_network, save_network, synthesize

pytest.importorskip("lightning")

SMALL = (
    "model.model_type.name=gru",
    "model.gru_hidden_dim=4",
    "model.gru_num_layers=1",
    "train.max_epochs=1",
    "train.accelerator=cpu",
    "data.sequence_duration_s=0.5",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with recordings and trainings that were begun in it, by paths as typed."""
    folder = tmp_path_factory.mktemp("place")
    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=4.0), folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ["network", "train", "data.data_base_dir=data", *SMALL]
        assert main([*words, "--output", "run", "--quiet"]) in (0, 3)
        assert main([*words, "evaluation_mode=lomo_cv", "--output", "folds", "--quiet"]) in (0, 3)
    return folder


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working folder with other recordings under the same name."""
    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=2.0), tmp_path / "data", 7)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["run", "run/network.safetensors", "run/linear.safetensors"])
def test_a_run_is_scored_on_its_own_recordings_from_any_folder(name, place, elsewhere, command):
    code, result = command("network", "evaluate", place / name)
    assert code in (0, 3)  # a small network may be worse than a constant
    assert result["data"] == str(place / "data")
    assert [file["samples"] for file in result["files"]] == [400, 400]
    assert result["trained_on"] == {"count": 2, "of": 2}


def test_a_run_that_moved_alone_still_knows_its_recordings(place, elsewhere, command):
    deep = elsewhere / "a" / "b"
    shutil.copytree(place / "run", deep / "run")
    assert command("network", "evaluate", deep / "run")[1]["data"] == str(place / "data")
    # a run of old, without the whole path: beside it as it was, or a clear error
    experiment = deep / "run" / "experiment.yaml"
    content = yaml.safe_load(experiment.read_text())
    del content["data_folder"]
    experiment.write_text(yaml.safe_dump(content))
    code, result = command("network", "evaluate", deep / "run")
    assert (code, result["error"]) == (2, "RecordingError")
    assert f"no longer in {deep / 'data'}: give their folder with --data" in result["message"]
    shutil.copytree(place / "data", deep / "data")
    assert command("network", "evaluate", deep / "run")[1]["data"] == str(deep / "data")
    del content["configuration"]
    experiment.write_text(yaml.safe_dump(content))
    code, result = command("network", "evaluate", deep / "run")
    assert (code, result["error"]) == (2, "RunDirectoryError")


def test_a_file_outside_of_its_run_never_takes_another_folder_of_that_name(
    place, elsewhere, command
):
    file = elsewhere / "alone.safetensors"
    shutil.copy(place / "run" / "network.safetensors", file)
    for words in (["evaluate", file], ["predict", file, "--output", elsewhere / "out"]):
        code, result = command("network", *words)
        assert (code, result["error"]) == (2, "ExperimentError")
        assert "give the folder of the recordings with --data" in result["message"]
    code, result = command("network", "evaluate", file, "--data", place / "data")
    assert code in (0, 3)
    assert result["trained_on"] == {"count": 2, "of": 2}


def test_recordings_that_were_trained_on_are_counted(place, elsewhere, command, capsys):
    fresh = ("--data", elsewhere / "data")
    assert command("network", "evaluate", place / "run", *fresh)[1]["trained_on"]["count"] == 0
    fold = place / "folds" / "fold_1"
    assert command("network", "evaluate", fold)[1]["trained_on"] == {"count": 1, "of": 2}
    report = elsewhere / "scores.html"
    assert main(["network", "evaluate", str(fold), "--report", str(report)]) in (0, 3)
    sentence = "1 of these 2 recordings was part of the training, whole or in part"
    assert sentence in capsys.readouterr().out
    assert sentence in report.read_text()
    # networks of old tell all recordings that a run read, those held out included
    network = load_network(fold / "network.safetensors")
    del network.provenance["trained_on"]
    save_network(network, elsewhere / "fold.safetensors")
    held = ("network", "evaluate", elsewhere / "fold.safetensors", "--data", place / "data")
    assert command(*held)[1]["trained_on"] is None
    network.provenance["split"] = "global"
    save_network(network, elsewhere / "global.safetensors")
    whole = ("network", "evaluate", elsewhere / "global.safetensors", "--data", place / "data")
    assert command(*whole)[1]["trained_on"] == {"count": 2, "of": 2}


def test_a_network_file_holds_no_whole_path(place):
    network = load_network(place / "run" / "network.safetensors")
    assert str(place) not in json.dumps(network.provenance)
