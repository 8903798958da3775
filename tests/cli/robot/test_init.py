"""``trueup init``: columns are matched by name, and the file it writes can be used."""

from pathlib import Path
from typing import Any

import driven_pendulum as pendulum
import mujoco
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.signals import Recording, Stream
from trueup.sysid.demo import write_demo
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.importing.columns.matching import match_columns
from trueup.sysid.importing.columns.names import take_apart
from trueup.sysid.importing.columns.units import suggest_units
from trueup.sysid.importing.template_text import quoted

ARM = """\
<mujoco><compiler angle="radian"/><worldbody>
  <body><joint name="shoulder_pan" axis="0 0 1"/><geom size="0.1"/>
    <body><joint name="shoulder_lift" axis="0 1 0" range="-2 2" limited="true"/><geom size="0.1"/>
      <body><joint name="elbow" axis="0 1 0"/><geom size="0.1"/></body></body></body>
</worldbody><actuator>{actuators}</actuator><sensor>{sensors}</sensor></mujoco>
"""
MOTORS = "".join(
    f'<motor name="{j}_motor" joint="{j}"/>' for j in ("shoulder_pan", "shoulder_lift", "elbow")
)
SERVOS = MOTORS.replace("<motor", '<position kp="5"')


def arm(actuators: str = MOTORS, sensors: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ARM.format(actuators=actuators, sensors=sensors))


def recording(*columns: str, scale: dict[str, float] | None = None) -> Recording:
    """A recording whose positions are sines and whose velocities are their derivatives."""
    t = np.arange(0, 5, 0.01)
    values = {}
    for index, column in enumerate(columns):
        rate = take_apart(column).quantity == "velocity"
        wave = 2 * np.cos(2 * t) if rate else np.sin(2 * t)
        values[column] = (scale or {}).get(column, 1.0) * wave + 1e-3 * index
    return Recording("run", (Stream("", t, values),))


def matched(columns: tuple[str, ...], model: mujoco.MjModel) -> dict[str, str]:
    signals, controls = match_columns(recording(*columns), model)
    return {m.place.name: m.column.column for m in [*signals, *controls]}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("q1", "q2", "q3"), {"shoulder_pan": "q1", "shoulder_lift": "q2", "elbow": "q3"}),
        (("q0", "q1", "q2"), {"shoulder_pan": "q0", "shoulder_lift": "q1", "elbow": "q2"}),
        (
            ("elbow_pos", "shoulderLiftPos"),
            {"elbow": "elbow_pos", "shoulder_lift": "shoulderLiftPos"},
        ),
        (
            ("/joint_states/elbow/position", "/joint_states/shoulder_pan/position"),
            {
                "elbow": "/joint_states/elbow/position",
                "shoulder_pan": "/joint_states/shoulder_pan/position",
            },
        ),
        (("Elbow Angle [deg]",), {"elbow": "Elbow Angle [deg]"}),
        (("temperature", "battery"), {}),
    ],
)
def test_positions_are_found_by_usual_names(columns: tuple[str, ...], expected: dict[str, str]):
    assert matched(columns, arm()) == {f"{k}_qpos": v for k, v in expected.items()}


def test_positions_velocities_and_efforts_are_told_apart():
    columns = ("elbow_vel", "elbow_effort", "elbow_pos", "dq1", "tau1", "q1")
    assert matched(columns, arm()) == {
        "elbow_qpos": "elbow_pos",
        "elbow_qvel": "elbow_vel",
        "elbow_motor": "elbow_effort",
        "shoulder_pan_qpos": "q1",
        "shoulder_pan_qvel": "dq1",
        "shoulder_pan_motor": "tau1",
    }


def test_a_servo_takes_the_commanded_position_and_never_a_measured_one():
    columns = ("elbow_pos", "elbow_pos_cmd", "shoulder_pan_pos")
    assert matched(columns, arm(SERVOS)) == {
        "elbow_qpos": "elbow_pos",
        "elbow_motor": "elbow_pos_cmd",
        "shoulder_pan_qpos": "shoulder_pan_pos",
    }


def test_a_motor_takes_the_command_where_there_is_also_a_measured_torque():
    sensors = '<jointactuatorfrc name="elbow_torque" joint="elbow"/>'
    columns = ("elbow_tau", "elbow_tau_cmd")
    assert matched(columns, arm(sensors=sensors)) == {
        "elbow_motor": "elbow_tau_cmd",
        "elbow_torque": "elbow_tau",
    }


