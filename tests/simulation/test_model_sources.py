"""All files that a model is made of are found, whatever names them."""

from trueup.simulation.models.sources import model_sources


def write(folder, **files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder, model):
    return {path.resolve().relative_to(folder).as_posix() for path in model_sources(folder / model)}


def test_files_of_mjcf_at_any_depth(tmp_path):
    write(tmp_path, **{
        "robot.xml": """<mujoco><compiler assetdir="assets"/><asset>
            <mesh name="m" file="link.obj"/><texture name="t" fileright="right.png"/>
            <hfield name="h" file="hills.bin"/><model name="hand" file="hand.xml"/></asset>
            <include file="parts/arm.xml"/><include file="absent.xml"/></mujoco>""",
        "parts/arm.xml": '<mujocoinclude><include file="sensors.xml"/></mujocoinclude>',
        "parts/sensors.xml": '<mujocoinclude><include file="../robot.xml"/></mujocoinclude>',
        "hand.xml": '<mujoco><compiler meshdir="m"/><asset><mesh file="f.stl"/></asset></mujoco>',
        "m/f.stl": "",
        "assets/link.obj": "v 0 0 0",
        "assets/right.png": "",
        "assets/hills.bin": "",
        "other.xml": "<mujoco/>",
    })  # fmt: skip
    found = names(tmp_path, "robot.xml")
    assert found == {
        *("robot.xml", "parts/arm.xml", "parts/sensors.xml", "hand.xml", "m/f.stl"),
        *("assets/link.obj", "assets/right.png", "assets/hills.bin"),
    }


def test_meshes_of_urdf_in_its_package(tmp_path):
    write(tmp_path, **{
        "robot_description/urdf/robot.urdf": """<robot name="r"><link name="a"><visual><geometry>
            <mesh filename="package://robot_description/meshes/a.stl"/></geometry></visual>
            <collision><geometry><mesh filename="b.stl"/></geometry></collision></link></robot>""",
        "robot_description/meshes/a.stl": "",
        "robot_description/urdf/b.stl": "",
    })  # fmt: skip
    assert names(tmp_path, "robot_description/urdf/robot.urdf") == {
        "robot_description/urdf/robot.urdf",
        "robot_description/meshes/a.stl",
        "robot_description/urdf/b.stl",
    }


def test_a_file_that_is_no_xml_is_a_source_by_itself(tmp_path):
    (tmp_path / "robot.xml").write_text("<mujoco>")
    assert names(tmp_path, "robot.xml") == {"robot.xml"}
