"""Servo actuators: from recordings on a bench to a friction model for every simulator."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.actuators import record
    from trueup.actuators._choose_model import ModelChoice, TriedModel, choose_model
    from trueup.actuators._compare import ComparedModel, ModelComparison, compare
    from trueup.actuators._compare_report import comparison_image, comparison_report
    from trueup.actuators._drive_backdrive import DriveBackdrive, drive_backdrive, stall_torque
    from trueup.actuators._drive_backdrive_report import (
        drive_backdrive_image,
        drive_backdrive_report,
    )
    from trueup.actuators._evaluate import Evaluation, evaluate
    from trueup.actuators._fit import ServoFitInterrupted, fit
    from trueup.actuators._friction_curves import FrictionCurves, friction_curves
    from trueup.actuators._information_criteria import (
        InformationCriteria,
        effective_samples,
        information_criteria,
    )
    from trueup.actuators._isaac_lab_export import isaac_lab_snippet
    from trueup.actuators._jitter import IntervalStatistics, Jitter, jitter, jitter_figure
    from trueup.actuators._mjcf_export import MJCF_FORMS, mjcf_snippet
    from trueup.actuators._model_errors import ModelErrors, model_errors
    from trueup.actuators._overlay_image import overlay_images
    from trueup.actuators._overlay_report import overlay_report
    from trueup.actuators._parameter_files import load_models
    from trueup.actuators._process import ProcessedLog, process, resample_log
    from trueup.actuators._servo_report import servo_fit_report, servo_report
    from trueup.actuators.bench import Bench, Pendulum, TabulatedBench, bench_of
    from trueup.actuators.catalogue import find_servo, load_catalogue, register, servos
    from trueup.actuators.designed_trajectories import (
        chirp,
        multisine,
        releases,
        slow_ramp,
        staircase,
    )
    from trueup.actuators.extended_terms import EXTENDED_TERMS
    from trueup.actuators.fit_assessment import ServoAssessment
    from trueup.actuators.fit_settings import FitSettings
    from trueup.actuators.friction_models import (
        FRICTION_MODELS,
        QUADRATIC_FORMS,
        FrictionModel,
        friction_model,
    )
    from trueup.actuators.joint_bench import bench_from_mujoco
    from trueup.actuators.log_files import read_log, read_logs, write_log
    from trueup.actuators.log_splits import split_logs
    from trueup.actuators.model_parameter import ModelParameter
    from trueup.actuators.mujoco_law import ServoLaw, servo_law
    from trueup.actuators.objective import Objective
    from trueup.actuators.parameter_file import (
        load_model,
        model_from_dict,
        model_to_dict,
        published_models,
        save_model,
    )
    from trueup.actuators.problem import ServoProblem
    from trueup.actuators.servo import Servo
    from trueup.actuators.servo_fit import ServoFit
    from trueup.actuators.servo_laws import SERVO_LAWS, motor_torque
    from trueup.actuators.servo_log import ServoLog
    from trueup.actuators.servo_model import ServoModel
    from trueup.actuators.simulator import SCHEMES, BenchSimulator, Rollouts
    from trueup.actuators.trajectories import (
        MotionLimits,
        Trajectory,
        all_trajectories,
        check_trajectory,
        trajectory_named,
    )

_EXPORTS = {
    "Bench": "trueup.actuators.bench",
    "BenchSimulator": "trueup.actuators.simulator",
    "ComparedModel": "trueup.actuators._compare",
    "DriveBackdrive": "trueup.actuators._drive_backdrive",
    "EXTENDED_TERMS": "trueup.actuators.extended_terms",
    "Evaluation": "trueup.actuators._evaluate",
    "FRICTION_MODELS": "trueup.actuators.friction_models",
    "FitSettings": "trueup.actuators.fit_settings",
    "FrictionCurves": "trueup.actuators._friction_curves",
    "FrictionModel": "trueup.actuators.friction_models",
    "InformationCriteria": "trueup.actuators._information_criteria",
    "IntervalStatistics": "trueup.actuators._jitter",
    "Jitter": "trueup.actuators._jitter",
    "MJCF_FORMS": "trueup.actuators._mjcf_export",
    "ModelChoice": "trueup.actuators._choose_model",
    "ModelComparison": "trueup.actuators._compare",
    "ModelErrors": "trueup.actuators._model_errors",
    "ModelParameter": "trueup.actuators.model_parameter",
    "MotionLimits": "trueup.actuators.trajectories",
    "Objective": "trueup.actuators.objective",
    "Pendulum": "trueup.actuators.bench",
    "ProcessedLog": "trueup.actuators._process",
    "QUADRATIC_FORMS": "trueup.actuators.friction_models",
    "Rollouts": "trueup.actuators.simulator",
    "SCHEMES": "trueup.actuators.simulator",
    "SERVO_LAWS": "trueup.actuators.servo_laws",
    "Servo": "trueup.actuators.servo",
    "ServoAssessment": "trueup.actuators.fit_assessment",
    "ServoFit": "trueup.actuators.servo_fit",
    "ServoFitInterrupted": "trueup.actuators._fit",
    "ServoLaw": "trueup.actuators.mujoco_law",
    "ServoLog": "trueup.actuators.servo_log",
    "ServoModel": "trueup.actuators.servo_model",
    "ServoProblem": "trueup.actuators.problem",
    "TabulatedBench": "trueup.actuators.bench",
    "Trajectory": "trueup.actuators.trajectories",
    "TriedModel": "trueup.actuators._choose_model",
    "all_trajectories": "trueup.actuators.trajectories",
    "bench_from_mujoco": "trueup.actuators.joint_bench",
    "bench_of": "trueup.actuators.bench",
    "check_trajectory": "trueup.actuators.trajectories",
    "chirp": "trueup.actuators.designed_trajectories",
    "choose_model": "trueup.actuators._choose_model",
    "compare": "trueup.actuators._compare",
    "comparison_image": "trueup.actuators._compare_report",
    "comparison_report": "trueup.actuators._compare_report",
    "drive_backdrive": "trueup.actuators._drive_backdrive",
    "drive_backdrive_image": "trueup.actuators._drive_backdrive_report",
    "drive_backdrive_report": "trueup.actuators._drive_backdrive_report",
    "effective_samples": "trueup.actuators._information_criteria",
    "evaluate": "trueup.actuators._evaluate",
    "find_servo": "trueup.actuators.catalogue",
    "fit": "trueup.actuators._fit",
    "friction_curves": "trueup.actuators._friction_curves",
    "friction_model": "trueup.actuators.friction_models",
    "information_criteria": "trueup.actuators._information_criteria",
    "isaac_lab_snippet": "trueup.actuators._isaac_lab_export",
    "jitter": "trueup.actuators._jitter",
    "jitter_figure": "trueup.actuators._jitter",
    "load_catalogue": "trueup.actuators.catalogue",
    "load_model": "trueup.actuators.parameter_file",
    "load_models": "trueup.actuators._parameter_files",
    "mjcf_snippet": "trueup.actuators._mjcf_export",
    "model_errors": "trueup.actuators._model_errors",
    "model_from_dict": "trueup.actuators.parameter_file",
    "model_to_dict": "trueup.actuators.parameter_file",
    "motor_torque": "trueup.actuators.servo_laws",
    "multisine": "trueup.actuators.designed_trajectories",
    "overlay_images": "trueup.actuators._overlay_image",
    "overlay_report": "trueup.actuators._overlay_report",
    "process": "trueup.actuators._process",
    "published_models": "trueup.actuators.parameter_file",
    "read_log": "trueup.actuators.log_files",
    "read_logs": "trueup.actuators.log_files",
    "record": "trueup.actuators.record",
    "register": "trueup.actuators.catalogue",
    "releases": "trueup.actuators.designed_trajectories",
    "resample_log": "trueup.actuators._process",
    "save_model": "trueup.actuators.parameter_file",
    "servo_law": "trueup.actuators.mujoco_law",
    "servo_fit_report": "trueup.actuators._servo_report",
    "servo_report": "trueup.actuators._servo_report",
    "servos": "trueup.actuators.catalogue",
    "slow_ramp": "trueup.actuators.designed_trajectories",
    "split_logs": "trueup.actuators.log_splits",
    "staircase": "trueup.actuators.designed_trajectories",
    "stall_torque": "trueup.actuators._drive_backdrive",
    "trajectory_named": "trueup.actuators.trajectories",
    "write_log": "trueup.actuators.log_files",
}

__all__ = [
    "EXTENDED_TERMS",
    "FRICTION_MODELS",
    "MJCF_FORMS",
    "QUADRATIC_FORMS",
    "SCHEMES",
    "SERVO_LAWS",
    "Bench",
    "BenchSimulator",
    "ComparedModel",
    "DriveBackdrive",
    "Evaluation",
    "FitSettings",
    "FrictionCurves",
    "FrictionModel",
    "InformationCriteria",
    "IntervalStatistics",
    "Jitter",
    "ModelChoice",
    "ModelComparison",
    "ModelErrors",
    "ModelParameter",
    "MotionLimits",
    "Objective",
    "Pendulum",
    "ProcessedLog",
    "Rollouts",
    "Servo",
    "ServoAssessment",
    "ServoFit",
    "ServoFitInterrupted",
    "ServoLaw",
    "ServoLog",
    "ServoModel",
    "ServoProblem",
    "TabulatedBench",
    "Trajectory",
    "TriedModel",
    "all_trajectories",
    "bench_from_mujoco",
    "bench_of",
    "check_trajectory",
    "chirp",
    "choose_model",
    "compare",
    "comparison_image",
    "comparison_report",
    "drive_backdrive",
    "drive_backdrive_image",
    "drive_backdrive_report",
    "effective_samples",
    "evaluate",
    "find_servo",
    "fit",
    "friction_curves",
    "friction_model",
    "information_criteria",
    "isaac_lab_snippet",
    "jitter",
    "jitter_figure",
    "load_catalogue",
    "load_model",
    "load_models",
    "mjcf_snippet",
    "model_errors",
    "model_from_dict",
    "model_to_dict",
    "motor_torque",
    "multisine",
    "overlay_images",
    "overlay_report",
    "process",
    "published_models",
    "read_log",
    "read_logs",
    "record",
    "register",
    "releases",
    "resample_log",
    "save_model",
    "servo_fit_report",
    "servo_law",
    "servo_report",
    "servos",
    "slow_ramp",
    "split_logs",
    "staircase",
    "stall_torque",
    "trajectory_named",
    "write_log",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
