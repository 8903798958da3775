"""The compiled rollouts of the bench, each kind compiled once for all processes."""

import functools
from collections.abc import Callable

from trueup.actuators.bench import _lane_rollouts, _step_program
from trueup.actuators.bench._step_program import StepKind
from trueup.compilation import njit_on_disk


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

    function = _lane_rollouts.rollouts_of(kind, slopes, duty)
    return njit_on_disk(function, error_model="numpy", nogil=True, _nrt=False)


@functools.cache
def work_sizes(kind: StepKind, slopes: bool, duty: bool) -> tuple[int, int]:
    """Sizes of the work spaces of lanes and of derivatives, as the kind's rollouts need them."""
    program = _step_program.step_program(kind)
    lanes = _lane_rollouts.step_functions(kind, slopes, duty).space
    return lanes, _lane_rollouts.slope_space(program).size if slopes else 1
