"""Our own planar walker: its structure, its symmetry, and how far it is from MyoAssist's."""

import json

import mujoco
import numpy as np
import pytest

from trueup.cli import main
from trueup.errors import ModelError
from trueup.gait import (
    Walker,
    WalkSettings,
    WalkSimulation,
    planar22,
    planar22_anatomy,
)
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.gait.walk.frames import FRAME

MUSCLES = {
    "hamstrings", "bifemsh", "edl", "fdl", "glutmax", "iliopsoas", "rectfem", "vasti", "gastroc",
    "soleus", "tibant",
}  # fmt: skip
JOINTS = ("hip_flexion", "knee_angle", "ankle_angle", "mtp_angle")

# Angles [rad] that both models reach and the published paths hold for: the psoas of all of them
# turns into an extensor in deep flexion of the hip.
RANGES = {
    "hip_flexion": (-0.34, 1.3),
    "knee_angle": (-1.9, -0.02),
    "ankle_angle": (-0.6, 0.34),
    "mtp_angle": (-0.5, 0.5),
}
# Largest root mean square difference of the moment arms [mm]. MyoAssist has a shank shorter by
# 30 mm with the muscles' points left where they were, so that its tibialis anterior and long
# extensor of the toes run closer to the ankle; they have the published arms here.
APART = {
    ("hip_flexion", "hamstrings"): 0.5,
    ("hip_flexion", "glutmax"): 0.1,
    ("hip_flexion", "iliopsoas"): 4.5,
    ("hip_flexion", "rectfem"): 3.0,
    ("knee_angle", "hamstrings"): 3.0,
    ("knee_angle", "bifemsh"): 3.0,
    ("knee_angle", "rectfem"): 5.5,
    ("knee_angle", "vasti"): 5.0,
    ("knee_angle", "gastroc"): 5.5,
    ("ankle_angle", "edl"): 11.0,
    ("ankle_angle", "fdl"): 0.5,
    ("ankle_angle", "gastroc"): 0.5,
    ("ankle_angle", "soleus"): 0.5,
    ("ankle_angle", "tibant"): 22.0,
    ("mtp_angle", "edl"): 0.1,
    ("mtp_angle", "fdl"): 0.1,
}
# Largest force relative to MyoAssist's: those of the calf and the rectus are the published ones
# projected onto the tendon here, and smaller there; those of the toes are from other sources.
STRONGER = {
    "rectfem": 0.22, "gastroc": 0.18, "soleus": 0.18, "edl": -0.39, "fdl": -0.72,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return planar22().compile()


def state(model, angles):
    """Data of a pose; joints that follow others by a polynomial are put where they belong."""
    data = mujoco.MjData(model)
    for name, angle in angles.items():
        data.joint(name).qpos[0] = angle
    for e in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_JOINT):
        own, other = (model.jnt_qposadr[i[e]] for i in (model.eq_obj1id, model.eq_obj2id))
        bend = data.qpos[other] - model.qpos0[other]
        follows = np.polynomial.polynomial.polyval(bend, model.eq_data[e, :5])
        data.qpos[own] = model.qpos0[own] + follows
    mujoco.mj_forward(model, data)
    return data


def moment_arms(model, joint, angles):
    """Change of each right muscle's length with a joint's angle, ``(angles, 11)`` [m]."""
    h = 1e-4
    names = [f"{name}_r" for name in sorted(MUSCLES)]
    columns = [model.actuator(name).id for name in names]
    rest = {"hip_flexion_r": 0.2, "knee_angle_r": -0.3}
    rows = []
    for angle in angles:
        after, before = (
            state(model, rest | {f"{joint}_r": angle + step}).actuator_length for step in (h, -h)
        )
        rows.append((after - before)[columns] / (2.0 * h))
    return np.array(rows)


def test_it_has_22_muscles_few_degrees_of_freedom_and_no_constraints(model):
    names = {model.actuator(i).name for i in range(model.nu)}
    assert names == {f"{name}_{side}" for name in MUSCLES for side in "rl"}
    assert model.nv == 11 and model.neq == 0 and model.nmesh == 0
    assert {model.key(i).name for i in range(model.nkey)} == {
        "stand", "walk_left", "walk_right", "squat",
    }  # fmt: skip
    assert np.sum(model.body_mass) == pytest.approx(75.1646)  # the published one of gait2392


