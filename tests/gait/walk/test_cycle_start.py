"""A start in the middle of a walk, with its joints in motion."""

import json

import mujoco
import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.gait import (
    PerturbationSizes,
    Walker,
    WalkSettings,
    WalkSimulation,
    cycle_start,
    observe_walks,
    survival,
)
from trueup.gait.search.shipped_walk import SHIPPED_WALK

SETTINGS = WalkSettings(duration=5.0, threads=1)


@pytest.fixture(scope="module")
def level():
    return WalkSimulation(Walker.load("planar22"), SETTINGS)


@pytest.fixture(scope="module")
def vector(level):
    given = json.loads(SHIPPED_WALK.read_text())["parameters"]
    start = dict(zip(level.parameters.names, level.parameters.start, strict=True))
    return np.array(list((start | given).values()))


@pytest.fixture(scope="module")
def begun(level, vector):
    return cycle_start(level, vector)


def first_state(simulation, vector):
    """Positions and speeds as the controller runs for the first time."""
    model, seen = simulation.walker.model, {}

    def observe(tick, batch):
        if tick == 0:
            seen["qpos"] = np.array(batch.bind("qpos")[0])
            seen["qvel"] = np.array(batch.bind("qvel")[0])

    simulation.with_settings(duration=0.1).run(vector[None], observe)
    return {
        model.joint(j).name: (seen["qpos"][model.jnt_qposadr[j]], seen["qvel"][model.jnt_dofadr[j]])
        for j in range(model.njnt)
    }


def test_joints_start_at_the_speeds_that_are_given(level, vector):
    speeds = {"knee_angle_r": -6.0, "hip_flexion_l": 0.5}
    at_rest = first_state(level, vector)
    moving = first_state(level.with_settings(joint_speeds=speeds), vector)
    for name, (angle, speed) in moving.items():
        if name != "pelvis_ty":  # the ground is found by the same pose
            assert angle == at_rest[name][0]
        assert speed == speeds.get(name, at_rest[name][1])


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ({"knee_angle": 1.0}, r"unknown joint 'knee_angle'.*knee_angle_r"),
        ({"pelvis_tx": 1.0}, r"unknown joint 'pelvis_tx'"),
        ({"knee_angle_r": np.nan}, r"knee_angle_r.*must be finite"),
    ],
)
def test_speeds_that_no_joint_can_have_are_refused(speeds, said, level):
    with pytest.raises(GaitError, match=said):
        level.with_settings(joint_speeds=speeds)


def test_the_start_is_a_moment_of_the_walk(level, vector, begun):
    _, (walk,) = observe_walks(level, vector[None])
    assert walk is not None
    data = mujoco.MjData(level.walker.model)
    frame = round(begun.time / walk.period) - 1
    mujoco.mj_setState(
        level.walker.model, data, walk.states[frame], mujoco.mjtState.mjSTATE_INTEGRATION
    )
    state = first_state(level.with_settings(joint_speeds=begun.joint_speeds), begun.vector)
    for name, (angle, speed) in state.items():
        if name in ("pelvis_tx", "pelvis_ty") or name.startswith("mtp"):
            continue
        assert angle == pytest.approx(data.joint(name).qpos[0], abs=np.deg2rad(4.0)), name
        assert speed == pytest.approx(data.joint(name).qvel[0], abs=1e-9), name
    assert state["pelvis_tx"][1] == pytest.approx(data.joint("pelvis_tx").qvel[0])
    gains = level.parameters.group("gain")
    np.testing.assert_array_equal(begun.vector[gains], vector[gains])
    # the leg that swings first is off the ground, the other one carries
    assert walk.load[frame, level.swing_leg] < 0.1 < walk.load[frame, 1 - level.swing_leg]


def test_it_goes_on_as_the_walk_did(level, vector, begun):
    _, (walk,) = observe_walks(level, vector[None])
    moving = level.with_settings(joint_speeds=begun.joint_speeds)
    _, (again,) = observe_walks(moving, begun.vector[None])
    still = level.with_settings(joint_speeds=dict.fromkeys(begun.joint_speeds, 0.0))
    _, (from_rest,) = observe_walks(still, begun.vector[None])
    assert walk is not None and again is not None and from_rest is not None
    frame = round(begun.time / walk.period)
    first = slice(frame, frame + 20)
    knees = walk.angles[first, :, 1]
    apart = np.abs(again.angles[:20, :, 1] - knees).mean()
    assert apart < np.deg2rad(4.0)
    assert apart < 0.5 * np.abs(from_rest.angles[:20, :, 1] - knees).mean()


def test_the_walk_hangs_less_on_its_first_steps(level, vector, begun):
    quiet = {"friction": 0.0, "push": 0.0, "noise": 0.0, "speed": 0.0}
    sizes = PerturbationSizes(angle=1.0, **quiet)
    still = level.with_settings(joint_speeds=dict.fromkeys(begun.joint_speeds, 0.0))
    # the difference of two fractions of 80 repeats has a standard error of 0.07
    standing = survival(still, vector, 80, sizes=sizes).survived
    moving = level.with_settings(joint_speeds=begun.joint_speeds)
    assert survival(moving, begun.vector, 80, sizes=sizes).survived >= standing + 0.4 * 80


def test_it_is_found_again_from_its_own_walk(level, begun):
    moving = level.with_settings(joint_speeds=begun.joint_speeds)
    second = cycle_start(moving, begun.vector)
    last = moving.with_settings(joint_speeds=second.joint_speeds).run(second.vector[None])
    assert last.length[0] * last.period == pytest.approx(SETTINGS.duration)


def test_a_walk_that_falls_has_no_cycle(level):
    with pytest.raises(GaitError, match=r"a walk without a fall, and this one ends after \d"):
        cycle_start(level, level.parameters.start)


def test_a_walk_without_a_stride_has_no_cycle(level, vector):
    with pytest.raises(GaitError, match=r"in 0\.4 s there is none.*longer"):
        cycle_start(level.with_settings(duration=0.4), vector)
