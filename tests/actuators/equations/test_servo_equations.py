"""The equations against others of the same physics, written case by case for single numbers."""

import math

import numpy as np
import pytest
from distinct_servos import (
    LAWS,
    TERMS,
    VALUES,
    distinct_model,
    distinct_servo,
    friction_states,
    motor_states,
)

from trueup.actuators import EXTENDED_TERMS, FRICTION_MODELS, friction_model, motor_torque
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.servo_laws import law_parameters

KT, R, VIN = VALUES["kt"], VALUES["R"], 7.3
MAX_PWM, MAX_AMPS = 0.79, 1.37
GAIN = 19.0 * 0.047 * VALUES["error_gain_ratio"]
RATE = 0.23 * math.sqrt(19.0)
SUPPLY, SATURATION, LIMIT = (
    VALUES[name] for name in ("supply_resistance", "torque_saturation", "current_limit")
)


def within(value, low, high):
    return low if value < low else high if value > high else value


def current_driven(duty, speed, supply):
    """Motor current of a bridge: ``bus duty = R I + kt v``, ``bus = vin - supply duty I`` [A]."""
    return (VIN * duty - KT * speed) / (R + supply * duty * duty)


def voltage(error, speed, supply, limit):
    duty = GAIN * error
    amps = (VIN * duty - KT * speed) / R
    if abs(amps) > limit:
        duty = (math.copysign(R * limit, amps) + KT * speed) / VIN
    duty = within(duty, -MAX_PWM, MAX_PWM)
    return KT * current_driven(duty, speed, supply), duty


def current(error, speed, supply, limit):
    amps = within(GAIN * error, (-VIN - KT * speed) / R, (VIN - KT * speed) / R)
    amps = within(amps, -limit, limit)
    return KT * amps, (R * amps + KT * speed) / VIN


def bus_current(error, speed, supply, limit):
    amps = within(GAIN * error, -limit, limit)
    duty = 0.5 * KT * speed / VIN
    if amps:
        # power from the bus: |amps| vin = vin duty I sign, I = (vin duty - kt v) / R
        roots = np.roots([VIN, -KT * speed, -R * abs(amps)])
        duty = float(roots.max() if amps > 0.0 else roots.min())
    duty = within(duty, -1.0, 1.0)
    return KT * current_driven(duty, speed, 0.0), duty


def current_pd(error, speed, supply, limit):
    amps = within(GAIN * error - RATE * speed, -MAX_AMPS, MAX_AMPS)
    amps = within(amps, (-VIN - KT * speed) / R, (VIN - KT * speed) / R)
    return KT * amps, (R * amps + KT * speed) / VIN


def torque_pd(error, speed, supply, limit):
    most = VALUES["max_torque"]
    return within(GAIN * error - 0.23 * speed, -most, most), 0.0


CASES = {
    "voltage": voltage,
    "current": current,
    "bus_current": bus_current,
    "current_pd": current_pd,
    "torque_pd": torque_pd,
}


@pytest.mark.parametrize("terms", [False, True], ids=["plain", "all terms"])
@pytest.mark.parametrize("law", LAWS)
def test_torque_and_duty_of_a_law(law, terms):
    model = distinct_model(law, "m1", TERMS[law] if terms else ())
    error, speed = motor_states()
    torque, duty = motor_torque(model.servo, model.values, error, speed)
    limit = min(LIMIT, MAX_AMPS) if terms and law == "voltage" else MAX_AMPS
    for i in range(len(error)):
        supply = SUPPLY if terms and law == "voltage" else 0.0
        expected, cycle = CASES[law](error[i], speed[i], supply, limit)
        if terms and law != "torque_pd":
            amps = expected / KT
            expected = KT / (1.0 + SATURATION * abs(amps)) * amps
        assert torque[i] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert duty[i] == pytest.approx(cycle, rel=1e-9, abs=1e-12)


def test_the_smaller_of_two_current_limits_counts():
    for law in ("voltage", "current", "bus_current"):
        p = {"kt": KT, "gain": 9.0, "resistance": R, "vin": 70.0, "max_pwm": 1.0}
        for limit, max_amps in ((0.3, 0.4), (0.4, 0.3)):
            values = ParameterValues(p, limit=limit, max_amps=max_amps)
            torque, duty, _ = equations.LAWS[law](1.0, 0.0, values)
            drawn = torque / KT * (duty if law == "bus_current" else 1.0)
            assert drawn == pytest.approx(0.3)


