"""Words of Hydra on the command line of networks: they work, or say what to write instead."""

import pytest

from trueup.cli import main
from trueup.networks import SyntheticSettings, synthesize


def test_a_pattern_needs_no_quotes(tmp_path, capsys):
    synthesize(SyntheticSettings(inertias=(0.05,), duration=3.0), tmp_path / "data")
    words = ["network", "check", "--data", str(tmp_path / "data")]
    assert main([*words, "data.pattern=*.nothing"]) == 2
    assert "*.nothing" in capsys.readouterr().err
    assert main([*words, "data.pattern=*.csv"]) == 0


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("-m", "a loop in the shell"),
        ("--multirun", "a loop in the shell"),
        ("hydra.run.dir=runs/arm", "--output runs/arm"),
        ("hydra.job.name=x", "hydra.job.name"),
        ("~train.max_epochs", "write key=value"),
    ],
)
def test_a_word_of_hydra_is_refused_with_what_to_write(word, says, tmp_path, capsys):
    words = ["network", "train", word, "--output", str(tmp_path / "run")]
    assert main(words) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
