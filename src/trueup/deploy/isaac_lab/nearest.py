"""Export to Isaac Lab: nearest actuator configuration, with its error.

Isaac Lab's ``DCMotor`` is a PD law limited by the torque-speed line of a DC motor. A servo that
sets its duty cycle in proportion to the position error is exactly that: back-EMF gives the
derivative gain and the slope of the line. ``DCMotor`` does not model friction that depends on load
or speed, a delay, and the firmware's speed limit; a simulation quantifies their effect.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, 2.3: ``isaaclab.actuators``.
"""

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.assess._evaluate import check_logs
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.actuators.logs.servo_log import ServoLog
from trueup.deploy.fit_progress import Report, Steps
from trueup.deploy.mujoco.fitted_servo import (
    Fitted,
    fit_servo,
    fit_simplest,
    position_distance,
)
from trueup.deploy.mujoco.mjcf_servo import MjcfServo, at_gains, servo_of
from trueup.deploy.servo import (
    ExportRequest,
    ServoExport,
    error_sentences,
    missing_terms,
)
from trueup.errors import FitError

_EXPRESSED = ("command_delay", "current_limit")  # extended terms that a class supports


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
    """Python code of the nearest actuator configuration of Isaac Lab to a servo.

    Gains, limits and armature follow from the servo's law. Coulomb and viscous friction and a
    factor on the stiffness replace friction that depends on load or speed; they minimise the
    position difference from the full model, simulated on the bench of each log with its gain and
    voltage. A comment states the mean difference.

    Args:
      model: identified servo.
      logs: evenly sampled logs with the commands and benches to simulate; default: the standard
        trajectories with a pendulum that requires a quarter of the servo's torque.
      kp: firmware gain of the configuration; default: the servo's.
      vin: bus voltage of the configuration [V]; default: as in :func:`export_servo`.
      timestep: physics time step [s], the unit of delays in Isaac Lab.

    Returns:
      Text of a Python module.

    Raises:
      FitError: the time step is not positive.
      RecordingError: a log belongs to another servo, is unevenly sampled, or describes no load;
        ``logs`` is empty.
    """
    request = ExportRequest(model, logs=logs, kp=kp, vin=vin, timestep=timestep)
    return export_isaac_lab(request).text


def export_isaac_lab(request: ExportRequest) -> ServoExport:
    """Configuration as in :func:`isaac_lab_snippet`, with its mean position errors."""
    if not request.timestep > 0:
        raise FitError(
            f"the time step of the simulation must be positive [s], got {request.timestep}"
        )
    if request.logs is not None:
        check_logs(request.logs, request.model.servo)
    nearest = nearest_actuators(request)
    return ServoExport(_text(request, nearest), nearest.errors)


@dataclass(frozen=True)
class NearestActuators:
    """Nearest configuration of each class of Isaac Lab."""

    actuators: list[IsaacLabActuator]
    """Configurations at the requested gain and voltage, in order of increasing error."""
    offset: float
    """Load angle minus encoder angle for the errors of the first [rad]."""
    errors: dict[str, float]
    """Errors of the first one, as in :attr:`ServoExport.errors`."""
    described: str
    """Description of the reference motions."""


@dataclass(frozen=True)
class _Candidate:
    """A configuration as a function of gains and voltage."""

    at: Callable[..., IsaacLabActuator]
    """``at(kp, vin, damping)``."""
    offset: float
    """Load angle minus encoder angle [rad]."""

    def motion(self, model: ServoModel, logs: Sequence[ServoLog]) -> list[np.ndarray]:
        """Position in each log [rad], simulated on its bench."""
        groups: dict[tuple[float, float | None, float | None], list[int]] = {}
        for number, log in enumerate(logs):
            groups.setdefault((log.kp, log.vin, log.damping), []).append(number)
        found: list[np.ndarray] = [np.zeros(0)] * len(logs)
        for gains, numbers in groups.items():
            simulator = equivalent_simulator(
                self.at(*gains), model, [logs[n] for n in numbers], self.offset
            )
            for n, position in zip(numbers, simulator.simulate().position, strict=True):
                found[n] = position[0]
        return found


