"""Fit of an MJCF servo to the motion of the full model, and its error in MuJoCo."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import bench_of
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.exports.mjcf_servo import MjcfServo, bench_log, motor_of, with_motor_of
from trueup.actuators.exports.servo_export import missing_terms
from trueup.actuators.logs.servo_log import ServoLog

EXPRESSED_TERMS = ("command_delay", "max_velocity", "current_limit", "winding_braking")
"""Extended terms that actuators of MuJoCo express, or whose absence a form states itself."""

_PENDULUM = """
<mujoco>
  <option timestep="{timestep}" integrator="implicitfast" gravity="0 0 -1"/>
  {defaults}
  <worldbody>
    <body>
      <inertial pos="0 0 -{length}" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>
      <joint name="joint" class="servo" axis="0 1 0"/>
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
</mujoco>
"""
"""Pendulum with the classes ``servo`` and ``servo_friction``; group 1 holds the motor."""


@dataclass(frozen=True)
class Nearest:
    """Nearest MJCF servo and its mean position errors over all logs."""

    servo: MjcfServo
    """Servo at the requested firmware gain and voltage."""
    from_model: float
    """Difference between MuJoCo and the full model on the bench [rad]."""
    while_driven: float | None
    """The same up to the first release of the joint in each log; None if no log has one."""
    from_logs: float | None
    """Difference between MuJoCo and the recordings [rad]; None without recordings."""
    model_from_logs: float | None
    """Difference between the full model and the recordings [rad]."""


def nearest_servo(
    model: ServoModel,
    form: str,
    logs: Sequence[ServoLog],
    *,
    recorded: bool,
    kp: float | None,
    vin: float | None,
    timestep: float,
) -> Nearest:
    """Find the servo of a form whose motion in the logs is nearest to the full model's.

    A model with an exact counterpart is converted. Otherwise friction and a factor on the gain are
    fitted on the bench, and LuGre friction is used where it lowers the error in MuJoCo.

    Args:
      model: full model.
      form: ``position`` or ``dcmotor``.
      logs: evenly sampled logs.
      recorded: whether the logs hold measurements.
      kp, vin: firmware gain and bus voltage [V] to export; default: the servo's.
      timestep: largest time step of MuJoCo [s].
    """
    truth = BenchSimulator(model, logs).simulate().position
    target = [replace(log, position=position[0]) for log, position in zip(logs, truth, strict=True)]
    values = model.values
    start = MjcfServo(
        form=form,
        motor=motor_of(model, form, kp, vin, None),
        armature=values["armature"],
        stretch=1.0,
        friction=values["friction_base"],
        viscous=values["friction_viscous"],
        delay=values.get("command_delay", 0.0),
        max_velocity=values.get("max_velocity", math.inf) if form == "dcmotor" else math.inf,
    )
    candidates = [start]
    if not _is_exact(model, form):
        candidates = [_fitted(start, model, target)]
        if form == "dcmotor" and model.friction.has_stribeck:
            peak = 0.3 * max(candidates[0].friction, 1e-4)
            curved = replace(candidates[0], stribeck=peak, stribeck_speed=values["dtheta_stribeck"])
            candidates.append(_fitted(curved, model, target))
    offset = values["q_offset"]
    motions = [mujoco_positions(each, model, logs, offset, timestep) for each in candidates]
    errors = [_distance(motion, [p[0] for p in truth]) for motion in motions]
    best = int(np.argmin(errors))
    measured = [log.position for log in logs]
    driven = [np.logical_and.accumulate(log.torque_enable) for log in logs]
    until_released = [
        np.abs(a[held] - b[0][held]).mean()
        for a, b, held in zip(motions[best], truth, driven, strict=True)
        if held.any()
    ]
    released = any(not held.all() for held in driven) and bool(until_released)
    return Nearest(
        candidates[best],
        errors[best],
        float(np.mean(until_released)) if released else None,
        _distance(motions[best], measured) if recorded else None,
        _distance([p[0] for p in truth], measured) if recorded else None,
    )


def mujoco_positions(
    servo: MjcfServo,
    model: ServoModel,
    logs: Sequence[ServoLog],
    offset: float,
    timestep: float,
) -> list[np.ndarray]:
    """Positions [rad] of an MJCF servo in each log, simulated by MuJoCo at the log's gain.

    While the torque is off, the motor is a disabled actuator; damping and friction remain.
    """
    return [
        _mujoco_positions(with_motor_of(servo, model, log), log, offset, timestep) for log in logs
    ]


def defaults_of(servo: MjcfServo, name: str, timestep: float) -> str:
    """Default classes ``<name>`` and, for LuGre friction, ``<name>_friction``."""
    lines = [
        f'    <default class="{name}">',
        f"      <joint {_attributes(servo.joint())}/>",
        f"      <{servo.form} {_attributes(servo.actuator(timestep))}/>",
        "    </default>",
    ]
    if servo.has_lugre:
        lines += [
            f'    <default class="{name}_friction">',
            f"      <dcmotor {_attributes(servo.friction_actuator())}/>",
            "    </default>",
        ]
    return "\n".join(["  <default>", *lines, "  </default>"])


def actuators_of(servo: MjcfServo, name: str, joint: str) -> list[str]:
    """Actuators of one joint; ``general``, because a ``dcmotor`` element ignores its class."""
    element = "position" if servo.form == "position" else "general"
    found = [f'<{element} name="{joint}" joint="{joint}" class="{name}" group="1"/>']
    if servo.has_lugre:
        found.append(f'<general name="{joint}_friction" joint="{joint}" class="{name}_friction"/>')
    return found


def _attributes(found: dict[str, str]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in found.items())


def _is_exact(model: ServoModel, form: str) -> bool:
    """Whether MJCF can express the law and the friction exactly."""
    if model.friction.name != "m1" or model.servo.law == "bus_current":
        return False
    if model.values.get("max_velocity") is not None and form == "position":
        return False
    return not missing_terms(model, EXPRESSED_TERMS)


def _fitted(start: MjcfServo, model: ServoModel, target: Sequence[ServoLog]) -> MjcfServo:
    """Fit friction and stretch to the motion in the target logs."""
    from scipy.optimize import minimize

    free = ["stretch", "friction", "viscous"]
    names = ["error_gain_ratio", "friction_base", "friction_viscous"]
    if start.has_lugre:
        free += ["stribeck", "stribeck_speed"]
        names += ["friction_stribeck", "dtheta_stribeck"]
    groups: dict[Any, tuple[MjcfServo, list[ServoLog]]] = {}
    for log in target:
        servo = with_motor_of(start, model, log)
        groups.setdefault(servo.motor, (servo, []))[1].append(bench_log(servo, log))
    offset = model.values["q_offset"]
    simulators = [
        BenchSimulator(servo.on_bench(log[0].motor).with_values(q_offset=offset), log, free=names)
        for servo, log in groups.values()
    ]

    def error(point: np.ndarray) -> float:
        return float(sum(s.log_costs(np.exp(point)[None]).sum() for s in simulators)) / len(target)

    moving = float(model.frictions(0.1, -0.1, 0.0)[0])
    own = np.array([getattr(start, name) for name in free])
    own[1:3] = np.maximum(own[1:3], [0.3 * moving, 1e-4])
    best = None
    for at in (own, own * np.r_[1.0, 0.3, np.ones(len(own) - 2)]):
        at = np.log(np.maximum(at, 1e-9))
        result = minimize(
            error,
            at,
            method="Nelder-Mead",
            options={
                "initial_simplex": np.vstack([at, at + 0.3 * np.eye(len(at))]),
                "xatol": 0.01,
                "fatol": 1e-5,
                "maxfev": 100 * len(at),
            },
        )
        if best is None or result.fun < best.fun:
            best = result
    assert best is not None
    return replace(start, **dict(zip(free, np.exp(best.x).tolist(), strict=True)))


def _distance(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Mean absolute difference [rad], with equal weight for each log."""
    return float(np.mean([np.abs(a - b).mean() for a, b in zip(found, expected, strict=True)]))


