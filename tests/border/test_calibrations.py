"""Calibration files of servos next to a log that do not fit it, are damaged, or are none."""

import json

import driven_pendulum as pendulum
import pytest
from work import refused

from trueup.cli import main

MOTOR = {"id": 1, "drive_mode": 0, "homing_offset": -5, "range_min": 900, "range_max": 3100}


def content(name="hinge", **fields):
    return json.dumps({name: {**MOTOR, **fields}})


WRONG = {
    "another motor": (content("elbow_flex"), ("no motor 'hinge'", "elbow_flex")),
    "no range": (content(range_max=900), ("range 900 to 900 of hinge",)),
    "several turns": (content(range_max=90000), ("90000", "4095")),
    "a tick as text": (content(range_min="900"), ("range_min", "hinge")),
    "a tick in part": (content(range_min=900.5), ("range_min", "hinge")),
    "a truth value": (content(drive_mode=True), ("drive_mode", "hinge")),
    "cut off": (content()[:-20], ("cannot be read",)),
    "bytes": ("\x00\ud800", ("cannot be read",)),
}


def words(folder):
    """An import of the log of the pendulum with the columns of a servo arm."""
    pendulum.write(folder)
    header, *rows = (folder / "run.csv").read_text().splitlines()
    names = header.replace("angle", "observation.state/hinge.pos")
    (folder / "arm.csv").write_text("\n".join([names, *rows]) + "\n")
    return ["import", str(folder / "arm.csv"), str(folder / "pendulum.xml"),
            "-o", str(folder / "new.yaml")]  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_calibration_that_does_not_fit_is_refused(case, tmp_path, capfd):
    text, named = WRONG[case]
    command = words(tmp_path)
    (tmp_path / "calibration").mkdir()
    file = tmp_path / "calibration/arm.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    refused(command, tmp_path, capfd, named=("arm.json", *named))


def test_other_files_next_to_a_log_are_no_calibrations(tmp_path, capfd):
    command = words(tmp_path)
    for name, text in (("list", "[1, 2]"), ("empty", "{}"), ("cut", '{"a": '), ("other", "1e999")):
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert main([*command, "--no-check"]) in (0, 3)
    assert "calibration" not in capfd.readouterr().err
