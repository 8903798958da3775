"""The compiled rollouts of the bench, each kind compiled once for all processes."""

import functools
import hashlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from trueup.actuators.bench import (
    _command,
    _lane_functions,
    _lane_rollouts,
    _lane_source,
    _load_kernel,
    _rollout_parts,
    _step_program,
)
from trueup.actuators.bench._step_program import StepKind
from trueup.actuators.equations import _parameter_layout, generation, servo_equations, tracing

_SOURCES = (
    _command,
    _lane_functions,
    _lane_rollouts,
    _lane_source,
    _load_kernel,
    _rollout_parts,
    _step_program,
    _parameter_layout,
    generation,
    servo_equations,
    tracing,
)


@functools.cache
def rollouts(kind: StepKind, slopes: bool, duty: bool) -> Callable[..., None]:
    """Rollouts of pairs of candidate and log, compared with what was measured.

    Args:
      kind: kind of their steps.
      slopes: whether derivatives are wanted.
      duty: whether those of the duty cycle are.

    Returns:
      A function of

      - ``start, stop``: pairs to do; pair = candidate x number of logs + log.
      - ``rows``: parameters ``(n, columns)``; ``gate``, 1 for the gated quadratic term, else 0.
      - ``log_rows``: numbers of the logs ``(l, 14)``; ``offsets``: first sample of each log, and
        the end ``(l + 1,)``; ``table``: loads given by tables ``(k, 4)``.
      - ``inputs``: goal [rad], torque enable, measured bus voltage [V], temperature above the
        reference [K] ``(4, m)``; ``measured``: position, speed and duty ``(3, m)``, NaN is not
        compared.
      - ``objective``: kind, then three widths, then three weights ``(7,)``.
      - ``sums``: takes the summed losses ``(n, l, 3)``; ``failed``: takes the time at which a
        rollout diverged ``(n, l)``, untouched otherwise; ``recorded``: takes position, speed and
        duty ``(n, 3, m)``, may be empty.
      - ``wanted``: columns of the row whose derivatives are made ``(p,)``; None without.
      - ``gradient``: takes the derivatives of the sums, times their weights ``(n, l, 1 or 3, p)``;
        ``jacobian``: takes those of the samples ``(n, 1 or 3, m, p)``; both may be empty.
      - ``lanes, slopes, pairs``: work spaces of this call alone, see :func:`work_sizes`.
    """

    def entry(
        start, stop, rows, gate, log_rows, offsets, table, inputs, measured, objective, sums,
        failed, recorded, wanted, gradient, jacobian, lanes, slopes, pairs,
    ):  # fmt: skip
        if sources != "":
            kernel(  # noqa: F821 # pyright: ignore[reportUndefinedVariable]
                start, stop, rows, gate, log_rows, offsets, table, inputs, measured, objective,
                sums, failed, recorded, wanted, gradient, jacobian, lanes, slopes, pairs,
            )  # fmt: skip

    # Numba's cache on disk looks at the file and the closure of a function: so the digest of all
    # sources and the kind stand in the closure, and the kernel, which is another object in each
    # process, among the globals.
    own = kind.friction is servo_equations.friction_loss
    sources = f"{_digest()} {kind._replace(friction=abs)} {slopes} {duty}"
    names = {**globals(), "kernel": _lane_rollouts.rollouts_of(kind, slopes, duty)}
    function = types.FunctionType(
        entry.__code__, names, entry.__name__, None, entry.__closure__
    )  # fmt: skip
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
    if own:  # the source of another equation of friction is not part of the digest
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            pass  # numba found no folder for its cache that can be written
    return numba.njit(**options)(function)


@functools.cache
def work_sizes(kind: StepKind, slopes: bool, duty: bool) -> tuple[int, int]:
    """Sizes of the work spaces of lanes and of derivatives, as the kind's rollouts need them."""
    program = _step_program.step_program(kind)
    lanes = _lane_rollouts.step_functions(kind, slopes, duty).space
    return lanes, _lane_rollouts.slope_space(program).size if slopes else 1


@functools.cache
def _digest() -> str:
    files = [Path(__file__), *(Path(str(module.__file__)) for module in _SOURCES)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
