"""Logs of many joints: patterns and lists of columns, groups, rates, joints held out."""

import numpy as np
import pytest

from trueup.errors import ColumnError, ExperimentError
from trueup.networks import DataSettings, read_series, train
from trueup.networks.data.check import check_data
from trueup.networks.data.splits import split_named

JOINTS = ("FL_hip", "FL_knee", "FR_hip", "FR_knee")
COLUMNS = {
    "current_angle_rad": "dof_pos_*",
    "target_angle_rad": "target_*",
    "current_ang_vel_rad_s": {"column": "dof_vel_*", "scale": 2.0},
    "torque": "tau_*",
}


def write_log(path, seed=0, count=300, rate=50.0):
    """A log of a policy at 50 Hz: held targets, and a spring law that differs among the joints."""
    random = np.random.default_rng(seed)
    table = {"time": np.arange(count) / rate, "base_height": np.ones(count)}
    for number, joint in enumerate(JOINTS):
        target = np.repeat(random.normal(0.0, 0.4, -(-count // 5)), 5)[:count]
        angle = np.convolve(np.pad(target, (4, 0), "edge"), np.full(5, 0.2), "valid")
        velocity = np.gradient(angle) * rate
        table[f"dof_pos_{joint}"] = angle
        table[f"dof_vel_{joint}"] = velocity / 2.0
        table[f"target_{joint}"] = target
        table[f"tau_{joint}"] = (10.0 + number) * (target - angle) - 0.3 * velocity
    np.savetxt(
        path, np.stack(list(table.values()), 1), delimiter=",", header=",".join(table), comments=""
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("joints")
    for number in range(3):
        write_log(place / f"walk{number}.csv", number)
    return place


def test_each_joint_of_a_file_is_a_recording_and_a_group(folder):
    series = read_series(DataSettings(str(folder), columns=COLUMNS))
    assert [each.name for each in series][:5] == [
        "walk0/FL_hip", "walk0/FL_knee", "walk0/FR_hip", "walk0/FR_knee", "walk1/FL_hip",
    ]  # fmt: skip
    assert [each.group for each in series][:4] == list(JOINTS)
    for number, each in enumerate(series[:4]):
        error = each.channels["angle_error_rad"]
        law = (10.0 + number) * error - 0.3 * each.channels["current_ang_vel_rad_s"]
        np.testing.assert_allclose(each.torque, law, atol=1e-6)


def test_lists_of_columns_are_the_same_as_a_pattern(folder):
    lists = {
        name: [
            {**pattern, "column": pattern["column"].replace("*", joint)}
            if isinstance(pattern, dict)
            else pattern.replace("*", joint)
            for joint in JOINTS
        ]
        for name, pattern in COLUMNS.items()
    }
    listed = read_series(DataSettings(str(folder), columns=lists))
    matched = read_series(DataSettings(str(folder), columns=COLUMNS))
    assert [each.group for each in listed][:2] == ["dof_pos_FL_hip", "dof_pos_FL_knee"]
    for one, other in zip(listed, matched, strict=True):
        np.testing.assert_array_equal(one.torque, other.torque)


def test_joints_are_chosen_and_joined_to_groups(folder):
    settings = DataSettings(
        str(folder), columns=COLUMNS, joints=("*_hip",), group_pattern="(hip|knee)"
    )
    assert {each.group for each in read_series(settings)} == {"hip"}
    assert {each.name.split("/")[1] for each in read_series(settings)} == {"FL_hip", "FR_hip"}


def test_a_log_at_50_hz_is_used_at_200_hz_with_held_commands(folder):
    slow = read_series(DataSettings(str(folder), columns=COLUMNS))[0]
    fast = read_series(DataSettings(str(folder), columns=COLUMNS, rate=200.0))[0]
    assert fast.rate == 200.0
    target = fast.channels["target_angle_rad"]
    assert set(np.unique(target)) <= set(np.unique(slow.channels["target_angle_rad"]))
    np.testing.assert_allclose(
        fast.channels["current_angle_rad"][::4], slow.channels["current_angle_rad"], atol=1e-9
    )


def test_a_joint_can_be_held_out(folder):
    series = read_series(DataSettings(str(folder), columns=COLUMNS))
    split = split_named(series, test=("FR_knee",), validation=("FL_knee",))
    assert {each.group for each in split.test} == {"FR_knee"}
    assert {each.group for each in split.training} == {"FL_hip", "FR_hip"}


def test_a_shared_network_is_scored_by_joint(folder, tmp_path):
    words = [f"data.data_base_dir={folder}", "train.max_steps=4", "train.accelerator=cpu"]
    words += ["model.model_type.name=gru", "model.gru_hidden_dim=4", "data.test=[FR_knee]"]
    words += [f"data.columns.{name}={pattern}" for name, pattern in COLUMNS.items()
              if isinstance(pattern, str)]  # fmt: skip
    words += ["data.columns.current_ang_vel_rad_s={column: dof_vel_*, scale: 2.0}"]
    result = train(words, tmp_path / "run", verbose=False)
    assert list(result.metrics["groups"]) == ["FR_knee"]


@pytest.mark.parametrize(
    ("columns", "joints", "kind", "words"),
    [
        ({**COLUMNS, "torque": "torque_*"}, (), ColumnError, "no column matches 'torque_.'"),
        (COLUMNS, ("*_ankle",), ColumnError, "its joints are 'FL_hip'"),
        ({**COLUMNS, "torque": ["tau_FL_hip"]}, (), ExperimentError, "lists .'torque'. and"),
        (
            {n: ["a", "b"] for n in COLUMNS} | {"torque": ["c"]},
            (),
            ExperimentError,
            "different lengths .current_angle_rad 2, target_angle_rad 2, .* torque 1.",
        ),
        (
            {n: c for n, c in COLUMNS.items() if n != "current_ang_vel_rad_s"}
            | {"current_ang_vel_rad_s": "base_*"},
            (),
            ColumnError,
            "no joint has a column for each signal .*base_.: 'height'",
        ),
    ],
)
def test_joints_that_cannot_be_are_refused(folder, columns, joints, kind, words):
    with pytest.raises(kind, match=words):
        read_series(DataSettings(str(folder), columns=columns, joints=joints))


def test_joints_without_columns_of_joints_are_refused(folder):
    columns = {"current_angle_rad": "dof_pos_FL_hip", "torque": "tau_FL_hip",
               "target_angle_rad": "target_FL_hip",
               "current_ang_vel_rad_s": "dof_vel_FL_hip"}  # fmt: skip
    with pytest.raises(ExperimentError, match=r"no column of data\.columns has a joint"):
        read_series(DataSettings(str(folder), columns=columns, joints=("hip",)))


def test_the_check_names_the_joint(folder, tmp_path):
    text = (folder / "walk0.csv").read_text().splitlines()
    names = text[0].split(",")
    table = np.loadtxt(text[1:], delimiter=",")
    table[:, names.index("tau_FR_hip")] = 0.5
    np.savetxt(tmp_path / "walk0.csv", table, delimiter=",", header=text[0], comments="")
    found = check_data(DataSettings(str(tmp_path), columns=COLUMNS))
    assert [file.name for file in found.files] == [f"walk0.csv/{joint}" for joint in JOINTS]
    assert any("walk0/FR_hip: the torque is constant" in f.sentence for f in found.all_findings)
