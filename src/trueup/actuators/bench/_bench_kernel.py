"""The compiled rollouts of the bench: pairs of candidate and log, with or without derivatives.

Called without columns for derivatives, numba leaves their code out: one source gives a fast
simulator and one with exact derivatives of the very steps it makes.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from trueup.actuators.bench import (
    _bench_step,
    _lane_functions,
    _lane_gradients,
    _lane_rollouts,
    _rollout_parts,
)
from trueup.actuators.bench._bench_step import advance, command, surroundings
from trueup.actuators.bench._lane_gradients import lane_gradients
from trueup.actuators.bench._lane_rollouts import lane_rollouts
from trueup.actuators.bench._rollout_parts import has_diverged, initial_state, loss_of
from trueup.actuators.equations import _servo_kernel
from trueup.actuators.equations._servo_kernel import (
    ALPHA,
    BACKLASH,
    DELAY,
    compiled,
    compiled_apart,
    stribeck_range,
)


@compiled
def observe(kind, objective, measured, sample, clock, row, q, v, v_motor, is_open, sum_q, sum_v):
    """Begin a sample: take the log's state where it is due, and add the losses of the sample."""
    clock += row[0]
    if clock > row[13]:
        clock = 0.0
        q, v = measured[0, sample], measured[1, sample]
        v_motor, is_open = v, False
    sum_q += loss_of(kind, objective[1], q - measured[0, sample])[0]
    if objective[5] != 0.0:
        sum_v += loss_of(kind, objective[2], v - measured[1, sample])[0]
    return clock, q, v, v_motor, is_open, sum_q, sum_v


@compiled_apart
def _rollouts(
    start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective, sums, failed,
    recorded, columns, gradient, jacobian, work,
):  # fmt: skip
    """Roll pairs of candidate and log out, and compare them with what was measured.

    Args:
      start, stop: pairs to do; pair = candidate x number of logs + log.
      rows: parameters ``(n, SIZE)``.
      setting: law, Stribeck, gated and ``bam`` as whole numbers ``(4,)``.
      log_rows: numbers of the logs ``(l, 14)``.
      offsets: first sample of each log, and the end ``(l + 1,)``.
      table: loads given by tables ``(k, 4)``.
      inputs: goal [rad], torque enable, supply voltage [V], temperature above the reference [K]
        ``(4, m)``.
      measured: position, speed and duty ``(3, m)``; NaN is not compared.
      objective: kind, then three widths, then three weights ``(7,)``.
      sums: takes the summed losses ``(n, l, 3)``.
      failed: takes the time at which a rollout diverged ``(n, l)``; untouched otherwise.
      recorded: takes position, speed and duty ``(n, 3, m)``; empty for none.
      columns: column of the derivatives of each parameter ``(SIZE,)``, the last column for those
        that are not wanted; None for no derivatives.
      gradient: takes the derivative of the sums, times their weights ``(n, l, 3, p)``; may be
        empty.
      jacobian: takes the derivatives of the samples ``(n, 3, m, p)``; may be empty.
      work: space of this call alone ``(7, p)``.
    """
    law, stribeck, gated, bam = setting[0], setting[1] != 0, setting[2] != 0, setting[3] != 0
    logs = offsets.shape[0] - 1
    kind = int(objective[0])
    goal, enable, volts, warmth = inputs[0], inputs[1], inputs[2], inputs[3]
    records, sums_up = recorded.shape[0] > 0, gradient.shape[0] > 0
    by_sample = jacobian.shape[0] > 0
    size = work.shape[1]
    s_q, s_v, s_m, s_gap = work[0], work[1], work[2], work[3]
    s_target, s_duty, direct = work[4], work[5], work[6]
    for pair in range(start, stop):
        i, j = pair // logs, pair % logs
        c, row = rows[i], log_rows[j]
        first = offsets[j]
        substeps, h = int(row[1]), row[0] / row[1]
        slow, fast = stribeck_range(c[ALPHA])
        delayed = c[DELAY] > 0.0
        q, v, v_motor, target, gap, is_open = initial_state(
            c, bam, measured[0, first], measured[1, first]
        )
        if columns is not None:
            delayed = True  # where it is not, its derivative may be wanted
            for k in range(size):
                s_q[k], s_v[k], s_m[k], s_gap[k], s_target[k] = 0.0, 0.0, 0.0, 0.0, 0.0
            s_gap[columns[BACKLASH]] = math.copysign(0.5, gap)
        clock, sum_q, sum_v, sum_duty = 0.0, 0.0, 0.0, 0.0
        for sample in range(first, offsets[j + 1]):
            clock, q, v, v_motor, is_open, sum_q, sum_v = observe(
                kind, objective, measured, sample, clock, row, q, v, v_motor, is_open, sum_q, sum_v
            )
            if records:
                recorded[i, 0, sample], recorded[i, 1, sample] = q, v
            if columns is not None:
                if clock == 0.0:
                    for k in range(size):
                        s_q[k], s_v[k], s_m[k] = 0.0, 0.0, 0.0
                if sums_up:
                    slope = loss_of(kind, objective[1], q - measured[0, sample])[1]
                    for k in range(size):
                        gradient[i, j, 0, k] += objective[4] * slope * s_q[k]
                    if objective[5] != 0.0:
                        slope = loss_of(kind, objective[2], v - measured[1, sample])[1]
                        for k in range(size):
                            gradient[i, j, 1, k] += objective[5] * slope * s_v[k]
                if by_sample:
                    for k in range(size):
                        jacobian[i, 0, sample, k], jacobian[i, 1, sample, k] = s_q[k], s_v[k]
            for substep in range(substeps):
                wanted, on, goal_slope, on_slope = goal[sample], enable[sample], 0.0, 0.0
                if delayed:
                    step = (sample - first) * substeps + substep
                    wanted, on, goal_slope, on_slope = command(
                        goal, enable, first, step, substeps, h, c[DELAY]
                    )
                around = surroundings(stribeck, c, row, table, slow, fast, q, v, v_motor, is_open)
                q, v, v_motor, target, gap, is_open, duty = advance(
                    law, gated, bam, c, row, h, wanted, on, goal_slope, on_slope, around,
                    volts[sample], warmth[sample], q, v, v_motor, target, gap, is_open,
                    columns, s_q, s_v, s_m, s_gap, s_target, s_duty, direct, substep == 0,
                )  # fmt: skip
                if substep > 0:
                    continue
                compared = objective[6] != 0.0 and not math.isnan(measured[2, sample])
                if compared:
                    sum_duty += loss_of(kind, objective[3], duty - measured[2, sample])[0]
                if records:
                    recorded[i, 2, sample] = duty
                if columns is not None:
                    if sums_up and compared:
                        slope = loss_of(kind, objective[3], duty - measured[2, sample])[1]
                        for k in range(size):
                            gradient[i, j, 2, k] += objective[6] * slope * s_duty[k]
                    if by_sample:
                        for k in range(size):
                            jacobian[i, 2, sample, k] = s_duty[k]
            if has_diverged(q, v):
                failed[i, j] = (sample - first) * row[0]
                break
        sums[i, j, 0], sums[i, j, 1], sums[i, j, 2] = sum_q, sum_v, sum_duty


