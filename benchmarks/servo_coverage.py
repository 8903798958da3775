"""Shared: coverage of the intervals of servo fits, and the rule for identifiable parameters.

The rule uses the true values and the planned recordings only, before any fit. A parameter is
identifiable if, by the derivatives of the noiseless motion at the truth, for white noise of the
known size and no bounds, with all parameters unknown,

- no direction without effect has a part of it,
- half the width of its 95 % interval is at most 25 % of its value (of ``q_offset``, which may be 0:
  of its upper bound),
- three standard deviations to either side lie within its bounds, and
- the motion follows its derivatives to the ends of that interval, apart from less than the change
  that they predict: linear theory does not hold for a parameter whose interval contains a jump.

A fit is that of ``trueup actuator fit --method least-squares`` with its assessment; instead of the
best 8 of 256 points it starts from one, up to 10 % away from the truth. Where a motion jumps, a
descent may end in a local minimum that descents from other points avoid. A result is therefore
rejected if its error exceeds that of the descent from the truth, or that of the truth itself; the
fit then restarts from another point, up to nine times. The error at the truth alone is too weak a
bound: noise of the start samples raises it above that of other minima. The descent from the truth
is used for its error only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from servo_truths import ENCODER_COUNT, clean_logs, noisy_logs, true_model
from trueup.actuators import (
    BenchSimulator,
    FitSettings,
    Objective,
    ServoFit,
    ServoLog,
    ServoModel,
    ServoProblem,
)
from trueup.actuators.assess.linear_range import LARGEST_DEPARTURE, departures
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.search.servo_search import ServoSearch, ServoSearchSettings
from trueup.fitting import Solution, analyse, minimise

LARGEST_HALF_WIDTH = 0.25
"""Of the predicted interval, over the value."""

BOUND_DEVIATIONS = 3.0
"""Standard deviations that have to fit between the truth and each bound."""

START_DISTANCE = 0.1
"""Greatest distance of the start from the truth, relative to each value."""

STARTS = 10
"""Starts of a fit at most."""

SAME_ERROR = 2e-3
"""Relative difference of errors below which two descents have ended in one valley."""

LOSSES = {"mae": "soft_l1", "rmse": "linear"}
"""Loss of the search for each objective."""


@dataclass(frozen=True)
class Case:
    """A servo with a friction model, and how its logs are made and fitted."""

    servo: str
    model: str
    seed: int = 0
    objective: str = "mae"
    rounded: bool = False
    evolve: bool = False

    def truth(self) -> ServoModel:
        """The true model."""
        return true_model(self.servo, self.model, self.seed)


@dataclass(frozen=True)
class Repeat:
    """What one draw of noise gave."""

    hits: np.ndarray
    """Whether each interval holds the truth ``(p,)``."""
    errors: np.ndarray
    """Distance from the truth in standard errors ``(p,)``."""
    starts: int
    """Starts that were needed."""
    worse: bool
    """Whether no start led to an error as small as that of a descent from the truth."""


def predicted_deviations(
    truth: ServoModel,
    logs: Sequence[ServoLog] | None = None,
    noise: float = ENCODER_COUNT,
    vin: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard deviations at the truth ``(p,)``, by linear theory for white noise, all parameters
    unknown and unbounded; which parameters have an effect of their own; and how far the motion
    departs from that theory at the ends of a 95 % interval.

    Args:
      truth: the true servo.
      logs: commands and loads of its recordings; those of its rig by default.
      noise: standard deviation of the position [rad].
      vin: supply voltage [V], in place of that of the logs.
    """
    recordings = clean_logs(truth) if logs is None else logs
    problem = ServoProblem(BenchSimulator(truth, recordings, threads=1, vin=vin))
    x = truth.vector()
    blocks = [slopes for _, _, slopes in problem.jacobian_blocks(x, {})]
    derivatives = np.hstack(blocks)
    information = derivatives @ derivatives.T
    space = problem.space
    found = analyse(information, x, space.names, space.lower, space.upper, is_information=True)
    size = np.sqrt(np.maximum(np.diag(information), 1e-300))
    inverse = np.linalg.pinv(information / np.outer(size, size), hermitian=True)
    covariance = noise**2 * inverse / np.outer(size, size)
    return (
        np.sqrt(np.diag(covariance)),
        np.isin(space.names, found.determined),
        departures(problem, x, covariance, blocks),
    )


