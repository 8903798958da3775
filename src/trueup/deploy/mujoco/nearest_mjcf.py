"""Nearest MJCF servo to recordings or to the motion of the full model, evaluated in MuJoCo."""

import functools
import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.bench.loads import bench_of
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.staged_problem import default_threads
from trueup.deploy.fit_progress import Steps
from trueup.deploy.mujoco.fitted_servo import (
    Fitted,
    fit_servo,
    fit_simplest,
    position_distance,
)
from trueup.deploy.mujoco.mjcf_servo import MjcfServo, at_gains, servo_of, with_motor_of
from trueup.deploy.servo import ExportRequest, missing_terms

EXPRESSED_TERMS = ("command_delay", "max_velocity", "current_limit", "winding_braking")
"""Extended terms that actuators of MuJoCo support, or that a form reports as missing itself."""

_NEAR = 1e-4  # error below which more friction parameters are not fitted [rad]
_FIRST_PEAK = (
    0.2  # excess friction near standstill at the start of a fit, relative to Coulomb friction
)
_REACHES = (0.5, 0.25)  # torque in use, relative to the stall torque, that a fit may mean
_FIRST_SATURATION = 0.3  # saturation of the torque constant at the start of a fit [1/A]
_FIRST_STRIBECK_SPEED = 0.5  # its initial Stribeck velocity [rad/s]

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
"""Pendulum with the classes ``servo`` and ``servo_friction``; group 1 contains the motor."""


@dataclass(frozen=True)
class Nearest:
    """Nearest MJCF servo, and its mean position errors over all logs [rad]."""

    servo: MjcfServo
    """Servo at the requested firmware gain and voltage."""
    own: MjcfServo
    """Servo at its own gain and voltage."""
    offset: float
    """Load angle minus encoder angle for the errors [rad]."""
    errors: dict[str, float]
    """Errors as in :attr:`ServoExport.errors`."""
    described: str
    """Description of the reference motions."""


def nearest_servo(request: ExportRequest, form: str) -> Nearest:
    """Servo of a form with the nearest motion in MuJoCo to the recordings.

    Without recordings the reference is the motion of the full model, and a model with an exact
    counterpart is converted. Otherwise the candidate with the smallest error in MuJoCo is used:
    the full model and M1 fitted to the same motion, each converted; all parameters of the form
    fitted from the better of them, for ``parallel`` with a torque constant that saturates; and that
    with LuGre friction.

    Args:
      request: servo and conditions.
      form: ``position``, ``dcmotor`` or ``parallel``.
    """
    model, recorded = request.model, request.logs is not None
    logs, described = request.motions()
    truth = [p[0] for p in BenchSimulator(model, logs).simulate().position]
    measured = [log.position for log in logs]
    aim = measured if recorded else truth
    target = [replace(log, position=position) for log, position in zip(logs, aim, strict=True)]

    def judged(servo: Fitted) -> Judged:
        motion = mujoco_positions(servo.servo, model, logs, servo.offset, request.timestep)
        return Judged(servo, motion, position_distance(motion, aim))

    def converted(each: ServoModel) -> Judged:
        servo = servo_of(each, form)
        return judged(Fitted(servo, each.values["q_offset"]))

    found, errors = [converted(model)], {}
    if recorded or not _is_exact(model, form):
        has_motor = form != "position"
        steps = Steps(request.report, 3 if has_motor else 2)
        fit = functools.partial(fit_servo, model=model, target=target, free_offset=recorded)
        plain = fit_simplest(
            model, target, EXPRESSED_TERMS, free_offset=recorded, report=steps.within(0)
        )
        found.append(converted(plain))
        errors["simplest_from_logs" if recorded else "simplest_from_model"] = found[-1].error
        start = _best(found).fitted
        if form == "parallel" and start.servo.saturation == 0.0:
            start = replace(start, servo=replace(start.servo, saturation=_FIRST_SATURATION))
        found.append(judged(fit(start, report=steps.within(1))))
        if form == "parallel":
            # the servo may use a part of its torque only
            fitted = found[-1].fitted
            found += [
                judged(replace(fitted, servo=replace(fitted.servo, reach=reach)))
                for reach in _REACHES
            ]
        if has_motor and _best(found).error > _NEAR:
            found.append(judged(fit(_with_lugre(_best(found).fitted), report=steps.within(2))))
    request.report(1.0)
    best = _best(found)
    errors["from_model"] = position_distance(best.motion, truth)
    errors["while_driven"] = _while_driven(best.motion, truth, logs, errors["from_model"])
    if recorded:
        errors |= {"from_logs": best.error, "model_from_logs": position_distance(truth, measured)}
    servo = at_gains(best.fitted.servo, model, request.kp, request.supply)
    return Nearest(servo, best.fitted.servo, best.fitted.offset, errors, described)


