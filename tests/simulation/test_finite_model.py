"""Models with numbers that are not finite are refused, by the number and its element."""

import mujoco
import pytest

from trueup.errors import ModelError
from trueup.simulation.models.finite_model import check_finite_model
from trueup.simulation.models.limits import check_model_file
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import ModelPart

_MJCF = """
<mujoco>
  <compiler angle="radian"/><option timestep="0.002" gravity="0 0 -9.81"/>
  <default><default class="soft"><geom solref="0.02 1"/></default></default>
  <worldbody>
    <body name="arm" pos="0 0 1">
      <inertial mass="1" pos="0 0 0.1" diaginertia="0.1 0.1 0.1"/>
      <joint name="inf" axis="0 1 0" armature="0.02" damping="0.1" range="-1 1" stiffness="1"/>
      <geom class="soft" type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" friction="1 0.1 0.1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="inf" kp="3" kv="1" forcerange="-3 3" ctrlrange="-1 1" gear="2"/>
  </actuator>
</mujoco>
"""
_URDF = """
<robot name="nan">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.1"/><mass value="0.5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="j" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="inf" velocity="inf"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
</robot>
"""


def _load(folder, text):
    (folder / "m.xml").write_text(text)
    return load_spec(ModelPart(file="m.xml"), folder)


def test_models_with_finite_numbers_are_read(tmp_path):
    """Names may be called as they like, and a URDF may have no limit of effort and velocity."""
    _load(tmp_path, _MJCF)
    _load(tmp_path, _URDF)


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "NaN", "1e999", "-nan(0x1)"])
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('timestep="0.002"', 'timestep="{}"', "timestep of option"),
        ('gravity="0 0 -9.81"', 'gravity="0 0 {}"', "gravity of option"),
        ('solref="0.02 1"', 'solref="{} 1"', "solref of geom of default 'soft'"),
        ('pos="0 0 1"', 'pos="0 {} 1"', "pos of body 'arm'"),
        ('mass="1"', 'mass="{}"', "mass of inertial of body 'arm'"),
        ("0.1 0.1 0.1", "0.1 0.1 {}", "diaginertia of inertial of body 'arm'"),
        ('axis="0 1 0"', 'axis="0 {} 0"', "axis of joint 'inf'"),
        ('armature="0.02"', 'armature="{}"', "armature of joint 'inf'"),
        ('damping="0.1"', 'damping="{}"', "damping of joint 'inf'"),
        (' range="-1 1"', ' range="-1 {}"', "range of joint 'inf'"),
        ('stiffness="1"', 'stiffness="{}"', "stiffness of joint 'inf'"),
        ('size="0.02"', 'size="{}"', "size of geom of body 'arm'"),
        ('friction="1 ', 'friction="{} ', "friction of geom of body 'arm'"),
        ('kp="3"', 'kp="{}"', "kp of position 'servo'"),
        ('forcerange="-3 3"', 'forcerange="-3 {}"', "forcerange of position 'servo'"),
        ('gear="2"', 'gear="{}"', "gear of position 'servo'"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_name(tmp_path, old, new, words, value):
    assert _MJCF.count(old) == 1
    with pytest.raises(ModelError) as info:
        _load(tmp_path, _MJCF.replace(old, new.format(value)))
    assert words in str(info.value) and value in str(info.value) and "m.xml" in str(info.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('value="0.5"', 'value="nan"', "value of mass of link 'arm'"),
        ('ixx="0.1"', 'ixx="inf"', "ixx of inertia of link 'arm'"),
        ('xyz="0 0 0.1"', 'xyz="0 nan 0.1"', "xyz of origin of link 'arm'"),
        ('damping="0.1"', 'damping="nan"', "damping of dynamics of joint 'j'"),
        ('effort="inf"', 'effort="nan"', "effort of limit of joint 'j'"),
        ('upper="1"', 'upper="inf"', "upper of limit of joint 'j'"),
    ],
)
def test_a_urdf_is_looked_at_too(tmp_path, old, new, words):
    assert _URDF.count(old) == 1
    with pytest.raises(ModelError) as info:
        _load(tmp_path, _URDF.replace(old, new))
    assert words in str(info.value)


def test_an_included_file_is_named(tmp_path):
    (tmp_path / "part.xml").write_text(
        '<mujoco><worldbody><body name="b"><geom name="g" size="0.1" mass="nan"/></body>'
        "</worldbody></mujoco>"
    )
    (tmp_path / "m.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    with pytest.raises(
        ModelError, match=r"part\.xml: mass of geom 'g' must be a finite number, found 'nan'"
    ):
        check_model_file(tmp_path / "m.xml")


@pytest.mark.parametrize(
    ("field", "entry", "words"),
    [
        ("body_mass", 1, "body_mass of body 'arm'"),
        ("dof_armature", 0, "dof_armature of joint 'inf'"),
        ("qpos0", 0, "qpos0 of joint 'inf'"),
        ("actuator_gainprm", (0, 0), "actuator_gainprm of actuator 'servo'"),
    ],
)
def test_numbers_that_a_compiler_makes_are_looked_at_too(field, entry, words):
    model = mujoco.MjModel.from_xml_string(_MJCF)
    check_finite_model(model, "m.xml")
    getattr(model, field)[entry] = float("inf")
    model.body_subtreemass[0] = float("nan")  # follows from others, which are named first
    with pytest.raises(ModelError) as info:
        check_finite_model(model, "m.xml")
    assert words in str(info.value)


def test_a_step_that_is_not_finite_is_refused():
    model = mujoco.MjModel.from_xml_string(_MJCF)
    model.opt.timestep = float("nan")
    with pytest.raises(ModelError, match=r"opt\.timestep"):
        check_finite_model(model, "m.xml")


def test_a_number_too_large_for_the_compiler_is_refused(tmp_path):
    """Each number is finite, and what the compiler makes of them is not."""
    with pytest.raises(ModelError):
        _load(tmp_path, _MJCF.replace('gear="2"', 'gear="1e300"'))
