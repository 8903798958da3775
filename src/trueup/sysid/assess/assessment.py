"""Assessment of an identification: intervals, identifiability, held-out error, stability."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup.errors import listing
from trueup.fitting.judgement._whiteness import HeteroscedasticityTest, WhitenessTest
from trueup.fitting.judgement._whiteness import heteroscedasticity as size_test
from trueup.fitting.judgement._whiteness import whiteness as white_test
from trueup.fitting.judgement.identifiability import Identifiability, analyse
from trueup.fitting.judgement.scores import ScoredSequence, ScoreTable, compare_predictors
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.posterior.samples import PosteriorSamples
from trueup.fitting.problem import Failures
from trueup.fitting.solution import Solution
from trueup.fitting.uncertainty import CovarianceEstimate, contradiction_ratio
from trueup.fitting.uncertainty.gaussian import Gaussian, gaussian_of_fit
from trueup.parameters import Space
from trueup.sysid.assess.fit_covariance import (
    gram_matrix,
    residual_covariance,
    with_measured_noise,
    with_start_noise,
    with_unknown_own_errors,
)
from trueup.sysid.assess.held_motion import velocity_sources
from trueup.sysid.assess.stability import Stability, check_stability
from trueup.sysid.assess.time_step import StepEffect, with_time_step
from trueup.sysid.fit._inner_fit import AfterFit, busy_seconds
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.profiles import profile_intervals
from trueup.sysid.fit.start_noise import MeasuredStarts
from trueup.sysid.recordings.channel_units import signal_units
from trueup.sysid.torque.problem import TorqueProblem

_NOTICEABLE = 0.01  # change of a prediction that matters, as a share of the motion
_BEYOND = 0.005  # probability that noise alone puts the optimum of a true zero further beyond it
_RUN_AWAY = 1.5  # limit of the median over channels of squared error / variance of the recording


@dataclass(frozen=True)
class SequenceSignals(RichDisplay):
    """Signals of one sequence, for figures and scores."""

    displayed_by = "trueup.sysid.results.displays:of_signals"

    name: str
    held_out: bool
    channels: tuple[str, ...]
    times: np.ndarray
    measured: np.ndarray
    initial: np.ndarray
    fitted: np.ndarray
    units: tuple[str, ...] = ()
    """Unit of each channel; empty if unknown."""
    window_starts: tuple[int, ...] = ()
    """First sample of each simulated window; empty without windows."""
    velocity_sources: tuple[int, ...] = ()
    """Source of the velocity of each channel, see
    :func:`trueup.sysid.assess.held_motion.velocity_sources`; empty if unknown."""
    repeats_training: bool = False
    """Whether these samples, held out of a second fit, are also among those of the fit."""


@dataclass(frozen=True)
class Assessment:
    """Assessment of a fit."""

    covariance: CovarianceEstimate
    intervals: np.ndarray
    """Ends of the intervals in parameter units ``(p, 2)``; NaN if the fit is not an optimum."""
    standard_errors: np.ndarray
    """Standard errors in parameter units ``(p,)``; NaN if the fit is not an optimum."""
    value_covariance: np.ndarray
    """Covariance in parameter units ``(p, p)``; that of ``covariance`` is in search coordinates."""
    at_bound: np.ndarray
    identifiability: Identifiability
    scores: ScoreTable
    signals: list[SequenceSignals]
    whiteness: dict[str, list[WhitenessTest]]
    size: dict[str, list[HeteroscedasticityTest]]
    stability: Stability | None
    profiles: dict[str, tuple[float, float]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    flaw: str = ""
    """Reason why the values are not a valid optimum although the search converged."""
    known: Gaussian | None = None
    """Joint Gaussian of all elements; None if the fit is not an optimum."""
    is_noise: np.ndarray | None = None
    """Whether the optimum without bounds is as far from each value as noise explains ``(p,)`` bool;
    None if the fit is not an optimum."""
    relative_widths: np.ndarray | None = None
    """Half-widths over the size of each value ``(p,)``: of the value or of its start, whichever
    is larger, or the range of the bounds where both are zero."""
    matters: np.ndarray | None = None
    """Whether half of that size changes the predictions of the training data noticeably ``(p,)``
    bool: the precision of other values is of no use. None for residuals of a user's function."""
    reach_matters: np.ndarray | None = None
    """The same of a change by the half-width of the interval."""
    gradient: np.ndarray | None = None
    """Gradient of the cost in search coordinates ``(p,)``; None without a Jacobian."""
    time_step: StepEffect | None = None
    """Estimates with half the time step; None if they are not known, or the data contradict it."""
    added_covariance: np.ndarray | None = None
    """Part of the covariance in search coordinates ``(p, p)`` that is not the noise of the
    residuals: noise of measured initial states, and the time step; None without an optimum."""
    posterior: PosteriorSamples | None = None
    """Samples of the posterior, where they were asked for."""


