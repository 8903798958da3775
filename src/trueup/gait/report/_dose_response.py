"""Dose-response of an exoskeleton: cost of the same walk over its largest torque."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import GaitError
from trueup.gait.controller.exoskeleton import Knots, Profile
from trueup.gait.controller.parameter_vector import Entry
from trueup.gait.search.problem import Scenario, evaluate
from trueup.gait.walk.simulation import WalkSimulation


@dataclass(frozen=True)
class DoseResponse:
    """Walks of one vector with several largest torques of the exoskeleton.

    Attributes:
      max_torque: largest torques ``(n,)`` [N m], increasing.
      cost: cost of each walk ``(n,)``.
      terms: name -> ``(n,)``, with ``walked`` [m], ``lasted`` [s] and ``fell``.
    """

    max_torque: np.ndarray
    cost: np.ndarray
    terms: dict[str, np.ndarray]


@dataclass(frozen=True)
class _DosedProfile:
    """A profile with torques scaled by ``parts``, one for each of the first candidates of a
    batch."""

    profile: Profile
    parts: tuple[float, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.profile.entries

    def knots(self, values: np.ndarray, max_torque: float) -> Knots:
        knots = self.profile.knots(values, max_torque)
        parts = np.array(self.parts[: len(values)])
        return Knots(knots.percent, knots.torque * parts[:, None], knots.invalid)


def dose_response(
    scenario: Scenario, vector: np.ndarray, max_torques: Sequence[float]
) -> DoseResponse:
    """Simulate a vector with several largest torques of the exoskeleton, in one batch.

    The gains are those of the search with one torque: the walker does not adapt to the device.

    Args:
      scenario: simulation and objective.
      vector: complete vector ``(size,)``.
      max_torques: largest torques [N m]; 0 is a device worn but off.

    Raises:
      GaitError: there is no exoskeleton, or a torque is below 0 or not finite.
    """
    simulation = scenario.simulation
    if simulation.profile is None:
        raise GaitError("a dose-response requires a walk with an exoskeleton: switch it on")
    doses = np.unique(np.asarray(max_torques, dtype=float))
    if not len(doses) or not np.isfinite(doses).all() or doses[0] < 0.0:
        raise GaitError(
            f"the largest torques are {[float(d) for d in doses]} N m; at least one is required, "
            "none negative"
        )
    largest = float(doses[-1])
    parts = tuple(doses / largest) if largest > 0.0 else tuple(np.zeros(len(doses)))
    dosed = WalkSimulation(
        simulation.walker,
        simulation.with_settings(max_torque=largest).settings,
        simulation.controller,
        _DosedProfile(simulation.profile, parts),
    )
    same = Scenario(dosed, scenario.objective, scenario.name)
    cost, terms = evaluate(same, np.tile(np.asarray(vector, dtype=float), (len(doses), 1)))
    return DoseResponse(doses, cost, terms)
