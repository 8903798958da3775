"""Tolerances of lengths and moment arms of a converted muscle."""

from trueup.gait.opensim.model import OsimModel

ARM, ARM_OF_DISTANCE = 0.003, 0.03
"""Small moment arm, about an angle [m] or along a distance: errors of this size are within the
variation between specimens, and signs of smaller ones are not meaningful."""

SHARE = 0.1
"""Tolerance of moment arms relative to the typical one, and of the length relative to the optimal
fiber length, which changes the active force near its maximum by less than a twentieth. A wrong sign
counts above the same fraction of the largest moment arm."""

LENGTH = 0.003
"""Tolerance of the length, root mean square [m]."""

WITHIN = 0.95
"""Fraction of the pairs of muscle and coordinate whose moment arms must be within their
tolerance."""

ENOUGH = 0.5
"""Error, relative to the tolerances, of a route that is accepted without a comparison with others:
the poses of the check differ from those of a fit."""


def small_arm(model: OsimModel, coordinate: str) -> float:
    """Small moment arm about a coordinate."""
    return ARM if model.coordinates[coordinate].turns else ARM_OF_DISTANCE
