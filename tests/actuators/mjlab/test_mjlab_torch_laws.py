"""Friction and servo laws on torch tensors against the numpy and the compiled ones."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trueup.actuators.catalogue.entries import find_servo, servos  # noqa: E402
from trueup.actuators.catalogue.servo import Servo  # noqa: E402
from trueup.actuators.catalogue.servo_model import ServoModel  # noqa: E402
from trueup.actuators.equations._parameter_layout import LAWS  # noqa: E402
from trueup.actuators.equations.compiled import motor as compiled_motor  # noqa: E402
from trueup.actuators.equations.friction_models import FRICTION_MODELS, layout_of  # noqa: E402
from trueup.actuators.equations.model_parameter import ModelParameter  # noqa: E402
from trueup.actuators.mjlab.torch_friction import friction_loss  # noqa: E402
from trueup.actuators.mjlab.torch_laws import LawInputs, drive  # noqa: E402

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
CURRENT_SERVO = Servo(
    "a current servo",
    "current",
    tuple(ModelParameter(n, 1.0, 0.0, 9.0) for n in ("kt", "R", "armature", "current_limit")),
    vin=12.0,
    kp=20,
    error_gain=0.05,
)


def model_of(servo, friction="m6", terms=(), seed=0, **values):
    """A model with values drawn within their bounds."""
    rng = np.random.default_rng(seed)
    servo = find_servo(servo) if isinstance(servo, str) else servo
    model = ServoModel.create(servo, friction, terms)
    drawn = {p.name: rng.uniform(p.lower, p.upper) for p in model.parameters}
    return model.with_values(**{**drawn, **values})


def close(result, expected, dtype, terms=1.0):
    """Agreement to the rounding of the greatest term that entered."""
    scale = max(terms, np.abs(expected).max())
    np.testing.assert_allclose(result.double().numpy(), expected, atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("quadratic", ["gated", "ungated"])
@pytest.mark.parametrize("name", FRICTION_MODELS)
def test_friction_is_that_of_the_model(name, quadratic, dtype):
    rng = np.random.default_rng(1)
    motor, external, speed = (
        torch.tensor(rng.normal(size=(40, 3)) * 2, dtype=dtype) for _ in "123"
    )
    motor[0], external[0], speed[:5] = 0.7, 0.7, 0.0  # equal torques, standstill
    motor[1], external[1] = 0.7, -0.7
    motor[2], external[2] = 0.0, 0.5
    values = model_of("mx106", name).values
    result = friction_loss(FRICTION_MODELS[name], values, motor, external, speed, quadratic)
    arrays = (a.double().numpy() for a in (motor, external, speed))
    expected, _ = FRICTION_MODELS[name].frictions(values, *arrays, quadratic)
    close(result, expected, dtype)


def test_the_two_quadratic_forms_differ_where_torques_push_together():
    values = model_of("mx106", "m6", load_friction_motor_quad=0.01).values
    one = torch.ones((1, 1), dtype=torch.float64)
    gated, ungated = (
        friction_loss(FRICTION_MODELS["m6"], values, one, 3 * one, 0 * one, form)
        for form in ("gated", "ungated")
    )
    assert float(ungated - gated) == pytest.approx(0.01)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(
    ("servo", "terms"),
    [
        *((name, ()) for name in servos()),
        ("xl330", ("current_limit",)),
        ("xl330", ("supply_resistance",)),
        ("xl330", ("torque_saturation",)),
        ("xl330i", ("torque_saturation",)),
        (CURRENT_SERVO, ()),
    ],
    ids=lambda v: getattr(v, "name", v) if not isinstance(v, tuple) else "_".join(v) or "plain",
)
def test_torque_is_that_of_the_law(servo, terms, dtype):
    model = model_of(servo, "m1", terms)
    servo, values = model.servo, model.values
    rng = np.random.default_rng(2)
    # errors and speeds that reach every limit, and the range between them
    error = torch.tensor(np.sinh(rng.normal(size=(200, 3)) * 1.5), dtype=dtype)
    speed = torch.tensor(np.sinh(rng.normal(size=(200, 3)) * 1.5), dtype=dtype)
    error[0], speed[1] = 0.0, 0.0
    gain, rate = servo.gains()
    vin = 1.0 if math.isnan(servo.vin) else servo.vin
    state = LawInputs(
        error, speed, *(torch.full_like(error, x) for x in (gain, rate, vin)), values.get("R", 1.0)
    )
    result = drive(servo, values, state)
    error, speed = error.double().numpy(), speed.double().numpy()
    back_emf = values.get("kt", 0.0) ** 2 / values.get("R", 1.0) * np.abs(speed).max()
    close(result.torque, model.torque(error, speed), dtype, max(1.0, back_emf))
    row = layout_of(model.friction).row(values)
    firmware = (gain, rate, servo.max_pwm, servo.max_amps, vin, vin, 0.0)
    compiled = np.array(
        [
            compiled_motor(LAWS[servo.law], row, *firmware, e, v)
            for e, v in zip(error.ravel(), speed.ravel(), strict=True)
        ]
    )
    close(result.torque.reshape(-1), compiled[:, 0], dtype, max(1.0, back_emf))
    close(result.duty.reshape(-1), compiled[:, 1], dtype)
    if dtype == torch.float64:  # at a limit, float32 may fall on the other side
        close(result.damping.reshape(-1), compiled[:, 2], dtype)