def nearest_actuators(request: ExportRequest) -> NearestActuators:
    """Nearest configuration of each class to the recordings, or to the full model's motion.

    All parameters of ``DCMotorCfg`` are fitted, starting from the full model and from M1; for the
    other classes Coulomb and viscous friction and a factor on the stiffness. Without recordings
    a model with an exact counterpart is converted.
    """
    model, recorded = request.model, request.logs is not None
    logs, described = request.motions()
    truth = [p[0] for p in BenchSimulator(model, logs).simulate().position]
    measured = [log.position for log in logs]
    aim = measured if recorded else truth
    target = [replace(log, position=position) for log, position in zip(logs, aim, strict=True)]

    def converted(each: ServoModel, kind: str) -> _Candidate:
        def at(kp: float | None, vin: float | None, damping: float | None) -> IsaacLabActuator:
            return _configurations(each, kp, vin, damping, request.timestep)[kind]

        return _Candidate(at, each.values["q_offset"])

    own = _configurations(model, request.kp, request.supply, None, request.timestep)
    kinds = {kind: [converted(model, kind)] for kind in own}
    is_exact = model.friction.name == "m1" and model.servo.law != "bus_current"
    simplest = None
    if recorded or not is_exact:
        steps = Steps(request.report, 3)
        plain = fit_simplest(
            model, target, _EXPRESSED, free_offset=recorded, report=steps.within(0)
        )
        simplest = {kind: converted(plain, kind) for kind in own}
        for kind, candidates in kinds.items():
            candidates.append(simplest[kind])
            errors = [position_distance(each.motion(model, logs), aim) for each in candidates]
            start = candidates[int(np.argmin(errors))]
            if kind == "motor":
                base = (model, plain)[int(np.argmin(errors))]
                candidates.append(
                    _fitted_motor(base, model, target, recorded, request, steps.within(1))
                )
            else:
                candidates.append(_with_nearest_friction(start, model, target))
    found = []
    for candidates in kinds.values():
        motions = [each.motion(model, logs) for each in candidates]
        errors = [position_distance(motion, aim) for motion in motions]
        best = int(np.argmin(errors))
        found.append((errors[best], candidates[best], motions[best]))
    request.report(1.0)
    found.sort(key=lambda each: each[0])
    least, chosen, motion = found[0]
    errors = {"from_model": position_distance(motion, truth)}
    if simplest is not None:
        least_simple = min(
            position_distance(each.motion(model, logs), aim) for each in simplest.values()
        )
        errors["simplest_from_logs" if recorded else "simplest_from_model"] = least_simple
    if recorded:
        errors |= {"from_logs": least, "model_from_logs": position_distance(truth, measured)}
    actuators = [
        replace(each.at(request.kp, request.supply, None), error=error) for error, each, _ in found
    ]
    return NearestActuators(actuators, chosen.offset, errors, described)


def _fitted_motor(
    base: ServoModel,
    model: ServoModel,
    target: Sequence[ServoLog],
    recorded: bool,
    request: ExportRequest,
    report: Report,
) -> _Candidate:
    """``DCMotorCfg`` with all parameters fitted: an MJCF ``dcmotor`` without delay and slew."""
    start = servo_of(base, "dcmotor")
    start = replace(start, delay=0.0, max_velocity=math.inf)
    fitted = fit_servo(
        Fitted(start, base.values["q_offset"]), model, target, free_offset=recorded, report=report
    )

    def at(kp: float | None, vin: float | None, damping: float | None) -> IsaacLabActuator:
        return _dc_motor(at_gains(fitted.servo, model, kp, vin, damping))

    return _Candidate(at, fitted.offset)


