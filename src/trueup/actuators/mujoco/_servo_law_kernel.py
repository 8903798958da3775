"""The compiled step of servos inside MuJoCo: torque of motors and friction for all joints at once.

The joints with servos are one mechanical system. With ``B`` the inertia that they feel, everything
else moving freely, their speeds after a step solve::

    (B / h + D) v_next + f = B v / h + load + torque_motor + D_emf v,   |f| <= loss

where ``f`` opposes ``v_next``, or is what holds the joint where that is within the budget ``loss``.
For one joint this is the step of ``implicit_speed``. For several it
is the minimum of a convex function, quadratic but for ``loss |v_next|``, which is found by descent
along each joint in turn and by Newton's method among the joints that move.
"""

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from trueup.actuators.equations._parameter_layout import UNLIMITED, C
from trueup.actuators.equations.compiled import (
    Equation,
    compiled,
    held_target,
    implicit_speed,
    loss_functions,
    motor,
    shaft_torque,
)
from trueup.compilation import njit_on_disk
from trueup.simulation.control._delay_line import delayed

# columns of the constants of a joint
(
    LAW, IS_CURVED, GATED, GAIN, RATE_GAIN, MAX_PWM, MAX_AMPS, VOLTAGE, OFFSET, FRICTION,
    N_CONSTANTS,
) = range(11)  # fmt: skip

DELAY_TOO_LONG, NOT_POSITIVE_DEFINITE = 1, 2

# rows of the scratch of a step
_TAU, _DAMPING, _LOSS, _NEXT, _RIGHT, _LOAD, _TRIAL, _BUDGET, _APART = range(9)
_ROWS = 9

# how the motor of a joint with backlash stands to its load
_TOGETHER, _OPEN, _MEETING = 0.0, 1.0, 2.0


def separate(function: Any) -> Any:
    """The function under numba, called rather than copied: quicker to compile."""
    return numba.njit(error_model="numpy", fastmath=False)(function)


@separate
def solve_inertia(x, qLD, qLDiagInv, rownnz, rowadr, colind):
    """Solve ``M y = x`` in place with MuJoCo's factors ``M = L' D L``."""
    n = len(x)
    for i in range(n - 1, -1, -1):
        value = x[i]
        if value != 0.0:
            for k in range(rowadr[i], rowadr[i] + rownnz[i] - 1):
                x[colind[k]] -= qLD[k] * value
    for i in range(n):
        x[i] *= qLDiagInv[i]
        for k in range(rowadr[i], rowadr[i] + rownnz[i] - 1):
            x[i] -= qLD[k] * x[colind[k]]


@separate
def factorise(matrix, chosen, count, factor):
    """Cholesky factor of the chosen rows and columns; False if they are not positive definite."""
    for i in range(count):
        for j in range(i + 1):
            rest = matrix[chosen[i], chosen[j]]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = rest / factor[j, j]
            elif rest > 0.0:
                factor[i, i] = math.sqrt(rest)
            else:
                return False
    return True


@separate
def solve_factored(factor, count, x):
    """Solve in place with a Cholesky factor."""
    for i in range(count):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]


@compiled
def row_product(matrix, i, x):
    """Row of a matrix times a vector."""
    total = 0.0
    for j in range(len(x)):
        total += matrix[i, j] * x[j]
    return total


@separate
def next_speeds(H, right, loss, speed, trial, chosen, factor):
    """Speeds ``v`` with ``H v + f = right``, where ``|f| <= loss`` opposes them.

    They are the minimum of ``v'Hv / 2 - right'v + sum(loss |v|)``. Each round goes down along each
    joint in turn and then, among the joints that move, to the minimum that keeps their directions,
    or to the first that comes to rest. The cost falls in each round, so the directions never repeat
    and few rounds are needed.

    Args:
      H: positive definite ``(n, n)``.
      right, loss: ``(n,)``.
      speed: takes the speeds, and holds those to start from ``(n,)``.
      trial, chosen, factor: scratch ``(n,)``, ``(n,)`` of whole numbers, and ``(n, n)``.

    Returns:
      Whether a matrix was positive definite throughout.
    """
    n = len(speed)
    for _ in range(100):
        for i in range(n):
            push = right[i] - row_product(H, i, speed) + H[i, i] * speed[i]
            if abs(push) <= loss[i]:
                speed[i] = 0.0
            else:
                speed[i] = (push - math.copysign(loss[i], push)) / H[i, i]
        count = 0
        for i in range(n):
            if speed[i] != 0.0:
                chosen[count] = i
                trial[count] = right[i] - math.copysign(loss[i], speed[i])
                count += 1
        if not factorise(H, chosen, count, factor):
            return False
        solve_factored(factor, count, trial)
        share, stops = 1.0, -1
        for k in range(count):
            old = speed[chosen[k]]
            if old * trial[k] <= 0.0 and old / (old - trial[k]) < share:
                share, stops = old / (old - trial[k]), k
        for k in range(count):
            i = chosen[k]
            speed[i] += share * (trial[k] - speed[i])
            if k == stops:
                speed[i] = 0.0
        if stops >= 0:
            continue
        at_rest = True
        for i in range(n):
            if speed[i] == 0.0:
                push = right[i] - row_product(H, i, speed)
                at_rest = at_rest and abs(push) <= loss[i] * (1.0 + 1e-12)
        if at_rest:
            return True
    return True