def test_a_mirrored_pose_has_mirrored_muscles(model):
    rng = np.random.default_rng(3)
    low, high = np.transpose([model.joint(f"{name}_r").range for name in JOINTS])
    for _ in range(10):
        one, other = rng.uniform(low, high), rng.uniform(low, high)
        tilt = {"pelvis_tilt": rng.uniform(-0.5, 0.5), "pelvis_ty": 1.2}
        right, left = ([f"{name}_{side}" for name in JOINTS] for side in "rl")
        poses = (
            tilt | dict(zip(right, one)) | dict(zip(left, other)),
            tilt | dict(zip(right, other)) | dict(zip(left, one)),
        )
        plain, mirrored = (state(model, pose) for pose in poses)
        for name in MUSCLES:
            for side, opposite in ("rl", "lr"):
                a, b = plain.actuator(f"{name}_{side}"), mirrored.actuator(f"{name}_{opposite}")
                assert a.length[0] == pytest.approx(b.length[0], abs=1e-12)
                assert a.force[0] == pytest.approx(b.force[0], abs=1e-8)


def test_keyframes_stand_on_the_ground_within_the_joints_ranges(model):
    data = mujoco.MjData(model)
    spheres = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE)
    assert len(spheres) == 6
    for key in range(model.nkey):
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_forward(model, data)
        lowest = np.min(data.geom_xpos[spheres, 2] - model.geom_size[spheres, 0])
        assert lowest == pytest.approx(0.0, abs=1e-9)
        hinges = [i for i in range(model.njnt) if model.jnt_limited[i]]
        assert len(hinges) == 8
        for i in hinges:
            low, high = model.jnt_range[i]
            assert low <= data.qpos[model.jnt_qposadr[i]] <= high
    keys = model.key_qpos[[model.key(name).id for name in ("walk_left", "walk_right")]]
    np.testing.assert_array_equal(keys[0], keys[1][[0, 1, 2, 7, 8, 9, 10, 3, 4, 5, 6]])


def test_soles_touch_the_ground_and_nothing_else(model):
    """In a heap on the ground, too: thighs through the trunk, one foot in the other."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("squat").id)
    data.qpos[1] -= 0.3
    mujoco.mj_forward(model, data)
    touching = {tuple(model.geom(int(g)).name for g in c.geom) for c in data.contact[: data.ncon]}
    soles = [f"{part}_{side}" for part in ("heel", "ball", "toe") for side in "rl"]
    assert touching == {("ground-plane", sole) for sole in soles}
    assert set(model.pair_friction[:, 0]) == set(model.pair_friction[:, 1]) == {0.9}


def test_a_controller_at_100_hz_runs_every_so_many_steps(model):
    steps = 0.01 / model.opt.timestep
    assert steps == pytest.approx(round(steps), abs=1e-9)


@pytest.mark.parametrize("name", ["stand", "squat"])
def test_the_weight_of_still_poses_lies_over_the_feet(model, name):
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(name).id)
    mujoco.mj_forward(model, data)
    heel, toe = (data.geom(f"{part}_r").xpos[0] for part in ("heel", "toe"))
    assert heel < data.subtree_com[0, 0] < toe


def test_standing_starts_gently(model):
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("stand").id)
    start = data.qpos.copy()
    touch = []
    for _ in range(round(0.2 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        touch.append(data.sensor("r_foot").data[0] + data.sensor("l_foot").data[0])
    assert not any(warning.number for warning in data.warning)
    assert np.abs(data.qvel).max() < 2.0
    assert np.abs(data.qpos - start).max() < 0.15
    weight = 9.81 * np.sum(model.body_mass)
    assert np.mean(touch[-50:]) == pytest.approx(weight, rel=0.15)
    assert np.max(touch) < 2.0 * weight


@pytest.mark.parametrize("joint", RANGES)
def test_moment_arms_beside_those_of_myoassist(model, joint, tutorial_walker):
    angles = np.linspace(*RANGES[joint], 12)
    own = 1e3 * moment_arms(model, joint, angles)
    other = 1e3 * moment_arms(tutorial_walker.model, joint, angles)
    for k, name in enumerate(sorted(MUSCLES)):
        spans = np.abs(own[:, k]).max() > 0.01
        assert spans == ((joint, name) in APART)
        if spans:
            np.testing.assert_array_equal(np.sign(own[:, k]), np.sign(other[:, k]))
            apart = np.sqrt(np.mean((own[:, k] - other[:, k]) ** 2))
            assert apart < APART[joint, name], f"{name} at {joint}: {apart:.2f} mm"


def test_largest_forces_beside_those_of_myoassist(model, tutorial_walker):
    for name in MUSCLES:
        own, other = (m.actuator(f"{name}_r").gainprm[2] for m in (model, tutorial_walker.model))
        # the same but for the projection of the force, save for those that are said to differ
        assert own / other - 1.0 == pytest.approx(STRONGER.get(name, 0.02), abs=0.02), name


def test_it_is_loaded_by_its_name_and_walks_from_the_nominal_vector():
    walker = Walker.load("planar22")
    assert walker.anatomy is planar22_anatomy()
    assert not walker.has_exoskeleton and not walker.frontal
    assert len(walker.muscle_groups) == 11
    settings = WalkSettings(duration=1.0, delayed=False, threads=1)
    simulation = WalkSimulation(walker, settings)
    records = simulation.run(simulation.parameters.start[None])
    assert not records.invalid and records.length[0] == 100 and records.ended[0] == 0
    assert Walker.load("planar22_exo").has_exoskeleton
    assert Walker.load("planar22", slope=3.0).grade > 0.05
    with pytest.raises(ModelError, match="Did you mean 'planar22'"):
        Walker.load("planar2")


def test_muscles_may_tell_their_strength_by_a_scale():
    """MuJoCo's own default: no force is given, but what it is divided by the acceleration."""
    spec = planar22()
    given = spec.compile()
    for actuator in spec.actuators:
        i = given.actuator(actuator.name).id
        scale = given.actuator_gainprm[i, 2] * given.actuator_acc0[i]
        for parameters in (actuator.gainprm, actuator.biasprm):
            parameters[2:4] = -1.0, scale
    scaled = spec.compile()
    assert (scaled.actuator_gainprm[:, 2] == -1.0).all()
    records = []
    for model in (given, scaled):
        walker = Walker(model, planar22_anatomy())
        simulation = WalkSimulation(walker, WalkSettings(duration=0.3, threads=1))
        np.testing.assert_allclose(
            walker.body_map(()).muscles["strength"], given.actuator_gainprm[:, 2], rtol=1e-12
        )
        records.append(simulation.run(simulation.parameters.start[None]).frames.copy())
    np.testing.assert_allclose(records[1], records[0], rtol=1e-6, atol=1e-6)


