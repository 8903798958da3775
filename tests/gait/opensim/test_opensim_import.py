"""Models of OpenSim in MuJoCo: poses, lengths, moment arms, forces, and what is said about them."""

import json

import mujoco
import numpy as np
import osim_files as osim
import pytest
import yaml

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import (
    Walker,
    WalkSettings,
    WalkSimulation,
    import_opensim,
    observe_walks,
    replay_motion,
    write_walk,
)
from trueup.gait.models.anatomy import load_anatomy
from trueup.gait.opensim.kinematics import all_values, body_poses
from trueup.gait.opensim.muscle_curves import muscle_force
from trueup.gait.opensim.paths import moment_arm, route

THIGH, SHANK = "0.03 -0.1 0.02", "0.03 -0.05 0.01"
ENDS = osim.point("a", "femur", THIGH), osim.point("b", "tibia", SHANK)
KNEE_CYLINDER = osim.surface(
    "WrapCylinder", "cylinder", {"radius": 0.03, "length": 0.2}, "0 -0.4 0", quadrant="+x"
)
HIP_SPHERE = osim.surface("WrapSphere", "sphere", {"radius": 0.04}, "0 -0.02 0", quadrant="-x")
ELLIPSOID = osim.surface(
    "WrapEllipsoid", "ellipsoid", {"dimensions": "0.04 0.03 0.05"}, "0 -0.02 0", quadrant="-x"
)
BUTTOCK = [
    osim.point("a", "ground", "-0.1 1.02 0.02"),
    osim.point("b", "femur", "-0.02 -0.2 0.01"),
]

MUSCLES = {
    "straight": osim.muscle("straight", ENDS),
    "cylinder": osim.muscle("cylinder", ENDS, ["cylinder"], "Millard2012EquilibriumMuscle"),
    "sphere": osim.muscle(
        "sphere",
        BUTTOCK,
        ["sphere"],
        tendon_slack_length=0.15,
    ),
    "ellipsoid": osim.muscle("ellipsoid", BUTTOCK, ["ellipsoid"], tendon_slack_length=0.15),
    "coming": osim.muscle(
        "coming",
        [
            ENDS[0],
            osim.conditional("v", "femur", "0.035 -0.39 0.01", "knee", -2.5, -0.3),
            osim.conditional("always", "tibia", "0.037 -0.045 0.01", "knee", -3, 1),
            osim.conditional("never", "tibia", "0.5 0.5 0.01", "knee", 2, 3),
            ENDS[1],
        ],
    ),
    "both": osim.muscle(
        "both",
        [
            osim.point("a", "femur", "0.014 -0.2099 0.0188"),
            osim.conditional("c", "femur", "0.037 -0.4048 -0.0125", "knee", -3, -1.1),
            osim.conditional("d", "femur", "0.0274 -0.4255 -0.0131", "knee", -3, -1.6),
            osim.point("e", "tibia", "0.04 0.022 -0.0146"),
        ],
        tendon_slack_length=0.12,
    ),
    "moving": osim.muscle(
        "moving",
        [
            ENDS[0],
            osim.moving(
                "m",
                "tibia",
                "<PolynomialFunction><coefficients>0.002 -0.01 0.04"
                "</coefficients></PolynomialFunction>",
                osim.constant(-0.01),
                osim.constant(0.005),
                "knee",
            ),
        ],
    ),
}

PIN = {"x": osim.constant(0.0), "y": osim.constant(-0.4)}


def pinned(muscles):
    """A leg whose knee is a pin that MuJoCo can represent exactly."""
    text = osim.leg(muscles, KNEE_CYLINDER + HIP_SPHERE + ELLIPSOID)
    for points, exact in ((osim.KNEE_X, PIN["x"]), (osim.KNEE_Y, PIN["y"])):
        text = text.replace(osim.spline(*points), exact)
    return text


@pytest.fixture(scope="module")
def leg(tmp_path_factory):
    """All muscles on a leg with pins."""
    folder = tmp_path_factory.mktemp("leg")
    return import_opensim(osim.written(folder, pinned(MUSCLES.values())))


