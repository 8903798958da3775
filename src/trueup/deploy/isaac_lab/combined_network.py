"""Networks for ``CombinedGRUAndPDActuator``: a stateful GRU with an analytic PD law, in a folder.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, 2.3: ``isaaclab.actuators``.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.deploy.isaac_lab.network import head_of
from trueup.deploy.joined_parts import ERRORS, joined_parts, source_of
from trueup.deploy.simulator_fit import fitted
from trueup.deploy.torch_equations import FUNCTIONS, parameter_function, torch_imports
from trueup.errors import FitError
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.equations import pd_torque, torque_speed_limit
from trueup.networks.base.servo import ServoBase
from trueup.networks.data.features import FEATURE_NAMES
from trueup.networks.model.network import Network
from trueup.networks.runtime.deployment import Deployment
from trueup.networks.runtime.step_rate import steps_a_period
from trueup.networks.runtime.torchscript import write_torchscript
from trueup.runs.store import atomic

COMBINED_FILES = (
    "network.pt",
    "normalization_stats.json",
    "training_config_summary.json",
    "combined_gru_and_pd_actuator.py",
)
"""Files of `write_combined`."""

_PARTS = ("run_files", "actuator", "config")

_HEAD = '''\
"""A stateful GRU with an analytic PD law as an actuator of Isaac Lab: ``CombinedGRUAndPDActuator``.

Written by trueup; requires torch and Isaac Lab, not trueup. ``CombinedGRUAndPDActuatorCfg``, with
``physics_dt``, goes among the actuators of an articulation. It reads network.pt,
normalization_stats.json and training_config_summary.json of ``run_folder``, by default that
of this module.
"""
'''


def fit(deployment: Deployment) -> Deployment:
    """The network alone, on angle, target angle and velocity, for ``CombinedGRUAndPDActuator``.

    Raises:
        FitError: the network is not supported.
    """
    bare = Deployment(deployment.network, normalization=False, base=False, limits=False)
    own = fitted(bare, "CombinedGRUAndPDActuator", ("gru",), FEATURE_NAMES)
    if isinstance(own.network.base, ServoBase):
        raise FitError(
            "CombinedGRUAndPDActuator adds a PD law to the network, but this one corrects an "
            "identified servo: export it as isaac-lab, whose graph contains the servo, or train "
            "over a PD law (model.kp_phys and model.kd_phys without model.servo_base)"
        )
    return own


def write_combined(deployment: Deployment, folder: Path) -> str:
    """Write the folder of ``CombinedGRUAndPDActuator``; returns its configuration as text.

    Its classes are in the folder, as a module without trueup. The graph contains only the network;
    statistics and analytic base are next to it, in ``normalization_stats.json`` and
    ``training_config_summary.json``. The mean of a residual is moved into the bias of the last
    layer, so that the mean in the file is zero and the base can be added before or after scaling
    the network's output.

    Raises:
        FitError: the network is not supported.
    """
    network = fit(deployment).network
    stats = network.normalization
    content = stats.to_dict()
    if network.base is not None:
        bias = np.asarray(network.weights["head.bias"], dtype=np.float64)
        bias = bias + stats.output_mean / stats.output_deviation
        network = _with_weights(network, {"head.bias": bias})
        content["target_mean"] = [0.0]
    folder.mkdir(parents=True, exist_ok=True)
    graph, statistics, summary, module = (folder / name for name in COMBINED_FILES)
    write_torchscript(Deployment(network, normalization=False, base=False, limits=False), graph)
    atomic.write_text(statistics, json.dumps(content, indent=2))
    atomic.write_text(summary, json.dumps(combined_summary(network), indent=2))
    atomic.write_text(module, combined_module())
    return (
        f"{head_of(network)}import sys\n\n"
        f"sys.path.append({str(folder)!r})\n"
        f"from {module.stem} import CombinedGRUAndPDActuatorCfg\n\n"
        "ACTUATOR_CFG = CombinedGRUAndPDActuatorCfg(\n"
        '    joint_names_expr=[".*"],\n'
        f"    run_folder={str(folder)!r},\n"
        f"    physics_dt={1.0 / network.rate!r},  # [s], time step of the simulation\n"
        f"    effort_limit={'...' if network.torque_limit is None else network.torque_limit},"
        "  # N m\n)\n"
    )


def combined_summary(network: Network) -> dict[str, Any]:
    """Content of ``training_config_summary.json`` for ``CombinedGRUAndPDActuator``."""
    base = network.base if isinstance(network.base, AnalyticBase) else None
    lowest, highest = network.feature_lowest, network.feature_highest
    return {
        "use_residual": base is not None,
        "k_spring": 0.0 if base is None else base.k_spring,
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
        "feature_lowest": None if lowest is None else np.asarray(lowest).tolist(),
        "feature_highest": None if highest is None else np.asarray(highest).tolist(),
    }


def combined_module() -> str:
    """Text of the module with the classes, the same for all networks."""

    def pd(angle, error, velocity, wanted, p):
        return pd_torque(angle, error, velocity, wanted, p, False)

    def pd_with_curve(angle, error, velocity, wanted, p):
        return pd_torque(angle, error, velocity, wanted, p, True)

    states = ("angle", "error", "velocity", "wanted")
    laws = (
        parameter_function("pd_law", pd, states),
        parameter_function("pd_law_with_curve", pd_with_curve, states),
        parameter_function("torque_speed_curve", torque_speed_limit, ("torque", "velocity")),
    )
    folder = Path(__file__).parent / "combined"
    files = (folder / f"{part}.py" for part in _PARTS)
    imports, classes = joined_parts(files, ("import math", *torch_imports("".join(laws))))
    texts = (
        f"{_HEAD}\n{imports}",
        FUNCTIONS,
        ERRORS,
        f"FOLDER = Path(__file__).resolve().parent\nFEATURE_NAMES = {FEATURE_NAMES!r}",
        *laws,
        source_of(steps_a_period).replace("FitError", "ParameterError"),
        classes,
    )
    return "\n\n\n".join(text.strip() for text in texts) + "\n"


def _with_weights(network: Network, weights: dict[str, np.ndarray]) -> Network:
    return replace(network, weights={**network.weights, **weights})
