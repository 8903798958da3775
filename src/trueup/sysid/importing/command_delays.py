"""Delay of commands by which a recording of position servos lags its simulation."""

from dataclasses import dataclass

import numpy as np

from trueup.sysid.assess.deciding_settings import command_delay, linearised
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import refit
from trueup.sysid.fit.late_controls import late_controls, pause_of
from trueup.sysid.fit.problem import GrayBoxProblem

_GRID = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)  # delays that are tried, in intervals of commands
_SEVERAL, _MOST = 3, 0.3  # positions, and their median error with a delay relative to that without
_ITERATIONS = 10  # of a fit with or without a delay
_LOWER = 0.9  # error or cost with a delay relative to that without, from which it is believed


@dataclass(frozen=True)
class Delay:
    """Delay of commands by which the log lags the simulation."""

    seconds: float | None
    """None if the model explains the log."""
    problem: GrayBoxProblem
    """The problem with this delay."""
    x: np.ndarray
    """Its best known values ``(p,)``."""
    fitted: bool
    """Whether they were fitted; otherwise they are start values."""


def delay_of_commands(prepared: Prepared, seconds: float) -> Delay:
    """Delay of commands by which the log lags the simulation.

    Damping of each joint has nearly the effect of a delay of all: the costs with and without a
    delay are compared after a fit of each. A large robot, which is not fitted within the time, has
    a delay if it explains most of the error of several joints by itself.

    Args:
      prepared: the experiment, with zeros of encoders among its unknowns; a zero that is left out
        hides a delay, or is exchanged for one.
      seconds: limit of each fit [s].
    """
    problem = prepared.motion_problem()
    start, pause = problem.space.start, pause_of(prepared.training)
    delays = pause * np.array([0.0, *_GRID])
    found = [_errors(problem, start)]
    for delay in delays[1:]:
        found.append(_errors(_later(prepared, float(delay)), start))
    costs = [cost for cost, _ in found]
    best = int(np.argmin(costs))
    if costs[best] > _LOWER * costs[0]:
        return Delay(None, problem, start, False)
    common = int(np.argmin([np.median(errors) for _, errors in found]))
    fit = refit(problem, start, None, seconds, _ITERATIONS)
    if fit is None:
        ratios = found[common][1] / found[0][1]
        most = len(ratios) >= _SEVERAL and np.median(ratios) < _MOST
        late = float(delays[common])
        if not most:
            return Delay(None, problem, start, False)
        return Delay(late, _later(prepared, late), start, False)
    without = _errors(problem, fit.x)[1]
    step = command_delay(prepared, linearised(problem, fit.x))
    for delay in [*([step.seconds] if step is not None else []), float(delays[common])]:
        other = _later(prepared, delay)
        late = refit(other, start, None, seconds, _ITERATIONS)
        if late is None or late.cost >= fit.cost:
            continue
        # a delay is that of all joints: one that the unknowns cannot explain says nothing
        if step is not None or np.median(_errors(other, late.x)[1] / without) < _LOWER:
            return Delay(delay, other, late.x, True)
    return Delay(None, problem, fit.x, True)


def _later(prepared: Prepared, delay: float) -> GrayBoxProblem:
    return prepared.motion_problem(sequences=late_controls(prepared.training, delay))


def _errors(problem: GrayBoxProblem, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Cost at ``x (p,)``, and the error of each channel but noisy velocities of joints."""
    squares: dict[str, float] = {}
    for sequence, (measured, predicted) in zip(
        problem.sequences, problem.predictions(x[None]), strict=True
    ):
        for c, channel in enumerate(sequence.channels):
            if channel.field != "qvel":
                error = np.mean(np.square(measured[-1, :, c] - predicted[0, :, c]))
                name = sequence.channel_names[c]
                squares[name] = squares.get(name, 0.0) + float(error)
    return float(problem.costs(x[None])[0, 0]), np.sqrt(np.array([*squares.values()]) + 1e-300)
