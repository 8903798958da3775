"""What drives the joints of a log: motors where torques were recorded, servos where commands were.

The models lack what the log needs: they have no actuators, tendons, or several on one joint.
"""

from functools import lru_cache
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from trueup import sysid
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import Import, propose_import

NAMES = ("shoulder", "elbow")
ARMATURE, DAMPING, FRICTION = (0.03, 0.02), (0.3, 0.15), (0.3, 0.15)
KP, KD = (40.0, 20.0), (1.0, 0.5)
URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="0.7"/><origin xyz="0 0 -0.2"/>
<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.0005"/></inertial></link>
<link name="fore"><inertial><mass value="0.4"/><origin xyz="0 0 -0.15"/>
<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0003"/></inertial></link>
<joint name="{0}" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2.8" upper="2.8" effort="3" velocity="9"/></joint>
<joint name="{1}" type="continuous"><parent link="upper"/><child link="fore"/>
<origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco><compiler angle="radian"/>
<option timestep="0.002" integrator="implicitfast"/><worldbody>
<body name="upper"><inertial mass="0.7" pos="0 0 -0.2" diaginertia="0.004 0.004 0.0005"/>
<joint name="{0}" axis="0 1 0" range="-2.8 2.8" limited="true"/>
<body name="fore" pos="0 0 -0.3"><inertial mass="0.4" pos="0 0 -0.15"
 diaginertia="0.002 0.002 0.0003"/><joint name="{1}" axis="0 1 0"/></body></body>
</worldbody><actuator>{actuators}</actuator>{more}</mujoco>"""


def mjcf(actuators: str = "", more: str = "", names: tuple[str, str] = NAMES) -> str:
    """A model with some actuators; ``JOINT`` is filled in for both joints."""
    both = "".join(actuators.replace("JOINT", name) for name in names)
    return MJCF.format(*names, actuators=both, more=more)


@lru_cache
def motion(servos: bool, seconds: float = 8.0) -> dict[str, np.ndarray]:
    """Time, positions and controls of the true arm: torques of a controller, or commands."""
    spec = mujoco.MjSpec.from_string(mjcf())
    for k, joint in enumerate(spec.joints):
        joint.armature, joint.frictionloss = ARMATURE[k], FRICTION[k]
        joint.damping = [DAMPING[k], 0, 0]
        drive = spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint.name)
        if servos:
            drive.set_to_position(kp=KP[k], kv=KD[k])
    model = spec.compile()
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    count = round(seconds * 250)
    time = np.arange(count) / 250
    waves = [
        sum(np.sin(2 * np.pi * f * time * (1 + 0.2 * k) + f + k) for f in (0.3, 0.7, 1.3))
        for k in range(2)
    ]
    asked = 0.35 * np.stack(waves, axis=1)
    position, control = np.zeros((count, 2)), asked.copy()
    for i in range(count):
        position[i] = data.qpos
        if not servos:
            control[i] = np.array([25.0, 8.0]) * (asked[i] - data.qpos) - 0.5 * data.qvel
        data.ctrl[:] = control[i]
        mujoco.mj_step(model, data, 2)
    noise = 1e-4 * rng.normal(size=position.shape)
    return {"time": time, "position": position + noise, "control": control}


def written(
    folder: Path,
    model: str,
    servos: bool = False,
    control: str = "torque",
    joints: tuple[int, ...] = (0, 1),
    names: tuple[str, str] = NAMES,
    file: str = "arm.xml",
    **more: float | np.ndarray,
) -> tuple[Path, Path]:
    """Model and log in a folder; ``joints`` are those with a control, ``more`` further columns."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(model)
    log = motion(servos)
    columns = {"time": log["time"]}
    columns |= {f"{names[k]}_pos": log["position"][:, k] for k in (0, 1)}
    columns |= {f"{names[k]}_{control}": log["control"][:, k] for k in joints}
    columns |= {name: np.full(len(log["time"]), value) for name, value in more.items()}
    table = np.column_stack(list(columns.values()))
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(columns), comments="")
    return folder / file, folder / "log.csv"


def imported(folder: Path, *arguments: object, **options: object) -> tuple[Import, dict]:
    """The import, and its file as a mapping."""
    model, log = written(folder, *arguments, **options)  # pyright: ignore[reportArgumentType]
    found = propose_import(model, [log], folder)
    return found, yaml.safe_load(found.proposal.text)


