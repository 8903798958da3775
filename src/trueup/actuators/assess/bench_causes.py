"""Wrong descriptions of a bench that explain a model error: masses, arms, gains, supplies.

Where residuals are errors of the model, each number that describes the bench, and not the servo, is
scaled: for the logs of one value, and for all logs. A linear model at the optimum selects those
that may matter, and the fit is repeated with the most promising ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import Bench, Pendulum
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.refit import refitted
from trueup.fitting.problem import Failures

EXPLAINED = 0.5
"""Part of the error that a wrong description takes away: effects that a servo model lacks, of
recorded servos, take less when the bench is scaled."""

AS_GOOD = 1.25
"""Factor on the smallest error within which another description explains the logs as well."""

_PROMISING = 0.2
"""Part of the squared error that a description takes away in the linear model, to be tried."""
_TRIED, _STEP = 3, 0.02
_FACTORS = (0.2, 0.4, 0.7)  # logarithms of tried factors, up to two
_MOST_VALUES = 4

Simulators = Callable[[Sequence[ServoLog], Sequence[Bench]], BenchSimulator]
"""Simulator of the free parameters on logs with these loads."""


@dataclass(frozen=True)
class BenchCause:
    """A number of the bench that explains the error of a fit if it is scaled.

    Attributes:
      what: the number and the logs, such as ``the mass of the logs of 0.4 kg``.
      factor: factor on it with the smallest error.
      before, after: objective of the fit without and with the factor [rad].
      remark: sentence on the factor; empty without any.
    """

    what: str
    factor: float
    before: float
    after: float
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The cause as JSON values."""
        return {
            "what": self.what,
            "factor": self.factor,
            "before": self.before,
            "after": self.after,
            "remark": self.remark,
        }


GainCause = Callable[[dict[str, float], float], BenchCause]
"""Fit with the gain of all logs as another unknown, from the optimum and its objective [rad]."""


@dataclass(frozen=True)
class _Scaled:
    """A quantity of the bench in some of the logs."""

    what: str
    quantity: str
    rows: tuple[int, ...]

    def changed(
        self, logs: Sequence[ServoLog], benches: Sequence[Bench], factor: float
    ) -> tuple[list[ServoLog], list[Bench]]:
        """Logs and loads with the quantity times the factor."""
        new_logs, new_benches = list(logs), list(benches)
        for row in self.rows:
            if self.quantity in ("kp", "vin"):
                scaled = factor * getattr(logs[row], self.quantity)
                new_logs[row] = replace(logs[row], **{self.quantity: scaled})
                continue
            load = benches[row]
            assert isinstance(load, Pendulum)  # see _quantities
            power = 2.0 if self.quantity == "length" else 1.0
            new_benches[row] = Pendulum(load.inertia * factor**power, load.gravity_torque * factor)
        return new_logs, new_benches


def bench_causes(
    simulators: Simulators,
    problem: ServoProblem,
    x: np.ndarray,
    logs: Sequence[ServoLog],
    benches: Sequence[Bench],
    *,
    gain: "GainCause | None" = None,
    known_motor: bool = False,
) -> list[BenchCause]:
    """Descriptions of the bench that explain most of the error, the best first.

    Args:
      simulators: factory of simulators.
      problem: problem of the training logs.
      x: its optimum ``(p,)``.
      logs: the training logs.
      benches: their loads.
      gain: fit with the gain of all logs as another unknown; None: the gain of all logs is a
        parameter, or is tried elsewhere.
      known_motor: whether torque constant or winding resistance is given: a supply voltage of all
        logs is then determined, otherwise they make up for it exactly.
    """
    before = float(problem.costs(x[None, :])[0, 0])
    blocks = list(problem.jacobian_blocks(x, failures := {}))
    if failures:
        return []
    residuals = np.concatenate([values for _, values, _ in blocks])
    jacobian = np.concatenate([slopes for _, _, slopes in blocks], axis=1)
    # a value on its bound cannot make up for the bench
    jacobian = jacobian[~problem.space.at_bound(x, 1e-6)]
    promising = []
    for scaled in _quantities(logs, benches, known_motor):
        factor = float(np.exp(_STEP))
        moved = ServoProblem(simulators(*scaled.changed(logs, benches, factor)), problem.objective)
        failures: Failures = {}
        other = [values[0] for _, values in moved.residual_blocks(x[None, :], failures)]
        if failures:
            continue
        slope = (np.concatenate(other) - residuals) / _STEP
        share, step = _explained(residuals, jacobian, slope)
        if share >= _PROMISING:
            promising.append((share, step, scaled))
    promising.sort(key=lambda one: -one[0])
    found = [
        _fitted(simulators, problem, x, logs, benches, scaled, step, before)
        for _, step, scaled in promising[:_TRIED]
    ]
    if gain is not None:
        values = dict(zip(problem.space.names, x.tolist(), strict=True))
        found.append(gain(values, before))
    found = sorted(
        (one for one in found if one.after <= (1.0 - EXPLAINED) * before),
        key=lambda one: one.after,
    )
    return [one for one in found if one.after <= AS_GOOD * found[0].after]


