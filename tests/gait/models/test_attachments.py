"""Exoskeletons attached by name: masses, torques and their signs, on any walker."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import (
    FourParameterProfile,
    Walker,
    WalkSettings,
    WalkSimulation,
    attach_exoskeleton,
    planar22,
    planar22_anatomy,
)
from trueup.gait.models.attachments import (
    DEVICES,
    Device,
    DevicePart,
    load_devices,
    shipped_devices,
)

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"
MODELS = ("planar22", "myolegs26", "myolegs")


def walker_with(name, device):
    if name != "planar22":
        pytest.importorskip("myo_sim")
    return Walker.load(name, device=device)


@pytest.mark.parametrize("device", ["ankle", "hip", "hip_extension"])
@pytest.mark.parametrize("name", MODELS)
def test_devices_fit_every_walker(name, device):
    walker = walker_with(name, device)
    bare = Walker.load(name)
    assert walker.has_exoskeleton and not bare.has_exoskeleton
    added = 2.0 * sum(part.mass for part in shipped_devices()[device].parts.values())
    assert walker.mass - bare.mass == pytest.approx(added)
    model, data = walker.model, mujoco.MjData(walker.model)
    # both sides alike: what they weigh lies in the middle
    mujoco.mj_resetDataKeyframe(model, data, model.key("stand").id)
    mujoco.mj_forward(model, data)
    assert data.subtree_com[0, 1] == pytest.approx(0.0, abs=1e-9)
    part = walker.body_map(()).parts[0]
    role = ("hip", "knee", "ankle").index(shipped_devices()[device].joint)
    direction = 1.0 if device == "hip" else -1.0
    for leg in range(2):
        data.ctrl[part["exo_ctrl"][leg]] = 10.0 / part["exo_gain"][leg]
        mujoco.mj_forward(model, data)
        dof = part["qvel"][leg, role]
        # flexion and dorsiflexion are positive
        only = data.qfrc_actuator[dof]
        data.ctrl[:] = 0.0
        mujoco.mj_forward(model, data)
        assert only - data.qfrc_actuator[dof] == pytest.approx(direction * 10.0)


def test_a_profile_drives_a_device_of_the_hip():
    simulation = WalkSimulation(
        Walker.load("planar22", device="hip"),
        WalkSettings(duration=0.5, delayed=False, threads=1, max_torque=30.0),
        profile=FourParameterProfile(),
    )
    records = simulation.run(simulation.parameters.start[None])
    torque = records.column("exo_l")[0]
    assert 5.0 < torque.max() <= 30.0 and torque.min() == 0.0


def test_the_named_model_with_an_exoskeleton_is_one_use_of_it():
    one, other = Walker.load("planar22_exo").model, Walker.load("planar22", device="ankle").model
    np.testing.assert_array_equal(one.body_mass, other.body_mass)
    np.testing.assert_array_equal(one.actuator_gainprm, other.actuator_gainprm)


def test_a_device_on_a_model_of_a_file(recorded_data):
    walker = Walker.load(recorded_data / MODEL)
    assert walker.has_exoskeleton
    with pytest.raises(GaitError, match="already has an exoskeleton"):
        Walker.load(recorded_data / MODEL, device="ankle")
    spec = mujoco.MjSpec.from_file(str(recorded_data / MODEL))
    for name in ("Exo_R", "Exo_L"):
        spec.delete(spec.actuator(name))
    model = attach_exoskeleton(spec, "hip").compile()
    assert model.actuator("Exo_R").ctrlrange.tolist() == [0.0, 1.0]
    assert model.joint(int(model.actuator("Exo_R").trnid[0])).name == "hip_flexion_r"


def test_a_new_device_is_an_entry(tmp_path):
    content = yaml.safe_load(DEVICES.read_text(encoding="utf-8"))
    content["knee"] = content["ankle"] | {"joint": "knee", "turns": "forward", "torque": 40}
    path = tmp_path / "devices.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    device = load_devices(path)["knee"]
    walker = Walker.load("planar22", device=device)
    part = walker.body_map(()).parts[0]
    assert part["exo_gain"].tolist() == [40.0, 40.0]  # it extends, as a positive angle does
    assert isinstance(device, Device)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"torque": 0}, "ankle.torque"),
        ({"joint": "elbow"}, "ankle.joint"),
        ({"turns": "left"}, "ankle.turns"),
        ({"color": "red"}, "ankle.color"),
        ({"parts": {"shank": {"body": "above"}}}, "ankle.parts.shank"),
    ],
)
def test_mistakes_in_a_description(tmp_path, change, message):
    content = yaml.safe_load(DEVICES.read_text(encoding="utf-8"))
    content["ankle"] |= change
    path = tmp_path / "devices.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(GaitError, match=message):
        load_devices(path)


def test_what_cannot_be_attached(tmp_path):
    with pytest.raises(GaitError, match=r"unknown exoskeleton 'ankel'.*Did you mean 'ankle'"):
        Walker.load("planar22", device="ankel")
    with pytest.raises(GaitError, match="already has an exoskeleton"):
        Walker.load("planar22_exo", device="hip")
    with pytest.raises(GaitError, match="requires the joint 'pelvis_tx'"):
        attach_exoskeleton(mujoco.MjSpec())
    anatomy = planar22_anatomy()
    other = anatomy.model_copy(update={"joints": anatomy.joints | {"ankle": "talus_{side}"}})
    with pytest.raises(GaitError, match="requires the joint 'talus_r'"):
        attach_exoskeleton(planar22(), "ankle", other)
    part = {"body": "below", "place": (0, 0, 0), "inertia": (1, 1, 1)}
    own = {"joint": "ankle", "turns": "backward", "torque": 10.0}
    body = Walker.load("planar22").mass
    light = Device(**own, parts={"shoe": DevicePart(**part, mass=0.49 * body)})
    assert Walker.load("planar22", device=light).mass == pytest.approx(1.98 * body)
    heavy = Device(**own, parts={"shoe": DevicePart(**part, mass=0.5 * body)})
    with pytest.raises(GaitError, match=r"the device has .* kg on both legs.*reduce the masses"):
        Walker.load("planar22", device=heavy)
    with pytest.raises(GaitError, match="cannot read the devices"):
        load_devices(tmp_path / "absent.yaml")
    (tmp_path / "torn.yaml").write_text("ankle: [", encoding="utf-8")
    with pytest.raises(GaitError, match="is not a YAML file"):
        load_devices(tmp_path / "torn.yaml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("baseline", "ExoOn=1"), "planar22 has no exoskeleton"),
        (("baseline", "--model", "osl"), "unknown device 'osl'"),
        (("baseline", "--model-file", "myoleg26"), "Did you mean 'myolegs26'"),
        (("exo_4param", "--model-file", "planar22_exo", "--model", "hip"), "already"),
        (("baseline", "stairs=0.9,0.3"), "the rise of the stairs is 0.9 m"),
        (("baseline", "stairs=0.1,0.3", "--tgt-slope", "5"), "slope and stairs cannot"),
        (("baseline", "--pose-key", "walk_up"), "unknown initial pose 'walk_up'"),
    ],
)
def test_mistakes_on_the_command_line(capsys, tmp_path, words, message):
    options = ["-eff", "--sim-time", "0.2", "--save-path", str(tmp_path / "run")]
    assert main(["gait", "optimize", *words, *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