def muscle(found, name):
    return next(one for one in found.muscles if one.name == name)


def test_lengths_and_moment_arms_that_mujoco_can_represent_are_exact(leg):
    for name in ("straight", "cylinder", "sphere", "moving"):
        one = muscle(leg, name)
        assert one.length_error < 1e-9, name
        assert one.arm_error[0] < 1e-6, name
    for name in ("cylinder", "sphere"):  # and the surfaces act
        bare = route(leg.model, leg.model.muscles[0], {}).length
        assert bare.size and np.ptp(muscle(leg, name).length) > 0.01


OPENSIM = {
    "cylinder": ("knee", [-1.58, -0.88, -0.18], [0.3975279, 0.3765334, 0.3555407]),
    "sphere": ("hip", [-0.5, 0.1666667, 1.1], [0.1866809, 0.2482199, 0.2992596]),
    "ellipsoid": ("hip", [-0.5, 0.1666667, 1.1], [0.1866809, 0.2482199, 0.2995947]),
    "coming": ("knee", [-1.58, -0.88, -0.18], [0.3916854, 0.3803063, 0.3596457]),
    "moving": ("knee", [-1.58, -0.88, -0.18], [0.3632812, 0.3455489, 0.3178268]),
}
"""Lengths that OpenSim 4.6 itself gives for this file [m]."""


@pytest.mark.parametrize("name", OPENSIM)
def test_lengths_are_those_of_opensim(leg, name):
    coordinate, values, lengths = OPENSIM[name]
    (one,) = (m for m in leg.model.muscles if m.name == name)
    found = route(leg.model, one, {coordinate: np.array(values)}).length
    assert found == pytest.approx(lengths, abs=1e-5)


def test_a_moment_arm_is_minus_the_slope_of_the_length(leg):
    compiled = leg.spec.compile()
    data = mujoco.MjData(compiled)
    (one,) = (m for m in leg.model.muscles if m.name == "cylinder")
    for angle in (-1.8, -0.9, 0.05):
        lengths = []
        for step in (1e-6, -1e-6):
            mujoco.mj_resetData(compiled, data)
            data.joint("knee").qpos[0] = angle + step
            mujoco.mj_forward(compiled, data)
            lengths.append(data.tendon("cylinder_tendon").length[0])
        slope = (lengths[0] - lengths[1]) / 2e-6
        arm = moment_arm(leg.model, one, "knee", {"knee": np.array([angle])})
        assert arm == pytest.approx(-slope, abs=1e-6)


def test_points_that_come_and_go_and_ellipsoids_are_near_and_named(leg):
    assert muscle(leg, "coming").length_error < 2e-3
    assert muscle(leg, "both").length_error < 2e-3
    assert muscle(leg, "ellipsoid").length_error < 2e-3
    said = {one.part: one.words for one in leg.remarks if one.kind == "approximated"}
    assert said["coming"].startswith("v: 1 fitted point moving with knee, length within ")
    assert said["ellipsoid"].startswith("ellipsoid ellipsoid: 1 fitted point")
    assert not {"straight", "cylinder", "sphere", "moving"} & set(said)


def test_forces_at_rest_are_near_those_of_fibers_and_tendon(leg):
    compiled = leg.spec.compile()
    data = mujoco.MjData(compiled)
    for one in leg.muscles:
        assert one.fit.error < 0.2 and one.fit.typical_error < 0.05
        assert max(one.fit.speed_errors) < 0.12
    # what the page shows is what MuJoCo does
    one = muscle(leg, "straight")
    for activation, reached in zip((1.0, 0.5, 0.0), one.fit.reached, strict=True):
        data.joint("knee").qpos[0] = -0.8
        data.act[:] = activation
        mujoco.mj_forward(compiled, data)
        length = data.tendon("straight_tendon").length[0]
        force = -data.actuator("straight").force[0]
        assert force == pytest.approx(np.interp(length, one.fit.lengths, reached), abs=5.0)


