"""Joints of a MuJoCo model as a step: by closed forms, by MuJoCo itself, and by differences."""

import mujoco
import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from trueup.errors import ModelError, RecordingError, RunDirectoryError
from trueup.networks import MotionSettings
from trueup.networks.motion.joint_networks import JointNetworks, starting_networks, torque_scales
from trueup.networks.motion.of_model.joints import ModelBase, ModelJoints
from trueup.networks.motion.of_model.logs import ModelLogs, joint_names, model_inputs, sample_steps
from trueup.networks.motion.of_model.training import joint_motions
from trueup.networks.motion.rollout import whole_motion
from trueup.signals import TimeSeries
from trueup.simulation import ModelSequences, create_initial_state
from trueup.sysid.fit.observation_settings import ObservationSettings

STEP = 0.002
OPTION = f'<option timestep="{STEP}" integrator="Euler"/>'
SLIDES = f"""<mujoco>{OPTION}<option gravity="0 0 0"/><worldbody>
<body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="2" contype="0"/></body>
<body><joint name="y" type="slide" axis="0 1 0" armature="1"/>
<geom size=".1" mass="3" contype="0"/></body>
</worldbody><actuator><motor name="u" joint="x"/><position name="p" joint="y" kp="0.5"/></actuator>
</mujoco>"""
ARM = f"""<mujoco>{OPTION}<worldbody>
<body><joint name="shoulder" axis="0 1 0" damping="0.1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/>
<body pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" damping="0.05"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.3"/></body></body></worldbody>
<actuator><motor joint="shoulder"/><position joint="elbow" kp="2"/></actuator></mujoco>"""


def joints_of(xml, substeps=3):
    return ModelJoints(ModelBase(mujoco.MjModel.from_xml_string(xml), "model.xml"), substeps, 1)


def starts(joints, count, seed=0):
    rng = np.random.default_rng(seed)
    model = joints.base.model
    states = np.stack([joints.state_of(*rng.normal(size=(2, model.nv)), 0.1) for _ in range(count)])
    controls = rng.normal(size=(count, joints.substeps, model.nu))
    return states, controls, 0.3 * rng.normal(size=(count, model.nv))


@pytest.fixture(scope="module")
def slides():
    return joints_of(SLIDES)


@pytest.fixture(scope="module")
def arm():
    return joints_of(ARM)


def test_angles_and_speeds_of_a_state_come_back(arm):
    state = arm.state_of(np.array([0.1, 0.2]), np.array([0.3, 0.4]), 1.5)
    np.testing.assert_array_equal(arm.joints_of(state[None]), [[0.1, 0.2, 0.3, 0.4]])
    assert state[0] == 1.5 and arm.angles == 1 and arm.speeds == 3


def test_a_slide_is_moved_by_the_force_over_its_mass(slides):
    """Of motor, servo and correction together; n steps of size h with semi-implicit sums."""
    states, controls, torques = starts(slides, 4)
    after, valid = slides.advance(states, controls, torques)
    assert valid.all()
    before, found = slides.joints_of(states), slides.joints_of(after)
    masses = np.array([2.0, 3.0 + 1.0])
    angles, speeds = before[:, :2].copy(), before[:, 2:].copy()
    for step in range(3):
        force = torques.copy()
        force[:, 0] += controls[:, step, 0]
        force[:, 1] += 0.5 * (controls[:, step, 1] - angles[:, 1])
        speeds += STEP * force / masses
        angles += STEP * speeds
    np.testing.assert_allclose(found, np.hstack([angles, speeds]), atol=1e-12)


def test_a_sample_is_as_many_steps_of_mujoco(arm):
    states, controls, torques = starts(arm, 3)
    after, _ = arm.advance(states, controls, torques)
    model = arm.base.model
    for row in range(3):
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, states[row], mujoco.mjtState.mjSTATE_INTEGRATION)
        data.qfrc_applied[:] = torques[row]
        for control in controls[row]:
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
        np.testing.assert_allclose(
            arm.joints_of(after[row : row + 1])[0], [*data.qpos, *data.qvel], atol=1e-12
        )