@separate
def felt_inertia(dofs, M, qLD, qLDiagInv, rownnz, rowadr, colind, x, chosen, factor, B):
    """Inertia that the joints feel while everything else moves freely: ``[M^-1]^-1`` of theirs.

    Where every degree of freedom has a servo, that is the inertia matrix itself.
    """
    n = len(dofs)
    for i in range(n):
        chosen[i] = i
    if n == len(x):
        B[:] = 0.0
        for i in range(n):
            row = dofs[i]
            for k in range(rowadr[row], rowadr[row] + rownnz[row]):
                for j in range(n):
                    if dofs[j] == colind[k]:
                        B[i, j] = B[j, i] = M[k]
        return True
    for j in range(n):
        x[:] = 0.0
        x[dofs[j]] = 1.0
        solve_inertia(x, qLD, qLDiagInv, rownnz, rowadr, colind)
        for i in range(n):
            B[i, j] = x[dofs[i]]
    if n == 1:
        B[0, 0] = 1.0 / B[0, 0]
        return B[0, 0] > 0.0
    if not factorise(B, chosen, n, factor):
        return False
    for j in range(n):
        x[:n] = 0.0
        x[j] = 1.0
        solve_factored(factor, n, x[:n])
        for i in range(n):
            B[i, j] = x[i]
    return True


@separate
def joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
    """Speeds of all joints after the step.

    A joint whose motor is apart moves with its load alone; one whose motor meets it within the
    step, inelastically, shares the motor's momentum.

    Returns:
      Whether the inertia was positive definite.
    """
    n = len(velocity)
    speed, right, tau, damping = work[_NEXT], work[_RIGHT], work[_TAU], work[_DAMPING]
    loss, load, budget = work[_LOSS], work[_LOAD], work[_BUDGET]
    if n == 1 and is_open[0] == _TOGETHER:
        c = parameters[0]
        speed[0] = implicit_speed(
            c, velocity[0], tau[0] + load[0], B[0, 0] / h, damping[0], loss[0],
            c[C.friction_viscous],
        )  # fmt: skip
        return True
    for i in range(n):
        for j in range(n):
            H[i, j] = B[i, j] / h
        motor = parameters[i, C.armature] / h
        if is_open[i] != _TOGETHER:
            H[i, i] -= motor
        right[i] = row_product(H, i, velocity) + load[i]
        speed[i] = velocity[i]
        budget[i] = 0.0
        if is_open[i] == _TOGETHER:
            right[i] += tau[i] + damping[i] * velocity[i]
            budget[i] = loss[i]
            H[i, i] += damping[i] + parameters[i, C.friction_viscous]
        elif is_open[i] == _MEETING:
            right[i] += motor * work[_APART, i]
            H[i, i] += motor
    return next_speeds(H, right, budget, speed, work[_TRIAL], chosen, factor)


