"""Uncertainty and identifiability of a servo fit: intervals, bounds, undetermined parameters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.assess.absolute_errors import signs_and_densities
from trueup.actuators.assess.experiment_advice import Advice, advise
from trueup.actuators.assess.fit_intervals import FitIntervals, fit_intervals
from trueup.actuators.assess.fit_knowledge import known_of_servo, widening_of_spread
from trueup.actuators.assess.jackknife import (
    MODEL_ERROR,
    JackknifeSpread,
    ReportStep,
    jackknife_spread,
    model_error,
    no_report,
)
from trueup.actuators.assess.linear_range import LARGEST_DEPARTURE, departures
from trueup.actuators.assess.profile_extension import extension_factors
from trueup.actuators.assess.start_noise import with_start_noise
from trueup.actuators.bench.objective import OBJECTIVES
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.problem import ServoProblem
from trueup.errors import FitError, listing
from trueup.fitting.judgement.identifiability import Identifiability, analyse
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty import CovarianceEstimate, SequenceFit, estimate_covariance
from trueup.fitting.uncertainty.gaussian import Gaussian


@dataclass(frozen=True)
class ServoAssessment:
    """Uncertainty and identifiability of each fitted parameter."""

    covariance: CovarianceEstimate
    """Covariance in search coordinates: logarithms of parameters on a log scale."""
    intervals: np.ndarray
    """Ends of the intervals in units of the parameters ``(p, 2)``; infinite where the logs do not
    determine a parameter."""
    standard_errors: np.ndarray
    """Standard errors in units of the parameters ``(p,)``; infinite likewise."""
    at_bound: np.ndarray
    """Which parameters ended on a bound ``(p,)`` bool."""
    remarks: tuple[str, ...]
    """Findings: active bounds, undetermined parameters, a search that stopped early."""
    departures: np.ndarray
    """Norm of the deviation of the motion from its linear prediction at the ends of each 95 %
    interval, relative to the prediction ``(p,)``; NaN without a standard error."""
    identifiability: Identifiability
    """Combinations of parameters that the logs determine."""
    advice: tuple[Advice, ...]
    """Recommended experiments for parameters that the logs do not determine."""
    known: Gaussian
    """Joint distribution of the parameters due to the noise of the logs, in search coordinates."""
    widening: np.ndarray
    """Factor on the standard deviation of each parameter that accounts for model error ``(p,)``."""
    spread: JackknifeSpread | None = None
    """Spread of fits without parts of the logs; None if the residuals are pure noise."""
    gradient: np.ndarray | None = None
    """Gradient of the objective in search coordinates ``(p,)``."""
    model_error: float = float("nan")
    """Ratio of position residuals to the noise of the sensor; NaN if the noise is unknown."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings, as sentences."""
        return (
            *self.remarks,
            *self.identifiability.sentences,
            *(advice.sentence for advice in self.advice),
        )

    def unreliable(self, names: Sequence[str]) -> list[str]:
        """Parameters with unreliable intervals: the motion is not linear within them."""
        return np.array(names)[self.departures > LARGEST_DEPARTURE].tolist()

    def to_dict(self, names: Sequence[str], level: float) -> dict[str, Any]:
        """Plain data."""
        return {
            "level": level,
            "method": self.covariance.method,
            "model_error": self.model_error,
            "left_out": None if self.spread is None else self.spread.to_dict(),
            "intervals": {
                name: [float(low), float(high)]
                for name, (low, high) in zip(names, self.intervals, strict=True)
            },
            "standard_errors": dict(zip(names, self.standard_errors.tolist(), strict=True)),
            "at_bound": [n for n, hit in zip(names, self.at_bound, strict=True) if hit],
            "unreliable": self.unreliable(names),
            "determined": list(self.identifiability.determined),
            "identifiability": list(self.identifiability.sentences),
            "remarks": list(self.remarks),
            "advice": [
                {"parameters": list(a.parameters), "sentence": a.sentence} for a in self.advice
            ],
        }


