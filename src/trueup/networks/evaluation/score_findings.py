"""What the scores of a network mean, in words: the verdict of reports and of the terminal."""

import math
from collections.abc import Mapping
from typing import Any


def training_findings(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Severity and sentence of each finding on a training, from the content of ``metrics.json``."""
    folds = metrics.get("folds")
    if folds is None:
        found = score_findings(metrics)
        if metrics.get("scored_on") == "validation":
            found.append(("warning", "No test part was left: the scores are of validation."))
        return found
    found = [
        (severity, f"{name}: {sentence}")
        for name, fold in folds.items()
        for severity, sentence in score_findings(fold)
        if severity in ("serious", "warning")
    ]
    if not found:
        found.append(("good", "On every group held out the network is ahead of a linear model."))
    return found


def score_findings(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the scores mean, in words."""
    found: list[tuple[str, str]] = []
    settled, others = metrics["settled"]["rmse"], metrics["others_settled"]
    mean = others["mean"]["rmse"]
    if settled >= mean:
        found.append(
            ("serious", f"A constant torque is as near: its settled RMSE is {mean:.4g} N m.")
        )
    if "linear" in others:
        ratio = _ratio(settled, others["linear"]["rmse"])
        sentence = f"Settled, the error is {_times(ratio)} that of a linear model."
        if ratio > 1.05:
            sentence += " The linear model is better: train longer, or use linear.safetensors."
        elif ratio > 0.95:
            sentence += " A linear model does as well here: nothing speaks for a network."
        found.append(("good" if ratio <= 0.95 else "warning", sentence))
    if "reference" in others:
        ratio = _ratio(settled, others["reference"]["rmse"])
        sentence = f"Settled, the error is {_times(ratio)} that of the recorded estimate."
        found.append(("good" if ratio < 1 else "warning", sentence))
    start = metrics["rmse"] / settled if settled > 0 else 1.0
    if start > 1.2:
        found.append(
            (
                "info",
                f"The first half second after a cold start makes the error {start:.2f} times that "
                "of the rest: in a simulator, reset at rest.",
            )
        )
    far = [each["name"] for each in metrics["files"] if (each["out_of_range"] or 0.0) > 0.05]
    if far:
        found.append(
            (
                "warning",
                f"More than 5 % of the samples of {', '.join(far)} lie outside the range of "
                "training: the network extrapolates there.",
            )
        )
    return found


def _ratio(error: float, other: float) -> float:
    """Of two errors; infinite where the other is none, and 1 where both are none."""
    if other > 0:
        return error / other
    return math.inf if error > 0 else 1.0


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times" if math.isfinite(ratio) else "not zero, as is"