@pytest.mark.parametrize("name", ["straight", "cylinder"])  # Thelen, Millard
def test_forces_at_speed_err_by_what_is_stated(leg, name):
    compiled = leg.spec.compile()
    data, one = mujoco.MjData(compiled), muscle(leg, name)
    (source,) = (each for each in leg.model.muscles if each.name == name)
    data.ctrl[:] = data.act[:] = 0.0
    found, states = [], []
    for angle in np.linspace(-1.9, -0.1, 20):
        data.joint("knee").qpos[0] = angle
        data.qvel[:] = 0.0
        mujoco.mj_forward(compiled, data)
        arm = data.actuator(name).moment @ np.eye(compiled.nv)[compiled.joint("knee").dofadr[0]]
        for rate in np.linspace(-1.0, 1.0, 5) * source.speed * source.fiber:
            data.joint("knee").qvel[0] = rate / arm
            for activation in np.linspace(0.1, 1.0, 10):
                data.act[compiled.actuator(name).actadr[0]] = activation
                mujoco.mj_forward(compiled, data)
                found.append(-data.actuator(name).force[0])
                states.append((data.tendon(f"{name}_tendon").length[0], activation, rate))
    numbers = {key: getattr(source, key) for key in ("fiber", "tendon", "pennation", "speed")}
    wanted = muscle_force(source.curves, *np.array(states).T, rigid=source.rigid, **numbers)
    errors = np.abs(np.array(found) / source.force - wanted)
    assert errors.max() < one.fit.force_error + 5e-3
    assert np.mean(errors <= 0.03) == pytest.approx(one.fit.share_close, abs=0.05)
    assert one.fit.share_close > 0.5


def test_activation_follows_the_published_equation(leg):
    compiled = leg.spec.compile()
    data = mujoco.MjData(compiled)
    for activation, excitation in ((0.2, 0.9), (0.7, 0.1)):
        data.act[:], data.ctrl[:] = activation, excitation
        mujoco.mj_forward(compiled, data)
        grows, factor = excitation > activation, 0.5 + 1.5 * activation  # Thelen 2003, appendix
        for name, (rise, fall) in {"straight": (0.015, 0.05), "cylinder": (0.01, 0.04)}.items():
            constant = rise * factor if grows else fall / factor
            rate = data.act_dot[compiled.actuator(name).actadr[0]]
            assert rate == pytest.approx((excitation - activation) / constant)


def test_the_lost_compliance_of_tendons_is_stated(leg):
    fit = muscle(leg, "straight").fit
    assert fit.stretch == pytest.approx(0.04 * 0.3, rel=0.01)  # strain at the largest force
    assert fit.delay == pytest.approx(fit.stretch / (10.0 * 0.1 * np.cos(0.2)))
    entry = leg.to_dict()["muscles"]["straight"]
    assert entry["tendon_stretch_mm"] == pytest.approx(12.0, rel=0.01)
    assert "Tendons of MuJoCo do not stretch" in leg.page().html()


def test_knees_that_slide_follow_within_what_is_said(tmp_path):
    found = import_opensim(osim.written(tmp_path, osim.leg([MUSCLES["straight"]])))
    assert muscle(found, "straight").length_error < 1e-3
    said = [one.words for one in found.remarks if one.part == "knee_translation1"]
    assert said and "within 0.1" in said[0]
    # and the constraint holds while the muscle pulls
    compiled = found.spec.compile()
    data = mujoco.MjData(compiled)
    data.act[:], data.ctrl[:] = 1.0, 1.0
    for _ in range(200):
        mujoco.mj_step(compiled, data)
    fit = compiled.eq_data[0, :5]
    slid = data.joint("knee_translation1").qpos[0]
    follows = np.polynomial.polynomial.polyval(data.joint("knee").qpos[0], fit)
    assert slid == pytest.approx(follows, abs=1e-4)