def test_sensors_come_before_joint_states():
    sensors = '<jointpos name="encoder_3" joint="elbow"/>'
    assert matched(("elbow_position",), arm(sensors=sensors)) == {"encoder_3": "elbow_position"}


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ({}, {}),
        ({"elbow_pos": 57.3, "elbow_vel": 57.3}, {"elbow_qpos": "deg", "elbow_qvel": "deg/s"}),
        ({"elbow_pos": 57.3}, {"elbow_qpos": "deg"}),
        ({"elbow_vel": 57.3}, {"elbow_qvel": "deg/s"}),
        ({"elbow_vel": 30 / np.pi}, {"elbow_qvel": "rpm"}),
        ({"lift_pos": 6.0}, {"shoulder_lift_qpos": "deg"}),
    ],
)
def test_units_are_suggested_from_the_values(scale: dict[str, float], expected: dict[str, str]):
    model = arm()
    data = recording("elbow_pos", "elbow_vel", "lift_pos", scale=scale)
    signals, _ = match_columns(data, model)
    assert {k: unit for k, (unit, _) in suggest_units(signals, data, model).items()} == expected


@pytest.mark.parametrize("text", ["y", "No", "a: b", "x # y", "3", "1e3", "null", "a, b", "-", "é"])
def test_quoted_names_survive_yaml(text: str):
    assert yaml.safe_load(f"{{column: {quoted(text)}}}") == {"column": text}


def test_init_of_the_demonstration_can_be_identified(tmp_path: Path, command):
    files = write_demo(tmp_path)
    target = tmp_path / "mine.yaml"
    code, said = command("init", files.model, files.recordings[0], "--output", target)
    assert code == 0
    # q1 and q2 have no names: only their number says that they are these joints
    # the model's load, which is fixed to a heavier link, is lighter than that of the recordings
    assert [point.partition(":")[0] for point in said["open_points"]] == [
        "joints were assigned by the order of the model",
        "torques show another mass than the model's of 'load', an unknown with a prior of 30 %",
    ]
    written = yaml.safe_load(target.read_text())
    part = written["recordings"][0]
    made = yaml.safe_load(files.experiment.read_text())["recordings"][0]
    for key in ("signals", "controls", "time", "time_unit", "file"):
        assert part[key] == made[key]
    checked = command("check", target)[1]
    assert checked["identifiability"]["identifiable"] is True
    code, said = command("identify", target, "--quiet")
    assert code == 0
    found = {p["name"]: p for p in said["parameters"]}
    mass = next(link for link in said["links"] if link["body"] == "load")
    assert mass["quantities"][0]["value"] == pytest.approx(1.3, rel=0.005)
    assert said["verdict"]["grade"] == "use"
    assert found["elbow_damping"]["value"] == pytest.approx(0.7, rel=0.1)


def test_what_cannot_be_matched_is_a_comment_with_the_columns(tmp_path: Path, command):
    files = pendulum.write(tmp_path)
    files.recording.write_text(files.recording.read_text().replace("torque", "foo"))
    target = tmp_path / "mine.yaml"
    code, said = command("init", files.model, files.recording, "--output", target)
    # without its torque the pendulum of the model swings another way
    assert code == 3
    assert said["check"]["conclusion"]["decision"] == "stop"
    assert said["controls"] == {}
    assert "'foo'" in said["open_points"][0]
    text = target.read_text()
    assert "FILL IN if recorded: actuator motor" in text
    assert "Unused columns: foo" in text
    assert "controls: {}" in text
    assert "CHECK" not in text
    target.write_text(text.replace("controls: {}", "controls: {motor: foo}"))
    assert command("identify", target, "--quiet")[0] == 0


def test_a_recording_without_a_clock_asks_for_the_rate(tmp_path: Path, command):
    files = pendulum.write(tmp_path)
    lines = [line.partition(",")[2] for line in files.recording.read_text().splitlines()]
    files.recording.write_text("\n".join(lines) + "\n")
    target = tmp_path / "mine.yaml"
    code, said = command("init", files.model, files.recording, "--output", target)
    assert code == 2 and not target.exists()
    assert "no time column: give its rate with --rate" in said["message"]
    given = ("--output", target, "--rate", 200)
    assert command("init", files.model, files.recording, *given)[0] == 0
    assert "rate: 200" in target.read_text()
    assert command("identify", target, "--quiet")[0] == 0


