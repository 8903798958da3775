"""Continuation of a fit whose measured starts the motion contradicts, with the starts as unknowns.

A simulation starts from a local fit to the first samples of a recording. A recording that begins
with a jump of its command, or in the middle of a fast motion, bends within those samples, so that
the velocity of the local fit is wrong by far more than noise explains, and the fit gives its effect
to the parameters. The whole motion tells the error of a start: where that is many times its noise,
starts become unknowns, with the first sample as their prior.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import listing
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.solution import Solution
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.parameters import ParameterDict
from trueup.parameters.parameter import Prior
from trueup.signals.checks.statistics import noise_level
from trueup.sysid.assess.fit_covariance import gram_matrix
from trueup.sysid.experiment.initial_unknowns import estimated_starts
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import inner_fit, joined
from trueup.sysid.fit.prior_weight import at_noise, residual_scale
from trueup.sysid.fit.start_noise import MeasuredStarts, measured_starts

_FAR = 4.0
"""Error of a start in standard deviations of its noise above which starts become unknowns."""
_ELSEWHERE = 5.0
"""Distance of a fitted start from its first sample, in standard deviations of the noise of that,
above which the model is wrong and not the start. A coarse time step moves a start by four."""
_NOTICEABLE = 0.2
"""Change of a parameter by the errors of the starts, in standard errors, above which they do."""


def fit_with_free_starts(
    prepared: Prepared,
    problem: Any,
    solution: Solution,
    settings: LeastSquaresSettings,
    seconds_left: float,
) -> tuple[Any, Solution, tuple[str, ...]]:
    """Continue a fit with its measured starts as unknowns, if the motion contradicts them.

    Args:
      prepared: the experiment; the starts are added to its parameters.
      problem: its problem.
      solution: its fit; returned unchanged if it did not succeed or agrees with its starts.
      settings: settings of its least squares.
      seconds_left: time limit [s].

    Returns:
      The problem with starts, its fit, and a note; unchanged otherwise.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    unchanged = problem, solution, ()
    if prepared.experiment.search.by_torques or prepared.settings.window > 0:
        return unchanged  # each window starts anew, and the first one counts little
    if not (solution.success and seconds_left > 0):
        return unchanged
    if not all(problem.measurement_of(s).is_plain for s in problem.sequences):
        return unchanged  # the first sample of a late or biased sensor is not the state
    starts = measured_starts(prepared, prepared.training, False)
    if starts is None:
        return unchanged
    scale = residual_scale(problem, solution.x, Loss(settings.loss, settings.loss_scale))
    contradicted = _contradicted(starts, solution.x, scale)
    if not contradicted:
        return unchanged
    before = prepared.parameters
    prepared.parameters = _with_starts(before, starts, problem.residuals(solution.x[None])[0])
    free = at_noise(prepared.problem(), scale)
    begin = np.concatenate([solution.x, free.space.start[len(solution.x) :]])
    fit = inner_fit(free, LeastSquares(free.space, settings, begin), seconds_left)
    if not (fit.success and _agrees(prepared.parameters, free.space.names, fit.x)):
        prepared.parameters = before
        return unchanged
    further = begin[len(solution.x) :].tolist()
    earlier = [
        {**record, "x": [*record["x"], *further]} if "x" in record else record
        for record in solution.history
    ]
    solution = replace(solution, history=earlier)
    counted = solution.stats.get("evaluations", 0)
    note = (
        f"The motion contradicts the initial state of {listing(contradicted, 4)} by its first "
        "samples: it is estimated with the parameters."
    )
    clause = f", with initial states, after {counted} simulations without"
    return free, joined(solution, fit, clause), (note,)


def _agrees(parameters: ParameterDict, names: Sequence[str], x: np.ndarray) -> bool:
    """Whether fitted starts ``(p,)`` agree with the first samples.

    A wrong model leads to starts that are not those of the recording either.
    """
    starts = estimated_starts(parameters)
    for name, value in zip(names, x, strict=True):
        prior = parameters[name].prior if name in starts else None
        if prior is not None:
            ((mean, sd),) = prior.elements(1)
            if abs(value - mean) > _ELSEWHERE * sd:
                return False
    return True


def _contradicted(starts: MeasuredStarts, x: np.ndarray, scale: float) -> list[str]:
    """Sequences of which the motion gives another start than the first samples.

    Args:
      starts: the measured starts.
      x: the optimum with these starts ``(p,)``.
      scale: standard deviation of the noise in the unit of the residual.
    """
    free, p = starts.free, starts.size
    whole = np.concatenate([x, free.space.start[p:]])
    residual, jacobian, failures = final_jacobian(free, whole, central=False)
    if failures:
        return []
    noise = _noise(starts, residual)
    spread = np.zeros(free.space.size - p)
    owner = np.zeros(len(spread), int)
    for start in starts.starts:
        variances = np.diag(start.covariance(noise[start.sequence]))
        for element, variance in zip(start.elements, variances, strict=True):
            if element >= 0:
                spread[element], owner[element] = np.sqrt(variance), start.sequence
    rows = slice(0, free.data_rows)
    scale = max(scale, float(np.sqrt(np.mean(np.square(residual[rows])))))
    if not scale > 0:
        return []
    # what the motion and the noise of the first samples together say of the starts
    known = np.flatnonzero(spread > 0)
    moving = np.flatnonzero(~free.space.at_bound(whole, 1e-6)[:p])
    columns = np.concatenate([moving, p + known])
    slopes = np.asarray(jacobian)[:, columns] / scale
    information = gram_matrix(slopes)
    places = np.arange(len(moving), len(columns))
    information[places, places] += 1.0 / np.square(spread[known])
    pull = slopes.T @ (residual / scale)
    errors = -inverse_of(information) @ pull
    own = slice(0, len(moving))
    alone = inverse_of(information[own, own])
    moved = np.abs(errors[own] + alone @ pull[own])
    if not (moved > _NOTICEABLE * np.sqrt(np.diag(alone))).any():
        return []
    far = known[np.abs(errors[places]) > _FAR * spread[known]]
    names = [sequence.name for sequence in free.sequences]
    return [names[k] for k in dict.fromkeys(owner[far].tolist())]


def _noise(starts: MeasuredStarts, residual: np.ndarray) -> list[np.ndarray]:
    """Standard deviation of the noise of each column of each recording ``(columns,)``.

    Residuals hold the error of a wrong model too, and a signal its own curvature: the smaller one
    is nearer to the noise.
    """
    return [
        np.minimum(sizes, [noise_level(column) for column in series.data.T])
        for sizes, series in zip(starts.noise(residual), starts.recorded, strict=True)
    ]


def _with_starts(
    parameters: ParameterDict, starts: MeasuredStarts, residual: np.ndarray
) -> ParameterDict:
    """Parameters with the measured starts, and their first samples as priors."""
    out, noise = parameters.copy(), _noise(starts, residual)
    added = [param for param in starts.free.parameters.values() if param.name not in parameters]
    for start in starts.starts:
        series, (place, speed) = starts.recorded[start.sequence], start.columns
        for element, column in zip(start.elements, (place, None if place == speed else speed)):
            if element < 0:
                continue
            param = added[element]
            param.of_fit = True
            if column is not None and noise[start.sequence][column] > 0:
                # the first sample is not compared with the simulation, which begins there
                mean = float(series.data[0, column])
                param.prior = Prior(mean, float(noise[start.sequence][column]))
                param.value = np.clip(mean, param.min_value, param.max_value)
            out.add(param)
    return out
