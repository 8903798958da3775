"""Models of OpenSim that ``gait import`` refuses: one sentence, exit code 2, nothing written."""

import pytest
from work import refused

HEAD = '<OpenSimDocument Version="40000"><Model name="arm">'
GROUND = (
    '<Ground name="ground"><WrapObjectSet><objects><WrapCylinder name="block">'
    "<translation>-0.05 0 0</translation><quadrant>-y</quadrant><radius>0.06</radius>"
    "<length>0.2</length></WrapCylinder></objects></WrapObjectSet></Ground>"
)
FOREARM = (
    '<BodySet><objects><Body name="forearm"><mass>1.5</mass><mass_center>0 -0.15 0</mass_center>'
    "<inertia>0.01 0.001 0.01 0 0 0</inertia></Body></objects></BodySet>"
)
ELBOW = (
    '<JointSet><objects><PinJoint name="elbow"><socket_parent_frame>/ground</socket_parent_frame>'
    "<socket_child_frame>/bodyset/forearm</socket_child_frame><coordinates>"
    '<Coordinate name="flexion"><range>-2 0.1</range><clamped>true</clamped></Coordinate>'
    "</coordinates></PinJoint></objects></JointSet>"
)
MUSCLE = (
    '<ForceSet><objects><Thelen2003Muscle name="flexor"><GeometryPath><PathPointSet><objects>'
    '<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame>'
    "<location>0.03 0.3 0.02</location></PathPoint>"
    '<PathPoint name="b"><socket_parent_frame>/bodyset/forearm</socket_parent_frame>'
    "<location>0.03 -0.05 0.01</location></PathPoint></objects></PathPointSet>"
    '<PathWrapSet><objects><PathWrap name="w"><wrap_object>block</wrap_object></PathWrap>'
    "</objects></PathWrapSet></GeometryPath><max_isometric_force>1000</max_isometric_force>"
    "<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.3</tendon_slack_length>"
    "</Thelen2003Muscle></objects></ForceSet>"
)
MODEL = f"{HEAD}{GROUND}{FOREARM}{ELBOW}{MUSCLE}</Model></OpenSimDocument>"

REFUSED = {
    "a muscle that pulls the wrong way": (
        MODEL,
        ("1 of the 1 muscles", "flexor: moment arm about flexion is ", "expected", "--partial"),
    ),
    "a surface of radius zero": (
        MODEL.replace("<radius>0.06</radius>", "<radius>0</radius>"),
        ("'block'", "the radius of the surface", "is 0 m"),
    ),
    "an inertia that no body has": (
        MODEL.replace("0.01 0.001 0.01", "0.01 -0.5 0.01"),
        ("'forearm'", "negative moment of -0.5 kg m2"),
    ),
    "a torus without a tube": (
        MODEL.replace("WrapCylinder", "WrapTorus"),
        ("'block' has no <inner_radius>",),
    ),
    "a surface of another kind": (
        MODEL.replace("WrapCylinder", "WrapMesh"),
        ("block: a surface of the kind WrapMesh", "--partial"),
    ),
    "a point that follows nothing": (
        MODEL.replace(
            '<PathPoint name="b">', '<ConditionalPathPoint name="b"><range>0 1</range>'
        ).replace("0.01</location></PathPoint>", "0.01</location></ConditionalPathPoint>"),
        ("'b' of 'flexor'", "'flexion'"),
    ),
    "a file cut in the middle": (MODEL[: len(MODEL) // 2], ("is not an XML file",)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_model_that_cannot_be_written_is_refused(case, tmp_path, capfd, monkeypatch):
    text, named = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.osim").write_text(text)
    refused(["gait", "import", "arm.osim"], tmp_path, capfd, named)


def test_partial_that_leaves_out_the_only_muscle_says_so(tmp_path, capfd, monkeypatch):
    from trueup.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.osim").write_text(MODEL)
    assert main(["gait", "import", "arm.osim", "--partial"]) == 0
    said = capfd.readouterr().out
    assert "refused" in said and "flexor" in said and "Walk with it" not in said
    assert (tmp_path / "arm" / "model.xml").is_file()
