"""Routes of muscles where MuJoCo's wrapping does not follow the path of the file."""

from dataclasses import replace

import mujoco
import numpy as np
import osim_files as osim
import pytest

from trueup.errors import GaitError
from trueup.gait import Walker, WalkSettings, WalkSimulation, import_opensim
from trueup.gait.opensim import conversion
from trueup.gait.opensim.file import read_osim
from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.paths import route, steady_poses
from trueup.gait.opensim.pose_samples import pose_samples
from trueup.gait.opensim.routes.mirrored import plan_routes
from trueup.gait.opensim.routes.plan import Route
from trueup.gait.opensim.routes.surface_fit import best_side
from trueup.gait.opensim.routes.tendon_wrap import tendon_length
from trueup.gait.opensim.wrapping import wrap

A, B = osim.point("a", "femur", "0.03 -0.1 0.02"), osim.point("b", "tibia", "0.03 -0.05 0.01")
SURFACES = "".join(
    [
        osim.surface(
            "WrapCylinder", "front", {"radius": 0.032, "length": 0.2}, "0 -0.4 0", quadrant="+x"
        ),
        osim.surface("WrapSphere", "ball", {"radius": 0.035}, "0 -0.4 0", quadrant="+x"),
        osim.surface("WrapEllipsoid", "free", {"dimensions": "0.02 0.06 0.02"}, "0 -0.4 0"),
        osim.surface(
            "WrapTorus",
            "ring",
            {"inner_radius": 0.008, "outer_radius": 0.03},
            "0.05 -0.3 0.06",
            "1.2 0.3 0.0",
        ),
    ]
)
HEEL = osim.point("heel", "tibia", "-0.05 -0.35 0")
CONDYLE = osim.conditional("v", "femur", "-0.031 -0.394 0", "knee", -0.6, 2.0)


@pytest.mark.parametrize(
    ("muscle", "lengths"),
    [
        (osim.muscle("m", [A, B], ["front"]), (0.409271, 0.395967, 0.378142, 0.360144, 0.346195)),
        (osim.muscle("m", [A, B], ["ball"]), (0.343613, 0.402196, 0.385940, 0.359719, 0.346254)),
        (osim.muscle("m", [A, B], ["free"]), (0.343613, 0.357024, 0.361760, 0.356566, 0.346144)),
        (osim.muscle("m", [A, B], ["ring"]), (0.371471, 0.376774, 0.373955, 0.364375, 0.352074)),
        (
            osim.muscle(
                "m",
                [A, osim.conditional("v", "femur", "0.06 -0.39 0.01", "knee", -2.5, -0.8), B],
            ),
            (0.417718, 0.410112, 0.394192, 0.356500, 0.346144),
        ),
    ],
    ids=["cylinder", "sphere", "ellipsoid", "torus", "conditional"],
)
def test_lengths_of_the_file_are_those_of_opensim(muscle, lengths, tmp_path):
    # by OpenSim 4.6 on this file, at knee angles of -1.9 to 0 rad
    model = read_osim(osim.written(tmp_path, osim.leg([muscle], SURFACES)))
    found = route(model, model.muscles[0], {"knee": np.array([-1.9, -1.4, -0.9, -0.4, 0.0])})
    assert found.length == pytest.approx(np.array(lengths), abs=1e-5)
    assert found.segments.sum(axis=1) == pytest.approx(found.length)


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
@pytest.mark.parametrize("side", [None, (1.0, 0.0, 0.0), (0.3, -0.8, 0.2)])
def test_tendons_around_surfaces_are_those_of_mujoco(kind, side):
    shape = {"cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER, "sphere": mujoco.mjtGeom.mjGEOM_SPHERE}
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="g", type=shape[kind], size=(0.05, 0.1, 0.0))
    if side is not None:
        spec.worldbody.add_site(name="s", pos=0.1 * np.array(side) / np.linalg.norm(side))
    for name in "ab":
        body = spec.worldbody.add_body(name=name, mass=1.0, inertia=(1.0, 1.0, 1.0))
        body.explicitinertial, body.ipos = True, np.zeros(3)
        for axis in np.eye(3):
            body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
        body.add_site(name=name)
    tendon = spec.add_tendon(name="t")
    tendon.wrap_site("a")
    tendon.wrap_geom("g", "" if side is None else "s")
    tendon.wrap_site("b")
    model = spec.compile()
    data = mujoco.MjData(model)
    places = 0.07 * np.random.default_rng(0).normal(size=(500, 6))
    expected = []
    for place in places:
        data.qpos[:] = place
        mujoco.mj_fwdPosition(model, data)
        expected.append(data.ten_length[0])
    surface = Surface("g", "world", kind, np.eye(4), np.full(3, 0.05), 0.2, None)
    given = None if side is None else np.array(side)
    found = tendon_length(surface, given, places[:, :3], places[:, 3:])
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    straight = np.linalg.norm(places[:, :3] - places[:, 3:], axis=1)
    assert 50 < (found > straight + 1e-6).sum() < 450