def simulated(found: Import, folder: Path) -> mujoco.MjModel:
    """The model that an identification of the imported file simulates."""
    return load_spec(parse_experiment(found.proposal.text).model, folder).compile()


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_torques_of_a_model_without_actuators_get_motors_without_limits(kind, tmp_path):
    text = URDF.format(*NAMES) if kind == "urdf" else mjcf()
    found, file = imported(tmp_path, text, file=f"arm.{'urdf' if kind == 'urdf' else 'xml'}")
    assert file["model"]["actuators"] == "torque"
    assert file["recordings"][0]["controls"] == {n: f"{n}_torque" for n in NAMES}
    model = simulated(found, tmp_path)
    assert [model.actuator(i).name for i in range(model.nu)] == list(NAMES)
    # the torque that was recorded acted, whatever the file says about the effort of the joint
    assert not model.jnt_actfrclimited.any()


def test_true_values_lie_in_the_intervals_of_a_urdf_with_torques(tmp_path):
    model, log = written(tmp_path, URDF.format(*NAMES), file="arm.urdf")
    experiment = tmp_path / "experiment.yaml"
    found = sysid.import_logs(model, [log], experiment)
    assert found.check is not None and found.check["conclusion"]["decision"] != "stop"
    result = sysid.identify(
        sysid.load_experiment(experiment), tmp_path, output=tmp_path / "run", verbose=False
    )
    intervals = result.solution.intervals
    assert intervals is not None
    values = dict(zip(result.solution.parameters, intervals.tolist(), strict=True))
    for k, name in enumerate(NAMES):
        for attribute, truth in (("armature", ARMATURE), ("damping", DAMPING)):
            low, high = values[f"{name}_{attribute}"]
            assert low - 0.03 * truth[k] <= truth[k] <= high + 0.03 * truth[k]
    # MuJoCo itself reads the identified model with its motors
    identified = mujoco.MjModel.from_xml_path(str(tmp_path / "run" / "model.xml"))
    assert identified.nu == 2


def test_joints_with_and_without_a_motor_are_given_one_each(tmp_path):
    acts = '<position name="servo" joint="shoulder" kp="300"/>'
    found, file = imported(tmp_path, MJCF.format(*NAMES, actuators=acts, more=""))
    assert file["model"]["actuators"] == {"shoulder": "torque", "elbow": "torque"}
    model = simulated(found, tmp_path)
    assert [model.actuator(i).name for i in range(model.nu)] == ["servo", "elbow"]
    assert not model.actuator_biasprm[:, 1].any()


def test_a_joint_without_a_torque_stays_without_a_motor(tmp_path):
    found, file = imported(tmp_path, mjcf(), joints=(0,))
    assert file["model"]["actuators"] == {"shoulder": "torque"}
    assert simulated(found, tmp_path).nu == 1
    assert any("'elbow'" in p and "without an actuator" in p for p in found.proposal.open_points)


def test_a_torque_at_the_joint_is_divided_by_the_gear_of_its_motor(tmp_path):
    found, file = imported(tmp_path, mjcf('<motor name="JOINT_m" joint="JOINT" gear="50"/>'))
    assert file["recordings"][0]["controls"]["elbow_m"] == {"column": "elbow_torque", "scale": 0.02}
    prepared = prepare(parse_experiment(found.proposal.text), tmp_path)
    control = prepared.training[0].measured_rollout[0].control
    largest = np.abs(motion(False)["control"][: len(control.data)]).max(axis=0)
    np.testing.assert_allclose(50 * np.abs(control.data).max(axis=0), largest, rtol=1e-3)


def test_commands_of_a_model_without_actuators_get_servos_of_unknown_stiffness(tmp_path):
    found, file = imported(tmp_path, mjcf(), servos=True, control="cmd")
    assert file["model"]["actuators"] == "position"
    assert file["recordings"][0]["controls"] == {n: f"{n}_cmd" for n in NAMES}
    for k, name in enumerate(NAMES):
        unknown = file["parameters"][f"{name}_kp"]
        assert unknown["target"] == f"actuator/{name}/kp"
        assert unknown["bounds"][0] < KP[k] < unknown["bounds"][1]
        assert KP[k] / 5 < unknown["start"] < 5 * KP[k]
    assert any("if you know kp and kd" in p for p in found.proposal.open_points)
    assert simulated(found, tmp_path).actuator_biasprm[:, 1].all()