def _dc_motor(servo: MjcfServo) -> IsaacLabActuator:
    """``DCMotorCfg`` equivalent to a ``dcmotor`` of MJCF."""
    motor = servo.motor
    stall = motor.kt * motor.vin * motor.max_pwm / motor.resistance
    limit = motor.kt * motor.limit
    return IsaacLabActuator(
        "DCMotorCfg",
        servo.kp,
        servo.back_emf or motor.kt * motor.rate,
        # a back-driven motor exceeds the stall torque
        limit if math.isfinite(limit) else 2.0 * stall,
        servo.armature,
        stall,
        motor.vin * motor.max_pwm / motor.kt,
        friction=servo.friction,
        viscous=servo.viscous,
    )


def _configurations(
    model: ServoModel,
    kp: float | None,
    vin: float | None,
    damping: float | None,
    timestep: float,
) -> dict[str, IsaacLabActuator]:
    """Configuration of each kind for a servo at given gains and voltage.

    ``motor`` is limited by the torque-speed line of a motor, ``pd`` is not.
    """
    servo, values = model.servo, model.values
    gain, rate = servo.gains(kp, damping)
    gain *= values.get("error_gain_ratio", values.get("ratio", 1.0))
    vin = servo.vin if vin is None else vin
    armature = values["armature"]
    friction, viscous = values["friction_base"], values["friction_viscous"]
    delay = timestep * round(values.get("command_delay", 0.0) / timestep)
    if servo.law == "torque_pd":
        limit = values.get("max_torque", math.inf)
        plain = IsaacLabActuator(
            "IdealPDActuatorCfg", gain, rate, limit, armature, friction=friction, viscous=viscous
        )
        delayed = replace(plain, config="DelayedPDActuatorCfg", delay=delay)
        return {"pd": delayed if delay else plain}
    kt, resistance = values["kt"], values["R"]
    limit = min(values.get("current_limit", math.inf), servo.max_amps)
    stall, free = kt * vin / resistance, vin / kt
    if servo.law == "voltage":
        stiffness, rate = gain * stall, kt * kt / resistance
        stall, free = stall * servo.max_pwm, free * servo.max_pwm
    elif servo.law == "bus_current":
        # torque grows with the square root of the error: linearised through 0.1 rad
        stiffness = kt * math.sqrt(vin * gain * 0.1 / resistance) / 0.1
        rate = 0.5 * kt * kt / resistance
        limit = math.sqrt(vin * limit / resistance)
    else:
        stiffness, rate = kt * gain, kt * rate
    # a back-driven motor exceeds the stall torque
    effort = kt * limit if math.isfinite(limit) else 2.0 * stall
    motor = IsaacLabActuator(
        "DCMotorCfg", stiffness, rate, effort, armature, stall, free,
        friction=friction, viscous=viscous,
    )  # fmt: skip
    plain = IsaacLabActuator(
        "DelayedPDActuatorCfg" if delay else "ImplicitActuatorCfg",
        stiffness, rate, min(effort, stall), armature, delay=delay,
        friction=friction, viscous=viscous,
    )  # fmt: skip
    return {"motor": motor, "pd": plain}


def equivalent_simulator(
    actuator: IsaacLabActuator,
    model: ServoModel,
    logs: Sequence[ServoLog],
    offset: float | None = None,
) -> BenchSimulator:
    """Bench simulator of a servo equivalent to the configuration, with free friction.

    Args:
      actuator: the configuration.
      model: full model.
      logs: logs to simulate.
      offset: load angle minus encoder angle [rad]; None: that of the model.
    """
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
    values = {
        "q_offset": model.values["q_offset"] if offset is None else offset,
        "friction_base": actuator.friction,
        "friction_viscous": actuator.viscous,
    }
    if terms:
        values["command_delay"] = actuator.delay
    stand_in = ServoModel.create(servo, "m1", terms).with_values(**values)
    free = ("error_gain_ratio", "friction_base", "friction_viscous")
    alike = [replace(log, kp=1.0, vin=vin, damping=None) for log in logs]
    return BenchSimulator(stand_in, alike, free=free)


