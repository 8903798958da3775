"""Covariance of a fit from its residuals, with the noise of measured start states."""

from dataclasses import replace
from typing import Any

import numpy as np

from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty import CovarianceEstimate, SequenceFit, estimate_covariance
from trueup.fitting.uncertainty.start_noise import inverse_of, known_of, with_added_spread
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.start_noise import MeasuredStarts
from trueup.sysid.torque.measured_noise import noise_effect
from trueup.sysid.torque.problem import TorqueProblem


def residual_covariance(
    problem: Any,
    residual: np.ndarray,
    jacobian: np.ndarray,
    at_bound: np.ndarray,
    method: str,
    alpha: float,
    loss: Loss,
    seed: int,
) -> CovarianceEstimate:
    """Covariance of a fit from its residuals and their Jacobian."""
    p = problem.space.size
    scale = problem.noise_scale
    fits, weights = [], []
    for sequence, rows in sequence_rows(problem):
        shape = (len(sequence.times), len(sequence.channel_names))
        part = _filled(residual[rows].reshape(shape) / scale, getattr(sequence, "slides", None))
        slopes = jacobian[rows].reshape(*shape, p)
        fits.append(
            SequenceFit(
                part,
                slopes if scale == 1 else slopes / scale,
                sequence.name,
                sequence.channel_names,
            )
        )
        weights.append(loss.weights(part.reshape(-1) * scale)[0].reshape(shape))
    further = np.asarray(jacobian[problem.data_rows :])
    prior = further * further_row_scale(problem, len(further))[:, None]
    return estimate_covariance(
        fits,
        method,
        alpha,
        prior_precision=prior.T @ prior if len(prior) else None,
        at_bound=at_bound if at_bound.any() else None,
        weights=None if loss.is_linear else weights,
        names=problem.space.names,
        seed=seed,
    )


def further_row_scale(problem: Any, rows: int) -> np.ndarray:
    """Factor from each row after the data to units of its standard deviation ``(rows,)``.

    Torques inform with their noise, not with the weight that keeps a search near them.
    """
    out = np.full(rows, 1.0 / problem.noise_scale)
    torques = getattr(problem, "torques", None)
    if torques is not None:
        out[rows - len(torques) :] /= max(torques.factor, 1.0)
    return out


def _filled(residual: np.ndarray, counted: np.ndarray | None) -> np.ndarray:
    """Residuals ``(T, C)`` with samples that do not count replaced by those that do, in turn.

    A fit to torques leaves samples out, whose zeros are not the noise of a channel. Their slopes
    are zero, so that they give no information.
    """
    if counted is None:
        return residual
    out = residual.copy()
    for c in range(residual.shape[1]):
        kept = residual[counted[:, c], c]
        if len(kept):
            missing = ~counted[:, c]
            out[missing, c] = np.resize(kept, int(missing.sum()))
    return out


def with_start_noise(
    estimates: list[CovarianceEstimate],
    starts: MeasuredStarts | None,
    x: np.ndarray,
    residual: np.ndarray,
    jacobian: np.ndarray,
    loss: Loss,
) -> tuple[list[CovarianceEstimate], tuple[str, ...]]:
    """Covariances including the noise of measured starts, and remarks on missing parts."""
    if starts is None:
        return estimates, ()
    weights = loss.weights(residual)[0]
    spread = starts.spread(x, residual, jacobian, weights)
    if spread is None:
        return estimates, (
            "the simulation fails when a measured initial state is perturbed by its noise: the "
            "intervals do not include that noise",
        )
    weights[starts.free.data_rows :] = 1.0  # priors
    curvature = gram_matrix(jacobian, weights)
    return [with_added_spread(e, curvature, spread) for e in estimates], starts.remarks


def with_measured_noise(
    estimates: list[CovarianceEstimate],
    problem: Any,
    x: np.ndarray,
    jacobian: np.ndarray,
) -> list[CovarianceEstimate]:
    """Covariances of a fit to torques, at least as large as by the noise of its recordings.

    Residuals tell of all that the model lacks, but little of the slow part of a noise that
    vibrates; the sizes of the noise tell of that part alone.
    """
    if not isinstance(problem, TorqueProblem):
        return estimates
    known = problem.own_errors and problem.own_errors.noise
    if known and known.names == tuple(problem.space.names):
        spread = known.spread
    else:
        noise = noise_effect(problem, x)
        spread = noise.spread + np.outer(noise.mean, noise.mean)  # of an uncorrected bias
    curvature = gram_matrix(jacobian)
    out = [_at_least(e, curvature, spread) for e in estimates]
    # the half-width on a bound is that of a fit without the bound
    free = out[-1].half_widths
    return [replace(e, half_widths=np.where(e.active, free, e.half_widths)) for e in out]


def _at_least(
    estimate: CovarianceEstimate, curvature: np.ndarray, spread: np.ndarray
) -> CovarianceEstimate:
    """A covariance with variances of at least those by a spread of the gradient ``(p, p)``."""
    known = known_of(estimate)
    block = np.ix_(known, known)
    inverse = inverse_of(curvature[block])
    before = np.diag(estimate.matrix)[known]
    if not (before > 0.0).all() or not np.isfinite(spread).all():
        return estimate
    growth = np.ones(len(estimate.matrix))
    growth[known] = np.maximum(np.diag(inverse @ spread[block] @ inverse) / before, 1.0)
    wider = np.sqrt(growth)
    outer = np.outer(wider, wider)
    return replace(
        estimate,
        matrix=estimate.matrix * outer,
        determined_part=estimate.determined_part * outer,
        half_widths=estimate.half_widths * wider,
        variance_inflation=estimate.variance_inflation * growth,
    )


def with_unknown_own_errors(
    estimates: list[CovarianceEstimate],
    problem: Any,
    x: np.ndarray,
    residual: np.ndarray,
    jacobian: np.ndarray,
    loss: Loss,
) -> list[CovarianceEstimate]:
    """Covariances including what is unknown of the error of inverse dynamics itself."""
    if not isinstance(problem, TorqueProblem) or problem.own_errors is None:
        return estimates
    weights = np.ones(len(residual))
    weights[: problem.data_rows] = loss.weights(residual[: problem.data_rows])[0]
    change = np.zeros_like(residual)
    other = problem.with_own_errors(problem.own_errors.shifted())
    for rows, values in other.residual_blocks(x[None], {}):
        change[rows] = values[0] - residual[rows]
    pull = jacobian.T @ (weights * change)
    curvature = gram_matrix(jacobian, weights)
    return [with_added_spread(e, curvature, np.outer(pull, pull)) for e in estimates]


def sequence_rows(problem: GrayBoxProblem) -> list[tuple[Any, slice]]:
    """Each sequence of a problem with its rows of the residual."""
    out, first = [], 0
    for sequence in problem.sequences:
        last = first + sequence.measured.size
        out.append((sequence, slice(first, last)))
        first = last
    return out


def gram_matrix(
    jacobian: np.ndarray, weights: np.ndarray | None = None, block: int = 200_000
) -> np.ndarray:
    """``J' W J`` ``(p, p)`` in blocks of rows, with weights of the rows ``(rows,)``."""
    out = np.zeros((jacobian.shape[1],) * 2)
    for first in range(0, len(jacobian), block):
        part = np.asarray(jacobian[first : first + block])
        heavy = part if weights is None else part * weights[first : first + block, None]
        out += part.T @ heavy
    return out
