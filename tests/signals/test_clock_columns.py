"""Which column of a file is its clock, rows of several topics, and names that repeat."""

import json

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import check_quality, read


def table(path, names, columns):
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="",
               fmt="%.12g")  # fmt: skip
    return path


@pytest.mark.parametrize(
    ("name", "per_second"), [("micros", 1e6), ("millis", 1e3), ("__time", 1.0), ("us", 1e6)]
)
def test_counters_of_microcontrollers_are_clocks_with_their_unit(name, per_second, tmp_path):
    t = np.arange(50) * 0.01
    found = read(table(tmp_path / "a.csv", [name, "q"], [t * per_second, np.sin(t)]))
    np.testing.assert_allclose(found.streams[0].times, t, atol=1e-9)
    assert found.columns == ("q",)


def test_seconds_and_nanoseconds_of_a_stamp_are_one_clock(tmp_path):
    t = 1.7e9 + np.arange(300) * 0.01
    names = ["stamp/sec", "stamp/nanosec", "q"]
    parts = [np.floor(t), np.round(1e9 * (t % 1)), np.sin(t)]
    found = read(table(tmp_path / "a.csv", names, parts))
    np.testing.assert_allclose(np.diff(found.streams[0].times), 0.01, atol=1e-6)


def topics(path, cells):
    """State and command of one controller in rows of their own, 0.2 ms apart."""
    rows = ["__time,/state/header/stamp/sec,/state/q,/command/u"]
    for k in range(100):
        t = 10 + 0.01 * k
        rows.append(f"{t:.4f},{int(t)},{np.sin(t):.6f},{cells}")
        rows.append(f"{t + 2e-4:.4f},{cells},{cells},{np.cos(t):.6f}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("empty", ["", "nan"])
def test_rows_of_each_topic_keep_their_own_times(empty, tmp_path):
    found = read(topics(tmp_path / "a.csv", empty))
    for column, shift, wave in (("/state/q", 0.0, np.sin), ("/command/u", 2e-4, np.cos)):
        times, values = found.column(column)
        assert len(times) == 100
        np.testing.assert_allclose(values, wave(times - shift), atol=1e-5)


def test_dropouts_stay_in_the_column(tmp_path):
    t = np.arange(200) * 0.01
    q = np.sin(t)
    q[[20, 21, 22, 90, 140]] = np.nan
    q[150:180] = np.nan
    found = read(table(tmp_path / "a.csv", ["t", "q", "v"], [t, q, np.cos(t)]))
    assert np.isnan(found.column("q")[1]).sum() == 35


def test_names_that_a_header_repeats_are_told_apart_by_place(tmp_path):
    (tmp_path / "a.csv").write_text("t,q_d[0],q,q_d[0]\n0,1,2,3\n1,4,5,6\n2,7,8,9\n")
    found = read(tmp_path / "a.csv")
    assert found.columns == ("q_d[0]", "q", "q_d[0] (repeat 2)")
    np.testing.assert_array_equal(found.column("q_d[0] (repeat 2)")[1], [3, 6, 9])
    assert found.metadata["repeated"] == {"q_d[0] (repeat 2)": "q_d[0]"}


def test_a_rate_that_json_states_is_its_clock(tmp_path):
    entries = [
        {"idx": k, "states": {"arm": {"qpos": [0.1 * k, 1.0], "qvel": []}}} for k in range(9)
    ]
    (tmp_path / "a.json").write_text(json.dumps({"info": {"fps": 30}, "data": entries}))
    found = read(tmp_path / "a.json")
    np.testing.assert_allclose(found.streams[0].times, np.arange(9) / 30)
    assert "states/arm/qpos/1" in found.columns


def test_structures_with_time_of_simulink_have_their_own_clocks(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    t = np.arange(40) * 0.01
    scopes = {
        name: {
            "time": t[::every, None],
            "signals": {"values": np.column_stack([t, 2 * t])[::every], "label": name},
        }
        for name, every in (("position", 1), ("torque", 2))
    }
    savemat(tmp_path / "run.mat", scopes)
    found = read(tmp_path / "run.mat")
    for name, every in (("position", 1), ("torque", 2)):
        times, values = found.column(f"{name}/values/1")
        np.testing.assert_allclose(times, t[::every])
        np.testing.assert_allclose(values, 2 * t[::every])


@pytest.mark.parametrize("name", ["log.pkl", "log.bin"])
def test_a_pickle_is_refused_with_the_way_out(name, tmp_path):
    # a pickle that opens a file when it is loaded
    trace = tmp_path / "trace"
    program = b"\x80\x04cbuiltins\nopen\n(V" + str(trace).encode() + b"\nVw\ntR."
    (tmp_path / name).write_bytes(program)
    with pytest.raises(RecordingError, match=r"is a pickle.*numpy\.savez"):
        read(tmp_path / name)
    assert not trace.exists()


def lerobot(home, rows=4):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feature = {"dtype": "float32", "shape": [2], "names": [["kLeftElbow", "kRightElbow"]]}
    info = {"fps": 30, "features": {"observation.state": feature}}
    (home / "meta").mkdir(parents=True)
    (home / "meta" / "info.json").write_text(json.dumps(info))
    (home / "data" / "chunk-000").mkdir(parents=True)
    content = pyarrow.table(
        {
            "timestamp": np.arange(rows) / 30,
            "episode_index": np.zeros(rows, int),
            "observation.state": list(np.ones((rows, 2), np.float32)),
        }
    )
    parquet.write_table(content, home / "data" / "chunk-000" / "episode_000000.parquet")
    return home


def test_a_hub_cache_is_read_with_nested_names(tmp_path):
    cache = tmp_path / "datasets--me--robot"
    lerobot(cache / "snapshots" / "0123abc")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("0123abc")
    found = read(cache)
    assert found.columns[:2] == ("episode_index", "observation.state/kLeftElbow")


def test_pointers_in_a_data_set_are_said_as_such(tmp_path):
    home = lerobot(tmp_path / "set")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    next(home.rglob("*.parquet")).write_text(pointer)
    with pytest.raises(RecordingError, match=r"Git LFS pointer.*git lfs pull"):
        read(home)


@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
@pytest.mark.parametrize("rate", [0.0, -1.0, 1e-300, 1e10, 1e300, np.inf, np.nan])
def test_a_rate_without_representable_slopes_is_refused(suffix, rate, tmp_path):
    path, values = tmp_path / f"a.{suffix}", np.sin(np.arange(20.0))
    if suffix == "csv":
        table(path, ["q"], [values])
    elif suffix == "npz":
        np.savez(path, q=values)
    else:
        path.write_text(json.dumps({"q": values.tolist()}))
    assert read(path, rate=1e9).streams[0].times[1] == pytest.approx(1e-9)
    with pytest.raises(RecordingError, match="positive number of samples per second, from 1e-09"):
        read(path, rate=rate)
    with pytest.raises(RecordingError, match="rate to merge at must be a positive number"):
        read(path, rate=100.0).merged(rate=rate)


@pytest.mark.parametrize(
    ("scale", "words"), [(1e-300, "shorter than a nanosecond"), (1e300, "longer than 30 years")]
)
def test_measured_times_without_representable_slopes_are_refused(scale, words):
    t = np.arange(200) * 0.01
    report = check_quality(t * scale, {"q": np.sin(t)}, roles={"q": "position"})
    (finding,) = report.of_severity("refuse")
    assert (finding.check, words in finding.sentence) == ("time order", True)
    assert check_quality(t, {"q": np.sin(t)}, roles={"q": "position"}).of_severity("refuse") == ()
