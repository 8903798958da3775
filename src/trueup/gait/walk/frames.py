"""Columns of a frame: the row of numbers that is kept of a walk at a time."""

from enum import auto

from trueup.gait._index import Index


class Frame(Index):
    """Columns of a frame [s, m, rad, body weights, N m, J]; activations of the muscles follow.

    Places are in the world and turned with the direction of walking along x. Joint angles are those
    of the controller: hip and knee 180 degrees where the leg is straight, ankle 90 degrees.
    ``heel`` is the load on the rear foot alone, ``knee_x`` and so on the place of a joint from the
    pelvis, ``sole`` the height of the lowest point of the sole above the ground, ``metabolic`` the
    energy of the muscles since the start. Columns of the left leg follow those of the right one.
    """

    time = auto()
    x = auto()
    y = auto()
    z = auto()
    pitch = auto()
    torso_pitch = auto()
    hip_r = auto()
    knee_r = auto()
    ankle_r = auto()
    hip_l = auto()
    knee_l = auto()
    ankle_l = auto()
    heel_r = auto()
    heel_l = auto()
    load_r = auto()
    load_l = auto()
    knee_x_r = auto()
    knee_y_r = auto()
    knee_z_r = auto()
    ankle_x_r = auto()
    ankle_y_r = auto()
    ankle_z_r = auto()
    knee_x_l = auto()
    knee_y_l = auto()
    knee_z_l = auto()
    ankle_x_l = auto()
    ankle_y_l = auto()
    ankle_z_l = auto()
    exo_r = auto()
    exo_l = auto()
    limit_hip_r = auto()
    limit_knee_r = auto()
    limit_ankle_r = auto()
    limit_hip_l = auto()
    limit_knee_l = auto()
    limit_ankle_l = auto()
    sole_r = auto()
    sole_l = auto()
    metabolic = auto()


FRAME = tuple(Frame.__members__)
"""Names of the columns."""

ACTIVATIONS = len(Frame)
"""Column of the first activation."""

LEG_ANGLES = int(Frame.hip_l - Frame.hip_r)
"""Columns from an angle of the right leg to that of the left one."""

LEG_PLACES = int(Frame.knee_x_l - Frame.knee_x_r)
"""Columns from a place of a joint of the right leg to that of the left one."""
