"""Recordings of joints whose signals have clocks of their own."""

import dataclasses

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.networks import DataSettings, check_data, read_series

h5py = pytest.importorskip("h5py")


def drive_log(folder, name="run.h5", change=None, target_start=0.0):
    """A joint whose motion, target and torque have clocks of their own, as from a message bus."""
    clocks = {"joint": (0.0, 200), "torque": (0.0013, 150), "target": (target_start, 40)}
    content = {}
    for stream, (start, rate) in clocks.items():
        t = start + np.arange(int((4.0 - start) * rate)) / rate
        content[stream] = {"t": t, "q": np.sin(3 * t), "v": 3 * np.cos(3 * t)}
    if change is not None:
        change(content)
    with h5py.File(folder / name, "w") as file:
        for stream, columns in content.items():
            for column, values in columns.items():
                file[f"{stream}/{column}"] = values
    return DataSettings(
        str(folder),
        pattern="*.h5",
        columns={
            "current_angle_rad": "joint/q",
            "current_ang_vel_rad_s": "joint/v",
            "target_angle_rad": "target/q",
            "torque": "torque/v",
        },
    )


def test_signals_with_clocks_of_their_own_are_put_on_the_fastest(tmp_path):
    (series,) = read_series(drive_log(tmp_path))
    assert series.rate == 200.0
    assert "3 clocks resampled to one of" in series.notes[0]
    times = series.start + series.times
    np.testing.assert_allclose(series.channels["current_angle_rad"], np.sin(3 * times))
    np.testing.assert_allclose(series.torque, 3 * np.cos(3 * times), atol=1e-3)
    # a command is held until the next, never a value between two
    held = np.sin(3 * np.floor(times * 40 + 1e-6) / 40)
    np.testing.assert_allclose(series.channels["target_angle_rad"], held)
    assert check_data(drive_log(tmp_path)).usable


def test_a_part_in_which_a_clock_is_missing_is_left_out(tmp_path):
    (series,) = read_series(drive_log(tmp_path, target_start=1.5))
    assert series.start == pytest.approx(1.5)
    assert "target_angle_rad begins at 1.5 s" in series.notes[0]
    with pytest.raises(RecordingError, match=r"'run': .*all streams cover only 3\.7 to"):
        read_series(drive_log(tmp_path, target_start=3.7))


def test_one_of_several_clocks_that_is_broken_is_refused_or_repaired(tmp_path):
    def break_torque(content):
        content["torque"]["t"][80] = content["torque"]["t"][79]
        content["torque"]["v"][200:203] = np.nan

    broken = drive_log(tmp_path, change=break_torque)
    with pytest.raises(
        RecordingError,
        match=r"'run' \('torque'\) cannot be used: 1 of \d+ times repeat.*data\.repair",
    ):
        read_series(broken)
    (series,) = read_series(dataclasses.replace(broken, repair=True))
    times = series.start + series.times
    np.testing.assert_allclose(series.torque, 3 * np.cos(3 * times), atol=5e-3)
    assert any("missing values of torque bridged" in note for note in series.notes)

    def miss_torque(content):
        content["torque"]["v"][200:203] = np.nan

    missing = drive_log(tmp_path, change=miss_torque)
    with pytest.raises(
        RecordingError, match=r"\d+ of \d+ values of torque are not finite.*data\.repair=true"
    ):
        read_series(missing)
    assert not check_data(missing).usable


def test_a_gap_of_a_slower_clock_separates_recordings(tmp_path):
    def gap_in_torque(content):
        kept = np.r_[0:200, 350:590]
        content["torque"] = {name: values[kept] for name, values in content["torque"].items()}

    parts = read_series(drive_log(tmp_path, change=gap_in_torque))
    assert [each.name for each in parts] == ["run_part1", "run_part2"]
    for each in parts:
        times = each.start + each.times
        np.testing.assert_allclose(each.torque, 3 * np.cos(3 * times), atol=1e-3)
