"""Networks for Isaac Lab and mjlab, in the layouts that their actuator classes load.

Isaac Lab 2.3, https://github.com/isaac-sim/IsaacLab: ``ActuatorNetMLP``, ``ActuatorNetLSTM``; its
pull request 6083: ``ActuatorNetGRU``. mjlab 1.6, https://github.com/mujocolab/mjlab:
``LearnedMlpActuator``, which takes the file of ``ActuatorNetMLP``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.networks.base.analytic_base import AnalyticBase
from trueup.networks.base.servo_base import ServoBase
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    FEATURE_NAMES,
    SIMULATOR_FEATURE_NAMES,
    VELOCITY,
)
from trueup.networks.export.deployment import Deployment, metadata_text
from trueup.networks.export.simulator_fit import fitted
from trueup.networks.export.torch_files import save_script, write_torchscript
from trueup.networks.model.network import Network
from trueup.runs.store import atomic

COMBINED_FILES = ("network.pt", "normalization_stats.json", "training_config_summary.json")
"""Files of `write_combined`."""

_MOTOR = """\
    # the motor's limits, which the class applies after the network
    effort_limit={effort}
    saturation_effort=...,  # N m, at standstill
    velocity_limit=...,  # rad/s, without load
"""


def write_mlp(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetMLP``; returns its configuration as text.

    Raises:
        FitError: the network does not fit.
    """
    fit = fitted(
        deployment, "ActuatorNetMLP of Isaac Lab", ("mlp", "linear"), SIMULATOR_FEATURE_NAMES
    )
    history = list(range(fit.network.history))
    _save_mlp(fit, path, input_idx=history)
    return (
        f"{_head(fit.network)}from isaaclab.actuators import ActuatorNetMLPCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetMLPCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n"
        "    pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,  # scaled inside the network\n"
        f'    input_order="pos_vel", input_idx={history},\n{_motor(fit)})\n'
    )


