"""A stateful GRU over an analytic PD base as an actuator class of Isaac Lab.

Isaac Lab's classes are the base, so the names below are made when they are used, and only then need
Isaac Lab and torch:

- ``CombinedGRUAndPDActuatorCfg``: settings, for an articulation's ``actuators``.
- ``CombinedGRUAndPDActuator``: what they make.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, 2.3: ``isaaclab.actuators``.
"""

import importlib
from typing import Any

from trueup.errors import TrueupError

_EXPORTS = {
    "CombinedGRUAndPDActuator": "trueup.networks.isaac_lab.actuator",
    "CombinedGRUAndPDActuatorCfg": "trueup.networks.isaac_lab.config",
}


class MissingIsaacLabError(TrueupError, ImportError):
    """Isaac Lab, or the torch it runs on, is not installed."""


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        for package in ("torch", "isaaclab.actuators"):
            importlib.import_module(package)
    except ImportError as error:
        package = (error.name or "isaaclab").partition(".")[0]
        raise MissingIsaacLabError(
            f"{name} needs Isaac Lab, and the package {package!r} is not installed: install Isaac "
            "Lab as https://isaac-sim.github.io/IsaacLab says, in the environment of your training"
        ) from error
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
