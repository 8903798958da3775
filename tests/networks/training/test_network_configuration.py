"""The configuration: the seed's keys, every one alive, every unknown one refused."""

import ast
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from training_recordings import made_series

import trueup
from trueup.errors import ExperimentError
from trueup.networks import AnalyticBase, DataSettings
from trueup.networks.plain_settings import build_settings, to_values
from trueup.networks.training import load_configuration, train_network
from trueup.networks.training.configuration import (
    CONFIGURATION,
    REFUSED,
    RolloutSettings,
    TrainingConfiguration,
    WandbSettings,
    known_keys,
)
from trueup.networks.training.settings import ModelSettings, TrainSettings

PARTS = {"data": DataSettings, "model": ModelSettings, "train": TrainSettings}


def test_the_usual_overrides_are_understood():
    configuration = load_configuration(
        ["evaluation_mode=lomo_cv", "model.gru_hidden_dim=256", "train.max_epochs=100"]
    )
    assert configuration.evaluation_mode == "lomo_cv"
    assert configuration.model.gru_hidden_dim == 256
    assert configuration.train.max_epochs == 100
    assert configuration.values["train"]["max_epochs"] == 100


def test_groups_mappings_and_lists_are_understood():
    configuration = load_configuration(
        [
            "data=synthetic",
            "data.columns.torque=torAct",
            "+data.columns.current_a=i",
            "data.features=[angle_error_rad,current_ang_vel_rad_s]",
        ]
    )
    assert configuration.data.inertia_groups[0].id == "0.083kgm2"
    assert configuration.data.columns == {"torque": "torAct", "current_a": "i"}
    assert configuration.data.features == ("angle_error_rad", "current_ang_vel_rad_s")


def test_the_packaged_defaults_are_those_of_the_settings():
    defaults = load_configuration()
    assert defaults.model == ModelSettings()
    assert defaults.train == TrainSettings()
    assert defaults.wandb == WandbSettings()
    assert defaults.rollout == RolloutSettings()
    assert defaults.data == DataSettings(data_base_dir="data/synthetic_raw")
    for name, kind in PARTS.items():
        content = yaml.safe_load((CONFIGURATION / name / "default.yaml").read_text())
        assert set(content) == {item.name for item in fields(kind)}


def leaves(kind: type, prefix: str) -> list[str]:
    """Dotted keys of a settings class."""
    found = []
    for item in fields(kind):
        default = item.default_factory() if callable(item.default_factory) else item.default
        name = f"{prefix}.{item.name}"
        found += leaves(type(default), name) if is_dataclass(default) else [name]
    return found


def test_every_key_is_read_somewhere():
    """A key that no code reads would be dead."""
    read = set()
    for path in Path(trueup.__file__).parent.rglob("*.py"):
        if path.name not in ("settings.py", "data_settings.py"):
            tree = ast.parse(path.read_text())
            read |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    # these are read where the settings derive something else from them
    derived = {
        "name",
        "use_residual",
        "k_spring",
        "spring_stiffness",
        "kp_phys",
        "kd_phys",
        "theta0",
        "pd_stall_torque_phys_training",
        "pd_no_load_speed_phys_training",
        "base_target_velocity",
        "learn_base",
        "servo_base",
        "servo_kp",
        "servo_vin",
        "servo_friction",
        "servo_load_gravity",
        "servo_load_gravity_angle",
        "devices",
        "spring_angle",
        "gravity_angle",
        "coulomb_velocity",
        "inertia_groups",
    }
    keys = [
        *leaves(DataSettings, "data"),
        *leaves(ModelSettings, "model"),
        *leaves(TrainSettings, "train"),
        *leaves(WandbSettings, "wandb"),
        *leaves(RolloutSettings, "rollout"),
        *(item.name for item in fields(TrainingConfiguration) if item.name not in PARTS),
    ]
    dead = [key for key in keys if key.rsplit(".", 1)[-1] not in read | derived]
    assert dead == []


BASE = {"use_residual": True, "kp_phys": 5.0}


def base_torque(settings: ModelSettings, angle: float) -> float:
    assert isinstance(settings.base, AnalyticBase)
    return float(settings.base.torque(np.array([angle, 0.0, 0.0])))


