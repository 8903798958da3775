"""A friction model that is registered with an equation of its own is a model like any other."""

import numpy as np
import pytest
from distinct_servos import friction_states
from registered_models import MIXED, WEDGE, mixed_loss, registered, wedge_loss
from servo_law_models import motions, pendulum_log, pendulum_spec, small_servo
from servo_model_logs import recorded, template_log

from trueup.actuators import (
    BenchSimulator,
    FitSettings,
    ModelParameter,
    fit,
    load_model,
    register_friction_model,
    save_model,
    servo_law,
)
from trueup.errors import FitError


@pytest.fixture(scope="module")
def m7():
    with registered("m7", WEDGE, wedge_loss) as model:
        yield model


@pytest.fixture(scope="module")
def m8():
    with registered("m8", MIXED, mixed_loss) as model:
        yield model


def test_the_budget_is_that_of_its_equation(m7):
    values = {**WEDGE, "q_offset": 0.0}
    loss, viscous = m7.frictions(values, np.array([0.3, -0.2]), np.array([0.16, -0.04]), 1.0)
    assert loss == pytest.approx([0.013 + 0.047 * 0.4, 0.013 + 0.047 * 0.2], rel=1e-12)
    assert viscous == WEDGE["friction_viscous"]


def test_a_fit_finds_its_parameters(m7):
    model = small_servo("m7", **WEDGE)
    logs = [
        recorded(model, template_log(f"run{i}", seconds=2.0, kp=kp, mass=mass), 1e-4, seed=i)
        for i, (kp, mass) in enumerate([(100.0, 0.2), (200.0, 0.4), (400.0, 0.5), (150.0, 0.7)])
    ]
    settings = FitSettings(
        trials=1500, seed=1, fixed={"kt": model.values["kt"], "R": model.values["R"]}
    )
    found = fit("xl330", "m7", logs, settings=settings).model.values
    assert found["friction_wedge"] == pytest.approx(WEDGE["friction_wedge"], rel=0.03)
    assert found["friction_base"] == pytest.approx(WEDGE["friction_base"], rel=0.05)


@pytest.fixture(scope="module")
def in_one_law(m7, m8):
    """Pendulums with M4, M7 and M8 that one law drives, and the same on the bench.

    One law, because compiling a law takes ten seconds.
    """
    models = {
        "hinge": small_servo("m4"),
        "m7": small_servo("m7", **WEDGE),
        "m8": small_servo("m8", **MIXED),
    }
    spec, log = pendulum_spec(), pendulum_log("xl330", 200.0)
    (pendulum,) = spec.bodies[1:]
    for name in ("m7", "m8"):
        body = spec.worldbody.add_body()
        body.add_joint(name=name, axis=[0.0, 1.0, 0.0])
        body.mass, body.ipos, body.inertia = pendulum.mass, pendulum.ipos, pendulum.inertia
    servos = servo_law(spec, models, kp=log.kp, offsets=dict.fromkeys(models, 0.0))
    found = motions(servos, log, list(models))
    benches = {n: BenchSimulator(m, [log]).simulate().position[0][0] for n, m in models.items()}
    return models, log, found, benches


@pytest.mark.parametrize(("name", "term"), [("m7", "friction_wedge"), ("m8", "load_friction_base")])
def test_in_mujoco_it_moves_as_on_the_bench(in_one_law, name, term):
    models, log, found, benches = in_one_law
    other = BenchSimulator(models[name].with_values(**{term: 0.0}), [log]).simulate()
    assert np.abs(other.position[0][0] - benches[name]).max() > 0.01, "the new term does nothing"
    assert np.abs(found[name] - benches[name]).max() < 1e-10


def test_a_joint_beside_it_keeps_its_published_model(in_one_law):
    """Joints of one law share their columns: M4's load friction is as on the bench."""
    _, _, found, benches = in_one_law
    assert np.abs(found["hinge"] - benches["hinge"]).max() < 1e-10


@pytest.mark.parametrize("name", ["m7", "m8"])
def test_on_the_bench_the_budget_is_that_of_its_equation(m7, m8, name):
    from trueup.actuators.equations.compiled import loss_functions
    from trueup.actuators.equations.friction_models import layout_of

    friction, values = (m7, WEDGE) if name == "m7" else (m8, MIXED)
    layout = layout_of(friction)
    compiled = loss_functions((friction.loss,), layout.names)
    states = friction_states(60)
    found = [compiled(0, layout.row(values), 1.0, True, *state) for state in np.transpose(states)]
    expected, _ = friction.frictions({**values, "q_offset": 0.0}, *states)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["m7", "m8"])
def test_on_tensors_the_budget_is_that_of_its_equation(m7, m8, name, monkeypatch):
    torch = pytest.importorskip("torch")
    import mjlab_stand_in
    from exported_modules import module_of

    mjlab_stand_in.install(monkeypatch)
    model = small_servo(name, **(WEDGE if name == "m7" else MIXED))
    module = module_of(model, "mjlab")
    states = friction_states()
    motor, external, speed = (torch.tensor(state) for state in states)
    functions = module.servo_functions(module.load_model(), 25.0, 0.005)
    found = functions.friction(speed, motor, external)
    np.testing.assert_allclose(found, model.frictions(*states)[0], rtol=1e-12)


def test_its_parameter_file_can_be_read(m7, tmp_path):
    model = small_servo("m7", **WEDGE)
    read = load_model(save_model(model, tmp_path / "m7.json"))
    assert (read.friction, read.values) == (m7, model.values)


def test_a_published_model_cannot_be_replaced():
    with pytest.raises(FitError, match="published"):
        register_friction_model("m6", "another", ["friction_base"], wedge_loss)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("friction_wedge", "unknown friction parameter"),
        (ModelParameter("wedge", 0.1, 0.0, 1.0), "must start with friction_"),
        (ModelParameter("friction_base", 0.1, 0.0, 1.0), "choose another name"),
        (ModelParameter("friction_velocity", 0.1, 0.0, 1.0), "setting of learned actuators"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameter, message):
    with pytest.raises(FitError, match=message):
        register_friction_model("m9", "another", [parameter], wedge_loss)
