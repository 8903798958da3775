"""Servo actuators: from recordings on a bench to a friction model for every simulator."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.actuators.log_files import read_log, read_logs
    from trueup.actuators.servo_log import ServoLog

_EXPORTS = {
    "ServoLog": "trueup.actuators.servo_log",
    "read_log": "trueup.actuators.log_files",
    "read_logs": "trueup.actuators.log_files",
}

__all__ = [
    "ServoLog",
    "read_log",
    "read_logs",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