def _with_nearest_friction(
    start: _Candidate, model: ServoModel, target: Sequence[ServoLog]
) -> _Candidate:
    """Copy of a configuration with the best factor on the stiffness, Coulomb and viscous friction.

    Load-proportional friction acts like a lower stiffness, hence the free factor.
    """
    from scipy.optimize import minimize

    groups: dict[tuple[float, float | None, float | None], list[ServoLog]] = {}
    for log in target:
        groups.setdefault((log.kp, log.vin, log.damping), []).append(log)
    simulators = [
        equivalent_simulator(start.at(*gains), model, logs, start.offset)
        for gains, logs in groups.items()
    ]

    def error(point: np.ndarray) -> float:
        row = np.exp(point)[None]
        return float(sum(s.log_costs(row).sum() for s in simulators)) / len(target)

    own = start.at(None, None, None)
    moving = float(model.frictions(0.1, -0.1, 0.0)[0])
    first = np.array([1.0, max(own.friction, 0.5 * moving, 1e-6), max(own.viscous, 1e-4)])
    best = min(
        (
            minimize(
                error,
                at,
                method="Nelder-Mead",
                options={
                    "initial_simplex": np.vstack([at, at + 0.3 * np.eye(3)]),
                    "xatol": 0.01,
                    "fatol": 1e-5,
                    "maxfev": 300,
                },
            )
            for at in (np.log(first), np.log(first * [1.0, 0.3, 1.0]))
        ),
        key=lambda result: result.fun,
    )
    stretch, friction, viscous = np.exp(best.x).tolist()

    def at(*gains: float | None) -> IsaacLabActuator:
        actuator = start.at(*gains)
        return replace(
            actuator,
            stiffness=actuator.stiffness * stretch,
            friction=friction,
            viscous=viscous,
        )

    return _Candidate(at, start.offset)


def _text(request: ExportRequest, nearest: NearestActuators) -> str:
    model, choices, errors = request.model, nearest.actuators, nearest.errors
    best, servo, timestep = choices[0], model.servo, request.timestep
    volts = servo.vin if request.supply is None else request.supply
    supply = "" if math.isnan(volts) else f", {volts:g} V"
    said = [
        f"Nearest actuator of Isaac Lab to the servo {servo.name!r} with the friction model "
        f"{model.friction.name}, at kp {servo.kp if request.kp is None else request.kp:g}{supply}.",
        *error_sentences(errors, nearest.described, nearest.offset),
    ]
    said += [f"{other.config}: {1e3 * other.error:.2f} mrad." for other in choices[1:]]
    lines = [line for part in said for line in textwrap.wrap(f"# {part}", 98,
             subsequent_indent="# ")]  # fmt: skip
    for part in _left_out(model, best):
        lines += textwrap.wrap(f"# Not included: {part}.", 98, subsequent_indent="# ")
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
        numbers["saturation_effort"] = (best.saturation_effort, "N m, stall torque")
        numbers["velocity_limit"] = (best.velocity_limit, "rad/s, no-load speed")
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
    """Effects of the servo that the configuration does not model, as phrases."""
    parts = []
    if model.friction.name != "m1":
        parts.append(
            f"its friction, {model.friction.title}; approximated by Coulomb and viscous friction "
            "and a changed stiffness"
        )
    if model.servo.law == "bus_current":
        parts.append(
            "the firmware's control of the bus current: a square root approximated by a line"
        )
    if "max_velocity" in model.values:
        parts.append(f"the firmware's speed limit, {model.values['max_velocity']:.4g} rad/s")
    if model.values.get("command_delay") and not best.delay:
        parts.append(f"the delay of commands, {1e3 * model.values['command_delay']:.3g} ms")
    expressed = (*_EXPRESSED, "max_velocity")
    return parts + [name.replace("_", " ") for name in missing_terms(model, expressed)]