def test_bodies_of_any_joint_are_where_opensim_has_them(tmp_path):
    twisted = "".join(
        [
            osim.motion("rotation1", "0 0 1", "flex", osim.LINE.replace("1 0<", "-1 0.2<")),
            osim.motion("rotation2", "0 1 0", "", osim.constant(0.4)),
            osim.motion("rotation3", "1 1 0", "turn", osim.LINE),
            osim.motion("translation1", "1 0 0", "", osim.constant(0.03)),
            osim.motion("translation2", "0 1 0", "turn", osim.LINE.replace("1 0<", "0.1 -0.2<")),
            osim.motion("translation3", "0 0 1"),
        ]
    )
    coordinates = osim.coordinate("flex", -1, 1) + osim.coordinate("turn", -1, 1)
    wide = "".join(osim.coordinate(f"free{k}", -1, 1) for k in range(6))
    text = osim.model(
        [osim.body("one"), osim.body("two"), osim.body("three")],
        [
            osim.joint("FreeJoint", "base", "ground", "one", wide, "0.1 1 0", "0.3 0.2 -0.4"),
            osim.joint(
                "CustomJoint", "twist", "one", "two", coordinates, "0 0.1 0.2", "0.5 0 0.1", twisted
            ),
            osim.joint(
                "SliderJoint", "slide", "two", "three", osim.coordinate("s", 0, 0.2), "0 0 0.1"
            ),
        ],
    )
    found = import_opensim(osim.written(tmp_path, text))
    compiled = found.spec.compile()
    data = mujoco.MjData(compiled)
    values = {
        name: np.array([at])
        for name, at in zip(found.model.free, np.linspace(-0.9, 0.8, 9), strict=True)
    }
    for name, at in values.items():
        data.joint(name).qpos[0] = at[0]
    # a motion that is a line of its coordinate follows it exactly
    data.joint("twist_translation2").qpos[0] = 0.1 * values["turn"][0] - 0.2
    mujoco.mj_forward(compiled, data)
    up = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    for name, pose in body_poses(found.model, all_values(found.model, values)).items():
        if name != "ground":
            assert data.body(name).xpos == pytest.approx(up @ pose[0, :3, 3], abs=1e-12)
            assert data.body(name).xmat.reshape(3, 3) == pytest.approx(up @ pose[0, :3, :3])


MESH = osim.surface("WrapMesh", "ring", {"inner_radius": 0.01, "outer_radius": 0.02})