def test_derivatives_of_a_free_slide_are_those_of_its_sums(slides):
    """Angles by speeds n h, by forces h^2 n (n + 1) / 2 / m; speeds by forces n h / m."""
    states, controls, torques = starts(slides, 5)
    after, _ = slides.advance(states, controls, torques)
    found = slides.slopes(states, controls, torques, slides.joints_of(after))
    assert found.shape == (5, 4, 6)
    h, n = STEP, 3
    np.testing.assert_allclose(found[:, 0, [0, 2, 4]], 5 * [[1, n * h, 6 * h**2 / 2.0]], atol=1e-8)
    np.testing.assert_allclose(found[:, 2, [0, 2, 4]], 5 * [[0, 1, n * h / 2.0]], atol=1e-8)
    # neither slide moves the other
    np.testing.assert_allclose(found[:, 0, [1, 3, 5]], 0.0, atol=1e-8)
    np.testing.assert_allclose(found[:, 3, [0, 2, 4]], 0.0, atol=1e-8)
    # the servo of the other pulls back: h k n / m of the speed, to the first order of the step
    np.testing.assert_allclose(found[:, 3, 1], -n * h * 0.5 / 4.0, rtol=1e-3)


def test_derivatives_do_not_depend_on_how_many_are_taken_at_once(arm, monkeypatch):
    states, controls, torques = starts(arm, 7)
    ends = arm.joints_of(arm.advance(states, controls, torques)[0])
    whole = arm.slopes(states, controls, torques, ends)
    monkeypatch.setattr("trueup.networks.motion.of_model.joints._MOST_SIMULATIONS", 13)
    np.testing.assert_allclose(arm.slopes(states, controls, torques, ends), whole, atol=1e-9)


def test_a_simulation_that_diverges_leaves_the_others_alone(arm):
    states, controls, torques = starts(arm, 4)
    expected, _ = arm.advance(states, controls, torques)
    torques = torques.copy()
    torques[2] = 1e300
    found, valid = arm.advance(states, controls, torques)
    assert valid.tolist() == [True, True, False, True]
    np.testing.assert_array_equal(found[[0, 1, 3]], expected[[0, 1, 3]])
    again, valid = arm.advance(states, controls, 0.0 * torques)
    assert valid.all() and np.isfinite(again).all()


def test_a_base_of_another_model_is_refused(arm):
    assert arm.read_base({"kind": "model", "file": "model.xml"}, "here") is arm.base
    with pytest.raises(
        RunDirectoryError, match=r"here belongs to the model 'other\.xml', not 'model\.xml'"
    ):
        arm.read_base({"kind": "model", "file": "other.xml"}, "here")
    assert arm.moved == [] and arm.trained_base() is arm.base


FREE = '<freejoint/><geom size="0.1"/>'


@pytest.mark.parametrize(
    ("body", "drives", "words"),
    [
        (FREE, "", "'joint 0' of the model is a free or ball joint"),
        ('<joint name="b" type="ball"/><geom size="0.1"/>', "", "joint 'b'"),
        ('<joint name="a"/><geom size="0.1"/>', "", "1 joints and 0 actuators"),
        ('<joint name="a"/><geom size="0.1"/>', '<intvelocity joint="a" kp="1" actrange="-1 1"/>',
         "have 1 activation states"),
    ],
)  # fmt: skip
def test_models_that_no_gradient_goes_through_are_refused(body, drives, words):
    xml = (
        f"<mujoco><worldbody><body>{body}</body></worldbody><actuator>{drives}</actuator></mujoco>"
    )
    with pytest.raises(ModelError, match=words):
        joint_names(mujoco.MjModel.from_xml_string(xml))


def test_joints_without_a_name_are_numbered():
    xml = ARM.replace('name="elbow" ', "").replace('<position joint="elbow" kp="2"/>', "")
    assert joint_names(mujoco.MjModel.from_xml_string(xml)) == ("shoulder", "joint 1")


def test_inputs_are_those_of_the_motion():
    angle, error, speed = "current_angle_rad", "angle_error_rad", "current_ang_vel_rad_s"
    assert model_inputs(()) == (angle, speed)
    assert model_inputs(("velocity", "error")) == (error, speed)
    with pytest.raises(RecordingError, match="'load' is a condition of servo logs"):
        model_inputs(("angle", "load"))


# --- recordings ----------------------------------------------------------------------------------

COUNT = 120
TIMES = 0.006 * np.arange(COUNT)
SENSORS = '<sensor><jointpos name="a" joint="shoulder"/><jointpos name="b" joint="elbow"/></sensor>'
RECORDED = ARM.replace("</mujoco>", SENSORS + "</mujoco>")
EXACT = ObservationSettings(exact_sensor_times=True, control="zoh")
TRAINING = MotionSettings(hidden=4, seed=3)


def angles(times):
    """Angles that are quadratics of time, which any fit of quadratics follows."""
    return np.stack([0.4 + 0.3 * times - 0.5 * times**2, 0.2 - 0.6 * times + 0.9 * times**2], 1)


