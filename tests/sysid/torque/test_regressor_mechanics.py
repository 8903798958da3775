"""Torques of links by mechanics: closed forms, energy, symmetry of inertia, time turned round."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.signals import TimeSeries
from trueup.simulation import ModelSequences, create_initial_state
from trueup.sysid.torque.bandwidth import last_quarter
from trueup.sysid.torque.joint_motion import smooth_motion
from trueup.sysid.torque.linear_fit import autoregression, base_columns, whitened
from trueup.sysid.torque.link_regressor import link_parameters, link_regressor, parameters_of
from trueup.sysid.torque.load_check import LoadMatch, check_loads

PENDULUM = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/>
<inertial pos="0 0 -.3" mass="2" diaginertia=".05 .04 .01"/></body></worldbody></mujoco>"""
TREE = """<mujoco><option><flag energy="enable"/></option><worldbody>
<body pos=".1 0 .2" euler="10 20 30"><joint name="a" axis="0 1 .3" pos=".02 0 0"/>
<inertial pos=".05 .02 -.1" mass="1.5" fullinertia=".02 .03 .025 .004 -.002 .003"/>
<body pos="0 .1 -.3" euler="0 40 0"><joint name="s" type="slide" axis="1 .2 0"/>
<joint name="b" axis="1 0 0" pos="0 .03 0"/>
<inertial pos="0 .03 -.12" mass=".8" fullinertia=".011 .009 .006 .001 .002 -.001"/></body>
<body pos=".2 0 -.1"><joint name="c" axis="0 0 1"/>
<inertial pos=".1 0 0" mass=".6" diaginertia=".002 .003 .004"/></body></body></worldbody>
<sensor><jointpos joint="a" name="pa"/><jointpos joint="s" name="ps"/>
<jointpos joint="b" name="pb"/><jointpos joint="c" name="pc"/></sensor></mujoco>"""
MODEL = mujoco.MjModel.from_xml_string(TREE)
RNG = np.random.default_rng(0)
QPOS, QVEL, QACC = RNG.normal(size=(3, 6, MODEL.nv))


def torques(model, qpos, qvel, qacc):
    rows = [np.atleast_2d(each).astype(float) for each in (qpos, qvel, qacc)]
    return link_regressor(model, *rows) @ parameters_of(model)


def weightless(xml=TREE):
    return mujoco.MjModel.from_xml_string(xml.replace("<option>", '<option gravity="0 0 0">'))


def test_a_pendulum_takes_its_inertia_times_acceleration_and_its_weight():
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    angle, speed, acceleration = RNG.normal(size=(3, 9, 1))
    expected = (0.04 + 2 * 0.3**2) * acceleration + 2 * 9.81 * 0.3 * np.sin(angle)
    np.testing.assert_allclose(torques(model, angle, speed, acceleration), expected, atol=1e-12)


