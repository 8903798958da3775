"""The walker space26: the sagittal plane of planar22, mirrored sides, muscles, assistance."""

import copy

import mujoco
import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.fitting import Grade
from trueup.gait import (
    Walker,
    WalkSettings,
    WalkSimulation,
    load_configuration,
    make_problem,
    shipped_reflexes,
)
from trueup.gait.models.human_walker import build_walker
from trueup.gait.models.planar22 import planar22_anatomy
from trueup.gait.models.space26 import space26_anatomy, space26_numbers
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.search.earlier_runs import values_from
from trueup.gait.search.shipped_walk import SHIPPED_WALK, SHIPPED_WALKS
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.walk.frames import FRAME, Frame

SIDEWAYS = ("pelvis_tz", "pelvis_list", "pelvis_rotation")
OF_HIP = ("hip_adduction", "hip_rotation")


@pytest.fixture(scope="module")
def walker():
    return Walker.load("space26")


def shipped(parameters):
    """The shipped planar walk as a vector ``(size,)``, other entries nominal."""
    return values_from(SHIPPED_WALK, parameters.space, parameters).x


def whole(simulation):
    parameters = simulation.parameters
    return parameters.complete(shipped(parameters)[None])


def mirrored_name(name):
    for one, other in ("rl", "lr"):
        if name.endswith(f"_{one}"):
            return name[:-1] + other
    return name


def mirrored_pose(model, qpos):
    found = qpos.copy()
    for i in range(model.njnt):
        name = model.joint(i).name
        sign = -1.0 if name in SIDEWAYS else 1.0
        found[model.joint(mirrored_name(name)).qposadr[0]] = sign * qpos[model.jnt_qposadr[i]]
    return found


def in_the_plane():
    """The numbers of space26 without joints and muscles of the frontal plane, and an anatomy."""
    numbers = copy.deepcopy(space26_numbers())
    numbers["root"] = [name for name in numbers["root"] if name not in SIDEWAYS]
    numbers["bodies"]["femur"]["joints"] = ["hip_flexion"]
    for name in OF_HIP:
        del numbers["joints"][name]
    for name in ("abd", "add"):
        del numbers["muscles"][name]
    soles = {"sole_sites": space26_anatomy().sole_sites}
    return numbers, planar22_anatomy().model_copy(update=soles)


def test_structure(walker):
    model = walker.model
    assert (model.nv, model.nu, walker.frontal) == (18, 26, True)
    assert len(walker.muscle_names) == 26 and not len(walker.other_muscles)
    assert walker.mass == pytest.approx(Walker.load("planar22").mass, abs=1e-9)
    assert model.npair == 12 and not model.geom_contype.any()


def test_without_motion_sideways_it_walks_as_planar22():
    """Soles of two spheres share the pad of planar22: stiffness, damping and the mass they move."""
    numbers, anatomy = in_the_plane()
    flat = Walker(build_walker(numbers, anatomy).compile(), anatomy)
    settings = WalkSettings(duration=1.2)
    walks = []
    for one in (flat, Walker.load("planar22")):
        simulation = WalkSimulation(one, settings)
        records = simulation.run(whole(simulation))
        walks.append(records.frames[0, : records.length[0]].copy())
    space, plane = walks
    assert len(space) == len(plane) == 120
    for name, size in (
        ("x", 1e-3),
        ("z", 1e-3),
        ("pitch", 0.01),
        ("hip_r", 0.01),
        ("knee_l", 0.01),
    ):
        column = FRAME.index(name)
        np.testing.assert_allclose(space[:, column], plane[:, column], atol=size)