def test_a_quadrant_that_takes_a_tendon_once_around_gets_another_side():
    shape = Surface("s", "b", "cylinder", np.eye(4), np.full(3, 0.05), 9.0, np.array([0.0, -1, 0]))
    angle = np.linspace(4.81, 2.61, 40)
    end = np.stack([0.12 * np.cos(angle), 0.12 * np.sin(angle), np.full(40, 0.02)], axis=1)
    start = np.tile([0.055 * np.cos(3.02), 0.055 * np.sin(3.02), 0.0], (40, 1))
    wanted = wrap(shape, start, end).length
    assert np.abs(tendon_length(shape, shape.side, start, end) - wanted).max() > 0.2
    side = best_side(shape, start, end, wanted)
    assert tendon_length(shape, side, start, end) == pytest.approx(wanted, abs=1e-9)


def test_a_conditional_point_at_the_path_moves_along_a_line(tmp_path):
    # a tendon over the condyle of a knee that is nearly straight, and free behind a bent one
    muscle = osim.muscle("m", [osim.point("a", "femur", "-0.02 -0.38 0"), CONDYLE, HEEL])
    found = import_opensim(osim.written(tmp_path, osim.leg([muscle])))
    (one,) = found.muscles
    assert one.length_error < 1e-3 and found.pairs() == (1, 1)
    words = [remark.words for remark in found.remarks if remark.part == "m"]
    assert words[0].startswith("v: 1 fitted point moving with knee, length within ")
    model = found.spec.compile()
    slides = [model.joint(k).name for k in range(model.njnt) if "-P" in model.joint(k).name]
    assert slides == ["m-P2_along"] and model.ngeom == 0


def test_a_tendon_through_a_ring_passes_its_hole_in_every_pose(tmp_path):
    muscle = osim.muscle("m", [A, B], ["ring"])
    found = import_opensim(osim.written(tmp_path, osim.leg([muscle], SURFACES)))
    (one,) = found.muscles
    assert one.length_error < 1e-3 and one.arm_error[0] < 3e-3
    words = [remark.words for remark in found.remarks if remark.part == "m"]
    assert words[0].startswith("torus ring: ") and "fitted point" in words[0]


def test_poses_beyond_a_jump_of_the_file_are_not_compared(tmp_path):
    # the point vanishes near the end of the range, far from the straight path
    brim = osim.conditional("v", "femur", "0.06 -0.39 0.01", "knee", -1.8, 2.0)
    muscle = osim.muscle("m", [A, brim, B])
    path = osim.written(tmp_path, osim.leg([muscle]))
    model = read_osim(path)
    at = {"knee": np.array([-1.9, -1.7, 0.0]), "hip": np.zeros(3)}
    assert steady_poses(model, model.muscles[0], at).tolist() == [False, True, True]
    found = import_opensim(path)
    assert found.muscles[0].length_error < 3e-3 and found.pairs() == (1, 1)
    words = [remark.words for remark in found.remarks if remark.part == "m"]
    assert any("in the file jumps by 70 mm" in said and "-103 deg" in said for said in words)


