"""Scaling of OpenSim models: bodies, joints, paths, surfaces, inertias and muscles."""

import re

import mujoco
import numpy as np
import osim_files as osim
import pytest

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait.models.planar22 import planar22_numbers
from trueup.gait.opensim.file import read_osim
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.paths import moment_arm, route
from trueup.gait.opensim.scaling.person import estimated_height, scaled_to

SURFACES = "".join(
    [
        osim.surface("WrapCylinder", "bar", {"radius": 0.03, "length": 0.2}, "0 -0.4 0",
                     quadrant="+x"),
        osim.surface("WrapSphere", "ball", {"radius": 0.04}, "0 -0.02 0"),
        osim.surface("WrapEllipsoid", "egg", {"dimensions": "0.04 0.03 0.05"}, "0 -0.02 0"),
    ]
)  # fmt: skip
MUSCLES = [
    osim.muscle("wrapped", (osim.point("a", "femur", "0.03 -0.1 0.02"),
                            osim.point("b", "tibia", "0.03 -0.05 0.01")), ["bar"]),
    osim.muscle("moved", (
        osim.point("a", "ground", "0.03 0.9 0.02"),
        osim.conditional("c", "femur", "0.06 -0.2 0.01", "knee", -3, 1),
        osim.moving("m", "tibia", osim.spline([-2.0, -1.0, 0.0], [0.04, 0.05, 0.04]),
                    osim.constant(-0.05), osim.constant(0.01), "knee"),
    )),
]  # fmt: skip
MARKER = (
    '<MarkerSet><objects><Marker name="RKNE"><socket_parent_frame>/bodyset/tibia'
    "</socket_parent_frame><location>0.05 0 0.02</location></Marker></objects></MarkerSet>"
)
CORD = (
    '<PointToPointSpring name="cord"><body1>ground</body1><body2>femur</body2><point1>0 1 0'
    "</point1><point2>0 -0.2 0</point2><stiffness>9</stiffness><rest_length>0.1</rest_length>"
    "</PointToPointSpring>"
)


@pytest.fixture(scope="module")
def leg(tmp_path_factory):
    """The leg as read."""
    text = osim.leg([*MUSCLES, CORD], SURFACES, more=MARKER)
    return read_osim(osim.written(tmp_path_factory.mktemp("scaled"), text))


def scales(factors, mass=None, tool=True, **settings):
    """A setup of the scale tool, or a ScaleSet."""
    members = "".join(
        f"<Scale><scales>{' '.join(map(str, three))}</scales><segment>{body}</segment>"
        f"<apply>true</apply></Scale>"
        for body, three in factors.items()
    )
    members = f'<ScaleSet name="s"><objects>{members}</objects></ScaleSet>'
    if not tool:
        return f'<OpenSimDocument Version="40500">{members}</OpenSimDocument>'
    more = "".join(f"<{key}>{value}</{key}>" for key, value in settings.items())
    mass = "" if mass is None else f"<mass>{mass}</mass>"
    return (
        f'<OpenSimDocument Version="30000"><ScaleTool name="p">{mass}<ModelScaler>{more}{members}'
        "</ModelScaler></ScaleTool></OpenSimDocument>"
    )


TWICE = {"femur": (2, 2, 2), "tibia": (2, 2, 2)}
POSES = {"hip": np.array([-0.3, 0.2, 1.0]), "knee": np.array([-1.5, -0.8, 0.0])}


def scaled(leg, tmp_path, *arguments, mass=None, **settings):
    path = tmp_path / "scale.xml"
    path.write_text(scales(*arguments, **settings))
    return scaled_to(leg, mass, scale=path)


