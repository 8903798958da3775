"""Export to Isaac Lab's own drive for servos, ``DriveBam``, as its configuration.

The drive has a firmware that sets the duty cycle in proportion to the error, limits of duty cycle
and current, a DC motor, and friction models M1, M2, M5 and M6. M3 and M4 are M5 with equal
coefficients on both sides. Its quadratic term is the ungated one, and it delays commands by whole
physics steps. What it lacks is fitted away as far as possible, and the error is simulated.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, main branch of 2026:
``isaaclab.actuators.BamActuatorCfg`` and ``BamMotorCfg``, and ``DriveBam`` of ``isaaclab_newton``.
"""

import math
import re
import textwrap
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.assess._evaluate import check_logs
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.friction_models import PUBLISHED_MODELS
from trueup.deploy.fit_progress import Steps
from trueup.deploy.isaac_lab.bam_steps import delay_steps, drive_positions
from trueup.deploy.mujoco.fitted_servo import fit_model, fit_simplest, position_distance
from trueup.deploy.servo import (
    ExportRequest,
    ServoExport,
    error_sentences,
    missing_terms,
)
from trueup.errors import FitError

HELD_TERMS = ("command_delay", "current_limit")
"""Extended terms that the drive has."""

_FRICTIONS = {"m1": "m1", "m2": "m2", "m3": "m5", "m4": "m5", "m5": "m5", "m6": "m6"}
"""Friction model -> model of the drive that contains it."""

_SIDES = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": (
        "load_friction_motor_stribeck",
        "load_friction_external_stribeck",
    ),
}
"""Coefficient of M3 and M4 -> those of M5 that equal it."""

_NEAR = 1e-4  # difference of motions below which the drive holds a model [rad]
_QUADRATIC = ("load_friction_motor_quad", "load_friction_external_quad")


@dataclass(frozen=True)
class BamDrive:
    """A servo model that the drive holds, and its errors."""

    model: ServoModel
    """The model: M1, M2, M5 or M6, with :data:`HELD_TERMS` at most."""
    is_converted: bool
    """Whether its values are those of the full model; otherwise they are fitted."""
    errors: dict[str, float]
    """Errors as in :attr:`ServoExport.errors`."""
    described: str
    """Description of the reference motions."""


def export_bam(request: ExportRequest) -> ServoExport:
    """Configuration of the drive, with its mean position errors.

    Raises:
      FitError: the servo's law is not that of the drive, or the time step is not positive.
      RecordingError: a log belongs to another servo, is unevenly sampled, or describes no load.
    """
    model = request.model
    if model.servo.law != "voltage":
        raise FitError(
            f"Isaac Lab's BAM drive sets a duty cycle in proportion to the error, but the law of "
            f"{model.servo.name!r} is {model.servo.law!r}: use the form 'isaac-lab-module', which "
            "has every law, or 'isaac-lab'"
        )
    if request.logs is not None:
        check_logs(request.logs, model.servo)
    drive = nearest_drive(request)
    return ServoExport(_text(request, drive), drive.errors)


def nearest_drive(request: ExportRequest) -> BamDrive:
    """Model of the drive that is nearest to the recordings, or to the motion of the full model.

    A model whose motion the drive repeats keeps its values. Otherwise these are a start, and all
    values are fitted.
    """
    model, recorded = request.model, request.logs is not None
    logs, described = request.motions()
    truth = [p[0] for p in BenchSimulator(model, logs).simulate().position]
    measured = [log.position for log in logs]
    aim = measured if recorded else truth
    target = [replace(log, position=position) for log, position in zip(logs, aim, strict=True)]

    def motion(each: ServoModel) -> list[np.ndarray]:
        return drive_positions(each, logs, request.timestep)

    held = held_model(model)
    simulated = [p[0] for p in BenchSimulator(held, logs).simulate().position]
    is_whole = position_distance(simulated, truth) < _NEAR
    found, errors = [held], {}
    if recorded or not is_whole:
        steps = Steps(request.report, 2)
        plain = fit_simplest(
            model, target, HELD_TERMS, free_offset=recorded, report=steps.within(0)
        )
        name = "simplest_from_logs" if recorded else "simplest_from_model"
        errors[name] = position_distance(motion(plain), aim)
        if not is_whole:
            free = [n for n in held.names if recorded or n != "q_offset"]
            found += [fit_model(held, target, free, report=steps.within(1)), plain]
    request.report(1.0)
    motions = [motion(each) for each in found]
    best = int(np.argmin([position_distance(each, aim) for each in motions]))
    errors["from_model"] = position_distance(motions[best], truth)
    if recorded:
        errors |= {
            "from_logs": position_distance(motions[best], measured),
            "model_from_logs": position_distance(truth, measured),
        }
    return BamDrive(found[best], best == 0, errors, described)


