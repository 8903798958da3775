"""What a motor drives and what drives it back: closed forms, the bench, brute force."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servo_model_logs import M1, M3, template_log

from trueup.actuators import (
    BenchSimulator,
    ServoModel,
    bench_of,
    drive_backdrive,
    drive_backdrive_report,
    friction_curves,
    stall_torque,
)
from trueup.errors import FitError

SPEEDS = (0.0, 0.5, 3.0)


def test_coulomb_and_viscous_friction_open_a_band_of_constant_width():
    found = drive_backdrive(M1, 2.0, SPEEDS)
    width = 0.02 + 0.005 * found.speeds[:, None]
    assert found.drive == pytest.approx(found.motor - width, abs=1e-9)
    assert found.backdrive == pytest.approx(found.motor + width, abs=1e-9)
    assert found.no_load_torque == pytest.approx(width[:, 0], abs=1e-9)
    assert found.breakaway_torque == pytest.approx(0.02)


def test_load_friction_bends_both_limits():
    found = drive_backdrive(M3, 2.0, SPEEDS)
    base = 0.02 + 0.005 * found.speeds[:, None]
    back = (found.motor * 1.25 + base) / 0.75
    assert found.backdrive == pytest.approx(back, abs=1e-9)
    against = found.drive > -found.motor
    drive = (found.motor * 0.75 - base) / 1.25
    assert found.drive[against] == pytest.approx(drive[against], abs=1e-9)
    forward, backward = found.efficiencies(0)
    assert forward == pytest.approx(drive[0, -1] / 2)
    assert backward == pytest.approx(2 / back[0, -1])


def test_a_gear_that_locks_itself_is_never_driven_back():
    found = drive_backdrive(M3.with_values(load_friction_base=1.1), 2.0, SPEEDS)
    assert np.isinf(found.backdrive).all() and np.isinf(found.breakaway_torque)
    assert found.efficiencies(0)[1] == 0
    page = drive_backdrive_report([found], ["m3"]).html()
    assert "the gear is self-locking" in page and "Infinity" not in page


@pytest.mark.parametrize("friction", ["m2", "m4", "m5", "m6"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_limits_are_where_friction_just_gives_way(friction, data):
    start = ServoModel.create("mx106", friction)
    shares = data.draw(
        st.lists(st.floats(0, 1), min_size=len(start.names), max_size=len(start.names))
    )
    space = start.space()
    values = dict(zip(start.names, space.lower + shares * (space.upper - space.lower), strict=True))
    model = start.with_values(**values)
    found = drive_backdrive(model, 8.0, SPEEDS, points=9)
    motor, speed = found.motor[None, :], found.speeds[:, None]
    # off the diagonal: the quadratic term is defined to vanish where both torques are equal
    loads = (np.linspace(-40.0, 40.0, 4001) + 0.00317)[:, None, None]

    def budget(load):
        loss, damping = model.frictions(motor, -load, speed)
        return loss + damping * speed

    driving = motor - loads >= budget(loads)
    greatest = np.where(driving, loads, -np.inf).max(axis=0)
    inside = np.abs(found.drive) < 39
    assert np.abs(found.drive[inside] - greatest[inside]).max(initial=0) < 0.0202
    backing = (loads - motor >= budget(loads)) & (loads >= 0)
    smallest = np.where(backing, loads, np.inf).min(axis=0)
    inside = found.backdrive < 39
    assert np.abs(found.backdrive[inside] - smallest[inside]).max(initial=0) < 0.0202


@pytest.mark.parametrize(("share", "moves"), [(0.97, False), (1.03, True)])
@pytest.mark.parametrize("friction", ["m1", "m3", "m4"])
def test_the_bench_breaks_away_where_the_diagram_says(friction, share, moves):
    values = {
        "kt": 0.37, "R": 2.8, "armature": 0.002, "friction_base": 0.08, "friction_viscous": 0.005,
    }  # fmt: skip
    model = ServoModel.create("xl330", friction, **values)
    breakaway = drive_backdrive(model).breakaway_torque
    gravity = bench_of(template_log()).gravity_torque
    angle = float(np.arcsin(share * breakaway / gravity))
    log = template_log(start=angle, torque_off_after=0.0, seconds=0.5)
    motion = BenchSimulator(model, [log]).simulate()
    assert (np.abs(motion.position[0][0] - angle).max() > 1e-4) == moves


def test_friction_curves_of_closed_forms():
    loads, speeds = (0.0, 0.3, 1.0), (0.0, 0.2, 4.0)
    plain = friction_curves(M1, loads, speeds)
    assert plain.friction == pytest.approx(np.tile(0.02 + 0.005 * plain.speeds, (3, 1)), abs=1e-9)
    assert not plain.stribeck.any()
    loaded = friction_curves(M3, loads, speeds)
    motor = (loaded.loads[:, None] * 1.25 + 0.02 + 0.005 * loaded.speeds) / 0.75
    assert loaded.friction == pytest.approx(motor - loaded.loads[:, None], abs=1e-9)
    peak = ServoModel.create(
        "xl330", "m2", **M1.values, friction_stribeck=0.03, dtheta_stribeck=0.2, alpha=2.0
    )
    stribeck = friction_curves(peak, loads, speeds).stribeck[1]
    assert stribeck == pytest.approx(0.03 * np.exp(-((np.array(speeds) / 0.2) ** 2)), abs=1e-9)


def test_the_diagram_reaches_to_the_stall_torque_by_default():
    assert stall_torque(M1) == pytest.approx(0.37 * 7.5 / 2.8)
    assert drive_backdrive(M1).motor[-1] == pytest.approx(stall_torque(M1))
    go1 = ServoModel.create("unitree_go1", "m1")
    assert stall_torque(go1) == pytest.approx(go1.values["max_torque"])


def test_the_page_of_several_models():
    limits = [drive_backdrive(M1, 1.0), drive_backdrive(M3, 1.0)]
    page = drive_backdrive_report(limits, ["plain", "loaded"]).html()
    assert "With the motor off" in page and "loaded" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_torque": 0.0}, "--max-torque"),
        ({"max_torque": np.nan}, "--max-torque"),
        ({"speeds": (-1.0,)}, r"speeds must be at least 0 \[rad/s\], got "),
        ({"speeds": ()}, r"speeds must be at least 0 \[rad/s\], got "),
        ({"points": 1}, "at least 2"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(FitError, match=message):
        drive_backdrive(M1, **arguments)
    with pytest.raises(FitError, match="finite loads"):
        friction_curves(M1, [0.0], [-1.0])


def test_limits_belong_to_the_quadratic_form_of_the_model():
    gated = ServoModel.create(
        "mx106", "m6", load_friction_motor_quad=0.01, load_friction_external_quad=0.01
    )
    ungated = dataclasses.replace(gated, quadratic="ungated")
    one, other = drive_backdrive(gated, 10.0, [0.0]), drive_backdrive(ungated, 10.0, [0.0])
    assert one.backdrive == pytest.approx(other.backdrive)  # a load against the motor: both act
