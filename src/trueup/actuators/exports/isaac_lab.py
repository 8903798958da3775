"""Export to Isaac Lab: the nearest actuator configuration, with its error.

Isaac Lab's ``DCMotor`` is a PD law limited by the torque-speed line of a DC motor. A servo that
sets its duty cycle in proportion to the position error is exactly that: back-EMF gives the
derivative gain and the slope of the line. ``DCMotor`` lacks friction that depends on load or speed,
a delay, and the firmware's speed limit; a simulation measures their effect.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, 2.3: ``isaaclab.actuators``.
"""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.exports.servo_export import ExportRequest, ServoExport, missing_terms
from trueup.actuators.exports.standard_logs import DESCRIPTION, standard_logs
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search._evaluate import check_logs
from trueup.errors import FitError


@dataclass(frozen=True)
class IsaacLabActuator:
    """Actuator configuration of Isaac Lab."""

    config: str
    """Name of the configuration class."""
    stiffness: float
    """Proportional gain [N m/rad]."""
    damping: float
    """Derivative gain [N m s/rad]."""
    effort_limit: float
    """Maximum torque [N m]."""
    armature: float
    """Inertia of motor and gears [kg m2]."""
    saturation_effort: float = math.inf
    """Stall torque of the torque-speed line [N m]."""
    velocity_limit: float = math.inf
    """No-load speed of the torque-speed line [rad/s]."""
    delay: float = 0.0
    """Delay of commands [s]."""
    friction: float = 0.0
    """Coulomb friction [N m]."""
    viscous: float = 0.0
    """Viscous friction [N m s/rad]."""
    error: float = math.nan
    """Mean position difference from the full model [rad]."""


def isaac_lab_snippet(
    model: ServoModel,
    logs: Sequence[ServoLog] | None = None,
    *,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.005,
) -> str:
    """Python code of the actuator configuration of Isaac Lab that is nearest to a servo.

    Gains, limits and armature follow from the servo's law. Coulomb and viscous friction and a
    factor on the stiffness replace friction that depends on load or speed; they minimise the
    position difference from the full model, simulated on the bench of each log with its gain and
    voltage. A comment states the mean difference.

    Args:
      model: identified servo.
      logs: evenly sampled logs with the commands and benches to simulate; default: the standard
        trajectories with a pendulum that needs a quarter of the servo's torque.
      kp: firmware gain of the configuration; default: the servo's.
      vin: bus voltage of the configuration [V]; default: the servo's.
      timestep: physics time step [s], in which Isaac Lab counts delays.

    Returns:
      Text of a Python module.

    Raises:
      FitError: the time step is not positive.
      RecordingError: a log belongs to another servo, is not evenly sampled, or describes no bench;
        ``logs`` is empty.
    """
    request = ExportRequest(model, logs=logs, kp=kp, vin=vin, timestep=timestep)
    return export_isaac_lab(request).text


def export_isaac_lab(request: ExportRequest) -> ServoExport:
    """Configuration as in :func:`isaac_lab_snippet`, with its mean position error."""
    model, logs, timestep = request.model, request.logs, request.timestep
    if not timestep > 0:
        raise FitError(f"the time step of a simulation is positive [s], got {timestep}")
    if logs is not None:
        check_logs(logs, model.servo)
    described = DESCRIPTION
    if logs is not None:
        described = f"{len(logs)} logs, each with its own gain and voltage"
    choices = nearest_actuators(model, logs, kp=request.kp, vin=request.vin, timestep=timestep)
    text = _text(model, choices, described, timestep, request.kp, request.vin)
    return ServoExport(text, {"from_model": choices[0].error})


def nearest_actuators(
    model: ServoModel,
    logs: Sequence[ServoLog] | None = None,
    *,
    kp: float | None = None,
    vin: float | None = None,
    timestep: float = 0.005,
) -> list[IsaacLabActuator]:
    """Nearest configuration of each class with its error, in order of increasing error."""
    logs = standard_logs(model, kp, vin) if logs is None else tuple(logs)
    truth = BenchSimulator(model, logs).simulate()
    target = [
        replace(log, position=position[0], speed=speed[0])
        for log, position, speed in zip(logs, truth.position, truth.speed, strict=True)
    ]
    found = []
    for config, own in _configurations(model, kp, vin, None, timestep).items():
        groups: dict[tuple[float, float | None, float | None], list[ServoLog]] = {}
        for log in target:
            groups.setdefault((log.kp, log.vin, log.damping), []).append(log)
        simulators = [
            stand_in_simulator(
                _configurations(model, gain, volts, damping, timestep)[config], model, group
            )
            for (gain, volts, damping), group in groups.items()
        ]
        stretch, friction, viscous, error = _nearest_friction(model, simulators, len(target))
        found.append(
            replace(
                own,
                stiffness=own.stiffness * stretch,
                friction=friction,
                viscous=viscous,
                error=error,
            )
        )
    return sorted(found, key=lambda actuator: actuator.error)