def assess(
    problem: GrayBoxProblem,
    start: np.ndarray,
    solution: Solution,
    held_out: GrayBoxProblem | None = None,
    held_out_alone: GrayBoxProblem | None = None,
    *,
    method: str = "auto",
    level: float = 0.95,
    loss: Loss | None = None,
    profile: list[str] | None = None,
    seed: int = 0,
    starts: MeasuredStarts | None = None,
    held_out_starts: MeasuredStarts | None = None,
    time: AfterFit | None = None,
    information: np.ndarray | None = None,
    elsewhere: Solution | None = None,
    was_compared: bool = True,
    halved: GrayBoxProblem | None = None,
) -> Assessment:
    """Assess a fit.

    Args:
      problem: the problem of the training data.
      start: start values ``(p,)``.
      solution: the fit.
      held_out: the problem of the held-out data, with the same parameters.
      held_out_alone: the same for a separate fit, possibly with additional parameters after those
        of ``problem``; None: ``held_out``.
      method: covariance method, see
        :func:`trueup.fitting.uncertainty.estimate_covariance`.
      level: coverage of the intervals.
      loss: robust loss of the fit.
      profile: parameters with a profile likelihood as well.
      seed: seed of the bootstrap.
      starts: measured initial states of the training data, to include their noise.
      held_out_starts: those of ``held_out_alone``.
      time: time budget after the fit.
      information: ``J' J`` ``(p, p)`` near ``solution.x`` in search coordinates, used instead of
        the Jacobian if there is no optimum and no time for one.
      elsewhere: fit of ``held_out_alone`` from the solution; None: it is made here.
      was_compared: whether the training cost was compared at the optima of other data.
      halved: the problem with half the time step, whose effect the intervals include.
    """
    time = time or AfterFit()
    x, space = solution.x, problem.space
    at_bound = space.at_bound(x, 1e-6)
    loss = loss or Loss()
    unseen: tuple[str, ...] = ()
    failures: Failures = {}
    seconds, known, gradient, is_noise, step = 0.0, None, None, None, None
    added: np.ndarray | None = None
    if _skips_jacobian(problem, solution, time, information):
        # away from an optimum there are no intervals: use the last linearisation of the search
        residual = _residual_at(problem, x)
        data = information
        covariance = CovarianceEstimate.unknown(
            space.names, 1 - level, "the search did not end at an optimum"
        )
    else:
        central, began = _affordable(problem, solution, time), busy_seconds()
        residual, jacobian, failures = final_jacobian(problem, x, central=central)
        seconds = (busy_seconds() - began) / (2 if central else 1)
        data = gram_matrix(jacobian[: problem.data_rows])
        gradient = _gradient(problem, residual, jacobian, loss)
        anywhere = np.zeros_like(at_bound)
        # with active bounds, and with all elements free
        bounds = [at_bound, anywhere] if at_bound.any() and solution.success else [at_bound]
        estimates = [
            residual_covariance(problem, residual, jacobian, on, method, 1 - level, loss, seed)
            for on in bounds
        ]
        if solution.success:  # without an optimum there are no intervals
            before = estimates[0].matrix
            estimates, unseen = with_start_noise(estimates, starts, x, residual, jacobian, loss)
            estimates = with_measured_noise(estimates, problem, x, jacobian)
            estimates = with_unknown_own_errors(estimates, problem, x, residual, jacobian, loss)
            estimates, step = with_time_step(
                estimates, problem, halved, x, residual, jacobian, loss
            )
            with np.errstate(invalid="ignore"):  # infinite minus infinite
                added = np.nan_to_num(estimates[0].matrix - before, posinf=0.0, neginf=0.0)
            known = _known(problem, x, at_bound, residual, jacobian, estimates[-1], loss)
            is_noise = _is_noise(known, space.to_search(x), at_bound, estimates[-1], level)
        covariance = estimates[0]
    solution.residuals = residual
    slope = space.slope(x)
    intervals = value_intervals(problem.space, x, covariance)
    standard_errors = covariance.standard_errors * slope
    signals = sequence_signals(problem, start, x, held_out=False)
    by_torques = isinstance(problem, TorqueProblem)
    flaw = _flaw(signals, by_torques) if solution.success else ""
    if flaw or not solution.success:
        # the covariance is valid at an optimum only
        intervals = np.full_like(intervals, np.nan)
        standard_errors = np.full_like(standard_errors, np.nan)
    relative = data / np.outer(slope, slope)
    plain = covariance.matrix * np.outer(slope, slope)
    identifiability = analyse(
        relative,
        x,
        space.names,
        space.lower,
        space.upper,
        plain if np.isfinite(plain).all() else None,
        reference=start,
        is_information=True,
    )
    size = np.maximum(np.abs(x), np.abs(start))
    reach = space.upper - space.lower
    size = np.where((size == 0) & np.isfinite(reach), reach, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        relative_widths = np.where(size > 0, covariance.half_widths * slope / size, np.nan)
    effects = 0.5 * size * np.sqrt(np.maximum(np.diag(relative), 0.0))
    with np.errstate(invalid="ignore"):  # an unbounded interval of a value without effect
        reach_effects = np.where(effects > 0, 2.0 * effects * relative_widths, 0.0)
    if held_out is not None:
        signals += sequence_signals(held_out, start, x, held_out=True)
    alone = held_out if held_out_alone is None else held_out_alone
    remarks = [f"{_neighbour(problem, row)}: {why}" for row, why in failures.items() if row > 0]
    stability = None
    if (
        alone is not None and solution.success and not flaw
    ):  # otherwise the difference is that of an unfinished search
        share = seconds * alone.residual_size / max(problem.residual_size, 1)
        share *= (alone.space.size + 1) / (space.size + 1)
        left = time.left
        stability = check_stability(
            alone,
            x,
            covariance,
            level,
            held_out_starts,
            left,
            seconds_a_jacobian=share,
            fit=elsewhere,
            was_compared=was_compared,
        )
        if stability is None and (share > left or not time.left):
            remarks.append(
                "the held-out data were not refitted within the time budget of "
                f"{time.seconds:.3g} s "
                "after the fit: whether they give the same values is unknown"
            )
    return Assessment(
        covariance,
        intervals,
        standard_errors,
        plain,
        at_bound,
        identifiability,
        score(signals),
        signals,
        {s.name: white_test(s.measured - s.fitted, s.channels) for s in signals if not s.held_out},
        {s.name: _size(s) for s in signals if not s.held_out},
        stability,
        profile_intervals(
            problem, solution, covariance, profile or [], level, loss, problem.noise_scale
        ),
        (*remarks, *unseen),
        flaw,
        None if flaw else known,
        None if flaw else is_noise,
        relative_widths,
        _matters(problem, effects),
        _matters(problem, np.where(np.isnan(reach_effects), 0.0, reach_effects)),
        gradient,
        None if flaw else step,
        added,
    )


def _matters(problem: Any, effects: np.ndarray) -> np.ndarray | None:
    """Whether changes of the residual ``(p,)`` are noticeable in the measured signals.

    None for residuals of a user's function, whose signals have no unit in common.
    """
    if not isinstance(problem, GrayBoxProblem | TorqueProblem):
        return None
    total = 0.0
    for sequence in problem.sequences:
        spread = sequence.weights * sequence.measured.std(axis=0)
        total += len(sequence.measured) * float(np.sum(np.square(spread)))
    return np.asarray(effects > _NOTICEABLE * np.sqrt(total))


def _is_noise(
    known: Gaussian,
    z: np.ndarray,
    at_bound: np.ndarray,
    freed: CovarianceEstimate,
    level: float,
) -> np.ndarray:
    """Whether the optimum without bounds is as near as noise explains ``(p,)`` bool."""
    limits = contradiction_ratio(int(at_bound.sum()), level, freed.dof, chance=_BEYOND)
    widths = np.where(np.isfinite(freed.half_widths), freed.half_widths, 0.0)
    return np.abs(known.centre - z) <= limits * widths


def _skips_jacobian(
    problem: Any, solution: Solution, time: AfterFit, information: np.ndarray | None
) -> bool:
    """Whether a search without an optimum has no time for a Jacobian at its end."""
    cost = (problem.space.size + 1) * _seconds_a_candidate(solution)
    return information is not None and not solution.success and cost > max(0.5 * time.left, 1.0)


def _seconds_a_candidate(solution: Solution) -> float:
    seconds, count = (solution.stats.get(key, 0) for key in ("seconds", "evaluations"))
    return seconds / max(count, 1)


def _residual_at(problem: Any, x: np.ndarray) -> np.ndarray:
    residual = np.empty(problem.residual_size)
    for rows, values in problem.residual_blocks(x[None, :], {}):
        residual[rows] = values[0]
    return residual


def _weights(problem: GrayBoxProblem, residual: np.ndarray, loss: Loss) -> np.ndarray:
    """Weights of the loss ``(m,)``; priors have none."""
    weights = np.ones(len(residual))
    weights[: problem.data_rows] = loss.weights(residual[: problem.data_rows])[0]
    return weights


def _gradient(
    problem: GrayBoxProblem, residual: np.ndarray, jacobian: np.ndarray, loss: Loss
) -> np.ndarray:
    """Gradient of the cost ``(p,)``."""
    return np.asarray(jacobian.T @ (_weights(problem, residual, loss) * residual))


def _known(
    problem: GrayBoxProblem,
    x: np.ndarray,
    at_bound: np.ndarray,
    residual: np.ndarray,
    jacobian: np.ndarray,
    freed: CovarianceEstimate,
    loss: Loss,
) -> Gaussian:
    """Joint Gaussian of all elements at an optimum."""
    weights = _weights(problem, residual, loss)
    known = gaussian_of_fit(
        problem.space.names,
        problem.space.to_search(x),
        at_bound,
        gram_matrix(jacobian, weights),
        _gradient(problem, residual, jacobian, loss),
        freed,
    )
    # the covariance is for residuals in units of their noise
    return replace(known, inflation=known.inflation * problem.noise_scale**2)


def _affordable(problem: Any, solution: Solution, time: AfterFit) -> bool:
    """Whether central differences take at most half of the time budget after the fit."""
    cost = (2 * problem.space.size + 1) * _seconds_a_candidate(solution)
    return (solution.success and cost <= 0.5 * time.seconds) or cost < 1.0


def _flaw(signals: list[SequenceSignals], by_torques: bool) -> str:
    """Reason why a fit is not a valid optimum: its simulation diverges from the data."""
    away = []
    for s in signals:
        error, spread = s.measured - s.fitted, s.measured - s.measured.mean(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            relative = (error**2).sum(axis=0) / np.maximum((spread**2).sum(axis=0), 1e-300)
        moving = np.ptp(s.measured, axis=0) > 0
        if moving.any() and not float(np.median(relative[moving])) < _RUN_AWAY:
            away.append(s.name)
    if not away:
        return ""
    if by_torques:
        return (
            f"the torques of the model in {listing(away)} are further from the recorded ones than "
            "a constant, so that values and intervals are not valid. Check signs, units, the order "
            "of the joints and the timing of the torques"
        )
    return (
        f"the simulation of {listing(away)} diverges from the recording, with a larger error than "
        "a "
        "constant, so that values and intervals are not valid. Shorten the windows (window: 0.1), "
        "or start with inverse dynamics if torques were recorded "
        "(search: {method: inverse-dynamics})"
    )


def _neighbour(problem: GrayBoxProblem, row: int) -> str:
    name = problem.space.names[(row - 1) % problem.space.size]
    return f"the simulation fails when {name} is perturbed slightly from its optimum"


def value_intervals(space: Space, x: np.ndarray, covariance: CovarianceEstimate) -> np.ndarray:
    """Intervals in parameter units; symmetric in the search coordinates, clipped to the bounds."""
    lower, upper = space.search_bounds
    ends = covariance.intervals(space.to_search(x), lower, upper)
    out = np.array(space.unclipped(ends.T)).T
    # an undetermined parameter: its whole range
    out[covariance.undetermined] = [-np.inf, np.inf]
    return out


def sequence_signals(
    problem: GrayBoxProblem, start: np.ndarray, x: np.ndarray, held_out: bool
) -> list[SequenceSignals]:
    """Measured, initial and fitted signals of every sequence."""
    pairs = problem.predictions(np.stack([start, x]))
    models = [variant.model for variant in getattr(problem, "variants", ())]
    return [
        SequenceSignals(
            sequence.name,
            held_out,
            sequence.channel_names,
            sequence.times,
            measured[-1],
            np.clip(np.nan_to_num(predicted[0], nan=1e30), -1e30, 1e30),
            predicted[1],
            signal_units(models, sequence.signal_names),
            tuple(window.first for window in getattr(sequence, "windows", ())),
            velocity_sources(models, sequence.signal_names),
        )
        for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True)
    ]


def score(signals: list[SequenceSignals]) -> ScoreTable:
    """Scores of the identified and the initial model, compared with trivial predictors.

    Sequences with different channels than the first training sequence are scored on the common
    channels.
    """
    common = [c for c in signals[0].channels if all(c in s.channels for s in signals)]
    parts: dict[str, list[ScoredSequence]] = {}
    for s in signals:
        columns = [s.channels.index(c) for c in common]
        parts.setdefault("held-out" if s.held_out else "training", []).append(
            ScoredSequence(
                s.measured[:, columns],
                {"identified": s.fitted[:, columns], "initial": s.initial[:, columns]},
                s.name,
            )
        )
    return compare_predictors(parts, common)


def _size(signals: SequenceSignals) -> list[HeteroscedasticityTest]:
    """Test of each channel whether the residual depends on the speed of the measured signal."""
    out: list[HeteroscedasticityTest] = []
    error = signals.measured - signals.fitted
    for c, channel in enumerate(signals.channels):
        if len(signals.times) < 30 or np.ptp(error[:, c]) == 0:
            continue
        speed = np.gradient(signals.fitted[:, c], signals.times)
        if np.ptp(np.abs(speed)) > 0:
            out += size_test(error[:, [c]], speed, [channel], "speed")
    return out