def causes_in_words(causes: Sequence[BenchCause]) -> str:
    """Sentence on descriptions of the bench that explain the error of a fit."""
    first, *others = causes
    either = "".join(f", or {one.what} times {one.factor:.2g}" for one in others)
    remarks = "".join(f" {one.remark}" for one in causes if one.remark)
    return (
        f"The bench is described wrong: with {first.what} times {first.factor:.2g}{either} the "
        f"error of the fit falls from {1e3 * first.before:.3g} to {1e3 * first.after:.3g} mrad. "
        f"Correct the logs: all values make up for it.{remarks}"
    )


def _quantities(
    logs: Sequence[ServoLog], benches: Sequence[Bench], known_motor: bool
) -> Iterator[_Scaled]:
    """Quantities of the bench that can be scaled: of the logs of each value, and of all."""
    every = tuple(range(len(logs)))
    names = {"kp": ("the gain", "")}
    if all(log.vin is not None for log in logs):
        names["vin"] = ("the supply", " V")
    if all(isinstance(bench, Pendulum) for bench in benches):
        names |= {"mass": ("the load", " kg"), "length": ("the arm length", " m")}
    for quantity, (name, unit) in names.items():
        values = sorted({getattr(log, quantity) for log in logs})
        # the values of a servo make up for a scale of all torques, and of the supply; the gain of
        # all logs is fitted
        if quantity == "length" or (quantity == "vin" and known_motor):
            yield _Scaled(f"{name} of all logs", quantity, every)
        if 1 < len(values) <= _MOST_VALUES:
            for value in values:
                rows = tuple(i for i in every if getattr(logs[i], quantity) == value)
                yield _Scaled(f"{name} of the logs of {value:g}{unit}", quantity, rows)
                if quantity == "mass" and "vin" in names:
                    # loads are changed between sessions, and a supply with them
                    words = f"{names['vin'][0]} of the logs of {value:g}{unit}"
                    yield _Scaled(words, "vin", rows)


def _explained(
    residuals: np.ndarray, jacobian: np.ndarray, slope: np.ndarray
) -> tuple[float, float]:
    """Part of the squared error that a step along ``slope`` takes, and the step.

    The values of the servo ``jacobian (p, rows)`` move along.
    """
    scale = np.linalg.norm(jacobian, axis=1)
    basis = np.linalg.qr((jacobian[scale > 0] / scale[scale > 0, None]).T)[0]
    left = residuals - basis @ (basis.T @ residuals)
    own = slope - basis @ (basis.T @ slope)
    power = float(own @ own)
    if power <= 1e-12 * float(slope @ slope):
        return 0.0, 0.0
    step = -float(own @ left) / power
    return step**2 * power / float(residuals @ residuals), step


def _fitted(
    simulators: Simulators,
    problem: ServoProblem,
    x: np.ndarray,
    logs: Sequence[ServoLog],
    benches: Sequence[Bench],
    scaled: _Scaled,
    step: float,
    before: float,
) -> BenchCause:
    """The factor with the smallest error of fits, each from the optimum of the one before."""
    at, costs, start = [0.0], [before], x

    def tried(logarithm: float) -> None:
        nonlocal start
        factor = float(np.exp(logarithm))
        other = ServoProblem(simulators(*scaled.changed(logs, benches, factor)), problem.objective)
        start = refitted(other, start)
        at.append(logarithm)
        costs.append(float(other.costs(start[None, :])[0, 0]))

    for size in _FACTORS:
        tried(float(np.copysign(size, step)))
    order = np.argsort(at)
    places, values = np.array(at)[order], np.array(costs)[order]
    best = int(np.clip(np.argmin(values), 1, len(values) - 2))
    near = slice(best - 1, best + 2)
    # errors rise in proportion to the distance from the right factor: lines meet there
    slopes = np.diff(values[near]) / np.diff(places[near])
    steepest = max(abs(slopes[0]), abs(slopes[1]), 1e-300)
    low, high = places[near][0], places[near][-1]
    meet = 0.5 * (low + high) + 0.5 * (values[near][0] - values[near][-1]) / steepest
    tried(float(np.clip(meet, low, high)))
    least = int(np.argmin(costs))
    return BenchCause(scaled.what, float(np.exp(at[least])), before, costs[least])
