"""Gait: walkers with muscles, reflex controllers and exoskeletons, and what a walk costs.

A :class:`Walker` is a model whose parts are known by role. A :class:`ReflexController` is described
by data (gains, signals with their delays, reflexes), laid out once and run for a whole population
by one compiled call. :class:`WalkSimulation` simulates the walks that parameter vectors lead to.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.gait._make_problem import make_problem
    from trueup.gait._planar22 import planar22, planar22_anatomy
    from trueup.gait._replay import Commands, replay_controller
    from trueup.gait._walk_parameters import walk_parameters
    from trueup.gait.anatomy import Anatomy, load_anatomy, myoassist_anatomy
    from trueup.gait.configuration import GaitConfiguration, load_configuration
    from trueup.gait.costs import WalkCosts, WalkObjective
    from trueup.gait.exoskeleton import FourParameterProfile, Knots, PointsProfile, Profile
    from trueup.gait.myoassist_cost import (
        MyoAssistCost,
        read_myoassist_emg,
        read_myoassist_kinematics,
    )
    from trueup.gait.myoassist_import import import_configuration
    from trueup.gait.parameter_vector import Entry, ParameterVector
    from trueup.gait.problem import GaitProblem, Scenario
    from trueup.gait.reference import Curve, GaitReference, read_reference, read_schwartz
    from trueup.gait.reflex_controller import ReflexController, default_controller, load_controller
    from trueup.gait.walk_records import WalkRecords
    from trueup.gait.walk_settings import WalkSettings
    from trueup.gait.walk_simulation import WalkSimulation
    from trueup.gait.walker import Walker

_EXPORTS = {
    "Anatomy": "trueup.gait.anatomy",
    "Commands": "trueup.gait._replay",
    "Curve": "trueup.gait.reference",
    "Entry": "trueup.gait.parameter_vector",
    "FourParameterProfile": "trueup.gait.exoskeleton",
    "GaitConfiguration": "trueup.gait.configuration",
    "GaitProblem": "trueup.gait.problem",
    "GaitReference": "trueup.gait.reference",
    "Knots": "trueup.gait.exoskeleton",
    "MyoAssistCost": "trueup.gait.myoassist_cost",
    "ParameterVector": "trueup.gait.parameter_vector",
    "PointsProfile": "trueup.gait.exoskeleton",
    "Profile": "trueup.gait.exoskeleton",
    "ReflexController": "trueup.gait.reflex_controller",
    "Scenario": "trueup.gait.problem",
    "WalkCosts": "trueup.gait.costs",
    "WalkObjective": "trueup.gait.costs",
    "WalkRecords": "trueup.gait.walk_records",
    "WalkSettings": "trueup.gait.walk_settings",
    "WalkSimulation": "trueup.gait.walk_simulation",
    "Walker": "trueup.gait.walker",
    "default_controller": "trueup.gait.reflex_controller",
    "import_configuration": "trueup.gait.myoassist_import",
    "load_anatomy": "trueup.gait.anatomy",
    "load_configuration": "trueup.gait.configuration",
    "load_controller": "trueup.gait.reflex_controller",
    "make_problem": "trueup.gait._make_problem",
    "myoassist_anatomy": "trueup.gait.anatomy",
    "planar22": "trueup.gait._planar22",
    "planar22_anatomy": "trueup.gait._planar22",
    "read_myoassist_emg": "trueup.gait.myoassist_cost",
    "read_myoassist_kinematics": "trueup.gait.myoassist_cost",
    "replay_controller": "trueup.gait._replay",
    "read_reference": "trueup.gait.reference",
    "read_schwartz": "trueup.gait.reference",
    "walk_parameters": "trueup.gait._walk_parameters",
}

__all__ = [
    "Anatomy",
    "Commands",
    "Curve",
    "Entry",
    "FourParameterProfile",
    "GaitConfiguration",
    "GaitProblem",
    "GaitReference",
    "Knots",
    "MyoAssistCost",
    "ParameterVector",
    "PointsProfile",
    "Profile",
    "ReflexController",
    "Scenario",
    "WalkCosts",
    "WalkObjective",
    "WalkRecords",
    "WalkSettings",
    "WalkSimulation",
    "Walker",
    "default_controller",
    "import_configuration",
    "load_anatomy",
    "load_configuration",
    "load_controller",
    "make_problem",
    "myoassist_anatomy",
    "planar22",
    "planar22_anatomy",
    "read_myoassist_emg",
    "read_myoassist_kinematics",
    "read_reference",
    "read_schwartz",
    "replay_controller",
    "walk_parameters",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
