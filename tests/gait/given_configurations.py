"""Configurations of tests: searches that begin at the nominal vector and have no stages."""

from pathlib import Path

FIRST_WALK = str(Path(__file__).with_name("first_walk.yaml"))
"""A walk without reference or device."""

SPARING = str(Path(__file__).with_name("sparing_walk.yaml"))
"""A walk of little effort over perturbed repeats."""

WITH_DEVICE = str(Path(__file__).with_name("walk_with_device.yaml"))
"""A walk with a device, over fresh perturbations, that moves the gains of the ankle."""
