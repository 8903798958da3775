"""A stand-in for Isaac Lab's BAM drive: its configurations, its step with MuJoCo's friction.

``isaaclab_newton`` is on no package index. The settings and their defaults are those of
``BamActuatorCfg`` and ``BamMotorCfg`` in ``isaaclab.actuators`` on Isaac Lab's main branch of 2026,
the step that of ``DriveBam``: an explicit motor torque, and friction as MuJoCo's constraint, which
acts on torques of the step before. ``benchmarks/servo_export_errors.py`` uses it too.
"""

import math
import sys
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from types import ModuleType

import mujoco
import numpy as np


@dataclass(kw_only=True)
class BamMotorCfg:
    """Motor and friction."""

    model: str
    kt: float
    resistance: float
    error_gain: float
    max_pwm: float = 1.0
    max_current: float
    friction_base: float
    friction_viscous: float
    friction_stribeck: float = 0.0
    dtheta_stribeck: float = 1.0
    alpha: float = 1.0
    load_friction_motor: float = 0.0
    load_friction_external: float = 0.0
    load_friction_motor_stribeck: float = 0.0
    load_friction_external_stribeck: float = 0.0
    load_friction_motor_quad: float = 0.0
    load_friction_external_quad: float = 0.0

    def __post_init__(self):
        if self.model not in ("m1", "m2", "m5", "m6"):
            raise ValueError(f"unsupported model {self.model!r}")


@dataclass(kw_only=True)
class BamActuatorCfg:
    """Motor, firmware and supply of a group of joints."""

    joint_names_expr: list[str]
    motor: BamMotorCfg
    kp_fw: float
    vin: float
    armature: float | None = None
    actuator_effort_limit: float | None = None
    vin_range: tuple[float, float] | None = None
    vin_drop_gain_range: tuple[float, float] | None = None
    vin_min: float | None = None
    min_delay: int = 0
    max_delay: int = 0
    delay_hold_prob: float = 0.0
    delay_update_period: int = 0
    stiff_frictionloss: bool = True

    def __post_init__(self):
        if not 0 <= self.min_delay <= self.max_delay:
            raise ValueError("delays out of order")


@contextmanager
def bam_classes():
    """The stand-in in Isaac Lab's place."""
    package, module = ModuleType("isaaclab"), ModuleType("isaaclab.actuators")
    module.BamMotorCfg, module.BamActuatorCfg = BamMotorCfg, BamActuatorCfg
    saved = {name: sys.modules.get(name) for name in ("isaaclab", "isaaclab.actuators")}
    sys.modules.update({"isaaclab": package, "isaaclab.actuators": module})
    try:
        yield
    finally:
        for name, old in saved.items():
            sys.modules.pop(name)
            if old is not None:
                sys.modules[name] = old


def configuration(text: str) -> BamActuatorCfg:
    """The configuration that the code of an export makes."""
    names: dict = {}
    with bam_classes():
        exec(compile(text, "export", "exec"), names)
    (found,) = (value for value in names.values() if isinstance(value, BamActuatorCfg))
    return found


def required() -> set[str]:
    """Settings without a default."""
    classes = (BamMotorCfg, BamActuatorCfg)
    return {f.name for each in classes for f in fields(each) if f.default is MISSING}


def friction_budget(motor: BamMotorCfg, external: float, torque: float, speed: float) -> float:
    """Friction without its viscous part [N m]."""
    budget = motor.friction_base
    if motor.model == "m1":
        return budget
    fraction = math.exp(-((abs(speed) / motor.dtheta_stribeck) ** motor.alpha))
    budget += fraction * motor.friction_stribeck
    if motor.model == "m2":
        return budget
    budget += abs(motor.load_friction_external * external - motor.load_friction_motor * torque)
    standstill = abs(
        motor.load_friction_external_stribeck * external
        - motor.load_friction_motor_stribeck * torque
    )
    if motor.model == "m6":
        driving = abs(torque) > abs(external)
        standstill += (
            motor.load_friction_external_quad * external**2
            if driving
            else motor.load_friction_motor_quad * torque**2
        )
    return budget + fraction * standstill


def positions(cfg: BamActuatorCfg, log, offset: float, bench, timestep: float) -> np.ndarray:
    """Positions [rad] of a joint with the drive in a log, stepped by MuJoCo.

    Args:
      cfg: the configuration, whose gain and voltage are replaced by those of the log.
      log: commands; torque enable switches the motor.
      offset: load angle minus encoder angle [rad].
      bench: inertia [kg m2] and torque of gravity [N m] of the load.
      timestep: physics time step [s].
    """
    motor, vin = cfg.motor, cfg.vin if log.vin is None else log.vin
    length = bench.inertia / (2.0 * bench.gravity_torque)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{timestep}" integrator="implicitfast" gravity="0 0 -1"/>
        <worldbody><body>
        <inertial pos="0 0 {-length}" mass="{bench.gravity_torque / length}"
         diaginertia="{bench.inertia / 2} {bench.inertia / 2} {bench.inertia / 2}"/>
        <joint axis="0 1 0" armature="{cfg.armature}" damping="{motor.friction_viscous}"
         frictionloss="0.1" solreffriction="1e-5 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"/>
        </body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = log.position[0] + offset, log.speed[0]
    substeps = round(log.dt / timestep)
    effort, found, last = cfg.actuator_effort_limit or math.inf, [], 0.0
    commands = [log.goal_position[0]] * cfg.max_delay
    for goal, on in zip(log.goal_position, log.torque_enable, strict=True):
        found.append(data.qpos[0] - offset)
        for _ in range(substeps):
            commands.append(goal)
            speed = float(data.qvel[0])
            duty = (commands.pop(0) - data.qpos[0] + offset) * log.kp * motor.error_gain
            if motor.max_current > 0.0:
                centre = motor.kt * speed / vin
                span = motor.resistance * motor.max_current / vin
                duty = min(max(duty, centre - span), centre + span)
            duty = min(max(duty, -motor.max_pwm), motor.max_pwm)
            torque = on * motor.kt * (vin * duty - motor.kt * speed) / motor.resistance
            torque = min(max(torque, -effort), effort)
            external = -bench.gravity_torque * math.sin(data.qpos[0])
            model.dof_frictionloss[0] = friction_budget(motor, external, last, speed)
            data.qfrc_applied[0] = last = torque
            mujoco.mj_step(model, data)
    return np.array(found)