@pytest.mark.parametrize("law", [law for law in LAWS if law != "bus_current"])
def test_damping_is_the_fall_of_the_torque_with_the_speed(law):
    model = distinct_model(law, "m1", ("current_limit",) if law == "voltage" else ())
    p = law_parameters(model.servo, model.values)
    error, speed = motor_states()
    torque, equation = {}, equations.LAWS[law]
    for step in (-1e-6, 0.0, 1e-6):
        torque[step], _, damping = equation(error, speed + step, p)
    slopes = [(torque[0.0] - torque[1e-6]) / 1e-6, (torque[-1e-6] - torque[0.0]) / 1e-6]
    damping = damping + np.zeros(len(error))
    smooth = np.abs(slopes[0] - slopes[1]) < 1e-6  # not at a limit
    assert smooth.mean() > 0.95
    np.testing.assert_allclose(damping[smooth], slopes[0][smooth], rtol=1e-5, atol=1e-7)
    kinds = len(np.unique(damping.round(9)))
    assert kinds == (3 if law == "current_pd" else 2), "within limits and beyond each of them"


def test_half_of_the_back_emf_damps_a_servo_that_controls_the_bus_current():
    p = law_parameters(distinct_servo("bus_current"), {"kt": KT, "R": R})
    assert equations.bus_current(0.2, 0.7, p)[2] == pytest.approx(0.5 * KT * KT / R)


def test_bus_voltage_and_resistance_follow_what_was_measured():
    p = ParameterValues({"measured_voltage": 0.3, "R": 2.0, "resistance_temperature": 0.01})
    assert equations.bus_voltage(7.0, 9.0, p) == pytest.approx(7.6)
    assert equations.winding_resistance(15.0, p) == pytest.approx(2.3)


@pytest.mark.parametrize("name", ["winding_braking", "measured_voltage"])
def test_a_share_lies_between_nothing_and_the_whole(name):
    assert (EXTENDED_TERMS[name].lower, EXTENDED_TERMS[name].upper) == (0.0, 1.0)


def test_a_motor_without_torque_coasts_or_is_shorted():
    p = ParameterValues({"kt": KT, "resistance": R, "winding_braking": 0.4})
    short = 0.4 * KT * KT / R
    assert equations.shaft_torque(1.0, 0.7, 0.3, 2.0, p) == (0.7, 0.3)
    assert equations.shaft_torque(0.0, 0.7, 0.3, 2.0, p) == pytest.approx((-2.0 * short, short))
    torque, damping = equations.shaft_torque(0.25, 0.7, 0.3, 2.0, p)
    assert torque == pytest.approx(0.25 * 0.7 - 0.75 * 2.0 * short)
    assert damping == pytest.approx(0.25 * 0.3 + 0.75 * short)


def budget(name, motor, external, speed, form):
    """Friction budget of M1 to M6 as published, in cases [N m]."""
    v = VALUES
    factor = math.exp(-((abs(speed) / v["dtheta_stribeck"]) ** v["alpha"]))
    loss, peak = v["friction_base"], 0.0
    if name != "m1" and name != "m3":
        peak += v["friction_stribeck"]
    if name in ("m3", "m4"):
        loss += v["load_friction_base"] * abs(motor - external)
    if name == "m4":
        peak += v["load_friction_stribeck"] * abs(motor - external)
    if name in ("m5", "m6"):
        loss += abs(v["load_friction_motor"] * motor - v["load_friction_external"] * external)
        peak += abs(
            v["load_friction_motor_stribeck"] * motor
            - v["load_friction_external_stribeck"] * external
        )
    opposed = not (motor > 0.0 and external > 0.0) and not (motor < 0.0 and external < 0.0)
    if name == "m6" and (opposed or form == "ungated"):
        if abs(motor) > abs(external):
            peak += v["load_friction_external_quad"] * external**2
        elif abs(motor) < abs(external):
            peak += v["load_friction_motor_quad"] * motor**2
    return loss + factor * peak


