"""Reading servo logs: the format, its dialects, and everything that makes a log unusable."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.actuators import read_log, read_logs, split_logs, write_log
from trueup.actuators.logs.files import parse_log
from trueup.errors import RecordingError, TrueupWarning


def log_content(samples=60, **header):
    """A raw log of 5 ms steps with a swing of half a radian."""
    times = 0.003 + 0.005 * np.arange(samples)
    entries = [
        {
            "timestamp": t,
            "position": 0.5 * np.sin(3 * t),
            "speed": 1.5 * np.cos(3 * t),
            "goal_position": 0.5 * np.sin(3 * t + 0.1),
            "torque_enable": True,
            "load": 3,
            "input_volts": 7.4,
            "temp": 30,
        }
        for t in times.tolist()
    ]
    base = {"mass": 0.49, "arm_mass": 0.01, "length": 0.1, "kp": 200, "vin": 7.4}
    return {**base, "motor": "xl330", "trajectory": "sin_sin", **header, "entries": entries}


def save(folder, name, content):
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_a_log_is_read_in_si_units(tmp_path):
    content = log_content(damping=2.0, bench="left")
    content["entries"][5]["load"] = 65536 - 885  # two's complement
    content["entries"][6]["current"] = 0.0
    for entry in content["entries"]:
        entry["current"] = 0.25
    log = read_log(save(tmp_path, "a.json", content))
    assert (log.name, log.motor, log.trajectory) == ("a", "xl330", "sin_sin")
    assert (log.mass, log.arm_mass, log.length, log.kp, log.vin) == (0.49, 0.01, 0.1, 200.0, 7.4)
    assert (log.damping, log.dt) == (2.0, None)
    assert log.load is not None
    np.testing.assert_allclose(log.load[4:6], [3 / 885, -1.0])
    np.testing.assert_array_equal(log.columns["current"], 0.25)
    assert log.header == {"bench": "left"}
    assert len(log.sha256) == 64
    assert len(log) == 60
    assert log.duration == pytest.approx(59 * 0.005)
    with pytest.raises(ValueError, match="read-only"):
        log.position[0] = 1.0


def test_dialects_of_the_arm_mass_are_understood():
    assert parse_log(log_content(), "a", "a").arm_mass == 0.01
    dashed = log_content()
    dashed["arm-mass"] = dashed.pop("arm_mass")
    assert parse_log(dashed, "a", "a").arm_mass == 0.01
    del dashed["arm-mass"]
    assert parse_log(dashed, "a", "a").arm_mass == 0.0


def test_a_log_without_load_voltage_and_temperature_is_read():
    content = log_content(damping=2.0)
    del content["vin"]
    for entry in content["entries"]:
        for name in ("load", "input_volts", "temp"):
            del entry[name]
        entry |= {"torque_demand": 1.5, "control": -0.5}
    log = parse_log(content, "a", "a")
    assert (log.load, log.input_volts, log.temperature, log.vin) == (None, None, None, None)
    np.testing.assert_array_equal(log.columns["control"], -0.5)


@pytest.mark.parametrize(
    ("motor", "raw", "duty"),
    [("xl330", 65535, -1 / 885), ("mx64", 1024 + 500, -0.5), ("sts3215", 1024 + 97, -0.097)],
)
def test_the_load_of_each_servo_becomes_a_duty_cycle(motor, raw, duty):
    content = log_content(motor=motor)
    content["entries"][0]["load"] = raw
    load = parse_log(content, "a", "a").load
    assert load is not None
    assert load[0] == pytest.approx(duty)


def test_a_load_that_was_interpolated_as_an_unsigned_number_is_no_duty_cycle():
    content = log_content()
    content["entries"][7]["load"] = 32700.5
    assert parse_log(content, "a", "a").load is None


def test_a_log_that_is_written_reads_the_same(tmp_path):
    log = parse_log(log_content(damping=2.0, bench="left"), "a", "a")
    again = read_log(write_log(log, tmp_path / "a.json"))
    assert again.header == log.header
    for name in ("mass", "arm_mass", "length", "kp", "vin", "damping", "dt", "motor", "trajectory"):
        assert getattr(again, name) == getattr(log, name)
    for name in ("times", "position", "speed", "goal_position", "load", "torque_enable"):
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))


def without(name):
    def change(content):
        del content[name]

    return change


def entry_without(name):
    def change(content):
        for entry in content["entries"]:
            del entry[name]

    return change


def set_entry(index, **values):
    return lambda content: content["entries"][index].update(values)


def shift(start, by):
    def change(content):
        for entry in content["entries"][start:]:
            entry["position"] += by

    return change


BAD = {
    "no mass": (without("mass"), "header has no field 'mass'"),
    "no kp": (without("kp"), "header has no field 'kp'"),
    "no entries": (without("entries"), "header has no field 'entries'"),
    "no position": (entry_without("position"), "entries have no field 'position'"),
    "no torque": (entry_without("torque_enable"), "entries have no field 'torque_enable'"),
    "one entry": (lambda c: c.update(entries=c["entries"][:1]), "at least two samples, found 1"),
    "a field misses once": (lambda c: c["entries"][9].pop("temp"), "entry 9 differs .* 'temp'"),
    "text": (set_entry(4, speed="fast"), "'speed' of entry 4 must be a number, found 'fast'"),
    "a number as text": (set_entry(4, speed="1.5"), "must be a number"),
    "null": (set_entry(4, position=None), "'position' of entry 4 must be a number, found None"),
    "nan": (
        set_entry(4, position=float("nan")),
        "of entry 4 must be a number, found nan",
    ),
    "list": (set_entry(4, position=[1.0, 2.0]), "'position' of entry 4"),
    "kp is text": (lambda c: c.update(kp="high"), "'kp' must be a number, found 'high'"),
    "mass below zero": (
        lambda c: c.update(mass=-0.08),
        "must not be negative, found -0.08 kg",
    ),
    "no gain": (lambda c: c.update(kp=0), "'kp' is 0, but torque is on in 100 %"),
    "no supply": (lambda c: c.update(vin=0), "'vin' is 0 V"),
    "backwards": (set_entry(9, timestamp=0.01), "time must be strictly increasing: entry 8"),
    "twice the same": (
        set_entry(9, timestamp=0.003 + 0.005 * 8),
        "time must be strictly increasing",
    ),
    "wrapped": (shift(30, -2 * np.pi), "a jump of 2 pi: the angle is wrapped"),
    "failed read": (set_entry(30, position=-3.14), "a failed read"),
    "leap": (shift(30, 1.5), "No servo is that fast"),
    "not even": (lambda c: c.update(dt=0.004), "header states dt = 0.004"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_bad_log_is_refused_by_name(tmp_path, change, message):
    content = log_content()
    change(content)
    path = save(tmp_path, "bad.json", content)
    with pytest.raises(RecordingError, match=message) as caught:
        read_log(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", "\x00", '{"entries": 3}', "[" * 10**5])
def test_a_file_that_is_no_log_is_refused_by_name(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(RecordingError, match=r"bad\.json"):
        read_log(path)


def test_a_fast_but_possible_motion_is_accepted():
    content = log_content()
    for index, entry in enumerate(content["entries"]):
        entry["position"] = 0.065 * index  # 13 rad/s, the fastest that was recorded
    parse_log(content, "a", "a")


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(
    where=st.sampled_from(["header", "entry"]),
    name=st.sampled_from(["mass", "kp", "entries", "position", "timestamp", "dt", "arm_mass"]),
    value=json_values,
)
def test_whatever_a_file_holds_it_is_read_or_refused(where, name, value):
    content = copy.deepcopy(log_content(samples=4))
    (content if where == "header" else content["entries"][2])[name] = value
    try:
        log = parse_log(content, "a", "a.json")
    except RecordingError as error:
        assert str(error).startswith("a.json")
    else:
        assert np.isfinite(log.position).all()
        assert (np.diff(log.times) > 0).all()


def folder_of(folder, **contents):
    for name, content in contents.items():
        save(folder, f"{name}.json", content)
    return folder


def test_one_bad_log_is_named_and_can_be_skipped(tmp_path):
    bad = log_content()
    del bad["entries"][3]["speed"]
    folder_of(tmp_path, a=log_content(), b=bad, c=log_content(kp=100))
    with pytest.raises(RecordingError, match=r"b\.json.*skip_bad_logs"):
        read_logs(tmp_path)
    skipped = []
    logs = read_logs(tmp_path, skip_bad=True, on_skip=skipped.append)
    assert [log.name for log in logs] == ["a", "c"]
    assert len(skipped) == 1
    assert "b.json" in skipped[0]
    with pytest.warns(TrueupWarning, match=r"b\.json"):
        read_logs(tmp_path, skip_bad=True)


def test_nothing_is_left_when_all_logs_are_bad(tmp_path):
    folder_of(tmp_path, a={}, b={})
    with pytest.raises(RecordingError, match="none of the 2 logs"):
        read_logs(tmp_path, skip_bad=True, on_skip=lambda message: None)


def test_mixed_servos_are_refused(tmp_path):
    folder_of(
        tmp_path, a=log_content(), b=log_content(motor="mx64"), c=log_content(), d=log_content()
    )
    with pytest.raises(RecordingError, match=r"b\.json: the logs are of several servos: 3 of"):
        read_logs(tmp_path)
    skipped = []
    logs = read_logs(tmp_path, skip_bad=True, on_skip=skipped.append)
    assert [log.name for log in logs] == ["a", "c", "d"]
    assert "mx64" in skipped[0]
    with pytest.raises(RecordingError, match=r"a\.json: .*servo 'xl330', expected 'mx64'"):
        read_logs(tmp_path, motor="mx64")
    (tmp_path / "c.json").unlink()
    (tmp_path / "d.json").unlink()
    # nobody knows which one is meant: both are named, and nothing is left out
    both = r"a\.json and .*b\.json: the logs are of several servos: 1 of 'xl330', '.*a\.json'; "
    with pytest.raises(RecordingError, match=both + r"1 of 'mx64', '.*b\.json'\. Keep") as caught:
        read_logs(tmp_path, skip_bad=True)
    assert "skip_bad_logs" not in str(caught.value)


def test_raw_logs_are_refused_where_even_ones_are_needed(tmp_path):
    save(tmp_path, "a.json", log_content())
    with pytest.raises(RecordingError, match=r"a\.json: .*a raw log.*trueup actuator process"):
        read_logs(tmp_path, uniform=True)


def test_an_empty_or_absent_folder_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(RecordingError, match=r"contains no log .*'notes\.txt'"):
        read_logs(tmp_path)
    with pytest.raises(RecordingError, match="no such folder"):
        read_logs(tmp_path / "absent")
    with pytest.raises(RecordingError, match=r"absent\.json: cannot be read"):
        read_logs([tmp_path / "absent.json"])


def test_logs_are_held_out_by_gain_mass_and_trajectory():
    logs = [
        parse_log(log_content(kp=kp, mass=mass, trajectory=name), f"{kp}{name}", "f.json")
        for kp in (100, 400)
        for mass in (0.535, 1.1682)
        for name in ("sin_sin", "up_and_down")
    ]
    training, held_out = split_logs(logs, kp=400)
    assert {log.kp for log in training} == {100}
    assert {log.kp for log in held_out} == {400}
    training, held_out = split_logs(logs, kp=400, mass=1.168)
    assert len(training) == 2
    assert len(held_out) == 6
    training, held_out = split_logs(logs, trajectory=["sin_sin"])
    assert {log.trajectory for log in held_out} == {"sin_sin"}
    assert split_logs(logs) == (logs, [])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"kp": 300}, r"kp 300 occurs in none of the 2 logs .* 100, 400"),
        ({"mass": 1.0}, "mass 1 occurs in none .* 0.49"),
        ({"trajectory": "sin_sn"}, "Did you mean 'sin_sin'"),
        ({"kp": [100, 400]}, "all 2 logs would be held out"),
    ],
)
def test_a_value_that_occurs_nowhere_is_refused(wanted, message):
    logs = [parse_log(log_content(kp=kp), "a", "a.json") for kp in (100, 400)]
    with pytest.raises(RecordingError, match=message):
        split_logs(logs, **wanted)


def test_recorded_logs_are_read(recorded_data):
    logs = read_logs(recorded_data / "xl330_bench")
    assert len(logs) == 12
    assert {log.kp for log in logs} == {100, 200, 400}
    assert max(np.abs(log.load).max() for log in logs if log.load is not None) <= 1.0
    failed = []
    logs = read_logs(recorded_data / "sts3215_bench", skip_bad=True, on_skip=failed.append)
    assert len(logs) == 40
    assert all("a failed read" in message for message in failed)