def assess(
    problem: ServoProblem,
    x: np.ndarray,
    logs: Sequence[ServoLog],
    level: float = 0.95,
    *,
    converged: bool = False,
    report: ReportStep = no_report,
) -> ServoAssessment:
    """Assess a fit from the exact derivatives at its optimum, whichever search found it.

    Noise is modelled as autoregressive in each log, and logs have equal weight, as in the
    objective; noise of the samples that rollouts start from is added. Intervals account for the
    growth of the standard error towards their ends. If the residuals show model error, intervals
    are at least those of fits without parts of the logs.
    For a parameter on its bound, standard errors of the others hold with it fixed; their
    intervals also hold for its other values.

    Args:
      problem: the problem of the training logs.
      x: the optimum ``(p,)``.
      logs: the training logs, for the advice.
      level: coverage of the intervals.
      converged: whether the search found nothing better near ``x``.
      report: called before each long step with a description and the fraction done.

    Raises:
      FitError: the simulation diverges at ``x``.
    """
    space = problem.space
    slope = space.slope(x)
    failures: Failures = {}
    fits, shares, blocks = [], [], []
    information = np.zeros((space.size, space.size))
    for number, (group, (_, values, derivatives)) in enumerate(
        zip(problem.groups, problem.jacobian_blocks(x, failures), strict=True)
    ):
        if failures:
            raise FitError(f"no assessment of the fit: {failures[0]}")
        shape = (len(group.times), len(group.channels))
        information += derivatives @ derivatives.T
        blocks.append(derivatives)
        jacobian = (derivatives * slope[:, None]).T.reshape(*shape, space.size)
        fits.append(SequenceFit(values.reshape(shape), jacobian, group.sequence, group.channels))
        shares.append(problem.shares(number).reshape(shape))
    first, second = _derivatives(problem, [np.asarray(fit.residuals) for fit in fits])
    weights = [share * values for share, values in zip(shares, first, strict=True)]
    curvatures = [share * values for share, values in zip(shares, second, strict=True)]
    curvature, gradient = np.zeros_like(information), np.zeros(space.size)
    for fit, weight, bend in zip(fits, weights, curvatures, strict=True):
        jacobian = np.asarray(fit.jacobian)
        gradient += np.einsum("tcp,tc->p", jacobian, weight * fit.residuals)
        curvature += np.einsum("tcp,tcq->pq", jacobian * bend[..., None], jacobian, optimize=True)
    at_bound = space.at_bound(x, 1e-6)
    jacobians = [np.asarray(fit.jacobian) for fit in fits]

    def estimated(
        held: np.ndarray | None,
    ) -> tuple[CovarianceEstimate, CovarianceEstimate, np.ndarray]:
        sampled = estimate_covariance(
            fits,
            "auto",
            1.0 - level,
            at_bound=held,
            weights=weights,
            slopes=curvatures,
            names=space.names,
        )
        return sampled, *with_start_noise(problem, x, sampled, curvature, jacobians, curvatures)

    sampled, covariance, bias = estimated(at_bound if at_bound.any() else None)
    freed = estimated(None)[1] if at_bound.any() else covariance
    reach = extension_factors(problem, x, sampled, covariance, curvatures)
    spread = None
    ratio = model_error(problem, x)
    if ratio > MODEL_ERROR:
        spread = jackknife_spread(problem, x, logs, level, report)
    plain = covariance.matrix * np.outer(slope, slope)
    identifiability = analyse(
        information,
        x,
        space.names,
        space.lower,
        space.upper,
        plain if np.isfinite(plain).all() else None,
        is_information=True,
    )
    found = fit_intervals(space, x, covariance, curvature, gradient, reach, bias)
    departed = departures(problem, x, plain, blocks)
    errors = np.sqrt(np.diag(plain))
    known = known_of_servo(space, x, at_bound, curvature, gradient, freed, jacobians)
    widening = widening_of_spread(known, None if spread is None else spread.standard_errors)
    if spread is not None:
        found = replace(found, ends=spread.widened(found.ends, space, x))
        errors = np.maximum(errors, slope * spread.standard_errors)
    return ServoAssessment(
        covariance=covariance,
        intervals=found.ends,
        standard_errors=errors,
        at_bound=at_bound,
        remarks=tuple(_remarks(covariance, found, departed, spread, converged)),
        departures=departed,
        identifiability=identifiability,
        advice=advise(identifiability, covariance, space, x, found.ends, logs),
        known=known,
        widening=widening,
        spread=spread,
        gradient=gradient,
        model_error=ratio,
    )


def _remarks(
    covariance: CovarianceEstimate,
    found: FitIntervals,
    departed: np.ndarray,
    spread: JackknifeSpread | None,
    converged: bool,
) -> Iterator[str]:
    names = np.array(covariance.names)
    if spread is not None:
        yield spread.sentence
    for name in names[covariance.active]:
        yield (
            f"{name} is at its bound: its interval is one-sided, and the other intervals hold for "
            "every value in it"
        )
    if loose := names[covariance.undetermined].tolist():
        yield f"the logs do not determine {listing(loose)}: their intervals are unbounded"
    if moving := names[found.stopped_early].tolist():
        change = f"call for a change of {listing(moving)} by more than a standard error"
        if converged:
            yield (
                f"the objective is not smooth at its minimum: its derivatives {change}, and the "
                "intervals include that change"
            )
        else:
            yield (
                f"the search stopped before its optimum: the derivatives still {change}, and the "
                "intervals include that change. Run a longer search, or choose another method"
            )
    if bent := names[departed > LARGEST_DEPARTURE].tolist():
        yield (
            f"the motion is not linear within the intervals of {listing(bent)}: it jumps or bends "
            "there, so these intervals are unreliable. "
            "Fits to parts of the logs show how far the values scatter"
        )


def _derivatives(
    problem: ServoProblem, residuals: list[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """First derivatives of the objective's loss over the residuals, and second derivatives."""
    objective = problem.objective
    kind = OBJECTIVES[objective.kind]
    if kind.likelihood == "Laplace":
        return signs_and_densities(residuals)
    widths = zip(objective.weights, objective.widths, strict=True)
    loss = Loss(kind.descent_loss, max(w * s for w, s in widths) if kind.has_width else 1.0)
    pairs = [loss.weights(residual) for residual in residuals]
    return [first for first, _ in pairs], [second for _, second in pairs]