def _servo_step(
    h, position, velocity, command, voltage_start, warmth_start, parameters, constants, started,
    target, expected, goal_line, enable_line, torque_motor, torque_friction, torque_load, duty, gap,
    speed_motor, is_open, joints, jnt_dofadr, qfrc_bias, qfrc_passive, M, qLD, qLDiagInv, rownnz,
    rowadr, colind, ctrl_out, applied_out,
):  # fmt: skip
    """Step all servos; ``budget`` among the globals are the friction budgets of joints.

    Args:
      h: time step [s].
      position, velocity: of the joints [rad], [rad/s], ``(n,)``.
      command: goals [rad], torque off (0 to 1), and from the places given the bus voltages [V] and
        temperatures above the reference [K], ``(n,)`` each.
      voltage_start, warmth_start: places in ``command``, 0 where there are none.
      parameters: rows as in the layout ``(n, columns)``.
      constants: ``(n, N_CONSTANTS)``.
      started: whether there was a step before ``(1,)``.
      target: goal as far as the firmware has moved it [rad] ``(n,)``.
      expected: speeds that the last step would lead to, but for what acts from outside [rad/s]
        ``(n,)``.
      goal_line, enable_line: delay lines ``(n, ...)``.
      torque_motor, torque_friction, torque_load, duty: take what they are named after ``(n,)``.
      gap: angle of the motor from the joint, servos with backlash [rad] ``(n,)``.
      speed_motor: speed of a motor that is apart from its joint [rad/s] ``(n,)``.
      is_open: whether it is ``(n,)``.
      joints: ids of the joints ``(n,)``.
      jnt_dofadr, qfrc_bias, ...: arrays of the model and the data.
      ctrl_out, applied_out: take motor and friction torque [N m] ``(n,)``.

    Returns:
      A failure code, 0 for none.
    """
    n = len(position)
    nv = len(qfrc_bias)
    floats = np.empty((_ROWS + 3 * n + 1) * n + nv)
    work = floats[: _ROWS * n].reshape(_ROWS, n)
    start = _ROWS * n
    B = floats[start : start + n * n].reshape(n, n)
    H = floats[start + n * n : start + 2 * n * n].reshape(n, n)
    factor = floats[start + 2 * n * n : start + 3 * n * n].reshape(n, n)
    extra = floats[start + 3 * n * n : start + 3 * n * n + n]
    x = floats[start + 3 * n * n + n :]
    whole = np.empty(2 * n, np.int64)
    dofs, chosen = whole[:n], whole[n:]
    for i in range(n):
        dofs[i] = jnt_dofadr[joints[i]]
    if not felt_inertia(dofs, M, qLD, qLDiagInv, rownnz, rowadr, colind, x, chosen, factor, B):
        return NOT_POSITIVE_DEFINITE

    # torque of everything else on joints that stand still: gravity, springs, and what the last
    # step was not expected to bring, which is contact, limits and forces from outside
    load = work[_LOAD]
    if n == nv:
        for i in range(n):
            load[i] = qfrc_passive[dofs[i]] - qfrc_bias[dofs[i]]
            extra[i] = 0.0
    else:
        for i in range(nv):
            x[i] = qfrc_passive[i] - qfrc_bias[i]
        solve_inertia(x, qLD, qLDiagInv, rownnz, rowadr, colind)
        for i in range(n):
            load[i] = 0.0
            extra[i] = x[dofs[i]]
    if started[0] != 0.0:
        for i in range(n):
            # the acceleration from outside, until the expectation of the next step is written
            expected[i] = (velocity[i] - expected[i]) / h
            extra[i] += expected[i]
    for i in range(n):
        load[i] += row_product(B, i, extra)

    tau, damping, loss = work[_TAU], work[_DAMPING], work[_LOSS]
    for i in range(n):
        c, k = parameters[i], constants[i]
        q, v = position[i] - k[OFFSET], velocity[i]
        if c[C.backlash] > 0.0:
            if started[0] == 0.0:
                # the load hangs on one side of the gap
                gap[i] = math.copysign(0.5 * c[C.backlash], -load[i])
            if is_open[i] != _TOGETHER:
                v = speed_motor[i]
        wanted, on = command[i], 1.0 - min(max(command[n + i], 0.0), 1.0)
        if c[C.command_delay] > 0.0:
            wanted = delayed(goal_line[i], wanted, c[C.command_delay] / h)
            on = delayed(enable_line[i], on, c[C.command_delay] / h)
            if math.isnan(wanted) or math.isnan(on):
                return DELAY_TOO_LONG
        volts = k[VOLTAGE]
        if voltage_start > 0 and command[voltage_start + i] > 0.0:
            volts = command[voltage_start + i]
        warmth = 0.0
        if warmth_start > 0:
            warmth = command[warmth_start + i]
        if c[C.max_velocity] < UNLIMITED:
            if on == 0.0:
                target[i] = q
            elif started[0] == 0.0:
                target[i] = held_target(
                    int(k[LAW]), c, k[GAIN], k[VOLTAGE], volts, warmth, wanted, q, load[i]
                )
            move = wanted - target[i]
            target[i] += math.copysign(min(abs(move), c[C.max_velocity] * h), move)
        else:
            target[i] = wanted
        driven, duty[i], implicit = motor(
            int(k[LAW]), c, k[GAIN], k[RATE_GAIN], k[MAX_PWM], k[MAX_AMPS], k[VOLTAGE], volts,
            warmth, target[i] - q, v,
        )  # fmt: skip
        tau[i], damping[i] = shaft_torque(c, on, driven, implicit, warmth, v)
        felt = load[i] if is_open[i] == _TOGETHER else 0.0
        loss[i] = budget(  # noqa: F821 # pyright: ignore[reportUndefinedVariable]
            int(k[FRICTION]), c, k[GATED], k[IS_CURVED] != 0.0, tau[i], felt, v
        )

    if not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE
    speed, change = work[_NEXT], work[_TRIAL]
    parted = False
    for i in range(n):
        change[i] = (speed[i] - velocity[i]) / h
    for i in range(n):
        c = parameters[i]
        if c[C.backlash] > 0.0 and is_open[i] == _TOGETHER:
            push = row_product(B, i, change) - c[C.armature] * change[i] - load[i]
            if gap[i] * push < 0.0:
                # the contact would have to pull: motor and load part
                is_open[i], speed_motor[i], parted = _OPEN, velocity[i], True
                k = constants[i]
                loss[i] = budget(  # noqa: F821 # pyright: ignore[reportUndefinedVariable]
                    int(k[FRICTION]), c, k[GATED], k[IS_CURVED] != 0.0, tau[i], 0.0, velocity[i]
                )
    if parted and not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE

    met = False
    for i in range(n):
        if is_open[i] == _OPEN:
            c = parameters[i]
            apart = implicit_speed(
                c, speed_motor[i], tau[i], c[C.armature] / h, damping[i], loss[i],
                c[C.friction_viscous],
            )  # fmt: skip
            work[_APART, i] = apart
            reach = gap[i] + h * (apart - speed[i])
            if abs(reach) >= 0.5 * c[C.backlash]:
                gap[i], is_open[i], met = math.copysign(0.5 * c[C.backlash], reach), _MEETING, True
    if met and not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE

    for i in range(n):
        change[i] = (speed[i] - velocity[i]) / h
    for i in range(n):
        # what MuJoCo's joint, whose inertia has the armature, needs for these speeds
        total = row_product(B, i, change) - load[i]
        gained = speed[i] - velocity[i]
        if is_open[i] != _TOGETHER:
            gained = work[_APART, i] - speed_motor[i]
            edge = 0.5 * parameters[i, C.backlash]
            if is_open[i] == _OPEN:
                gap[i] = min(max(gap[i] + h * (work[_APART, i] - speed[i]), -edge), edge)
            else:
                is_open[i] = _TOGETHER
            speed_motor[i] = work[_APART, i]
        torque_motor[i] = tau[i] - damping[i] * gained
        torque_friction[i] = total - torque_motor[i]
        torque_load[i] = load[i]
        ctrl_out[i] = torque_motor[i]
        applied_out[i] = torque_friction[i]
        expected[i] = speed[i] - h * expected[i]
    started[0] = 1.0
    return 0


