"""Kinds of machine whose simulations may explain the error of inverse dynamics.

Simulations in fine steps take most of the time of own errors. Those of a machine that does not move
like its model increase the error, and a part of the recordings often says so.
"""

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from trueup.fitting.judgement.paired_errors import block_sums, is_clearly_worse
from trueup.fitting.linearisation import final_jacobian
from trueup.signals import InterpolationMethod
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.problem import TorqueProblem

Kind = tuple[InterpolationMethod, bool]
"""Interpolation of controls, and whether friction is hard."""

Pair = tuple[OwnErrors, OwnErrors]
"""Own errors of a machine with a fine step, and with the time step of the model."""

_TRIED = (0.2, 0.5)
"""Shares of the recorded time after which kinds of machine are compared with none."""
_CHANCE = 0.01  # probability that a kind is left out that changes nothing


def promising(
    problem: TorqueProblem,
    training: Sequence[ModelSequences],
    x: np.ndarray,
    kinds: Sequence[Kind],
    simulate: Callable[[Sequence[ModelSequences], Kind], Pair],
) -> list[Pair]:
    """Own errors of the kinds of machine that do not clearly increase the error.

    The shortest recordings are simulated first; a kind that clearly increases their error is not
    simulated along the others.

    Args:
      problem: torque problem of the recordings, without own errors.
      training: the recordings.
      x: its fit ``(p,)``.
      kinds: the kinds of machine.
      simulate: own errors of recordings and a kind.
    """
    lengths = {
        t.name: float(np.ptp(t.sensordata.times)) for g in training for t in g.measured_rollout
    }
    names = sorted(lengths, key=lambda name: lengths[name])
    reached = np.cumsum([lengths[name] for name in names])
    edges = [int(np.searchsorted(reached, share * reached[-1])) + 1 for share in _TRIED]
    left: dict[Kind, Pair | None] = dict.fromkeys(kinds)
    linear, first = final_jacobian(problem, x, central=False)[:2], 0
    for last in sorted({*(edge for edge in edges if edge < len(names)), len(names)}):
        groups = _only(training, names[first:last])
        for kind, former in left.items():
            more = simulate(groups, kind)
            left[kind] = (former[0].joined(more[0]), former[1].joined(more[1])) if former else more
        if last < len(names):
            left = {
                kind: pair
                for kind, pair in left.items()
                if pair and not _increases_error(problem, x, *linear, pair)
            }
        first = last
    return [pair for pair in left.values() if pair]


def _only(groups: Sequence[ModelSequences], names: Sequence[str]) -> list[ModelSequences]:
    """Models with some of their recordings."""
    out = []
    for group in groups:
        part = copy(group)
        part.measured_rollout = [t for t in group.measured_rollout if t.name in names]
        if part.measured_rollout:
            out.append(part)
    return out


def _increases_error(
    problem: TorqueProblem, x: np.ndarray, residual: np.ndarray, jacobian: np.ndarray, pair: Pair
) -> bool:
    """Whether own errors of any time step clearly increase the error of a linear fit.

    Args:
      problem: the problem without own errors.
      x: its fit ``(p,)``.
      residual: its residual there ``(m,)``.
      jacobian: and its Jacobian ``(m, p)``.
      pair: own errors of some of its recordings.
    """
    fine, coarse = pair
    if not fine.series or fine.series.keys() != coarse.series.keys():
        return True
    known = [
        (group.rows, sequence.measured.shape)
        for group, sequence in zip(problem.groups, problem.sequences, strict=True)
        if sequence.name in fine.series
    ]
    rows = np.zeros(len(residual), bool)
    rows[problem.data_rows :] = True
    for own, _ in known:
        rows[own] = True
    changed = []
    for each in pair:
        values = problem.with_own_errors(each).residuals(x[None])[0]
        changed.append(np.where(rows, values, 0.0))
    before = _left(jacobian * rows[:, None], residual * rows)
    columns = np.column_stack([jacobian * rows[:, None], changed[1] - changed[0]])
    after = _left(columns, changed[0])
    worse, other = (
        np.concatenate(
            [block_sums(np.square(left[own].reshape(shape)).sum(axis=1)) for own, shape in known]
        )
        for left in (after, before)
    )
    return is_clearly_worse(worse, other, _CHANCE)


def _left(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rest of a residual ``(m,)`` after least squares."""
    size = np.linalg.norm(A, axis=0)
    A = A / np.where(size > 0, size, 1.0)
    return np.asarray(b - A @ np.linalg.lstsq(A, b, rcond=1e-8)[0])
