"""Actuators of exoskeletons in models of one's own: gears, directions, limits, and what is none."""

import mujoco
import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.gait import FourParameterProfile, Walker, WalkSettings, WalkSimulation, planar22
from trueup.gait.models.planar22 import planar22_anatomy
from trueup.gait.walk.frames import Frame


def model_with(change):
    """planar22 with motors at its ankles, changed: the actuator ``change(actuator)``."""
    spec = planar22()
    for side in "rl":
        actuator = spec.add_actuator(
            name=f"Exo_{side.upper()}",
            target=f"ankle_angle_{side}",
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
            ctrlrange=(-1.0, 0.0),
        )
        actuator.set_to_motor()
        change(actuator)
    return spec.compile()


def walker_with(change):
    return Walker(model_with(change), planar22_anatomy())


def geared(gear, gain=1.0, controls=(-1.0, 0.0), force=None):
    def change(actuator):
        actuator.gear[0], actuator.gainprm[0] = gear, gain
        actuator.ctrlrange = controls
        if force is not None:
            actuator.forcerange = force
            actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE

    return change


def simulation_with(walker, max_torque):
    settings = WalkSettings(duration=0.6, max_torque=max_torque, threads=1)
    return WalkSimulation(walker, settings, profile=FourParameterProfile())


@pytest.mark.parametrize(
    ("gear", "gain", "controls", "direction"),
    [
        (100.0, 1.0, (-1.0, 0.0), -1.0),
        (-100.0, 1.0, (-1.0, 0.0), 1.0),
        (50.0, 2.0, (0.0, 1.0), 1.0),
        (-50.0, 2.0, (0.0, 1.0), -1.0),
        (50.0, -2.0, (0.0, 1.0), -1.0),
    ],
)
def test_the_torque_that_is_told_acts_at_the_joint(gear, gain, controls, direction):
    walker = walker_with(geared(gear, gain, controls))
    assert walker.exoskeleton_torque == 100.0
    simulation = simulation_with(walker, 10.0)
    vector = simulation.parameters.start[None].copy()
    vector[:, -4:] = 1.0, 0.3, 0.5, 0.3
    model = walker.model
    devices = [model.actuator(name).id for name in ("Exo_R", "Exo_L")]
    acting = []

    def observe(tick, batch):
        control = np.asarray(batch.bind("ctrl"))[0, devices]
        low, high = model.actuator_ctrlrange[devices].T
        force = np.clip(control, low, high) * model.actuator_gainprm[devices, 0]
        acting.append(force * model.actuator_gear[devices, 0])

    records = simulation.run(vector, observe=observe)
    acting = direction * np.array(acting)
    told = records.frames[0, : records.length[0], Frame.exo_r : Frame.exo_l + 1]
    assert 5.0 < acting.max() <= 10.0 * (1.0 + 1e-9) and acting.min() >= 0.0
    # a frame tells what acted in the step before it
    every = simulation.frame_every
    np.testing.assert_allclose(told, acting[every - 1 :: every][: len(told)], atol=1e-9)


def test_the_largest_torque_is_that_in_the_direction_of_the_device():
    assert walker_with(geared(100.0, controls=(-0.5, 1.0))).exoskeleton_torque == 50.0
    assert walker_with(geared(100.0, force=(-0.2, 1.0))).exoskeleton_torque == pytest.approx(20.0)
    assert walker_with(geared(-10.0, -3.0, force=(-9.0, 2.0))).exoskeleton_torque == 20.0
    walker = walker_with(geared(100.0, 1.0))
    with pytest.raises(GaitError, match="must be at most 100 N m"):
        simulation_with(walker, 101.0)


def to_body(actuator):
    actuator.trntype, actuator.target = mujoco.mjtTrn.mjTRN_BODY, "pelvis"


def to_servo(actuator):
    actuator.set_to_position(kp=50.0)


def to_filter(actuator):
    actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTER


def to_slide(actuator):
    actuator.target = "pelvis_tx"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (to_body, "its transmission is body"),
        (to_servo, "its bias is affine"),
        (to_filter, "its dynamics are filter"),
        (to_slide, "its joint is slide"),
        (geared(0.0), "its gain times its gear is 0"),
    ],
)
def test_what_is_no_motor_of_a_joint_is_refused_where_it_is_driven(change, message):
    walker = walker_with(change)
    with pytest.raises(GaitError, match=f"'Exo_R' of the model cannot be driven.*{message}"):
        simulation_with(walker, 1.0)
    # without the exoskeleton it is a walker as any other
    assert WalkSimulation(walker, WalkSettings(duration=0.1)).parameters.size == 77
