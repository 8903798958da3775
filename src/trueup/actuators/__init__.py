"""Servo actuators: from recordings on a bench to a friction model for every simulator."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.actuators import record
    from trueup.actuators.assess._evaluate import Evaluation, evaluate
    from trueup.actuators.assess.model_errors import ModelErrors, model_errors
    from trueup.actuators.bench.joint import bench_from_mujoco
    from trueup.actuators.bench.loads import Bench, Pendulum, bench_of
    from trueup.actuators.bench.objective import Objective
    from trueup.actuators.bench.simulator import BenchSimulator
    from trueup.actuators.catalogue.entries import find_servo, load_catalogue, register, servos
    from trueup.actuators.catalogue.parameter_file import (
        load_model,
        model_from_dict,
        published_models,
        save_model,
    )
    from trueup.actuators.catalogue.servo import Servo
    from trueup.actuators.catalogue.servo_model import ServoModel
    from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
    from trueup.actuators.equations.friction_models import (
        FRICTION_MODELS,
        friction_model,
        register_friction_model,
    )
    from trueup.actuators.equations.model_parameter import ModelParameter
    from trueup.actuators.equations.servo_laws import motor_torque
    from trueup.actuators.logs._jitter import jitter, jitter_figure
    from trueup.actuators.logs._process import process, resample_log
    from trueup.actuators.logs.files import read_log, read_logs, write_log
    from trueup.actuators.logs.servo_log import ServoLog
    from trueup.actuators.logs.splits import split_logs
    from trueup.actuators.mujoco.law import ServoLaw, servo_law
    from trueup.actuators.record.designed_trajectories import (
        chirp,
        multisine,
        releases,
        slow_ramp,
        staircase,
    )
    from trueup.actuators.record.trajectories import all_trajectories, trajectory_named
    from trueup.actuators.record.trajectory import Trajectory
    from trueup.actuators.report._drive_backdrive import drive_backdrive, stall_torque
    from trueup.actuators.report._drive_backdrive_report import (
        drive_backdrive_report,
    )
    from trueup.actuators.report._friction_curves import friction_curves
    from trueup.actuators.report._overlay import overlay_report
    from trueup.actuators.report._servo_fit import servo_fit_report, servo_report
    from trueup.actuators.report.overlay_image import overlay_images
    from trueup.actuators.search._fit import fit
    from trueup.actuators.search.fit_settings import FitSettings
    from trueup.actuators.search.problem import ServoProblem
    from trueup.actuators.search.servo_fit import ServoFit
    from trueup.actuators.search.spec import FitSpec, ServoFitInterrupted
    from trueup.actuators.selection._choose_model import choose_model
    from trueup.actuators.selection._compare import compare
    from trueup.actuators.selection._information_criteria import (
        effective_samples,
        information_criteria,
    )
    from trueup.actuators.selection.model_choice import ModelChoice, TriedModel
    from trueup.actuators.selection.model_comparison import ModelComparison
    from trueup.actuators.selection.settings import ComparisonSettings
    from trueup.actuators.selection.spec import ComparisonSpec

_EXPORTS = {
    "Bench": "trueup.actuators.bench.loads",
    "BenchSimulator": "trueup.actuators.bench.simulator",
    "ComparisonSettings": "trueup.actuators.selection.settings",
    "ComparisonSpec": "trueup.actuators.selection.spec",
    "EXTENDED_TERMS": "trueup.actuators.equations.extended_terms",
    "Evaluation": "trueup.actuators.assess._evaluate",
    "FRICTION_MODELS": "trueup.actuators.equations.friction_models",
    "FitSettings": "trueup.actuators.search.fit_settings",
    "FitSpec": "trueup.actuators.search.spec",
    "ModelChoice": "trueup.actuators.selection.model_choice",
    "ModelComparison": "trueup.actuators.selection.model_comparison",
    "ModelErrors": "trueup.actuators.assess.model_errors",
    "ModelParameter": "trueup.actuators.equations.model_parameter",
    "Objective": "trueup.actuators.bench.objective",
    "Pendulum": "trueup.actuators.bench.loads",
    "Servo": "trueup.actuators.catalogue.servo",
    "ServoFit": "trueup.actuators.search.servo_fit",
    "ServoFitInterrupted": "trueup.actuators.search.spec",
    "ServoLaw": "trueup.actuators.mujoco.law",
    "ServoLog": "trueup.actuators.logs.servo_log",
    "ServoModel": "trueup.actuators.catalogue.servo_model",
    "ServoProblem": "trueup.actuators.search.problem",
    "Trajectory": "trueup.actuators.record.trajectory",
    "TriedModel": "trueup.actuators.selection.model_choice",
    "all_trajectories": "trueup.actuators.record.trajectories",
    "bench_from_mujoco": "trueup.actuators.bench.joint",
    "bench_of": "trueup.actuators.bench.loads",
    "chirp": "trueup.actuators.record.designed_trajectories",
    "choose_model": "trueup.actuators.selection._choose_model",
    "compare": "trueup.actuators.selection._compare",
    "drive_backdrive": "trueup.actuators.report._drive_backdrive",
    "drive_backdrive_report": "trueup.actuators.report._drive_backdrive_report",
    "effective_samples": "trueup.actuators.selection._information_criteria",
    "evaluate": "trueup.actuators.assess._evaluate",
    "find_servo": "trueup.actuators.catalogue.entries",
    "fit": "trueup.actuators.search._fit",
    "friction_curves": "trueup.actuators.report._friction_curves",
    "friction_model": "trueup.actuators.equations.friction_models",
    "information_criteria": "trueup.actuators.selection._information_criteria",
    "jitter": "trueup.actuators.logs._jitter",
    "jitter_figure": "trueup.actuators.logs._jitter",
    "load_catalogue": "trueup.actuators.catalogue.entries",
    "load_model": "trueup.actuators.catalogue.parameter_file",
    "model_errors": "trueup.actuators.assess.model_errors",
    "model_from_dict": "trueup.actuators.catalogue.parameter_file",
    "motor_torque": "trueup.actuators.equations.servo_laws",
    "multisine": "trueup.actuators.record.designed_trajectories",
    "overlay_images": "trueup.actuators.report.overlay_image",
    "overlay_report": "trueup.actuators.report._overlay",
    "process": "trueup.actuators.logs._process",
    "published_models": "trueup.actuators.catalogue.parameter_file",
    "read_log": "trueup.actuators.logs.files",
    "read_logs": "trueup.actuators.logs.files",
    "record": "trueup.actuators.record",
    "register": "trueup.actuators.catalogue.entries",
    "register_friction_model": "trueup.actuators.equations.friction_models",
    "releases": "trueup.actuators.record.designed_trajectories",
    "resample_log": "trueup.actuators.logs._process",
    "save_model": "trueup.actuators.catalogue.parameter_file",
    "servo_law": "trueup.actuators.mujoco.law",
    "servo_fit_report": "trueup.actuators.report._servo_fit",
    "servo_report": "trueup.actuators.report._servo_fit",
    "servos": "trueup.actuators.catalogue.entries",
    "slow_ramp": "trueup.actuators.record.designed_trajectories",
    "split_logs": "trueup.actuators.logs.splits",
    "staircase": "trueup.actuators.record.designed_trajectories",
    "stall_torque": "trueup.actuators.report._drive_backdrive",
    "trajectory_named": "trueup.actuators.record.trajectories",
    "write_log": "trueup.actuators.logs.files",
}

__all__ = [
    "EXTENDED_TERMS",
    "FRICTION_MODELS",
    "Bench",
    "BenchSimulator",
    "ComparisonSettings",
    "ComparisonSpec",
    "Evaluation",
    "FitSettings",
    "FitSpec",
    "ModelChoice",
    "ModelComparison",
    "ModelErrors",
    "ModelParameter",
    "Objective",
    "Pendulum",
    "Servo",
    "ServoFit",
    "ServoFitInterrupted",
    "ServoLaw",
    "ServoLog",
    "ServoModel",
    "ServoProblem",
    "Trajectory",
    "TriedModel",
    "all_trajectories",
    "bench_from_mujoco",
    "bench_of",
    "chirp",
    "choose_model",
    "compare",
    "drive_backdrive",
    "drive_backdrive_report",
    "effective_samples",
    "evaluate",
    "find_servo",
    "fit",
    "friction_curves",
    "friction_model",
    "information_criteria",
    "jitter",
    "jitter_figure",
    "load_catalogue",
    "load_model",
    "model_errors",
    "model_from_dict",
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
    "register_friction_model",
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
