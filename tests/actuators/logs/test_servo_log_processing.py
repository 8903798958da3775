"""Resampling: commands held, measurements interpolated, nothing extrapolated; and the reference."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.actuators import jitter, jitter_figure, process, read_logs, resample_log
from trueup.actuators.logs.files import parse_log
from trueup.errors import RecordingError, RunDirectoryError


def raw_log(times, **header):
    """A raw log whose position is 0.1 t, and whose goal and torque change half way."""
    half = times[len(times) // 2]
    entries = [
        {
            "timestamp": float(t),
            "position": 0.1 * float(t),
            "speed": 0.1,
            "load": 0.0,
            "input_volts": 7.0 + float(t),
            "goal_position": 1.0 if t < half else 2.0,
            "torque_enable": bool(t < half),
            "goal_speed": 1.0 if t < half else 2.0,
        }
        for t in times
    ]
    base = {"mass": 0.49, "length": 0.1, "kp": 200, "vin": 7.4, "motor": "xl330"}
    return {**base, "trajectory": "steps", **header, "entries": entries}


def uneven_times(samples=50, seed=0):
    return 0.003 + np.cumsum(np.random.default_rng(seed).uniform(0.003, 0.008, samples))


def save(folder, name, content):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content))
    return path


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(5, 60),
    dt=st.floats(0.001, 0.01),
)
def test_commands_are_held_and_nothing_is_extrapolated(seed, samples, dt):
    times = uneven_times(samples, seed)
    raw = parse_log(raw_log(times), "a", "a")
    log = resample_log(raw, dt)
    assert log.times[0] == times[0]
    assert times[-1] - dt < log.times[-1] <= times[-1] + 1e-9 * dt
    np.testing.assert_allclose(np.diff(log.times), dt)
    np.testing.assert_allclose(log.position, 0.1 * log.times, atol=1e-12)
    # a command is that of the last sample before, never between two
    latest = [np.flatnonzero(times <= t + 1e-9 * dt)[-1] for t in log.times]
    np.testing.assert_array_equal(log.goal_position, raw.goal_position[latest])
    np.testing.assert_array_equal(log.torque_enable, raw.torque_enable[latest])
    np.testing.assert_array_equal(log.columns["goal_speed"], raw.goal_position[latest])


def test_an_even_log_stays_what_it_is():
    times = 0.2 + 0.005 * np.arange(40)
    log = resample_log(parse_log(raw_log(times), "a", "a"), 0.005)
    assert len(log) == 40
    again = resample_log(log, 0.005)
    np.testing.assert_allclose(again.position, log.position, atol=1e-15)
    np.testing.assert_array_equal(again.goal_position, log.goal_position)


def test_a_folder_is_processed_with_its_provenance(tmp_path):
    raw = save(tmp_path / "raw", "a.json", raw_log(uneven_times(), note="x"))
    save(tmp_path / "raw", "b.json", raw_log(uneven_times(seed=1), note="y"))
    done = process(tmp_path / "raw", tmp_path / "even", 0.004)
    assert [log.path.name for log in done] == ["a.json", "b.json"]
    content = json.loads((tmp_path / "even" / "a.json").read_text())
    assert content["dt"] == 0.004
    assert content["note"] == "x"
    assert content["provenance"]["source"] == "a.json"
    import hashlib

    assert content["provenance"]["sha256"] == hashlib.sha256(raw.read_bytes()).hexdigest()
    assert isinstance(content["entries"][0]["torque_enable"], bool)
    logs = read_logs(tmp_path / "even", uniform=True)
    assert [len(log) for log in logs] == [log.samples for log in done]
    assert not list((tmp_path / "even").glob(".*"))


def test_failed_reads_are_left_out_and_counted(tmp_path):
    content = raw_log(uneven_times(120))
    content["entries"][60]["position"] = -3.14
    save(tmp_path / "raw", "a.json", content)
    (done,) = process(tmp_path / "raw", tmp_path / "even")
    assert done.failed_reads == 1
    (log,) = read_logs(tmp_path / "even")
    np.testing.assert_allclose(log.position, 0.1 * log.times, atol=1e-12)
    assert log.header["provenance"]["failed_reads"] == 1


def test_too_many_failed_reads_are_refused(tmp_path):
    content = raw_log(uneven_times(60))
    for index in range(5, 55, 10):
        content["entries"][index]["position"] = -3.14
    save(tmp_path / "raw", "a.json", content)
    with pytest.raises(RecordingError, match=r"a\.json: 5 of 60 reads failed"):
        process(tmp_path / "raw", tmp_path / "even")


def test_a_wrapped_angle_is_no_failed_read(tmp_path):
    content = raw_log(uneven_times(60))
    for entry in content["entries"][30:]:
        entry["position"] -= 2 * np.pi
    save(tmp_path / "raw", "a.json", content)
    with pytest.raises(RecordingError, match=r"a\.json: .*jump of 2 pi"):
        process(tmp_path / "raw", tmp_path / "even")


def test_a_log_is_split_at_a_gap(tmp_path):
    times = uneven_times(400)
    times[200:] += 0.4
    times[395:] += 0.4  # the rest is too short for a log
    raw = raw_log(times)
    save(tmp_path / "raw", "a.json", raw)
    done = process(tmp_path / "raw", tmp_path / "even")
    assert [log.path.name for log in done] == ["a_part1.json", "a_part2.json"]
    first, second = read_logs(tmp_path / "even")
    assert first.times[-1] <= times[199] < times[200] <= second.times[0]
    np.testing.assert_allclose(second.position[0], raw["entries"][200]["position"])
    assert second.times[-1] <= times[394]
    assert first.header["provenance"]["sha256"] == second.header["provenance"]["sha256"]
    gap = [finding for log in done for finding in log.findings if finding.check == "gap"]
    assert "is split into 2 parts" in gap[0].sentence
    lost = times[200] - times[199] + times[395] - times[394]
    assert gap[0].figures["seconds"] == pytest.approx(lost, abs=1e-5)


def test_a_log_of_gaps_alone_is_refused(tmp_path):
    save(tmp_path / "raw", "a.json", raw_log(0.3 * np.arange(40)))
    with pytest.raises(RecordingError, match=r"a\.json: no sample between"):
        process(tmp_path / "raw", tmp_path / "even")


def test_nothing_is_written_where_one_log_is_bad(tmp_path):
    save(tmp_path / "raw", "a.json", raw_log(uneven_times()))
    save(tmp_path / "raw", "b.json", {"mass": 1})
    with pytest.raises(RecordingError, match=r"b\.json.*skip_bad_logs"):
        process(tmp_path / "raw", tmp_path / "even")
    assert not (tmp_path / "even").exists()
    skipped = []
    done = process(tmp_path / "raw", tmp_path / "even", skip_bad=True, on_skip=skipped.append)
    assert [log.path.name for log in done] == ["a.json"]
    assert len(skipped) == 1


def test_a_log_of_another_servo_can_be_skipped(tmp_path):
    for name, motor in (("a", "xl330"), ("b", "mx64"), ("c", "xl330")):
        save(tmp_path / "raw", f"{name}.json", {**raw_log(uneven_times()), "motor": motor})
    with pytest.raises(RecordingError, match=r"b\.json: .*2 of 'xl330', .*1 of 'mx64'"):
        process(tmp_path / "raw", tmp_path / "even")
    assert not (tmp_path / "even").exists()
    skipped = []
    done = process(tmp_path / "raw", tmp_path / "even", skip_bad=True, on_skip=skipped.append)
    assert [log.path.name for log in done] == ["a.json", "c.json"]
    assert not (tmp_path / "even" / "b.json").exists()
    assert len(skipped) == 1 and "mx64" in skipped[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dt": 0.0}, "must be a positive time"),
        ({"dt": float("nan")}, "must be a positive time"),
        ({"dt": 10.0}, "shorter than a step"),
        ({"compat": "bma"}, "unknown value compat='bma'"),
        ({"logdir": "raw"}, "would replace the raw ones"),
        ({"logdir": "file"}, "is a file; expected a folder"),
        ({"raw": "empty"}, "contains no log"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, arguments, message):
    save(tmp_path / "raw", "a.json", raw_log(uneven_times()))
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    given = {"raw": "raw", "logdir": "even", **arguments}
    given |= {name: tmp_path / given[name] for name in ("raw", "logdir")}
    with pytest.raises(RecordingError, match=message):
        process(**given)


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path):
    save(tmp_path / "raw", "a.json", raw_log(uneven_times()))
    (tmp_path / "even" / "a.json").mkdir(parents=True)  # a folder in the way of the file
    with pytest.raises(RunDirectoryError, match=r"cannot write .*a\.json"):
        process(tmp_path / "raw", tmp_path / "even")
    assert [p.name for p in (tmp_path / "even").iterdir()] == ["a.json"]


def test_the_compatible_resampling_is_that_of_its_description(tmp_path):
    """Entry by entry, from the words: linear everywhere, a grid from 0 s, torque above one half."""
    content = raw_log(np.array([0.004, 0.0075, 0.012, 0.022]))
    save(tmp_path / "raw", "a.json", content)
    process(tmp_path / "raw", tmp_path / "even", 0.005, compat="bam")
    entries = json.loads((tmp_path / "even" / "a.json").read_text())["entries"]
    raw = content["entries"]
    assert [entry["timestamp"] for entry in entries] == np.arange(0, 0.022, 0.005).tolist()
    for entry in entries:
        t = entry["timestamp"]
        first = max([i for i in range(3) if raw[i]["timestamp"] < t], default=0)
        a, b = raw[first], raw[first + 1]
        share = (t - a["timestamp"]) / (b["timestamp"] - a["timestamp"])
        for name in ("position", "goal_position", "input_volts"):
            assert entry[name] == pytest.approx(a[name] + share * (b[name] - a[name]), abs=1e-15)
        torque = a["torque_enable"] + share * (b["torque_enable"] - a["torque_enable"])
        assert entry["torque_enable"] is (torque > 0.5)
    assert entries[0]["position"] == pytest.approx(0.0, abs=1e-12)  # extrapolated


def test_the_compatible_resampling_starts_the_reference_rollouts(recorded_data, tmp_path):
    """Positions simulated by the reference start at its own first resampled position."""
    golden = np.load(recorded_data / "golden" / "bam_xl330_positions_dev.npz")
    process(recorded_data / "xl330_bench", tmp_path, compat="bam")
    logs = {log.name: log for log in read_logs(tmp_path)}
    assert golden.files
    for key in golden.files:
        log = logs[key.split("/")[0].removesuffix(".json")]
        assert golden[key].shape == log.position.shape
        assert golden[key][0] == log.position[0]


def test_recorded_logs_are_processed(recorded_data, tmp_path):
    done = process(recorded_data / "sts3215_bench", tmp_path)
    assert sum(log.failed_reads for log in done) == 9
    assert len(read_logs(tmp_path, uniform=True)) == 48


def test_the_jitter_of_an_even_clock_is_none():
    log = parse_log(raw_log(0.01 * np.arange(30)), "even", "a")
    measured = jitter([log])
    assert measured.total.rate == pytest.approx(100)
    assert measured.total.std == pytest.approx(0, abs=1e-12)
    assert measured.total.late == 0


def test_jitter_is_measured_per_log_and_in_all():
    times = 0.01 * np.arange(30)
    late = times.copy()
    late[20:] += 0.02
    logs = [parse_log(raw_log(t), name, "a") for t, name in ((times, "even"), (late, "late"))]
    measured = jitter(logs)
    assert [each.name for each in measured.logs] == ["even", "late"]
    assert [each.late for each in measured.logs] == [0, 1]
    assert measured.logs[1].longest == pytest.approx(0.03)
    assert measured.total.intervals == measured.counts.sum() == 58
    assert "58 intervals of 2 logs" in str(jitter_figure(measured).__dict__)
    with pytest.raises(RecordingError, match="at least one log"):
        jitter([])
