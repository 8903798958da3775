"""What happens in a walk over time: forces, moments, places, the device."""

import mujoco
import numpy as np
import pytest

from trueup.gait import FourParameterProfile, Walker, WalkSettings, WalkSimulation, observe_walks
from trueup.gait.walk.series import JOINTS, _forward_passes, _joint_moments


def simulated(model="planar22_exo", duration=0.8, slope=0.0, delayed=False, profile=True):
    walker = Walker.load(model, slope=slope)
    settings = WalkSettings(duration=duration, delayed=delayed, threads=1, max_torque=40.0)
    return WalkSimulation(walker, settings, profile=FourParameterProfile() if profile else None)


@pytest.fixture(scope="module")
def walk():
    """A short walk of our model, with its exoskeleton."""
    simulation = simulated()
    _, (series,) = observe_walks(simulation, simulation.parameters.start)
    return simulation, series


def forwarded(model, state):
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("delayed", [False, True])
def test_observing_does_not_change_a_walk(delayed):
    simulation = simulated(duration=0.3, delayed=delayed)
    X = np.tile(simulation.parameters.start, (2, 1))
    X[1, simulation.parameters.index("vel_pelvis_tx")] -= 1.0
    alone = simulation.run(X)
    frames, length = alone.frames.copy(), alone.length.copy()
    records, series = observe_walks(simulation, X)
    np.testing.assert_array_equal(records.frames, frames)
    for i, each in enumerate(series):
        assert len(each.time) == length[i] == len(each.states)
        hip = simulation.walker.model.joint("hip_flexion_r").qposadr[0]
        model = simulation.walker.model
        angles = [forwarded(model, state).qpos[hip] for state in each.states]
        np.testing.assert_allclose(each.angles[:, 0, 0], angles, atol=1e-12)


def test_the_ground_carries_what_the_root_feels(walk):
    """Of the joints of the root no muscle and no limit acts: their constraint is the ground."""
    simulation, series = walk
    model = simulation.walker.model
    assert series.ground_force[:, :, 2].max() > 0.5 * series.weight
    for k in range(0, len(series.time), 7):
        data = forwarded(model, series.states[k])
        felt = [data.qfrc_constraint[model.joint(f"pelvis_t{a}").dofadr[0]] for a in "xy"]
        total = series.ground_force[k].sum(axis=0)
        np.testing.assert_allclose(total[[0, 2]], felt, atol=1e-8)


def test_on_a_slope_forces_are_those_along_and_upright_on_it():
    simulation = simulated(slope=8.0, duration=0.3)
    _, (series,) = observe_walks(simulation, simulation.parameters.start)
    model = simulation.walker.model
    angle = np.deg2rad(8.0)
    for k in (5, 15, 25):
        data = forwarded(model, series.states[k])
        x, z = (data.qfrc_constraint[model.joint(f"pelvis_t{a}").dofadr[0]] for a in "xy")
        forward, _, upright = series.ground_force[k].sum(axis=0)
        np.testing.assert_allclose(forward, np.cos(angle) * x + np.sin(angle) * z, atol=1e-8)
        np.testing.assert_allclose(upright, np.cos(angle) * z - np.sin(angle) * x, atol=1e-8)


def muscle_moment(walker, state, joint, change=1e-5):
    """Moment of all muscles about a joint by virtual work: the joint is turned a little, and what
    is coupled to it goes along; positive in the direction of the joint."""
    model = walker.model
    data = forwarded(model, state)
    qpos, force = data.qpos.copy(), data.actuator_force.copy()
    number = model.joint(joint).id

    def lengths(turned):
        data.qpos[:] = qpos
        data.qpos[model.jnt_qposadr[number]] += turned
        at = data.qpos[model.jnt_qposadr[number]] - model.qpos0[model.jnt_qposadr[number]]
        before = qpos[model.jnt_qposadr[number]] - model.qpos0[model.jnt_qposadr[number]]
        for row in range(model.neq):
            if model.eq_type[row] == mujoco.mjtEq.mjEQ_JOINT and model.eq_obj2id[row] == number:
                place = model.jnt_qposadr[model.eq_obj1id[row]]
                curve = np.polynomial.Polynomial(model.eq_data[row, :5])
                data.qpos[place] += curve(at) - curve(before)
        mujoco.mj_fwdPosition(model, data)
        return data.actuator_length.copy()

    return float(force @ (lengths(change) - lengths(-change)) / (2.0 * change))