def test_steps_of_the_file_are_not_jumps_of_the_written_model(tmp_path):
    points = [
        osim.conditional("u", "femur", "0.034 -0.39 0.012", "knee", -2.5, -0.6),
        osim.conditional("w", "femur", "0.036 -0.405 0.012", "knee", -2.5, -0.9),
    ]
    text = osim.leg([osim.muscle("m", [A, *points, B])])
    with pytest.raises(GaitError, match="m: its length in the file jumps, and is not followed"):
        import_opensim(osim.written(tmp_path, text))


def two_legs(path):
    """Two mirrored thighs and shanks with a calf muscle each."""
    bodies, joints, forces = [], [], []
    for side, z in (("r", 1.0), ("l", -1.0)):
        bodies += [osim.body(f"femur_{side}"), osim.body(f"tibia_{side}")]
        for kind, parent, child, place in (
            ("hip", "ground", "femur", f"0 1 {0.1 * z}"),
            ("knee", f"femur_{side}", "tibia", "0 -0.4 0"),
        ):
            own = osim.coordinate(f"{kind}_{side}", -2.0, 0.1)
            joints.append(
                osim.joint("PinJoint", f"{kind}_{side}", parent, f"{child}_{side}", own, place)
            )
        knee = f"knee_{side}"
        points = [
            osim.point("a", f"femur_{side}", f"-0.02 -0.38 {0.02 * z}"),
            osim.conditional("v", f"femur_{side}", f"-0.031 -0.394 {0.03 * z}", knee, -0.6, 2),
            osim.point("b", f"tibia_{side}", f"-0.05 -0.35 {0.01 * z}"),
        ]
        forces.append(osim.muscle(f"calf_{side}", points))
    return osim.written(path, osim.model(bodies, joints, forces))


def test_a_mirrored_muscle_has_the_mirrored_route(tmp_path):
    model = read_osim(two_legs(tmp_path))
    routes = plan_routes(model, pose_samples(model))
    right, left = routes["calf_r"], routes["calf_l"]
    for one, other in zip(right.points, left.points, strict=True):
        assert other.body == one.body.replace("_r", "_l")
        assert other.place * (1, 1, -1) == pytest.approx(one.place, abs=1e-12)
        assert set(other.moves) == set(one.moves)
        for k, (function, coordinate) in one.moves.items():
            across, name = other.moves[k]
            assert name == coordinate.replace("_r", "_l")
            sign = -1.0 if k == 2 else 1.0
            assert np.array(across.coefficients) * sign == pytest.approx(function.coefficients)
    assert any(point.moves for point in right.points)
    assert left.remarks[0].words == f"as calf_r: {right.remarks[0].words}"


def test_a_route_with_a_wrong_surface_is_replaced_by_points(tmp_path, monkeypatch):
    muscle = osim.muscle("m", [A, B], ["front"])
    path = osim.written(tmp_path, osim.leg([muscle], SURFACES))
    model = read_osim(path)
    behind = replace(model.surfaces["front"], side=np.array([-1.0, 0.0, 0.0]))
    wrong = Route(model.muscles[0].points, (behind,), ())
    monkeypatch.setattr(conversion, "plan_routes", lambda *_: {"m": wrong})
    found = import_opensim(path)
    assert found.pairs() == (1, 1) and not found.left_out
    assert found.spec.compile().ngeom == 0


def test_the_published_walker_comes_out_right_and_walks(recorded_data, tmp_path):
    found = import_opensim(recorded_data / "cases/osim/gait10dof18musc.osim")
    pairs, within = found.pairs()
    assert pairs == 24 and within == 24
    assert not found.left_out and found.walks
    assert max(one.length_error for one in found.muscles) < 3e-3
    right, left = (one for one in found.muscles if one.name.startswith("gastroc"))
    assert right.arm["knee_angle_r"][:10] == pytest.approx(left.arm["knee_angle_l"][:10], abs=1e-6)
    # it has no muscles of the toes, whose reflexes drive nothing
    walker = Walker.load(found.save(tmp_path / "walker")["model"])
    simulation = WalkSimulation(walker, WalkSettings(duration=0.1, threads=1))
    records = simulation.run(simulation.parameters.start[None])
    assert not records.invalid and records.length[0] > 0
