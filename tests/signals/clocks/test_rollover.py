"""Counters that start again are continued; the rows of several runs are never sorted."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import Recording, Stream, check_quality, read, repaired
from trueup.signals.clocks.run_starts import run_starts
from trueup.signals.clocks.runs import runs_of

TIMES = np.arange(1600) / 200.0
COUNTERS = {
    "32 bits of us": ("time_us", 1e6, 2**32, 2**32 - 3e6),
    "signed 32 bits of us": ("time_us", 1e6, 2**32, 2**31 - 3e6),
    "31 bits of us": ("time_us", 1e6, 2**31, 2**31 - 2e6),
    "32 bits of ms": ("time_ms", 1e3, 2**32, 2**32 - 2500),
    "16 bits of ms": ("time_ms", 1e3, 2**16, 2**16 - 4000),
    "24 bits of us": ("time_us", 1e6, 2**24, 2**24 - 1e6),
    "32 bits of us in s": ("time", 1.0, 2**32 * 1e-6, 4290.0),
    "16 bits of ms in s": ("time", 1.0, 65.536, 60.0),
    "32 bits of us in ms": ("time_ms", 1e3, 2**32 * 1e-3, 4294960.0),
    "32 bits of ns in s": ("time", 1.0, 2**32 * 1e-9, 0.0),
    "time of day": ("time", 1.0, 86400.0, 86397.0),
}


def write(folder, name, times):
    file = folder / "log.csv"
    rows = [f"{name},q"] + [f"{t:.10g},{np.sin(k):.6g}" for k, t in enumerate(times)]
    file.write_text("\n".join(rows))
    return file


def wrapped(kind, times=TIMES):
    name, scale, period, start = COUNTERS[kind]
    values = np.mod(times * scale + start, period)
    if scale > 1 and period == round(period):
        values = np.round(values)
    if kind.startswith("signed"):
        values = np.where(values >= 2**31, values - 2**32, values)
    return name, values


@pytest.mark.parametrize("kind", COUNTERS)
def test_a_counter_is_continued_and_that_is_noted(tmp_path, kind):
    found = read(write(tmp_path, *wrapped(kind)))
    assert any("starts again after" in note and "continued" in note for note in found.notes)
    np.testing.assert_allclose(np.diff(found.stream.times), 0.005, atol=2e-6)


def test_a_counter_of_another_size_is_continued_by_its_key(tmp_path):
    name, values = "time_us", np.round(np.mod(TIMES * 1e6, 3_000_000))
    file = write(tmp_path, name, values)
    assert len(run_starts(read(file).stream.times)) == 2
    found = read(file, rollover=3_000_000)
    np.testing.assert_allclose(found.stream.times, TIMES, atol=2e-6)
    with pytest.raises(RecordingError, match=r"not a counter that starts again after 2900000 us"):
        read(file, rollover=2_900_000)


RUNS = {
    "a clock that starts at zero again": np.r_[TIMES[:900], TIMES[:700]],
    "two boots of one robot": np.r_[TIMES[:900] + 31.7, TIMES[:700] + 12.3],
    "uptime after a reset by an hour": np.r_[TIMES[:900] + 3600.0, TIMES[:700]],
    "three runs": np.r_[TIMES[:500], TIMES[:600], TIMES[:500]],
    "another rate": np.r_[TIMES[:900], 1.7 * TIMES[:700]],
}


@pytest.mark.parametrize("kind", RUNS)
def test_several_runs_are_told_apart_and_never_sorted(tmp_path, kind):
    times = RUNS[kind]
    recording = read(write(tmp_path, "time", times))
    np.testing.assert_allclose(recording.stream.times, times)
    runs = runs_of(recording)
    assert len(runs) == (3 if kind == "three runs" else 2)
    assert all((np.diff(run.stream.times) > 0).all() for run in runs)
    assert sum(len(run.stream.times) for run in runs) == len(times)
    with pytest.raises(RecordingError, match=r"starts again .* which sorting would mix"):
        repaired(recording)
    (found,) = check_quality(times, {"q": np.sin(times)}).of_check("time order")
    assert f"run: 1 to run: {len(runs)}" in found.sentence
    assert "Never sort the rows" in found.sentence


def test_two_days_of_uptime_in_one_file_are_two_runs():
    times = np.r_[TIMES[:900], TIMES[900:] + 90_000.0]
    runs = runs_of(Recording("days", (Stream("", times, {"q": times}),)))
    assert [run.name for run in runs] == ["days_run1", "days_run2"]
    assert [len(run.stream.times) for run in runs] == [900, 700]


UNSORTED = {
    "two rows exchanged": np.r_[0:700, 701, 700, 702:1600],
    "late packets": np.r_[0:400, 402:405, 400:402, 405:1600],
    "blocks in another order": np.r_[0:300, 900:1600, 300:900],
    "every other row first": np.r_[0:1600:2, 1:1600:2],
    "shuffled": np.random.default_rng(0).permutation(1600),
}


@pytest.mark.parametrize("kind", UNSORTED)
def test_rows_of_one_run_in_another_order_are_sorted(kind):
    times = TIMES[UNSORTED[kind]]
    recording = Recording("run", (Stream("", times, {"q": times}),))
    assert len(runs_of(recording)) == 1
    np.testing.assert_array_equal(repaired(recording).stream.times, TIMES)
    (found,) = check_quality(times, {"q": np.sin(times)}).of_check("time order")
    assert "repair: true sorts the rows" in found.sentence


def test_clocks_that_start_again_apart_are_refused():
    one = Stream("a", np.r_[TIMES[:900], TIMES[:700]], {"q": np.zeros(1600)})
    other = Stream("b", TIMES, {"u": np.zeros(1600)})
    with pytest.raises(RecordingError, match="a different number of times"):
        runs_of(Recording("run", (one, other)))
