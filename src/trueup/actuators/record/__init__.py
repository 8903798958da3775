"""Recording on hardware: servo drivers, single recordings, and sweeps over gains.

::

    from trueup.actuators import record, trajectory_named

    with record.DynamixelDriver("/dev/ttyUSB0", "xl330") as driver:
        record.record(
            driver,
            trajectory_named("sin_sin"),
            "raw/first.json",
            bench=record.Bench(mass=0.49, length=0.1),
            kp=200,
        )
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.actuators.record._record import record
    from trueup.actuators.record._sweep import (
        STANDARD_GAINS,
        STANDARD_TRAJECTORIES,
        SweepProgress,
        plan_sweep,
        record_sweep,
        standard_gains,
        sweep_seconds,
    )
    from trueup.actuators.record.bus_driver import BusDriver, DynamixelDriver
    from trueup.actuators.record.control_tables import table_of
    from trueup.actuators.record.driver import Reading, ServoDriver, ServoLimits
    from trueup.actuators.record.partial_log import recover
    from trueup.actuators.record.settings import Bench, RecordSettings
    from trueup.actuators.record.simulated_servo import Pendulum, SimulatedServo
    from trueup.actuators.record.trajectory_file import (
        read_trajectory,
        trajectory_of,
        write_trajectory,
    )

_EXPORTS = {
    "Reading": "trueup.actuators.record.driver",
    "ServoLimits": "trueup.actuators.record.driver",
    "STANDARD_GAINS": "trueup.actuators.record._sweep",
    "STANDARD_TRAJECTORIES": "trueup.actuators.record._sweep",
    "Bench": "trueup.actuators.record.settings",
    "BusDriver": "trueup.actuators.record.bus_driver",
    "DynamixelDriver": "trueup.actuators.record.bus_driver",
    "Pendulum": "trueup.actuators.record.simulated_servo",
    "RecordSettings": "trueup.actuators.record.settings",
    "ServoDriver": "trueup.actuators.record.driver",
    "SimulatedServo": "trueup.actuators.record.simulated_servo",
    "SweepProgress": "trueup.actuators.record._sweep",
    "plan_sweep": "trueup.actuators.record._sweep",
    "read_trajectory": "trueup.actuators.record.trajectory_file",
    "record": "trueup.actuators.record._record",
    "record_sweep": "trueup.actuators.record._sweep",
    "recover": "trueup.actuators.record.partial_log",
    "standard_gains": "trueup.actuators.record._sweep",
    "sweep_seconds": "trueup.actuators.record._sweep",
    "table_of": "trueup.actuators.record.control_tables",
    "trajectory_of": "trueup.actuators.record.trajectory_file",
    "write_trajectory": "trueup.actuators.record.trajectory_file",
}

__all__ = [
    "STANDARD_GAINS",
    "STANDARD_TRAJECTORIES",
    "Bench",
    "BusDriver",
    "DynamixelDriver",
    "Pendulum",
    "Reading",
    "RecordSettings",
    "ServoDriver",
    "ServoLimits",
    "SimulatedServo",
    "SweepProgress",
    "plan_sweep",
    "read_trajectory",
    "record",
    "record_sweep",
    "recover",
    "standard_gains",
    "sweep_seconds",
    "table_of",
    "trajectory_of",
    "write_trajectory",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