def test_a_stiffness_is_a_spring_that_pulls_back():
    common = ["model.use_residual=true", "model.theta0=0.2"]
    away, back = (
        load_configuration([*common, f"model.{key}=0.8"]).model
        for key in ("k_spring", "spring_stiffness")
    )
    # (current_angle - theta0) k_spring, as the formula of the residual model of GRU trainers
    assert base_torque(away, 0.7) == pytest.approx(0.8 * 0.5)
    assert base_torque(back, 0.7) == pytest.approx(-0.8 * 0.5)
    with pytest.raises(ExperimentError, match="the same spring, with opposite signs"):
        load_configuration(
            ["model.use_residual=true", "model.k_spring=1", "model.spring_stiffness=1"]
        )
    with pytest.raises(ExperimentError, match=r"spring_stiffness is -1.0; it must be at least 0"):
        load_configuration(["model.use_residual=true", "model.spring_stiffness=-1"])


def test_a_whole_configuration_of_an_older_version_keeps_its_spring(tmp_path):
    values = load_configuration(["model.use_residual=true", "model.k_spring=0.8"]).to_dict()
    del values["model"]["spring_stiffness"]
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(values))
    for former in (TrainingConfiguration.from_dict(values), load_configuration(file=file)):
        assert base_torque(former.model, 1.0) == pytest.approx(-0.8)
    file.write_text(yaml.safe_dump({"model": {"use_residual": True, "k_spring": 0.8}}))
    assert base_torque(load_configuration(file=file).model, 1.0) == pytest.approx(0.8)


CHANGES: dict[str, tuple[dict[str, Any], Any]] = {
    "model.gru_hidden_dim": ({}, 5),
    "model.gru_num_layers": ({}, 2),
    "model.gru_dropout": ({"gru_num_layers": 2}, 0.5),
    "model.history": ({"model_type": {"name": "mlp"}}, 5),
    "model.activation": ({"model_type": {"name": "mlp"}}, "tanh"),
    "model.torque_limit": ({}, 0.05),
    "model.linear_skip": ({}, True),
    "model.learning_rate": ({}, 1e-3),
    "model.weight_decay": ({}, 10.0),
    "model.warmup_epochs": ({}, 0.5),
    "model.loss_diff_weight": ({}, 3.0),
    "model.use_residual": ({"learn_base": False, "kp_phys": 0.0}, True),
    "model.k_spring": (BASE, 0.7),
    "model.spring_stiffness": (BASE, 0.7),
    "model.theta0": ({**BASE, "k_spring": 0.5}, 0.3),
    "model.kp_phys": (BASE, 4.0),
    "model.kd_phys": (BASE, 0.3),
    "model.base_target_velocity": ({**BASE, "kd_phys": 0.3}, True),
    "model.learn_base": (BASE, True),
    "train.max_epochs": ({}, 1),
    "train.max_steps": ({}, 1),
    "train.gradient_clip_val": ({}, 1e-3),
    "train.gradient_clip_algorithm": ({"gradient_clip_val": 1e-3}, "value"),
    "train.precision": ({}, "bf16-mixed"),
    "train.burn_in": ({}, 7),
    "train.cold_start_share": ({}, 1.0),
    "train.mirror_share": ({}, 1.0),
    "train.input_noise": ({}, 0.5),
    "train.group_weighting": ({}, 1.0),
    "train.check_val_every_n_epoch": ({}, 2),
}
"""Key -> other settings of its part that it needs, and a value that changes the training."""


@pytest.fixture(scope="module")
def recordings():
    made = [made_series(1, 200), made_series(2, 200, group="high", scale=5.0), made_series(3, 150)]
    from dataclasses import replace

    import numpy as np

    return [
        replace(each, channels={**each.channels, "target_ang_vel_rad_s": np.ones(len(each))})
        for each in made
    ]


HISTORIES: dict[str, list[dict[str, Any]]] = {}
"""Of trainings that are done already: many keys are tried against the same start."""


def trained(part: str, values: dict[str, Any], recordings) -> list[dict[str, Any]]:
    """History of a tiny training with some settings changed."""
    key = json.dumps([part if values else "", values], sort_keys=True)
    if key not in HISTORIES:
        HISTORIES[key] = newly_trained(part, values, recordings)
    return HISTORIES[key]


def newly_trained(part: str, values: dict[str, Any], recordings) -> list[dict[str, Any]]:
    """History of a tiny training, without looking for one that is done."""
    small = {"gru_hidden_dim": 4, "gru_num_layers": 1, "learning_rate": 1e-2}
    # a GRU, which every processor runs in bf16 too; torch runs an LSTM so on some alone
    model = {"model_type": {"name": "gru"}, **small}
    train: dict[str, Any] = {"max_epochs": 2, "accelerator": "cpu", "burn_in": 20}
    (model if part == "model" else train).update(values)
    result = train_network(
        recordings[:2],
        recordings[2:],
        model=build_settings(ModelSettings, model, "model"),
        train=build_settings(TrainSettings, train, "train"),
        batch_size=4,
        sequence_length=40,
    )
    return list(result.history)


