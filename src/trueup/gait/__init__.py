"""Gait: walkers with muscles, reflex controllers and exoskeletons, and what a walk costs.

A :class:`Walker` is a model whose parts are known by role. A :class:`ReflexController` is described
by data (gains, signals with their delays, reflexes), laid out once and run for a whole population
by one compiled call. :class:`WalkSimulation` simulates the walks that parameter vectors lead to.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.gait._cycle_start import CycleStart, cycle_start
    from trueup.gait._dose_response import DoseResponse, dose_response
    from trueup.gait._make_problem import make_problem
    from trueup.gait._myolegs import myolegs, myolegs26, myolegs_anatomy
    from trueup.gait._planar22 import planar22, planar22_anatomy
    from trueup.gait._replay import Commands, replay_controller
    from trueup.gait._survival import Survival, survival
    from trueup.gait._walk_parameters import walk_parameters
    from trueup.gait.anatomy import Anatomy, load_anatomy, myoassist_anatomy
    from trueup.gait.attachments import Device, attach_exoskeleton, load_devices
    from trueup.gait.configuration import GaitConfiguration, load_configuration
    from trueup.gait.costs import WalkCosts, WalkObjective
    from trueup.gait.early_stop import EarlyStoppingCmaEs
    from trueup.gait.exoskeleton import FourParameterProfile, Knots, PointsProfile, Profile
    from trueup.gait.fresh_perturbations import FreshPerturbationsCmaEs
    from trueup.gait.gait_cycle import Stride, strides_of
    from trueup.gait.myoassist_cost import (
        MyoAssistCost,
        read_myoassist_emg,
        read_myoassist_kinematics,
    )
    from trueup.gait.myoassist_import import import_configuration
    from trueup.gait.norms import GaitNorm, read_norm
    from trueup.gait.parameter_vector import Entry, ParameterVector
    from trueup.gait.perturbations import Perturbations, PerturbationSizes
    from trueup.gait.problem import GaitProblem, Scenario
    from trueup.gait.reference import Curve, GaitReference, read_reference, read_schwartz
    from trueup.gait.reflex_controller import ReflexController, default_controller, load_controller
    from trueup.gait.report import WalkLook, look_at, walk_report
    from trueup.gait.terrain import Stairs
    from trueup.gait.video import write_walk_video
    from trueup.gait.walk_records import WalkRecords
    from trueup.gait.walk_series import WalkSeries, observe_walks
    from trueup.gait.walk_settings import WalkSettings
    from trueup.gait.walk_simulation import WalkSimulation
    from trueup.gait.walker import Walker

_EXPORTS = {
    "Anatomy": "trueup.gait.anatomy",
    "Commands": "trueup.gait._replay",
    "Curve": "trueup.gait.reference",
    "CycleStart": "trueup.gait._cycle_start",
    "Device": "trueup.gait.attachments",
    "DoseResponse": "trueup.gait._dose_response",
    "EarlyStoppingCmaEs": "trueup.gait.early_stop",
    "Entry": "trueup.gait.parameter_vector",
    "FourParameterProfile": "trueup.gait.exoskeleton",
    "FreshPerturbationsCmaEs": "trueup.gait.fresh_perturbations",
    "GaitConfiguration": "trueup.gait.configuration",
    "GaitNorm": "trueup.gait.norms",
    "GaitProblem": "trueup.gait.problem",
    "GaitReference": "trueup.gait.reference",
    "Knots": "trueup.gait.exoskeleton",
    "MyoAssistCost": "trueup.gait.myoassist_cost",
    "ParameterVector": "trueup.gait.parameter_vector",
    "PerturbationSizes": "trueup.gait.perturbations",
    "Perturbations": "trueup.gait.perturbations",
    "PointsProfile": "trueup.gait.exoskeleton",
    "Profile": "trueup.gait.exoskeleton",
    "ReflexController": "trueup.gait.reflex_controller",
    "Scenario": "trueup.gait.problem",
    "Stride": "trueup.gait.gait_cycle",
    "Survival": "trueup.gait._survival",
    "Stairs": "trueup.gait.terrain",
    "WalkCosts": "trueup.gait.costs",
    "WalkLook": "trueup.gait.report",
    "WalkObjective": "trueup.gait.costs",
    "WalkRecords": "trueup.gait.walk_records",
    "WalkSeries": "trueup.gait.walk_series",
    "WalkSettings": "trueup.gait.walk_settings",
    "WalkSimulation": "trueup.gait.walk_simulation",
    "Walker": "trueup.gait.walker",
    "attach_exoskeleton": "trueup.gait.attachments",
    "cycle_start": "trueup.gait._cycle_start",
    "default_controller": "trueup.gait.reflex_controller",
    "dose_response": "trueup.gait._dose_response",
    "import_configuration": "trueup.gait.myoassist_import",
    "load_anatomy": "trueup.gait.anatomy",
    "load_configuration": "trueup.gait.configuration",
    "load_devices": "trueup.gait.attachments",
    "load_controller": "trueup.gait.reflex_controller",
    "look_at": "trueup.gait.report",
    "make_problem": "trueup.gait._make_problem",
    "myoassist_anatomy": "trueup.gait.anatomy",
    "observe_walks": "trueup.gait.walk_series",
    "myolegs": "trueup.gait._myolegs",
    "myolegs26": "trueup.gait._myolegs",
    "myolegs_anatomy": "trueup.gait._myolegs",
    "planar22": "trueup.gait._planar22",
    "planar22_anatomy": "trueup.gait._planar22",
    "read_myoassist_emg": "trueup.gait.myoassist_cost",
    "read_myoassist_kinematics": "trueup.gait.myoassist_cost",
    "read_norm": "trueup.gait.norms",
    "read_reference": "trueup.gait.reference",
    "read_schwartz": "trueup.gait.reference",
    "replay_controller": "trueup.gait._replay",
    "strides_of": "trueup.gait.gait_cycle",
    "survival": "trueup.gait._survival",
    "walk_parameters": "trueup.gait._walk_parameters",
    "walk_report": "trueup.gait.report",
    "write_walk_video": "trueup.gait.video",
}

__all__ = [
    "Anatomy",
    "Commands",
    "Curve",
    "CycleStart",
    "Device",
    "DoseResponse",
    "EarlyStoppingCmaEs",
    "Entry",
    "FourParameterProfile",
    "FreshPerturbationsCmaEs",
    "GaitConfiguration",
    "GaitNorm",
    "GaitProblem",
    "GaitReference",
    "Knots",
    "MyoAssistCost",
    "ParameterVector",
    "PerturbationSizes",
    "Perturbations",
    "PointsProfile",
    "Profile",
    "ReflexController",
    "Scenario",
    "Stairs",
    "Stride",
    "Survival",
    "WalkCosts",
    "WalkLook",
    "WalkObjective",
    "WalkRecords",
    "WalkSeries",
    "WalkSettings",
    "WalkSimulation",
    "Walker",
    "attach_exoskeleton",
    "cycle_start",
    "default_controller",
    "dose_response",
    "import_configuration",
    "load_anatomy",
    "load_configuration",
    "load_controller",
    "load_devices",
    "look_at",
    "make_problem",
    "myoassist_anatomy",
    "myolegs",
    "myolegs26",
    "myolegs_anatomy",
    "observe_walks",
    "planar22",
    "planar22_anatomy",
    "read_myoassist_emg",
    "read_myoassist_kinematics",
    "read_norm",
    "read_reference",
    "read_schwartz",
    "replay_controller",
    "strides_of",
    "survival",
    "walk_parameters",
    "walk_report",
    "write_walk_video",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
