"""The walkers in space: structure, symmetry, the frontal plane of the controller, commands."""

import json
import sys

import mujoco
import numpy as np
import pytest

from trueup.cli import main
from trueup.errors import GaitError, MissingExtraError
from trueup.gait import (
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    replay_controller,
)
from trueup.gait.walk.frames import FRAME, Frame

pytest.importorskip("myo_sim")

NAMES = ("myolegs26", "myolegs")
MUSCLES = {"myolegs26": 26, "myolegs": 80}
HORIZON = {"myolegs26": 0.7, "myolegs": 0.3}
"""Time that mirrored walks are compared over [s]; the nominal vector falls at about 0.8 s."""


@pytest.fixture(scope="module")
def walkers():
    return {name: Walker.load(name) for name in NAMES}


def opposite(name):
    """Name of the part on the other side."""
    for one, other in ("rl", "lr"):
        if name.endswith(f"_{one}"):
            return name[:-1] + other
    return name


def sides(model, qpos):
    """A pose mirrored about the plane of walking."""
    mirrored = qpos.copy()
    for i in range(model.njnt):
        name = model.joint(i).name
        sign = -1.0 if name in ("pelvis_tz", "pelvis_list", "pelvis_rotation") else 1.0
        mirrored[model.joint(opposite(name)).qposadr[0]] = sign * qpos[model.jnt_qposadr[i]]
    return mirrored


