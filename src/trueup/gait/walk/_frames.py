"""What is kept of a walk after each run of the controller: one row of numbers, a frame."""

FRAME = (
    "time",
    "x",
    "y",
    "z",
    "pitch",
    "torso_pitch",
    "hip_r",
    "knee_r",
    "ankle_r",
    "hip_l",
    "knee_l",
    "ankle_l",
    "heel_r",
    "heel_l",
    "load_r",
    "load_l",
    "knee_x_r",
    "knee_y_r",
    "knee_z_r",
    "ankle_x_r",
    "ankle_y_r",
    "ankle_z_r",
    "knee_x_l",
    "knee_y_l",
    "knee_z_l",
    "ankle_x_l",
    "ankle_y_l",
    "ankle_z_l",
    "exo_r",
    "exo_l",
    "limit_hip_r",
    "limit_knee_r",
    "limit_ankle_r",
    "limit_hip_l",
    "limit_knee_l",
    "limit_ankle_l",
    "sole_r",
    "sole_l",
    "metabolic",
)
"""Columns of a frame [s, m, rad, body weights, N m, J]; the activations of the muscles follow.

Joint angles are those of the controller: hip and knee 180 degrees where the leg is straight, ankle
90 degrees. ``heel`` is the load on the rear foot alone, ``knee_x_r`` and so on are the places of
the joints from the pelvis, ``sole`` the height of the lowest point of the sole, ``metabolic`` the
energy that the muscles have taken since the start.
"""

F_TIME, F_X, F_Y, F_Z, F_PITCH, F_TORSO = range(6)
F_ANGLES = FRAME.index("hip_r")
F_HEEL = FRAME.index("heel_r")
F_LOAD = FRAME.index("load_r")
F_JOINTS = FRAME.index("knee_x_r")
F_EXO = FRAME.index("exo_r")
F_LIMITS = FRAME.index("limit_hip_r")
F_SOLE = FRAME.index("sole_r")
F_METABOLIC = FRAME.index("metabolic")
F_ACTIVATION = len(FRAME)
