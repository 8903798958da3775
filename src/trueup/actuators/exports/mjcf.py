"""Export of a servo as MJCF without code: the nearest actuators of MuJoCo."""

import math
import re
import textwrap
from collections.abc import Sequence

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.exports.nearest_mjcf import (
    EXPRESSED_TERMS,
    Nearest,
    actuators_of,
    defaults_of,
    nearest_servo,
)
from trueup.actuators.exports.servo_export import ExportRequest, ServoExport, missing_terms
from trueup.actuators.exports.standard_logs import DESCRIPTION, standard_logs
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search._evaluate import check_logs
from trueup.errors import FitError, listing

MJCF_FORMS = ("position", "dcmotor")
"""Actuators of MuJoCo that a servo can be exported as."""


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

    ``dcmotor`` has the motor's back-EMF, voltage and current limits and the firmware's speed limit,
    and LuGre friction, higher near standstill, where that lowers the error. ``position`` is a
    spring of limited force on a damped joint, for simulators without motors. M1 of a servo whose
    firmware sets the duty cycle or a torque has an exact counterpart; otherwise friction and a
    factor on the gain are fitted to the motion of the full model. The comment states the mean
    position difference in the logs, simulated by MuJoCo.

    Args:
      model: identified servo.
      form: one of :data:`MJCF_FORMS`.
      logs: evenly sampled logs of pendulums to simulate; default: the standard trajectories with a
        pendulum that needs a quarter of the servo's torque.
      kp: firmware gain to export; default: the servo's.
      vin: bus voltage to export [V]; default: the servo's.
      timestep: time step of the simulation [s], for the error and the history of a delay.

    Returns:
      Text of an MJCF file with the classes, to be included or copied.

    Raises:
      FitError: unknown form, a time step that is not positive, or a servo law without a motor for
        the form ``dcmotor``.
      RecordingError: a log belongs to another servo, is not evenly sampled, or describes no
        pendulum; ``logs`` is empty.
    """
    if form not in MJCF_FORMS:
        raise FitError(f"there is no form {form!r} of MJCF; there are {listing(MJCF_FORMS)}")
    request = ExportRequest(model, logs=logs, kp=kp, vin=vin, timestep=timestep)
    return export_mjcf(request, form).text


def export_mjcf(request: ExportRequest, form: str) -> ServoExport:
    """MJCF of a servo as in :func:`mjcf_snippet`, with its mean position errors.

    Args:
      request: servo and conditions.
      form: one of :data:`MJCF_FORMS`.
    """
    nearest = _nearest(request, form)
    errors = {
        "from_model": nearest.from_model,
        "while_driven": nearest.while_driven,
        "from_logs": nearest.from_logs,
        "model_from_logs": nearest.model_from_logs,
    }
    if nearest.while_driven is None:
        errors["while_driven"] = nearest.from_model
    found = {name: value for name, value in errors.items() if value is not None}
    return ServoExport(_text(request, nearest), found)


def _nearest(request: ExportRequest, form: str) -> Nearest:
    model, logs = request.model, request.logs
    if not 0 < request.timestep < math.inf:
        raise FitError(f"the time step of a simulation is positive [s], got {request.timestep}")
    if form == "dcmotor" and model.servo.law == "torque_pd":
        raise FitError(
            f"the law of {model.servo.name!r} sets a torque and has no motor constants, which a "
            "dcmotor needs: take the form 'position', which is exact"
        )
    if logs is not None:
        check_logs(logs, model.servo)
    return nearest_servo(
        model,
        form,
        standard_logs(model, request.kp, request.vin) if logs is None else tuple(logs),
        recorded=logs is not None,
        kp=request.kp,
        vin=request.vin,
        timestep=request.timestep,
    )


def _text(request: ExportRequest, nearest: Nearest) -> str:
    model, logs, timestep = request.model, request.logs, request.timestep
    kp, vin = request.kp, request.vin
    servo, own = nearest.servo, model.servo
    name = re.sub(r"[^0-9A-Za-z]+", "_", own.name)
    volts = own.vin if vin is None else vin
    supply = "" if math.isnan(volts) else f", {volts:g} V"
    said = [
        f"Servo {own.name!r}, friction model {model.friction.name}, as a {servo.form} actuator, at "
        f"kp {own.kp if kp is None else kp:g}{supply}.",
        "Position difference from the full model in MuJoCo, time step "
        f"{1e3 * timestep:g} ms, integrator implicitfast, mean over "
        + (DESCRIPTION if logs is None else f"{len(logs)} logs, each with its own gain and voltage")
        + f": {1e3 * nearest.from_model:.3g} mrad.",
    ]
    if nearest.while_driven is not None:
        said[-1] = said[-1][:-1] + (
            f"; {1e3 * nearest.while_driven:.3g} mrad where each is taken up to where its torque "
            "goes off."
        )
    if nearest.from_logs is not None and nearest.model_from_logs is not None:
        said.append(
            f"Position difference from the recordings: {1e3 * nearest.from_logs:.3g} mrad; of the "
            f"full model: {1e3 * nearest.model_from_logs:.3g} mrad."
        )
    said += [f"Not in it: {part}." for part in left_out(model, nearest)]
    motor_off = "its back-EMF still brakes" if servo.form == "position" else "it coasts"
    said += [
        "The control is the goal [rad]. To release the joint, disable the group of its actuator "
        f"(mjOption.disableactuator); {motor_off}.",
        "Use in a model: the class on the joint, and its actuators:",
    ]
    if math.isfinite(servo.max_velocity):
        said.insert(-1, "The first activation is the goal as far as it has moved: start it at q.")
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
    """Effects of the servo that its MJCF lacks, in words."""
    servo, values = nearest.servo, model.values
    parts = []
    if model.friction.name != "m1":
        stand_in = "LuGre" if servo.has_lugre else "Coulomb"
        parts.append(
            f"its friction, {model.friction.title.lower()}; {stand_in} and viscous friction and a "
            f"factor of {servo.stretch:.3f} on the gain replace it"
        )
    if model.servo.law == "bus_current":
        parts.append("the firmware's control of the bus current: a line replaces a square root")
    if model.servo.law in ("current", "current_pd") and servo.form == "position":
        parts.append("the fall of its greatest torque with speed")
    if values.get("max_velocity") and servo.form == "position":
        parts.append(f"the firmware's speed limit, {values['max_velocity']:.4g} rad/s")
    if values.get("winding_braking") and servo.form == "dcmotor":
        parts.append("the braking of its winding while the torque is off")
    if values.get("command_delay"):
        parts.append("the delay until the joint is released")
    return parts + [name.replace("_", " ") for name in missing_terms(model, EXPRESSED_TERMS)]
