"""Wrong recordings, checkpoints and files from the command line: one clear error, exit code 2."""

import json

import numpy as np
import pytest
from recorded_joints import joint_columns, write_csv

from trueup.cli import main

pytest.importorskip("lightning")

SMALL = (
    "model.model_type.name=gru",
    "model.gru_hidden_dim=4",
    "train.max_epochs=1",
    "train.accelerator=cpu",
)
GROUPS = (
    "data.inertia_groups=[{id: a, folder: low, inertia: 0.1}, {id: b, folder: high, inertia: 0.2}]"
)


@pytest.fixture
def data(tmp_path):
    for name, frequency in (("low", 1.0), ("high", 1.2)):
        columns = joint_columns(frequency=frequency)
        write_csv(tmp_path / "data" / name / "run.csv", columns)
    return tmp_path / "data"


def lacking_a_column(data):
    columns = joint_columns()
    del columns["Gyro_Z"]
    write_csv(data / "low" / "run.csv", columns)


def another_rate(data):
    write_csv(data / "low" / "run.csv", joint_columns(800, 200.0))


def nothing_but_nan(data):
    columns = joint_columns()
    columns["Acc_Y"] = np.full(400, np.nan)
    write_csv(data / "low" / "run.csv", columns)


def another_name(data):
    (data / "low").rename(data / "other")


def radians_in_the_column_of_degrees(data):
    columns = joint_columns()
    columns["Gyro_Z"] = np.radians(columns["Gyro_Z"])
    write_csv(data / "low" / "run.csv", columns)


def a_torque_that_never_changes(data):
    columns = joint_columns()
    columns["Acc_Y"][:] = 0.0
    write_csv(data / "low" / "run.csv", columns)


def commands_that_never_change(data):
    for name in ("low", "high"):
        columns = joint_columns()
        columns["Commanded_Angle"][:] = 12.0
        write_csv(data / name / "run.csv", columns)


def a_command_in_degrees(data):
    for name in ("low", "high"):
        columns = joint_columns()
        columns = {n: np.radians(v) if n != "Time_ms" else v for n, v in columns.items()}
        columns["Commanded_Angle"] = np.degrees(0.2 * columns["Commanded_Angle"])
        columns["Encoder_Angle"], columns["Gyro_Z"] = (
            0.2 * columns[n] for n in ("Encoder_Angle", "Gyro_Z")
        )
        write_csv(data / name / "run.csv", columns)


def several_gains(data):
    for gain, name in ((10, "low"), (20, "high")):
        write_csv(data / name / "run.csv", {**joint_columns(), "Kp": np.full(400, gain)})


def a_gain_missing(data):
    several_gains(data)
    write_csv(data / "low" / "run.csv", joint_columns())


