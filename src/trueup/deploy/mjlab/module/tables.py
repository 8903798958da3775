"""Names that the writer defines: tables of servos, friction models and equations.

This part is not concatenated; it declares names for the others.
"""

from typing import Any

SERVOS: dict[str, dict[str, Any]] = {}
"""Servo -> its constants, as in the catalogue."""
FRICTIONS: dict[str, dict[str, Any]] = {}
"""Friction model -> ``parameters``, ``reads_load`` and ``loss``, its equation."""
TERMS: dict[str, tuple[str, ...]] = {}
"""Servo law -> extended terms that it supports."""
MOTORS: dict[str, tuple[Any, Any]] = {}
"""Servo law -> its equation without and with the terms of :data:`MOTOR_TERMS`."""
HOLDING: dict[str, Any] = {}
"""Servo law -> equation of the initial target of a firmware that holds its joint."""
MOTOR_TERMS: tuple[str, ...] = ()
"""Extended terms in the equation of the motor."""
NOT_NEGATIVE: tuple[str, ...] = ()
"""Parameters that must not be negative."""
IDENTIFIED: dict[str, Any] = {}
"""Content of the parameter file that the module was written from."""
KP: float | None = None
"""Firmware gain of the servo that the module was written from; None: that of its table."""
VIN: float | None = None
"""Bus voltage of that servo [V], likewise."""