@pytest.mark.parametrize("key", CHANGES)
def test_every_key_of_the_training_has_an_effect(key, recordings):
    part, name = key.split(".")
    needed, value = CHANGES[key]
    before = dict(needed)
    if key == "model.use_residual":
        before, after = {}, {"use_residual": True, "kp_phys": 5.0}
    else:
        after = {**before, name: value}
    assert trained(part, before, recordings) != trained(part, after, recordings)


def test_each_key_of_the_training_is_tried_here_or_elsewhere():
    elsewhere = {
        "model.model_type.name",  # test_network_training: each family
        "model.model_type.families",  # test_network_choice
        "model.pd_stall_torque_phys_training",  # test_torch_network: the base's curve
        "model.pd_no_load_speed_phys_training",
        "model.ensemble_members",  # test_network_runs
        "train.accelerator",  # passed to Lightning
        "train.devices",  # refused below
        "train.deterministic_trainer",  # passed to Lightning
        "train.threads",  # test_network_training: leaves nothing behind
        "train.export_jit_model",  # test_network_runs
        "train.time",  # test_network_choice
    }
    blocks = ("train.early_stopping.", "train.checkpointing.", "train.callbacks.")
    keys = [*leaves(ModelSettings, "model"), *leaves(TrainSettings, "train")]
    keys = [key for key in keys if not key.startswith("model.servo_")]  # test_servo_base
    missing = [k for k in keys if k not in CHANGES and k not in elsewhere]
    assert [k for k in missing if not k.startswith(blocks)] == []


@pytest.mark.parametrize("key", REFUSED)
def test_dead_keys_of_other_trainers_are_refused_with_words(key):
    with pytest.raises(ExperimentError, match="is not supported"):
        load_configuration([f"{key}=1"])


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.gru_hiden_dim=3", "Did you mean 'model.gru_hidden_dim'"),
        ("+model.new=3", "unknown configuration key 'model.new'"),
        ("gru_hidden_dim=3", "Did you mean 'model.gru_hidden_dim'"),
        ("data.columns.torqe=a", "data.columns.torque"),
        ("~seed", "write key=value"),
        ("train.max_epochs", "write key=value"),
        ("train.max_epochs=many", "expected int"),
        ("train.max_epochs=1,2", "Ambiguous"),
        ("train.max_epochs=0", "at least 1"),
        ("train.max_steps=0", "at least 1"),
        ("train.time=10m", "such as 10min"),
        ("train.time=0s", "such as 10min"),
        ("train.devices=2", "one device"),
        ("train.precision=64", "precision"),
        ("train.early_stopping.mode=max", "must be 'min'"),
        ("train.checkpointing.filename='../{epoch}'", "without a folder"),
        ("train.checkpointing.filename='{epoch.__class__.x}'", "must be a file name"),
        ("evaluation_mode=loo", "lomo_cv"),
        ("data=foo", "one of its files"),
        ("model.kp_phys=3", "use_residual"),
        ("model.use_residual=true", "torque of the base is zero"),
        ("model.model_type.name=gur", "'gru'"),
        ("seed=-1", "seed"),
        ("seed=${oc.env:HOME}", "seed"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(override, words):
    with pytest.raises(ExperimentError) as caught:
        load_configuration([override])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_gives_values_and_overrides_win(tmp_path):
    file = tmp_path / "arm.yaml"
    file.write_text(
        "model: {gru_hidden_dim: 32, gru_num_layers: 1}\n"
        "data: {columns: {torque: {column: tau, unit: N mm}}}\n"
    )
    configuration = load_configuration(["model.gru_hidden_dim=64"], file)
    assert (configuration.model.gru_hidden_dim, configuration.model.gru_num_layers) == (64, 1)
    assert configuration.data.columns["torque"]["column"] == "tau"
    file.write_text("model: {gru_hidden: 32}\n")
    with pytest.raises(ExperimentError, match="gru_hidden_dim"):
        load_configuration([], file)
    file.write_text("- 1\n")
    with pytest.raises(ExperimentError, match="no configuration"):
        load_configuration([], file)
    with pytest.raises(ExperimentError, match="cannot be read"):
        load_configuration([], tmp_path / "none.yaml")


def test_known_keys_hold_every_part():
    keys = known_keys()
    assert "train.early_stopping.patience" in keys
    assert "data.columns.torque" in keys
    families = ("gru", "mlp", "lstm")
    assert to_values(ModelSettings())["model_type"] == {"name": "auto", "families": families}
