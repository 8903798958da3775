"""Torque problem with as few rows as it has columns: the same costs, gradients and ``J' J``.

Torques are linear in functions of the parameters: link parameters, friction, and the gains of
drives. A triangular factor of the columns of these functions, one for each joint of a recording,
takes the place of the samples: its products with any coefficients have the same length.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting.problem import Failures, Problem
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.sysid.torque.data import TorqueData
from trueup.sysid.torque.problem import (
    TorqueProblem,
    TorqueSequence,
    finite_rows,
    relative_gains,
)


@dataclass(frozen=True)
class _Row:
    """Factor of the columns of one joint of a recording."""

    acts: np.ndarray
    """Columns that are not zero ``(columns,)`` bool."""
    factor: np.ndarray
    """Triangular factor of these ``(rows, acting columns)``."""


class ReducedTorques(Problem):
    """The residuals of a torque problem, for searches by plain least squares.

    Args:
      problem: the torque problem; see :func:`searched`.
    """

    def __init__(self, problem: TorqueProblem):
        self.problem = problem
        self.space = problem.space
        self._rows = [
            [_factor(columns) for columns in joint_columns(sequence.data)]
            for sequence in problem.sequences
        ]
        self.data_rows = sum(len(row.factor) for rows in self._rows for row in rows)

    @property
    def residual_size(self) -> int:
        """Number of rows of the data, and of the priors of the torque problem."""
        return self.data_rows + self.problem.residual_size - self.problem.data_rows

    @property
    def counted_rows(self) -> int:
        """Number of rows of the torque problem."""
        return self.problem.residual_size

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of residuals, one per recording, then the priors."""
        X = np.atleast_2d(np.asarray(X, float))
        first = 0
        found = weighted_coefficients(self.problem, X, failures)
        for rows, (_, values) in zip(self._rows, found, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                parts = [
                    value[:, row.acts] @ row.factor.T
                    for row, value in zip(rows, values, strict=True)
                ]
            flat = np.concatenate(parts, axis=1)
            last = first + flat.shape[1]
            yield slice(first, last), finite_rows(flat, failures)
            first = last
        shift = self.data_rows - self.problem.data_rows
        for own, values in self.problem.prior_blocks(X):
            yield slice(own.start + shift, own.stop + shift), values


def searched(problem: Any, search: Any) -> Any:
    """The problem that a search gets for a problem: for plain least squares with as few rows.

    It is the problem itself for other searches and losses, where no factor has fewer rows, and
    where zeros of joints change: they enter the torques of gravity through sine and cosine.

    Args:
      problem: any problem.
      search: any search.
    """
    if not (isinstance(problem, TorqueProblem) and isinstance(search, LeastSquares)):
        return problem
    if problem.changes_zeros or not search.loss.is_linear:
        return problem
    found = ReducedTorques(problem)
    return found if found.data_rows < problem.data_rows else problem


def _factor(columns: np.ndarray) -> _Row:
    acts = np.any(columns != 0.0, axis=0)
    if not np.isfinite(columns).all():
        return _Row(np.ones_like(acts), columns)
    return _Row(acts, np.asarray(np.linalg.qr(columns[:, acts], mode="r")))


def joint_columns(data: TorqueData) -> Iterator[np.ndarray]:
    """Columns of the residual torque of each joint ``(T, columns)``, in the order of coefficients.

    Those of the links come first, then those of forces on degrees of freedom and of the drives, and
    the error of inverse dynamics itself. They are zero at samples that do not count.
    """
    motion = data.motion
    count = len(motion.times)
    for k in range(len(data.sources.dofs)):
        out = [-data.links[:, k]]
        for dof, row, share in data.forces:
            if row != k:
                continue
            address = data.address(dof)
            parts = [
                -motion.qacc[:, dof],
                -motion.qvel[:, dof],
                -motion.direction[:, dof],
                -motion.qpos[:, address],
                np.ones(count),
            ]
            if dof in data.sources.sensor_columns:
                parts[-1:] = [np.ones(count), motion.recorded[:, data.sources.sensor_columns[dof]]]
            for i in data.sources.actuators.get(dof, ()):
                parts += [motion.controls[:, i], motion.qpos[:, address], motion.qvel[:, dof]]
            out.append(np.stack(parts, axis=1) * np.reshape(share, (-1, 1)))
        if data.own_error is not None:
            out.append(-data.own_error[:, [k]])
        yield np.concatenate(out, axis=1) * data.counts[:, [k]]


def weighted_coefficients(
    problem: TorqueProblem, X: np.ndarray, failures: Failures
) -> Iterator[tuple[TorqueSequence, list[np.ndarray]]]:
    """Recordings, and coefficients of the columns of each joint, weighted ``(n, columns)``.

    Args:
      problem: torque problem.
      X: candidates ``(n, p)``.
      failures: filled with candidate -> reason.
    """
    for sequence, fields, links in problem.tables(X, failures):
        with np.errstate(over="ignore", invalid="ignore"):  # of candidates that have failed
            weights = sequence.weights / relative_gains(sequence.data, fields)
            values = _coefficients(sequence.data, fields, links)
            weighted = [value * weights[:, [k]] for k, value in enumerate(values)]
        yield sequence, weighted


def _coefficients(
    data: TorqueData, fields: dict[str, np.ndarray], links: np.ndarray
) -> Iterator[np.ndarray]:
    """Coefficients of the columns of each joint ``(n, columns)``.

    Args:
      data: the recording.
      fields: fields of candidate models ``(n, ...)``.
      links: their link parameters ``(n, 10 nbody)``.
    """
    gear, gain, bias = (fields[f"actuator_{name}"] for name in ("gear", "gainprm", "biasprm"))
    own = data.drive_gains(fields)
    for k in range(len(data.sources.dofs)):
        out = [links]
        for dof, row, _ in data.forces:
            if row != k:
                continue
            joint, address = int(data.model.dof_jntid[dof]), data.address(dof)
            stiffness = fields["jnt_stiffness"][:, joint]
            drives = list(data.sources.actuators.get(dof, ()))
            constant = stiffness * fields["qpos_spring"][:, address]
            constant = constant + (gear[:, drives, 0] * bias[:, drives, 0]).sum(axis=1)
            parts = [
                fields["dof_armature"][:, dof],
                fields["dof_damping"][:, dof],
                fields["dof_frictionloss"][:, dof],
                stiffness,
                constant,
            ]
            if dof in data.sources.sensor_columns:
                parts.append(np.ones(len(links)))
            for i in drives:
                ratio = gear[:, i, 0]
                parts += [ratio * gain[:, i, 0], *(ratio**2 * bias[:, i, j] for j in (1, 2))]
            out.append(np.stack(parts, axis=1))
        if data.own_error is not None:
            out.append(own[:, [k]])
        yield np.concatenate(out, axis=1)
