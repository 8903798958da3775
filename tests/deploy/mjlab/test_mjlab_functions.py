"""The functions of a servo on torch tensors against the equations on numpy arrays."""

import numpy as np
import pytest
from distinct_servos import LAWS, TERMS, distinct_model, friction_states, motor_states

torch = pytest.importorskip("torch")

import mjlab_stand_in  # noqa: E402
from exported_modules import module_of  # noqa: E402

from trueup.actuators import FRICTION_MODELS, find_servo, servos  # noqa: E402
from trueup.actuators.catalogue.servo_model import ServoModel  # noqa: E402
from trueup.actuators.equations import servo_equations as equations  # noqa: E402
from trueup.actuators.equations.friction_models import FrictionModel  # noqa: E402
from trueup.actuators.equations.servo_laws import law_parameters  # noqa: E402

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
STEP, WARM = 0.004, 61.0


def close(result, expected, dtype, terms=1.0):
    """Agreement to the rounding of the greatest term that entered."""
    scale = max(terms, np.abs(expected).max())
    assert result.dtype == dtype
    np.testing.assert_allclose(result.double().numpy(), expected, atol=TOLERANCE[dtype] * scale)


@pytest.fixture(autouse=True)
def mjlab(monkeypatch):
    mjlab_stand_in.install(monkeypatch)


def servo_functions(model, winding_temperature, timestep):
    """Functions of the written module of a servo."""
    module = module_of(model, "mjlab")
    return module.servo_functions(module.load_model(), winding_temperature, timestep)


def tensors(*arrays, dtype=torch.float64):
    return [torch.tensor(array.reshape(-1, 3), dtype=dtype) for array in arrays]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("quadratic", ["gated", "ungated"])
@pytest.mark.parametrize("name", FRICTION_MODELS)
def test_friction_is_that_of_the_model(name, quadratic, dtype):
    model = distinct_model("voltage", name)
    model = ServoModel(model.servo, model.friction, model.values, quadratic=quadratic)
    motor, external, speed = tensors(*friction_states(), dtype=dtype)
    result = servo_functions(model, 25.0, STEP).friction(speed, motor, external)
    arrays = (a.double().numpy() for a in (motor, external, speed))
    expected, _ = model.frictions(*arrays)
    close(result, expected, dtype)
    assert not {id(a) for a in (motor, external, speed)} & {id(result)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(
    ("law", "terms"),
    [*((law, terms) for law in LAWS for terms in ("", "all terms")), *((s, "") for s in servos())],
)
def test_the_motor_is_that_of_the_law(law, terms, dtype):
    if law in LAWS:
        model = distinct_model(law, "m1", TERMS[law] if terms else ())
    else:
        model = ServoModel.create(find_servo(law), "m1")
    servo, values = model.servo, model.values
    error, speed = tensors(*motor_states(), dtype=dtype)
    rng = np.random.default_rng(3)
    on, scale, volts = tensors(*rng.uniform([[0.0], [0.8], [6.0]], [[1.0], [1.2], [8.0]], (3, 300)))
    on = torch.where(on < 0.2, 0.0, torch.where(on > 0.5, 1.0, on)).to(dtype)
    scale, volts = scale.to(dtype), volts[:, :1].to(dtype)
    gain, rate = (value * scale for value in servo.gains())
    functions = servo_functions(model, WARM, STEP)
    torque, duty, damping = functions.motor(error, speed, on, gain, 1.3 * rate, volts)
    error, speed, on, gain, rate, volts = (
        a.double().numpy() for a in (error, speed, on, gain, 1.3 * rate, volts)
    )
    warm = equations.winding_resistance(WARM - 25.0, law_parameters(servo, values))
    p = law_parameters(servo, values, gain=gain, rate_gain=rate, vin=volts, resistance=warm)
    driven, cycle, slope = equations.LAWS[servo.law](error, speed, p)
    driven = equations.saturated_torque(driven, p)
    driven, slope = equations.shaft_torque(on, driven, slope, speed, p)
    emf = values.get("kt", 0.0) * np.abs(speed).max()
    close(torque, driven, dtype, max(1.0, values.get("kt", 0.0) * emf / warm))
    close(duty, on * cycle, dtype, max(1.0, emf / volts.min()))
    assert (torque.shape, damping.shape) == (error.shape, error.shape)
    if dtype == torch.float64:  # at a limit, float32 may fall on the other side
        close(damping, np.broadcast_to(slope, error.shape), dtype)


def test_the_target_moves_as_far_as_the_firmware_lets_it():
    model = distinct_model("voltage", "m1", ("max_velocity",))
    wanted, start = tensors(*np.random.default_rng(0).normal(size=(2, 30)) * 0.02)
    found = servo_functions(model, 25.0, STEP).target(wanted, start)
    reach = model.values["max_velocity"] * STEP
    expected = np.clip(wanted.numpy(), start.numpy() - reach, start.numpy() + reach)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert (found != wanted).any() and (found == wanted).any()


def test_constants_have_the_type_of_the_tensors():
    """A budget may be a constant, or choose between constants."""

    def loss(motor, external, speed, p):
        return np.where(np.absolute(speed) > 1.0, p.friction_base, 0.1)

    plain = distinct_model("voltage", "m1")
    for equation in (loss, lambda motor, external, speed, p: 0.3):
        friction = FrictionModel("own", "", plain.friction.parameters, equation)
        model = ServoModel(plain.servo, friction, plain.values)
        motor, external, speed = tensors(*friction_states())
        found = servo_functions(model, 25.0, STEP).friction(speed, motor, external)
        close(found, friction.frictions(plain.values, motor, external, speed)[0], torch.float64)
