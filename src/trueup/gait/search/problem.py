"""Problem of a gait optimisation: costs of walks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import GaitError, SimulationError
from trueup.fitting import Problem
from trueup.fitting.problem import Failures
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.costs.myoassist import MyoAssistCost
from trueup.gait.costs.stages import INVALID, WalkObjective
from trueup.gait.search.early_stop import EarlyStop
from trueup.gait.walk.perturbations import Perturbations
from trueup.gait.walk.records import End
from trueup.gait.walk.simulation import WalkSimulation
from trueup.simulation.warp.devices import DeviceChoice, WarpDevice


@dataclass(frozen=True)
class Scenario:
    """A condition of walks: simulation and objective."""

    simulation: WalkSimulation
    """Simulation: model, slope, controller."""
    objective: WalkObjective | MyoAssistCost
    """Objective: weighted terms, or the cost of MyoAssist."""
    name: str = ""
    """Name, if there are several scenarios."""


class GaitProblem(Problem):
    """Costs of walks, means over scenarios, with all terms.

    Args:
      scenarios: conditions, such as speeds and slopes; their vectors have the same entries.
      parameters: entries with custom bounds and initial values; by default those of the first
        simulation.
      most_at_once: largest number of walks per batch.
      perturbations: repeats of every candidate in each scenario; None: no repeats.
      deviation: initial standard deviations of a search for the free entries ``(p,)``.

    Raises:
      GaitError: no scenario, or scenarios with different vectors.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        parameters: ParameterVector | None = None,
        most_at_once: int = 64,
        deviation: np.ndarray | None = None,
        perturbations: Perturbations | None = None,
    ):
        if not scenarios:
            raise GaitError("a gait problem requires at least one scenario")
        self.scenarios = tuple(scenarios)
        own = self.scenarios[0].simulation.parameters
        self.parameters = own if parameters is None else parameters
        for scenario in self.scenarios:
            if scenario.simulation.parameters.names != self.parameters.names:
                raise GaitError(
                    f"the parameters of the scenario {scenario.name!r} differ from those of the "
                    "first one"
                )
        self.most_at_once = most_at_once
        self.device = DeviceChoice()
        """Device of the walks of :meth:`costs`; by default the CPU."""
        self.perturbations = perturbations
        self.bound = np.inf
        """Cost above which the walks of a candidate can be stopped, see
        :mod:`trueup.gait.search.early_stop`."""
        self.space = replace(self.parameters.space, deviation=deviation)
        self.terms: dict[str, np.ndarray] = {}
        """Terms of the candidates of the last call of :meth:`costs`, ``(n,)`` each."""

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n, 1)`` of candidates ``X (n, p)``, the free entries of vectors.

        A candidate that cannot start has a large cost, and its reason is in ``failures``.

        Raises:
          SimulationError: :attr:`device` was requested, and cannot simulate the walks.
        """
        return self.whole_costs(self.parameters.complete(X), failures)[:, None]

    def whole_costs(self, whole: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Costs ``(n,)`` of complete vectors ``(n, size)``, including fixed entries."""
        failures = {} if failures is None else failures
        repeats = 1 if self.perturbations is None else self.perturbations.repeats
        threads = self.scenarios[0].simulation.settings.threads
        device = self.device.for_worlds(len(whole) * repeats, threads)
        try:
            most = self._most_on(device)
            parts = self._parts(whole, max(1, most // repeats), failures, device)
        except SimulationError as error:
            if device is None:
                raise
            self.device.refuse(error)
            parts = self._parts(whole, max(1, self.most_at_once // repeats), failures, None)
        self.terms = {
            name: np.concatenate([terms[name] for _, terms in parts]) for name in parts[0][1]
        }
        return np.concatenate([cost for cost, _ in parts])

    @property
    def device_notes(self) -> tuple[str, ...]:
        """Sentences on the device: which one, and tables that grew."""
        own = [note for one in self.scenarios for note in one.simulation.device_notes]
        return (*self.device.notes, *dict.fromkeys(own))

    def _most_on(self, device: WarpDevice | None) -> int:
        """Largest number of walks per batch."""
        if device is None:
            return self.most_at_once
        return min(scenario.simulation.on(device).most for scenario in self.scenarios)

    def _parts(
        self, whole: np.ndarray, size: int, failures: Failures, device: WarpDevice | None
    ) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Costs and terms of candidates, in batches of a size."""
        return [
            self._chunk(whole[start : start + size], start, failures, device)
            for start in range(0, len(whole), size)
        ]

    def _chunk(
        self, whole: np.ndarray, start: int, failures: Failures, device: WarpDevice | None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        total = np.zeros(len(whole))
        kept: dict[str, np.ndarray] = {}
        for scenario in self.scenarios:
            stop = self._early_stop(scenario, total)
            cost, terms = evaluate(scenario, whole, invalid := {}, self.perturbations, stop, device)
            for row, reason in invalid.items():
                failures.setdefault(start + row, reason)
            total += cost
            ahead = f"{scenario.name}." if len(self.scenarios) > 1 else ""
            kept |= {f"{ahead}{name}": value for name, value in {"cost": cost, **terms}.items()}
        return total / len(self.scenarios), kept

    def _early_stop(self, scenario: Scenario, known: np.ndarray) -> EarlyStop | None:
        if not np.isfinite(self.bound):
            return None
        objective, simulation = scenario.objective, scenario.simulation
        if not isinstance(objective, WalkObjective):
            raise GaitError("early_stop is not supported with compat=myoassist; remove one of them")
        anatomy, duration = simulation.walker.anatomy, simulation.settings.duration
        threshold = simulation.controller.load_threshold
        return EarlyStop(
            lambda records: objective.costs(records, anatomy, duration, threshold).total,
            objective.cannot_start,
            self.bound,
            known.copy(),
            len(self.scenarios),
            self.perturbations,
        )


def evaluate(
    scenario: Scenario,
    X: np.ndarray,
    invalid: dict[int, str] | None = None,
    perturbations: Perturbations | None = None,
    early_stop: EarlyStop | None = None,
    device: WarpDevice | None = None,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Costs ``(n,)`` and terms of complete vectors ``X (n, size)`` in one scenario.

    The terms include ``walked`` [m], ``lasted`` [s], ``fell`` and ``stopped`` (0 or 1). Over
    perturbed repeats they are means of the available values. Candidates without a walk that can
    start are added to ``invalid`` with the reason. Walks are simulated by ``device``, None for the
    CPU; their costs are computed by the CPU.
    """
    simulation, objective = scenario.simulation, scenario.objective
    stop = None if early_stop is None else early_stop.stopped
    records = simulation.run(X, perturbations=perturbations, stop=stop, device=device)
    anatomy, settings = simulation.walker.anatomy, simulation.settings
    repeats = len(records.length) // len(X)
    if isinstance(objective, MyoAssistCost):
        terms = objective.terms(records, anatomy)
        cost = objective.scalars(np.repeat(X, repeats, axis=0), records, terms, settings)
    else:
        threshold = simulation.controller.load_threshold
        found = objective.costs(records, anatomy, settings.duration, threshold)
        cost, terms = found.total, found.terms
    cost = np.where(np.isfinite(cost), cost, INVALID)
    stopped = records.ended == End.stopped
    terms = {
        **terms,
        "walked": records.walked,
        "lasted": records.length * records.period,
        "fell": ((records.ended != End.running) & ~stopped).astype(float),
        "stopped": stopped.astype(float),
    }
    if invalid is not None and records.invalid:
        count = np.bincount([row // repeats for row in records.invalid], minlength=len(X))
        for row, reason in records.invalid.items():
            if count[row // repeats] == repeats:
                invalid.setdefault(row // repeats, reason)
    if perturbations is None:
        return cost, terms
    return perturbations.together(cost), {
        name: _known_mean(values.reshape(len(X), repeats)) for name, values in terms.items()
    }


def _known_mean(values: np.ndarray) -> np.ndarray:
    """Means of rows without NaN; NaN where all values are NaN."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
