"""Configurations of tests: searches that begin at the nominal vector and have no stages."""

from pathlib import Path

from trueup.gait import Walker, WalkSettings, WalkSimulation

FIRST_WALK = str(Path(__file__).with_name("first_walk.yaml"))
"""A walk without reference or device."""

SPARING = str(Path(__file__).with_name("sparing_walk.yaml"))
"""A walk of little effort over perturbed repeats."""

WITH_DEVICE = str(Path(__file__).with_name("walk_with_device.yaml"))
"""A walk with a device, over fresh perturbations, that moves the gains of the ankle."""


def nominal_vector():
    """The nominal vector of planar22 ``(77,)``; not all ones, and within the bounds."""
    return WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.1)).parameters.start