def _configurations(
    model: ServoModel,
    kp: float | None,
    vin: float | None,
    damping: float | None,
    timestep: float,
) -> dict[str, IsaacLabActuator]:
    """Configuration of each class for a servo at given gains and voltage, without friction."""
    servo, values = model.servo, model.values
    gain, rate = servo.gains(kp, damping)
    gain *= values.get("error_gain_ratio", values.get("ratio", 1.0))
    vin = servo.vin if vin is None else vin
    armature = values["armature"]
    delay = timestep * round(values.get("command_delay", 0.0) / timestep)
    if servo.law == "torque_pd":
        limit = values.get("max_torque", math.inf)
        plain = IsaacLabActuator("IdealPDActuatorCfg", gain, rate, limit, armature)
        delayed = replace(plain, config="DelayedPDActuatorCfg", delay=delay)
        return {"DelayedPDActuatorCfg": delayed} if delay else {"IdealPDActuatorCfg": plain}
    kt, resistance = values["kt"], values["R"]
    limit = min(values.get("current_limit", math.inf), servo.max_amps)
    stall, free = kt * vin / resistance, vin / kt
    if servo.law == "voltage":
        stiffness, rate = gain * stall, kt * kt / resistance
        stall, free = stall * servo.max_pwm, free * servo.max_pwm
    elif servo.law == "bus_current":
        # torque grows with the square root of the error: start from the line through 0.1 rad
        stiffness = kt * math.sqrt(vin * gain * 0.1 / resistance) / 0.1
        rate = 0.5 * kt * kt / resistance
        limit = math.sqrt(vin * limit / resistance)
    else:
        stiffness, rate = kt * gain, kt * rate
    # a motor driven against its voltage gives more than the stall torque
    effort = kt * limit if math.isfinite(limit) else 2.0 * stall
    motor = IsaacLabActuator("DCMotorCfg", stiffness, rate, effort, armature, stall, free)
    plain = IsaacLabActuator(
        "DelayedPDActuatorCfg" if delay else "ImplicitActuatorCfg",
        stiffness, rate, min(effort, stall), armature, delay=delay,
    )  # fmt: skip
    return {motor.config: motor, plain.config: plain}


def stand_in_simulator(
    actuator: IsaacLabActuator, model: ServoModel, logs: Sequence[ServoLog]
) -> BenchSimulator:
    """Bench simulator of a servo that follows the configuration; its friction is free."""
    numbers = {"armature": actuator.armature, "error_gain_ratio": 1.0}
    if math.isfinite(actuator.saturation_effort):
        # a current law with a torque constant of 1 N m/A equals Isaac Lab's DCMotor
        law, vin = "current_pd", actuator.velocity_limit
        numbers |= {"kt": 1.0, "R": actuator.velocity_limit / actuator.saturation_effort}
    else:
        law, vin = "torque_pd", 1.0
        numbers |= {"max_torque": min(actuator.effort_limit, 1e9)}
    servo = Servo(
        name=model.servo.name,
        law=law,
        parameters=tuple(ModelParameter(n, v, 0.0, math.inf) for n, v in numbers.items()),
        vin=vin,
        error_gain=actuator.stiffness,
        damping=actuator.damping,
        max_amps=actuator.effort_limit,
    )
    terms = ("command_delay",) if actuator.delay else ()
    values = {"q_offset": model.values["q_offset"]}
    if terms:
        values["command_delay"] = actuator.delay
    stand_in = ServoModel.create(servo, "m1", terms).with_values(**values)
    free = ("error_gain_ratio", "friction_base", "friction_viscous")
    alike = [replace(log, kp=1.0, vin=vin, damping=None) for log in logs]
    return BenchSimulator(stand_in, alike, free=free)