@pytest.mark.parametrize("name", NAMES)
def test_structure(name, walkers):
    walker, model = walkers[name], walkers[name].model
    assert np.sum(model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE) == MUSCLES[name]
    assert walker.frontal and not walker.has_exoskeleton
    assert walker.mass == pytest.approx(75.1646)
    assert {model.key(i).name for i in range(model.nkey)} == {
        "stand", "walk_left", "walk_right", "squat",
    }  # fmt: skip
    assert model.nmesh == 0 and not model.npair
    touching = {model.geom(i).name for i in np.flatnonzero(model.geom_contype)}
    assert len(touching) == 10 and all(name[-2:] in ("_r", "_l") for name in touching)
    driven = set(walker.muscle_names)
    free = {model.actuator(int(np.flatnonzero(model.actuator_ctrladr == c)[0])).name
            for c in walker.other_muscles}  # fmt: skip
    assert len(driven) + len(free) == MUSCLES[name] and not driven & free
    assert free == {
        f"{muscle}_{side}"
        for muscle in ("piri", "sart", "tfl", "perbrev", "perlong", "tibpost")
        for side in "rl"
        if name == "myolegs"
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_mirrored_pose_has_mirrored_muscles_and_masses(name, walkers):
    """In myo-sim the left leg is not quite the mirror image of the right one."""
    model = walkers[name].model
    rng = np.random.default_rng(5)
    for _ in range(3):
        qpos = model.key_qpos[model.key("stand").id].copy()
        for i in range(model.njnt):
            if model.jnt_limited[i]:
                low, high = model.jnt_range[i]
                qpos[model.jnt_qposadr[i]] = rng.uniform(0.7 * low + 0.3 * high, high)
        qpos[2:6] = rng.uniform(-0.3, 0.3, 4)
        plain, mirrored = mujoco.MjData(model), mujoco.MjData(model)
        plain.qpos[:], mirrored.qpos[:] = qpos, sides(model, qpos)
        for data in (plain, mirrored):
            data.qpos[1] += 1.0
            data.act[:] = 0.3
            mujoco.mj_forward(model, data)
        np.testing.assert_allclose(
            plain.subtree_com[0] * (1, -1, 1), mirrored.subtree_com[0], atol=1e-9
        )
        for i in range(model.nu):
            twin = opposite(model.actuator(i).name)
            one, other = plain.actuator(i), mirrored.actuator(twin)
            assert one.length[0] == pytest.approx(other.length[0], abs=1e-9)
            assert one.force[0] == pytest.approx(other.force[0], rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_rods_of_the_legs_are_apart_in_every_keyframe(name, walkers):
    model = walkers[name].model
    data = mujoco.MjData(model)
    rods = {
        side: [
            geom
            for part in ("femur", "tibia")
            for geom in range(model.ngeom)
            if model.geom_bodyid[geom] == model.body(f"{part}_{side}").id
            and model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
        ]
        for side in "rl"
    }
    assert len(rods["r"]) == len(rods["l"]) >= 2
    for key in range(model.nkey):
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_forward(model, data)
        for one in rods["r"]:
            for other in rods["l"]:
                assert mujoco.mj_geomDistance(model, data, one, other, 1.0, None) > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_keyframes_stand_on_the_ground_with_the_weight_over_the_feet(name, walkers):
    model = walkers[name].model
    data = mujoco.MjData(model)
    for key in range(model.nkey):
        mujoco.mj_resetDataKeyframe(model, data, key)
        mujoco.mj_forward(model, data)
        soles = [model.geom(i).id for i in np.flatnonzero(model.geom_contype)]
        lowest = np.min(data.geom_xpos[soles, 2] - model.geom_size[soles, 0])
        assert lowest == pytest.approx(0.0, abs=1e-9)
        for e in range(model.neq):  # what follows a joint is where it belongs
            assert abs(data.efc_pos[e]) < 1e-9
        if model.key(key).name in ("stand", "squat"):
            assert data.geom("heel_r").xpos[0] < data.subtree_com[0, 0]
            assert data.subtree_com[0, 0] < data.geom("toe_in_r").xpos[0]


def source_arms(joint, angles, others):
    """Moment arms of the right leg of myo-sim's own 26 muscles [m]."""
    import myo_sim

    spec = myo_sim.FRAGMENT_SPEC_BUILDERS["myolegs26"]()
    for part in (*spec.pairs, *spec.geoms, *spec.meshes):
        spec.delete(part)
    return arms(spec.compile(), joint, angles, others)


def arms(model, joint, angles, others):
    from trueup.gait.models._couplings import couple_joints

    data = mujoco.MjData(model)
    rows = []
    for angle in angles:
        lengths = []
        for step in (1e-4, -1e-4):
            data.qpos[:] = model.qpos0
            for name, value in (others | {joint: angle + step}).items():
                data.joint(name).qpos[0] = value
            couple_joints(model, data.qpos[None])
            mujoco.mj_forward(model, data)
            lengths.append({model.actuator(i).name: data.actuator_length[i]
                            for i in range(model.nu)})  # fmt: skip
        rows.append({n: (lengths[0][n] - lengths[1][n]) / 2e-4 for n in lengths[0] if n[-1] == "r"})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize(
    ("joint", "angles", "apart"),
    [
        ("knee_angle_r", np.linspace(-1.6, -0.02, 7), 9.0),
        ("hip_flexion_r", np.linspace(-0.3, 1.2, 7), 5.0),
        ("hip_adduction_r", np.linspace(-0.4, 0.4, 5), 4.0),
        ("ankle_angle_r", np.linspace(-0.6, 0.3, 5), 0.5),
    ],
)
def test_fixed_points_keep_the_moment_arms(joint, angles, apart, walkers):
    others = {"hip_flexion_r": 0.3, "knee_angle_r": -0.4}
    own = arms(walkers["myolegs26"].model, joint, angles, others)
    source = source_arms(joint, angles, others)
    assert own.keys() == source.keys() and len(own) == 13
    for name, values in own.items():
        assert 1e3 * np.abs(values - source[name]).max() < apart, name


@pytest.mark.parametrize("delayed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_mirrored_start_gives_the_mirrored_walk(name, delayed, walkers):
    walks = []
    for pose in ("walk_left", "walk_right"):
        settings = WalkSettings(duration=HORIZON[name], delayed=delayed, threads=1, pose=pose)
        simulation = WalkSimulation(walkers[name], settings)
        records = simulation.run(simulation.parameters.start[None])
        assert not records.invalid
        walks.append(records.frames[0, : records.length[0]].copy())
    left, right = walks
    assert len(left) == len(right) == round(HORIZON[name] / 0.01)
    for column, sign in (("x", 1.0), ("y", -1.0), ("z", 1.0), ("pitch", 1.0)):
        at = FRAME.index(column)
        np.testing.assert_allclose(left[:, at], sign * right[:, at], atol=1e-7)
    for column in ("hip", "knee", "ankle"):
        one, other = FRAME.index(f"{column}_r"), FRAME.index(f"{column}_l")
        np.testing.assert_allclose(left[:, one], right[:, other], atol=1e-7)
    np.testing.assert_allclose(left[:, Frame.load_r], right[:, Frame.load_l], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_costs_are_finite_and_terms_saved(name, walkers):
    simulation = WalkSimulation(walkers[name], WalkSettings(duration=0.5, threads=1))
    assert simulation.parameters.size == 97 and simulation.settings.delayed
    records = simulation.run(simulation.parameters.start[None])
    objective = WalkObjective({"effort": 100.0, "velocity": 100.0})
    found = objective.costs(records, walkers[name].anatomy, 0.5, 0.1)
    assert np.isfinite(found.total).all() and found.terms["distance"][0] > 0.3


def test_gains_of_each_leg(walkers):
    settings = WalkSettings(duration=0.2, threads=1, per_leg=True)
    simulation = WalkSimulation(walkers["myolegs"], settings)
    assert simulation.parameters.size == 97 + 63
    X = np.tile(simulation.parameters.start, (2, 1))
    X[1, simulation.parameters.index("6_HAB_PG_r")] = 3.0
    frames = simulation.run(X).frames
    names = [*FRAME, *walkers["myolegs"].muscle_names]
    changed = np.abs(frames[0] - frames[1]).max(axis=0)
    right, left = (changed[names.index(f"glmed1_{side}")] for side in "rl")
    assert right > 0.01 and right > 5.0 * left


def test_muscles_of_a_group_are_stimulated_alike_and_others_least(walkers):
    walker = walkers["myolegs"]
    simulation = WalkSimulation(walker, WalkSettings(duration=0.3, delayed=False, threads=1))
    seen = []
    simulation.run(
        simulation.parameters.start[None],
        observe=lambda tick, batch: seen.append(np.array(batch.bind("ctrl"))[0]),
    )
    ctrl = np.array(seen)
    assert (ctrl[:, walker.other_muscles] == 0.01).all()
    vasti = [walker.model.actuator(f"{n}_l").id for n in ("vasint", "vaslat", "vasmed")]
    assert np.ptp(ctrl[:, vasti], axis=1).max() == 0.0 and ctrl[:, vasti].max() > 0.05


# The frontal plane of the controller: what is measured, and what the reflexes make of it.


def measured(walker, **angles):
    """Signals of both legs in a pose, by name."""
    from trueup.gait.controller._registers import Measured
    from trueup.gait.walk._kernel import start_walks

    simulation = WalkSimulation(walker, WalkSettings(duration=0.1, threads=1))
    batch, walks = simulation._prepared(1)
    qpos = batch.bind("qpos")
    qpos[:] = walker.model.key_qpos[walker.model.key("stand").id]
    for name, angle in angles.items():
        qpos[:, walker.model.joint(name).qposadr[0]] = angle
    batch.forward()
    start_walks(
        simulation.program, simulation.body, simulation.rules, simulation._fields(batch), walks, 0,
        np.full((1, 2, 13), 0.01), np.full((1, 2, 2), np.nan),
    )  # fmt: skip
    return {name: walks.measured[0, :, i].copy() for i, name in enumerate(Measured.__members__)}


@pytest.mark.parametrize("name", NAMES)
def test_upright_has_no_lean_to_the_side(name, walkers):
    """In the reference it is 1.571 rad, which saturates the abductors."""
    upright = measured(walkers[name])
    np.testing.assert_allclose(upright["roll"], 0.0, atol=1e-12)
    np.testing.assert_allclose(upright["hip_adduction"], 0.5 * np.pi, atol=1e-12)
    np.testing.assert_allclose(upright["pitch"], np.deg2rad(5.0), atol=1e-9)
    # each foot is to the other leg's outside
    assert (upright["pelvis_y"] - upright["other_foot_y"] > 0.03).all()
    np.testing.assert_allclose(*(upright["pelvis_y"] - upright["other_foot_y"]), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_signs_of_the_frontal_plane(name, walkers):
    leaning = measured(walkers[name], pelvis_list=0.2)  # to the right
    np.testing.assert_allclose(leaning["roll"], [0.2, -0.2], atol=1e-3)
    inward = measured(walkers[name], hip_adduction_r=0.1, hip_adduction_l=0.2)
    np.testing.assert_allclose(inward["hip_adduction"] - 0.5 * np.pi, [0.1, 0.2], atol=1e-12)
    apart = measured(walkers[name])["other_foot_y"] - inward["other_foot_y"]
    assert (apart < -0.03).all()  # both feet moved towards the middle


def stimulation(walker, **signals):
    """Stimulations of abductors and adductors above the least ``(2,)``, right and left leg.

    Signals are those of the right and of the left leg; where none is given both legs stand.
    """
    settings = WalkSettings(duration=0.1, delayed=False, threads=1)
    simulation = WalkSimulation(walker, settings)
    layout = simulation.layout
    base = {"load": 0.6, "contact": 1.0, "hip": 3.1, "knee": 3.1, "ankle": 1.5, "mtp": 1.5}
    base |= {"hip_adduction": 0.5 * np.pi, "pelvis_x": 1.0, "other_foot_x": 1.0}
    rows = np.zeros((3, 2, len(layout.measured)))
    for name, value in (base | signals).items():
        rows[:, :, layout.measured.index(name)] = value
    last = replay_controller(simulation, simulation.parameters.start, rows).stimulation[-1] - 0.01
    return {muscle: last[:, layout.muscles.index(muscle)] for muscle in ("HAB", "HAD")}


def test_an_upright_walker_needs_no_abductors(walkers):
    upright = stimulation(walkers["myolegs26"])
    assert np.abs(upright["HAB"]).max() < 1e-9 and np.abs(upright["HAD"]).max() < 1e-9


def test_a_lean_to_the_side_is_righted_by_both_legs(walkers):
    """The leg that the trunk leans away from pulls it back, the other one pushes."""
    lean = {sign: stimulation(walkers["myolegs26"], roll=(0.2 * sign, -0.2 * sign))
            for sign in (1, -1)}  # fmt: skip
    right = lean[1]
    assert right["HAB"][1] == pytest.approx(0.6 * 0.2) and right["HAB"][0] < 1e-9
    assert right["HAD"][0] == pytest.approx(0.6 * 0.2) and right["HAD"][1] < 1e-9
    for muscle, values in right.items():
        np.testing.assert_allclose(values, lean[-1][muscle][::-1], atol=1e-12)


@pytest.mark.parametrize("leg", [0, 1])
def test_a_swinging_leg_is_placed_to_the_side(leg, walkers):
    """More so where the walker moves to that side; the same for both legs."""
    swing = {"load": np.where([leg == 0, leg == 1], 0.0, 1.0)}
    swing["contact"] = np.sign(swing["load"])
    walker = walkers["myolegs26"]
    inward = stimulation(walker, **swing, hip_adduction=0.5 * np.pi + 0.1)
    outward = stimulation(walker, **swing, hip_adduction=0.5 * np.pi - 0.1)
    moving = stimulation(walker, **swing, pelvis_vy=np.where(swing["load"] == 0.0, 1.0, -1.0))
    assert inward["HAB"][leg] == pytest.approx(0.1) and inward["HAD"][leg] < 1e-9
    assert outward["HAD"][leg] == pytest.approx(0.1) and outward["HAB"][leg] < 1e-9
    assert moving["HAB"][leg] == pytest.approx(np.deg2rad(2.0))


def called(capsys, *words):
    code = main([*map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_commands_walk_with_models_by_name(capsys, tmp_path):
    vector = tmp_path / "ones.txt"
    np.savetxt(vector, np.ones(97))
    words = ["gait", "evaluate", vector, "sim_time=0.3", "--json"]
    for name in NAMES:
        code, out, _ = called(capsys, *words, f"model_file={name}")
        answer = json.loads(out)
        assert code == 0 and not answer["fell"] and answer["walked_m"] > 0.2


@pytest.mark.parametrize("muscles", [26, 80])
def test_searches_run(capsys, tmp_path, muscles):
    words = ["-eff", "--sim-time", "0.2", "--popsize", "4", "--maxiter", "1", "--quiet"]
    words += ["--musc-model", muscles, "--delayed", "1", "--save-path", tmp_path / "run"]
    assert called(capsys, "gait", "optimize", "baseline", *words)[0] == 0
    assert np.loadtxt(next((tmp_path / "run").rglob("*3D*_Best.txt"))).size == 97


def test_a_missing_package(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "myo_sim", None)
    with pytest.raises(MissingExtraError, match=r'pip install "trueup\[gait\]"'):
        Walker.load("myolegs26")
    words = ["gait", "optimize", "baseline", "--musc-model", "26", "--save-path", tmp_path / "run"]
    code, _, error = called(capsys, *words)
    assert code == 2 and "trueup[gait]" in error and not (tmp_path / "run").exists()


def test_impossible_poses_are_told(walkers):
    simulation = WalkSimulation(walkers["myolegs26"], WalkSettings(duration=0.1, threads=1))
    X = np.tile(simulation.parameters.start, (2, 1))
    X[1, simulation.parameters.index("hip_adduction_l")] = 12.0
    assert "hip_adduction_l of the pose is" in simulation.run(X).invalid[1]
    with pytest.raises(GaitError, match="no keyframe 'lunge'"):
        walkers["myolegs26"].keyframe("lunge")


def test_a_leg_that_is_turned_turns_back(walkers):
    model = walkers["myolegs26"].model
    data = mujoco.MjData(model)
    for side in "rl":
        mujoco.mj_resetDataKeyframe(model, data, walkers["myolegs26"].keyframe("stand"))
        data.joint(f"hip_rotation_{side}").qpos[0] = 0.2
        mujoco.mj_forward(model, data)
        passive = data.joint(f"hip_rotation_{side}").qfrc_passive[0]
        assert passive == pytest.approx(-20.0)
        data.joint(f"hip_rotation_{side}").qvel[0] = 1.0
        mujoco.mj_forward(model, data)
        assert data.joint(f"hip_rotation_{side}").qfrc_passive[0] == pytest.approx(-25.0)