def _cached(function: Any) -> Callable[..., None]:
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # numba found no folder for its cache that can be written
        return numba.njit(**options)(function)


def _entries(sources: str) -> tuple[Callable[..., None], ...]:
    """The rollouts, each compiled once for all processes, when first called.

    Numba's cache on disk looks at the file and the closure of a function, so the digest of the
    sources stands in the closure: a change in any file compiles anew.
    """

    def general(
        start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective, sums,
        failed, recorded, columns, gradient, jacobian, work,
    ):  # fmt: skip
        if sources != "":
            _rollouts(
                start, stop, rows, setting, log_rows, offsets, table, inputs, measured, objective,
                sums, failed, recorded, columns, gradient, jacobian, work,
            )  # fmt: skip

    def in_lanes(
        start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums, failed,
        recorded, lanes, pairs,
    ):  # fmt: skip
        if sources != "":
            lane_rollouts(
                start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums,
                failed, recorded, lanes, pairs,
            )  # fmt: skip

    def gradients_in_lanes(
        start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums, failed,
        recorded, gradient, jacobian, work, pairs,
    ):  # fmt: skip
        if sources != "":
            lane_gradients(
                start, stop, rows, setting, log_rows, offsets, inputs, measured, objective, sums,
                failed, recorded, gradient, jacobian, work, pairs,
            )  # fmt: skip

    return _cached(general), _cached(in_lanes), _cached(gradients_in_lanes)


def _digest() -> str:
    modules = (
        _bench_step,
        _lane_functions,
        _lane_gradients,
        _lane_rollouts,
        _rollout_parts,
        _servo_kernel,
    )
    files = [Path(__file__), *(Path(str(module.__file__)) for module in modules)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


rollouts, rollouts_in_lanes, gradients_in_lanes = _entries(_digest())
"""Arguments as in :func:`_rollouts`, :func:`lane_rollouts` and :func:`lane_gradients`."""
