"""Export of a servo as MJCF without code: nearest actuators of MuJoCo."""

import functools
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.actuators.assess._evaluate import check_logs
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.deploy.mujoco.mjcf_servo import MjcfServo, at_gains
from trueup.deploy.mujoco.nearest_mjcf import (
    EXPRESSED_TERMS,
    Nearest,
    actuators_of,
    defaults_of,
    nearest_servo,
)
from trueup.deploy.servo import (
    ExportRequest,
    ServoExport,
    error_sentences,
    missing_terms,
)
from trueup.errors import FitError, SimulationError, listing

MJCF_FORMS = ("position", "dcmotor", "parallel")
"""Actuators of MuJoCo that a servo can be exported as."""

_KINDS = {
    "position": "a position actuator",
    "dcmotor": "a dcmotor actuator",
    "parallel": "dcmotor actuators in parallel",
}
_KP, _KD = 4, 6  # indices of a dcmotor's controller gains in actuator_gainprm


def mjcf_snippet(
    model: ServoModel,
    form: str = "dcmotor",
    logs: Sequence[ServoLog] | None = None,
    *,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.001,
) -> str:
    """MJCF of a servo: a default class for joint and actuator, with its error in a comment.

    ``dcmotor`` has the motor's back-EMF, voltage and current limits, the firmware's speed limit,
    and LuGre friction, higher near standstill, if that lowers the error. ``position`` is a
    force-limited spring on a damped joint, for simulators without motors. ``parallel`` has several
    motors on one joint, all commanded alike, whose sum is a motor that saturates: it is nearest to
    most servos, and its actuators each have a control. All parameters are fitted
    to the recordings in ``logs``, otherwise to the motion of the full model; M1 of a servo with a
    firmware that sets duty cycle or torque has an exact counterpart. The comment states the
    mean position differences, simulated by MuJoCo, and how the gains depend on the firmware gain.

    Args:
      model: identified servo.
      form: one of :data:`MJCF_FORMS`.
      logs: evenly sampled logs of pendulums to simulate; default: the standard trajectories with a
        pendulum that requires a quarter of the servo's torque.
      kp: firmware gain to export; default: the servo's.
      vin: bus voltage to export [V]; default: as in :func:`export_servo`.
      timestep: time step of the simulation [s], for the error and the delay buffer.

    Returns:
      Text of an MJCF file with the classes, for inclusion or copying.

    Raises:
      FitError: unknown form, a time step that is not positive, or a servo law without a motor, for
        the form ``dcmotor``.
      RecordingError: a log belongs to another servo, is unevenly sampled, or describes no
        pendulum; ``logs`` is empty.
    """
    if form not in MJCF_FORMS:
        raise FitError(f"unknown MJCF form {form!r}; available: {listing(MJCF_FORMS)}")
    request = ExportRequest(model, logs=logs, kp=kp, vin=vin, timestep=timestep)
    return export_mjcf(request, form).text


def export_mjcf(request: ExportRequest, form: str) -> ServoExport:
    """MJCF of a servo as in :func:`mjcf_snippet`, with its mean position errors.

    Args:
      request: servo and conditions.
      form: one of :data:`MJCF_FORMS`.
    """
    nearest = _nearest(request, form)
    gains = functools.partial(_gains, nearest.own, request)
    return ServoExport(_text(request, nearest), nearest.errors, gains)


def dcmotor(request: ExportRequest) -> ServoExport:
    """The form ``mjcf-dcmotor``."""
    return export_mjcf(request, "dcmotor")


def parallel(request: ExportRequest) -> ServoExport:
    """The form ``mjcf-parallel``."""
    return export_mjcf(request, "parallel")


def position(request: ExportRequest) -> ServoExport:
    """The form ``mjcf-position``."""
    return export_mjcf(request, "position")


def set_mjcf_gains(model: Any, actuator: str, gains: Mapping[str, float]) -> None:
    """Set the gains of an exported actuator in a compiled model.

    ::

        exported = export_servo(servo, "mjcf-dcmotor")
        set_mjcf_gains(model, "knee", exported.gains(200.0))

    Args:
      model: ``mujoco.MjModel``.
      actuator: name of the actuator; of motors in parallel, of the first.
      gains: ``kp`` [N m/rad] and ``kd`` [N m s/rad], from :attr:`ServoExport.gains`.

    Raises:
      SimulationError: unknown actuator, or one of another type than the exported ones.
    """
    import mujoco

    from trueup.simulation.targets.actuator_types import actuator_type

    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)
    if number < 0:
        raise SimulationError(f"the model has no actuator {actuator!r}")
    kind = actuator_type(model, number)
    if kind == "position":
        model.actuator_gainprm[number, 0] = gains["kp"]
        model.actuator_biasprm[number, 1:3] = -gains["kp"], -gains["kd"]
    elif kind != "dcmotor":
        raise SimulationError(
            f"actuator {actuator!r} is of type {kind!r}, but the gains are those of an "
            "exported position actuator or dcmotor: pass the name of the exported one"
        )
    else:
        motors = [number, *_in_parallel(model, actuator)]
        own = model.actuator_gainprm[motors][:, [_KP, _KD]]
        total, wanted = own.sum(axis=0), np.array([gains["kp"], gains["kd"]])
        # each keeps its share; a gain that was 0 is shared as the first one
        shares = np.where(total > 0.0, own / np.where(total > 0.0, total, 1.0), 1.0 / len(motors))
        for motor, row in zip(motors, shares * wanted, strict=True):
            model.actuator_gainprm[motor, [_KP, _KD]] = row


