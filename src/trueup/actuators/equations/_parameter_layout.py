"""Where each quantity of a servo stands in the row of numbers that the compiled bench reads.

Models M1 to M6 and all servo laws share one row: what a model does not have is zero, or infinite
where it is a limit.
"""

INDEX = {
    "kt": 0,
    "R": 1,
    "armature": 2,
    "q_offset": 3,
    "friction_base": 4,
    "friction_viscous": 5,
    "friction_stribeck": 6,
    "load_friction_motor": 7,
    "load_friction_external": 8,
    "load_friction_motor_stribeck": 9,
    "load_friction_external_stribeck": 10,
    "load_friction_motor_quad": 11,
    "load_friction_external_quad": 12,
    "dtheta_stribeck": 13,
    "alpha": 14,
    "error_gain_ratio": 15,
    "max_velocity": 16,
    "limit": 17,
    "command_delay": 18,
    "backlash": 19,
    "winding_braking": 20,
    "measured_voltage": 21,
    "resistance_temperature": 22,
    "supply_resistance": 23,
    "torque_saturation": 24,
}
"""Quantity -> column of the row."""

SIZE = len(INDEX)
"""Columns of the row."""

ENTERS_AS = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
    "current_limit": ("limit",),
    "max_torque": ("limit",),
    "ratio": ("error_gain_ratio",),
}
"""Parameters that enter the row under another name, or twice: the load friction of M3 and M4 is
that of M5 with both torques weighted alike."""

NEUTRAL = {
    "kt": 1.0,
    "R": 1.0,
    "dtheta_stribeck": 1.0,
    "alpha": 1.0,
    "error_gain_ratio": 1.0,
    "max_velocity": float("inf"),
    "limit": float("inf"),
}
"""Value of a quantity that a servo or model does not have; zero where none stands here."""

LAWS = {"voltage": 0, "current": 1, "bus_current": 2, "current_pd": 3, "torque_pd": 4}
"""Servo law -> number in the compiled bench."""

BENCH_COLUMNS = {
    "dt": 0,
    "substeps": 1,
    "gain": 2,
    "damping_gain": 3,
    "max_pwm": 4,
    "max_amps": 5,
    "voltage": 6,
    "inertia": 7,
    "gravity": 8,
    "table_start": 9,
    "table_size": 10,
    "table_lower": 11,
    "table_step": 12,
    "reset_period": 13,
}
"""Number of a log -> column of the table of logs."""

REFERENCE_TEMPERATURE = 25.0
"""Temperature at which R is stated [degrees C]."""


def columns_of(name: str) -> tuple[int, ...]:
    """Columns of the row that a parameter enters."""
    return tuple(INDEX[quantity] for quantity in ENTERS_AS.get(name, (name,)))


def neutral_row() -> list[float]:
    """A row in which every quantity is absent."""
    return [NEUTRAL.get(name, 0.0) for name in INDEX]