def identifiable(truth: ServoModel) -> dict[str, bool]:
    """Which parameters the rule calls identifiable."""
    out = {}
    predicted = zip(truth.parameters, *predicted_deviations(truth), strict=True)
    for parameter, deviation, alone, departure in predicted:
        value = truth.values[parameter.name]
        size = parameter.upper if parameter.name == "q_offset" else abs(value)
        room = min(value - parameter.lower, parameter.upper - value)
        out[parameter.name] = bool(
            alone
            and 1.96 * deviation <= LARGEST_HALF_WIDTH * size
            and BOUND_DEVIATIONS * deviation <= room
            and departure <= LARGEST_DEPARTURE
        )
    return out


def run_repeats(case: Case, repeats: Iterable[int]) -> list[Repeat]:
    """Fits to the same motion with other noise."""
    truth = case.truth()
    clean = clean_logs(truth)
    x = truth.vector()
    found = []
    for repeat in repeats:
        # noise of its own for each case, so that counts of several are independent
        rng = np.random.default_rng([case.seed, 1, repeat, *map(ord, case.servo + case.model)])
        fit, starts, worse = fitted(case, truth, noisy_logs(clean, rng, case.rounded), rng)
        low, high = fit.assessment.intervals.T
        error = (fit.solution.x - x) / fit.assessment.standard_errors
        found.append(Repeat((low <= x) & (x <= high), error, starts, worse))
    return found


def fitted(
    case: Case, truth: ServoModel, logs: list, rng: np.random.Generator
) -> tuple[ServoFit, int, bool]:
    """The fit, the starts that it took, and whether a descent from the truth ends lower even so."""
    settings = FitSettings(method="least-squares", objective=Objective(case.objective))
    prepared = Prepared(case.servo, case.model, logs, settings, workers=1)
    problem, space = prepared.problem, prepared.space
    x = truth.vector()
    search_settings = ServoSearchSettings(
        scanned=1, descents=1, kept=1, loss=LOSSES[case.objective], evolve=case.evolve
    )

    def descended(begin: np.ndarray) -> Solution:
        near = replace(space, start=np.clip(begin, space.lower, space.upper))
        return minimise(problem, ServoSearch(near, search_settings, case.seed))

    # a search's result has no greater error than its start has
    enough = (1.0 + SAME_ERROR) * descended(x).cost
    best = None
    for start in range(1, STARTS + 1):
        solution = descended(x * (1.0 + START_DISTANCE * rng.uniform(-1.0, 1.0, space.size)))
        if best is None or solution.cost < best.cost:
            best = solution
        if best.cost <= enough:
            return prepared.result(best), start, False
    assert best is not None
    return prepared.result(best), STARTS, True


def summarise(case: Case, repeats: list[Repeat]) -> dict:
    """Counts for each parameter of a case, as plain data."""
    truth = case.truth()
    named = identifiable(truth)
    deviations, _, departed = predicted_deviations(truth)
    hits = np.array([repeat.hits for repeat in repeats]).sum(axis=0)
    errors = np.array([repeat.errors for repeat in repeats])
    with np.errstate(invalid="ignore"):
        spread = np.where(np.isfinite(errors).all(axis=0), errors.std(axis=0), np.nan)
    return {
        "servo": case.servo,
        "model": case.model,
        "repeats": len(repeats),
        "starts": sum(repeat.starts for repeat in repeats),
        "worse_than_truth": sum(repeat.worse for repeat in repeats),
        "parameters": {
            name: {
                "truth": truth.values[name],
                "predicted_deviation": float(deviations[i]),
                "departure": float(departed[i]),
                "identifiable": named[name],
                "hits": int(hits[i]),
                "error_spread": None if np.isnan(spread[i]) else float(spread[i]),
            }
            for i, name in enumerate(truth.names)
        },
    }