PARTS = {
    "a surface": (osim.leg([osim.muscle("m", ENDS, ["ring"])], MESH), "WrapMesh"),
    "a ligament": (osim.leg([*ENDS[:0], "<Ligament name='acl'/>"]), "acl: a force of the kind"),
    "a joint": (
        pinned([]).replace("PinJoint", "EllipsoidJoint"), "hip: a joint of the kind Ellips"
    ),
    "a constraint": (osim.leg([], constraints="<WeldConstraint name='w'/>"), "WeldConstraint"),
    "a function": (
        osim.leg([]).replace("SimmSpline", "Sine"), "the function Sine"
    ),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_what_cannot_be_represented_is_refused_or_left_out(part, tmp_path):
    text, words = PARTS[part]
    path = osim.written(tmp_path, text)
    with pytest.raises(GaitError, match=f"(?s){words}.*--partial"):
        import_opensim(path)
    found = import_opensim(path, partial=True)
    assert any(
        one.kind == "refused" and words.split(": ")[-1] in one.words for one in found.remarks
    )


def test_the_command_writes_a_folder(tmp_path, capsys, monkeypatch):
    path = osim.written(tmp_path, pinned([MUSCLES["straight"]]))
    monkeypatch.chdir(tmp_path)
    words = ["gait", "import", str(path), "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["worst"]["length_mm"]["value"] < 1e-6 and not answer["walker"]
    folder = tmp_path / "made"
    assert mujoco.MjModel.from_xml_path(str(folder / "model.xml")).nu == 1
    page = (folder / "report.html").read_text()
    assert "Omitted, approximated, added" in page and "straight" in page
    assert json.loads((folder / "import.json").read_text())["remarks"]
    before = sorted(p.name for p in folder.iterdir())
    assert main(words) == 2
    assert "--overwrite" in json.loads(capsys.readouterr().out)["message"]
    assert main([*words, "--overwrite"]) == 0
    assert sorted(p.name for p in folder.iterdir()) == before


def test_wrong_input_writes_nothing(tmp_path, capsys, monkeypatch):
    path = osim.written(tmp_path, PARTS["a surface"][0])
    monkeypatch.chdir(tmp_path)
    assert main(["gait", "import", str(path)]) == 2
    assert "--partial" in capsys.readouterr().err
    assert main(["gait", "import", "absent.osim"]) == 2
    assert "cannot read absent.osim" in capsys.readouterr().err
    assert main(["gait", "import", "train.bat", "--partial"]) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["made.osim"]


@pytest.fixture(scope="module")
def walker_folder(tmp_path_factory):
    """The folder of a walker whose knees bend to positive angles."""
    folder = tmp_path_factory.mktemp("walker")
    found = import_opensim(osim.written(folder, osim.walker()))
    found.save(folder / "model")
    return folder / "model", found


def test_a_walker_has_an_anatomy_and_walks(walker_folder):
    folder, found = walker_folder
    anatomy = load_anatomy(folder / "model.anatomy.yaml")
    assert anatomy == found.anatomy
    assert yaml.safe_load((folder / "model.anatomy.yaml").read_text())["name"] == "made"
    walker = Walker.load(folder / "model.xml")  # finds the anatomy beside it
    assert walker.anatomy == anatomy
    simulation = WalkSimulation(walker, WalkSettings(duration=0.1, threads=1))
    records = simulation.run(simulation.parameters.start[None])
    assert not records.invalid and records.length[0] > 0


def test_an_exported_walk_has_the_knee_angles_of_the_file_and_replays(walker_folder, tmp_path):
    folder, _ = walker_folder
    walker = Walker.load(folder / "model.xml")
    simulation = WalkSimulation(walker, WalkSettings(duration=0.1, threads=1))
    _, (series,) = observe_walks(simulation, simulation.parameters.start)
    path = write_walk(tmp_path / "walk.mot", walker, series)
    found = replay_motion(folder / "model.xml", path)
    knee = walker.model.joint("knee_angle_l").qposadr[0]
    assert found.motion.coordinates["knee_angle_l"].max() > 0.0  # positive flexion, as in the file
    assert found.positions[:, knee] == pytest.approx(-found.motion.coordinates["knee_angle_l"])
    places = 1 + knee  # a state begins with the time
    assert found.positions[:, knee] == pytest.approx(series.states[:, places], abs=1e-6)


def test_a_walker_is_offered_for_walking_and_ranges_that_are_not_clamped_are_its_limits(
    walker_folder, tmp_path, capsys
):
    _, right = walker_folder
    assert right.walks
    text = osim.walker().replace("<clamped>true</clamped>", "<clamped>false</clamped>")
    path = osim.written(tmp_path, text)
    assert main(["gait", "import", str(path), "--output", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "Walk with it:  trueup gait optimize walk --model-file" in said
    assert said.count("its range is not clamped in the file") == 6
    model, own = (
        mujoco.MjModel.from_xml_path(str(folder / "model.xml"))
        for folder in (tmp_path / "out", walker_folder[0])
    )
    for name in ("hip_flexion_r", "knee_angle_l", "ankle_angle_r"):
        assert model.joint(name).range == pytest.approx(own.joint(name).range)
        assert model.jnt_limited[model.joint(name).id] == 1


def test_a_walker_from_published_numbers_is_planar22(walker_folder):
    folder, _ = walker_folder
    made, own = Walker.load(folder / "model.xml"), Walker.load("planar22")
    assert made.mass == pytest.approx(own.mass)
    poses = []
    for walker in (made, own):
        data = mujoco.MjData(walker.model)
        data.joint("hip_flexion_r").qpos[0], data.joint("knee_angle_l").qpos[0] = 0.5, -0.8
        mujoco.mj_forward(walker.model, data)
        poses.append([data.body(f"{name}_{s}").xpos for name in ("talus", "toes") for s in "rl"])
        arms = data.actuator("soleus_r").moment, data.actuator("soleus_r").length
        poses.append(np.concatenate(arms))
    assert np.array(poses[0]) == pytest.approx(np.array(poses[2]), abs=1e-9)
    assert np.abs(poses[1]).max() == pytest.approx(np.abs(poses[3]).max(), abs=0.3)
