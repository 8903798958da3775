"""Identified servo models as an actuator class of mjlab, batched over environments.

mjlab's classes are the base, so the names below are made when they are used, and only then need
mjlab and torch:

- ``ServoActuatorCfg``: the actuator of a parameter file, for an entity's articulation.
- ``ServoActuator``: what it builds.
- ``prepare_servo_fields``: an event term that gives each environment its own friction.
- ``SERVO_MODEL_FIELDS``: model fields that it expands.

mjlab, https://github.com/mujocolab/mjlab, 1.6.
"""

import importlib
from typing import Any

from trueup.errors import TrueupError

_EXPORTS = {
    "SERVO_MODEL_FIELDS": "trueup.actuators.mjlab.model_fields",
    "ServoActuator": "trueup.actuators.mjlab.actuator",
    "ServoActuatorCfg": "trueup.actuators.mjlab.config",
    "prepare_servo_fields": "trueup.actuators.mjlab.model_fields",
}


class MissingSimulatorError(TrueupError, ImportError):
    """mjlab, or the torch it runs on, is not installed."""


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        for package in ("torch", "mjlab.actuator"):
            importlib.import_module(package)
    except ImportError as error:
        package = (error.name or "mjlab").partition(".")[0]
        raise MissingSimulatorError(
            f"{name} needs mjlab, and the package {package!r} is not installed: install mjlab as "
            "https://github.com/mujocolab/mjlab says, in the environment of your training"
        ) from error
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