def test_a_lift_takes_its_mass_times_acceleration_and_gravity():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body>
    <joint type="slide" axis="0 0 1"/><geom size=".1" mass="3"/></body></worldbody></mujoco>""")
    found = torques(model, [[0.2]], [[5.0]], [[1.5]])
    assert found.item() == pytest.approx(3 * (1.5 + 9.81))


def test_an_elbow_feels_the_turning_arm_that_carries_it():
    """A point mass on two levers l: m l^2 sin(q2) w1^2 + ... of the planar arm, in textbooks."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint axis="0 0 1"/>
    <inertial pos="0 0 0" mass="1e-9" diaginertia="1e-12 1e-12 1e-12"/><body pos="{a} 0 0">
    <joint axis="0 0 1"/><inertial pos="{b} 0 0" mass="2" diaginertia="1e-12 1e-12 1e-12"/></body>
    </body></worldbody></mujoco>"""
    a, b, m = 0.4, 0.3, 2.0
    model = mujoco.MjModel.from_xml_string(xml.format(a=a, b=b))
    (q1, q2), (v1, v2), (a1, a2) = RNG.normal(size=(3, 2))
    cosine, sine = np.cos(q2), np.sin(q2)
    second = m * b**2 * (a1 + a2) + m * a * b * cosine * a1 + m * a * b * sine * v1**2
    first = m * (a**2 + b**2 + 2 * a * b * cosine) * a1 + m * (b**2 + a * b * cosine) * a2
    first -= m * a * b * sine * (2 * v1 * v2 + v2**2)
    found = torques(model, [q1, q2], [v1, v2], [a1, a2])
    np.testing.assert_allclose(found[0], [first, second], atol=1e-8)


def test_the_inertia_of_a_tree_is_symmetric_and_positive():
    """Torques of unit accelerations at rest: the mass matrix."""
    still, unit = np.zeros((4, 4)), np.eye(4)
    for pose in QPOS:
        inertia = torques(weightless(), np.tile(pose, (4, 1)), still, unit)
        np.testing.assert_allclose(inertia, inertia.T, atol=1e-12)
        assert np.linalg.eigvalsh(inertia).min() > 0.0


def test_the_power_of_the_torques_is_the_growth_of_the_energy():
    """Kinetic and potential energy of MuJoCo along a smooth motion."""
    data = mujoco.MjData(MODEL)

    def state(time):
        turn = time * np.array([1.0, 2.3, 1.7, 0.9]) + np.arange(4.0)
        rates = np.array([1.0, 2.3, 1.7, 0.9])
        return np.sin(turn), rates * np.cos(turn), -(rates**2) * np.sin(turn)

    def energy(time):
        data.qpos[:], data.qvel[:], _ = state(time)
        mujoco.mj_forward(MODEL, data)
        return data.energy.sum()

    for time in (0.3, 1.1, 2.0):
        motion = state(time)
        power = float(torques(MODEL, *motion)[0] @ motion[1])
        growth = (energy(time + 1e-5) - energy(time - 1e-5)) / 2e-5
        assert power == pytest.approx(growth, rel=1e-6, abs=1e-7)


def test_a_motion_turned_round_in_time_takes_the_same_torques():
    np.testing.assert_allclose(
        torques(MODEL, QPOS, -QVEL, QACC), torques(MODEL, QPOS, QVEL, QACC), atol=1e-12
    )


def test_without_gravity_a_body_at_rest_takes_no_torque():
    still = np.zeros_like(QVEL)
    np.testing.assert_array_equal(torques(weightless(), QPOS, still, still), 0.0)
    # nor does one whose whole weight is compensated; half of it bears half
    loaded = torques(MODEL, QPOS, still, still)
    for share in (0.5, 1.0):
        held = mujoco.MjModel.from_xml_string(TREE)
        held.body_gravcomp[1:] = share
        found = torques(held, QPOS, still, still)
        np.testing.assert_allclose(found, (1 - share) * loaded, atol=1e-12)
        moved, free = (torques(m, QPOS, QVEL, QACC) - torques(m, QPOS, still, still)
                       for m in (held, MODEL))  # fmt: skip
        np.testing.assert_allclose(moved, free, atol=1e-10)


def test_gravity_alone_is_a_world_that_accelerates():
    """Twice the gravity, twice the torque at rest, and no more in motion."""
    heavy = mujoco.MjModel.from_xml_string(TREE)
    heavy.opt.gravity[:] = 2 * MODEL.opt.gravity
    still = np.zeros_like(QVEL)
    weight = torques(MODEL, QPOS, still, still)
    found = torques(heavy, QPOS, QVEL, QACC) - torques(MODEL, QPOS, QVEL, QACC)
    np.testing.assert_allclose(found, weight, atol=1e-10)


def test_parameters_of_a_link_are_moments_about_its_origin():
    """Of two point masses that stand for the link: sums of m, m r and m (r.r E - r r')."""
    places = np.array([[0.1, 0.2, -0.3], [0.4, -0.1, 0.2]])
    masses = np.array([1.2, 0.7])
    centre = masses @ places / masses.sum()
    around = sum(m * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
                 for m, r in zip(masses, places - centre, strict=True))  # fmt: skip
    moments, axes = np.linalg.eigh(around)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, axes.ravel())
    found = link_parameters(np.array([[masses.sum()]]), centre[None, None],
                            quaternion[None, None], moments[None, None])[0]  # fmt: skip
    about = sum(m * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
                for m, r in zip(masses, places, strict=True))  # fmt: skip
    order = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])
    np.testing.assert_allclose(found, [masses.sum(), *(masses @ places), *about[order]], atol=1e-12)


# --- motions behind the filter -------------------------------------------------------------------

STEP = 0.005
TIMES = STEP * np.arange(1200)


def recorded(values, begin=0.0):
    mapping = TimeSeries.compute_all_sensor_mapping(MODEL)
    sensors = TimeSeries(begin + TIMES, values, mapping)
    controls = TimeSeries(begin + TIMES, np.zeros((len(TIMES), 0)))
    state = create_initial_state(MODEL, values[0])
    spec = mujoco.MjSpec.from_string(TREE)
    group = ModelSequences("tree", spec, ["log"], [state], [controls], [sensors])
    return group.measured_rollout[0]


SLOW = np.array([0.5, 0.8, 0.3, 0.6])
SWING = np.sin(2 * np.pi * SLOW * TIMES[:, None])