def _nearest_friction(
    model: ServoModel, simulators: Sequence[BenchSimulator], logs: int
) -> tuple[float, float, float, float]:
    """Best factor on the stiffness, Coulomb and viscous friction, and their error [rad]."""
    from scipy.optimize import minimize

    def error(point: np.ndarray) -> float:
        return float(sum(s.log_costs(point[None]).sum() for s in simulators)) / logs

    own = np.array([1.0, *(model.values[f"friction_{n}"] for n in ("base", "viscous"))])
    if model.friction.name == "m1" and model.servo.law != "bus_current":
        stretch, friction, viscous = own.tolist()
        return stretch, friction, viscous, error(own)
    moving = float(model.frictions(0.1, -0.1, 0.0)[0])
    start = np.array([1.0, max(own[1], 0.5 * moving, 1e-6), max(own[2], 1e-4)])
    # friction in proportion to load acts like a lower stiffness, hence the free factor
    best = min(
        (
            minimize(
                lambda z: error(np.exp(z)),
                at,
                method="Nelder-Mead",
                options={
                    "initial_simplex": np.vstack([at, at + 0.3 * np.eye(3)]),
                    "xatol": 0.01,
                    "fatol": 1e-5,
                    "maxfev": 300,
                },
            )
            for at in (np.log(start), np.log(start * [1.0, 0.3, 1.0]))
        ),
        key=lambda result: result.fun,
    )
    stretch, friction, viscous = np.exp(best.x).tolist()
    return stretch, friction, viscous, float(best.fun)


def _text(
    model: ServoModel,
    choices: Sequence[IsaacLabActuator],
    described: str,
    timestep: float,
    kp: float | None,
    vin: float | None,
) -> str:
    best, servo = choices[0], model.servo
    volts = servo.vin if vin is None else vin
    supply = "" if math.isnan(volts) else f", {volts:g} V"
    lines = [
        f"# Nearest actuator of Isaac Lab to the servo {servo.name!r} with the friction model "
        f"{model.friction.name},",
        f"# at kp {servo.kp if kp is None else kp:g}{supply}. Position difference from the full "
        "model, mean over",
        f"# {described}: {1e3 * best.error:.2f} mrad.",
    ]
    lines += [f"# ({other.config}: {1e3 * other.error:.2f} mrad.)" for other in choices[1:]]
    for part in _left_out(model, best):
        lines += textwrap.wrap(f"# Not in it: {part}.", 98, subsequent_indent="# ")
    lines += [
        "# Command positions only: the servo has no velocity target other than 0.",
        "# friction, dynamic_friction and viscous_friction are torques from Isaac Sim 5.0 on.",
        f"from isaaclab.actuators import {best.config}",
        "",
        f"{re.sub(r'[^0-9A-Za-z]+', '_', servo.name).upper()}_CFG = {best.config}(",
        '    joint_names_expr=[".*"],',
    ]
    effort = "effort_limit_sim" if best.config == "ImplicitActuatorCfg" else "effort_limit"
    numbers: dict[str, tuple[float | int, str]] = {
        "stiffness": (best.stiffness, "N m/rad"),
        "damping": (best.damping, "N m s/rad, of back-EMF or firmware"),
        effort: (best.effort_limit, "N m"),
    }
    if math.isfinite(best.saturation_effort):
        numbers["saturation_effort"] = (best.saturation_effort, "N m, at standstill")
        numbers["velocity_limit"] = (best.velocity_limit, "rad/s, without load")
    if best.delay:
        steps = round(best.delay / timestep)
        numbers["min_delay"] = (steps, f"physics steps of {timestep:g} s")
        numbers["max_delay"] = (steps, f"physics steps of {timestep:g} s")
    numbers |= {
        "armature": (best.armature, "kg m^2"),
        "friction": (best.friction, "N m, at standstill"),
        "dynamic_friction": (best.friction, "N m, in motion"),
        "viscous_friction": (best.viscous, "N m s/rad"),
    }
    for name, (value, unit) in numbers.items():
        if math.isfinite(value):
            lines.append(f"    {name}={value:.6g},  # {unit}")
    return "\n".join([*lines, ")", ""])


def _left_out(model: ServoModel, best: IsaacLabActuator) -> list[str]:
    """Effects of the servo that the configuration lacks, in words."""
    parts = []
    if model.friction.name != "m1":
        parts.append(
            f"its friction, {model.friction.title}; Coulomb and viscous friction and a "
            "changed stiffness replace it"
        )
    if model.servo.law == "bus_current":
        parts.append("the firmware's control of the bus current: a line replaces a square root")
    if "max_velocity" in model.values:
        parts.append(f"the firmware's speed limit, {model.values['max_velocity']:.4g} rad/s")
    if model.values.get("command_delay") and not best.delay:
        parts.append(f"the delay of commands, {1e3 * model.values['command_delay']:.3g} ms")
    expressed = ("command_delay", "max_velocity", "current_limit")
    return parts + [name.replace("_", " ") for name in missing_terms(model, expressed)]
