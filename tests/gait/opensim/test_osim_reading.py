"""Files of OpenSim: functions, joints, both versions, and what is refused."""

import numpy as np
import osim_files as osim
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueup.errors import GaitError
from trueup.gait.opensim.file import read_osim
from trueup.gait.opensim.functions import Polynomial, Spline
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.muscle_curves import muscle_force

PATH = [osim.point("a", "femur", "0.03 -0.1 0.02"), osim.point("b", "tibia", "0.03 -0.05 0.01")]
LEG = osim.leg([osim.muscle("vasti", PATH)])

VERSION_3 = """<OpenSimDocument Version="30000"><Model name="made"><BodySet><objects>
<Body name="ground"><mass>0</mass></Body>
<Body name="thigh"><mass>8</mass><mass_center>0 -0.2 0</mass_center>
  <inertia_xx>0.1</inertia_xx><inertia_yy>0.02</inertia_yy><inertia_zz>0.1</inertia_zz>
  <inertia_xy>0</inertia_xy><inertia_xz>0</inertia_xz><inertia_yz>0.001</inertia_yz>
  <Joint><CustomJoint name="hip"><parent_body>ground</parent_body>
    <location_in_parent>0 1 0.1</location_in_parent>
    <orientation_in_parent>0 0 0.3</orientation_in_parent>
    <location>0 0.05 0</location><orientation>0.2 0 0</orientation>
    <CoordinateSet><objects><Coordinate name="flexion"><range>-1 1</range>
      <default_value>0.25</default_value></Coordinate></objects></CoordinateSet>
    <reverse>false</reverse>
    <SpatialTransform>
      <TransformAxis name="rotation1"><coordinates>flexion</coordinates><axis>0 0 1</axis>
        <function><LinearFunction><coefficients>-1 0.1</coefficients></LinearFunction></function>
      </TransformAxis>
      <TransformAxis name="rotation2"><coordinates></coordinates><axis>0 1 0</axis>
        <function><Constant><value>0</value></Constant></function></TransformAxis>
      <TransformAxis name="rotation3"><coordinates></coordinates><axis>1 0 0</axis>
        <function><Constant><value>0</value></Constant></function></TransformAxis>
      <TransformAxis name="translation1"><coordinates>flexion</coordinates><axis>1 0 0</axis>
        <function><MultiplierFunction><function><PolynomialFunction>
          <coefficients>3 2 1</coefficients></PolynomialFunction></function><scale>0.01</scale>
        </MultiplierFunction></function></TransformAxis>
    </SpatialTransform></CustomJoint></Joint>
</Body></objects></BodySet>
<ForceSet><objects><Thelen2003Muscle name="m"><GeometryPath><PathPointSet><objects>
  <PathPoint name="p1"><location>0 1.1 0.1</location><body>ground</body></PathPoint>
  <PathPoint name="p2"><location>0.1 -0.2 0</location><body>thigh</body></PathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>500</max_isometric_force>
<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>
<FmaxTendonStrain>0.033</FmaxTendonStrain></Thelen2003Muscle></objects></ForceSet>
</Model></OpenSimDocument>"""


def test_a_spline_repeats_any_cubic():
    # the ends take the third derivative of the cubic through four points
    x = np.array([-1.0, -0.3, 0.4, 0.9, 2.0])
    cubic = Polynomial((0.3, -1.0, 0.5, 0.7))
    spline = Spline(tuple(x), tuple(cubic(x)))
    between = np.linspace(-1.0, 2.0, 40)
    assert spline(between) == pytest.approx(cubic(between), abs=1e-12)
    slope = -1.0 + 1.0 * 2.0 + 2.1 * 4.0
    assert spline(np.array([2.5])) == pytest.approx(cubic(2.0) + 0.5 * slope)


def test_a_spline_is_smooth_and_goes_through_its_points():
    spline = Spline((0.0, 0.5, 0.7, 2.0), (1.0, 0.0, 3.0, 1.0))
    assert spline(np.array(spline.x)) == pytest.approx(spline.y, abs=1e-12)
    h, at = 1e-4, np.array([0.5, 0.7])
    second = [
        (spline(at + s * 2 * h) - 2 * spline(at + s * h) + spline(at)) / h**2 for s in (-1, 1)
    ]
    assert second[0] == pytest.approx(second[1], abs=0.2)
    straight = Spline(spline.x, spline.y, smooth=False)
    assert straight(np.array([0.25, 1.35])) == pytest.approx([0.5, 2.0])