def write_mjlab(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of mjlab's ``LearnedMlpActuatorCfg``; returns its configuration.

    Raises:
        FitError: the network does not fit.
    """
    fit = fitted(
        deployment, "LearnedMlpActuatorCfg of mjlab", ("mlp", "linear"), SIMULATOR_FEATURE_NAMES
    )
    _save_mlp(fit, path, history_length=fit.network.history)
    return (
        f"{_head(fit.network)}"
        "from mjlab.actuator import LearnedMlpActuatorCfg\n\n"
        "ACTUATOR_CFG = LearnedMlpActuatorCfg(\n"
        '    target_names_expr=(".*",),\n'
        f"    network_file={str(path)!r},\n"
        "    pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,  # scaled inside the network\n"
        f'    input_order="pos_vel", history_length={fit.network.history},\n'
        f"{_motor(fit)})\n"
    )


def write_lstm(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetLSTM``; returns its configuration as text.

    Raises:
        FitError: the network does not fit.
    """
    fit = fitted(deployment, "ActuatorNetLSTM of Isaac Lab", ("lstm",), SIMULATOR_FEATURE_NAMES)
    from trueup.networks.export.torch_modules import IsaacLstm

    save_script(IsaacLstm(fit), path, metadata_text(fit))
    return (
        f"{_head(fit.network)}from isaaclab.actuators import ActuatorNetLSTMCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetLSTMCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n{_motor(fit)})\n"
    )


def write_gru(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetGRU``; returns its configuration as text.

    Where normalisation is left out of the graph, the configuration has it.

    Raises:
        FitError: the network does not fit.
    """
    features = (ANGLE, ANGLE_ERROR, VELOCITY)
    fit = fitted(deployment, "ActuatorNetGRU of Isaac Lab", ("gru",), features)
    write_torchscript(fit, path)
    stats = fit.network.normalization
    pairs = [*zip(stats.input_mean, stats.input_deviation, strict=True)]
    pairs.append((stats.output_mean, stats.output_deviation))
    names = ("position", "pos_error", "vel", "output")
    fields = "".join(
        f"    {name}_normalization="
        + ("None" if fit.normalization else f"({float(mean)!r}, {float(deviation)!r})")
        + ",\n"
        for name, (mean, deviation) in zip(names, pairs, strict=True)
    )
    return (
        f"{_head(fit.network)}# Isaac Lab with ActuatorNetGRU (its pull request 6083).\n"
        "from isaaclab.actuators import ActuatorNetGRUCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetGRUCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n{fields}"
        f"    effort_limit={_effort(fit)}\n)\n"
    )


def write_combined(deployment: Deployment, folder: Path) -> str:
    """Write the folder of ``CombinedGRUAndPDActuator``; returns its configuration as text.

    The graph holds the network alone; statistics and analytic base lie beside it, in
    ``normalization_stats.json`` and ``training_config_summary.json``. A residual's mean is moved
    into the bias of the last layer, so that the mean in the file is zero, and adding the base to
    the network's output before or after it is scaled back is the same.

    Raises:
        FitError: the network does not fit.
    """
    network = deployment.network
    bare = Deployment(network, normalization=False, base=False, limits=False)
    fit = fitted(bare, "CombinedGRUAndPDActuator", ("gru",), FEATURE_NAMES)
    network, stats = fit.network, fit.network.normalization
    content = stats.to_dict()
    if isinstance(network.base, ServoBase):
        raise FitError(
            "CombinedGRUAndPDActuator adds a PD law to the network, and this one corrects an "
            "identified servo: export it as isaac-lab-gru, whose graph holds the servo, or train "
            "over a PD law (model.kp_phys and model.kd_phys without model.servo_base)"
        )
    if network.base is not None:
        bias = np.asarray(network.weights["head.bias"], dtype=np.float64)
        bias = bias + stats.output_mean / stats.output_deviation
        network = _with_weights(network, {"head.bias": bias})
        content["target_mean"] = [0.0]
    folder.mkdir(parents=True, exist_ok=True)
    graph, statistics, summary = (folder / name for name in COMBINED_FILES)
    write_torchscript(Deployment(network, normalization=False, base=False, limits=False), graph)
    atomic.write_text(statistics, json.dumps(content, indent=2))
    atomic.write_text(summary, json.dumps(combined_summary(network), indent=2))
    return (
        f"{_head(network)}from trueup.networks.isaac_lab import CombinedGRUAndPDActuatorCfg\n\n"
        "ACTUATOR_CFG = CombinedGRUAndPDActuatorCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    run_folder={str(folder)!r},\n"
        f"    physics_dt={1.0 / network.rate!r},  # s, that of your simulation\n"
        f"    effort_limit={'...' if network.torque_limit is None else network.torque_limit},"
        "  # N m\n)\n"
    )


def combined_summary(network: Network) -> dict[str, Any]:
    """The content of ``training_config_summary.json`` that ``CombinedGRUAndPDActuator`` reads."""
    base = network.base if isinstance(network.base, AnalyticBase) else None
    return {
        "use_residual": base is not None,
        "k_spring": 0.0 if base is None else base.k_spring,
        "k_spring_pulls_back": True,
        "theta0": 0.0 if base is None else base.theta0,
        "kp_phys": 0.0 if base is None else base.kp,
        "kd_phys": 0.0 if base is None else base.kd,
        "pd_target_velocity": False if base is None else base.target_velocity,
        "pd_stall_torque_phys_training": None if base is None else base.stall_torque,
        "pd_no_load_speed_phys_training": None if base is None else base.no_load_speed,
        "gru_num_layers": network.layers,
        "gru_hidden_dim": network.hidden,
        "gru_sequence_length_timesteps": network.provenance.get("sequence_length"),
        "input_dim": len(network.features),
        "feature_names": list(network.features),
        "rate_hz": network.rate,
        "torque_limit_nm": network.torque_limit,
    }


def _save_mlp(deployment: Deployment, path: Path, **entries: Any) -> None:
    from trueup.networks.export.torch_modules import IsaacMlp

    scales = {"pos_scale": 1.0, "vel_scale": 1.0, "torque_scale": 1.0, "input_order": "pos_vel"}
    save_script(IsaacMlp(deployment), path, metadata_text(deployment, **scales, **entries))


def _with_weights(network: Network, weights: dict[str, np.ndarray]) -> Network:
    from dataclasses import replace

    return replace(network, weights={**network.weights, **weights})


def _head(network: Network) -> str:
    return (
        f"# A learned actuator, one step every {1.0 / network.rate:g} s ({network.rate:g} Hz): the "
        "physics step must be that long.\n"
    )


def _motor(deployment: Deployment) -> str:
    return _MOTOR.format(effort=_effort(deployment))


def _effort(deployment: Deployment) -> str:
    """The class's limit of the network's torque, and what it is."""
    limit = deployment.limit_of_sum
    if limit is not None:
        return f"...,  # N m; {limit} N m is the limit of the sum with the base"
    limit = deployment.network.torque_limit
    return f"{'...' if limit is None else limit},  # N m"
