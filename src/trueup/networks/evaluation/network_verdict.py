"""The verdict on a network, from the content of ``metrics.json``.

Settled errors are compared, without the first half second of each recording: there the history
contains only the first sample, which penalises a linear model at a start in motion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import listing
from trueup.fitting import Comparison, Grade, Reason, SearchEnd, Status, Verdict, judge
from trueup.fitting.judgement.baselines import CONSTANT, LINEAR
from trueup.fitting.judgement.paired_errors import is_clearly_worse
from trueup.networks.evaluation.cross_validation import (
    SIMPLE,
    HeldOutScores,
    UnseenRecording,
    graded_estimates,
    held_out_scores,
    tested_recordings,
)
from trueup.networks.evaluation.unseen_recordings import EXPLAINS, gain_over, judged_recordings
from trueup.networks.model.network import Network
from trueup.networks.training.schedule import TIME_LIMIT

ENDED_BY_LIMIT = ("max_epochs", TIME_LIMIT)

ENOUGH_GAIN = 0.01
"""Largest relative improvement in the last tenth of the epochs of a converged training."""

_FAR_OUT = 0.05
_LONG_START = 1.2


def training_verdict(metrics: Mapping[str, Any]) -> Verdict:
    """Verdict on a training: of its single split, or of all held-out groups together.

    Recordings held out in turn decide, in addition to the test part, which has fewer recordings
    and may be easier. Recordings that contradict the others are named first.
    """
    folds = metrics.get("folds")
    parts = {"": metrics} if folds is None else folds
    ends = [end for fold in parts.values() if (end := _search_end(fold)) is not None]
    held_out = None if folds is not None else held_out_scores(metrics)
    recordings = [] if held_out is None else held_out.recordings()
    unseen = recordings or [one for fold in parts.values() for one in tested_recordings(fold)]
    compared, simple = [], []
    if held_out is not None:
        compared.append(held_out.whole())
    compared += [
        _comparison(fold, f"torque of {name}" if name else "torque") for name, fold in parts.items()
    ]
    if gain := _gain_reason(unseen, compared[0]):
        simple.append(gain)
    judged = judge(
        search=min(ends, key=lambda end: end.status.success, default=None),
        comparisons=compared,
        look_at=[
            *([] if held_out is None else _held_out_reasons(held_out)),
            *judged_recordings(unseen, CONSTANT),
            *simple,
            *(r for name, fold in parts.items() for r in _reasons(fold, name, held_out is None)),
        ],
    )
    shown = [*(each.comparison for each in recordings), *judged.comparisons]
    return _causes_first(replace(judged, comparisons=tuple(shown)), parts)


def evaluation_verdict(metrics: Mapping[str, Any], held_out: bool | None) -> Verdict:
    """Verdict on a network over recordings.

    Args:
        metrics: content of ``NetworkScores.to_dict``, and ``closed_loop`` where it was driven.
        held_out: whether none of the recordings was used in training; None where this is unknown.
    """
    reasons = [*judged_recordings(tested_recordings(metrics), CONSTANT), *_reasons(metrics, "")]
    if held_out is None:
        reasons.append(
            Reason(
                Grade.LOOK,
                "The provenance of the network does not name its training data: whether these "
                "recordings were used in training is unknown.",
                "scores",
            )
        )
    compared = _comparison(metrics, "torque", held_out=held_out is not False)
    return _causes_first(judge(comparisons=[compared], look_at=reasons), {"": metrics})


def start_note(metrics: Mapping[str, Any]) -> str:
    """Note on the error of the first half second after a cold start; empty where it is small."""
    settled = metrics["settled"]["rmse"]
    ratio = metrics["rmse"] / settled if settled > 0 else 1.0
    if ratio <= _LONG_START:
        return ""
    return (
        f"With the first half second after a cold start the error is {ratio:.2f} times the settled "
        "one: in a simulator, reset at rest."
    )


def choice_words(choice: Mapping[str, Any], network: Network) -> str:
    """Summary of the choice of the network: on recordings held out, or on the validation part."""
    errors = choice.get("left_out_errors") or choice["validation_errors"]
    where = (
        "on recordings held out in turn"
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
    tried = f"Tried: {tried}" if tried else "The time was too short to try several networks"
    return (
        f"Chosen {where}: {name}, error {errors[choice['taken']]:.3g} of the "
        f"torque's deviation ({others}). {tried}."
    )


def deployable_words(metrics: Mapping[str, Any]) -> str:
    """Note on features that no simulator supplies."""
    text = (
        f"The network requires {listing(metrics['not_deployable'])}, which no simulator supplies: "
        "it cannot be exported to a simulator."
    )
    without = metrics.get("deployable")
    if without is None:
        return text
    return (
        f"{text} Without it, the settled error is {without['rmse']:.4g} N m compared with "
        f"{metrics['settled']['rmse']:.4g} N m."
    )


def late_gain(scores: Sequence[float]) -> float | None:
    """Relative improvement of the score in the last tenth of the epochs; None for too few."""
    before = scores[: len(scores) - max(1, len(scores) // 10)]
    if not before or min(before) <= 0:
        return None
    return max(0.0, 1.0 - min(scores) / min(before))


def _beats_all(file: Mapping[str, Any], metrics: Mapping[str, Any]) -> bool:
    """Whether a network is better than every baseline on a recording, by more than chance."""
    own = np.asarray(file["settled"].get("pieces", ()), float)
    graded = graded_estimates(metrics)
    others = [
        np.asarray(scores.get("pieces", ()), float)
        for name, scores in file.get("others_settled", {}).items()
        if name in graded
    ]
    same = bool(others) and all(len(own) and len(each) == len(own) for each in others)
    return same and all(is_clearly_worse(each, own) for each in others)


def _gain_reason(unseen: Sequence[UnseenRecording], compared: Comparison) -> Reason | None:
    """Gain over the best linear model on unseen recordings; a gain that chance gives is named."""
    linear = [name for name in compared.baselines if name.startswith(LINEAR)]
    if not linear or not unseen:
        return None
    known = [name for name in linear if all(name in each.baselines for each in unseen)]
    best = min(known, key=compared.baselines.__getitem__, default=None)
    found = None if best is None else gain_over(unseen, best)
    if best is None or found is None or compared.ratio(best) >= 1.0:
        return None  # the comparison says that it is not better
    gain, is_certain = found
    size = f"{100.0 * gain:.2g} % better than {best}"
    over = f"{len(unseen)} recording{'s' * (len(unseen) > 1)}"
    if is_certain:
        return Reason(Grade.USE, f"The network is {size} over {over} held out.", "scores")
    return Reason(
        Grade.LOOK,
        f"{best[0].upper()}{best[1:]} is enough: over {over} held out the network is {size}, which "
        "chance gives too. Use  trueup network export RUN/linear.safetensors, or record more.",
        "scores",
    )


def _causes_first(verdict: Verdict, parts: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """The verdict, led by recordings that contradict the others, and by a time that was over.

    Args:
        verdict: reasons from the scores.
        parts: metrics by name of the fold.
    """
    found = {
        one["sentence"]: bool(one["certain"])
        for metrics in parts.values()
        for one in metrics.get("contradictions") or ()
        if one.get("graded", True)
    }
    leading = [
        Reason(Grade.DO_NOT_USE if certain else Grade.LOOK, sentence, "recordings")
        for sentence, certain in found.items()
    ]
    leading += [_no_epoch(name, each) for name, each in parts.items() if _has_no_epoch(each)]
    reasons = sorted((*leading, *verdict.reasons), key=lambda reason: -reason.grade.severity)
    return replace(verdict, reasons=tuple(reasons))


def _comparison(metrics: Mapping[str, Any], channel: str, held_out: bool = True) -> Comparison:
    others = metrics["others_settled"]
    graded = graded_estimates(metrics)
    return Comparison(
        channel=channel,
        error=metrics["settled"]["rmse"],
        baselines={own: others[name]["rmse"] for name, own in graded.items() if name in others},
        held_out=held_out and metrics.get("scored_on", "test") == "test",
        unit="N m",
    )


def _search_end(metrics: Mapping[str, Any]) -> SearchEnd | None:
    """End of the training of a split; None in runs without this entry."""
    ended = metrics.get("ended")
    if ended is None:
        return None
    epochs = f"{ended['epochs']} epochs"
    if ended["stopped"] not in ENDED_BY_LIMIT:
        return SearchEnd(Status.CONVERGED, f"{ended['stopped']} after {epochs}")
    gain = ended["late_gain"]
    if gain is not None and gain <= ENOUGH_GAIN:
        return SearchEnd(
            Status.CONVERGED,
            f"the last tenth of {epochs} improved the validation score by {100 * gain:.2g} %",
        )
    message = f"completed {epochs}"
    if gain is not None:
        message += f"; the last tenth improved the validation score by {100 * gain:.2g} %"
    return SearchEnd(Status.ITERATION_LIMIT, message, converges=False)


def _held_out_reasons(found: HeldOutScores) -> list[Reason]:
    """Reasons from the error over all held-out recordings."""
    text = (
        f"On recordings held out in turn the error is {found.error:.3g} of the standard deviation "
        f"of the torque (R2 {1.0 - found.error**2:.3g})"
    )
    if found.worst is not None:
        text += f"; largest: {found.worst[1]:.3g} ({found.worst[0]})"
    reasons = [Reason(Grade.USE, f"{text}.", "scores")]
    if found.error > (1.0 - EXPLAINS) * found.constant:
        unit = "of the torque's standard deviation"
        reasons.append(_explains_nothing("Held out: ", found.error, found.constant, unit))
    return reasons


def _explains_nothing(where: str, error: float, constant: float, unit: str) -> Reason:
    return Reason(
        Grade.DO_NOT_USE,
        f"{where}The network is not better than a constant: error {error:.3g} {unit}, constant "
        f"{constant:.3g} {unit}. Check that torque and inputs belong together, and that "
        "their clocks agree.",
        "scores",
    )


def _has_no_epoch(metrics: Mapping[str, Any]) -> bool:
    """Whether the time was over before the first epoch; runs of older versions completed one."""
    return metrics.get("completed_epochs") == 0


def _no_epoch(name: str, metrics: Mapping[str, Any]) -> Reason:
    taken, ended = (metrics.get("choice") or {}).get("taken"), metrics.get("ended")
    what = "the network is that of a part of an epoch"
    if taken in SIMPLE:
        what = f"the result is {SIMPLE[taken]}"
    elif ended is not None and ended["best_epoch"] < 0:
        what = "the result is the linear model that it started from"
    return Reason(
        Grade.DO_NOT_USE,
        f"{f'{name}: ' if name else ''}The time was over before the first epoch of the training "
        f"was complete: {what}. Give a longer train.time.",
        "training",
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
                f"{where}The test part is the end of recordings used in training: the error on "
                "other recordings is unknown. Test on whole recordings with data.split_by=file or "
                "evaluation_mode=lomo_cv.",
                "scores",
            )
        )
    ended = metrics.get("ended")
    has_no_epoch = _has_no_epoch(metrics)
    if ended is not None and ended["best_epoch"] < 0 and not has_no_epoch:
        found.append(
            Reason(
                Grade.LOOK,
                f"{where}Training did not improve on its initial linear model, which is kept.",
                "training",
            )
        )
    taken = (metrics.get("choice") or {}).get("taken")
    if taken in SIMPLE and not has_no_epoch:
        what = SIMPLE[taken]
        sentence = (
            f"{where}{what[0].upper()}{what[1:]} was taken: no network is better by more than 1 % "
            "on what the choice was made by."
        )
        found.append(Reason(Grade.USE, sentence, "scores"))
    reference = metrics["others_settled"].get("reference")
    if reference is not None and not metrics.get("not_deployable"):
        found.append(
            Reason(
                Grade.USE,
                f"{where}The controller's estimate, which uses what no simulator has, errs by "
                f"{reference['rmse']:.3g} N m, the network by {metrics['settled']['rmse']:.3g}.",
                "scores",
            )
        )
    nothing = metrics["others_settled"].get("mean")
    if nothing is not None and metrics["settled"]["rmse"] > (1.0 - EXPLAINS) * nothing["rmse"]:
        settled = metrics["settled"]["rmse"]
        found.append(_explains_nothing(where, settled, nothing["rmse"], "N m"))
    measured = metrics.get("not_deployable")
    if measured:
        found.append(Reason(Grade.LOOK, where + deployable_words(metrics), "scores"))
    far = [each for each in metrics["files"] if (each["out_of_range"] or 0.0) > _FAR_OUT]
    tested = [each["name"] for each in far if _beats_all(each, metrics)]
    if tested:
        found.append(
            Reason(
                Grade.USE,
                f"{where}More than 5 % of {', '.join(tested)} lies outside the range of "
                "training, and the network is better than every baseline there.",
                "scores",
            )
        )
    names = [each["name"] for each in far if each["name"] not in tested]
    if names:
        found.append(
            Reason(
                Grade.LOOK,
                f"{where}More than 5 % of {', '.join(names)} lies outside the range of "
                "training: the network extrapolates there.",
                "scores",
            )
        )
    away = [each["name"] for each in metrics.get("closed_loop", ()) if each["diverged"]]
    if away:
        found.append(
            Reason(
                Grade.DO_NOT_USE,
                f"{where}In closed loop the joint diverges on {', '.join(away)}.",
                "closed-loop",
            )
        )
    return found
