"""Names of the numbers that a leg's controller reads and writes, and their places in its rows.

Each leg of each simulation has a row of measured signals (:class:`Measured`) and a row of registers
(:class:`Register`): delayed signals, phases of the stride, gates of the reflexes, gains, and the
output of each reflex. An enumeration is both the name of a place, as controller files spell it, and
its index, which compiled code takes as a constant. Behind the fixed registers follow those that
depend on the controller, laid out by :mod:`trueup.gait.controller.program`.
"""

from enum import auto

from trueup.gait._index import Index


class Measured(Index):
    """Measured signals of a leg; the force of each muscle group follows them."""

    pitch = auto()
    pitch_rate = auto()
    roll = auto()
    roll_rate = auto()
    load = auto()
    contact = auto()
    hip = auto()
    hip_rate = auto()
    hip_adduction = auto()
    knee = auto()
    knee_rate = auto()
    ankle = auto()
    mtp = auto()
    pelvis_x = auto()
    pelvis_y = auto()
    pelvis_vx = auto()
    pelvis_vy = auto()
    other_foot_x = auto()
    other_foot_y = auto()
    other_foot_vx = auto()
    other_foot_vy = auto()


FIRST_FORCE = len(Measured)
"""Place of the force of the first muscle group."""


class Register(Index):
    """Registers of a leg that every controller has."""

    zero = auto()
    always = auto()
    # delayed signals of the spinal layer
    load = auto()
    contact = auto()
    hip = auto()
    hip_rate = auto()
    hip_adduction = auto()
    knee = auto()
    knee_rate = auto()
    # delayed signals of the supraspinal layer
    supraspinal_pitch = auto()
    supraspinal_roll = auto()
    supraspinal_pelvis_x = auto()
    supraspinal_pelvis_y = auto()
    supraspinal_pelvis_vx = auto()
    supraspinal_pelvis_vy = auto()
    supraspinal_other_foot_x = auto()
    supraspinal_other_foot_y = auto()
    supraspinal_other_foot_vx = auto()
    supraspinal_other_foot_vy = auto()
    supraspinal_contact = auto()
    supraspinal_hip = auto()
    supraspinal_hip_adduction = auto()
    supraspinal_knee = auto()
    # gains of the supraspinal layer and of the phases
    alpha_0 = auto()
    alpha_delta = auto()
    C_d = auto()
    C_v = auto()
    Tr_St_sup = auto()
    Tr_Sw = auto()
    knee_tgt = auto()
    knee_sw_tgt = auto()
    # further gains of a walker that can fall sideways
    alpha_0_f = auto()
    C_d_f = auto()
    C_v_f = auto()
    # angles of the leg
    leg_angle = auto()
    leg_angle_rate = auto()
    leg_angle_target = auto()
    hip_target = auto()
    frontal_angle = auto()
    frontal_angle_target = auto()
    # phases of the stride
    stance = auto()
    swing = auto()
    transition = auto()
    full_stance = auto()
    alone = auto()
    swing_1 = auto()
    swing_2 = auto()
    swing_3 = auto()
    swing_4 = auto()
    knee_flexed = auto()
    contact_before = auto()
    swing_command = auto()
    # gates of reflexes
    support = auto()
    swing_drive = auto()
    knee_release = auto()
    stance_load = auto()
    other_swing = auto()


def _names(first: Register, last: Register) -> tuple[str, ...]:
    return tuple(register.name for register in Register if first <= register <= last)


SIGNALS = _names(Register.load, Register.supraspinal_knee)
"""Delayed signals that the supraspinal layer and the phases need."""

GAINS = _names(Register.alpha_0, Register.knee_sw_tgt)
"""Gains that they need."""

FRONTAL_GAINS = _names(Register.alpha_0_f, Register.C_v_f)
"""Further ones of a walker that can fall sideways."""

ANGLES = _names(Register.leg_angle, Register.frontal_angle_target)
"""Angles that reflexes may read."""

_NO_GATES = ("knee_flexed", "contact_before", "swing_command")

GATES = (
    Register.always.name,
    *(name for name in _names(Register.stance, Register.other_swing) if name not in _NO_GATES),
)
"""Registers that a reflex may be gated by."""