@pytest.mark.parametrize("form", ["gated", "ungated"])
@pytest.mark.parametrize("name", FRICTION_MODELS)
def test_friction_budget_of_a_model(name, form):
    model = friction_model(name)
    values = {n: VALUES[n] for n in model.parameter_names}
    states = friction_states()
    found, viscous = model.frictions(values, *states, form)
    expected = [budget(name, *state, form) for state in np.transpose(states)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert viscous == VALUES["friction_viscous"]


def solved_speed(speed, net, momentum, damping, loss, viscous):
    """Speed at which a step is in balance, by halving an interval."""

    def rest(new):
        friction = loss * (1.0 if new > 0.0 else -1.0) + viscous * new
        return momentum * (new - speed) - net + damping * (new - speed) + friction

    low, high = -1e3, 1e3
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rest(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


def test_an_implicit_step_is_in_balance():
    rng = np.random.default_rng(0)
    moved = 0
    for _ in range(300):
        speed, net = rng.normal(size=2) * [2.0, 3.0]
        momentum, damping, loss, viscous = rng.uniform(0.1, 2.0, 4)
        new = equations.implicit_speed(speed, net, momentum, damping, loss, viscous)
        expected = solved_speed(speed, net, momentum, damping, loss, viscous)
        assert new == pytest.approx(expected, rel=1e-9, abs=1e-12)
        moved += new != 0.0
    assert 100 < moved < 299


def test_an_explicit_step_stops_or_takes_the_budget_off():
    # momentum 2, so that a net torque of 1 changes the speed by 0.5
    for sign in (1.0, -1.0):
        new = equations.explicit_speed(sign * 3.0, sign * 1.0, 2.0, 0.4, 0.1)
        assert new == pytest.approx(sign * (3.0 + (1.0 - 0.4 - 0.1 * 3.0) / 2.0))
        against = equations.explicit_speed(sign * 3.0, -sign * 1.0, 2.0, 0.4, 0.1)
        assert against == pytest.approx(sign * (3.0 + (-1.0 - 0.4 - 0.1 * 3.0) / 2.0))
        stopped = equations.explicit_speed(sign * 0.1, sign * 0.1, 2.0, 0.4, 0.1)
        assert stopped == pytest.approx(0.0, abs=1e-15)
    assert equations.MAX_SPEED == 100.0


def test_a_target_moves_no_further_than_it_can_reach():
    found = [equations.slewed_target(wanted, 1.0, 0.25) for wanted in (3.0, 1.1, -3.0)]
    assert found == [1.25, 1.1, 0.75]


def test_the_weight_pulls_a_load_down():
    p = ParameterValues({"load_gravity": 0.8, "load_gravity_angle": 0.3})
    assert equations.weight_torque(0.3, p) == 0.0
    assert equations.weight_torque(0.3 + math.pi / 6.0, p) == pytest.approx(-0.4)


def test_the_torque_on_a_load_is_the_motors_without_friction():
    p = ParameterValues({"friction_velocity": 0.02, "friction_viscous": 0.05})
    fast = equations.smooth_load_torque(0.7, 0.2, 3.0, p)
    assert fast == pytest.approx(0.7 - 0.2 - 0.05 * 3.0)
    assert equations.smooth_load_torque(0.7, 0.2, -3.0, p) == pytest.approx(0.7 + 0.2 + 0.15)
    slow = equations.smooth_load_torque(0.7, 0.2, 0.01, p)
    assert slow == pytest.approx(0.7 - 0.2 * math.tanh(0.5) - 0.0005)


INERTIA, ARMATURE, STEP, PLAY = 0.004, 0.0025, 0.01, 0.02


def step(together=0.3, alone=0.3, speed=0.3, gap=PLAY, is_open=False, load=0.0, play=PLAY):
    """A step of motor and load."""
    return equations.backlash_step(
        together, alone, speed, gap, is_open, INERTIA, ARMATURE, load, STEP, play
    )


def test_in_contact_motor_and_load_move_together():
    # the motor pushes: it speeds the load up by more than the load's own torque does
    for side in (1.0, -1.0):
        found = step(together=side * 0.5, speed=side * 0.3, gap=side * PLAY, load=side * 0.01)
        assert found.distance == pytest.approx(side * STEP * 0.5)
        assert (found.speed, found.motor_speed) == (side * 0.5, side * 0.5)
        assert (found.gap, found.is_open) == (side * PLAY, 0.0)


def test_a_contact_does_not_pull():
    for side in (1.0, -1.0):
        found = step(
            together=side * 0.31, alone=side * 0.1, speed=side * 0.3, gap=side * PLAY,
            load=side * 0.05,
        )  # fmt: skip
        falling = 0.3 + STEP * 0.05 / INERTIA
        assert found.distance == pytest.approx(side * STEP * falling)
        assert found.speed == pytest.approx(side * falling)
        assert found.motor_speed == side * 0.1
        assert found.gap == pytest.approx(side * (PLAY + STEP * (0.1 - falling)))
        assert found.is_open == 1.0
    assert step(together=0.31, alone=0.1, load=0.05, gap=0.0, play=0.0).is_open == 0.0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_impact_keeps_the_momentum(side):
    # the motor closes a gap of 0.005 rad at 1.2 rad/s relative speed within the step
    found = step(
        alone=side * 1.5, speed=side * 0.3, gap=side * (PLAY - 0.005), is_open=True,
        together=side * 99.0,
    )  # fmt: skip
    common = (INERTIA * 0.3 + ARMATURE * 1.5) / (INERTIA + ARMATURE)
    until = 0.005 / 1.2  # time of the impact
    assert found.distance == pytest.approx(side * (until * 0.3 + (STEP - until) * common))
    assert found.speed == pytest.approx(side * common)
    assert (found.gap, found.is_open) == (side * PLAY, 0.0)


def test_apart_each_moves_on_its_own():
    found = step(alone=0.4, speed=0.3, gap=0.0, is_open=True, load=-0.02, together=99.0)
    falling = 0.3 - STEP * 0.02 / INERTIA
    assert found.distance == pytest.approx(STEP * falling)
    assert (found.speed, found.motor_speed) == (pytest.approx(falling), 0.4)
    assert found.gap == pytest.approx(STEP * (0.4 - falling))
    assert found.is_open == 1.0
    still = step(alone=0.3, speed=0.3, gap=0.001, is_open=True)
    assert still.gap == 0.001 and still.distance == pytest.approx(STEP * 0.3)