@functools.cache
def servo_step(frictions: tuple[Equation, ...], columns: tuple[str, ...]) -> Callable[..., int]:
    """The step of all servos, with the arguments of :func:`_servo_step`.

    Args:
      frictions: equations of the friction budgets that joints may have, by number.
      columns: names of the columns of a row of parameters.
    """
    names = {**globals(), "budget": loss_functions(frictions, columns)}
    step = types.FunctionType(_servo_step.__code__, names, "_servo_step")
    step = separate(step)

    def servo_step(
        h, position, velocity, command, voltage_start, warmth_start, parameters, constants, started,
        target, expected, goal_line, enable_line, torque_motor, torque_friction, torque_load, duty,
        gap, speed_motor, is_open, joints, jnt_dofadr, qfrc_bias, qfrc_passive, M, qLD, qLDiagInv,
        rownnz, rowadr, colind, ctrl_out, applied_out,
    ):  # fmt: skip
        return step(
            h, position, velocity, command, voltage_start, warmth_start, parameters, constants,
            started, target, expected, goal_line, enable_line, torque_motor, torque_friction,
            torque_load, duty, gap, speed_motor, is_open, joints, jnt_dofadr, qfrc_bias,
            qfrc_passive, M, qLD, qLDiagInv, rownnz, rowadr, colind, ctrl_out, applied_out,
        )  # fmt: skip

    return njit_on_disk(servo_step, error_model="numpy", fastmath=False)
