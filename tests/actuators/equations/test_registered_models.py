"""A friction model that is registered with an equation of its own is a model like any other."""

import numpy as np
import pytest
from servo_law_models import in_mujoco, pendulum_log, pendulum_spec, small_servo
from servo_model_logs import recorded, template_log

from trueup.actuators import (
    FRICTION_MODELS,
    BenchSimulator,
    FitSettings,
    ModelParameter,
    fit,
    register_friction_model,
    servo_law,
)
from trueup.errors import FitError


def wedge_loss(motor, external, speed, p):
    """Friction budget [N m]: Coulomb friction, and a wedge that the load tightens."""
    return p.friction_base + p.friction_wedge * np.sqrt(np.absolute(external))


@pytest.fixture
def m7():
    wedge = ModelParameter("friction_wedge", 0.01, 0.0, 0.5, "(N m)^0.5", "wedge friction")
    model = register_friction_model("m7", "wedge", ["friction_base", wedge], wedge_loss)
    yield model
    del FRICTION_MODELS["m7"]


TRUE = {"friction_base": 0.013, "friction_wedge": 0.047, "friction_viscous": 0.0071}


def test_the_budget_is_that_of_its_equation(m7):
    values = {**TRUE, "q_offset": 0.0}
    loss, viscous = m7.frictions(values, np.array([0.3, -0.2]), np.array([0.16, -0.04]), 1.0)
    assert loss == pytest.approx([0.013 + 0.047 * 0.4, 0.013 + 0.047 * 0.2], rel=1e-12)
    assert viscous == TRUE["friction_viscous"]


def test_a_fit_finds_its_parameters(m7):
    model = small_servo("m7", **TRUE)
    logs = [
        recorded(model, template_log(f"run{i}", seconds=2.0, kp=kp, mass=mass), 1e-4, seed=i)
        for i, (kp, mass) in enumerate([(100.0, 0.2), (200.0, 0.4), (400.0, 0.5), (150.0, 0.7)])
    ]
    settings = FitSettings(
        trials=1500, seed=1, fixed={"kt": model.values["kt"], "R": model.values["R"]}
    )
    found = fit("xl330", "m7", logs, settings=settings).model.values
    assert found["friction_wedge"] == pytest.approx(TRUE["friction_wedge"], rel=0.03)
    assert found["friction_base"] == pytest.approx(TRUE["friction_base"], rel=0.05)


def test_in_mujoco_it_moves_as_on_the_bench(m7):
    model, log = small_servo("m7", **TRUE), pendulum_log("xl330", 200.0)
    servos = servo_law(pendulum_spec(), {"hinge": model}, kp=log.kp, offsets={"hinge": 0.0})
    bench = BenchSimulator(model, [log]).simulate().position[0][0]
    other = BenchSimulator(small_servo("m7", **TRUE | {"friction_wedge": 0.0}), [log]).simulate()
    assert np.abs(other.position[0][0] - bench).max() > 0.01, "the new term does nothing"
    assert np.abs(in_mujoco(servos, log) - bench).max() < 1e-10


def test_torch_forms_refuse_an_equation_that_they_do_not_hold(m7):
    from trueup.networks import ServoBase

    with pytest.raises(FitError, match="m7"):
        ServoBase.of(small_servo("m7", **TRUE))
    torch = pytest.importorskip("torch")
    from trueup.actuators.mjlab.torch_friction import friction_loss

    zero = torch.zeros(1, 1)
    with pytest.raises(FitError, match="m7"):
        friction_loss(m7, {**TRUE}, zero, zero, zero)


def test_a_published_model_cannot_be_replaced():
    with pytest.raises(FitError, match="published"):
        register_friction_model("m6", "another", ["friction_base"], wedge_loss)
