"""Error of inverse dynamics itself, by inverse dynamics of a simulation of the model.

Inverse dynamics compares torques that are held over a control step, friction that is soft at rest,
and damping that an integrator evaluates at the end of a step with accelerations and directions of
a filtered motion. Applied to a simulated recording of a model with known values, it leaves a torque
that noise does not explain; on the same motion it leaves the same torque in the recording of the
machine. It is subtracted from the recorded torque (indirect inference: C. Gourieroux, A. Monfort
and E. Renault, J. Applied Econometrics 8, 1993).

The friction at rest and the time step of the machine are not those of the model in general: those
that leave the smallest error are used.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.errors import ModelError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.signals import InterpolationMethod
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.fit._inner_fit import busy_seconds, inner_fit
from trueup.sysid.fit.identification_search import TORQUE_SETTINGS
from trueup.sysid.torque.data import torque_data_of
from trueup.sysid.torque.followed_motion import follow
from trueup.sysid.torque.joint_motion import smooth_motion, torque_sources
from trueup.sysid.torque.known_errors import AS_MODELLED, FINE, Machine, NoiseEffect, OwnErrors
from trueup.sysid.torque.measured_noise import noise_effect
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.promising_machines import Kind, promising

_ITERATIONS = 50
_EVIDENCE = 4.0
"""Logarithm of the likelihood by which torques that act otherwise than said, or another friction
than the model's, must explain the recordings better."""

_ROUNDS = (
    3  # simulations, each with the values of the last fit: most of the error is left after one
)


def own_errors(
    problem: TorqueProblem,
    groups: Sequence[ModelSequences],
    x: np.ndarray,
    control: InterpolationMethod,
    machine: Machine = AS_MODELLED,
) -> OwnErrors:
    """Simulate the model along recordings, and apply inverse dynamics to the simulations.

    Args:
      problem: torque problem with the models and the filter.
      groups: models with their recordings; a subset of those of an experiment.
      x: values ``(p,)``.
      control: interpolation of controls, ``zoh`` or ``linear``.
      machine: how the simulated machine differs from the model.
    """
    bandwidth = problem.bandwidth
    series: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for group, variant in zip(groups, problem.variants_of(groups), strict=True):
        try:
            spec = machine.applied_to(variant.spec_at(x))
        except ModelError:
            continue
        for trajectory in group.measured_rollout:
            driven = problem.driven_in(trajectory)
            sources = torque_sources(trajectory.model, trajectory.sensordata, driven)
            if not sources.has_torque:
                continue
            followed = follow(spec, trajectory, sources, bandwidth.corner, control)
            if followed is None:
                continue
            motion = smooth_motion(followed.trajectory, bandwidth.corner, bandwidth.slowest)
            motion = motion.centred() if bandwidth.held else motion
            part = torque_data_of(trajectory.model, motion, sources)
            left = problem.left_over(x, part, variant)
            for dof, k, share in part.forces:
                if dof in followed.followers:
                    left[:, k] += share * motion.controls[:, followed.followers[dof]]
            if np.isfinite(left).all():
                series[trajectory.name] = (motion.times, left / problem.gains_at(x, part, variant))
    return OwnErrors(x, control, series, machine)


def fitted(
    problem: TorqueProblem, x: np.ndarray, time_limit: float = np.inf
) -> tuple[np.ndarray, float]:
    """Values ``(p,)`` of a fit to torques from a start, and its cost."""
    settings = LeastSquaresSettings(max_iters=_ITERATIONS, **TORQUE_SETTINGS)
    begin = np.clip(x, problem.space.lower, problem.space.upper)
    fit = inner_fit(problem, LeastSquares(problem.space, settings, begin), time_limit, busy_seconds)
    return fit.x, float(fit.cost)


def found_own_errors(
    problem: TorqueProblem,
    training: Sequence[ModelSequences],
    others: Sequence[ModelSequences],
) -> OwnErrors | None:
    """Own errors at the values of a fit without them, found together with these values.

    None if they do not reduce the error, because the machine does not move like a simulation of
    its model.

    Args:
      problem: torque problem of the training recordings, without own errors.
      training: the training recordings.
      others: further recordings, whose own errors are added.
    """
    # a semi-implicit step shifts the motion: controls that look sampled may be held
    kinds: list[Kind] = [("zoh", False), ("zoh", True)]
    if not problem.bandwidth.held:
        kinds.extend([("linear", False), ("linear", True)])
    x, plain = fitted(problem, problem.space.start)
    best: OwnErrors | None = None
    simulated = promising(
        problem, training, x, kinds, lambda groups, kind: _of_steps(problem, groups, x, *kind)
    )
    for _ in range(_ROUNDS if simulated else 0):
        if best is not None:
            simulated = [_of_steps(problem, training, x, best.control, best.machine.hard)]
        tried = [_at_best_step(problem, x, *pair) for pair in simulated]
        found, cost, own = tried[_most_likely([each[1] for each in tried], problem.data_rows)]
        if own is None or not cost < plain:
            break
        x, best = found, own
    if best is None:
        return None
    best = _without_bias(problem, x, best)
    more = _of_steps(problem, others, best.x, best.control, best.machine.hard)
    rest = more[0].mixed(more[1], best.machine.step)
    return replace(best, series={**best.series, **rest.series})


