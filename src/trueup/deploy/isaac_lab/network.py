"""Networks in the formats of the actuator classes of Isaac Lab.

Isaac Lab 2.3, https://github.com/isaac-sim/IsaacLab: ``ActuatorNetMLP``, ``ActuatorNetLSTM``; its
pull request 6083: ``ActuatorNetGRU``.
"""

from pathlib import Path
from typing import Any

from trueup.deploy.draws import DrawsExport, DrawsRequest
from trueup.deploy.ensemble import export_ensemble
from trueup.deploy.simulator_fit import fitted
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, SIMULATOR_FEATURE_NAMES, VELOCITY
from trueup.networks.model.network import Network
from trueup.networks.runtime.deployment import Deployment, metadata_text
from trueup.networks.runtime.torchscript import save_script, write_torchscript

_MOTOR = """\
    # the motor's limits, which the class applies after the network
    effort_limit={effort}
    saturation_effort=...,  # N m, stall torque
    velocity_limit=...,  # rad/s, no-load speed
"""


def fit(deployment: Deployment) -> Deployment:
    """The network on the inputs of the actuator class of its family.

    Raises:
        FitError: the network is not supported.
    """
    family = deployment.network.family
    return {"lstm": _lstm_fit, "gru": _gru_fit}.get(family, _mlp_fit)(deployment)


def write_network(deployment: Deployment, path: Path) -> str:
    """Write a network for the actuator class of its family; return its configuration as text.

    Raises:
        FitError: the network is not supported.
    """
    writers = {"lstm": write_lstm, "gru": write_gru}
    return writers.get(deployment.network.family, write_mlp)(deployment, path)


def write_ensemble(request: DrawsRequest) -> DrawsExport:
    """Configuration and file of an ensemble: each environment has its own network.

    Raises:
        FitError: the networks are not supported.
    """
    return export_ensemble(request, "isaac-lab")


def write_mlp(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetMLP``; return its configuration as text.

    Raises:
        FitError: the network is not supported.
    """
    own = _mlp_fit(deployment)
    history = list(range(own.network.history))
    save_mlp(own, path, input_idx=history)
    return (
        f"{head_of(own.network)}from isaaclab.actuators import ActuatorNetMLPCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetMLPCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n"
        "    pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,  # scaled inside the network\n"
        f'    input_order="pos_vel", input_idx={history},\n{motor_limits(own)})\n'
    )


def write_lstm(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetLSTM``; return its configuration as text.

    Raises:
        FitError: the network is not supported.
    """
    own = _lstm_fit(deployment)
    from trueup.deploy.isaac_lab.network_modules import IsaacLstm

    save_script(IsaacLstm(own), path, metadata_text(own))
    return (
        f"{head_of(own.network)}from isaaclab.actuators import ActuatorNetLSTMCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetLSTMCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n{motor_limits(own)})\n"
    )


def write_gru(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of ``ActuatorNetGRU``; return its configuration as text.

    If the graph excludes normalisation, the configuration contains it.

    Raises:
        FitError: the network is not supported.
    """
    own = _gru_fit(deployment)
    write_torchscript(own, path)
    stats = own.network.normalization
    pairs = [*zip(stats.input_mean, stats.input_deviation, strict=True)]
    pairs.append((stats.output_mean, stats.output_deviation))
    names = ("position", "pos_error", "vel", "output")
    fields = "".join(
        f"    {name}_normalization="
        + ("None" if own.normalization else f"({float(mean)!r}, {float(deviation)!r})")
        + ",\n"
        for name, (mean, deviation) in zip(names, pairs, strict=True)
    )
    return (
        f"{head_of(own.network)}# ActuatorNetGRU is from Isaac Lab's pull request 6083, not in any "
        "release; isaac-lab-combined runs in released versions.\n"
        "from isaaclab.actuators import ActuatorNetGRUCfg\n\n"
        "ACTUATOR_CFG = ActuatorNetGRUCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    network_file={str(path)!r},\n{fields}"
        f"    effort_limit={_effort(own)}\n)\n"
    )


def _mlp_fit(deployment: Deployment) -> Deployment:
    families = ("mlp", "linear")
    return fitted(deployment, "ActuatorNetMLP of Isaac Lab", families, SIMULATOR_FEATURE_NAMES)


def _lstm_fit(deployment: Deployment) -> Deployment:
    return fitted(deployment, "ActuatorNetLSTM of Isaac Lab", ("lstm",), SIMULATOR_FEATURE_NAMES)


def _gru_fit(deployment: Deployment) -> Deployment:
    features = (ANGLE, ANGLE_ERROR, VELOCITY)
    return fitted(deployment, "ActuatorNetGRU of Isaac Lab", ("gru",), features)


def save_mlp(deployment: Deployment, path: Path, **entries: Any) -> None:
    """Write the TorchScript of an ``mlp`` or ``linear`` network with metadata entries."""
    from trueup.deploy.isaac_lab.network_modules import IsaacMlp

    scales = {"pos_scale": 1.0, "vel_scale": 1.0, "torque_scale": 1.0, "input_order": "pos_vel"}
    save_script(IsaacMlp(deployment), path, metadata_text(deployment, **scales, **entries))


def head_of(network: Network) -> str:
    """Comment on the rate, for the head of a configuration."""
    return (
        f"# A learned actuator, one step every {1.0 / network.rate:g} s ({network.rate:g} Hz): the "
        "physics step must be the same.\n"
    )


def motor_limits(deployment: Deployment) -> str:
    """Motor limits in a configuration."""
    return _MOTOR.format(effort=_effort(deployment))


def _effort(deployment: Deployment) -> str:
    """Effort limit of the class, with a comment."""
    limit = deployment.limit_of_sum
    if limit is not None:
        return f"...,  # N m; {limit} N m is the limit of the sum with the base"
    limit = deployment.network.torque_limit
    return f"{'...' if limit is None else limit},  # N m"
