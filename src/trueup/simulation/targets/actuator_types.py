"""Types of actuators, which define the meaning of the parameters of a compiled actuator.

``gainprm[0]`` is the stiffness of a position servo, the integral gain of a PID servo and the
resistance of a DC motor. Any code that reads or writes it determines the type here first.
"""

from typing import Any

import mujoco
import numpy as np

ACTUATOR_TYPES = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "pid",
    "orientation",
    "dcmotor",
    "plugin",
)
"""Types by the names of MuJoCo's elements. A ``general`` actuator with the law of another type is
of that type; the rest of them are ``general``."""

_GAIN, _BIAS, _DYN, _INPUT = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn, mujoco.mjtCtrlInput
_BY_GAIN = {
    int(_GAIN.mjGAIN_PID): "pid",
    int(_GAIN.mjGAIN_SO3): "orientation",
    int(_GAIN.mjGAIN_DCMOTOR): "dcmotor",
}
_LINEAR = (int(_BIAS.mjBIAS_AFFINE), int(_BIAS.mjBIAS_SO3))
_FILTERS = (int(_DYN.mjDYN_NONE), int(_DYN.mjDYN_FILTER), int(_DYN.mjDYN_FILTEREXACT))


def actuator_type(model: mujoco.MjModel, actuator: int) -> str:
    """Type of an actuator of a compiled model, one of :data:`ACTUATOR_TYPES`."""
    if int(model.actuator_plugin[actuator]) >= 0:
        return "plugin"
    return _type(
        int(model.actuator_gaintype[actuator]),
        int(model.actuator_biastype[actuator]),
        int(model.actuator_dyntype[actuator]),
        int(model.actuator_ctrlspec[actuator]),
        int(model.actuator_trntype[actuator]) == int(mujoco.mjtTrn.mjTRN_BODY),
        model.actuator_gainprm[actuator],
        model.actuator_biasprm[actuator],
    )


def element_type(actuator: Any) -> str:
    """Type of an actuator of an ``MjSpec``, or of the view ``model.actuator(name)``."""

    def number(value: Any) -> int:
        # an enumeration member in a spec, an array of one number in a model
        return int(np.ravel(value)[0]) if isinstance(value, np.ndarray) else int(value)

    # a view has neither attribute
    if getattr(getattr(actuator, "plugin", None), "active", False):
        return "plugin"
    return _type(
        number(actuator.gaintype),
        number(actuator.biastype),
        number(actuator.dyntype),
        number(getattr(actuator, "ctrlspec", 0)),
        number(actuator.trntype) == int(mujoco.mjtTrn.mjTRN_BODY),
        np.asarray(actuator.gainprm),
        np.asarray(actuator.biasprm),
    )


def _type(
    gain: int, bias: int, dynamics: int, inputs: int, on_body: bool, gains: Any, biases: Any
) -> str:
    affine, static = bias == int(_BIAS.mjBIAS_AFFINE), dynamics == int(_DYN.mjDYN_NONE)
    if gain in _BY_GAIN:
        return _BY_GAIN[gain]
    if gain == int(_GAIN.mjGAIN_MUSCLE) and bias == int(_BIAS.mjBIAS_MUSCLE):
        return "muscle"
    if gain == int(_GAIN.mjGAIN_AFFINE) and bias == int(_BIAS.mjBIAS_NONE) and static:
        return "damper" if not np.any(gains[:2]) else "general"
    if gain != int(_GAIN.mjGAIN_FIXED):
        return "general"
    if bias == int(_BIAS.mjBIAS_NONE) and static:
        return "adhesion" if on_body else "motor"
    if not affine:
        return "general"
    if inputs == int(_INPUT.mjINPUT_PRESSURE) and dynamics == int(_DYN.mjDYN_FILTER):
        return "cylinder"
    if inputs == int(_INPUT.mjINPUT_VEL) and static and not biases[1] and gains[0] == -biases[2]:
        return "velocity"
    named = inputs in (int(_INPUT.mjINPUT_POS), int(_INPUT.mjINPUT_VEL))
    if gains[0] == -biases[1] and (gains[0] or named):
        if dynamics in _FILTERS:
            return "position"
        return "intvelocity" if dynamics == int(_DYN.mjDYN_INTEGRATOR) else "general"
    return "motor" if static and not np.any(biases[1:3]) else "general"