def test_gains_in_columns_of_a_table_make_servos(tmp_path):
    gains = {f"{n}_{g}": v[k] for k, n in enumerate(NAMES) for g, v in (("kp", KP), ("kd", KD))}
    found, file = imported(tmp_path, URDF.format(*NAMES), True, "pos_des", file="a.urdf", **gains)
    assert file["model"]["kp"] == dict(zip(NAMES, KP, strict=True))
    assert file["model"]["kd"] == dict(zip(NAMES, KD, strict=True))
    assert not [name for name in found.proposal.parameters if name.endswith("_kp")]


def test_gains_that_a_file_gives_once_make_servos(tmp_path):
    (tmp_path / "arm.xml").write_text(mjcf('<motor name="JOINT_m" joint="JOINT"/>'))
    log = motion(True)
    arrays = {"time": log["time"], "dof_pos": log["position"], "des_dof_pos": log["control"]}
    np.savez(tmp_path / "log.npz", **arrays, kp=np.array(KP), kd=np.array(KD))
    found = propose_import(tmp_path / "arm.xml", [tmp_path / "log.npz"], tmp_path)
    file = yaml.safe_load(found.proposal.text)
    assert file["model"]["kp"] == {f"{name}_m": KP[k] for k, name in enumerate(NAMES)}
    assert file["model"]["kd"] == {f"{name}_m": KD[k] for k, name in enumerate(NAMES)}
    assert "kp" not in found.proposal.left_out.get("log.npz", [])


PAIR = '<position name="JOINT_p" joint="JOINT" kp="40"/><velocity name="JOINT_v" joint="JOINT"/>'


def test_a_pair_of_actuators_on_one_joint_takes_both_commands(tmp_path):
    asked = np.gradient(motion(True)["control"], 1 / 250, axis=0)
    speeds = {f"{name}_vel_cmd": asked[:, k] for k, name in enumerate(NAMES)}
    found, file = imported(tmp_path, mjcf(PAIR), True, "pos_cmd", **speeds)
    controls = file["recordings"][0]["controls"]
    assert {
        "shoulder_p": "shoulder_pos_cmd",
        "elbow_p": "elbow_pos_cmd",
    }.items() <= controls.items()
    assert "actuators" not in file["model"]
    assert simulated(found, tmp_path).nu == 4


def test_a_pair_of_actuators_becomes_one_motor_for_a_torque(tmp_path):
    found, file = imported(tmp_path, mjcf(PAIR))
    assert file["model"]["actuators"] == dict.fromkeys(NAMES, "torque")
    model = simulated(found, tmp_path)
    assert [model.actuator(i).name for i in range(model.nu)] == ["shoulder_p", "elbow_p"]


@pytest.mark.parametrize("gain", ["gainprm='40' biastype='affine' biasprm='0 -40 -1'"])
def test_a_general_actuator_is_a_servo(gain, tmp_path):
    text = mjcf(f"<general name='JOINT_a' joint='JOINT' {gain}/>")
    _, file = imported(tmp_path, text, True, "cmd")
    assert "actuators" not in file["model"]
    assert file["recordings"][0]["controls"] == {f"{n}_a": f"{n}_cmd" for n in NAMES}


def test_names_with_slashes_folders_with_spaces_and_keyframes(tmp_path):
    names = ("left/shoulder", "left/elbow")
    home = '<keyframe><key name="home" qpos="0.3 -0.4" ctrl="0.3 -0.4"/></keyframe>'
    text = mjcf('<position name="JOINT act" joint="JOINT" kp="9"/>', home, names)
    folder = tmp_path / "my robot"
    found, file = imported(folder, text, names=names)
    assert file["model"]["actuators"] == "torque"
    assert set(file["recordings"][0]["controls"]) == {f"{name} act" for name in names}
    prepare(parse_experiment(found.proposal.text), folder)


# --- tendons and grippers --------------------------------------------------------------------


GRIPPER = """<mujoco><option timestep="0.002" integrator="implicitfast"/>
<compiler autolimits="true"/><worldbody><body name="hand">{fingers}</body></worldbody>
<tendon><fixed name="split"><joint joint="left" coef="0.5"/><joint joint="right" coef="0.5"/>
</fixed></tendon><equality><joint joint1="left" joint2="right"/></equality>
<actuator><general name="{actuator}" tendon="split" ctrlrange="0 255" biastype="affine"
 gainprm="0.04" biasprm="0 -400 -10"/></actuator></mujoco>"""


