"""An identified servo as base: the law of the servo package, in every form a network runs in."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from distinct_servos import TERMS, VALUES, distinct_model
from random_networks import random_network, smooth_inputs
from registered_models import MIXED, WEDGE, mixed_loss, registered, wedge_loss
from servo_bases import LAWS, MEMORYLESS, distinct_base

from trueup.actuators import FRICTION_MODELS, ServoModel, save_model
from trueup.errors import ExperimentError, FitError, ParameterError
from trueup.networks import CompiledRuntime, NetworkRuntime, load_network, predict, save_network
from trueup.networks.base.servo import LEARNED, ServoBase


def servo(friction: str = "m6", **values: float) -> ServoModel:
    """A servo of the catalogue, for files, whose friction has every term of its model."""
    model = ServoModel.create("xl330", friction)
    known = {name: VALUES[name] for name in model.names if name in VALUES}
    return model.with_values(**{**known, **values})


def states(count: int = 400, seed: int = 0) -> np.ndarray:
    """Angles, errors and velocities, from rest to limits, shape (n, 3)."""
    found = np.random.default_rng(seed).normal(size=(count, 3)) * [2.0, 0.5, 3.0]
    found[:5, 2] = 0.0
    found[5:8, 1] = 0.0
    found[8, 1:] = 0.0
    found[9:20, 1] *= 40.0
    return found


@pytest.mark.parametrize("law", LAWS)
def test_the_torque_is_that_of_the_servo_package(law):
    features = states()
    angle, error, speed = features.T
    for friction in FRICTION_MODELS:
        terms = tuple(term for term in TERMS[law] if term in MEMORYLESS)
        for quadratic in ("gated", "ungated"):
            model = replace(distinct_model(law, friction, terms), quadratic=quadratic)
            motor = ServoBase.of(model, kp=13.0, vin=11.0, friction=False).torque(features)
            expected = model.torque(error, speed, kp=13.0, vin=11.0)
            np.testing.assert_allclose(motor, expected, atol=1e-12)
            load = {"load_gravity": 0.8, "load_gravity_angle": 0.3}
            base = ServoBase.of(model, kp=13.0, vin=11.0, **load)
            external = -0.8 * np.sin(angle - 0.3)
            loss, damping = model.frictions(motor, external, speed)
            expected = motor - np.tanh(speed / 0.01) * loss - damping * speed
            np.testing.assert_allclose(base.torque(features), expected, atol=1e-12)


def all_forms(base: ServoBase) -> None:
    """Compare compiled code and torch with numpy."""
    torch = pytest.importorskip("torch")
    from trueup.networks.base.torch_servo import ServoTorque

    network = random_network("linear", base=base)
    inputs = smooth_inputs(network, 300)
    inputs[:, -1] *= 3.0
    expected = NetworkRuntime(network).rollout(inputs)
    runtime = CompiledRuntime(network)
    np.testing.assert_allclose([runtime.step(r[None])[0] for r in inputs], expected, atol=1e-12)
    features = torch.as_tensor(states(), dtype=torch.float64)
    found = ServoTorque(base).double()(features).detach().numpy()
    # the numbers of the base stand there in single precision
    wanted = base.torque(features.numpy())
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.ptp(wanted))


@pytest.mark.parametrize("law", LAWS)
def test_compiled_code_and_torch_give_the_same_torque(law):
    base = distinct_base(law)
    all_forms(base)
    all_forms(replace(base, gated=False, learned=True))


@pytest.mark.parametrize("name", ["m7", "m8"])
def test_a_registered_friction_model_is_a_base_like_any_other(tmp_path, name):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from trueup.networks.base.torch_servo import TorchServo

    values, loss = (WEDGE, wedge_loss) if name == "m7" else (MIXED, mixed_loss)
    with registered(name, values, loss):
        base = distinct_base("voltage", name, **values)
        model = distinct_model("voltage", name, **values)
        features = states()
        motor = ServoBase.of(model, friction=False).torque(features)
        angle, _, speed = features.T
        budget, viscous = model.frictions(motor, -0.83 * np.sin(angle - 0.31), speed)
        bare = ServoBase.of(model, load_gravity=0.83, load_gravity_angle=0.31)
        expected = motor - np.tanh(speed / 0.01) * budget - viscous * speed
        np.testing.assert_allclose(bare.torque(features), expected, atol=1e-12)
        all_forms(base)
        learned = TorchServo(replace(base, learned=True))
        learned.steps.data += 0.1
        moved = learned.to_base()
        for number, value in moved.numbers.items():
            assert value == pytest.approx(np.exp(0.1) * base.numbers[number])
        assert set(base.friction_values) == {n for n in values if n.endswith(("wedge", "lock"))}
        path = save_network(random_network("gru", base=base), tmp_path / "network.safetensors")
        assert load_network(path).base == base
    with pytest.raises(FitError, match=f"{name}.*not registered.*register_friction_model"):
        load_network(path)


OF_ALL_OPERATIONS = ("bus_current", "current_pd")
"""Laws that together have every operation of all laws, as the graphs of TorchScript show."""


def jit_graph(path):
    """The whole graph of a TorchScript file."""
    from exported_steps import load_script

    return load_script(path).inlined_graph


@pytest.mark.parametrize("form", ["torchscript", "onnx", "torch-export"])
def test_exports_hold_the_servo_or_leave_it_out(tmp_path, form):
    pytest.importorskip("torch")
    from exported_steps import SUFFIXES, consistent_inputs, rollout

    from trueup.deploy import export_network

    # each export by torch.onnx takes seconds: those laws whose operations are those of all
    laws = {"torchscript": LAWS, "onnx": OF_ALL_OPERATIONS, "torch-export": ("voltage",)}[form]
    family = "linear" if form == "onnx" else "gru"
    operations = {}
    for law in laws:
        base = distinct_base(law)
        network = random_network(family, base=base, torque_limit=6.0)
        path = tmp_path / f"{law}.{SUFFIXES[form]}"
        export_network(network, form, path)
        if form == "torchscript":
            operations[law] = set(re.findall(r"aten::\w+", str(jit_graph(path))))
        inputs = consistent_inputs(network, smooth_inputs(network, 300))
        expected = predict(network, inputs)
        found = rollout(form, path, network, inputs)
        assert np.abs(found - expected).max() <= 1e-5 * np.ptp(expected)
    for law in operations:
        assert operations[law] <= set().union(*(operations[one] for one in OF_ALL_OPERATIONS)), law
    bare = tmp_path / f"bare.{SUFFIXES[form]}"
    with pytest.raises(FitError, match="--without base limits"):
        export_network(network, form, bare, base=False)
    export_network(network, form, bare, base=False, limits=False)
    without = replace(network, base=None, torque_limit=None)
    inputs = consistent_inputs(without, smooth_inputs(without, 200))
    found = rollout(form, bare, without, inputs)
    np.testing.assert_allclose(found, predict(without, inputs), atol=1e-4)


@pytest.mark.parametrize(("name", "form"), [("m7", "torchscript"), ("m7", "onnx"), ("m8", "onnx")])
def test_exports_hold_a_registered_friction_model(tmp_path, name, form):
    pytest.importorskip("torch")
    from exported_steps import SUFFIXES, consistent_inputs, rollout

    from trueup.deploy import export_network

    values, loss = (WEDGE, wedge_loss) if name == "m7" else (MIXED, mixed_loss)
    path = tmp_path / f"network.{SUFFIXES[form]}"
    with registered(name, values, loss):
        base = distinct_base("voltage", name, **values)
        network = random_network("linear" if form == "onnx" else "gru", base=base)
        export_network(network, form, path)
        inputs = consistent_inputs(network, smooth_inputs(network, 300))
        expected = predict(network, inputs)
    # the file is used where nothing is registered
    found = rollout(form, path, network, inputs)
    assert np.abs(found - expected).max() <= 1e-5 * np.ptp(expected)
    other = predict(replace(network, base=distinct_base("voltage")), inputs)
    # a hundred times the tolerance: the friction is in the file
    assert np.abs(found - other).max() > 1e-3 * np.ptp(expected)


def test_a_network_over_a_servo_survives_its_file(tmp_path):
    pytest.importorskip("safetensors")
    base = ServoBase.of(servo(), kp=20.0, learned=True)
    network = random_network("gru", base=base)
    read = load_network(save_network(network, tmp_path / "network.safetensors"))
    assert read.base == base
    assert ServoBase.from_dict(json.loads(json.dumps(base.to_dict()))) == base
    with pytest.raises(FitError, match="servo base"):
        ServoBase.from_dict({**base.to_dict(), "gears": 3})
    with pytest.raises(FitError, match="law"):
        ServoBase.from_dict({**base.to_dict(), "law": "magnetic"})


def test_isaac_lab_is_told_what_holds_a_servo(tmp_path):
    pytest.importorskip("torch")
    from trueup.deploy import export_network

    network = random_network("gru", base=ServoBase.of(servo()))
    with pytest.raises(FitError, match="export it as isaac-lab,"):
        export_network(network, "isaac-lab-combined", tmp_path / "combined")


def test_training_learns_what_the_servo_leaves_and_moves_its_numbers():
    torch = pytest.importorskip("torch")
    pytest.importorskip("lightning")
    from training_recordings import made_series

    from trueup.networks.base.torch_servo import TorchServo
    from trueup.networks.training import ModelSettings, TrainSettings, train_network
    from trueup.networks.training.network_training import template_network

    for law in LAWS:
        module = TorchServo(replace(distinct_base(law), learned=True))
        module(torch.as_tensor(states(), dtype=torch.float32)).sum().backward()
        assert torch.isfinite(module.steps.grad).all()
        assert (module.steps.grad != 0).any()

    from trueup.actuators.catalogue.parameter_file import model_to_dict

    series = [made_series(1, 300), made_series(2, 300)]
    model = ModelSettings(
        gru_hidden_dim=4,
        gru_num_layers=1,
        use_residual=True,
        servo_base=model_to_dict(servo()),
        servo_kp=8.0,
        learn_base=True,
        learning_rate=1e-2,
    )
    base = model.base
    assert isinstance(base, ServoBase)
    assert base.gain == ServoBase.of(servo(), kp=8.0).gain
    template = template_network(series, ("angle_error_rad",), model, 0)
    left = [s.torque - base.torque(s.features(base.features)) for s in series]
    assert template.normalization.output_deviation == pytest.approx(
        np.concatenate(left).std(), rel=1e-3
    )
    trained = train_network(
        series,
        series,
        model=model,
        train=TrainSettings(max_epochs=2, accelerator="cpu", burn_in=10),
        sequence_length=50,
    ).network
    moved = trained.base
    assert isinstance(moved, ServoBase)
    assert any(getattr(moved, name) != getattr(base, name) for name in LEARNED)
    assert moved.vin == base.vin


def test_every_setting_of_the_servo_changes_its_torque(tmp_path):
    from trueup.networks.training import ModelSettings

    path = str(save_model(servo(), tmp_path / "m6.json"))
    start = {"use_residual": True, "servo_base": path, "servo_load_gravity": 0.4}
    changes = {
        "servo_base": str(save_model(servo(R=9.0), tmp_path / "other.json")),
        "servo_kp": 7.0,
        "servo_vin": 9.0,
        "servo_friction": False,
        "servo_load_gravity": 0.9,
        "servo_load_gravity_angle": 0.5,
    }
    features = states()

    def torque(settings):
        base = ModelSettings(**settings).base
        assert base is not None
        return base.torque(features)

    before = torque(start)
    for key, value in changes.items():
        assert (torque({**start, key: value}) != before).any(), key
    assert set(changes) == {n for n in ModelSettings.__dataclass_fields__ if n.startswith("servo")}


def test_a_run_holds_the_content_of_the_servo_file(tmp_path):
    pytest.importorskip("hydra")
    from trueup.networks.training.configuration import check_configuration, load_configuration

    path = save_model(servo(friction="m4"), tmp_path / "m4.json")
    words = ["model.use_residual=true", f"model.servo_base={path}", "model.servo_friction=false"]
    configuration = load_configuration(words)
    again = check_configuration(configuration.values)
    assert again.model.base == configuration.model.base == ServoBase.of(
        servo(friction="m4"), friction=False
    )  # fmt: skip
    assert configuration.values["model"]["servo_base"]["model"] == "m4"


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["model.servo_kp=3"], ExperimentError, "servo_base"),
        (["model.use_residual=true", "model.kp_phys=3", "model.servo_base=x"], None, "x"),
        (["model.use_residual=true", "model.servo_base=missing.json"], None, "missing.json"),
    ],
)
def test_settings_of_a_servo_that_cannot_be_meant(words, error, message):
    pytest.importorskip("hydra")
    from trueup.networks.training.configuration import load_configuration

    with pytest.raises(error or ParameterError, match=message):
        load_configuration(words)
