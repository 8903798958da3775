"""Joints and actuators without a name: named, said, and refused in files for other programs."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup import sysid
from trueup.errors import ModelError, TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.randomise import export_randomisation
from trueup.simulation.models.element_names import generated_names
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import ModelPart
from trueup.sysid.importing.import_log import propose_import
from trueup.sysid.importing.template import propose_experiment

_MODEL = """
<mujoco>
  <compiler angle="radian"/><option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="thigh">
      <joint name="hip" axis="0 1 0" armature="0.02" damping="{hip}"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.5"/>
      <body name="shank" pos="0.25 0 0">
        <joint axis="0 1 0" armature="0.01" damping="{knee}"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="hip" kp="{kp}" kv="0.5"/></actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A leg whose knee and servo have no name, and a recording of another damping and gain."""
    place = tmp_path_factory.mktemp("leg")
    (place / "leg.xml").write_text(_MODEL.format(hip=0.2, knee=0.1, kp=20))
    model = mujoco.MjModel.from_xml_string(_MODEL.format(hip=0.2, knee=0.15, kp=25))
    data, rows, rng = mujoco.MjData(model), [], np.random.default_rng(0)
    for step in range(2000):
        now = step * model.opt.timestep
        if step % 5 == 0:  # commands are held between samples
            data.ctrl[0] = 0.6 * np.sin(2 * now) + 0.3 * np.sin(7 * now + 1)
            rows.append([now, *(data.qpos + rng.normal(0, 2e-4, 2)), data.ctrl[0]])
        mujoco.mj_step(model, data)
    header = "time,hip_pos,shank_pos,hip_cmd"
    np.savetxt(place / "log.csv", rows, delimiter=",", header=header, comments="")
    return place


def test_a_model_is_read_with_a_name_for_each(folder, tmp_path):
    model = load_spec(ModelPart(file="leg.xml"), folder).compile()
    assert [model.joint(j).name for j in range(2)] == ["hip", "unnamed_joint_1"]
    assert model.actuator(0).name == "unnamed_actuator_0"
    (sentence,) = generated_names(model)
    assert "'unnamed_joint_1' is the joint of the body 'shank'" in sentence
    assert "'unnamed_actuator_0' is the actuator 0 on the joint 'hip'" in sentence
    text = _MODEL.format(hip=0.2, knee=0.1, kp=20).replace('"hip"', '"unnamed_joint_1"')
    (tmp_path / "leg.xml").write_text(text)
    model = load_spec(ModelPart(file="leg.xml"), tmp_path).compile()
    assert [model.joint(j).name for j in range(2)] == ["unnamed_joint_1", "unnamed_joint_1_"]
    named = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='1'/>"
                                           "</body></worldbody></mujoco>")  # fmt: skip
    assert generated_names(named) == []


@pytest.mark.parametrize("proposed", ["import", "init"])
def test_columns_are_found_by_the_body_of_the_joint(folder, proposed):
    model, log = folder / "leg.xml", folder / "log.csv"
    if proposed == "import":
        found = propose_import(model, [log], folder).proposal
    else:
        found = propose_experiment(model, [log], folder)
    recording = yaml.safe_load(found.text)["recordings"][0]
    assert recording["signals"]["unnamed_joint_1_qpos"] == "shank_pos"
    assert recording["controls"] == {"unnamed_actuator_0": "hip_cmd"}
    assert any("'unnamed_joint_1' is the joint of the body 'shank'" in p for p in found.open_points)


def test_they_are_identified_written_and_reported_by_these_names(folder):
    experiment = {
        "name": "leg",
        "model": {"file": "leg.xml"},
        "recordings": [
            {
                "file": "log.csv",
                "time": "time",
                "signals": {"hip_qpos": "hip_pos", "unnamed_joint_1_qpos": "shank_pos"},
                "controls": {"unnamed_actuator_0": "hip_cmd"},
                "initial": "default",
            }
        ],
        "parameters": {
            "knee": {"target": "joint/unnamed_joint_1/damping", "bounds": [0, 1]},
            "kp": {"target": "actuator/unnamed_actuator_0/kp", "bounds": [5, 60]},
        },
    }
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment))
    settings = sysid.load_experiment(folder / "experiment.yaml")
    run = sysid.identify(settings, folder, output=folder / "run", verbose=False)
    values = dict(run.solution.parameters)
    assert values["kp"] == pytest.approx(25, rel=0.01)
    assert values["knee"] == pytest.approx(0.15, rel=0.01)
    written = mujoco.MjModel.from_xml_path(str(folder / "run" / "model.xml"))
    assert written.joint("unnamed_joint_1").damping[0] == pytest.approx(values["knee"])
    assert -written.actuator("unnamed_actuator_0").biasprm[1] == pytest.approx(values["kp"])
    assert "unnamed_joint_1" in (folder / "run" / "report.html").read_text()
    # another simulator reads the user's own model, which has no such names
    with pytest.raises(TargetError, match="has no name for another simulator"):
        export_randomisation(folder / "run", folder / "dr", draws=32, anyway=True)


def test_a_target_without_names_says_that_some_have_none():
    spec = mujoco.MjSpec.from_string(_MODEL.format(hip=0.2, knee=0.1, kp=20))
    unknown = ParameterDict({"p": Parameter("p", 0.1, 0, 1, target="joint/knee/damping")})
    with pytest.raises(TargetError, match="1 of its 2 elements of this kind have no name"):
        ModelVariants(spec, unknown)


@pytest.mark.parametrize(
    ("actuator", "words"),
    [
        ('<pid name="a" joint="hip" kp="3"/>', r"'a' is of the type 'pid' and has 2 inputs.*pos"),
        (
            '<dcmotor name="a" joint="hip" motorconst="1" resistance="1" input="none"/>',
            r"'dcmotor' and has 0 inputs.*voltage",
        ),
    ],
)
def test_an_actuator_without_exactly_one_command_is_refused(tmp_path, actuator, words):
    text = _MODEL.format(hip=0.2, knee=0.1, kp=20).replace("<actuator>", f"<actuator>{actuator}")
    (tmp_path / "leg.xml").write_text(text)
    with pytest.raises(ModelError, match=words):
        load_spec(ModelPart(file="leg.xml"), tmp_path)