def gripper(actuator: str = "grip") -> str:
    fingers = "".join(
        f'<body name="{side}_b"><joint name="{side}" type="slide" axis="0 {sign} 0" '
        f'range="0 0.03" armature="0.1" damping="5"/>'
        '<inertial pos="0 0 0" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/></body>'
        for side, sign in (("left", 1), ("right", -1))
    )
    return GRIPPER.format(fingers=fingers, actuator=actuator)


@pytest.mark.parametrize("finger", ["left", "opening_pos"])
@pytest.mark.parametrize("command", ["grip_cmd", "target", "gripper_cmd"])
def test_the_command_of_a_gripper_drives_its_tendon(finger, command, tmp_path):
    (tmp_path / "hand.xml").write_text(gripper())
    time = np.arange(0, 6, 0.01)
    asked = np.where(time % 2 < 1, 200.0, 40.0)
    place = 1e-4 * np.convolve(asked, np.ones(20) / 20, "same")
    table = np.column_stack([time, place, asked])
    np.savetxt(
        tmp_path / "log.csv", table, delimiter=",", header=f"time,{finger},{command}", comments=""
    )
    found = propose_import(tmp_path / "hand.xml", [tmp_path / "log.csv"], tmp_path)
    file = yaml.safe_load(found.proposal.text)
    assert file["recordings"][0]["controls"] == {"grip": command}
    assert list(file["recordings"][0]["signals"]) == ["left_qpos"]
    # the second finger follows, and is as the first
    points = " ".join(found.proposal.open_points)
    assert ("opening_pos is read as 'left'" in points) == (finger == "opening_pos")
    assert "'right' is not in the log: it follows 'left'" in points
    assert "neither commands nor torques" not in points
    assert file["parameters"]["left_damping"]["target"] == [
        "joint/left/damping",
        "joint/right/damping",
    ]


@pytest.mark.parametrize("apart", [0.0, 1e-3])
def test_fingers_that_move_alike_share_their_parameters(apart, tmp_path):
    """Motion tells the sum of two armatures of fingers that move alike, not each."""
    (tmp_path / "hand.xml").write_text(gripper())
    time = np.arange(0, 6, 0.01)
    place = 0.015 * (1 - np.cos(time)) + 1e-5 * np.random.default_rng(0).normal(size=(2, 600))
    place[1] += apart * np.sin(3 * time)
    table = np.column_stack([time, *place, 1e4 * place[0] % 200])
    header = "time,left,right,grip_cmd"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=header, comments="")
    found = propose_import(tmp_path / "hand.xml", [tmp_path / "log.csv"], tmp_path)
    parameters = yaml.safe_load(found.proposal.text)["parameters"]
    if apart:
        assert parameters["right_armature"]["target"] == "joint/right/armature"
        return
    assert parameters["left_armature"]["target"] == [
        "joint/left/armature",
        "joint/right/armature",
    ]
    assert not [name for name in parameters if name.startswith("right")]


def test_fingers_that_differ_have_parameters_of_their_own(tmp_path):
    (tmp_path / "hand.xml").write_text(gripper().replace('damping="5"', 'damping="7"', 1))
    table = np.column_stack([np.arange(0, 6, 0.01), np.linspace(0, 0.02, 600), np.arange(600) % 99])
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header="t,left,grip_cmd", comments="")
    found = propose_import(tmp_path / "hand.xml", [tmp_path / "log.csv"], tmp_path)
    file = yaml.safe_load(found.proposal.text)
    assert file["parameters"]["left_damping"]["target"] == "joint/left/damping"


def test_a_joint_without_data_is_named_with_what_becomes_of_it(tmp_path):
    more = mjcf().replace(
        "</body></body>",
        '<body pos="0 0 -0.3"><joint name="gripper" axis="1 0 0" stiffness="5"/>'
        '<geom size="0.02" mass="0.05"/></body></body></body>',
    )
    found, file = imported(tmp_path, more)
    points = " ".join(found.proposal.open_points)
    assert "no column was found for 'gripper'" in points
    assert not [name for name in found.proposal.parameters if name.startswith("gripper")]
    assert file["model"]["actuators"] == dict.fromkeys(NAMES, "torque")
