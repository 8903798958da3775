"""Friction models M1 to M6 and the servo laws: counts, both forms, one law in two languages."""

import numpy as np
import pytest
from bench_logs import VALUES, make_model

from trueup.actuators import FRICTION_MODELS, Servo, friction_model, motor_torque, servos
from trueup.actuators.equations._parameter_layout import LAWS
from trueup.actuators.equations.compiled import loss_functions
from trueup.actuators.equations.compiled import motor as compiled_motor
from trueup.actuators.equations.friction_models import layout_of
from trueup.actuators.equations.servo_equations import friction_loss
from trueup.errors import FitError, ParameterError

PARAMETERS = {"m1": 6, "m2": 9, "m3": 7, "m4": 11, "m5": 13, "m6": 15}


def row_of(model):
    return layout_of(model.friction).row(model.values)


@pytest.mark.parametrize(("name", "count"), PARAMETERS.items())
def test_models_have_as_many_parameters_as_published(name, count):
    assert len(make_model(name).names) == count


@pytest.mark.parametrize("name", FRICTION_MODELS)
@pytest.mark.parametrize("form", ["gated", "ungated"])
def test_compiled_friction_is_that_of_the_equations(name, form):
    model = make_model(name)
    rng = np.random.default_rng(1)
    states = rng.standard_normal((200, 3)) * [0.5, 0.5, 3.0]
    states[:3] = [[0.3, -0.3, 0.0], [0.2, 0.4, 1e-9], [0.0, 0.0, 0.0]]
    row, gate = row_of(model), float(form == "gated")
    loss_of = loss_functions((friction_loss,))
    for motor, external, speed in states:
        curved = model.friction.has_stribeck
        compiled = loss_of(0, row, gate, curved, motor, external, speed)
        loss, damping = model.friction.frictions(model.values, motor, external, speed, form)
        assert compiled == pytest.approx(float(loss), rel=1e-13)
        assert damping == VALUES["friction_viscous"]


def test_forms_of_the_quadratic_term_differ_where_torques_agree():
    model = make_model("m6")
    agree, oppose = (model.friction.frictions(model.values, 5.0, x, 0.0) for x in (3.0, -3.0))
    ungated = [model.friction.frictions(model.values, 5.0, x, 0.0, "ungated") for x in (3.0, -3.0)]
    quad = VALUES["load_friction_external_quad"] * 9.0
    assert ungated[0][0] - agree[0] == pytest.approx(quad)
    assert ungated[1][0] == oppose[0]
    with pytest.raises(FitError, match="unknown form 'signed'"):
        model.friction.frictions(model.values, 1.0, 1.0, 0.0, "signed")


@pytest.mark.parametrize("law", LAWS)
def test_compiled_law_is_that_of_the_equations(law):
    known = next((s for s in servos().values() if s.law == law), None)
    if known is None:
        parameters = make_model("m1").servo.parameters
        known = Servo("plain", law, parameters, vin=7.4, kp=20.0, error_gain=0.05)
    model = make_model("m1", servo=known)
    if law == "voltage":
        terms = ("supply_resistance", "current_limit")
        model = make_model("m1", terms, known, supply_resistance=0.5, current_limit=0.7)
    values = {**model.values, **({"current_limit": 1.2} if law == "bus_current" else {})}
    row = row_of(model.with_values(**values))
    rng = np.random.default_rng(2)
    error, speed = rng.uniform(-1.5, 1.5, 300), 8.0 * rng.standard_normal(300)
    torque, duty = motor_torque(known, values, error, speed)
    gain, rate = known.gains()
    volts = 1.0 if np.isnan(known.vin) else known.vin
    firmware = (gain, rate, known.max_pwm, known.max_amps)
    for i in range(300):
        state = (volts, volts, 0.0, error[i], speed[i])
        compiled = compiled_motor(LAWS[law], row, *firmware, *state)
        assert compiled[0] == pytest.approx(torque[i], rel=1e-12, abs=1e-15)
        assert compiled[1] == pytest.approx(duty[i], rel=1e-12, abs=1e-15)


def test_limits_of_the_voltage_law_apply_in_order():
    # a current limit that the supply cannot reach leaves the greatest duty cycle to decide
    model = make_model("m1", ("current_limit",), current_limit=0.5)
    fast = 40.0
    _, duty = motor_torque(model.servo, model.values, 3.0, fast, vin=7.4)
    assert duty == 1.0
    torque, _ = motor_torque(model.servo, model.values, 3.0, 0.0, vin=7.4)
    assert torque == pytest.approx(0.5 * model.values["kt"])


def test_what_does_not_exist_is_named_with_what_does():
    with pytest.raises(FitError, match=r"'m7'.*'m1', 'm2', 'm3', 'm4', 'm5', 'm6'"):
        friction_model("m7")
    with pytest.raises(FitError, match=r"'xl303'.*'xl330'.*Did you mean"):
        make_model("m1", servo="xl303")
    with pytest.raises(FitError, match=r"unknown extended term 'delay'.*'command_delay'"):
        make_model("m1", ("delay",))
    with pytest.raises(FitError, match="'winding_braking' does not apply to the law"):
        make_model("m1", ("winding_braking",), "unitree_go1")
    with pytest.raises(ParameterError, match=r"no parameter 'alpha'; available: 'kt'"):
        make_model("m1").with_values(alpha=2.0)
