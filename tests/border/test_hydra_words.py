"""Words of Hydra on the command line of networks: they work, or say what to write instead."""

import pytest
import yaml

from trueup.cli import main
from trueup.networks import SyntheticSettings, synthesize


def test_a_pattern_needs_no_quotes(tmp_path, capsys):
    synthesize(SyntheticSettings(inertias=(0.05,), duration=3.0), tmp_path / "data")
    words = ["network", "check", str(tmp_path / "data")]
    assert main([*words, "data.pattern=*.nothing"]) == 2
    assert "*.nothing" in capsys.readouterr().err
    assert main([*words, "data.pattern=*.csv"]) == 0


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("-m", "no key has several: give some, such as seed=1,2,3"),
        ("--multirun", "no key has several"),
        ("hydra.sweep.dir=runs", "hydra.sweep.dir is the folder of --multirun"),
        ("seed=1,2", "--multirun"),
        ("hydra.run.dir=runs/other", "two run directories"),
        ("hydra.run.dir=", "hydra.run.dir=DIRECTORY"),
        ("hydra.job.name=x", "hydra.job.name"),
        ("data.target_sampling_frequency_hz=200", "use data.rate"),
        ("target_sampling_frequency_hz=200", "use data.rate"),
        ("~train.max_epochs", "write key=value"),
    ],
)
def test_a_word_of_hydra_is_refused_with_what_to_write(word, says, tmp_path, capsys):
    words = ["network", "train", word, "--output", str(tmp_path / "run")]
    assert main(words) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


SMALL = (
    *(
        "model.model_type.name=gru",
        "model.gru_hidden_dim=4",
        "model.gru_num_layers=1",
        "train.max_epochs=1",
    ),
    *("train.accelerator=cpu", "train.burn_in=20", "data.sequence_duration_s=0.5"),
)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["seed=1,2", "train.no_such_key=3"], "unknown configuration key 'train.no_such_key'"),
        (["seed=range(0,2000)"], "2000 trainings; at most 1000"),
        (["seed=1,2", "hydra.run.dir=x"], "hydra.run.dir is the folder without --multirun"),
        (["seed=choice(1,2"], "an override cannot be read"),
        (["seed=1,-3"], "seed is -3"),
    ],
)
def test_a_multirun_that_cannot_be_is_refused_before_the_first_job(words, says, tmp_path, capsys):
    assert main(["network", "train", "-m", *words, "--output", str(tmp_path / "runs")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_folder_without_a_multirun_is_not_resumed(tmp_path, capsys):
    words = ["network", "train", "-m", "--resume", "--output", str(tmp_path)]
    assert main(words) == 2
    assert "has no multirun" in capsys.readouterr().err
    (tmp_path / "multirun.yaml").write_text("jobs: 3")
    assert main(words) == 2
    assert "is damaged" in capsys.readouterr().err


def test_a_run_has_the_layout_of_hydra(tmp_path, capsys):
    """Folder, ``.hydra`` and TorchScript of one network and of one a held-out group."""
    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=3.0), tmp_path / "data")
    words = [f"data.data_base_dir={tmp_path}/data", *SMALL, "train.export_jit_model=true"]
    run = tmp_path / "one"
    assert main(["network", "train", *words, f"hydra.run.dir={run}"]) in (
        0,
        3,
    )
    assert (run / "gru_best_jit.pt").stat().st_size
    kept = {p.name: yaml.safe_load(p.read_text()) for p in (run / ".hydra").iterdir()}
    assert set(kept) == {"config.yaml", "overrides.yaml", "hydra.yaml"}
    assert kept["overrides.yaml"] == words
    assert kept["config.yaml"] == yaml.safe_load((run / "config.yaml").read_text())
    assert kept["config.yaml"]["model"]["gru_hidden_dim"] == 4
    assert kept["hydra.yaml"]["hydra"]["run"]["dir"] == str(run)
    folds = tmp_path / "folds"
    words = ["network", "train", *words, "evaluation_mode=lomo_cv", "--output", str(folds)]
    assert main(words) in (0, 3)
    found = sorted(str(p.relative_to(folds)) for p in folds.rglob("*.pt"))
    assert found == [f"checkpoints/fold_{k}/jit_models/gru_fold_{k}_best_jit.pt" for k in (1, 2)]