def test_nothing_matched_is_refused_with_both_sides(tmp_path: Path, command):
    files = pendulum.write(tmp_path)
    lines = files.recording.read_text().splitlines()
    files.recording.write_text("\n".join(["t,a1b,b2c,c3d", *lines[1:]]) + "\n")
    target = tmp_path / "new" / "mine.yaml"
    code, said = command("init", files.model, files.recording, "--output", target)
    assert code == 2
    assert "'a1b', 'b2c', 'c3d'" in said["message"]
    assert "'hinge'" in said["message"] or "'angle'" in said["message"]
    assert not target.parent.exists()
    # a file to fill in is written on request
    code, said = command("init", files.model, files.recording, "--output", target, "--no-check")
    assert code == 0
    assert said["signals"] == {}
    assert "'a1b'" in said["open_points"][0]
    assert "a1b, b2c, c3d" in target.read_text()
    code, said = command("check", target)
    assert code == 2
    assert "signals" in said["message"]


def test_init_refuses_to_replace_a_file(files: pendulum.Files, command):
    kept = files.experiment.read_bytes()
    arguments = ("init", files.model, files.recording, "--output", files.experiment)
    code, said = command(*arguments)
    assert code == 2
    assert "--overwrite" in said["message"]
    assert files.experiment.read_bytes() == kept
    assert command(*arguments, "--overwrite")[0] == 0
    assert files.experiment.read_bytes() != kept


@pytest.mark.parametrize(
    ("model", "data", "expected"),
    [
        ("none.xml", "run.csv", "none.xml; MJCF files there: pendulum.xml"),
        ("pendulum.xml", "none.csv", "none.csv"),
        ("run.csv", "run.csv", "run.csv"),
        ("pendulum.xml", "pendulum.xml", "pendulum.xml"),
    ],
)
def test_init_of_wrong_files_writes_nothing(
    model: str, data: str, expected: str, files: pendulum.Files, command: Any
):
    target = files.folder / "mine.yaml"
    code, said = command("init", files.folder / model, files.folder / data, "-o", target)
    assert code == 2
    assert expected in said["message"]
    assert not target.exists()


@pytest.mark.parametrize(
    "columns",
    [
        ("tip_pos_x", "tip_pos_y", "tip_pos_z"),
        ("tip_pos_0", "tip_pos_1", "tip_pos_2"),
        ("tip_pos1", "tip_pos2", "tip_pos3"),
        ("tip_pos[0]", "tip_pos[1]", "tip_pos[2]"),
        ("/arm/tipPos/x [m]", "/arm/tipPos/y [m]", "/arm/tipPos/z [m]"),
    ],
)
def test_a_sensor_of_several_components_takes_a_column_for_each(columns: tuple[str, ...]):
    sensors = '<framepos name="tip_pos" objtype="body" objname="world"/>'
    model = arm(sensors=sensors)
    signals, _ = match_columns(recording("elbow_pos", *columns[::-1]), model)
    found = {m.place.name: m.columns for m in signals}
    assert found == {"tip_pos": list(columns), "elbow_qpos": ["elbow_pos"]}
    signals, _ = match_columns(recording("elbow_pos", *columns[:2]), model)
    assert "tip_pos" not in {m.place.name for m in signals}


def test_a_quaternion_is_matched_and_a_wide_sensor_can_be_used(tmp_path: Path):
    text = pendulum.MODEL.format(**pendulum.TRUE).replace(
        "</sensor>",
        '<framequat name="turn" objtype="body" objname="rod"/>'
        '<framepos name="tip" objtype="geom" objname="end"/></sensor>',
    )
    text = text.replace("</body>", '<geom name="end" pos="0 0 -0.5" size="0.01"/></body>')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rows = []
    for step in range(600):
        torque = np.sin(3e-5 * step**2) + 0.5 * np.sin(0.05 * step)
        mujoco.mj_forward(model, data)
        rows.append([0.005 * step, torque, *data.sensordata])
        data.ctrl[:] = torque
        mujoco.mj_step(model, data)
    header = "t,torque,angle,speed,turn_w,turn_x,turn_y,turn_z,tip_x,tip_y,tip_z"
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=header, comments="")
    (tmp_path / "pendulum.xml").write_text(text)
    folder = str(tmp_path)
    given = [f"{folder}/pendulum.xml", f"{folder}/run.csv", "--output", f"{folder}/arm.yaml"]
    assert main(["init", *given]) == 0
    (part,) = load_experiment(tmp_path / "arm.yaml").recordings
    assert part.signals["tip"] == ["tip_x", "tip_y", "tip_z"]
    assert part.signals["turn"] == ["turn_w", "turn_x", "turn_y", "turn_z"]
    assert main(["check", f"{folder}/arm.yaml"]) == 0