def test_slow_motion_passes_with_its_speed_and_acceleration_and_without_a_lag():
    motion = smooth_motion(recorded(SWING), 10.0)
    inside = slice(10, -10)  # the filter begins and ends with reflected samples
    omega, phase = 2 * np.pi * SLOW, 2 * np.pi * SLOW * motion.times[inside, None]
    np.testing.assert_allclose(motion.qpos[inside], np.sin(phase), atol=1e-5)
    np.testing.assert_allclose(motion.qvel[inside], omega * np.cos(phase), atol=1e-4)
    np.testing.assert_allclose(motion.qacc[inside], -(omega**2) * np.sin(phase), atol=1e-3)
    assert np.diff(motion.times) == pytest.approx(STEP * int(1 / (20.0 * STEP)))


def test_a_sum_of_motions_passes_as_the_sum():
    other = np.cos(2 * np.pi * SLOW[::-1] * TIMES[:, None])
    parts = [smooth_motion(recorded(each), 5.0) for each in (SWING, other, SWING + 2 * other)]
    for name in ("qpos", "qvel", "qacc"):
        one, two, both = (getattr(part, name) for part in parts)
        np.testing.assert_allclose(both, one + 2 * two, atol=1e-9)


def test_when_a_recording_began_does_not_matter():
    one, late = smooth_motion(recorded(SWING), 5.0), smooth_motion(recorded(SWING, 64.0), 5.0)
    np.testing.assert_allclose(late.times - 64.0, one.times, atol=1e-9)
    np.testing.assert_allclose(late.qacc, one.qacc, atol=1e-6)


def test_a_recording_that_is_too_short_for_its_filter_is_refused():
    with pytest.raises(SignalError, match="too short"):
        smooth_motion(recorded(SWING), 0.2)


def test_the_last_quarter_is_the_last_quarter():
    for count in (4, 7, 100, 101):
        found = last_quarter(np.arange(count), 0)
        assert found[-1] == count - 1 and len(found) == count - int(0.75 * count)
        table = np.arange(2 * count).reshape(2, count)
        np.testing.assert_array_equal(last_quarter(table, 1), table[:, -len(found) :])


# --- least squares and loads ---------------------------------------------------------------------


def test_noise_of_first_order_is_found_and_whitened():
    rng = np.random.default_rng(1)
    series = []
    for _ in range(2):
        noise = rng.normal(scale=0.3, size=6000)
        for t in range(1, len(noise)):
            noise[t] += 0.7 * noise[t - 1]
        series.append(noise)
    coefficients, deviation = autoregression(series)
    assert deviation == pytest.approx(0.3, rel=0.03)
    # whatever its order, it predicts what follows as the first order does
    assert coefficients[0] == pytest.approx(0.7, abs=0.03)
    assert np.abs(coefficients[1:]).max(initial=0.0) < 0.05
    rows = [(np.ones((6000, 1, 1)), s[:, None]) for s in series]
    _, white = whitened(rows, [s[:, None] for s in series])
    assert np.std(white) == pytest.approx(1.0, rel=0.03)
    assert abs(np.corrcoef(white[1:6000], white[:5999])[0, 1]) < 0.05


def test_base_columns_span_all_of_them():
    A = np.random.default_rng(2).normal(size=(40, 5))
    A = np.column_stack([A, A[:, 0] - 2 * A[:, 3], 0 * A[:, 0]])
    independent, dependent, relation = base_columns(A)
    assert len(independent) == 5 and sorted([*independent, *dependent]) == list(range(7))
    np.testing.assert_allclose(A[:, independent] @ relation, A[:, dependent], atol=1e-9)


def match(correlation, factor=1.0, share=(1.0, 0.5)):
    return LoadMatch(("a", "b"), np.array(correlation), np.full((2, 2), factor), np.array(share))


def test_torques_that_follow_their_load_pass_whatever_the_names():
    right = match([[0.95, 0.1], [0.1, 0.9]])
    assert check_loads(right, True) == check_loads(right, False) == []


def test_torques_against_their_load_are_refused_where_it_is_heavy():
    with pytest.raises(SignalError, match="torque of 'b' opposes the weight"):
        check_loads(match([[0.95, 0.1], [0.1, -0.9]]), True)
    light = match([[0.95, 0.1], [0.1, -0.9]], share=(1.0, 0.05))
    (note,) = check_loads(light, False)
    assert "b" in note and "payload" in note


def test_torques_of_the_motor_side_are_named_where_gains_are_known():
    geared = match([[0.95, 0.1], [0.1, 0.9]], factor=0.01)
    assert check_loads(geared, True) and not check_loads(geared, False)
