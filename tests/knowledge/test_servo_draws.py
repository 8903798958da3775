"""Draws of a servo fit: their truth, their band over logs left out, and the command."""

import json

import pytest
from fitted_servo import TRUTH

from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.randomise import export_randomisation


def test_draws_of_a_servo_hold_its_truth_and_the_band_holds_the_log_left_out(
    servo_fit_run, tmp_path
):
    made_draws = export_randomisation(servo_fit_run, tmp_path / "rows", draws=200)
    described = made_draws.description
    assert [p["name"] for p in described["parameters"]] == [
        name for name in TRUTH.names if name != "q_offset"
    ]
    assert described["checked"]
    for row in described["parameters"]:
        spread = row["high"] - row["low"]
        assert abs(row["median"] - TRUTH.values[row["name"]]) < 1.5 * spread, row
    (band,) = described["band"]
    assert band["recording"] == "run3"
    assert band["inside"]["position"] > 0.7
    # torque constant and resistance act together through the gain of the position error
    names = list(made_draws.draws.names)
    correlation = made_draws.draws.correlation()[names.index("kt"), names.index("R")]
    assert correlation > 0.5
    assert made_draws.narrower > 1.2


def test_the_command_takes_a_servo_and_refuses_what_it_cannot_do(servo_fit_run, tmp_path, capsys):
    target = tmp_path / "mjlab"
    arguments = ["export", "dr", str(servo_fit_run), "draws=64", "--output", str(target)]
    assert main([*arguments, "--form", "mjlab"]) == 0
    assert (target / "posterior_servo.py").is_file() and (target / "report.html").is_file()
    description = json.loads((target / "dr.json").read_text())
    assert [p["target"] for p in description["parameters"]][:2] == ["servo/kt", "servo/R"]
    beside = servo_fit_run.with_suffix(".json")
    assert main(["export", "dr", str(beside), "--dry-run"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--form", "playground", "--overwrite"]) == 2
    assert (
        "supports draws of a model, not draws of a servo; forms for draws of a servo are 'mjlab'"
        in capsys.readouterr().err
    )
    assert main(["export", "dr", "--form", "mjlab"]) == 2
    assert "the run directory is missing" in capsys.readouterr().err
    lonely = tmp_path / "servo.json"
    lonely.write_text(beside.read_text())
    assert main(["export", "dr", str(lonely)]) == 2
    said = capsys.readouterr().err
    assert "servo.json is a file without its run directory" in said and "servo.run" in said
    with pytest.raises(RunDirectoryError, match="is a servo fit"):
        from trueup.knowledge import identified_run

        identified_run(servo_fit_run)
