"""Names and indices of the signals and registers of the controller of a leg.

Each leg of each simulation has a row of measured signals (:class:`Measured`) and a row of registers
(:class:`Register`): delayed signals, phases of the stride, gates of the reflexes, gains, and the
output of each reflex. A member of an enumeration is both a name, as in controller files, and an
index, a constant in compiled code. The fixed registers are followed by those that depend on the
controller, allocated by :mod:`trueup.gait.controller.program`.
"""

from enum import auto

from trueup.gait._index import Index


class Measured(Index):
    """Measured signals of a leg, followed by the force of each muscle group."""

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
"""Index of the force of the first muscle group."""


class OptionalSignal(Index):
    """Further measured signals, after the forces of muscles; measured where a controller uses one
    of them, as those of a foot need further sensors."""

    other_load = auto()
    load_foot = auto()
    load_toes = auto()
    pressure_x = auto()
    pressure_y = auto()
    hip_adduction_rate = auto()


OF_PRESSURE = (OptionalSignal.pressure_x.name, OptionalSignal.pressure_y.name)
"""Centre of pressure, forwards and outwards from the ankle [m]; 0 in the air."""


class Register(Index):
    """Fixed registers of a leg."""

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
    # additional gains of a walker with frontal motion
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
"""Delayed signals that the supraspinal layer and the phases require."""

GAINS = _names(Register.alpha_0, Register.knee_sw_tgt)
"""Gains of the supraspinal layer and the phases."""

FRONTAL_GAINS = _names(Register.alpha_0_f, Register.C_v_f)
"""Additional ones of a walker with frontal motion."""

ANGLES = _names(Register.leg_angle, Register.frontal_angle_target)
"""Angles available to reflexes."""

_NO_GATES = ("knee_flexed", "contact_before", "swing_command")

GATES = (
    Register.always.name,
    *(name for name in _names(Register.stance, Register.other_swing) if name not in _NO_GATES),
)
"""Registers available as gates of reflexes."""
