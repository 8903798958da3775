"""``CombinedGRUAndPDActuator``, which is written beside a network's files, without trueup."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import isaac_lab_stand_in
import torch
from random_networks import BASE, random_network
from simulator_steps import SHAPE, expected, isaac_lab_torques, motion, usage_config

from trueup.deploy import export_network
from trueup.networks import AnalyticBase

ACTIONS = isaac_lab_stand_in.ArticulationActions
COMBINED_FILES = (
    "network.pt",
    "normalization_stats.json",
    "training_config_summary.json",
    "combined_gru_and_pd_actuator.py",
)


@pytest.fixture
def isaac_lab(monkeypatch):
    isaac_lab_stand_in.install(monkeypatch)


def combined(folder):
    """The module of a folder, as an import of its file makes it."""
    path = folder / "combined_gru_and_pd_actuator.py"
    assert not re.search(r"^\s*(from|import) trueup", path.read_text(), re.M)
    spec = importlib.util.spec_from_file_location("combined_gru", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["combined_gru"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["combined_gru"]
    return module


def exported(network, form, path, settings=None, **parts):
    usage = export_network(network, form, path, **parts).usage.replace("...", "50.0")
    return usage_config(usage, **(settings or {}))


def check(found, wanted):
    assert np.abs(found - wanted).max() <= 1e-5 * np.ptp(wanted)


def test_the_combined_actuator_is_the_network(isaac_lab, tmp_path):
    network = random_network("gru", base=BASE, torque_limit=9.0)
    cfg = exported(network, "isaac-lab-combined", tmp_path / "run")
    moved = motion()
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(network, *moved))
    files = {path.name for path in (tmp_path / "run").iterdir() if path.is_file()}
    assert files == set(COMBINED_FILES)
    plain = random_network("gru", seed=3)
    cfg = exported(plain, "isaac-lab-combined", tmp_path / "plain", {"effort_limit": 50.0})
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(plain, *moved))


def test_the_combined_actuator_holds_its_rate_and_resets_alone(isaac_lab, tmp_path):
    network = random_network("gru", torque_limit=9.0)
    cfg = exported(network, "isaac-lab-combined", tmp_path / "run", {"physics_dt": 0.005})
    moved = motion()
    found = isaac_lab_torques(ACTIONS, cfg, moved)
    np.testing.assert_array_equal(found[1::2], found[::2])
    check(found[::2], expected(network, *(m[::2] for m in moved)))
    cfg.physics_dt = 0.01
    actuator = cfg.class_type(cfg, ["a", "b"], slice(None), SHAPE[1], "cpu")
    rows = [torch.tensor(m) for m in moved]
    for k in range(20):
        if k == 10:
            actuator.reset([1])
        command = ACTIONS(rows[0][k], torch.zeros(SHAPE[1:]), torch.zeros(SHAPE[1:]))
        last = actuator.compute(command, rows[1][k], rows[2][k]).joint_efforts.numpy()
    whole = expected(network, *(m[:20] for m in moved))[-1]
    fresh = expected(network, *(m[10:20] for m in moved))[-1]
    np.testing.assert_allclose(last[[0, 2]], whole[[0, 2]], atol=1e-4)
    np.testing.assert_allclose(last[1], fresh[1], atol=1e-4)
    assert np.abs(whole[1] - fresh[1]).max() > 1e-3


def test_the_combined_actuator_refuses_files_that_do_not_fit(isaac_lab, tmp_path):
    network = random_network("gru", torque_limit=9.0)
    export_network(network, "isaac-lab-combined", tmp_path / "run")
    module = combined(tmp_path / "run")
    refused = module.ParameterError
    cfg = module.CombinedGRUAndPDActuatorCfg(
        joint_names_expr=[".*"], effort_limit=9.0, physics_dt=0.01
    )

    def make(**settings):
        for name, value in settings.items():
            setattr(cfg, name, value)
        return cfg.class_type(cfg, ["a"], slice(None), 1, "cpu")

    with pytest.raises(refused, match="trained at 100 Hz"):
        make(physics_dt=0.004)
    with pytest.raises(refused, match="both stall_torque and no_load_speed"):
        make(physics_dt=0.01, stall_torque=3.0)
    make(stall_torque=None)
    statistics = tmp_path / "run" / "normalization_stats.json"
    content = json.loads(statistics.read_text())
    content["feature_names"] = content["feature_names"][::-1]
    statistics.write_text(json.dumps(content))
    with pytest.raises(refused, match="in this order"):
        make()
    statistics.write_text("{")
    with pytest.raises(refused, match="cannot be read"):
        make()
    export_network(network, "isaac-lab-combined", tmp_path / "run")
    export_network(
        random_network("gru", hidden=8), "torchscript", tmp_path / "run" / "network.pt",
        normalization=False,
    )  # fmt: skip
    with pytest.raises(refused, match="different trainings"):
        make()
    (tmp_path / "run" / "network.pt").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(refused, match="cannot be read as TorchScript"):
        make()


@pytest.mark.parametrize("former", ["k_spring_pulls_back", "spring_restores"])
def test_files_of_a_training_whose_spring_pulls_back_keep_their_meaning(
    isaac_lab, tmp_path, former
):
    network = random_network("gru", base=BASE, torque_limit=9.0)
    exported(network, "isaac-lab-combined", tmp_path / "run")
    read_run_files = combined(tmp_path / "run").read_run_files
    statistics, path = (
        tmp_path / "run" / name
        for name in ("normalization_stats.json", "training_config_summary.json")
    )
    assert read_run_files(statistics, path).k_spring == BASE.k_spring
    content = json.loads(path.read_text())
    for key in ("feature_names", "rate_hz", "torque_limit_nm"):
        del content[key]
    path.write_text(json.dumps({**content, former: True}))
    files = read_run_files(statistics, path)
    assert files.k_spring == -BASE.k_spring
    assert files.rate is None


@pytest.mark.parametrize(
    "base",
    [
        AnalyticBase(kp=6.0, kd=0.3),
        AnalyticBase(kp=4.0, kd=0.7, k_spring=0.9, theta0=0.4),
        AnalyticBase(
            kp=6.0, kd=0.3, k_spring=1.1, theta0=-0.2, stall_torque=3.0, no_load_speed=5.0
        ),
    ],
)
def test_every_base_is_read_from_the_summary(isaac_lab, tmp_path, base):
    network = random_network("gru", base=base, torque_limit=9.0)
    cfg = exported(network, "isaac-lab-combined", tmp_path / "run")
    moved = motion()
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(network, *moved))


def test_numbers_of_the_files_are_those_that_act(isaac_lab, tmp_path):
    """A summary and statistics that are changed by hand, as those of a training elsewhere."""
    network = random_network("gru", base=BASE, torque_limit=9.0)
    cfg = exported(network, "isaac-lab-combined", tmp_path / "run")
    summary = tmp_path / "run" / "training_config_summary.json"
    content = json.loads(summary.read_text())
    other = AnalyticBase(kp=1.7, kd=0.9, k_spring=0.4, theta0=0.3)
    content |= {"kp_phys": 1.7, "kd_phys": 0.9, "k_spring": 0.4, "theta0": 0.3}
    content |= {"pd_stall_torque_phys_training": None, "pd_no_load_speed_phys_training": 0.0}
    summary.write_text(json.dumps(content))
    moved = motion()
    changed = random_network("gru", base=other, torque_limit=9.0)
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(changed, *moved))


def test_inputs_out_of_range_are_counted_or_clamped_on_request(isaac_lab, tmp_path):
    network = random_network("gru", base=BASE)
    moved = motion()
    stacked = np.stack([moved[1], moved[0], moved[2]], axis=-1).reshape(-1, 3)
    lowest, highest = (np.quantile(stacked, part, axis=0) for part in (0.05, 0.95))
    network = replace(network, feature_lowest=lowest, feature_highest=highest)
    cfg = exported(network, "isaac-lab-combined", tmp_path / "run")
    cfg.range_check = "count"
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(network, *moved))
    cfg.range_check = "clamp"
    clamped = isaac_lab_torques(ACTIONS, cfg, moved)
    target, angle, velocity = moved
    within = [
        np.clip(values, lowest[column], highest[column])
        for values, column in ((target, 1), (angle, 0), (velocity, 2))
    ]
    bare = replace(network, base=None)
    base = BASE.torque(np.stack([angle, target - angle, velocity], axis=-1))
    check(clamped, expected(bare, *within) + base)
    actuator = cfg.class_type(cfg, ["a"], slice(None), 1, "cpu")
    for angle, outside in ((0.0, 0), (9.0, 1), (9.0, 2)):
        actions = ACTIONS(*(torch.zeros(1, 1) for _ in range(3)))
        actuator.compute(actions, torch.full((1, 1), angle), torch.zeros(1, 1))
        assert actuator.outside.tolist() == [[outside]]
    actuator.reset([0])
    assert actuator.outside.tolist() == [[0]]
    with pytest.raises(Exception, match="available: off, count, clamp"):
        cfg.range_check = "on"
        cfg.class_type(cfg, ["a"], slice(None), 1, "cpu")


def test_the_curve_on_the_whole_torque_is_asymmetric(isaac_lab, tmp_path):
    export_network(random_network("gru"), "isaac-lab-combined", tmp_path / "run")
    module = combined(tmp_path / "run")
    torque = torch.tensor([9.0, -9.0, 9.0, -9.0, 9.0, -9.0])
    speed = torch.tensor([2.5, 2.5, -2.5, -2.5, 0.0, 20.0])
    cfg = module.CombinedGRUAndPDActuatorCfg(
        joint_names_expr=[".*"], effort_limit=9.0, physics_dt=0.01, stall_torque=3.0,
        no_load_speed=5.0,
    )  # fmt: skip
    limited = module.torque_speed_curve(torque, speed, cfg)
    assert limited.tolist() == [1.5, -3.0, 3.0, -1.5, 3.0, -3.0]
    moved = tuple(5.0 * each for each in motion())
    found = isaac_lab_torques(ACTIONS, cfg, moved)
    within = module.torque_speed_curve(
        torch.full(moved[2].shape, 99.0), torch.tensor(moved[2]), cfg
    )
    assert (found <= within.numpy() + 1e-6).all() and (np.abs(found) > 1.0).any()


def test_files_elsewhere_and_the_folder_of_the_module(isaac_lab, tmp_path):
    network = random_network("gru", torque_limit=9.0)
    export_network(network, "isaac-lab-combined", tmp_path / "run")
    module = combined(tmp_path / "run")
    own = {"joint_names_expr": [".*"], "effort_limit": 9.0, "physics_dt": 0.01}
    moved = motion()
    check(
        isaac_lab_torques(ACTIONS, module.CombinedGRUAndPDActuatorCfg(**own), moved),
        expected(network, *moved),
    )
    settings = ("network_file", "normalization_stats_file", "training_config_summary_file")
    places = {
        setting: str((tmp_path / "run" / name).rename(tmp_path / f"moved_{name}"))
        for setting, name in zip(settings, COMBINED_FILES, strict=False)
    }
    cfg = module.CombinedGRUAndPDActuatorCfg(**own, **places)
    check(isaac_lab_torques(ACTIONS, cfg, moved), expected(network, *moved))
    with pytest.raises(module.ParameterError, match=r"normalization_stats\.json cannot be read"):
        isaac_lab_torques(ACTIONS, module.CombinedGRUAndPDActuatorCfg(**own), moved)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("training_config_summary.json", {"kp_phys": "6"}, "kp_phys: expected a finite number"),
        ("training_config_summary.json", {"gru_num_layers": 0}, "integers of at least 1"),
        ("training_config_summary.json", {"gru_hidden_dim": None}, "expected a finite number"),
        ("training_config_summary.json", {"feature_names": 3}, "in this order"),
        ("normalization_stats.json", {"input_mean": [0.0, 1.0]}, "statistics of 2 features"),
        ("normalization_stats.json", {"input_std": [1.0, 0.0, 1.0]}, "above 0"),
        ("normalization_stats.json", {"target_std": []}, "one number each"),
        ("normalization_stats.json", {"target_mean": [True]}, "expected a finite number"),
    ],
)
def test_damaged_files_are_refused_by_name(isaac_lab, tmp_path, file, change, words):
    export_network(random_network("gru", base=BASE), "isaac-lab-combined", tmp_path / "run")
    module = combined(tmp_path / "run")
    path = tmp_path / "run" / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    cfg = module.CombinedGRUAndPDActuatorCfg(
        joint_names_expr=[".*"], effort_limit=9.0, physics_dt=0.01
    )
    with pytest.raises(module.ParameterError, match=words) as refused:
        cfg.class_type(cfg, ["a"], slice(None), 1, "cpu")
    assert file in str(refused.value)


def test_the_module_runs_where_trueup_is_not_installed(tmp_path):
    export_network(random_network("gru", base=BASE), "isaac-lab-combined", tmp_path / "run")
    code = f"""
import sys
from types import ModuleType
sys.modules["trueup"] = None
sys.path[:0] = [{str(tmp_path / "run")!r}, {isaac_lab_stand_in.__file__.rpartition("/")[0]!r}]
import isaac_lab_stand_in as stand_in
for name in ("isaaclab", "isaaclab.actuators", "isaaclab.utils"):
    sys.modules[name] = ModuleType(name)
vars(sys.modules["isaaclab.actuators"]).update(vars(stand_in))
sys.modules["isaaclab.utils"].configclass = stand_in.configclass
import torch
from combined_gru_and_pd_actuator import CombinedGRUAndPDActuatorCfg
cfg = CombinedGRUAndPDActuatorCfg(joint_names_expr=[".*"], effort_limit=9.0, physics_dt=0.01)
actuator = cfg.class_type(cfg, ["a", "b"], slice(None), 3, "cpu")
zeros = torch.zeros(3, 2)
action = stand_in.ArticulationActions(zeros + 0.3, zeros, zeros)
assert actuator.compute(action, zeros, zeros).joint_efforts.abs().min() > 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
