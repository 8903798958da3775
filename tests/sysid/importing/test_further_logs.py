"""Second logs of one experiment whose columns have other names."""

import numpy as np
import pytest
import yaml
from log_writers import JOINTS, motion_of_leg, write_leg

from trueup.errors import RecordingError
from trueup.sysid.importing.import_log import propose_import

MOTION = motion_of_leg(4.0)
NAMES = [f"{j}_{k}" for k in ("pos", "vel", "torque") for j in JOINTS]


def write(folder, name, heads, rows=slice(None), time="t"):
    """A log of the leg, or rows of it, with these columns after the time."""
    table = np.column_stack([MOTION.times, MOTION.q, MOTION.v, MOTION.tau])[rows]
    header = ",".join([time, *heads])
    np.savetxt(folder / name, table, delimiter=",", header=header, comments="")
    return folder / name


def both(folder, first, second):
    logs = [write(folder, "a.csv", first, slice(0, 400)), write(folder, "b.csv", second)]
    return propose_import(write_leg(folder), logs, folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [("run1/", "run2/"), ("", "bench."), ("old_log/", ""), ("rt/a/", "robot_b/state/"),
     ("g1_", "g2_")],
)  # fmt: skip
def test_a_second_log_with_another_prefix_has_its_own_columns(tmp_path, old, new):
    first, second = ([p + n for n in NAMES] for p in (old, new))
    found = both(tmp_path, first, second)
    recordings = yaml.safe_load(found.proposal.text)["recordings"]
    columns = [
        [c if isinstance(c, str) else c["column"] for key in ("signals", "controls")
         for c in r[key].values()]
        for r in recordings
    ]  # fmt: skip
    assert columns[0] and columns[1] == [new + c[len(old) :] for c in columns[0]]
    assert set(columns[0]) == set(first)
    said = [p for p in found.proposal.open_points if "under another prefix" in p]
    assert len(said) == 1 and f"{second[0]} is read as {first[0]}" in said[0]


@pytest.mark.parametrize("prefix", ["run1/", "run2/"])
def test_a_second_log_has_its_own_time_column(tmp_path, prefix):
    heads = [[p + n for n in NAMES] for p in ("run1/", prefix)]
    logs = [
        write(tmp_path, "a.csv", heads[0], slice(0, 400), "run1/t"),
        write(tmp_path, "b.csv", heads[1], time="run2/t"),
    ]
    found = propose_import(write_leg(tmp_path), logs, tmp_path)
    recordings = yaml.safe_load(found.proposal.text)["recordings"]
    assert [r["time"] for r in recordings] == ["run1/t", "run2/t"]
    assert any("run2/" in point for point in found.proposal.open_points)


@pytest.mark.parametrize(
    ("old", "new"),
    [("left/", "right/"), ("motor/", "joint/"), ("", "desired/"), ("", "raw/"), ("", "deg/"),
     ("leader_", "follower_")],
)  # fmt: skip
def test_a_prefix_that_means_something_is_no_second_log(tmp_path, old, new):
    with pytest.raises(RecordingError, match=r"b.csv has no column"):
        both(tmp_path, [old + n for n in NAMES], [new + n for n in NAMES])


def test_a_second_log_without_a_column_is_refused_with_what_to_do(tmp_path):
    second = [n.replace("calf_vel", "shin_speed") for n in NAMES]
    with pytest.raises(RecordingError) as refused:
        both(tmp_path, NAMES, second)
    words = str(refused.value)
    assert "no column 'calf_vel'" in words and "--output" in words and "rename" in words


def test_a_second_log_of_two_robots_is_not_guessed(tmp_path):
    first = write(tmp_path, "a.csv", [f"run/{n}" for n in NAMES], slice(0, 400))
    parts = [MOTION.q, MOTION.v, MOTION.tau]
    table = np.column_stack([MOTION.times, *parts, *parts])
    heads = ["t", *(f"x/{n}" for n in NAMES), *(f"y/{n}" for n in NAMES)]
    np.savetxt(tmp_path / "b.csv", table, delimiter=",", header=",".join(heads), comments="")
    with pytest.raises(RecordingError, match="has no column"):
        propose_import(write_leg(tmp_path), [first, tmp_path / "b.csv"], tmp_path)
