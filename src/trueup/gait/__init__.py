"""Gait: walkers with muscles, reflex controllers, exoskeletons, and the cost of a walk.

A :class:`Walker` is a model with parts named by role. A ``ReflexController`` is described by
data (gains, signals with their delays, reflexes), compiled to arrays once, and run for a whole
population by one call. :class:`WalkSimulation` simulates the walks of parameter vectors.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.gait._optimize import optimize, plan_optimize
    from trueup.gait.controller.exoskeleton import FourParameterProfile, Profile
    from trueup.gait.controller.parameter_vector import Entry
    from trueup.gait.controller.reflexes import load_controller, shipped_reflexes
    from trueup.gait.costs.adult_norm import adult_norm
    from trueup.gait.costs.motion_reference import read_motion
    from trueup.gait.costs.myoassist import MyoAssistCost
    from trueup.gait.costs.norms import read_norm, read_schwartz
    from trueup.gait.costs.reference import read_reference
    from trueup.gait.costs.stages import WalkObjective
    from trueup.gait.device._compare import compare_device, plan_device
    from trueup.gait.device.settings import DeviceSettings
    from trueup.gait.export import write_walk
    from trueup.gait.models._myolegs import myolegs, myolegs26
    from trueup.gait.models.attachments import Device, attach_exoskeleton, load_devices
    from trueup.gait.models.planar22 import planar22, planar22_anatomy
    from trueup.gait.models.space26 import space26
    from trueup.gait.models.terrain import Stairs
    from trueup.gait.models.walker import Walker
    from trueup.gait.opensim.conversion import import_opensim
    from trueup.gait.replay.motion_replay import MotionReplay, replay_motion
    from trueup.gait.report._dose_response import dose_response
    from trueup.gait.report._survival import Survival, survival
    from trueup.gait.report.evaluation import WalkEvaluation, evaluate_walk
    from trueup.gait.report.of_walk import look_at, walk_report
    from trueup.gait.report.video import write_walk_video
    from trueup.gait.result import GaitResult
    from trueup.gait.search._make_problem import make_problem
    from trueup.gait.search.configuration import GaitConfiguration
    from trueup.gait.search.configuration_files import load_configuration
    from trueup.gait.search.early_stop import EarlyStoppingCmaEs
    from trueup.gait.search.given_walks import GivenWalk, given_walk
    from trueup.gait.search.problem import GaitProblem, Scenario
    from trueup.gait.walk._cycle_start import CycleStart, cycle_start
    from trueup.gait.walk._parameters import walk_parameters
    from trueup.gait.walk._replay import Commands, replay_controller
    from trueup.gait.walk.gait_cycle import Curve
    from trueup.gait.walk.perturbations import Perturbations, PerturbationSizes
    from trueup.gait.walk.series import observe_walks
    from trueup.gait.walk.settings import WalkSettings
    from trueup.gait.walk.simulation import WalkSimulation

_EXPORTS = {
    "Commands": "trueup.gait.walk._replay",
    "Curve": "trueup.gait.walk.gait_cycle",
    "CycleStart": "trueup.gait.walk._cycle_start",
    "Device": "trueup.gait.models.attachments",
    "DeviceSettings": "trueup.gait.device.settings",
    "EarlyStoppingCmaEs": "trueup.gait.search.early_stop",
    "Entry": "trueup.gait.controller.parameter_vector",
    "FourParameterProfile": "trueup.gait.controller.exoskeleton",
    "GaitConfiguration": "trueup.gait.search.configuration",
    "GaitResult": "trueup.gait.result",
    "GivenWalk": "trueup.gait.search.given_walks",
    "WalkEvaluation": "trueup.gait.report.evaluation",
    "evaluate_walk": "trueup.gait.report.evaluation",
    "given_walk": "trueup.gait.search.given_walks",
    "optimize": "trueup.gait._optimize",
    "plan_optimize": "trueup.gait._optimize",
    "GaitProblem": "trueup.gait.search.problem",
    "MotionReplay": "trueup.gait.replay.motion_replay",
    "MyoAssistCost": "trueup.gait.costs.myoassist",
    "PerturbationSizes": "trueup.gait.walk.perturbations",
    "Perturbations": "trueup.gait.walk.perturbations",
    "Profile": "trueup.gait.controller.exoskeleton",
    "Scenario": "trueup.gait.search.problem",
    "Survival": "trueup.gait.report._survival",
    "Stairs": "trueup.gait.models.terrain",
    "WalkObjective": "trueup.gait.costs.stages",
    "WalkSettings": "trueup.gait.walk.settings",
    "WalkSimulation": "trueup.gait.walk.simulation",
    "Walker": "trueup.gait.models.walker",
    "adult_norm": "trueup.gait.costs.adult_norm",
    "attach_exoskeleton": "trueup.gait.models.attachments",
    "compare_device": "trueup.gait.device._compare",
    "plan_device": "trueup.gait.device._compare",
    "cycle_start": "trueup.gait.walk._cycle_start",
    "dose_response": "trueup.gait.report._dose_response",
    "import_opensim": "trueup.gait.opensim.conversion",
    "load_configuration": "trueup.gait.search.configuration_files",
    "load_devices": "trueup.gait.models.attachments",
    "load_controller": "trueup.gait.controller.reflexes",
    "look_at": "trueup.gait.report.of_walk",
    "make_problem": "trueup.gait.search._make_problem",
    "observe_walks": "trueup.gait.walk.series",
    "myolegs": "trueup.gait.models._myolegs",
    "myolegs26": "trueup.gait.models._myolegs",
    "planar22": "trueup.gait.models.planar22",
    "planar22_anatomy": "trueup.gait.models.planar22",
    "space26": "trueup.gait.models.space26",
    "read_motion": "trueup.gait.costs.motion_reference",
    "read_norm": "trueup.gait.costs.norms",
    "read_reference": "trueup.gait.costs.reference",
    "read_schwartz": "trueup.gait.costs.norms",
    "replay_motion": "trueup.gait.replay.motion_replay",
    "replay_controller": "trueup.gait.walk._replay",
    "shipped_reflexes": "trueup.gait.controller.reflexes",
    "survival": "trueup.gait.report._survival",
    "walk_parameters": "trueup.gait.walk._parameters",
    "walk_report": "trueup.gait.report.of_walk",
    "write_walk": "trueup.gait.export",
    "write_walk_video": "trueup.gait.report.video",
}

__all__ = [
    "Commands",
    "Curve",
    "CycleStart",
    "Device",
    "DeviceSettings",
    "EarlyStoppingCmaEs",
    "Entry",
    "FourParameterProfile",
    "GaitConfiguration",
    "GaitProblem",
    "GaitResult",
    "GivenWalk",
    "MotionReplay",
    "MyoAssistCost",
    "PerturbationSizes",
    "Perturbations",
    "Profile",
    "Scenario",
    "Stairs",
    "Survival",
    "WalkEvaluation",
    "WalkObjective",
    "WalkSettings",
    "WalkSimulation",
    "Walker",
    "adult_norm",
    "attach_exoskeleton",
    "compare_device",
    "cycle_start",
    "dose_response",
    "evaluate_walk",
    "given_walk",
    "import_opensim",
    "load_configuration",
    "load_controller",
    "load_devices",
    "look_at",
    "make_problem",
    "myolegs",
    "myolegs26",
    "observe_walks",
    "optimize",
    "plan_device",
    "plan_optimize",
    "planar22",
    "planar22_anatomy",
    "read_motion",
    "read_norm",
    "read_reference",
    "read_schwartz",
    "replay_controller",
    "replay_motion",
    "shipped_reflexes",
    "space26",
    "survival",
    "walk_parameters",
    "walk_report",
    "write_walk",
    "write_walk_video",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
