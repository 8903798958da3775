"""Networks in the format of mjlab's ``LearnedMlpActuator``, that of ``ActuatorNetMLP``.

mjlab 1.6, https://github.com/mujocolab/mjlab.
"""

from pathlib import Path

from trueup.deploy.draws import DrawsExport, DrawsRequest
from trueup.deploy.ensemble import export_ensemble
from trueup.deploy.isaac_lab.network import head_of, motor_limits, save_mlp
from trueup.deploy.simulator_fit import fitted
from trueup.networks.data.features import SIMULATOR_FEATURE_NAMES
from trueup.networks.runtime.deployment import Deployment


def fit(deployment: Deployment) -> Deployment:
    """The network on the inputs of ``LearnedMlpActuator``.

    Raises:
        FitError: the network is not supported.
    """
    name = "LearnedMlpActuatorCfg of mjlab"
    return fitted(deployment, name, ("mlp", "linear"), SIMULATOR_FEATURE_NAMES)


def write_network(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of mjlab's ``LearnedMlpActuatorCfg``; return its configuration.

    Raises:
        FitError: the network is not supported.
    """
    written = fit(deployment)
    network = written.network
    save_mlp(written, path, history_length=network.history)
    return (
        f"{head_of(network)}"
        "from mjlab.actuator import LearnedMlpActuatorCfg\n\n"
        "ACTUATOR_CFG = LearnedMlpActuatorCfg(\n"
        '    target_names_expr=(".*",),\n'
        f"    network_file={str(path)!r},\n"
        "    pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,  # scaled inside the network\n"
        f'    input_order="pos_vel", history_length={network.history},\n'
        f"{motor_limits(written)})\n"
    )


def write_ensemble(request: DrawsRequest) -> DrawsExport:
    """Configuration and file of an ensemble: each environment has its own network.

    Raises:
        FitError: the networks are not supported.
    """
    return export_ensemble(request, "mjlab")