def test_a_mirrored_pose_has_mirrored_muscles_and_masses(walker):
    model, rng = walker.model, np.random.default_rng(4)
    for _ in range(4):
        qpos = model.key_qpos[model.key("walk_left").id].copy()
        for i in range(model.njnt):
            if model.jnt_limited[i]:
                qpos[model.jnt_qposadr[i]] = rng.uniform(*model.jnt_range[i])
        for name in SIDEWAYS:
            qpos[model.joint(name).qposadr[0]] = rng.uniform(-0.3, 0.3)
        plain, mirrored = mujoco.MjData(model), mujoco.MjData(model)
        plain.qpos[:], mirrored.qpos[:] = qpos, mirrored_pose(model, qpos)
        for data in (plain, mirrored):
            data.joint("pelvis_ty").qpos[0] += 1.0
            data.act[:] = 0.3
            mujoco.mj_forward(model, data)
        com = plain.subtree_com[0] * (1.0, -1.0, 1.0)
        np.testing.assert_allclose(com, mirrored.subtree_com[0], atol=1e-12)
        for i in range(model.nu):
            one, other = plain.actuator(i), mirrored.actuator(mirrored_name(model.actuator(i).name))
            assert one.length[0] == pytest.approx(other.length[0], abs=1e-12)
            assert one.force[0] == pytest.approx(other.force[0], rel=1e-9, abs=1e-9)


def test_a_mirrored_start_gives_the_mirrored_walk():
    walks, X = [], None
    for pose in ("walk_left", "walk_right"):
        simulation = WalkSimulation(
            Walker.load("space26"), WalkSettings(duration=0.7, pose=pose, delayed=True)
        )
        names = list(simulation.parameters.names)
        if X is None:
            X = whole(simulation)
        else:
            X = X[:, [names.index(mirrored_name(name)) for name in names]]
        records = simulation.run(X)
        walks.append(records.frames[0, : records.length[0]].copy())
    left, right = walks
    assert len(left) == len(right) == 70
    assert np.abs(left[:, Frame.y]).max() > 0.005
    np.testing.assert_allclose(left[:, Frame.y], -right[:, Frame.y], atol=1e-9)
    for name in ("x", "z", "pitch", "hip_r", "knee_l", "load_r", "load_l"):
        one, other = FRAME.index(name), FRAME.index(mirrored_name(name))
        np.testing.assert_allclose(left[:, one], right[:, other], atol=1e-8)


