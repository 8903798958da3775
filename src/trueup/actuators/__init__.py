"""Servo actuators: from recordings on a bench to a friction model for every simulator."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.actuators import record
    from trueup.actuators._jitter import IntervalStatistics, Jitter, jitter, jitter_figure
    from trueup.actuators._process import ProcessedLog, process, resample_log
    from trueup.actuators.designed_trajectories import (
        chirp,
        multisine,
        releases,
        slow_ramp,
        staircase,
    )
    from trueup.actuators.log_files import read_log, read_logs, write_log
    from trueup.actuators.log_splits import split_logs
    from trueup.actuators.servo_log import ServoLog
    from trueup.actuators.trajectories import (
        MotionLimits,
        Trajectory,
        all_trajectories,
        check_trajectory,
        trajectory_named,
    )

_EXPORTS = {
    "IntervalStatistics": "trueup.actuators._jitter",
    "Jitter": "trueup.actuators._jitter",
    "MotionLimits": "trueup.actuators.trajectories",
    "ProcessedLog": "trueup.actuators._process",
    "ServoLog": "trueup.actuators.servo_log",
    "Trajectory": "trueup.actuators.trajectories",
    "all_trajectories": "trueup.actuators.trajectories",
    "check_trajectory": "trueup.actuators.trajectories",
    "chirp": "trueup.actuators.designed_trajectories",
    "jitter": "trueup.actuators._jitter",
    "jitter_figure": "trueup.actuators._jitter",
    "multisine": "trueup.actuators.designed_trajectories",
    "process": "trueup.actuators._process",
    "read_log": "trueup.actuators.log_files",
    "read_logs": "trueup.actuators.log_files",
    "record": "trueup.actuators.record",
    "releases": "trueup.actuators.designed_trajectories",
    "resample_log": "trueup.actuators._process",
    "slow_ramp": "trueup.actuators.designed_trajectories",
    "split_logs": "trueup.actuators.log_splits",
    "staircase": "trueup.actuators.designed_trajectories",
    "trajectory_named": "trueup.actuators.trajectories",
    "write_log": "trueup.actuators.log_files",
}

__all__ = [
    "IntervalStatistics",
    "Jitter",
    "MotionLimits",
    "ProcessedLog",
    "ServoLog",
    "Trajectory",
    "all_trajectories",
    "check_trajectory",
    "chirp",
    "jitter",
    "jitter_figure",
    "multisine",
    "process",
    "read_log",
    "read_logs",
    "record",
    "releases",
    "resample_log",
    "slow_ramp",
    "split_logs",
    "staircase",
    "trajectory_named",
    "write_log",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
