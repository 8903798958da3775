"""The compiled step of servos inside MuJoCo: torque of motors and friction for all joints at once.

The joints with servos are one mechanical system. With ``B`` their inertia while all other degrees
of freedom move freely, their speeds after a step solve::

    (B / h + D) v_next + f = B v / h + load + torque_motor + D_emf v,   |f| <= loss

where ``f`` is ``loss`` against ``v_next``, or the torque that holds the joint at rest if that is
within ``loss``: Coulomb friction with implicit velocity (Moreau, "Unilateral contact and dry
friction in finite freedom dynamics", CISM Courses 302, 1988). For one joint this is the step of
``implicit_speed``. For several it is the minimum of ``v'Hv / 2 - right'v + sum(loss |v|)``, a
quadratic program with l1 penalty as in the lasso, see :func:`next_speeds`.
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
_TAU, _DAMPING, _LOSS, _NEXT, _RIGHT, _LOAD, _TRIAL, _BUDGET, _SEPARATE_SPEED = range(9)
_ROWS = 9

# state of the motor of a joint with backlash relative to its load
_IN_CONTACT, _OPEN, _IMPACT = 0.0, 1.0, 2.0


def not_inlined(function: Any) -> Any:
    """The function compiled by numba without inlining, which compiles faster."""
    return numba.njit(error_model="numpy", fastmath=False)(function)


@not_inlined
def solve_inertia(x, qLD, qLDiagInv, rownnz, rowadr, colind):
    """Solve ``M y = x`` in place with MuJoCo's factors ``M = L' D L``, as ``mj_solveM`` does.

    The sparsity of ``L`` is that of the kinematic tree: Featherstone, "Efficient factorization of
    the joint-space inertia matrix for branched kinematic trees", International Journal of Robotics
    Research 24 (2005). A row has its diagonal, 1, last.
    """
    n = len(x)
    # L' first, from the leaves to the root
    for i in range(n - 1, -1, -1):
        value = x[i]
        if value != 0.0:
            for k in range(rowadr[i], rowadr[i] + rownnz[i] - 1):
                x[colind[k]] -= qLD[k] * value
    # then D and L, from the root of the tree to its leaves
    for i in range(n):
        x[i] *= qLDiagInv[i]
        for k in range(rowadr[i], rowadr[i] + rownnz[i] - 1):
            x[i] -= qLD[k] * x[colind[k]]


@not_inlined
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


@not_inlined
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


@not_inlined
def next_speeds(H, right, loss, speed, trial, chosen, factor):
    """Speeds ``v`` with ``H v + f = right``, where ``|f| <= loss`` opposes them.

    They minimise ``v'Hv / 2 - right'v + sum(loss |v|)``. A primal active-set method: a sweep of
    coordinate descent by soft thresholding (Friedman, Hastie, Hoefling, Tibshirani, "Pathwise
    coordinate optimization", Annals of Applied Statistics 1, 2007) chooses the moving joints and
    their signs, then a Newton step minimises for these signs, as in feature-sign search (Lee,
    Battle, Raina, Ng, "Efficient sparse coding algorithms", NIPS 19, 2007); it ends at the
    first sign change instead of the best one. The cost falls in each round, so sign patterns never
    repeat at their minima, and the method is finite.

    Args:
      H: positive definite ``(n, n)``.
      right, loss: ``(n,)``.
      speed: start speeds, replaced by the solution ``(n,)``.
      trial, chosen, factor: scratch ``(n,)``, ``(n,)`` of integers, and ``(n, n)``.

    Returns:
      Whether every factorised block of ``H`` was positive definite.
    """
    n = len(speed)
    for _ in range(100):  # bounds the time of a step; a few rounds are usual
        # coordinate descent: the minimum along one joint is a soft threshold of its push
        for i in range(n):
            push = right[i] - row_product(H, i, speed) + H[i, i] * speed[i]
            if abs(push) <= loss[i]:
                speed[i] = 0.0
            else:
                speed[i] = (push - math.copysign(loss[i], push)) / H[i, i]
        # minimum with the signs of the moving joints fixed: H_cc v_c = right_c - loss_c sign(v_c)
        count = 0
        for i in range(n):
            if speed[i] != 0.0:
                chosen[count] = i
                trial[count] = right[i] - math.copysign(loss[i], speed[i])
                count += 1
        if not factorise(H, chosen, count, factor):
            return False
        solve_factored(factor, count, trial)
        # where the line to that minimum first meets v_i = 0, friction changes its sign: stop there
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
        # optimality: a joint at rest needs no more than its budget; the tolerance is for rounding
        at_rest = True
        for i in range(n):
            if speed[i] == 0.0:
                push = right[i] - row_product(H, i, speed)
                at_rest = at_rest and abs(push) <= loss[i] * (1.0 + 1e-12)
        if at_rest:
            return True
    return True


@not_inlined
def joint_inertia(dofs, M, qLD, qLDiagInv, rownnz, rowadr, colind, x, chosen, factor, B):
    """Inertia of the joints ``B (n, n)`` while all other degrees of freedom move freely.

    ``B = (S M^-1 S')^-1`` with ``S`` the selection of the joints, the operational-space inertia of
    Khatib, "A unified approach for motion and force control of robot manipulators", IEEE Journal of
    Robotics and Automation 3 (1987). If every degree of freedom has a servo, it is ``M`` itself.
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


@not_inlined
def joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
    """Speeds of all joints after the step.

    While backlash separates a motor from its joint, the joint moves with its load only. If they
    meet within the step, the impact is inelastic: the joint takes up the motor's momentum.

    Returns:
      Whether the inertia was positive definite.
    """
    n = len(velocity)
    speed, right, tau, damping = work[_NEXT], work[_RIGHT], work[_TAU], work[_DAMPING]
    loss, load, budget = work[_LOSS], work[_LOAD], work[_BUDGET]
    if n == 1 and is_open[0] == _IN_CONTACT:
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
        # MuJoCo's inertia contains the armature, which turns separately while the gap is open
        if is_open[i] != _IN_CONTACT:
            H[i, i] -= motor
        right[i] = row_product(H, i, velocity) + load[i]
        speed[i] = velocity[i]
        budget[i] = 0.0
        if is_open[i] == _IN_CONTACT:
            right[i] += tau[i] + damping[i] * velocity[i]
            budget[i] = loss[i]
            H[i, i] += damping[i] + parameters[i, C.friction_viscous]
        elif is_open[i] == _IMPACT:
            right[i] += motor * work[_SEPARATE_SPEED, i]
            H[i, i] += motor
    return next_speeds(H, right, budget, speed, work[_TRIAL], chosen, factor)


def _servo_step(
    h, position, velocity, command, voltage_start, warmth_start, parameters, constants, started,
    target, expected, goal_line, enable_line, torque_motor, torque_friction, torque_load, duty, gap,
    speed_motor, is_open, joints, jnt_dofadr, qfrc_bias, qfrc_passive, M, qLD, qLDiagInv, rownnz,
    rowadr, colind, ctrl_out, applied_out,
):  # fmt: skip
    """Step all servos; the global ``budget`` computes the friction budget of a joint.

    Args:
      h: time step [s].
      position, velocity: of the joints [rad], [rad/s], ``(n,)``.
      command: goals [rad], torque off (0 to 1), and from the given offsets the bus voltages [V] and
        temperatures above the reference [K], ``(n,)`` each.
      voltage_start, warmth_start: offsets in ``command``, 0 for none.
      parameters: rows as in the layout ``(n, columns)``.
      constants: ``(n, N_CONSTANTS)``.
      started: whether there was a previous step ``(1,)``.
      target: rate-limited target of the firmware [rad] ``(n,)``.
      expected: speeds predicted by the last step, without unmodelled torques [rad/s] ``(n,)``.
      goal_line, enable_line: delay lines ``(n, ...)``.
      torque_motor, torque_friction, torque_load, duty: outputs, torques [N m] and duty cycle
        ``(n,)``.
      gap: angle of the motor relative to the joint, for servos with backlash [rad] ``(n,)``.
      speed_motor: speed of a motor that is separated from its joint [rad/s] ``(n,)``.
      is_open: whether it is separated ``(n,)``.
      joints: ids of the joints ``(n,)``.
      jnt_dofadr, qfrc_bias, ...: arrays of the model and the data.
      ctrl_out, applied_out: outputs, motor and friction torque [N m] ``(n,)``.

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
    if not joint_inertia(dofs, M, qLD, qLDiagInv, rownnz, rowadr, colind, x, chosen, factor, B):
        return NOT_POSITIVE_DEFINITE

    # external torque on joints held at rest, B times their acceleration without servos: gravity and
    # springs of this step, and a disturbance observer for the rest (contacts, limits, external
    # forces): the deviation of the speed from the prediction of the last step, one step late
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
            # holds the observed acceleration until the next prediction is written
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
                # the load rests on the side of the gap to which it is pulled
                gap[i] = math.copysign(0.5 * c[C.backlash], -load[i])
            if is_open[i] != _IN_CONTACT:
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
        felt = load[i] if is_open[i] == _IN_CONTACT else 0.0
        loss[i] = budget(  # noqa: F821 # pyright: ignore[reportUndefinedVariable]
            int(k[FRICTION]), c, k[GATED], k[IS_CURVED] != 0.0, tau[i], felt, v
        )

    if not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE
    speed, change = work[_NEXT], work[_TRIAL]
    separated = False
    for i in range(n):
        change[i] = (speed[i] - velocity[i]) / h
    for i in range(n):
        c = parameters[i]
        if c[C.backlash] > 0.0 and is_open[i] == _IN_CONTACT:
            # force of the contact: what the load needs for its acceleration in addition to `load`
            push = row_product(B, i, change) - c[C.armature] * change[i] - load[i]
            if gap[i] * push < 0.0:
                # the contact force would be tensile: motor and load separate
                is_open[i], speed_motor[i], separated = _OPEN, velocity[i], True
                k = constants[i]
                loss[i] = budget(  # noqa: F821 # pyright: ignore[reportUndefinedVariable]
                    int(k[FRICTION]), c, k[GATED], k[IS_CURVED] != 0.0, tau[i], 0.0, velocity[i]
                )
    if separated and not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE

    impact = False
    for i in range(n):
        if is_open[i] == _OPEN:
            c = parameters[i]
            apart = implicit_speed(
                c, speed_motor[i], tau[i], c[C.armature] / h, damping[i], loss[i],
                c[C.friction_viscous],
            )  # fmt: skip
            work[_SEPARATE_SPEED, i] = apart
            reach = gap[i] + h * (apart - speed[i])
            if abs(reach) >= 0.5 * c[C.backlash]:
                gap[i], is_open[i], impact = (
                    math.copysign(0.5 * c[C.backlash], reach),
                    _IMPACT,
                    True,
                )
    if impact and not joint_speeds(h, B, H, factor, chosen, work, velocity, parameters, is_open):
        return NOT_POSITIVE_DEFINITE

    for i in range(n):
        change[i] = (speed[i] - velocity[i]) / h
    for i in range(n):
        # torque that gives MuJoCo's joint these speeds; its inertia includes the armature
        total = row_product(B, i, change) - load[i]
        gained = speed[i] - velocity[i]
        if is_open[i] != _IN_CONTACT:
            gained = work[_SEPARATE_SPEED, i] - speed_motor[i]
            edge = 0.5 * parameters[i, C.backlash]
            if is_open[i] == _OPEN:
                gap[i] = min(max(gap[i] + h * (work[_SEPARATE_SPEED, i] - speed[i]), -edge), edge)
            else:
                is_open[i] = _IN_CONTACT
            speed_motor[i] = work[_SEPARATE_SPEED, i]
        # mean torque of the step: the back-EMF is implicit, and friction is the remainder
        torque_motor[i] = tau[i] - damping[i] * gained
        torque_friction[i] = total - torque_motor[i]
        torque_load[i] = load[i]
        ctrl_out[i] = torque_motor[i]
        applied_out[i] = torque_friction[i]
        # without the observed acceleration, which the next step observes again
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
    step = not_inlined(step)

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