def _while_driven(
    motion: Sequence[np.ndarray],
    truth: Sequence[np.ndarray],
    logs: Sequence[ServoLog],
    whole: float,
) -> float:
    """Error up to the first release of the joint in each log; ``whole`` without releases."""
    held = [np.logical_and.accumulate(log.torque_enable) for log in logs]
    driven = [
        np.abs(a[now] - b[now]).mean()
        for a, b, now in zip(motion, truth, held, strict=True)
        if now.any()
    ]
    released = any(not now.all() for now in held) and bool(driven)
    return float(np.mean(driven)) if released else whole


@dataclass(frozen=True)
class Judged:
    """A servo with its motion in MuJoCo and its distance from the target."""

    fitted: Fitted
    motion: list[np.ndarray]
    error: float


def _best(found: Sequence[Judged]) -> Judged:
    return min(found, key=lambda each: each.error)


def _with_lugre(fitted: Fitted) -> Fitted:
    """Copy with slightly more friction near standstill, as the start of a fit."""
    servo = fitted.servo
    peak = _FIRST_PEAK * max(servo.friction, 1e-3 * min(servo.greatest_torque, servo.kp))
    speed = _FIRST_STRIBECK_SPEED
    return replace(fitted, servo=replace(servo, stribeck=peak, stribeck_speed=speed))


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

    def positions(log: ServoLog) -> np.ndarray:
        return _mujoco_positions(with_motor_of(servo, model, log), log, offset, timestep)

    with ThreadPoolExecutor(default_threads()) as pool:
        return list(pool.map(positions, logs))


def defaults_of(servo: MjcfServo, name: str, timestep: float) -> str:
    """Default classes ``<name>``, ``<name>_2`` and further ones of motors in parallel, and
    ``<name>_friction`` for LuGre friction."""
    element = "dcmotor" if servo.has_motor else "position"
    lines = []
    for part, attributes in zip(_parts(servo, name), servo.actuators(timestep), strict=True):
        joint = [f"      <joint {_attributes(servo.joint())}/>"] if part == name else []
        lines += [
            f'    <default class="{part}">',
            *joint,
            f"      <{element} {_attributes(attributes)}/>",
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
    element = "general" if servo.has_motor else "position"
    found = [
        f'<{element} name="{own}" joint="{joint}" class="{part}" group="1"/>'
        for own, part in zip(_parts(servo, joint), _parts(servo, name), strict=True)
    ]
    if servo.has_lugre:
        found.append(f'<general name="{joint}_friction" joint="{joint}" class="{name}_friction"/>')
    return found


def _parts(servo: MjcfServo, name: str) -> list[str]:
    """A name for each actuator: the name, and with a number from 2 for the others."""
    return [name, *(f"{name}_{number}" for number in range(2, len(servo.shares()) + 1))]


def _attributes(found: dict[str, str]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in found.items())


def _is_exact(model: ServoModel, form: str) -> bool:
    """Whether MJCF can express the law and the friction exactly."""
    if model.friction.name != "m1" or model.servo.law == "bus_current":
        return False
    if model.values.get("max_velocity") is not None and form == "position":
        return False
    return not missing_terms(model, EXPRESSED_TERMS)


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
    motors = range(len(servo.shares()))
    if model.actuator_history[0, 0] > 0:
        samples = int(model.actuator_history[0, 0])
        past = model.opt.timestep * np.arange(-samples, 0)
        for motor in motors:
            mujoco.mj_initCtrlHistory(model, data, motor, past, np.full(samples, goals[0]))
    found = [np.array([data.qpos[0]])]
    edges = [0, *(np.flatnonzero(np.diff(enabled)) + 1).tolist(), len(goals)]
    for start, stop in itertools.pairwise(edges):
        model.opt.disableactuator = 0 if enabled[start] else 1 << 1
        if math.isfinite(servo.max_velocity):
            error = torque * np.sin(data.qpos[0]) / servo.kp if start == 0 else 0.0
            data.act[: len(motors)] = data.qpos[0] + np.clip(
                goals[0] - data.qpos[0], min(error, 0.0), max(error, 0.0)
            )
        state = np.empty(mujoco.mj_stateSize(model, physics))
        mujoco.mj_getState(model, data, state, physics)
        controls = np.zeros((stop - start, model.nu))
        controls[:, : len(motors)] = goals[start:stop, None]
        states, _ = mujoco.rollout.rollout(model, data, state, controls)
        mujoco.mj_setState(model, data, states[0, -1], physics)
        found.append(states[0, :, 1])
    return np.concatenate(found)[:-1:substeps] - offset
