"""Errors on recordings that the network has not seen: held out in turn, or those of the test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.fitting import Comparison
from trueup.fitting.judgement.baselines import BASE_ALONE, CONSTANT, CONTROLLER, LINEAR
from trueup.networks.training import simple_networks as simple

LIMITED = f"{LINEAR} within a torque limit"

BASELINES = {
    "mean": CONSTANT,
    "linear": LINEAR,
    "base": BASE_ALONE,
    "reference": CONTROLLER,
}
"""Estimator in the metrics -> baseline of the verdict."""

_OVER = " over the base"
SIMPLE = {
    simple.CONSTANT: CONSTANT,
    simple.BASE: BASE_ALONE,
    simple.LINEAR: LINEAR,
    simple.LIMITED: LIMITED,
    simple.LINEAR + _OVER: LINEAR + _OVER,
    simple.LIMITED + _OVER: LIMITED + _OVER,
}
"""Simple network in the errors on recordings held out -> baseline, the simplest first."""


@dataclass(frozen=True)
class UnseenRecording:
    """Settled errors on one recording that was not trained on.

    Attributes:
      name: name of the recording.
      deviation: standard deviation of its torque [N m].
      error: RMSE of the network [N m].
      baselines: RMSE of simpler networks, by name [N m].
      pieces: sums of squared errors over pieces of the recording, of the network.
      baseline_pieces: the same of the simpler networks; empty in older runs.
    """

    name: str
    deviation: float
    error: float
    baselines: Mapping[str, float]
    pieces: Sequence[float] = ()
    baseline_pieces: Mapping[str, Sequence[float]] | None = None

    @property
    def comparison(self) -> Comparison:
        """The errors as a comparison of the verdict."""
        channel = f"torque of {self.name}, held out"
        return Comparison(channel, self.error, dict(self.baselines), unit="N m")

    def pair(self, baseline: str) -> tuple[np.ndarray, np.ndarray]:
        """Sums of squares of the network and of a baseline, each over the same pieces."""
        known = self.baseline_pieces or {}
        return np.asarray(self.pieces, float), np.asarray(known.get(baseline, ()), float)


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
        return self.relative[simple.CONSTANT]

    @property
    def linear(self) -> float:
        """Error of a linear model in standard deviations of the torque."""
        return self.relative[simple.LINEAR]

    @property
    def simpler(self) -> dict[str, str]:
        """Networks that are simpler than the selected one -> their names as baselines."""
        known = {name: own for name, own in SIMPLE.items() if name in self.relative}
        if self.taken not in known:
            return known
        names = list(known)
        return {name: known[name] for name in names[: names.index(self.taken)]}

    @property
    def worst(self) -> tuple[str, float] | None:
        """Recording with the largest error, and its error in standard deviations of the torque."""
        if self.table is None:
            return None
        pairs = zip(self.table["rmse"][self.taken], self.table["deviations"], strict=True)
        errors = [rmse / deviation for rmse, deviation in pairs]
        number = max(range(len(errors)), key=errors.__getitem__)
        return self.table["recordings"][number], errors[number]

    def whole(self) -> Comparison:
        """Error over all recordings, each in standard deviations of its torque."""
        baselines = {own: self.relative[name] for name, own in self.simpler.items()}
        unit = "of the torque's standard deviation"
        return Comparison("torque of recordings held out", self.error, baselines, unit=unit)

    def recordings(self) -> list[UnseenRecording]:
        """Errors of each recording; empty in runs without a table."""
        if self.table is None:
            return []
        settled, pieces = self.table["settled"], self.table.get("pieces") or {}
        return [
            UnseenRecording(
                name,
                self.table["deviations"][number],
                settled[self.taken][number],
                {own: settled[other][number] for other, own in self.simpler.items()},
                pieces[self.taken][number] if pieces else (),
                {own: pieces[other][number] for other, own in self.simpler.items()}
                if pieces
                else None,
            )
            for number, name in enumerate(self.table["recordings"])
        ]


def held_out_scores(metrics: Mapping[str, Any]) -> HeldOutScores | None:
    """Errors on recordings held out in turn; None where a validation part was used."""
    choice = metrics.get("choice") or {}
    if not choice.get("left_out_errors"):
        return None
    return HeldOutScores(choice["taken"], choice["left_out_errors"], choice.get("left_out"))


def tested_recordings(metrics: Mapping[str, Any]) -> list[UnseenRecording]:
    """Errors on each recording of a test part of whole recordings; empty for other parts."""
    by = metrics.get("tested_by", metrics.get("split_by"))
    if metrics.get("scored_on", "test") != "test" or by == "time":
        return []
    graded = graded_estimates(metrics)
    return [
        UnseenRecording(
            each["name"],
            _deviation(each["settled"]),
            each["settled"]["rmse"],
            {graded[n]: s["rmse"] for n, s in each["others_settled"].items() if n in graded},
            each["settled"].get("pieces", ()),
            {graded[n]: s.get("pieces", ()) for n, s in each["others_settled"].items()
             if n in graded},
        )
        for each in metrics["files"]
        if "others_settled" in each
    ]  # fmt: skip


def graded_estimates(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Estimators in the metrics that grade -> baseline.

    A linear network is not compared with itself. The controller's estimate requires what it
    measures: it grades only a network that requires measurements too.
    """
    taken = (metrics.get("choice") or {}).get("taken")
    graded = dict(BASELINES)
    if metrics.get("linear_limit") is not None:
        graded["linear"] = LIMITED
    if taken in (simple.CONSTANT, simple.BASE, simple.LINEAR, simple.LINEAR + _OVER):
        graded.pop("linear")
    if taken in (simple.CONSTANT, simple.BASE):
        graded.pop("base")
    if not metrics.get("not_deployable"):
        graded.pop("reference")
    return graded


def _deviation(scores: Mapping[str, Any]) -> float:
    """Standard deviation of the torque from the scores of a prediction [N m]; NaN if constant."""
    r2 = scores["r2"]
    if r2 is None or not np.isfinite(r2) or r2 >= 1.0:
        return float("nan")
    return float(scores["rmse"] / np.sqrt(1.0 - r2))
