"""Muscles whose path comes out wrong in MuJoCo: refused with figures, or left out and named."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import osim_files as osim
import pytest

from trueup.cli import main
from trueup.errors import GaitError, ModelError
from trueup.gait import import_opensim
from trueup.gait.models._couplings import couple_joints
from trueup.gait.opensim.comparison import WrittenModel
from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.path_faults import find_faults
from trueup.gait.opensim.paths import moment_arm, route
from trueup.gait.opensim.pose_samples import FINE
from trueup.gait.opensim.routes.surface_fit import fit_surface
from trueup.gait.opensim.routes.tendon_wrap import tendon_length

A, B = osim.point("a", "femur", "0.03 -0.1 0.02"), osim.point("b", "tibia", "0.03 -0.05 0.01")
SURFACES = "".join(
    [
        osim.surface(
            "WrapCylinder", "behind", {"radius": 0.06, "length": 0.2}, "-0.05 -0.4 0", quadrant="-y"
        ),
        osim.surface(
            "WrapCylinder", "front", {"radius": 0.032, "length": 0.2}, "0 -0.4 0", quadrant="+x"
        ),
        osim.surface("WrapSphere", "ball", {"radius": 0.035}, "0 -0.4 0", quadrant="+x"),
        osim.surface(
            "WrapEllipsoid", "egg", {"dimensions": "0.03 0.05 0.04"}, "0 -0.4 0", quadrant="+x"
        ),
        osim.surface("WrapEllipsoid", "free", {"dimensions": "0.02 0.06 0.02"}, "0 -0.4 0"),
    ]
)
MUSCLES = {
    "straight": osim.muscle("straight", [A, B]),
    "cylinder": osim.muscle("cylinder", [A, B], ["front"]),
    "around": osim.muscle("around", [A, B], ["behind"]),
    "sphere": osim.muscle("sphere", [A, B], ["ball"]),
    "egg": osim.muscle("egg_muscle", [A, B], ["egg"]),
    "ellipsoid": osim.muscle("ellipsoid", [A, B], ["free"]),
    "via": osim.muscle(
        "via",
        [A, osim.point("v", "femur", "0.04 -0.35 0"), osim.point("w", "tibia", "0.045 0 0"), B],
    ),
    "coming": osim.muscle(
        "coming", [A, osim.conditional("v", "femur", "0.06 -0.39 0.01", "knee", -2.5, -0.8), B]
    ),
    "moving": osim.muscle(
        "moving",
        [A, osim.moving("m", "tibia", osim.spline([-2, -1, 0, 0.1], [0.03, 0.045, 0.05, 0.05]),
                        osim.constant(-0.01), osim.constant(0.005), "knee")],
    ),
    "inside": osim.muscle("inside", [A, osim.point("b", "femur", "0.03 -0.3 0.02")]),
    "point": osim.muscle("point", [A, osim.point("b", "femur", "0.03 -0.1 0.02")]),
}  # fmt: skip
WRONG = {"around"}
FAR = {"sphere", "egg_muscle", "coming"}


def pinned(names, surfaces=SURFACES, **changes):
    """A leg whose knee is a pin, with some of the muscles."""
    text = osim.leg([MUSCLES[name] for name in names], surfaces)
    for points, exact in ((osim.KNEE_X, 0.0), (osim.KNEE_Y, -0.4)):
        text = text.replace(osim.spline(*points), osim.constant(exact))
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def leg(tmp_path_factory):
    """The model with all muscles, as it is written with ``partial``."""
    path = osim.written(tmp_path_factory.mktemp("leg"), pinned(MUSCLES))
    return import_opensim(path, partial=True)


def test_muscles_that_pull_the_wrong_way_or_jump_are_left_out_and_named(leg, tmp_path):
    assert {one.name for one in leg.left_out} == WRONG
    said = {one.part: one.words for one in leg.remarks if one.kind == "refused"}
    assert set(said) == WRONG
    assert ", expected " in said["around"] and "its sign is wrong in" in said["around"]
    listed = {one.part: one.words for one in leg.remarks if one.kind == "deviates"}
    assert set(listed) == FAR
    assert "the quadrant of egg excludes the shortest path" in listed["egg_muscle"]
    assert "RMS error" in listed["sphere"]
    assert "its length in the file jumps, and is not followed over" in listed["coming"]
    assert not leg.walks
    # nor is a surface that they alone wrap over in the file
    folder = leg.save(tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(folder["model"]))
    assert {model.actuator(k).name for k in range(model.nu)} == {
        "straight", "cylinder", "ellipsoid", "via", "moving", "inside", "point", *FAR,
    }  # fmt: skip
    assert {model.geom(k).name for k in range(model.ngeom)} == {"front"}
    page = folder["report"].read_text()
    assert all(name in page for name in WRONG)
    # and those that are written have the arms of the file, by differences of both lengths
    data = mujoco.MjData(model)
    for angle in np.linspace(-1.9, 0.05, 14):
        lengths = []
        for step in (1e-5, -1e-5):
            qpos = model.qpos0[None].copy()
            qpos[0, model.joint("knee").qposadr[0]] = angle + step
            couple_joints(model, qpos)
            data.qpos[:] = qpos[0]
            mujoco.mj_forward(model, data)
            lengths.append(data.ten_length.copy())
        arms = -(lengths[0] - lengths[1]) / 2e-5
        for one in leg.model.muscles:
            if one.name not in WRONG | FAR:
                own = moment_arm(leg.model, one, "knee", {"knee": np.array([angle])})[0]
                found = arms[model.tendon(f"{one.name}_tendon").id]
                assert found == pytest.approx(own, abs=4e-3), (one.name, angle)


def test_without_partial_the_model_is_refused_with_figures_and_nothing_is_written(
    tmp_path, capsys, monkeypatch
):
    path = osim.written(tmp_path, pinned(["straight", "around"]))
    monkeypatch.chdir(tmp_path)
    assert main(["gait", "import", str(path)]) == 2
    said = capsys.readouterr().err
    assert "1 of the 2 muscles" in said and "straight:" not in said and "--partial" in said
    assert "around: moment arm about knee is -" in said and " mm, expected " in said
    assert [one.name for one in tmp_path.iterdir()] == ["made.osim"]
    assert main(["gait", "import", str(path), "--partial", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["muscles"]) == ["straight"] and answer["walks"] is False
    assert [one["part"] for one in answer["remarks"] if one["kind"] == "refused"] == ["around"]


def test_a_muscle_whose_size_deviates_is_listed_and_written(tmp_path):
    path = osim.written(tmp_path, osim.leg([MUSCLES["straight"], MUSCLES["coming"]], SURFACES))
    with pytest.raises(
        GaitError, match=r"coming: its length in the file jumps, .* 57 % of the range of knee"
    ):
        import_opensim(path)
    found = import_opensim(path, partial=True)
    said = {one.part: one.words for one in found.remarks if one.kind == "deviates"}
    assert list(said) == ["coming"] and "of the range of knee" in said["coming"]
    assert [one.name for one in found.muscles] == ["straight", "coming"] and not found.left_out
    assert not found.walks


@pytest.mark.parametrize("side", ["r", "l"])
def test_mirrored_muscles_come_out_alike(side, tmp_path):
    z = 1.0 if side == "r" else -1.0
    point = [
        osim.point("a", "femur", f"0.03 -0.1 {0.02 * z}"),
        osim.point("b", "tibia", f"0.03 -0.05 {0.01 * z}"),
    ]
    muscles = [osim.muscle(f"{name}_{side}", point, [name]) for name in ("front", "behind")]
    text = pinned(["straight"], extra=(MUSCLES["straight"], "".join(muscles)))
    found = import_opensim(osim.written(tmp_path, text), partial=True)
    assert [one.name for one in found.left_out] == [f"behind_{side}"]
    (one,) = found.muscles
    assert one.arm_error[0] < 1e-6


def test_muscles_that_cross_nothing_or_have_no_length_are_written(leg):
    for name in ("inside", "point"):
        (one,) = (one for one in leg.muscles if one.name == name)
        assert one.coordinates == [] and one.length_error < 1e-9
    assert np.abs(one.length).max() < 1e-9


def faults(leg, name, **changes):
    """Kinds of the faults of a muscle that is right, with changes of what was compared."""
    (one,) = (one for one in leg.muscles if one.name == name)
    written = WrittenModel(leg.spec.compile(), dict.fromkeys(leg.model.free, 1.0))
    changed = replace(one, **{key: change(one) for key, change in changes.items()})
    return [fault.kind for fault in find_faults(changed, leg.model, written, leg.samples)]


def test_signs_sizes_and_lengths_are_judged_by_what_they_differ(leg):
    def arm(factor, shift=0.0):
        return lambda one: {key: factor * value + shift for key, value in one.arm.items()}

    def bent(one):
        # wrong next to a change of the sign only, where any approximation is
        wanted = one.wanted_arm["knee"]
        return {"knee": np.where(np.abs(wanted) < 0.0025, -wanted, wanted)}

    def torn(count):
        # far off in the last poses of the range alone
        def change(one):
            arm = one.arm["knee"].copy()
            arm[FINE - count : FINE] *= 1.5
            return {"knee": arm}

        return change

    assert faults(leg, "cylinder") == []
    assert faults(leg, "straight", arm=torn(1)) == []
    assert faults(leg, "straight", arm=torn(3)) == ["size"]
    assert faults(leg, "cylinder", arm=arm(1.05)) == []  # 5 %
    assert "size" in faults(leg, "cylinder", arm=arm(1.2))
    assert faults(leg, "cylinder", arm=arm(-1.0))[0] == "sign"
    assert faults(leg, "cylinder", arm=bent) == []
    assert faults(leg, "cylinder", length=lambda one: one.length + 0.008) == []
    assert "length" in faults(leg, "cylinder", length=lambda one: one.length + 0.02)
    assert faults(leg, "cylinder", length=lambda one: one.length * np.nan) == ["jump"]


def test_a_jump_is_one_of_the_written_model_and_not_of_a_coarse_grid(leg):
    # changes that the model does not make when it is asked between the poses are no jumps of it
    def stepped(one):
        length = one.length.copy()
        length[FINE // 2 : FINE] += 0.004
        return length

    assert "jump" not in faults(leg, "cylinder", length=stepped)


def test_locked_coordinates_and_splines_are_compared_where_they_are(tmp_path):
    locked = osim.coordinate("hip", -0.5, 1.5, 0.4, locked="true")
    text = osim.leg([MUSCLES["straight"], MUSCLES["via"]], SURFACES)
    text = text.replace(osim.coordinate("hip", -0.5, 1.5), locked)
    found = import_opensim(osim.written(tmp_path, text))
    assert found.model.free == ("knee",)
    assert [one.coordinates for one in found.muscles] == [["knee"], ["knee"]]
    assert max(one.length_error for one in found.muscles) < 1e-3
    assert not [one for one in found.remarks if one.kind in ("refused", "deviates")]


LIGHT = "<mass>3.0</mass><mass_center>0 -0.2 0</mass_center>\n    <inertia>0.02 0.01 0.02 0 0 0"

GHOST = "<mass>0.0001</mass><mass_center>0 0 0</mass_center>\n    <inertia>0 0 0 0 0 0"


@pytest.mark.parametrize("inertia", ["0 0 0 0 0 0", "1e-12 1e-12 1e-12 0 0 0", "1e-9 0 1e-9 0 0 0"])
def test_a_body_without_inertia_gets_some_and_is_named(inertia, tmp_path):
    text = pinned(["straight"], body=(LIGHT, LIGHT.replace("0.02 0.01 0.02 0 0 0", inertia)))
    found = import_opensim(osim.written(tmp_path, text))
    (words,) = (one.words for one in found.remarks if one.part == "tibia")
    assert "3 kg" in words and "1e-07 kg m2" in words


def test_a_body_with_a_negative_moment_of_inertia_is_refused_by_name(tmp_path):
    text = pinned(["straight"], body=(LIGHT, LIGHT.replace("0.02 0.01", "0.02 -0.01")))
    with pytest.raises(GaitError, match=r"'tibia' has a negative moment of -0\.01 kg m2"):
        import_opensim(osim.written(tmp_path, text))


def test_a_moving_point_is_in_the_file_with_its_mass(leg, tmp_path):
    # MuJoCo writes no inertia without a place, and then refuses its own file
    file = leg.save(tmp_path / "out")["model"]
    model = mujoco.MjModel.from_xml_path(str(file))
    assert model.body("moving-P2").mass[0] > 0.0


def test_a_model_that_diverges_is_refused_with_the_joint_and_the_body(tmp_path):
    # a muscle that is stretched far beyond its length, on a shank that weighs nothing
    strong = osim.muscle("m", [A, B], max_isometric_force=9e5, optimal_fiber_length=0.02,
                         tendon_slack_length=0.02)  # fmt: skip
    text = pinned(["straight"], extra=(MUSCLES["straight"], strong), body=(LIGHT, GHOST))
    path = osim.written(tmp_path, text)
    with pytest.raises(ModelError, match=r"diverges within 1 s .* 'knee' of the body 'tibia'"):
        import_opensim(path, partial=True)


def test_the_reference_is_the_taut_path_over_two_surfaces(tmp_path):
    # a string over two cylinders, side by side: tangents and arcs by plain geometry
    two = "".join(
        osim.surface(
            "WrapCylinder", name, {"radius": 0.02, "length": 1}, f"0.1 {y} 0", quadrant="+x"
        )
        for name, y in (("upper", -0.2), ("lower", -0.3))
    )
    ends = [osim.point("a", "femur", "0.05 0 0"), osim.point("b", "femur", "0.05 -0.5 0")]
    muscle = osim.muscle("m", ends, ["upper", "lower"])
    text = pinned(["straight"], two, extra=(MUSCLES["straight"], muscle))
    model = import_opensim(osim.written(tmp_path, text), partial=True).model
    # from (0.05, 0) to the circle about (0.1, -0.2): tangent length, and angle of its tangent point
    far = np.hypot(0.05, 0.2)
    angle = np.arctan2(0.2, -0.05) - np.arccos(0.02 / far)
    expected = 2.0 * np.sqrt(far**2 - 0.02**2) + 2.0 * 0.02 * angle + 0.1
    found = route(model, model.muscles[0], {})
    assert found.length[0] == pytest.approx(expected, abs=1e-9)
    assert {name for name, _, _ in found.touched} == {"upper", "lower"}


def test_a_moment_arm_at_a_jump_of_the_file_is_that_of_its_side(tmp_path):
    text = pinned(["straight", "coming"])
    model = import_opensim(osim.written(tmp_path, text), partial=True).model
    muscle = model.muscles[1]
    # the point is there up to a hundred-thousandth of a radian beyond its range
    edge = -0.8 + 1e-5
    places = np.array([edge - 4e-6, edge + 4e-6, edge - 1e-3, edge + 1e-3])
    arms = moment_arm(model, muscle, "knee", {"knee": places})
    assert route(model, muscle, {"knee": places}).length[:2] == pytest.approx(
        route(model, muscle, {"knee": places}).length[2:], abs=1e-3
    )
    assert arms[0] == pytest.approx(arms[2], abs=1e-3)
    assert arms[1] == pytest.approx(arms[3], abs=1e-3)
    assert abs(arms[0] - arms[1]) > 0.01


@pytest.mark.parametrize("place", ["0.03 -0.2 0.02", "0.03 -0.39 0.02"])
def test_a_point_that_bends_nothing_gets_no_surface(place, tmp_path):
    # one that only touches the path would take it once around in some poses, by a rounding
    muscle = osim.muscle(
        "m",
        [
            A,
            osim.conditional("v", "femur", place, "knee", -2.5, -0.8),
            osim.point("c", "femur", "0.03 -0.395 0.02"),
            B,
        ],
    )
    text = pinned(["straight"], extra=(MUSCLES["straight"], muscle))
    found = import_opensim(osim.written(tmp_path, text))
    assert found.spec.compile().ngeom == 0
    assert found.muscles[0].length_error < 1e-9
    (words,) = (one.words for one in found.remarks if one.part == "m")
    assert words.startswith("v: straight")


def test_a_path_that_only_touches_a_cylinder_is_not_wrapped_by_mujoco(tmp_path):
    # MuJoCo would take it straight or once around, by a rounding: 0.1 m of difference
    touching = osim.surface(
        "WrapCylinder", "touching", {"radius": 0.016, "length": 0.2}, "0.014 -0.2 0", quadrant="+x"
    )
    ends = [A, osim.point("c", "femur", "0.03 -0.395 0.02"), B]
    muscle = osim.muscle("m", ends, ["touching"])
    text = pinned(["straight"], touching, extra=(MUSCLES["straight"], muscle))
    found = import_opensim(osim.written(tmp_path, text))
    assert found.spec.compile().ngeom == 0
    assert found.muscles[0].length_error < 1e-6


def test_a_surface_that_is_not_needed_shrinks_to_a_radius_that_mujoco_takes():
    # lines through one place from all sides: only a surface without a radius leaves them straight
    angles = np.linspace(0.0, np.pi, 40)
    start = 0.1 * np.stack([np.cos(angles), np.sin(angles), np.zeros(40)], axis=1)
    guess = Surface("s", "body", "cylinder", np.eye(4), np.full(3, 0.01), np.inf, None)
    surface = fit_surface([guess], start, -start, np.full(40, 0.2))
    assert surface.radii[0] >= 1e-4
    assert tendon_length(surface, None, start, -start) == pytest.approx(0.2, abs=1e-6)