RADIANS = (
    "data.columns.current_angle_rad=Encoder_Angle",
    "data.columns.target_angle_rad=Commanded_Angle",
    "data.columns.current_ang_vel_rad_s=Gyro_Z",
    "data.columns.torque=Acc_Y",
)
WITH_GAIN = (*RADIANS, "data.columns.position_gain=Kp")
CASES = {
    "commands that never change": (commands_that_never_change, (GROUPS,), "are constant in all"),
    "degrees as radians": (
        None,
        (GROUPS, *RADIANS),
        "current_angle_rad reaches 28.65 rad, 5 turns: it looks like degrees",
    ),
    "a command in degrees": (
        a_command_in_degrees,
        (GROUPS, *RADIANS),
        "range of target_angle_rad is 68.8 times that of current_angle_rad",
    ),
    "several gains that the network is not told": (
        several_gains,
        (GROUPS, *WITH_GAIN, "data.accept=[units]"),
        "gains 10, 20, but the gain is not an input of the network",
    ),
    "a gain that is missing": (a_gain_missing, (GROUPS, *WITH_GAIN), "Kp"),
    "a stretch longer than the shortest recording": (
        None,
        (GROUPS, "data.sequence_duration_s=5"),
        "5 s, longer than the shortest recording",
    ),
    "an inertia that is unknown": (
        None,
        ("data.inertia_groups=[{id: a, folder: low}]",),
        "or map a measured torque as columns.torque",
    ),
    "missing column": (lacking_a_column, (GROUPS,), "Gyro_Z"),
    "missing group folder": (another_name, (GROUPS,), "no folder 'low'"),
    "one group left out": (
        None,
        ("data.inertia_groups=[{id: a, folder: low, inertia: 0.1}]", "evaluation_mode=lomo_cv"),
        "at least two groups",
    ),
    "files of different rates": (another_rate, (GROUPS,), "different rates"),
    "a channel of nan": (nothing_but_nan, (GROUPS, "data.repair=true"), "no finite value"),
    "radians as degrees": (radians_in_the_column_of_degrees, (GROUPS,), "looks like deg where"),
    "radians as degrees, planned": (
        radians_in_the_column_of_degrees,
        (GROUPS, "--dry-run"),
        "looks like deg where",
    ),
    "radians as degrees, a group left out": (
        radians_in_the_column_of_degrees,
        (GROUPS, "evaluation_mode=lomo_cv"),
        "looks like deg where",
    ),
    "radians as degrees, an ensemble": (
        radians_in_the_column_of_degrees,
        (GROUPS, "model.ensemble_members=2"),
        "looks like deg where",
    ),
    "a torque that never changes": (
        a_torque_that_never_changes,
        (GROUPS,),
        "the torque is constant",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_recordings_that_cannot_be_trained_on(case, data, capsys):
    spoil, words, message = CASES[case]
    if spoil is not None:
        spoil(data)
    output = ["--output", str(data.parent / "run")]
    assert main(["network", "train", f"data.data_base_dir={data}", *SMALL, *words, *output]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (data.parent / "run").exists()


def test_accepted_recordings_are_trained_on_and_what_was_found_is_said(data, tmp_path, capsys):
    for name, frequency in (("low", 1.0), ("high", 1.2)):
        columns = joint_columns(frequency=frequency)
        columns["Acc_Y"][:] = 0.0
        columns["Gyro_Z"] = np.radians(columns["Gyro_Z"])
        write_csv(data / name / "run.csv", columns)
    run = tmp_path / "run"
    words = ["network", "train", f"data.data_base_dir={data}", GROUPS, *SMALL]
    accepted = "data.accept=[position-velocity,torque]"
    assert main([*words, accepted, "--output", str(run), "--quiet"]) in (0, 3)
    out = capsys.readouterr().out
    found = ("looks like deg where the velocity", "the torque is constant")
    report = (run / "report.html").read_text()
    for sentence in found:
        assert sentence in out
        assert sentence in report
    assert json.loads((run / "data_check.json").read_text())["usable"]
    assert main([*words, accepted, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["findings"]
    assert {each["check"] for each in told} >= {"position-velocity", "torque"}
    # a network is run on whatever is asked for, and what is wrong with it is said
    for command in (["evaluate", str(run)], ["predict", str(run), "-o", str(tmp_path / "p")]):
        arguments = ["network", *command, "--data", str(data), "data.accept=[]", "--json"]
        assert main(arguments) in (0, 3)
        told = json.loads(capsys.readouterr().out)["findings"]
        assert {("torque", "refuse"), ("position-velocity", "refuse")} <= {
            (each["check"], each["severity"]) for each in told
        }


def test_a_checkpoint_of_another_shape_and_a_corrupt_network(data, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["network", "train", f"data.data_base_dir={data}", GROUPS, *SMALL]
    assert main([*words, "--output", str(run)]) in (0, 3)
    # as if the run had been stopped, and its settings changed since
    (run / "training.json").unlink()
    experiment = run / "experiment.yaml"
    experiment.write_text(experiment.read_text().replace("gru_hidden_dim: 4", "gru_hidden_dim: 5"))
    capsys.readouterr()
    assert main(["network", "train", "--resume", "--output", str(run)]) == 2
    error = capsys.readouterr().err
    assert "damaged or belongs to another network" in error
    assert "Traceback" not in error
    network = run / "network.safetensors"
    whole = network.read_bytes()
    for content in (whole[:200], whole[:-8], b"\x80\x04" + whole, b""):
        network.write_bytes(content)
        assert main(["network", "evaluate", str(run), "--data", str(data), "--json"]) == 2
        result = json.loads(capsys.readouterr().out)
        assert result["error"] == "FitError"
        assert "network.safetensors" in result["message"]