def _in_parallel(model: Any, actuator: str) -> list[int]:
    """Further motors of an exported servo, by the names that the export gives them."""
    import mujoco

    joint = model.actuator(actuator).trnid[0]
    found: list[int] = []
    while True:
        name = f"{actuator}_{len(found) + 2}"
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
        if number < 0 or model.actuator_trnid[number, 0] != joint:
            return found
        found.append(number)


def _gains(servo: MjcfServo, request: ExportRequest, kp: float) -> dict[str, float]:
    """Gains of an actuator at a firmware gain."""
    return at_gains(servo, request.model, kp, request.supply).gains()


def _gain_sentences(servo: MjcfServo, request: ExportRequest) -> list[str]:
    """Sentences on the relation of an actuator's gains to the firmware gain."""
    law = request.model.servo.law
    own = request.model.servo.kp if request.kp is None else request.kp
    gains = servo.gains()
    slope = gains["kp"] / own
    named = "the controller's kp" if servo.has_motor else "kp"
    if len(servo.shares()) > 1:
        named = "the sum of the controllers' kp"
    rule = f"{slope:.7g} K"
    if law == "bus_current":
        rule = f"{gains['kp'] / math.sqrt(own):.7g} sqrt(K)"
    said = f"At another firmware gain K, {named} is {rule}"
    if law == "current_pd":
        damping = gains["kd"] / math.sqrt(own)
        said += f" and its derivative gain is {damping:.7g} sqrt(K)"
    fields = f"gainprm[{_KP}]" if servo.has_motor else "gainprm[0] and -biasprm[1]"
    return [f"{said}; all else is unchanged. In a compiled model kp is {fields} of the actuator."]


def _nearest(request: ExportRequest, form: str) -> Nearest:
    model = request.model
    if not 0 < request.timestep < math.inf:
        raise FitError(
            f"the time step of the simulation must be positive [s], got {request.timestep}"
        )
    if form != "position" and model.servo.law == "torque_pd":
        raise FitError(
            f"the law of {model.servo.name!r} sets a torque and has no motor constants, but a "
            "dcmotor requires them: use the form 'position', which is exact"
        )
    if request.logs is not None:
        check_logs(request.logs, model.servo)
    return nearest_servo(request, form)


def _text(request: ExportRequest, nearest: Nearest) -> str:
    model, timestep = request.model, request.timestep
    kp, vin = request.kp, request.supply
    servo, own = nearest.servo, model.servo
    name = re.sub(r"[^0-9A-Za-z]+", "_", own.name)
    volts = own.vin if vin is None else vin
    supply = "" if math.isnan(volts) else f", {volts:g} V"
    said = [
        f"Servo {own.name!r}, friction model {model.friction.name}, as {_KINDS[servo.form]}, at "
        f"kp {own.kp if kp is None else kp:g}{supply}.",
        f"Simulated by MuJoCo with a time step of {1e3 * timestep:g} ms, integrator implicitfast.",
        *error_sentences(nearest.errors, nearest.described, nearest.offset),
    ]
    said += [f"Not included: {part}." for part in left_out(model, nearest)]
    said += _gain_sentences(servo, request)
    motor_off = "its back-EMF still brakes" if servo.form == "position" else "it coasts"
    said += [
        "The control is the goal [rad]. To release the joint, disable the group of its actuator "
        f"(mjOption.disableactuator); {motor_off}.",
        "Use in a model: the class on the joint, and its actuators:",
    ]
    if len(servo.shares()) > 1:
        said.insert(
            -1,
            "Every motor takes the goal as its control. Together they are one motor whose torque "
            "constant saturates: each has a share of the gains, and a limit of its own.",
        )
    if math.isfinite(servo.max_velocity):
        said.insert(
            -1,
            "The first activation is the rate-limited goal: initialise it with the goal that "
            "holds the joint, which is q without load.",
        )
    comment = "\n".join(
        textwrap.fill(part, 96, initial_indent="    ", subsequent_indent="    ") for part in said
    ).replace("--", "- -")
    use = [f'<joint name="JOINT" class="{name}"/>', *actuators_of(servo, name, "JOINT")]
    return "\n".join(
        [
            "<mujoco>",
            "  <!--",
            comment,
            *(f"      {line}" for line in use),
            "  -->",
            defaults_of(servo, name, timestep),
            "</mujoco>",
            "",
        ]
    )


def left_out(model: ServoModel, nearest: Nearest) -> list[str]:
    """Effects of the servo that its MJCF does not model, as phrases."""
    servo, values = nearest.servo, model.values
    parts = []
    if model.friction.name != "m1":
        stand_in = "LuGre" if servo.has_lugre else "Coulomb"
        parts.append(
            f"its friction, {model.friction.title.lower()}; approximated by {stand_in} and "
            "viscous friction and fitted motor parameters"
        )
    if model.servo.law == "bus_current":
        parts.append(
            "the firmware's control of the bus current: a square root approximated by a line"
        )
    if model.servo.law in ("current", "current_pd") and servo.form == "position":
        parts.append("the decrease of its maximum torque with speed")
    if values.get("max_velocity") and servo.form == "position":
        parts.append(f"the firmware's speed limit, {values['max_velocity']:.4g} rad/s")
    if values.get("winding_braking") and servo.has_motor:
        parts.append("the braking of its winding while the torque is off")
    if values.get("command_delay"):
        parts.append("the delay until the joint is released")
    expressed = (*EXPRESSED_TERMS, *(("torque_saturation",) if servo.form == "parallel" else ()))
    return parts + [name.replace("_", " ") for name in missing_terms(model, expressed)]