def model_logs(lengths=(COUNT, 80), measured=("a", "b"), inputs=(), settings=EXACT, command=1.0):
    """Recordings of the arm, ``r0`` with the first length and so on."""
    spec = mujoco.MjSpec.from_string(RECORDED)
    model = spec.compile()
    mapping = TimeSeries.compute_all_sensor_mapping(model)
    columns = ["ab".index(name) for name in measured]
    named = {n: (mapping[n][0], np.array([k])) for k, n in enumerate(measured)}
    series = [
        TimeSeries(TIMES[:count], angles(TIMES[:count])[:, columns], named) for count in lengths
    ]
    controls = [
        TimeSeries(TIMES[:count], command * np.sin(np.outer(TIMES[:count], [5.0, 7.0])))
        for count in lengths
    ]
    state = create_initial_state(model, angles(TIMES[:1])[0])
    names = [f"r{number}" for number in range(len(lengths))]
    group = ModelSequences("arm", spec, names, [state] * len(names), controls, series, True)
    base = ModelBase(group.gt_model, "arm.xml")
    training = MotionSettings(inputs=inputs)
    return ModelLogs.of(base, [group], settings, training, sample_steps(model, [group]))


@pytest.fixture(scope="module")
def logs():
    return model_logs()


@pytest.fixture(scope="module")
def simulator(logs):
    return logs.driven(logs.base, False, False)


def test_samples_are_those_of_the_recording_and_speeds_its_slopes(logs):
    """Speeds are not measured: the quadratics through the samples give them to the last one."""
    assert (logs.substeps, logs.rate) == (3, pytest.approx(1.0 / 0.006))
    assert logs.names == ("r0", "r1") and logs.joints == ("shoulder", "elbow")
    for row, count in enumerate(logs.lengths):
        times = TIMES[:count]
        np.testing.assert_allclose(logs.position[row, :count], angles(times), atol=1e-12)
        slopes = np.stack([0.3 - times, -0.6 + 1.8 * times], axis=1)
        np.testing.assert_allclose(logs.speed[row, :count], slopes, atol=1e-9)
    # the shorter one ends with its last row
    assert logs.lengths.tolist() == [COUNT, 80] and logs.shortest == pytest.approx(80 * 0.006)
    last = np.broadcast_to(logs.position[1, 79], (COUNT - 80, 2))
    np.testing.assert_array_equal(logs.position[1, 80:], last)


def test_sensors_that_are_labelled_a_step_late_are_read_a_step_later():
    late = model_logs(settings=ObservationSettings(control="zoh"))
    count = int(late.lengths[0]) - 2
    expected = angles(TIMES[:count] + STEP)
    # straight lines between samples of a parabola miss it by less than its bend
    np.testing.assert_allclose(late.position[0, :count], expected, atol=0.9 * 0.006**2 / 4 + 1e-9)


def test_the_command_of_a_joint_is_that_of_its_position_servo(simulator, logs):
    """The shoulder has a motor, whose control is no angle: it has no error."""
    window = logs.whole(simulator)
    command = window.command.reshape(COUNT, 2, 2)
    assert bool(torch.isnan(command[:, 0]).all())
    np.testing.assert_allclose(command[:, 1, 0], np.sin(7.0 * TIMES), atol=1e-12)
    told = model_logs(inputs=("angle", "error", "velocity")).whole(simulator)
    angle, speed = torch.linspace(-1.0, 1.0, 4).double(), torch.linspace(2.0, 3.0, 4).double()
    found = told.features(9, angle, speed)
    np.testing.assert_array_equal(found[:, 0], angle)
    np.testing.assert_array_equal(found[:, 2], speed)
    np.testing.assert_array_equal(found[:2, 1], 0.0)
    np.testing.assert_allclose(found[2:, 1], np.sin(7.0 * TIMES[9]) - angle[2:], atol=1e-12)


def test_errors_count_each_joint_of_each_recording_alone(logs):
    """Rows are joints, each of all recordings; what lies beyond an end counts nothing."""
    offsets = np.array([[0.1, 0.2], [0.3, 0.4]])
    rows = logs.position.permute(2, 0, 1) + torch.from_numpy(offsets)[:, :, None]
    rows[:, 1, 80:] = 1e9
    np.testing.assert_allclose(logs.errors(rows.reshape(4, -1)), offsets)


def test_a_window_is_a_slice_of_each_recording(simulator, logs):
    window = logs.windows(simulator, torch.tensor([1, 0, 0]), torch.tensor([5, 0, 30]), 4)
    position = window.position.reshape(5, 2, 3)
    for column, (row, start) in enumerate(((1, 5), (0, 0), (0, 30))):
        expected = logs.position[row, start : start + 5]
        np.testing.assert_array_equal(position[:, :, column], expected)
    whole = logs.whole(simulator)
    np.testing.assert_array_equal(whole.position, logs.position.permute(1, 2, 0).reshape(COUNT, -1))


