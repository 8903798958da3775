"""Errors on recordings held out in turn, from the metrics of a finished training."""

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
"""Estimator in the metrics -> baseline of the verdict."""

_JUDGED = {
    "mean": simple_networks.CONSTANT,
    "linear": simple_networks.LINEAR,
    "base": simple_networks.BASE,
}
"""Estimator in the metrics -> its name in the errors on recordings held out."""


@dataclass(frozen=True)
class HeldOutScores:
    """Errors of the selected network, and of baselines, on recordings held out in turn."""

    taken: str
    """Name of the selected network in `errors`."""
    relative: Mapping[str, float]
    """Error of each network over all recordings, divided by the standard deviation of the
    torque."""
    table: Mapping[str, Any] | None
    """Errors of each recording, see `HeldOutErrors`; None in runs of older versions."""

    @property
    def error(self) -> float:
        """Error of the network in standard deviations of the torque."""
        return self.relative[self.taken]

    @property
    def constant(self) -> float:
        """Error of a constant in standard deviations of the torque."""
        return self.relative[_JUDGED["mean"]]

    @property
    def linear(self) -> float:
        """Error of a linear model in standard deviations of the torque."""
        return self.relative[_JUDGED["linear"]]

    @property
    def worst(self) -> tuple[str, float] | None:
        """Recording with the largest error, and its error in standard deviations of the torque."""
        if self.table is None:
            return None
        pairs = zip(self.table["rmse"][self.taken], self.table["deviations"], strict=True)
        errors = [rmse / deviation for rmse, deviation in pairs]
        number = max(range(len(errors)), key=errors.__getitem__)
        return self.table["recordings"][number], errors[number]

    def comparisons(self) -> list[Comparison]:
        """Settled errors of each recording [N m]; one error over all in runs without a table."""
        known = {BASELINES[key]: n for key, n in _JUDGED.items() if n in self.relative}
        if self.table is None:
            others = {own: self.relative[name] for own, name in known.items()}
            return [
                Comparison("torque of held-out recordings", self.error, others, unit="deviations")
            ]
        settled = self.table["settled"]
        return [
            Comparison(
                channel=f"torque of {name}, held out",
                error=settled[self.taken][number],
                baselines={own: settled[other][number] for own, other in known.items()},
                unit="N m",
            )
            for number, name in enumerate(self.table["recordings"])
        ]


def held_out_scores(metrics: Mapping[str, Any]) -> HeldOutScores | None:
    """Errors on recordings held out in turn; None where a validation part was used."""
    choice = metrics.get("choice") or {}
    if not choice.get("left_out_errors"):
        return None
    return HeldOutScores(choice["taken"], choice["left_out_errors"], choice.get("left_out"))