def held_model(model: ServoModel) -> ServoModel:
    """Model of the drive with the values of a servo model; without the terms that it lacks."""
    friction = _FRICTIONS.get(model.friction.name, "m6")
    terms = tuple(term for term in model.terms if term in HELD_TERMS)
    found = ServoModel.create(model.servo, friction, terms, quadratic="ungated")
    friction_values = {name: 0.0 for name in found.names if "friction" in name}
    same = {name: value for name, value in model.values.items() if name in found.names}
    split = {
        side: model.values[name]
        for name, sides in _SIDES.items()
        if name in model.values and name not in found.names
        for side in sides
        if side in found.names
    }
    return found.with_values(**{**friction_values, **same, **split})


def _text(request: ExportRequest, drive: BamDrive) -> str:
    model, held, timestep = request.model, drive.model, request.timestep
    servo, values = model.servo, held.values
    volts = servo.vin if request.supply is None else request.supply
    kp = servo.kp if request.kp is None else request.kp
    said = [
        f"Servo {servo.name!r} with the friction model {model.friction.name} in Isaac Lab's BAM "
        f"drive as {held.friction.name}, at kp {kp:g}, {volts:g} V.",
        *error_sentences(
            drive.errors, drive.described, values["q_offset"], is_converted=drive.is_converted
        ),
        *(f"Not included: {part}." for part in _left_out(model)),
        f"Errors are those of physics steps of {1e3 * timestep:g} ms: friction of the drive "
        "follows the torques of the step before.",
        "Requires isaaclab_newton: Newton with its MJWarp solver, use_newton_actuators=True.",
    ]
    lines = [
        line for part in said for line in textwrap.wrap(f"# {part}", 98, subsequent_indent="# ")
    ]
    name = re.sub(r"[^0-9A-Za-z]+", "_", servo.name).upper()
    limit = min(values.get("current_limit", math.inf), servo.max_amps)
    ratio = values.get("error_gain_ratio", values.get("ratio", 1.0))
    motor: dict[str, tuple[float, str]] = {
        "kt": (values["kt"], "N m/A"),
        "resistance": (values["R"], "ohm"),
        "error_gain": (servo.error_gain * ratio, "1/rad per unit of kp_fw"),
        "max_pwm": (servo.max_pwm, "greatest duty cycle"),
        "max_current": (limit if math.isfinite(limit) else 0.0, "A; 0 is no limit"),
        **{
            parameter.name: (values[parameter.name], parameter.unit)
            for parameter in held.friction.parameters
            if parameter.name != "q_offset"
        },
    }
    # the default, the torque at standstill, is exceeded by a motor that is driven backwards
    effort = 2.0 * values["kt"] * volts / values["R"]
    own: dict[str, tuple[float | int, str]] = {
        "kp_fw": (kp, "firmware gain"),
        "vin": (volts, "V"),
        "armature": (values["armature"], "kg m^2"),
        "actuator_effort_limit": (
            effort,
            "N m, twice the stall torque",
        ),
    }
    if steps := delay_steps(held, timestep):
        own["min_delay"] = own["max_delay"] = (steps, f"physics steps of {timestep:g} s")
    lines += [
        "from isaaclab.actuators import BamActuatorCfg, BamMotorCfg",
        "",
        f"{name}_MOTOR = BamMotorCfg(",
        f'    model="{held.friction.name}",',
        *_settings(motor),
        ")",
        "",
        f"{name}_CFG = BamActuatorCfg(",
        '    joint_names_expr=[".*"],',
        f"    motor={name}_MOTOR,",
        *_settings(own),
        ")",
        "",
    ]
    return "\n".join(lines)


def _settings(numbers: dict[str, tuple[float | int, str]]) -> list[str]:
    return [
        f"    {name}={value:.9g}," + (f"  # {unit}" if unit else "")
        for name, (value, unit) in numbers.items()
    ]


def _left_out(model: ServoModel) -> list[str]:
    """Effects of the servo that the drive does not model, as phrases."""
    parts = []
    if model.friction.name not in PUBLISHED_MODELS:
        parts.append(f"its friction, {model.friction.title}; approximated by M6")
    elif model.quadratic == "gated" and any(model.values.get(n, 0.0) for n in _QUADRATIC):
        parts.append(
            "the condition that quadratic friction acts only while the torques oppose each other"
        )
    return parts + [name.replace("_", " ") for name in missing_terms(model, HELD_TERMS)]