@pytest.mark.parametrize(
    ("muscle", "moments"), [("abd", (-0.0422, -0.0157)), ("add", (0.0593, 0.0024))]
)
def test_moment_arms_are_the_means_of_the_published_parts(walker, muscle, moments):
    """gait2392, parts of gluteus medius and minimus, and of the adductors, weighted by force."""
    model = walker.model
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    actuator = model.actuator(f"{muscle}_r").id
    arms = np.zeros((model.nu, model.nv))
    mujoco.mju_sparse2dense(
        arms, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    for joint, arm in zip(("hip_adduction_r", "hip_flexion_r"), moments, strict=True):
        # a muscle that shortens as the angle grows turns it forwards
        found = -arms[actuator, model.joint(joint).dofadr[0]]
        assert found == pytest.approx(arm, abs=1e-3)


def test_assistance_holds_the_pelvis_by_its_share():
    model = Walker.load("space26", assistance=0.25).model
    springs = space26_anatomy().assistance
    assert set(springs) == set(SIDEWAYS)
    for name, spring in springs.items():
        joint = model.joint(name)
        data = mujoco.MjData(model)
        data.joint(name).qpos[0], data.joint(name).qvel[0] = 0.1, 0.2
        mujoco.mj_forward(model, data)
        force = data.qfrc_passive[joint.dofadr[0]]
        assert force == pytest.approx(-0.25 * (0.1 * spring.stiffness + 0.2 * spring.damping))


@pytest.mark.parametrize("assistance", [-0.1, 1.5, np.nan])
def test_assistance_is_a_share(assistance):
    with pytest.raises(GaitError, match="it must be from 0 to 1"):
        Walker.load("space26", assistance=assistance)


def test_a_planar_walker_has_no_assistance():
    with pytest.raises(GaitError, match=r"planar22 has no springs .* remove assistance"):
        Walker.load("planar22", assistance=0.5)


def test_assistance_falls_step_by_step_to_that_of_the_stage():
    stages = {
        "held": {"assistance": 0.64, "maxiter": 2, "sim_time": 0.1},
        "free": {"gradually": 4, "maxiter": 8, "sim_time": 0.1},
    }
    configuration = load_configuration("walk3d").model_copy(update={"stages": stages})
    problem = make_problem(configuration, threads=1)
    assert isinstance(problem, StagedProblem)
    held, free = problem.continuations
    assert len(held) == 1 and held.target.scenarios[0].simulation.walker.assistance == 0.64
    assert free.words == ("assistance 0.36", "assistance 0.16", "assistance 0.04")
    strengths = [
        free.problem(step).scenarios[0].simulation.walker.assistance for step in range(len(free))
    ]
    np.testing.assert_allclose(strengths, [0.36, 0.16, 0.04, 0.0])


def test_the_rate_of_adduction_is_positive_towards_the_other_leg(walker):
    simulation = WalkSimulation(walker, WalkSettings(duration=0.4))
    layout, model = simulation.layout, walker.model
    angle, rate = (layout.measured.index(name) for name in ("hip_adduction", "hip_adduction_rate"))
    angles, rates = [], []

    def watch(tick, batch):
        walks = simulation._walks
        assert walks is not None
        angles.append(walks.measured[0, :, angle].copy())
        rates.append(walks.measured[0, :, rate].copy())

    simulation.run(whole(simulation), observe=watch)
    step = model.opt.timestep * simulation.steps
    found, wanted = np.array(rates)[1:], np.diff(angles, axis=0) / step
    # semi-implicit: an angle follows from the rate at the end of a step
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert np.abs(found).max() > 0.2


def test_only_this_walker_has_the_additional_reflexes(walker):
    own = WalkSimulation(walker).parameters.names
    assert {"6_HAB_VG", "6_HAD_VG", "vel_pelvis_tz", "pelvis_list"} <= set(own)
    others = WalkSimulation(Walker.load("planar22")).parameters.names
    assert not {"6_HAB_VG", "6_HAD_VG", "vel_pelvis_tz", "C_v_f"} & set(others)
    assert set(others) < set(own)
    assert "6_HAB_VG" in shipped_reflexes("space26") and "6_HAB_VG" not in shipped_reflexes()


def test_the_shipped_walk_in_space_needs_no_assistance():
    """It falls after some seconds; rounding that differs between machines changes when."""
    simulation = WalkSimulation(Walker.load("space26"), WalkSettings(duration=4.0))
    parameters = simulation.parameters
    x = values_from(SHIPPED_WALKS["shipped3d"], parameters.space, parameters).x
    records = simulation.run(parameters.complete(x[None]))
    last = records.frames[0, records.length[0] - 1]
    assert records.length[0] == 400
    assert 3.0 < last[Frame.x] < 5.5 and abs(last[Frame.y]) < 1.0
    loaded = records.frames[0, :400, Frame.load_r : Frame.load_l + 1] > 0.1
    assert (np.sum(loaded[1:] & ~loaded[:-1], axis=0) >= 3).all()


@pytest.mark.parametrize("assistance", [0.0, 0.5])
def test_a_walk_with_assistance_is_not_to_be_used(assistance):
    changes = {"stages": None, "sim_time": 0.2, "num_strides": 1, "assistance": assistance}
    configuration = load_configuration("walk3d").model_copy(update=changes)
    problem = make_problem(configuration, threads=1)
    parameters = problem.scenarios[0].simulation.parameters
    verdict = judge_walk(problem, whole(problem.scenarios[0].simulation)[0])
    said = [reason for reason in verdict.reasons if "assistance 0.5" in str(reason)]
    assert len(said) == (1 if assistance else 0)
    assert (verdict.grade is Grade.DO_NOT_USE) == bool(assistance)
    assert parameters.size == 101
