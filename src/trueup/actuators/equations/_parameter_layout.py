"""Named columns of the parameter rows of compiled code.

Models M1 to M6 and all servo laws share one row of parameters: absent parameters are zero,
or infinite if they are limits.
"""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.actuators.equations.servo_equations import LAWS as _LAWS

QUANTITIES = (
    "kt",
    "R",
    "armature",
    "q_offset",
    "friction_base",
    "friction_viscous",
    "friction_stribeck",
    "load_friction_motor",
    "load_friction_external",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
    "load_friction_motor_quad",
    "load_friction_external_quad",
    "dtheta_stribeck",
    "alpha",
    "error_gain_ratio",
    "max_velocity",
    "limit",
    "command_delay",
    "backlash",
    "winding_braking",
    "measured_voltage",
    "resistance_temperature",
    "supply_resistance",
    "torque_saturation",
)
"""Names of the columns of a row of parameters."""


def columns_named(names: tuple[str, ...]) -> Any:
    """Column numbers by name, as a named tuple."""
    return namedtuple("Columns", names)(*range(len(names)))


C = columns_named(QUANTITIES)
"""Columns of a row of parameters: ``row[C.kt]``."""

LOG = columns_named(
    (
        "dt",
        "substeps",
        "gain",
        "rate_gain",
        "max_pwm",
        "max_amps",
        "voltage",
        "inertia",
        "gravity",
        "table_start",
        "table_size",
        "table_lower",
        "table_step",
        "reset_period",
    )
)
"""Columns of the table of logs; a row per log."""

ENTERS_AS = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
    "current_limit": ("limit",),
    "max_torque": ("limit",),
    "ratio": ("error_gain_ratio",),
}
"""Parameters that enter the row under another name, or twice: the load friction of M3 and M4 is
that of M5 with equal weights of both torques. If the row has a column with their own name they
enter that column: equations of registered models may use them differently."""

NEUTRAL = {
    "kt": 1.0,
    "R": 1.0,
    "dtheta_stribeck": 1.0,
    "alpha": 1.0,
    "error_gain_ratio": 1.0,
    "max_velocity": float("inf"),
    "limit": float("inf"),
}
"""Value of a quantity that a servo or model does not have; zero for those not listed."""

LAWS = {name: number for number, name in enumerate(_LAWS)}
"""Servo law -> number in compiled code."""


UNLIMITED = 1e30
"""Infinity in rows: a limit that no torque, current or speed reaches; finite, so that 0 times it is
0."""


def absent_columns(columns: Sequence[str]) -> set[str]:
    """Parameters of the friction budget without a column, which are 0."""
    return {"load_friction_base", "load_friction_stribeck"} - set(columns)


class Layout:
    """Columns of a row of parameters, followed by those of a registered friction model.

    Args:
      more: names of additional columns.
    """

    def __init__(self, more: Sequence[str] = ()):
        self.names = (*QUANTITIES, *more)
        """Names of the columns."""
        self.neutral = np.array(
            [min(NEUTRAL.get(name, 0.0), UNLIMITED) for name in self.names], float
        )
        """Row in which every quantity is absent."""

    def columns_of(self, name: str) -> tuple[int, ...]:
        """Columns of the row of a parameter."""
        quantities = (name,) if name in self.names else ENTERS_AS.get(name, (name,))
        return tuple(self.names.index(quantity) for quantity in quantities)

    def row(self, values: Mapping[str, float]) -> np.ndarray:
        """The row of parameters."""
        row = self.neutral.copy()
        for name, value in values.items():
            row[list(self.columns_of(name))] = min(value, UNLIMITED)
        return row


class ParameterValues:
    """Parameters of an equation by name, with neutral values for those not given.

    Args:
      values: values by name: numbers, arrays, tensors or values of a graph.
      more: additional values.
    """

    def __init__(self, values: Mapping[str, Any], **more: Any):
        self._values = {**values, **more}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._values.get(name, NEUTRAL.get(name, 0.0))
