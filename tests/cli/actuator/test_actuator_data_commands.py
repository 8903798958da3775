"""The functions behind ``trueup actuator process``, ``jitter`` and ``record``."""

import json

import numpy as np
import pytest

from trueup.actuators.record import Bench, RecordSettings
from trueup.cli.actuator import data as actuator_data
from trueup.cli.actuator import record as actuator_record
from trueup.cli.output import Output
from trueup.errors import FitError, RecordingError

BENCH = Bench(mass=0.12, length=0.1)
KEYS = {"compat": None, "catalogue": None, "skip_bad_logs": False}


def raw_log(**header):
    times = np.cumsum(np.random.default_rng(0).uniform(0.004, 0.006, 40))
    entries = [
        {
            "timestamp": t,
            "position": 0.1 * t,
            "speed": 0.1,
            "goal_position": 0.2,
            "torque_enable": True,
            "load": 0.1,
        }
        for t in times.tolist()
    ]
    base = {"mass": 0.5, "length": 0.1, "kp": 100, "motor": "xl330", "trajectory": "steps"}
    return {**base, **header, "entries": entries}


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(raw_log()))
    (folder / "b.json").write_text(json.dumps({"mass": 0.5}))
    return folder


def answer(capsys):
    return json.loads(capsys.readouterr().out)


def test_process_names_what_it_left_out_and_what_was_there(raw, tmp_path, capsys):
    even, skipping = tmp_path / "even", KEYS | {"skip_bad_logs": True}
    with pytest.raises(RecordingError, match=r"b\.json"):
        actuator_data.run_process(raw, even, 0.005, Output(), **KEYS)
    even.mkdir()
    (even / "older.json").write_text("{}")
    assert actuator_data.run_process(raw, even, 0.005, Output(json=True), **skipping) == 0
    result = answer(capsys)
    assert [log["path"] for log in result["logs"]] == [str(even / "a.json")]
    assert "b.json" in result["skipped"][0]
    assert result["others"] == [str(even / "older.json")]
    actuator_data.run_process(raw, even, 0.005, Output(), **skipping | {"compat": "bam"})
    text = capsys.readouterr().out
    assert "contains 1 other logs, not written by this command" in text
    assert "1 logs every 5 ms" in text


def test_jitter_writes_its_figures(raw, tmp_path, capsys):
    report = tmp_path / "jitter.html"
    assert actuator_data.run_jitter(raw, report, True, Output(json=True)) == 0
    result = answer(capsys)
    assert result["total"]["rate"] == pytest.approx(200, rel=0.05)
    assert sum(result["histogram"]["counts"]) == result["total"]["intervals"] == 39
    assert "Time between samples" in report.read_text()


def test_a_simulated_servo_is_recorded_and_read(tmp_path, capsys):
    connection = actuator_record.Connection(port="simulated", motor="xl330")
    settings = RecordSettings(settle=0.0, start_speed=20.0, most_retries=0.5)
    planned = {"settings": settings, "bench": BENCH, "quiet": True}
    actuator_record.run_read(connection, Output(json=True))
    assert answer(capsys)["reading"]["input_volts"] == pytest.approx(7.5)
    with pytest.raises(RecordingError, match="unknown trajectory 'sinsin'"):
        actuator_record.run_record(
            connection, 100, "sinsin", tmp_path / "a.json", output=Output(), **planned
        )
    actuator_record.run_sweep(
        connection, [], [], tmp_path, dry_run=True, output=Output(json=True), **planned
    )
    result = answer(capsys)
    assert len(result["logs"]) == 5 * 4
    assert not any(result["done"])
    assert result["seconds"] > 20 * 6
    assert not list(tmp_path.iterdir())


def test_an_unknown_servo_is_named(tmp_path):
    connection = actuator_record.Connection(port="simulated", motor="xl33")
    with pytest.raises(FitError, match="Did you mean 'xl330'"):
        actuator_record.run_read(connection, Output())


def test_what_an_interruption_left_is_recovered(tmp_path, capsys):
    content = raw_log()
    entries = content.pop("entries")
    partial = tmp_path / "a.partial.jsonl"
    partial.write_text("".join(json.dumps(line) + "\n" for line in (content, *entries)))
    actuator_record.run_recover(partial, None, Output(json=True))
    assert json.loads((tmp_path / "a_interrupted.json").read_text())["interrupted"] is True
    assert answer(capsys)["log"].endswith("a_interrupted.json")
    with pytest.raises(RecordingError, match="no such file"):
        actuator_record.run_recover(tmp_path / "absent", None, Output())


def test_the_trajectories_say_what_they_are_for(capsys):
    actuator_record.run_trajectories(Output())
    text = capsys.readouterr().out
    assert "lift_and_drop (6 s)" in text
    assert "staircase" in text
