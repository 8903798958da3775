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


def write_network(deployment: Deployment, path: Path) -> str:
    """Write the TorchScript of mjlab's ``LearnedMlpActuatorCfg``; return its configuration.

    Raises:
        FitError: the network is not supported.
    """
    fit = fitted(
        deployment, "LearnedMlpActuatorCfg of mjlab", ("mlp", "linear"), SIMULATOR_FEATURE_NAMES
    )
    save_mlp(fit, path, history_length=fit.network.history)
    return (
        f"{head_of(fit.network)}"
        "from mjlab.actuator import LearnedMlpActuatorCfg\n\n"
        "ACTUATOR_CFG = LearnedMlpActuatorCfg(\n"
        '    target_names_expr=(".*",),\n'
        f"    network_file={str(path)!r},\n"
        "    pos_scale=1.0, vel_scale=1.0, torque_scale=1.0,  # scaled inside the network\n"
        f'    input_order="pos_vel", history_length={fit.network.history},\n'
        f"{motor_limits(fit)})\n"
    )


def write_ensemble(request: DrawsRequest) -> DrawsExport:
    """Configuration and file of an ensemble: each environment has its own network.

    Raises:
        FitError: the networks are not supported.
    """
    return export_ensemble(request, "mjlab")