def test_a_mirrored_start_gives_the_mirrored_first_step():
    walker = Walker.load("planar22")
    walks = []
    for pose in ("walk_left", "walk_right"):
        settings = WalkSettings(duration=0.5, delayed=False, threads=1, pose=pose)
        simulation = WalkSimulation(walker, settings)
        records = simulation.run(simulation.parameters.start[None])
        assert not records.invalid
        walks.append(records.frames[0, : records.length[0]])
    left, right = walks
    for name in ("x", "z", "torso_pitch"):
        column = FRAME.index(name)
        np.testing.assert_allclose(left[:, column], right[:, column], atol=1e-12)
    for name in ("hip", "knee", "ankle"):
        for side, opposite in ("rl", "lr"):
            one, other = FRAME.index(f"{name}_{side}"), FRAME.index(f"{name}_{opposite}")
            np.testing.assert_allclose(left[:, one], right[:, other], atol=1e-12)


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_commands_walk_with_it_where_no_file_is_named(capsys):
    words = ["gait", "evaluate", SHIPPED_WALK, "sim_time=2"]
    code, plain = called(capsys, *words)
    assert code == 0 and not plain["fell"] and plain["walked_m"] > 1.0
    assert called(capsys, *words, "model_file=planar22")[1]["scalar"] == plain["scalar"]


@pytest.mark.parametrize(("name", "size"), [("baseline", 77), ("exo_4param", 81)])
def test_searches_run_with_it(capsys, tmp_path, name, size):
    words = ["-eff", "--sim-time", "0.5", "--popsize", "4", "--maxiter", "1", "--quiet"]
    target = tmp_path / "run"
    code, _ = called(capsys, "gait", "optimize", name, *words, "--save-path", target)
    assert code == 0
    assert np.loadtxt(next(target.rglob("*_Best.txt"))).size == size
    code, answer = called(capsys, "gait", "evaluate", target)
    assert code == 0 and np.isfinite(answer["scalar"])
