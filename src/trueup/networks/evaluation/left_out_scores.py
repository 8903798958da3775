"""Errors on whole recordings that were left out in turn, as a finished training keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trueup.fitting import Comparison
from trueup.fitting.judgement.baselines import BASE_ALONE, CONSTANT, CONTROLLER, LINEAR
from trueup.networks.training import simple_networks

BASELINES = {
    "mean": CONSTANT,
    "linear": LINEAR,
    "base": BASE_ALONE,
    "reference": CONTROLLER,
}
"""Estimate in the metrics -> baseline of the verdict."""

_JUDGED = {
    "mean": simple_networks.CONSTANT,
    "linear": simple_networks.LINEAR,
    "base": simple_networks.BASE,
}
"""Estimate in the metrics -> its name among the networks judged on recordings left out."""


@dataclass(frozen=True)
class LeftOutScores:
    """Errors of the network that was taken, and of baselines, on recordings left out in turn."""

    taken: str
    """Name of the network among those judged."""
    relative: Mapping[str, float]
    """Error of each network in deviations of the torque, over all recordings."""
    table: Mapping[str, Any] | None
    """Errors of each recording, as `LeftOutErrors` has them; None in runs of an older trueup."""

    @property
    def error(self) -> float:
        """Error of the network in deviations of the torque."""
        return self.relative[self.taken]

    @property
    def constant(self) -> float:
        """Error of a constant."""
        return self.relative[_JUDGED["mean"]]

    @property
    def linear(self) -> float:
        """Error of a linear model."""
        return self.relative[_JUDGED["linear"]]

    @property
    def worst(self) -> tuple[str, float] | None:
        """The recording with the largest error, and that error in deviations of its torque."""
        if self.table is None:
            return None
        pairs = zip(self.table["rmse"][self.taken], self.table["deviations"], strict=True)
        errors = [rmse / deviation for rmse, deviation in pairs]
        number = max(range(len(errors)), key=errors.__getitem__)
        return self.table["recordings"][number], errors[number]

    def comparisons(self) -> list[Comparison]:
        """Settled errors of each recording [N m]; those of all in one where no table is kept."""
        known = {BASELINES[key]: n for key, n in _JUDGED.items() if n in self.relative}
        if self.table is None:
            others = {own: self.relative[name] for own, name in known.items()}
            return [
                Comparison("torque of recordings left out", self.error, others, unit="deviations")
            ]
        settled = self.table["settled"]
        return [
            Comparison(
                channel=f"torque of {name}, left out",
                error=settled[self.taken][number],
                baselines={own: settled[other][number] for own, other in known.items()},
                unit="N m",
            )
            for number, name in enumerate(self.table["recordings"])
        ]


def left_out_scores(metrics: Mapping[str, Any]) -> LeftOutScores | None:
    """Errors on recordings left out in turn; None where the choice was made in another way."""
    choice = metrics.get("choice") or {}
    if not choice.get("left_out_errors"):
        return None
    return LeftOutScores(choice["taken"], choice["left_out_errors"], choice.get("left_out"))
