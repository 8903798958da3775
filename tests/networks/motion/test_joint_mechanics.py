"""The step of a driven joint against mechanics: free motion, springs, friction, symmetry, units."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from distinct_servos import distinct_model

from trueup.errors import FitError
from trueup.networks.motion.base import MotionBase, PdJoint
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.joint_step import SampleInputs

H = 0.001
"""Time step [s]."""
INERTIA = 0.02
"""Inertia of the load [kg m2]."""
ANGLES = np.linspace(-0.4, 0.5, 7)
SPEEDS = np.linspace(-2.0, 3.0, 7)
TARGETS = np.linspace(0.6, -0.7, 7)


def inputs(count, steps=1, target=0.0, on=1.0, gravity=0.0, inertia=INERTIA, rate_gain=1.0):
    """Inputs of a sample of some rows; numbers hold for all of them."""

    def each(value, shape=(count,)):
        return np.broadcast_to(np.asarray(value, float), shape).copy()

    wide = np.broadcast_to(np.reshape(np.asarray(target, float), (-1, 1)), (count, steps)).copy()
    return SampleInputs(
        target=wide, on=each(on, (count, steps)), rate_gain=each(rate_gain), voltage=each(7.0),
        volts=each(7.0), warmth=each(5.0), inertia=each(inertia), gravity=each(gravity),
    )  # fmt: skip


def after(joint, angle, speed, given, correction=0.0, gain=1.0, h=H, numbers=None):
    """Angles and speeds after a sample, as arrays."""
    count = len(given.inertia)
    rows = [np.broadcast_to(np.asarray(v, float), (count,)) for v in (angle, speed, correction)]
    angle, speed, correction = (torch.tensor(row) for row in rows)
    gains = torch.tensor(np.broadcast_to(np.asarray(gain, float), (count,)))
    with torch.no_grad():
        found = joint(angle, speed, given, correction=correction, gain=gains, h=h, numbers=numbers)
    return found[0].numpy(), found[1].numpy()


def moved(joint, samples, angle, speed, given, **more):
    """Angles (samples + 1, rows) and speeds of a motion."""
    count = len(given.inertia)
    angles, speeds = ([np.broadcast_to(value, (count,))] for value in (angle, speed))
    for _ in range(samples):
        angle, speed = after(joint, angle, speed, given, **more)
        angles.append(angle)
        speeds.append(speed)
    return np.array(angles, float), np.array(speeds, float)


SERVO = distinct_model("voltage", "m4", q_offset=0.0)
PD = PdJoint(2.0, 0.05, 1.5, 9.0, 0.004, 0.03)
WHOLE = DrivenJoint(PD)
NOTHING = {"kp": 0.0, "kd": 0.0, "stall_torque": 1e9, "no_load_speed": 1e9, "armature": 0.0,
           "frictionloss": 0.0}  # fmt: skip


def pd(**values):
    """A PD joint of some numbers; a single step is compiled for all of them."""
    found = NOTHING | values
    numbers = torch.tensor([[found[n]] for n in WHOLE.numbers], dtype=torch.float64)

    def step(angle, speed, given, **more):
        row = numbers.expand(-1, len(angle)) if more["numbers"] is None else more["numbers"]
        return WHOLE(angle, speed, given, **(more | {"numbers": row}))

    return step


FREE = pd()
BOTH = pytest.mark.parametrize("base", [PD, SERVO], ids=["pd", "servo"])


def test_without_torque_a_joint_keeps_its_speed():
    """No gain, no weight, no friction: the angle grows by speed times time."""
    angles, speeds = moved(FREE, 40, ANGLES, SPEEDS, inputs(7, target=TARGETS))
    np.testing.assert_allclose(speeds, np.broadcast_to(SPEEDS, speeds.shape), rtol=1e-13)
    np.testing.assert_allclose(angles[-1], ANGLES + 40 * H * SPEEDS, rtol=1e-13)


def test_a_constant_torque_gives_a_constant_acceleration():
    """Sum of the speeds n a h of the steps: a h^2 n (n + 1) / 2."""
    torque = np.linspace(-0.3, 0.2, 7)
    angles, speeds = moved(FREE, 25, 0.0, 0.0, inputs(7), correction=torque)
    np.testing.assert_allclose(speeds[-1], torque / INERTIA * 25 * H, rtol=1e-12)
    np.testing.assert_allclose(angles[-1], torque / INERTIA * H**2 * 25 * 26 / 2, rtol=1e-12)


def test_armature_is_inertia():
    joint = pd(armature=0.005)
    _, light = after(joint, 0.0, 0.0, inputs(1, inertia=0.02), correction=0.1)
    _, heavy = after(FREE, 0.0, 0.0, inputs(1, inertia=0.025), correction=0.1)
    np.testing.assert_allclose(light, heavy, rtol=1e-14)


def test_a_pendulum_falls_as_its_weight_says():
    weight = 0.7
    _, speeds = after(FREE, ANGLES, 0.0, inputs(7, gravity=weight))
    np.testing.assert_allclose(speeds, -weight * np.sin(ANGLES) / INERTIA * H, rtol=1e-13)
    # it hangs, and stands upside down
    _, still = after(FREE, [0.0, math.pi], 0.0, inputs(2, gravity=weight))
    np.testing.assert_allclose(still, 0.0, atol=1e-15)


def test_the_energy_of_a_pendulum_neither_grows_nor_decays():
    """Semi-implicit steps keep it within a band of the order of the step, however long."""
    weight, bands = 0.7, []
    for h in (2e-3, 1e-3):
        count = round(3.0 / h)
        angles, speeds = moved(FREE, count, 2.5, 0.0, inputs(1, gravity=weight), h=h)
        energy = 0.5 * INERTIA * speeds**2 + weight * (1.0 - np.cos(angles))
        halves = np.array_split(energy[:, 0] / energy[0, 0] - 1.0, 2)
        assert abs(np.ptp(halves[0]) - np.ptp(halves[1])) < 0.1 * np.ptp(halves[0])
        bands.append(max(np.abs(half).max() for half in halves))
    assert bands[0] < 0.02
    assert bands[1] == pytest.approx(0.5 * bands[0], rel=0.1)


def test_a_proportional_gain_is_a_spring():
    """Without damping the motion obeys q[n+1] - 2 q[n] + q[n-1] = -h^2 k / J (q[n] - target)."""
    joint = pd(kp=3.0, armature=0.01)
    angles, _ = moved(joint, 200, ANGLES, 0.0, inputs(7, target=0.1), gain=1.5)
    bend = angles[2:] - 2.0 * angles[1:-1] + angles[:-2]
    stiffness = 3.0 * 1.5 / (INERTIA + 0.01)
    np.testing.assert_allclose(bend, -(H**2) * stiffness * (angles[1:-1] - 0.1), atol=1e-13)


def test_damping_is_implicit():
    """A speed falls by 1 + h d / J each step, and never turns its sign however stiff it is."""
    for damping in (0.05, 1e4):
        joint = pd(kd=damping)
        _, speeds = moved(joint, 5, 0.0, SPEEDS, inputs(7, rate_gain=1.0))
        factor = 1.0 + H * damping / INERTIA
        np.testing.assert_allclose(speeds[-1], SPEEDS / factor**5, rtol=1e-9)
    _, gained = moved(pd(kd=0.05), 5, 0.0, 1.0, inputs(1, rate_gain=2.0))
    assert gained[-1, 0] == pytest.approx((1.0 + H * 0.1 / INERTIA) ** -5)


def test_friction_holds_what_pushes_less_and_slows_what_pushes_more():
    loss = 0.03
    joint = pd(frictionloss=loss)
    push = np.array([-0.05, -0.03, -0.01, 0.0, 0.029, 0.05, 1.0])
    _, speeds = after(joint, 0.0, 0.0, inputs(7), correction=push)
    expected = np.sign(push) * np.maximum(np.abs(push) - loss, 0.0) / INERTIA * H
    np.testing.assert_allclose(speeds, expected, atol=1e-15)
    # it stops a moving joint within finite time, and never drives it back
    angles, speeds = moved(joint, 60, 0.0, np.array([0.05, -0.05]), inputs(2))
    assert np.all(speeds[-1] == 0.0) and np.all(np.diff(np.abs(speeds), axis=0) <= 0.0)
    stop = math.ceil(0.05 * INERTIA / (loss * H) - 1e-9)
    assert np.all(speeds[stop] == 0.0) and np.all(speeds[stop - 1] != 0.0)
    np.testing.assert_allclose(angles[-1, 0], -angles[-1, 1])


def test_friction_of_a_servo_takes_energy_away():
    """Without torque of motor and load a servo slows down, from either side alike."""
    _, speeds = moved(DrivenJoint(SERVO), 400, 0.3, np.array([1.0, -1.0]), inputs(2, on=0.0))
    assert np.all(np.diff(np.abs(speeds), axis=0) <= 0.0)
    assert abs(speeds[-1]).max() < 0.6 * abs(speeds[0]).max()
    np.testing.assert_allclose(speeds[:, 0], -speeds[:, 1], rtol=1e-12)


@BOTH
def test_a_mirrored_joint_moves_as_the_mirror_image(base):
    joint = DrivenJoint(base)
    torque = np.linspace(-0.2, 0.3, 7)
    more = {"gravity": 0.4, "steps": 3}
    one = after(joint, ANGLES, SPEEDS, inputs(7, target=TARGETS, **more), torque, 1.3)
    other = after(joint, -ANGLES, -SPEEDS, inputs(7, target=-TARGETS, **more), -torque, 1.3)
    for found, mirrored in zip(one, other, strict=True):
        np.testing.assert_allclose(found, -mirrored, rtol=1e-12)


@BOTH
def test_a_sample_of_many_steps_is_as_many_samples(base):
    joint = DrivenJoint(base)
    given = {"target": TARGETS, "gravity": 0.4}
    at_once = after(joint, ANGLES, SPEEDS, inputs(7, steps=5, **given), 0.1)
    angles, speeds = moved(joint, 5, ANGLES, SPEEDS, inputs(7, **given), correction=0.1)
    np.testing.assert_array_equal(at_once[0], angles[-1])
    np.testing.assert_array_equal(at_once[1], speeds[-1])


@BOTH
def test_rows_do_not_see_each_other(base):
    """Each row moves as it does alone, in whatever order the rows stand."""
    joint, order = DrivenJoint(base), np.array([3, 0, 6, 1, 5, 2, 4])
    together = after(joint, ANGLES, SPEEDS, inputs(7, target=TARGETS), 0.05)
    shuffled = after(joint, ANGLES[order], SPEEDS[order], inputs(7, target=TARGETS[order]), 0.05)
    for found, other in zip(together, shuffled, strict=True):
        np.testing.assert_array_equal(found[order], other)
    for row in range(7):
        alone = after(joint, ANGLES[row], SPEEDS[row], inputs(1, target=TARGETS[row]), 0.05)
        assert alone[0][0] == together[0][row] and alone[1][0] == together[1][row]


@BOTH
def test_a_joint_that_is_switched_off_knows_no_command(base):
    joint = DrivenJoint(base)
    one = after(joint, ANGLES, SPEEDS, inputs(7, target=TARGETS, on=0.0), 0.1, gain=1.0)
    other = after(joint, ANGLES, SPEEDS, inputs(7, target=0.0, on=0.0), 0.1, gain=9.0)
    for found, same in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, same)
    driven = after(joint, ANGLES, SPEEDS, inputs(7, target=TARGETS), 0.1)
    assert np.all(driven[1] != one[1])


def test_torques_inertias_and_gains_in_other_units_give_the_same_motion():
    """All that has the unit of torque in it, times 1000: N m and mN m."""
    names = ("kp", "kd", "stall_torque", "armature", "frictionloss")
    scaled = replace(PD, **{name: 1000.0 * getattr(PD, name) for name in names})
    one = after(DrivenJoint(PD), ANGLES, SPEEDS, inputs(7, 2, TARGETS, gravity=0.4), 0.1)
    given = inputs(7, 2, TARGETS, gravity=400.0, inertia=1000.0 * INERTIA)
    other = after(DrivenJoint(scaled), ANGLES, SPEEDS, given, 100.0)
    for found, same in zip(one, other, strict=True):
        np.testing.assert_allclose(found, same, rtol=1e-12)


def test_the_torque_of_a_pd_joint_stays_within_its_curve():
    """Great errors drive with the stall torque at rest, with nothing at the no-load speed, and
    brake with all of it."""
    joint = pd(kp=100.0, stall_torque=1.5, no_load_speed=6.0)
    speeds = np.array([0.0, 3.0, 6.0, 8.0, -4.0])
    _, found = after(joint, 0.0, speeds, inputs(5, target=50.0))
    np.testing.assert_allclose(
        INERTIA * (found - speeds) / H, 1.5 * np.array([1.0, 0.5, 0.0, 0.0, 1.0]), atol=1e-9
    )
    _, back = after(joint, 0.0, -speeds, inputs(5, target=-50.0))
    np.testing.assert_allclose(back, -found, atol=1e-12)


@BOTH
@pytest.mark.parametrize("through", ["correction", "gain", "speed"])
def test_the_gradient_of_several_samples_is_that_of_differences(base, through):
    joint = DrivenJoint(base)
    given = inputs(3, 2, TARGETS[:3], gravity=0.3)
    start = {"correction": [0.1, -0.2, 0.15], "gain": [1.0, 1.2, 0.8], "speed": [0.9, -1.1, 0.5]}

    def ends(values):
        held = {name: torch.tensor(v).double() for name, v in start.items()} | {through: values}
        angle, speed = torch.tensor(ANGLES[:3]), held["speed"]
        for _ in range(4):
            angle, speed = joint(
                angle, speed, given, correction=held["correction"], gain=held["gain"], h=H
            )
        return angle, speed

    values = torch.tensor(start[through]).double().requires_grad_()
    assert torch.autograd.gradcheck(ends, values, eps=1e-6, atol=1e-7, rtol=1e-4)


def test_numbers_in_place_of_those_of_the_joint_are_taken_row_by_row():
    joint = DrivenJoint(PD)
    stiff = replace(PD, kp=5.0, frictionloss=0.01)
    numbers = [[PD.values[name], stiff.values[name]] for name in joint.numbers]
    found = after(joint, 0.2, 0.7, inputs(2), numbers=torch.tensor(numbers).double())
    for row, base in enumerate((PD, stiff)):
        alone = after(DrivenJoint(base), 0.2, 0.7, inputs(1))
        assert (found[0][row], found[1][row]) == pytest.approx((alone[0][0], alone[1][0]))


def test_learned_numbers_move_by_factors_and_keep_their_sign():
    joint = DrivenJoint(PD, learned=True)
    np.testing.assert_array_equal(joint.reached().detach(), joint.start)
    with torch.no_grad():
        joint.steps[:] = torch.linspace(-2.0, 2.0, len(joint.steps))
    found = dict(zip(joint.names, joint.reached().tolist(), strict=True))
    for place, (name, value) in enumerate(PD.values.items()):
        step = -2.0 + 4.0 * place / (len(PD.values) - 1)
        assert found[name] == pytest.approx(value * math.exp(step)), name
    assert joint.trained_base().joint.values == pytest.approx(found)
    assert [each is joint.steps for each in joint.moved] == [True]
    assert DrivenJoint(PD).moved == [] and DrivenJoint(PD).trained_base().joint == PD


def test_an_offset_and_a_delay_are_not_learned():
    model = distinct_model("voltage", "m4", ("command_delay",))
    joint = DrivenJoint(model, learned=True)
    assert {"q_offset", "command_delay"} <= set(joint.numbers)
    assert not {"q_offset", "command_delay"} & set(joint.names)
    assert {"kt", "R", "friction_base"} <= set(joint.names)


def test_gains_without_a_factor_are_as_stated():
    asked = torch.tensor([3.0, 50.0, 900.0]).double()
    np.testing.assert_array_equal(DrivenJoint(PD).gain_factors(asked), 1.0)
    one = DrivenJoint(MotionBase(PD, {50.0: 1.7}))
    np.testing.assert_allclose(one.gain_factors(asked).detach(), 1.7)
    unknown = DrivenJoint(PD, gains=(50.0, 100.0))
    np.testing.assert_allclose(unknown.gain_factors(asked).detach(), 1.0)
    assert [each is unknown.gain_steps for each in unknown.moved] == [True]


def test_the_unit_of_a_gain_does_not_matter_to_its_factor():
    """Factors are interpolated over the logarithm: another unit of the gains gives the same."""
    factors = {50.0: 0.8, 120.0: 1.1, 300.0: 1.6}
    asked = np.array([20.0, 70.0, 120.0, 250.0, 1000.0])
    found = [
        DrivenJoint(MotionBase(PD, {unit * gain: f for gain, f in factors.items()}))
        .gain_factors(torch.tensor(unit * asked)).detach().numpy()
        for unit in (1.0, 0.01)
    ]  # fmt: skip
    np.testing.assert_allclose(found[0], found[1])
    assert np.all(np.diff(found[0]) >= 0.0) and found[0][2] == pytest.approx(1.1)


@pytest.mark.parametrize("name", ["kp", "kd", "armature", "frictionloss"])
def test_numbers_below_zero_and_those_that_are_none_are_refused(name):
    for value in (-1e-9, math.nan):
        with pytest.raises(FitError, match=name):
            PdJoint(**{name: value})
