"""A servo as MJCF without code: the nearest that MuJoCo's own actuators can say."""

import math
import re
import textwrap
from collections.abc import Sequence

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.export._isaac_lab_export import _standard_logs
from trueup.actuators.export._mjcf_fit import Nearest, actuators_of, defaults_of, nearest_servo
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search._evaluate import check_logs
from trueup.errors import FitError, listing

MJCF_FORMS = ("position", "dcmotor")
"""Forms of a servo in MJCF: MuJoCo's ``position`` and ``dcmotor`` actuators."""


def mjcf_snippet(
    model: ServoModel,
    form: str = "dcmotor",
    logs: Sequence[ServoLog] | None = None,
    *,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.001,
) -> str:
    """MJCF of a servo: a default class for joint and actuator, with its error stated.

    ``dcmotor`` has the motor's back-EMF, voltage and current limits and the firmware's speed limit,
    and LuGre friction, higher near standstill, where that is nearer. ``position`` is a spring of
    limited force on a damped joint, for simulators that know no more. Model M1 of a servo whose
    firmware sets the duty cycle or a torque has an exact counterpart; otherwise the friction and a
    factor on the gain are those whose motion comes nearest to the full model's. The comment in the
    file states the mean position difference, simulated by MuJoCo, in the logs.

    Args:
      model: the identified servo.
      form: one of :data:`MJCF_FORMS`.
      logs: evenly sampled logs of pendulums whose commands to simulate. By default the standard
        trajectories with a pendulum that needs a quarter of the servo's torque.
      kp: firmware gain to export; the servo's own by default.
      vin: bus voltage to export [V]; the servo's own by default.
      timestep: time step of the simulation [s], for the error and the history of a delay.

    Returns:
      The text of an MJCF file with the classes, to be included or copied.

    Raises:
      FitError: there is no such form, the time step is not positive, or the servo's law has no
        motor, which the form ``dcmotor`` needs.
      RecordingError: a log is of another servo, is not evenly sampled, or describes no pendulum;
        there are no logs.
    """
    return export_mjcf(model, form, logs, kp=kp, vin=vin, timestep=timestep)[0]


def export_mjcf(
    model: ServoModel,
    form: str,
    logs: Sequence[ServoLog] | None,
    *,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.001,
) -> tuple[str, dict[str, float]]:
    """The text of :func:`mjcf_snippet`, and its mean position errors [rad].

    Errors: ``from_model``: of MuJoCo from the full model; ``while_driven``: the same, each log up
    to where it lets the joint go; with logs, ``from_logs``: of MuJoCo from the recordings, and
    ``model_from_logs``: of the full model from them.
    """
    nearest = _nearest(model, form, logs, kp, vin, timestep)
    errors = {
        "from_model": nearest.from_model,
        "while_driven": nearest.while_driven,
        "from_logs": nearest.from_logs,
        "model_from_logs": nearest.model_from_logs,
    }
    if nearest.while_driven is None:
        errors["while_driven"] = nearest.from_model
    text = _text(model, nearest, logs, kp, vin, timestep)
    return text, {name: value for name, value in errors.items() if value is not None}


def _nearest(
    model: ServoModel,
    form: str,
    logs: Sequence[ServoLog] | None,
    kp: float | None,
    vin: float | None,
    timestep: float,
) -> Nearest:
    if form not in MJCF_FORMS:
        raise FitError(f"there is no form {form!r} of MJCF; there are {listing(MJCF_FORMS)}")
    if not 0 < timestep < math.inf:
        raise FitError(f"the time step of a simulation is positive [s], got {timestep}")
    if form == "dcmotor" and model.servo.law == "torque_pd":
        raise FitError(
            f"the law of {model.servo.name!r} sets a torque and has no motor constants, which a "
            "dcmotor needs: take the form 'position', which says the law exactly"
        )
    if logs is not None:
        check_logs(logs, model.servo)
    return nearest_servo(
        model,
        form,
        _standard_logs(model, kp, vin) if logs is None else tuple(logs),
        recorded=logs is not None,
        kp=kp,
        vin=vin,
        timestep=timestep,
    )


def _text(
    model: ServoModel,
    nearest: Nearest,
    logs: Sequence[ServoLog] | None,
    kp: float | None,
    vin: float | None,
    timestep: float,
) -> str:
    servo, own = nearest.servo, model.servo
    name = re.sub(r"[^0-9A-Za-z]+", "_", own.name)
    volts = own.vin if vin is None else vin
    supply = "" if math.isnan(volts) else f", {volts:g} V"
    said = [
        f"Servo {own.name!r}, friction model {model.friction.name}, as a {servo.form} actuator, at "
        f"kp {own.kp if kp is None else kp:g}{supply}.",
        "Position difference from the full model in MuJoCo, time step "
        f"{1e3 * timestep:g} ms, integrator implicitfast, mean over "
        + (
            "the standard trajectories, a pendulum of a quarter of its torque"
            if logs is None
            else f"{len(logs)} logs, each with its own gain and voltage"
        )
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
        "The control is the goal [rad]. To let the joint go, disable the group of its actuator "
        f"(mjOption.disableactuator); {motor_off}.",
        "In a model: the class on the joint, and its actuators:",
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
    """What of a servo its MJCF does not say."""
    servo, values = nearest.servo, model.values
    parts = []
    if model.friction.name != "m1":
        stand_in = "LuGre" if servo.has_lugre else "Coulomb"
        parts.append(
            f"its friction, {model.friction.title.lower()}; {stand_in} and viscous friction and a "
            f"gain times {servo.stretch:.3f} stand for it"
        )
    if model.servo.law == "bus_current":
        parts.append("the firmware's control of the bus current: a line stands for a root")
    if model.servo.law in ("current", "current_pd") and servo.form == "position":
        parts.append("the fall of its greatest torque with speed")
    if values.get("max_velocity") and servo.form == "position":
        parts.append(f"the firmware's speed limit, {values['max_velocity']:.4g} rad/s")
    if values.get("winding_braking") and servo.form == "dcmotor":
        parts.append("the braking of its winding while the torque is off")
    if values.get("command_delay"):
        parts.append("the delay until the joint is let go")
    others = (
        "backlash",
        "supply_resistance",
        "measured_voltage",
        "resistance_temperature",
        "torque_saturation",
    )
    return parts + [name.replace("_", " ") for name in others if values.get(name)]
