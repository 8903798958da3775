"""Columns of a frame, the recorded row of numbers of a walk at one time."""

from enum import auto

from trueup.gait._index import Index


class Frame(Index):
    """Columns of a frame [s, m, rad, body weights, N m, J], followed by muscle activations.

    Positions are in the world, rotated so that the direction of walking is x. Joint angles are in
    the convention of the controller: hip and knee 180 degrees where the leg is straight, ankle 90
    degrees. ``heel`` is the load on the rear foot only, ``knee_x`` and so on the position of a
    joint from the pelvis, ``sole`` the height of the lowest point of the sole above the ground,
    ``metabolic`` the energy of the muscles since the start. The columns of the right leg are
    followed by those of the left one.
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
"""Column offset from an angle of the right leg to that of the left one."""

LEG_PLACES = int(Frame.knee_x_l - Frame.knee_x_r)
"""Column offset from a joint position of the right leg to that of the left one."""