SIGN = {"hip": -1.0, "knee": 1.0, "ankle": -1.0}


def check_moments(simulation, series, rows):
    walker = simulation.walker
    found = _forward_passes(walker, series.states[rows], True)
    for k, row in enumerate(rows):
        found["force"][k] = forwarded(walker.model, series.states[row]).qfrc_actuator
    moments, _, _ = _joint_moments(walker, found)
    for k, row in enumerate(rows):
        for j, joint in enumerate(JOINTS):
            name = walker.anatomy.named(walker.anatomy.joints[joint], "left")
            expected = SIGN[joint] * muscle_moment(walker, series.states[row], name)
            assert moments[k, 1, j] == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_moments_are_those_of_virtual_work(walk):
    check_moments(*walk, [5, 30, 55])


def test_moments_count_what_is_coupled_to_a_joint(compat_simulation, tutorial_vector):
    """In MyoAssist's model the knee slides and paths of muscles move as a joint turns."""
    simulation = compat_simulation(0.12)
    _, (series,) = observe_walks(simulation, tutorial_vector)
    check_moments(simulation, series, [3, 10])


def test_power_of_the_device(walk):
    simulation, series = walk
    model = simulation.walker.model
    assert series.device_torque.max() > 5.0
    dof = model.joint("ankle_angle_l").dofadr[0]
    for k in range(len(series.time) - 1):
        data = forwarded(model, series.states[k])
        torque = -data.actuator_force[model.actuator("Exo_L").id]
        assert series.device_moments[k, 1, 2] == pytest.approx(torque, abs=1e-9)
        assert series.device_power[k, 1] == pytest.approx(-torque * data.qvel[dof], abs=1e-9)
        assert np.all(series.device_moments[k, 1, :2] == 0.0)


def test_places_and_heights(walk):
    simulation, series = walk
    model = simulation.walker.model
    data = forwarded(model, series.states[20])
    np.testing.assert_allclose(series.places[20, 0, 2], data.xpos[model.body("talus_r").id])
    thigh = np.linalg.norm(series.places[:, :, 0] - series.places[:, :, 1], axis=2)
    np.testing.assert_allclose(thigh, thigh[0, 0], rtol=1e-9)
    assert (series.head[:, 2] > series.places[:, :, 0, 2].max(axis=1)).all()


def test_a_walk_that_cannot_start_has_no_series():
    simulation = simulated(duration=0.1)
    X = np.tile(simulation.parameters.start, (2, 1))
    X[0, simulation.parameters.index("knee_angle_r")] = 60.0
    records, (first, second) = observe_walks(simulation, X)
    assert first is None and 0 in records.invalid and second is not None


def test_a_fall_ends_with_its_last_state(walk):
    simulation, _ = walk
    high = WalkSimulation(
        simulation.walker,
        WalkSettings(duration=0.5, delayed=False, threads=1, lowest=0.93),
    )
    records, (series,) = observe_walks(high, high.parameters.start)
    assert series.fell and len(series.states) == records.length[0] < 50
    data = forwarded(high.walker.model, series.states[-1])
    assert data.time == pytest.approx(series.time[-1])
    assert data.xpos[high.walker.model.body("pelvis").id, 2] < 0.93


@pytest.mark.parametrize(
    ("slope", "compat", "limit"), [(0, False, 25), (4, False, 29), (4, True, 25)]
)
def test_a_walker_may_lean_further_into_a_slope(slope, compat, limit):
    walker = Walker.load("planar22", slope=float(slope))
    simulation = WalkSimulation(walker, WalkSettings(duration=0.1, compat=compat, threads=1))
    tilt = simulation.parameters.index("pelvis_tilt")
    entry = simulation.parameters.entries[tilt]
    X = np.tile(simulation.parameters.start, (2, 1))
    X[:, tilt] = (-(limit + np.array([-3.0, 3.0])) - entry.offset) / entry.scale  # forwards [deg]
    upright, leaning = simulation.run(X).length
    assert upright > leaning
