"""URDF files as exporters write them: meshes of packages, xacro, links without mass."""

from pathlib import Path

import mujoco
import pytest

from trueup.errors import ModelError
from trueup.sysid.experiment.model_loading import load_model
from trueup.sysid.experiment.settings import ModelPart

INERTIAL = """<inertial><origin xyz="0 0 -0.2"/><mass value="{mass}"/>
<inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial>"""
SOLID = INERTIAL.format(mass=0.7, i=0.004)
MESH = '<{kind}><geometry><mesh filename="{name}"/></geometry></{kind}>'
ARM = """<robot name="arm"><link name="base"/><link name="upper">{upper}</link>
<link name="fore">{fore}</link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint>
<joint name="elbow" type="{elbow}"><parent link="upper"/><child link="fore"/>
<origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/></joint>{more}</robot>"""
# a tetrahedron
OBJ = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def loaded(
    folder: Path,
    name: str = "arm.urdf",
    upper: str = SOLID,
    fore: str = SOLID,
    elbow: str = "continuous",
    more: str = "",
) -> tuple[mujoco.MjModel, list[str]]:
    """The model of an arm and the notes on it, after a file was written."""
    text = ARM.format(upper=upper, fore=fore, elbow=elbow, more=more)
    (folder / name).write_text(text)
    spec, notes = load_model(ModelPart(file=name), folder)
    return spec.compile(), notes


@pytest.mark.parametrize("name", ["package://arm/meshes/a.obj", "meshes/a.obj", "file:///x/a.obj"])
def test_absent_meshes_are_left_out_and_named(name, tmp_path):
    shapes = "".join(MESH.format(kind=kind, name=name) for kind in ("visual", "collision"))
    model, notes = loaded(tmp_path, upper=SOLID + shapes)
    assert model.ngeom == 0
    assert model.body("upper").mass[0] == 0.7
    assert len(notes) == 1
    assert "arm.urdf is read without the meshes" in notes[0]
    assert name in notes[0] and "absent" in notes[0]


@pytest.mark.parametrize("name", ["package://arm/meshes/a.obj", "../meshes/a.obj"])
def test_meshes_of_a_package_are_found_above_the_file(name, tmp_path):
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "meshes" / "a.obj").write_text(OBJ)
    folder = tmp_path / "arm" / "urdf files"
    folder.mkdir()
    shape = MESH.format(kind="collision", name=name)
    model, notes = loaded(folder, upper=SOLID + shape)
    assert (model.nmesh, model.ngeom, notes) == (1, 1, [])


def test_a_mesh_in_a_format_that_mujoco_does_not_read_is_left_out(tmp_path):
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    model, notes = loaded(tmp_path, fore=SOLID + MESH.format(kind="visual", name="a.dae"))
    assert model.ngeom == 0
    assert "'a.dae'" in notes[0] and "does not read" in notes[0]


def test_an_xml_file_may_be_a_urdf(tmp_path):
    shape = MESH.format(kind="collision", name="package://arm/a.stl")
    model, notes = loaded(tmp_path, "robot.xml", upper=SOLID + shape)
    assert model.njnt == 2
    assert "robot.xml is read without" in notes[0]


def test_the_empty_link_of_a_joint_with_two_axes_gets_a_mass_and_is_named(tmp_path):
    model, notes = loaded(tmp_path, upper="")
    assert 0 < model.body("upper").mass[0] < 1e-5
    assert model.body("fore").mass[0] == 0.7
    assert len(notes) == 1 and "'upper'" in notes[0] and "without a mass" in notes[0]


@pytest.mark.parametrize("fore", ["", INERTIAL.format(mass=0, i=0)])
def test_a_link_that_carries_nothing_needs_a_mass(fore, tmp_path):
    with pytest.raises(ModelError, match="'fore' moves on a joint, but has no mass") as raised:
        loaded(tmp_path, fore=fore + MESH.format(kind="visual", name="package://a/b.stl"))
    assert "mjMINVAL" not in str(raised.value)


def test_a_urdf_without_inertias_names_every_link(tmp_path):
    with pytest.raises(ModelError, match="'upper', 'fore'") as raised:
        loaded(tmp_path, upper="", fore="")
    assert str(raised.value).count(". ") == 0


def test_links_on_fixed_joints_become_one_and_an_added_body_stays(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.format(upper=SOLID, fore=SOLID, elbow="fixed", more=""))
    spec, _ = load_model(ModelPart(file="arm.urdf"), tmp_path)
    body = spec.body("upper").add_body(name="payload", pos=[0, 0, -0.5])
    body.mass, body.inertia, body.explicitinertial = 0.2, [1e-4] * 3, True
    model = spec.copy().compile()
    assert model.body("upper").mass[0] == pytest.approx(1.4)
    assert model.body("payload").mass[0] == 0.2


@pytest.mark.parametrize(
    ("name", "text", "target"),
    [
        ("ur.urdf.xacro", '<xacro:arm prefix="a"/>', "ur.urdf"),
        ("ur.xacro", '<xacro:property name="x" value="1"/>', "ur.urdf"),
        ("ur.urdf", '<link name="${prefix}base"/>', "ur.expanded.urdf"),
    ],
)
def test_a_xacro_is_refused_with_the_command_that_expands_it(name, text, target, tmp_path):
    (tmp_path / name).write_text(
        f'<robot name="ur" xmlns:xacro="http://www.ros.org/wiki/xacro">{text}</robot>'
    )
    with pytest.raises(ModelError) as raised:
        load_model(ModelPart(file=name), tmp_path)
    assert f"xacro {name} > {target}" in str(raised.value)


def test_an_expanded_xacro_may_keep_its_namespace(tmp_path):
    more = '" xmlns:xacro="http://www.ros.org/wiki/xacro'
    text = ARM.format(upper=SOLID, fore=SOLID, elbow="continuous", more="")
    (tmp_path / "arm.urdf").write_text(text.replace('name="arm', f'name="arm{more}', 1))
    spec, notes = load_model(ModelPart(file="arm.urdf"), tmp_path)
    assert (spec.compile().njnt, notes) == (2, [])


def test_a_mimic_joint_follows_its_leader(tmp_path):
    more = f"""<link name="finger">{SOLID}</link><joint name="second" type="prismatic">
    <parent link="fore"/><child link="finger"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="1" velocity="1"/><mimic joint="elbow" multiplier="0.5"/>
    </joint>"""
    model, _ = loaded(tmp_path, more=more)
    assert model.neq == 1
    assert model.eq_data[0, 1] == 0.5