def test_version_3_of_the_format(tmp_path):
    model = read_osim(osim.written(tmp_path, VERSION_3))
    assert model.bodies["thigh"].inertia[1, 2] == 0.001
    assert model.coordinates["flexion"].default == 0.25
    (muscle,) = model.muscles
    assert muscle.curves.FmaxTendonStrain == 0.033 and muscle.curves.KshapeActive == 0.45
    at = np.array([0.4])
    (place,) = body_poses(model, all_values(model, {"flexion": at}))["thigh"]

    def turn(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    c, s = np.cos(0.2), np.sin(0.2)
    own = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    slid = 0.01 * (3 * 0.16 + 2 * 0.4 + 1)  # the highest power first
    rotation = turn(0.3) @ turn(-0.3) @ own.T
    assert place[:3, :3] == pytest.approx(rotation)
    origin = np.array([0.0, 1.0, 0.1]) + turn(0.3) @ (slid, 0.0, 0.0)
    assert place[:3, 3] == pytest.approx(origin - rotation @ (0.0, 0.05, 0.0))


def test_bodies_move_as_the_functions_say(tmp_path):
    model = read_osim(osim.written(tmp_path, LEG))
    hip, knee = np.array([0.3, 0.3]), np.array([0.0, -1.0])
    poses = body_poses(model, all_values(model, {"hip": hip, "knee": knee}))
    x, y = (Spline(*map(tuple, points))(knee) for points in (osim.KNEE_X, osim.KNEE_Y))
    c, s = np.cos(0.3), np.sin(0.3)
    assert poses["tibia"][:, 0, 3] == pytest.approx(c * x - s * y)
    assert poses["tibia"][:, 1, 3] == pytest.approx(1.0 + s * x + c * y)
    assert poses["tibia"][:, 0, 0] == pytest.approx(np.cos(hip + knee))


def test_couplers_and_locks_hold(tmp_path):
    coupler = f"""<CoordinateCouplerConstraint name="couple">
    <coupled_coordinates_function>{osim.LINE}</coupled_coordinates_function>
    <independent_coordinate_names>knee</independent_coordinate_names>
    <dependent_coordinate_name>hip</dependent_coordinate_name></CoordinateCouplerConstraint>"""
    model = read_osim(osim.written(tmp_path, osim.leg([], constraints=coupler)))
    assert model.free == ("knee",)
    assert all_values(model, {"knee": np.array([-0.7])})["hip"] == pytest.approx(-0.7)
    locked = LEG.replace("<clamped>true</clamped>", "<locked>true</locked>", 1)
    assert read_osim(osim.written(tmp_path, locked)).free == ("knee",)


def test_the_scale_factor_of_a_coupler_counts(tmp_path):
    coupler = f"""<CoordinateCouplerConstraint name="couple">
    <coupled_coordinates_function>{osim.LINE}</coupled_coordinates_function>
    <independent_coordinate_names>knee</independent_coordinate_names>
    <dependent_coordinate_name>hip</dependent_coordinate_name>
    <scale_factor>0.5</scale_factor></CoordinateCouplerConstraint>"""
    model = read_osim(osim.written(tmp_path, osim.leg([], constraints=coupler)))
    assert all_values(model, {"knee": np.array([-0.7])})["hip"] == pytest.approx(-0.35)


def spot(place, parent=".."):
    """A frame fixed in a body."""
    return f"""<components><PhysicalOffsetFrame name="spot"><socket_parent>{parent}</socket_parent>
    <translation>{place}</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame>
    </components>"""


def framed(first, second):
    """Two bodies that each have a frame of the same name, and a muscle between two frames."""
    bodies = [
        osim.body("femur", more=spot("0.1 0 0")),
        osim.body("tibia", more=spot("0 0.2 0", "/bodyset/tibia")),
    ]
    joints = [
        osim.joint("PinJoint", "hip", "ground", "femur", osim.coordinate("hip", -1, 1)),
        osim.joint(
            "PinJoint", "knee", "femur", "tibia", osim.coordinate("knee", -1, 1), "0 -0.4 0"
        ),
    ]
    points = [
        osim.point(name, "femur", "0 0 0.3").replace("/bodyset/femur<", f"{path}<")
        for name, path in (("a", first), ("b", second))
    ]
    return osim.model(bodies, joints, [osim.muscle("m", points)])


def test_frames_are_found_by_their_paths(tmp_path):
    text = framed("/bodyset/femur/spot", "../../../bodyset/tibia/spot")
    first, second = read_osim(osim.written(tmp_path, text)).muscles[0].points
    assert (first.body, second.body) == ("femur", "tibia")
    assert first.place == pytest.approx([0.1, 0.0, 0.3])
    assert second.place == pytest.approx([0.0, 0.2, 0.3])
    text = framed("/jointset/knee/femur_offset", "/jointset/knee/tibia_offset")
    first, second = read_osim(osim.written(tmp_path, text)).muscles[0].points
    assert (first.body, second.body) == ("femur", "tibia")
    assert first.place == pytest.approx([0.0, -0.4, 0.3])


def test_a_name_of_several_frames_is_no_frame(tmp_path):
    with pytest.raises(GaitError, match="2 frames have the name 'spot': give its path, of"):
        read_osim(osim.written(tmp_path, framed("spot", "/bodyset/tibia")))


def test_muscles_pass_surfaces_that_are_not_active(tmp_path):
    surface = osim.surface("WrapSphere", "ball", {"radius": 0.04, "active": "false"})
    model = read_osim(osim.written(tmp_path, osim.leg([osim.muscle("m", PATH, ["ball"])], surface)))
    assert not model.muscles[0].wraps
    assert not model.surfaces
    assert not model.remarks


def test_splines_may_repeat_points(tmp_path):
    # OpenSim 4.6, force at an activation of 0.05 on this passive curve, in strengths
    x, y = (
        [-35, 1, 1.15, 1.15, 1.25, 1.35, 1.45, 1.65, 1.75],
        [0, 0, 0, 0, 0.035, 0.12, 0.26, 1.17, 2],
    )
    curve = osim.spline(x, y, name="passive_force_length_curve")
    kind = "Schutte1993Muscle_Deprecated"
    text = osim.leg([osim.muscle("m", PATH, kind=kind, more=curve, damping=0.017, time_scale=0.2)])
    muscle = read_osim(osim.written(tmp_path, text)).muscles[0]
    force = muscle_force(
        muscle.curves, np.array([0.43]), 0.05, fiber=0.1, tendon=0.3, pennation=0.2, rigid=False
    )
    assert force == pytest.approx(0.0950767, abs=1e-5)
    assert muscle.speed == pytest.approx(5.0)
    # of OpenSim's rates of the activation, at full excitation and at none
    assert muscle.times == pytest.approx([0.2 / (7.667 + 1.459854), 0.2 / 1.459854])


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'

WRONG = {
    "document type": (LEG.replace("<OpenSimDocument", BOMB + "<OpenSimDocument", 1), "document"),
    "no XML": ("hello", "not an XML file"),
    "another root": ("<mujoco/>", "root is <mujoco>"),
    "deep": ("<a>" * 200 + "</a>" * 200, "nested"),
    "no bodies": (osim.model([], []), "no bodies"),
    "words for numbers": (LEG.replace("8.0</mass>", "heavy</mass>"), "'heavy'"),
    "infinite": (LEG.replace("8.0</mass>", "inf</mass>"), "finite"),
    "implausible": (LEG.replace("8.0</mass>", "1e300</mass>"), "plausible"),
    "negative mass": (LEG.replace("8.0</mass>", "-8.0</mass>"), "negative"),
    "no such body": (LEG.replace("/bodyset/tibia<", "/bodyset/tibbia<"), "Did you mean 'tibia'"),
    "a ring": (LEG.replace("parent>/ground", "parent>/bodyset/tibia"), "tree"),
    "no fibers": (LEG.replace("<optimal_fiber_length>0.1", "<optimal_fiber_length>0"), "positive"),
    "no speed": (
        osim.leg([osim.muscle("m", PATH, max_contraction_velocity=0)]),
        "<max_contraction_velocity> of the muscle 'm' is 0; it must be positive",
    ),
    "no time": (
        osim.leg([osim.muscle("m", PATH, deactivation_time_constant=0)]),
        "<deactivation_time_constant> of the muscle 'm' is 0",
    ),
    "fixed to itself": (
        framed("/bodyset/femur/spot", "/bodyset/tibia").replace(
            "parent>..", "parent>/bodyset/femur/spot"
        ),
        "fixed to itself",
    ),
    "one point": (osim.leg([osim.muscle("m", PATH[:1])]), "fewer than the two required points"),
    "falling x": (LEG.replace("<x>-2.1 -1.4", "<x>-2.1 -2.4"), "is not increasing"),
    "no shape": (
        osim.leg([osim.muscle("m", PATH, KshapeActive=0.0)]), "KshapeActive of 'm' is 0"
    ),
    "falling curve": (
        osim.leg(
            [
                osim.muscle(
                    "m", PATH, kind="Millard2012EquilibriumMuscle",
                    more="<TendonForceLengthCurve><strain_at_one_norm_force>-1"
                    "</strain_at_one_norm_force></TendonForceLengthCurve>",
                )
            ]
        ),
        "must be increasing",
    ),
    "twice": (osim.leg([osim.muscle("m", PATH)] * 2), "two muscles"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_files_are_refused_with_a_sentence(wrong, tmp_path):
    text, words = WRONG[wrong]
    with pytest.raises(GaitError, match=words) as caught:
        read_osim(osim.written(tmp_path, text))
    assert "made.osim" in str(caught.value)


def test_an_entity_is_refused_in_any_encoding(tmp_path):
    path = tmp_path / "made.osim"
    path.write_bytes(WRONG["document type"][0].replace("UTF-8", "UTF-16").encode("utf-16"))
    with pytest.raises(GaitError, match="document type"):
        read_osim(path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    at=st.integers(0, len(LEG) - 1),
    cut=st.integers(0, 40),
    put=st.sampled_from(["", "<", ">", "</Body>", "nan", "-1e400", "\0", "0 0 0", "Coordinate"]),
)
def test_damaged_files_are_read_or_refused(at, cut, put, tmp_path):
    path = osim.written(tmp_path, LEG[:at] + put + LEG[at + cut :])
    try:
        model = read_osim(path)
    except GaitError as error:
        assert str(path) in str(error)
    else:
        assert model.bodies
