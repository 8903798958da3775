"""The verdict on a network, from the content of ``metrics.json``.

Errors are compared settled, without the first half second of each recording: a history that holds
the first sample makes a linear model look bad at a start in full motion, which says nothing of its
use.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.errors import listing
from trueup.fitting import Comparison, Grade, Reason, SearchEnd, Status, Verdict, judge
from trueup.networks.evaluation.left_out_scores import BASELINES, LeftOutScores, left_out_scores
from trueup.networks.model.network import Network

ENOUGH_GAIN = 0.01
"""A training has converged where the last tenth of its epochs betters its score by at most this."""

EXPLAINS = 0.02
"""Share by which a network must be better than a constant; below it nothing is learned."""

_FAR_OUT = 0.05
_LONG_START = 1.2


def training_verdict(metrics: Mapping[str, Any]) -> Verdict:
    """Verdict on a training: of its one split, or of all groups held out together.

    Recordings that were left out in turn are compared one by one, beside the test part: they are
    more than the few of that part, which may be easy ones.
    """
    folds = metrics.get("folds")
    parts = {"": metrics} if folds is None else folds
    ends = [end for fold in parts.values() if (end := _search_end(fold)) is not None]
    left_out = None if folds is not None else left_out_scores(metrics)
    return judge(
        search=min(ends, key=lambda end: end.status.success, default=None),
        comparisons=[
            *([] if left_out is None else left_out.comparisons()),
            *(
                _comparison(fold, f"torque of {name}" if name else "torque")
                for name, fold in parts.items()
            ),
        ],
        look_at=[
            *([] if left_out is None else _left_out_reasons(left_out)),
            *(r for name, fold in parts.items() for r in _reasons(fold, name, left_out is None)),
        ],
    )


def evaluation_verdict(metrics: Mapping[str, Any], held_out: bool | None) -> Verdict:
    """Verdict on a network over recordings.

    Args:
        metrics: content of ``NetworkScores.to_dict``, and ``closed_loop`` where it was driven.
        held_out: whether the network has seen none of the recordings; None where it is not known.
    """
    reasons = _reasons(metrics, "")
    if held_out is None:
        reasons.append(
            Reason(
                Grade.LOOK,
                "The network does not tell what it was trained on: whether it has seen these "
                "recordings is not known.",
                "scores",
            )
        )
    compared = _comparison(metrics, "torque", held_out=held_out is not False)
    return judge(comparisons=[compared], look_at=reasons)


def start_note(metrics: Mapping[str, Any]) -> str:
    """How much worse the first half second after a cold start is; empty where it hardly is."""
    settled = metrics["settled"]["rmse"]
    ratio = metrics["rmse"] / settled if settled > 0 else 1.0
    if ratio <= _LONG_START:
        return ""
    return (
        f"The first half second after a cold start makes the error {ratio:.2f} times that of the "
        "rest: in a simulator, reset at rest."
    )


def choice_words(choice: Mapping[str, Any], network: Network) -> str:
    """Choice of the network, in a sentence: on recordings left out, or on the validation part."""
    errors = choice.get("left_out_errors") or choice["validation_errors"]
    where = (
        "by recordings left out in turn"
        if choice.get("left_out_errors")
        else ("on the validation part")
    )
    others = ", ".join(f"{n} {e:.3g}" for n, e in errors.items() if n != choice["taken"])
    name = choice["taken"]
    if name == "trained":
        skip = " with a linear skip" if network.has_skip else ""
        base = " over the base" if network.base is not None else ""
        name = f"{network.family}{skip}{base}"
    tried = ", ".join(f"{t['name']} {t['error']:.3g}" for t in choice["tried"])
    return (
        f"Chosen {where}: {name}, error {errors[choice['taken']]:.3g} of the "
        f"torque's deviation ({others}). Tried: {tried}."
    )


def deployable_words(metrics: Mapping[str, Any]) -> str:
    """Consequences of features that no simulator supplies, in words."""
    text = (
        f"The network reads {listing(metrics['not_deployable'])}, which no simulator supplies: "
        "exports to simulators are refused."
    )
    without = metrics.get("deployable")
    if without is None:
        return text
    return (
        f"{text} Without, the settled error is {without['rmse']:.4g} N m beside "
        f"{metrics['settled']['rmse']:.4g} N m."
    )


def late_gain(scores: Sequence[float]) -> float | None:
    """Share by which the last tenth of the epochs betters the lowest score; None of too few."""
    before = scores[: len(scores) - max(1, len(scores) // 10)]
    if not before or min(before) <= 0:
        return None
    return max(0.0, 1.0 - min(scores) / min(before))


def _comparison(metrics: Mapping[str, Any], channel: str, held_out: bool = True) -> Comparison:
    others = metrics["others_settled"]
    return Comparison(
        channel=channel,
        error=metrics["settled"]["rmse"],
        baselines={own: others[name]["rmse"] for name, own in BASELINES.items() if name in others},
        held_out=held_out and metrics.get("scored_on", "test") == "test",
        unit="N m",
    )


def _search_end(metrics: Mapping[str, Any]) -> SearchEnd | None:
    """How the training of a split ended; None in runs that do not tell."""
    ended = metrics.get("ended")
    if ended is None:
        return None
    epochs = f"{ended['epochs']} epochs"
    if ended["stopped"] != "max_epochs":
        return SearchEnd(Status.CONVERGED, f"{ended['stopped']}, after {epochs}")
    gain = ended["late_gain"]
    if gain is not None and gain <= ENOUGH_GAIN:
        return SearchEnd(
            Status.CONVERGED,
            f"the last tenth of {epochs} bettered the validation score by {100 * gain:.2g} %",
        )
    message = f"{epochs} are done"
    if gain is not None:
        message += f", and the last tenth bettered the validation score by {100 * gain:.2g} %"
    return SearchEnd(Status.ITERATION_LIMIT, message, converges=False)


def _left_out_reasons(found: LeftOutScores) -> list[Reason]:
    """Reasons from the error over all recordings left out."""
    text = (
        f"Whole recordings left out in turn are predicted with an error of {found.error:.3g} of "
        f"their torque's deviation (R2 {1.0 - found.error**2:.3g})"
    )
    if found.worst is not None:
        text += f", the worst, {found.worst[0]}, with {found.worst[1]:.3g}"
    reasons = [Reason(Grade.USE, f"{text}.", "scores")]
    if found.error > (1.0 - EXPLAINS) * found.constant:
        unit = "of the torque's deviation"
        reasons.append(_explains_nothing("Left out: ", found.error, found.constant, unit))
    return reasons


def _explains_nothing(where: str, error: float, constant: float, unit: str) -> Reason:
    return Reason(
        Grade.DO_NOT_USE,
        f"{where}The network explains nothing: its error {error:.3g} {unit} is that of a constant, "
        f"{constant:.3g} {unit}. Look whether the torque belongs to these inputs, and whether "
        "their clocks agree.",
        "scores",
    )


def _reasons(
    metrics: Mapping[str, Any], name: str, other_recordings_are_unknown: bool = True
) -> list[Reason]:
    where = f"{name}: " if name else ""
    found: list[Reason] = []
    if (
        other_recordings_are_unknown
        and metrics.get("tested_by", metrics.get("split_by")) == "time"
        and metrics.get("scored_on") == "test"
    ):
        found.append(
            Reason(
                Grade.LOOK,
                f"{where}The test part is the end of recordings that were trained on: how the "
                "network does on another recording is not known. data.split_by=file or "
                "evaluation_mode=lomo_cv tells.",
                "scores",
            )
        )
    ended = metrics.get("ended")
    if ended is not None and ended["best_epoch"] < 0:
        found.append(
            Reason(
                Grade.LOOK,
                f"{where}Training did not better its linear start, which is the network.",
                "training",
            )
        )
    nothing = metrics["others_settled"].get("mean")
    if nothing is not None and metrics["settled"]["rmse"] > (1.0 - EXPLAINS) * nothing["rmse"]:
        settled = metrics["settled"]["rmse"]
        found.append(_explains_nothing(where, settled, nothing["rmse"], "N m"))
    measured = metrics.get("not_deployable")
    if measured:
        found.append(Reason(Grade.LOOK, where + deployable_words(metrics), "scores"))
    far = [each["name"] for each in metrics["files"] if (each["out_of_range"] or 0.0) > _FAR_OUT]
    if far:
        found.append(
            Reason(
                Grade.LOOK,
                f"{where}More than 5 % of the samples of {', '.join(far)} lie outside the range of "
                "training: the network extrapolates there.",
                "scores",
            )
        )
    away = [each["name"] for each in metrics.get("closed_loop", ()) if each["diverged"]]
    if away:
        found.append(
            Reason(
                Grade.DO_NOT_USE,
                f"{where}In the loop the joint runs away along {', '.join(away)}.",
                "closed-loop",
            )
        )
    return found