def _mujoco_positions(
    servo: MjcfServo, log: ServoLog, offset: float, timestep: float
) -> np.ndarray:
    import mujoco
    import mujoco.rollout

    physics = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
    assert log.dt is not None
    substeps = max(1, math.ceil(log.dt / timestep - 1e-9))
    bench = bench_of(log)
    # gravity is 1 m/s2: a point mass with half of the inertia gives the gravity torque
    torque = max(bench.gravity_torque, 1e-9)
    length = 0.5 * bench.inertia / torque
    text = _PENDULUM.format(
        timestep=repr(log.dt / substeps),
        defaults=defaults_of(servo, "servo", log.dt / substeps),
        length=repr(length),
        mass=repr(torque / length),
        inertia=repr(0.5 * bench.inertia),
        actuators="".join(actuators_of(servo, "servo", "joint")),
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = log.position[0] + offset, log.speed[0]
    goals = np.repeat(log.goal_position + offset, substeps)
    enabled = np.repeat(log.torque_enable, substeps)
    if model.actuator_history[0, 0] > 0:
        samples = int(model.actuator_history[0, 0])
        past = model.opt.timestep * np.arange(-samples, 0)
        mujoco.mj_initCtrlHistory(model, data, 0, past, np.full(samples, goals[0]))
    found = [np.array([data.qpos[0]])]
    edges = [0, *(np.flatnonzero(np.diff(enabled)) + 1).tolist(), len(goals)]
    for start, stop in itertools.pairwise(edges):
        model.opt.disableactuator = 0 if enabled[start] else 1 << 1
        if math.isfinite(servo.max_velocity):
            data.act[0] = data.qpos[0]
        state = np.empty(mujoco.mj_stateSize(model, physics))
        mujoco.mj_getState(model, data, state, physics)
        controls = np.zeros((stop - start, model.nu))
        controls[:, 0] = goals[start:stop]
        states, _ = mujoco.rollout.rollout(model, data, state, controls)
        mujoco.mj_setState(model, data, states[0, -1], physics)
        found.append(states[0, :, 1])
    return np.concatenate(found)[:-1:substeps] - offset
