"""Covariance and confidence intervals of the parameters of a fit, by several methods."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.uncertainty._methods import METHODS, Settings, run_method
from trueup.fitting.uncertainty.choice import Choice, choose_method
from trueup.fitting.uncertainty.covariance import CovarianceEstimate
from trueup.fitting.uncertainty.evidence import Evidence
from trueup.fitting.uncertainty.information import ABSENT_EIGENVALUE
from trueup.fitting.uncertainty.noise import SequenceNoise, described
from trueup.fitting.uncertainty.sequence_fit import SequenceFit


def estimate_covariance(
    sequences: Sequence[SequenceFit],
    method: str = "auto",
    alpha: float = 0.05,
    prior_precision: np.ndarray | None = None,
    at_bound: np.ndarray | None = None,
    weights: Sequence[np.ndarray] | None = None,
    *,
    slopes: Sequence[np.ndarray] | None = None,
    names: Sequence[str] = (),
    max_order: int | None = None,
    each_innovation: bool | None = None,
    bandwidth: int | None = None,
    block_length: int | None = None,
    draws: int = 1999,
    seed: int = 0,
    threshold: float = ABSENT_EIGENVALUE,
) -> CovarianceEstimate:
    """Estimate the covariance of the parameters and an interval for each, at the optimum.

    With ``B = (J' J)^-1`` and ``R`` the covariance of the residuals, the estimation error has
    covariance ``B (J' R J) B``. The methods differ in their model of ``R``:

    - ``"classical"``: one variance for all samples of all channels, ``s^2 B``.
    - ``"per_channel"``: white, with a variance for each channel of each sequence and the
      covariance between channels.
    - ``"autoregressive"``: each channel of each sequence follows an autoregressive model (Burg,
      order by AIC), corrected for the noise absorbed by the fit; innovations are correlated across
      channels.
    - ``"newey_west"``: Bartlett-weighted sample autocovariances of the scores with fixed-b critical
      values (Kiefer and Vogelsang 2005).
    - ``"block_bootstrap"``: moving blocks of the scores (Kuensch 1989), quantiles of the
      replicates.
    - ``"auto"``: ``"per_channel"`` where Ljung-Box finds no correlation, else
      ``"autoregressive"``; either with each sample's own innovation in place of their mean
      covariance where the size of the residuals changes with the sensitivity.

    Half-widths are Student-t quantiles times standard errors; the degrees of freedom of
    ``"autoregressive"`` and ``"per_channel"`` follow from the uncertainty of the noise model
    (Satterthwaite 1946), and are never less than 3.

    Args:
        sequences: Residuals and Jacobian of each sequence at the optimum.
        method: One of the names above.
        alpha: One minus the confidence level.
        prior_precision: ``(p, p)`` inverse covariance of a Gaussian prior whose residuals were
            part of the objective; they have unit variance by definition.
        at_bound: ``(p,)`` True for parameters that ended on a bound: fixed for the others, flagged
            and given a one-sided interval.
        weights: For each sequence ``(T, C)`` weights of a robust loss: its influence function is
            ``weight * residual``.
        slopes: For each sequence ``(T, C)`` derivatives of that influence function; default the
            weights, which is exact for fixed weights and slightly optimistic for a robust loss.
        names: Names of the parameters, for messages.
        max_order: Largest autoregressive order; default ``min(30, T / 10)``.
        each_innovation: Allow for noise of varying variance (True), do not (False), or
            decide by a test (None). For ``"autoregressive"`` and ``"per_channel"``.
        bandwidth: Newey-West bandwidth [samples].
        block_length: Bootstrap block length [samples].
        draws: Number of bootstrap replicates.
        seed: Seed of the bootstrap.
        threshold: Relative eigenvalue of the scaled J'J below which a direction counts as not
            determined.

    Returns:
        Covariance, half-widths, method and reason, degrees of freedom, noise, flags.

    Raises:
        FitError: Shapes do not match, an unknown method, or values that are not finite.
    """
    if method not in METHODS:
        raise FitError(
            f"unknown covariance method {method!r}.{did_you_mean(method, METHODS)} "
            f"Available: {listing(METHODS)}."
        )
    if not 0.0 < alpha < 1.0:
        raise FitError(f"alpha must be between 0 and 1, such as 0.05, found {alpha:g}.")
    evidence = Evidence.checked(sequences, prior_precision, weights, slopes, threshold)
    labels = _checked_names(names, evidence.parameters)
    active = _checked_mask(at_bound, evidence.parameters)

    estimates: dict[str, np.ndarray] = {}
    choice, noises = Choice(method, False, ""), []
    # First with the parameters on a bound fixed, for the others; then with all of them free, for
    # the one-sided interval of a parameter on a bound.
    for held in [active, np.zeros_like(active)] if active.any() and not active.all() else [None]:
        columns = np.arange(evidence.parameters) if held is None else np.flatnonzero(~held)
        information = evidence.inverse(columns)
        if not estimates:
            choice = choose_method(evidence, method, each_innovation, columns, information.inverse)
        settings = Settings(
            alpha, max_order, choice.each_innovation, bandwidth, block_length, draws, seed
        )
        result = run_method(evidence, choice.method, columns, information.inverse, settings)
        noises = noises or result.noises
        found = _with_undetermined(result.covariance, result.half_widths, information)
        found["determined_part"] = result.covariance
        found["dof"] = result.dof
        found["variance_inflation"] = np.divide(
            np.diag(result.covariance),
            np.diag(information.inverse),
            out=np.ones(len(columns)),
            where=np.diag(information.inverse) > 0.0,
        )
        if estimates:
            _fill_active(estimates, found, active)
        else:
            estimates = _spread_out(found, columns, evidence.parameters)
    step = _preferred_step(evidence, active)
    return CovarianceEstimate(
        method=choice.method,
        reason=choice.reason,
        alpha=alpha,
        noise=_described(evidence, noises),
        names=labels,
        active=active,
        preferred_step=step,
        remarks=_remarks(labels, estimates["undetermined"], active, step),
        **estimates,
    )


def _with_undetermined(
    covariance: np.ndarray, half_widths: np.ndarray, information
) -> dict[str, np.ndarray]:
    """Set variances and covariances in undetermined directions to infinity."""
    free = information.undetermined
    matrix = covariance.copy()
    correlation = _correlation(covariance)
    if free.any():
        together = _correlation(information.absent)
        pairs = np.ix_(free, free)
        correlation[free, :] = 0.0
        correlation[:, free] = 0.0
        correlation[pairs] = together[pairs]
        traded = np.where(np.abs(together) > 1e-6, np.sign(together), 0.0)[pairs]
        matrix[pairs] = np.where(traded != 0.0, np.copysign(np.inf, traded), 0.0)
        matrix[free, free] = np.inf
    np.fill_diagonal(correlation, 1.0)
    return {
        "matrix": matrix,
        "correlation": correlation,
        "half_widths": np.where(free, np.inf, half_widths),
        "undetermined": free,
    }


def _correlation(covariance: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    scale = np.outer(deviation, deviation)
    return np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0.0)


def _spread_out(
    found: dict[str, np.ndarray], columns: np.ndarray, parameters: int
) -> dict[str, np.ndarray]:
    """Expand results for some parameters to arrays for all."""
    spread = {}
    for key, value in found.items():
        if value.ndim == 2:
            full = np.eye(parameters) if key == "correlation" else np.zeros((parameters,) * 2)
            full[np.ix_(columns, columns)] = value
        else:
            full = np.zeros(parameters, dtype=value.dtype)
            full[columns] = value
        spread[key] = full
    return spread


def _fill_active(
    estimates: dict[str, np.ndarray], found: dict[str, np.ndarray], active: np.ndarray
) -> None:
    for key, value in found.items():
        if key in ("matrix", "determined_part"):
            estimates[key][active, active] = np.diag(value)[active]
        elif key != "correlation":
            estimates[key][active] = value[active]


def _preferred_step(evidence: Evidence, active: np.ndarray) -> np.ndarray:
    if not active.any() or evidence.prior.any():
        return np.zeros(evidence.parameters)
    everything = np.arange(evidence.parameters)
    inverse = evidence.inverse(everything).inverse
    return -inverse @ evidence.gradient(everything)


def _remarks(
    names: tuple[str, ...], undetermined: np.ndarray, active: np.ndarray, step: np.ndarray
) -> tuple[str, ...]:
    remarks = []
    for i in np.flatnonzero(active):
        remark = (
            f"{names[i]} is at its bound: its interval is one-sided, and the other intervals are "
            "valid for this value of it."
        )
        if step[i] != 0.0:
            remark += f" Without bounds the estimate would change by about {step[i]:+.3g}."
        remarks.append(remark)
    loose = [names[i] for i in np.flatnonzero(undetermined)]
    if loose:
        remarks.append(
            f"The data do not determine {listing(loose)} individually: "
            f"{'its interval is' if len(loose) == 1 else 'their intervals are'} infinite."
        )
    return tuple(remarks)


def _described(evidence: Evidence, noises: list[SequenceNoise]):
    return tuple(
        channel
        for noise, residual, sequence in zip(noises, evidence.residuals, evidence.sequences)
        for channel in described(noise, residual, sequence.name, sequence.channels)
    )


def _checked_names(names: Sequence[str], parameters: int) -> tuple[str, ...]:
    labels = tuple(names) or tuple(f"parameter {i}" for i in range(parameters))
    if len(labels) != parameters:
        raise FitError(f"{len(labels)} parameter names for {parameters} columns of the Jacobian.")
    return labels


def _checked_mask(at_bound: np.ndarray | None, parameters: int) -> np.ndarray:
    if at_bound is None:
        return np.zeros(parameters, dtype=bool)
    mask = np.asarray(at_bound)
    if mask.shape != (parameters,) or mask.dtype != bool:
        raise FitError(
            f"at_bound has shape {mask.shape} and type {mask.dtype}; expected {parameters} "
            "booleans."
        )
    return mask.copy()