def test_the_gradient_of_samples_is_that_of_differences(simulator, logs):
    """Through three samples of a joined arm, by the torques of all of them."""

    def ends(torques):
        window = logs.windows(simulator, torch.tensor([0, 1]), torch.tensor([2, 40]), 4)
        position, speed = window.position[0], window.speed[0]
        for step in range(3):
            position, speed = window.after(step, position, speed, torques[step])
        return position, speed

    torques = torch.linspace(-0.2, 0.3, 12).double().reshape(3, 4).requires_grad_()
    assert torch.autograd.gradcheck(ends, torques, eps=1e-5, atol=1e-6, rtol=1e-3)


def test_recordings_do_not_see_each_other(logs):
    """Each moves as it does alone, and under its own name."""
    together = joint_motions(logs, None)
    assert list(together) == ["r0 shoulder", "r0 elbow", "r1 shoulder", "r1 elbow"]
    alone = joint_motions(model_logs(lengths=(COUNT,)), None)
    for joint in logs.joints:
        np.testing.assert_array_equal(
            alone[f"r0 {joint}"].position, together[f"r0 {joint}"].position
        )
        short = together[f"r1 {joint}"].position
        np.testing.assert_allclose(short, together[f"r0 {joint}"].position[:80], atol=1e-12)


def test_recordings_that_no_training_can_use_are_refused():
    with pytest.raises(RecordingError, match="joint 'elbow' was not measured"):
        model_logs(measured=("a",))
    with pytest.raises(RecordingError, match="all commands of 'r0', 'r1' are constant"):
        model_logs(command=0.0)


# --- networks ------------------------------------------------------------------------------------


def test_networks_give_no_torque_before_they_are_trained(logs, simulator):
    module = starting_networks(logs, simulator, TRAINING)
    rows = torch.linspace(-2.0, 2.0, 16).double().reshape(4, 2, 2)
    torque, _ = module.unlimited(rows)
    np.testing.assert_array_equal(torque.detach(), np.zeros((4, 2)))
    with torch.no_grad():
        moved = whole_motion(logs.whole(simulator), module)
        alone = whole_motion(logs.whole(simulator), None)
    np.testing.assert_array_equal(moved[0], alone[0])
    first, second = (each.parameters() for each in module.members)
    assert any(not torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_each_network_sees_the_rows_of_its_own_joint(logs, simulator):
    module = starting_networks(logs, simulator, TRAINING)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in module.parameters():
            weight += torch.randn(weight.shape, generator=generator)
    rows = torch.randn(6, 5, 2, generator=generator).double()
    torque, states = module.unlimited(rows)
    for place, member in enumerate(module.members):
        part = slice(3 * place, 3 * place + 3)
        own, _ = member.unlimited(rows[part])
        np.testing.assert_array_equal(own.detach(), torque[part].detach())
    # a sequence may be cut where its state is carried on
    begun, state = module.unlimited(rows[:, :2])
    gone_on, after = module.unlimited(rows[:, 2:], state)
    np.testing.assert_allclose(torch.cat([begun, gone_on], 1).detach(), torque.detach(), atol=1e-6)
    assert len(states) == len(after) == 2
    # and the networks come back from their plain data
    again = JointNetworks(module.to_network().networks).double()
    assert again.joints == ("shoulder", "elbow")
    np.testing.assert_allclose(again.unlimited(rows)[0].detach(), torque.detach(), atol=1e-6)


def test_the_torque_of_a_joint_is_that_of_its_weight_where_it_rests():
    """A bar that is held still at an angle takes m g l / 2 sin of it; one without any, a least."""
    spec = mujoco.MjSpec.from_string(RECORDED)
    model = spec.compile()
    resting = model_logs()
    held = ModelJoints(ModelBase(model, "arm.xml"), 3)
    resting.position[:], resting.speed[:] = torch.tensor([np.pi / 2, 0.0]), 0.0
    shoulder, elbow = torque_scales(resting, held)
    gravity, upper, lower = -model.opt.gravity[2], 0.5 * 0.15, 0.3 * (0.3 + 0.125)
    assert shoulder == pytest.approx(gravity * (upper + lower), rel=1e-9)
    assert elbow == pytest.approx(gravity * 0.3 * 0.125, rel=1e-9)
    resting.position[:] = 0.0
    assert torque_scales(resting, held) == [1e-3, 1e-3]
