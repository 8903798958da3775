"""Gait: walkers with muscles, reflex controllers and exoskeletons, and what a walk costs.

A :class:`Walker` is a model whose parts are known by role. A :class:`ReflexController` is described
by data (gains, signals with their delays, reflexes), laid out once and run for a whole population
by one compiled call. :class:`WalkSimulation` simulates the walks that parameter vectors lead to.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.gait._walk_parameters import walk_parameters
    from trueup.gait.anatomy import Anatomy, load_anatomy, myoassist_anatomy
    from trueup.gait.exoskeleton import FourParameterProfile, Knots, PointsProfile, Profile
    from trueup.gait.myoassist_cost import (
        MyoAssistCost,
        read_myoassist_emg,
        read_myoassist_kinematics,
    )
    from trueup.gait.parameter_vector import Entry, ParameterVector
    from trueup.gait.reflex_controller import (
        ReflexController,
        default_controller,
        load_controller,
    )
    from trueup.gait.walk_records import WalkRecords
    from trueup.gait.walk_settings import WalkSettings
    from trueup.gait.walk_simulation import WalkSimulation
    from trueup.gait.walker import Walker

_EXPORTS = {
    "Anatomy": "trueup.gait.anatomy",
    "Entry": "trueup.gait.parameter_vector",
    "FourParameterProfile": "trueup.gait.exoskeleton",
    "Knots": "trueup.gait.exoskeleton",
    "MyoAssistCost": "trueup.gait.myoassist_cost",
    "ParameterVector": "trueup.gait.parameter_vector",
    "PointsProfile": "trueup.gait.exoskeleton",
    "Profile": "trueup.gait.exoskeleton",
    "ReflexController": "trueup.gait.reflex_controller",
    "WalkRecords": "trueup.gait.walk_records",
    "WalkSettings": "trueup.gait.walk_settings",
    "WalkSimulation": "trueup.gait.walk_simulation",
    "Walker": "trueup.gait.walker",
    "default_controller": "trueup.gait.reflex_controller",
    "load_anatomy": "trueup.gait.anatomy",
    "load_controller": "trueup.gait.reflex_controller",
    "myoassist_anatomy": "trueup.gait.anatomy",
    "read_myoassist_emg": "trueup.gait.myoassist_cost",
    "read_myoassist_kinematics": "trueup.gait.myoassist_cost",
    "walk_parameters": "trueup.gait._walk_parameters",
}

__all__ = [
    "Anatomy",
    "Entry",
    "FourParameterProfile",
    "Knots",
    "MyoAssistCost",
    "ParameterVector",
    "PointsProfile",
    "Profile",
    "ReflexController",
    "WalkRecords",
    "WalkSettings",
    "WalkSimulation",
    "Walker",
    "default_controller",
    "load_anatomy",
    "load_controller",
    "myoassist_anatomy",
    "read_myoassist_emg",
    "read_myoassist_kinematics",
    "walk_parameters",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
