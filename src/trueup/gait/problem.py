"""The problem that a search solves: gains whose walks cost little."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import GaitError
from trueup.fitting import Problem
from trueup.fitting.problem import Failures
from trueup.gait.costs import INVALID, WalkObjective
from trueup.gait.myoassist_cost import MyoAssistCost
from trueup.gait.parameter_vector import ParameterVector
from trueup.gait.walk_simulation import WalkSimulation


@dataclass(frozen=True)
class Scenario:
    """One condition that candidates walk in: how they are simulated and what they are judged by."""

    simulation: WalkSimulation
    """How they are simulated: model, slope, controller."""
    objective: WalkObjective | MyoAssistCost
    """What they are judged by: our terms, or MyoAssist's number."""
    name: str = ""
    """What it is called where there are several."""


class GaitProblem(Problem):
    """Costs of walks, a mean over scenarios; all terms are kept beside them.

    Args:
      scenarios: conditions, such as speeds and slopes; their vectors have the same entries.
      parameters: entries with bounds and start values of one's own; those of the first simulation
        where absent.
      most_at_once: candidates that are simulated together.
      deviation: first standard deviations of a search, of the free entries ``(p,)``.

    Raises:
      GaitError: no scenario, or scenarios whose vectors differ.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        parameters: ParameterVector | None = None,
        most_at_once: int = 64,
        deviation: np.ndarray | None = None,
    ):
        if not scenarios:
            raise GaitError("a gait problem needs at least one scenario")
        self.scenarios = tuple(scenarios)
        own = self.scenarios[0].simulation.parameters
        self.parameters = own if parameters is None else parameters
        for scenario in self.scenarios:
            if scenario.simulation.parameters.names != self.parameters.names:
                raise GaitError(
                    f"the scenario {scenario.name!r} takes other parameters than the first one"
                )
        self.most_at_once = most_at_once
        self.space = replace(self.parameters.space, deviation=deviation)
        self.terms: dict[str, np.ndarray] = {}
        """Terms of the candidates of the last call of :meth:`costs`, ``(n,)`` each."""

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates ``X (n, p)``, the free entries of vectors.

        A candidate that cannot start has a large cost, and its reason in ``failures``.
        """
        return self.whole_costs(self.parameters.complete(X), failures)[:, None]

    def whole_costs(self, whole: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n,)`` of whole vectors ``(n, size)``, entries that no search moves included."""
        failures = {} if failures is None else failures
        parts = [
            self._chunk(whole[start : start + self.most_at_once], start, failures)
            for start in range(0, len(whole), self.most_at_once)
        ]
        self.terms = {
            name: np.concatenate([terms[name] for _, terms in parts]) for name in parts[0][1]
        }
        return np.concatenate([cost for cost, _ in parts])

    def _chunk(
        self, whole: np.ndarray, start: int, failures: Failures
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        total = np.zeros(len(whole))
        kept: dict[str, np.ndarray] = {}
        for scenario in self.scenarios:
            cost, terms = evaluate(scenario, whole, invalid := {})
            for row, reason in invalid.items():
                failures.setdefault(start + row, reason)
            total += cost / len(self.scenarios)
            ahead = f"{scenario.name}." if len(self.scenarios) > 1 else ""
            kept |= {f"{ahead}{name}": value for name, value in {"cost": cost, **terms}.items()}
        return total, kept


def evaluate(
    scenario: Scenario, X: np.ndarray, invalid: dict[int, str] | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Costs ``(n,)`` and terms of whole vectors ``X (n, size)`` in one scenario.

    Among the terms are ``walked`` [m], ``lasted`` [s] and ``fell`` (0 or 1). Candidates that cannot
    start are entered in ``invalid`` with the reason.
    """
    simulation, objective = scenario.simulation, scenario.objective
    records = simulation.run(X)
    anatomy, settings = simulation.walker.anatomy, simulation.settings
    if isinstance(objective, MyoAssistCost):
        terms = objective.terms(records, anatomy)
        cost = objective.scalars(X, records, terms, settings)
    else:
        threshold = simulation.controller.load_threshold
        found = objective.costs(records, anatomy, settings.duration, threshold)
        cost, terms = found.total, found.terms
    if invalid is not None:
        invalid |= records.invalid
    last = np.maximum(records.length - 1, 0)
    x = records.column("x")
    walked = np.where(records.length > 0, x[np.arange(len(X)), last] - x[:, 0], 0.0)
    more = {
        "walked": walked,
        "lasted": records.length * records.period,
        "fell": (records.ended != 0).astype(float),
    }
    return np.where(np.isfinite(cost), cost, INVALID), {**terms, **more}