def stiffness(model: mujoco.MjModel, actuator: int) -> float:
    """Stiffness of an actuator, force per unit of its length, before the gear [N m/rad, N/m]."""
    kind = actuator_type(model, actuator)
    if kind == "dcmotor":
        return float(model.actuator_gainprm[actuator, 4])
    known = int(model.actuator_biastype[actuator]) in _LINEAR and kind != "plugin"
    return -float(model.actuator_biasprm[actuator, 1]) if known else 0.0


def holds_position(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether an actuator drives its length to its command, like a position servo."""
    scalar = actuator_type(model, actuator) in ("position", "pid", "dcmotor")
    commanded = scalar and command_quantity(model, actuator) == "position"
    return commanded and stiffness(model, actuator) > 0


def command_quantity(model: mujoco.MjModel, actuator: int) -> str:
    """Quantity of an actuator's command: ``position``, ``velocity``, ``effort``, or ``voltage``.

    ``effort`` is a force or torque up to a scale, also the activation of a muscle and the
    pressure of a cylinder. An actuator with several inputs is classified by the first.
    """
    kind = actuator_type(model, actuator)
    if kind in ("position", "orientation"):
        return "position"
    if kind in ("velocity", "intvelocity"):
        return "velocity"
    if kind in ("pid", "dcmotor"):
        inputs = int(model.actuator_ctrlspec[actuator])
        for bit, quantity in (
            (_INPUT.mjINPUT_POS, "position"),
            (_INPUT.mjINPUT_VEL, "velocity"),
            (_INPUT.mjINPUT_FF, "effort"),
        ):
            if inputs & int(bit):
                return quantity
        return "voltage"
    if kind == "general" and int(model.actuator_biastype[actuator]) == int(_BIAS.mjBIAS_AFFINE):
        gain, stiffness, damping = (
            float(model.actuator_gainprm[actuator, 0]),
            *(float(-b) for b in model.actuator_biasprm[actuator, 1:3]),
        )
        # a scaled position, such as a gripper with commands 0 to 255
        if stiffness:
            return "position"
        # a velocity servo whose MJCF does not state its input; else a motor with damping
        if damping and gain == damping:
            return "velocity"
    return "effort"


def has_static_law(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether the force always is ``gainprm[0] ctrl + biasprm[:3] (1, length, velocity)``.

    These are the actuators with a constant gain and without activation, delay or plugin.
    """
    return (
        actuator_type(model, actuator) in ("motor", "position", "velocity", "adhesion", "general")
        and int(model.actuator_gaintype[actuator]) == int(_GAIN.mjGAIN_FIXED)
        and int(model.actuator_biastype[actuator])
        in (int(_BIAS.mjBIAS_NONE), int(_BIAS.mjBIAS_AFFINE))
        and int(model.actuator_dyntype[actuator]) == int(_DYN.mjDYN_NONE)
        and not int(model.actuator_history[actuator][0])
    )


def effort_gain(model: mujoco.MjModel, actuator: int) -> float | None:
    """Force or torque of an actuator per unit of its command, before the gear.

    None if it is not constant: servos, muscles and voltages with an inductance.
    """
    if command_quantity(model, actuator) not in ("effort", "voltage"):
        return None
    kind = actuator_type(model, actuator)
    gains = model.actuator_gainprm[actuator]
    if kind == "dcmotor":
        feedforward = int(model.actuator_ctrlspec[actuator]) & int(_INPUT.mjINPUT_FF)
        return 1.0 if feedforward else float(gains[1] / gains[0]) if gains[0] > 0 else None
    if kind == "pid":
        return 1.0
    fixed = int(model.actuator_gaintype[actuator]) == int(_GAIN.mjGAIN_FIXED)
    return float(gains[0]) if fixed and kind != "plugin" else None


def velocity_gain(model: mujoco.MjModel, actuator: int) -> float:
    """Damping of an actuator's force law, before the gear [N m s/rad, N s/m]."""
    kind, gains = actuator_type(model, actuator), model.actuator_gainprm[actuator]
    if kind == "plugin":
        return 0.0
    if kind == "dcmotor":
        controlled = int(model.actuator_ctrlspec[actuator]) & (
            int(_INPUT.mjINPUT_POS) | int(_INPUT.mjINPUT_VEL) | int(_INPUT.mjINPUT_FF)
        )
        # the controller compensates the back-EMF, which otherwise damps by K^2 / R
        back_emf = float(gains[1] ** 2 / gains[0]) if gains[0] > 0 else 0.0
        return float(gains[6]) if controlled else back_emf
    known = int(model.actuator_biastype[actuator]) in _LINEAR
    return -float(model.actuator_biasprm[actuator, 2]) if known else 0.0