def _most_likely(costs: Sequence[float], rows: int) -> int:
    """Index of the first of several costs, or of the smallest if the data clearly speak for it."""
    least = int(np.argmin(costs))
    if not np.isfinite(costs[least]):
        return 0
    variance = 2.0 * costs[least] / max(rows, 1)
    return least if costs[0] - costs[least] > _EVIDENCE * variance else 0


def _without_bias(problem: TorqueProblem, x: np.ndarray, own: OwnErrors) -> OwnErrors:
    """Own errors that include the bias of the fit by the noise of the recordings.

    The noise makes armatures too small, which a longer time step makes up for in part: the step is
    moved back first.
    """
    problem = problem.with_own_errors(own)
    # a machine without steps is simulated with fine ones
    machine = replace(own.machine, step=max(own.machine.step, FINE))
    noise = noise_effect(
        problem,
        x,
        lambda groups: own_errors(problem, groups, x, own.control, machine),
    )
    step = _unbiased_step(problem, x, own, noise)
    # noise that a controller passes on to its torques is not that of the draws: the bias is known
    # no better than its size
    spread = float(np.hypot(own.step_spread, step - own.machine.step))
    own = replace(own.at_step(step), step_spread=spread)
    problem = problem.with_own_errors(own)
    x, _ = fitted(problem, x)
    _, jacobian, _ = final_jacobian(problem, x, central=False)
    slopes = np.asarray(jacobian[: problem.data_rows])
    shift = -inverse_of(jacobian.T @ jacobian) @ noise.mean
    series = dict(own.series)
    for sequence, group in zip(problem.sequences, problem.groups, strict=True):
        if sequence.name in series:
            times, values = series[sequence.name]
            bias = (slopes[group.rows] @ shift).reshape(values.shape) / sequence.weights
            gains = problem.model_gains(sequence)
            series[sequence.name] = times, values - bias / gains
    return replace(own, x=x, series=series, noise=noise)


def _unbiased_step(
    problem: TorqueProblem, x: np.ndarray, own: OwnErrors, noise: NoiseEffect
) -> float:
    """The time step of least error without its bias by the noise, relative to that of the model."""
    residual, jacobian, _ = final_jacobian(problem, x, central=False)
    later = problem.with_own_errors(own.at_step(own.machine.step + 1.0))
    changed, _, _ = final_jacobian(later, x, central=False)
    both = np.column_stack([jacobian, changed - residual])
    # the noise acts on the step through the values of the fit; what it changes of the own errors of
    # a step adds less, and would take twice as many simulations
    bias = -inverse_of(both.T @ both) @ np.append(noise.mean, 0.0)
    return float(np.clip(own.machine.step - bias[-1], 0.0, 1.0))


def _of_steps(
    problem: TorqueProblem,
    groups: Sequence[ModelSequences],
    x: np.ndarray,
    control: InterpolationMethod,
    hard: bool,
) -> tuple[OwnErrors, OwnErrors]:
    """Own errors of a machine with a fine step, and with the time step of the model."""
    fine, coarse = (
        own_errors(problem, groups, x, control, Machine(hard, step)) for step in (FINE, 1.0)
    )
    return fine, coarse


def _at_best_step(
    problem: TorqueProblem, x: np.ndarray, fine: OwnErrors, coarse: OwnErrors
) -> tuple[np.ndarray, float, OwnErrors | None]:
    """A fit ``(p,)`` with the own errors of the time step of least error, its cost, and these.

    Own errors are linear in the time step, and the cost is a parabola in it.
    """
    if not fine.series or fine.series.keys() != coarse.series.keys():
        return x, np.inf, None
    steps = np.array([FINE, 0.5 * (FINE + 1.0), 1.0])
    mixed = [fine.mixed(coarse, float(step)) for step in steps]
    fits = [fitted(problem.with_own_errors(own), x) for own in mixed]
    bend, slope, _ = np.polyfit(steps, [cost for _, cost in fits], 2)
    if bend > 0:
        mixed.append(fine.mixed(coarse, float(np.clip(-0.5 * slope / bend, 0.0, 1.0))))
        fits.append(fitted(problem.with_own_errors(mixed[-1]), x))
    best = int(np.argmin([cost for _, cost in fits]))
    return *fits[best], mixed[best]