def test_twice_the_size_has_twice_the_lengths_and_moment_arms(leg, tmp_path):
    # both ends of the first muscle move with scaled bodies
    found = scaled(leg, tmp_path, TWICE, tool=False)
    for before, after in zip(leg.muscles[:1], found.muscles[:1], strict=True):
        assert route(found, after, POSES).length == pytest.approx(
            2.0 * route(leg, before, POSES).length
        )
        arm = moment_arm(found, after, "knee", POSES)
        assert arm == pytest.approx(2.0 * moment_arm(leg, before, "knee", POSES))
        assert after.fiber == pytest.approx(2.0 * before.fiber)
        assert after.tendon == pytest.approx(2.0 * before.tendon)
        assert after.force == before.force
    assert found.bodies["femur"].mass == leg.bodies["femur"].mass
    assert found.bodies["femur"].inertia == pytest.approx(4.0 * leg.bodies["femur"].inertia)
    assert found.surfaces["bar"].radii == pytest.approx(2.0 * leg.surfaces["bar"].radii)


def test_factors_along_the_axes_are_those_of_a_calculation_by_hand(leg, tmp_path):
    factors = {"femur": (1.1, 1.3, 0.9), "tibia": (0.8, 1.2, 1.05), "ground": (9, 9, 9)}
    found = scaled(leg, tmp_path, factors)
    # knee: the slide of the joint is of the thigh, along its x and y
    at = {"hip": np.zeros(1), "knee": np.array([-0.7])}
    places = [body_poses(m, all_values(m, at))["tibia"][0, :3, 3] for m in (leg, found)]
    slide = places[0] - (0.0, 1.0, 0.0)
    assert places[1] == pytest.approx(np.array([0.0, 1.0, 0.0]) + slide * (1.1, 1.3, 0.9))
    ends = [point.place for point in found.muscles[0].points]
    assert ends[0] == pytest.approx([0.033, -0.13, 0.018])
    assert ends[1] == pytest.approx([0.024, -0.06, 0.0105])
    moving = found.muscles[1].points[2]
    x = moving.moves[0][0](np.array([-1.0]))
    assert x == pytest.approx(0.05 * 0.8) and moving.place[1:] == pytest.approx([-0.06, 0.0105])
    assert found.muscles[1].points[1].place == pytest.approx([0.066, -0.26, 0.009])
    bar, ball, egg = (found.surfaces[name] for name in ("bar", "ball", "egg"))
    assert bar.radii == pytest.approx(0.03 * 1.2) and bar.length == pytest.approx(0.2 * 0.9)
    assert ball.radii == pytest.approx(0.04 * 1.1)
    assert egg.radii == pytest.approx([0.044, 0.039, 0.045])
    assert bar.pose[:3, 3] == pytest.approx([0.0, -0.52, 0.0])
    assert found.parts.markers[0].place == pytest.approx([0.04, 0.0, 0.021])
    (cord,) = found.parts.springs
    assert cord.rest == pytest.approx(0.1 * 1.3)  # from the hip along y
    # second moments of 8 kg with moments of inertia 0.02, 0.01, 0.02: x2 and z2 0.005, y2 0.015
    xx, yy, zz = 0.005 * 1.1**2, 0.015 * 1.3**2, 0.005 * 0.9**2
    expected = np.diag([yy + zz, xx + zz, xx + yy])
    assert found.bodies["femur"].inertia == pytest.approx(expected)
    assert found.bodies["femur"].center == pytest.approx([0.0, -0.26, 0.0])
    ratio = [float(route(m, m.muscles[0], {}).length[0]) for m in (leg, found)]
    assert found.muscles[0].fiber / leg.muscles[0].fiber == pytest.approx(ratio[1] / ratio[0])


def test_masses_sum_to_the_one_asked_for(leg, tmp_path):
    def masses(model):
        return np.array([body.mass for body in model.bodies.values()])

    alone = scaled_to(leg, 22.0)
    assert masses(alone) == pytest.approx([16.0, 6.0])
    assert alone.bodies["tibia"].inertia == pytest.approx(2.0 * leg.bodies["tibia"].inertia)
    assert alone.muscles[0].fiber == leg.muscles[0].fiber
    one = {"femur": (2, 1, 1)}
    assert masses(scaled(leg, tmp_path, one)) == pytest.approx([8.0, 3.0])
    grown = {"preserve_mass_distribution": "false"}
    assert masses(scaled(leg, tmp_path, one, **grown)) == pytest.approx([16.0, 3.0])
    assert masses(scaled(leg, tmp_path, one, 38, **grown)) == pytest.approx([32.0, 6.0])
    assert masses(scaled(leg, tmp_path, one, mass=22, **grown)).sum() == pytest.approx(22.0)
    unset = scaled(leg, tmp_path, one, -1)  # as the scale tool writes without a mass
    assert masses(unset) == pytest.approx([8.0, 3.0])


