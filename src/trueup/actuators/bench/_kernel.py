"""The compiled rollouts of the bench, compiled once per kind and cached for all processes."""

import functools
from collections.abc import Callable

from trueup.actuators.bench import _lane_rollouts, _step_program
from trueup.actuators.bench._step_program import StepKind
from trueup.compilation import njit_on_disk


@functools.cache
def rollouts(kind: StepKind, slopes: bool, duty: bool) -> Callable[..., None]:
    """Rollouts of pairs of candidate and log, with losses against the measurements.

    Args:
      kind: kind of their steps.
      slopes: whether derivatives are computed.
      duty: whether these include derivatives of the duty cycle.

    Returns:
      A function of

      - ``start, stop``: range of pairs; pair = candidate * number of logs + log.
      - ``rows``: parameters ``(n, columns)``; ``gate``, 1 for the gated quadratic term, else 0.
      - ``log_rows``: constants of the logs ``(l, 14)``; ``offsets``: first sample of each log, and
        the end ``(l + 1,)``; ``table``: loads given by tables ``(k, 4)``.
      - ``inputs``: goal [rad], torque enable, measured bus voltage [V], temperature above the
        reference [K] ``(4, m)``; ``measured``: position, speed and duty ``(3, m)``, NaN samples
        are skipped.
      - ``objective``: kind, then three widths, then three weights ``(7,)``.
      - ``sums``: output, summed losses ``(n, l, 3)``; ``failed``: output, time [s] at which a
        rollout diverged ``(n, l)``, unchanged otherwise; ``recorded``: output, position, speed and
        duty ``(n, 3, m)``, may be empty.
      - ``wanted``: columns of the row to differentiate by ``(p,)``; None for none.
      - ``gradient``: output, derivatives of the weighted sums ``(n, l, 1 or 3, p)``;
        ``jacobian``: output, derivatives of the samples ``(n, 1 or 3, m, p)``; both may be empty.
      - ``lanes, slopes, pairs``: work arrays, not shared between threads, see :func:`work_sizes`.
    """

    function = _lane_rollouts.rollouts_of(kind, slopes, duty)
    return njit_on_disk(function, error_model="numpy", nogil=True, _nrt=False)


@functools.cache
def work_sizes(kind: StepKind, slopes: bool, duty: bool) -> tuple[int, int]:
    """Sizes of the work arrays of lanes and of derivatives."""
    program = _step_program.step_program(kind)
    lanes = _lane_rollouts.step_functions(kind, slopes, duty).space
    return lanes, _lane_rollouts.slope_space(program).size if slopes else 1