REFUSED = {
    "unknown body": (scales({"shin": (1, 1, 1)}), "unknown body 'shin'"),
    "zero": (scales({"tibia": (1, 0, 1)}), "a scale of 'tibia' is 0"),
    "two numbers": (scales({"tibia": (1, 2)}), "expected 3 finite numbers"),
    "nothing": (scales({}), "no <Scale> of a body"),
    "another file": ("<OpenSimDocument><Model/></OpenSimDocument>", "no <Scale> of a body"),
    "no XML": ("time,1", "is not an XML file"),
    "markers": (
        scales(TWICE, scaling_order=" measurements manualScale"), "scales by measurements",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_scale_file_that_cannot_be_used_is_refused(case, leg, tmp_path):
    text, words = REFUSED[case]
    (tmp_path / "scale.xml").write_text(text)
    with pytest.raises(GaitError, match=words):
        scaled_to(leg, scale=tmp_path / "scale.xml")


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"mass": 0.0}, "mass of the person is 0 kg"),
        ({"mass": float("nan")}, "mass of the person is nan kg"),
        ({"height": 1.7}, "height of made is unknown.*1.75/1.80"),
        ({"height": 170.0, "model_height": 1.8}, "height of the person is 170 m"),
        ({"height": 1.7, "scale": "a.xml"}, "give one of them"),
    ],
)
def test_a_person_that_cannot_be_is_refused(numbers, words, leg):
    with pytest.raises(GaitError, match=words):
        scaled_to(leg, **numbers)


def test_the_height_of_a_model_is_estimated_from_its_leg(tmp_path):
    walker = read_osim(osim.written(tmp_path, osim.walker()))
    bodies = planar22_numbers()["bodies"]
    leg = sum(float(np.linalg.norm(bodies[name]["place"])) for name in ("tibia", "talus"))
    own = estimated_height(walker)
    assert own == pytest.approx(leg / (0.245 + 0.246), rel=0.02)
    taller = scaled_to(walker, height=1.1 * own)
    assert taller.factors["torso"] == pytest.approx([1.1, 1.1, 1.1])
    said = [one.words for one in taller.remarks if one.part == "height"]
    assert said == [
        f"{own:.4g} m of the model, estimated from thigh and shank, to {1.1 * own:.4g} m"
    ]


def test_the_command_scales_a_walker_with_its_feet(tmp_path, capsys):
    # one muscle is enough, and quick
    others = r'<Thelen2003Muscle name="(?!soleus_r").*?</Thelen2003Muscle>'
    path = osim.written(tmp_path, re.sub(others, "", osim.walker(), flags=re.DOTALL))
    words = ["gait", "import", str(path), "--mass", "60", "--height", "0.9/1.8"]
    assert main([*words, "--output", str(tmp_path / "half")]) == 0
    said = capsys.readouterr().out
    assert "1.8 m of the model, as given, to 0.9 m" in said and "to 60 kg" in said
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "half" / "model.xml"))
    assert model.body_mass.sum() == pytest.approx(60.0, rel=1e-6)
    numbers = planar22_numbers()
    heel, shank = numbers["feet"]["heel"], numbers["bodies"]["tibia"]
    assert model.geom("heel_r").size[0] == pytest.approx(0.5 * heel["radius"])
    assert model.geom("heel_r").pos == pytest.approx(0.5 * np.array(heel["center"]), abs=1e-9)
    assert np.abs(model.body("tibia_l").pos) == pytest.approx(0.5 * np.abs(shank["place"]))
    for wrong in ("--height=tall", "--height=1/2/3", "--height=-1"):
        assert main(["gait", "import", str(path), wrong, "-o", str(tmp_path / "no")]) == 2
        assert "--height is" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    assert main(["gait", "import", "x.bat", "--mass", "3"]) == 2
    assert "--mass only applies to models of OpenSim" in capsys.readouterr().err
