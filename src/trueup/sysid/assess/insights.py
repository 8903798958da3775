"""Ranked findings of a fit, as sentences."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.fitting import Reason
from trueup.fitting.judgement._whiteness import predictable_share
from trueup.fitting.judgement.paired_errors import block_sums
from trueup.fitting.solution import Solution, Status
from trueup.parameters import Space
from trueup.sysid.assess.assessment import Assessment, SequenceSignals
from trueup.sysid.assess.verdict import WIDE, is_harmless
from trueup.sysid.experiment.initial_unknowns import estimated_starts
from trueup.sysid.fit.cross_validation import CrossValidation
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.soft_friction import joints_with_hard_friction, searches_friction
from trueup.sysid.results.reduced_experiment import reduced_set, sentence_of
from trueup.sysid.torque.problem import TorqueProblem

_GRAVITY = ("problem", "warning", "good")
_POOR_FIT = 30.0  # fit below which a channel is poorly explained [%]
_NOISE_SHARE = 0.5  # predictable share of a residual that is mostly noise
_ABOVE_NOISE = 3.0  # reported ratio of the error to the given noise
_AT_REST = 1.0  # difference in fit within which a constant is as good [%]
_MUCH_WORSE = 1.5  # reported ratio of held-out to training error
_SMALL = 1e-4  # errors below this share of the spread of a channel are ignored
_CHANCE = 0.001  # probability of a larger held-out error of a right model, for all channels


def insights(
    problem: GrayBoxProblem,
    solution: Solution,
    assessment: Assessment,
    crossed: CrossValidation | None,
    doubts: Sequence[Reason] = (),
    remarks: Sequence[str] = (),
    causes: Sequence[Reason] = (),
) -> list[dict[str, Any]]:
    """Findings as ``{"severity": "problem" | "warning" | "good", "sentence", "section"}``.

    ``section`` is the anchor of the related section of the report, or empty. ``doubts`` are also
    reasons of the verdict; ``remarks`` are sentences on torques that do not affect the grade;
    ``causes`` explain other findings, and come first.
    """
    found = [("problem", cause.sentence, cause.section) for cause in causes]
    if not solution.success:
        text = f"The fit did not converge: {solution.message}. {solution.status.advice}"
        found.append(("problem", text, "course"))
        if solution.status in (Status.ITERATION_LIMIT, Status.STALLED):
            models = [v.model for v in getattr(problem, "variants", ())]
            advice = hard_friction_advice(models, searches_friction(problem))
            found += [("warning", sentence, "course") for sentence in advice]
    if assessment.flaw:
        sentence = f"The values are not an optimum: {assessment.flaw}."
        found.append(("problem", sentence, "parameters"))
    found += [("warning", doubt.sentence, doubt.section) for doubt in doubts]
    found += [("warning", s[:1].upper() + s[1:] + ".", "inverse-dynamics") for s in remarks]
    identifiability = assessment.identifiability
    found += [("problem", d.sentence, "identifiability") for d in identifiability.directions]
    found += [
        (
            "problem",
            f"{name} has no effect on the recorded signals: freeze it, or record "
            f"a motion or signal that depends on it.",
            "identifiability",
        )
        for name in identifiability.no_effect
    ]
    reduced = reduced_set(identifiability, problem.parameters)
    if reduced is not None and solution.success:
        said = sentence_of(reduced, problem.space.size)
        found += [("warning", f"{said}.", "identifiability")] if said else []
    found += [(*f, "parameters") for f in _bounds(problem, solution, assessment)]
    found += [(*f, "scores") for f in _unexplained(problem, assessment)]
    if assessment.stability is not None:
        found += [("problem", s, "parameters") for s in assessment.stability.sentences]
    found += [(*f, "scores") for f in _overfit(assessment)]
    found += [("warning", remark, "") for remark in assessment.remarks]
    if crossed is not None:
        found += [(*f, "cross-validation") for f in _folds(problem, assessment, crossed)]
    doubtful = any(
        section in ("identifiability", "parameters") and severity != "good"
        for severity, _, section in found
    )
    if solution.success and not doubtful:
        found.append(("good", _determined(problem, assessment), "identifiability"))
    return [
        {"severity": severity, "sentence": sentence, "section": section}
        for severity, sentence, section in sorted(found, key=lambda f: _GRAVITY.index(f[0]))
    ]


def _determined(problem: GrayBoxProblem, assessment: Assessment) -> str:
    """Sentence on a fit without a doubtful value; it names those whose precision is of no use."""
    widths = assessment.relative_widths
    if widths is None:
        return "Every parameter is determined by the data."
    wide = [
        name
        for name, width, hit in zip(problem.space.names, widths, assessment.at_bound, strict=True)
        if "#" not in name and not hit and not width <= WIDE
    ]
    if not wide:
        return "Every parameter is determined by the data."
    return (
        f"Every parameter is determined by the data, except {listing(wide, 4)}, with too small an "
        "effect on the recorded motion to be determined, or to matter for such motions."
    )


def hard_friction_advice(models: Sequence[mujoco.MjModel], searched: bool = False) -> list[str]:
    """Advice for a search slowed down by hard joint friction; empty without any.

    Args:
      models: models of the fit.
      searched: whether friction is a parameter, so that joints without it count too.
    """
    names = joints_with_hard_friction(models, searched)
    if not names:
        return []
    return [
        f"The friction of {listing(names)} is hard, which makes the cost rough where a joint comes "
        "to rest: shorten the windows (window: 0.1), or use MuJoCo's default friction (without "
        "model.friction) and accept its creep."
    ]


def _unexplained(problem: GrayBoxProblem, assessment: Assessment) -> list[tuple[str, str]]:
    """Channels with a poor fit, and errors far above the given noise."""
    out = []
    row = assessment.scores.row("training", "identified")
    still = still_components(assessment)
    # the best model leaves the noise of a small motion unexplained
    noisy = channels_of_noise(assessment) | still
    poor = [c for c in row.channels if c.fit_percent < _POOR_FIT and c.channel not in noisy]
    if poor:
        shown = ", ".join(f"{c.channel} {c.fit_percent:.3g} %" for c in poor[:4])
        out.append(
            (
                "problem",
                f"The identified model has a poor fit to its training data ({shown}): "
                f"something essential is missing or wrong in the model, the columns or the units. "
                f"The values are not reliable.",
            )
        )
    # the noise of a fit to torques is estimated by plain least squares, not given
    given = None if isinstance(problem, TorqueProblem) else getattr(problem, "settings", None)
    noise = getattr(given, "noise", None) or {}
    for c in row.channels:
        level = noise.get(_signal(c.channel))
        if level and c.rmse > _ABOVE_NOISE * level:
            out.append(
                (
                    "warning",
                    f"{c.channel}: the error of the identified model is {c.rmse / level:.3g} times "
                    f"the given noise: the model error exceeds the noise, or the "
                    f"noise is larger.",
                )
            )
    return out


def channels_of_noise(assessment: Assessment) -> set[str]:
    """Channels whose residual is mostly white noise in every recording of the fit."""
    smooth = {
        channel
        for s in assessment.signals
        if not s.held_out
        for c, channel in enumerate(s.channels)
        if predictable_share(s.measured[:, c] - s.fitted[:, c]) > _NOISE_SHARE
    }
    return {c for s in assessment.signals for c in s.channels} - smooth


def still_components(assessment: Assessment) -> set[str]:
    """Components at rest in the model and the data, while others of the signal move.

    For example, the height of a body that moves in a plane is only noise, which no model explains.
    """
    channels = assessment.scores.row("training", "identified").channels
    moving = {_signal(c.channel) for c in channels if c.fit_percent >= _POOR_FIT}
    out = set()
    for c in channels:
        series = [
            s.fitted[:, s.channels.index(c.channel)]
            for s in assessment.signals
            if not s.held_out and c.channel in s.channels
        ]
        predicted = max(float(np.std(values)) for values in series)
        rests = predicted < 0.1 * c.rmse and abs(c.fit_percent) < _AT_REST
        if "[" in c.channel and rests and _signal(c.channel) in moving:
            out.add(c.channel)
    return out


def _signal(channel: str) -> str:
    """Signal that a channel such as ``gyro[1]`` belongs to."""
    return channel.partition("[")[0]


def _bounds(
    problem: GrayBoxProblem, solution: Solution, assessment: Assessment
) -> list[tuple[str, str]]:
    space = problem.space
    starts = estimated_starts(problem.parameters)
    out = []
    for i in np.flatnonzero(assessment.at_bound):
        side = (
            "lower" if solution.x[i] - space.lower[i] < space.upper[i] - solution.x[i] else "upper"
        )
        if space.names[i] in starts:
            out.append(
                (
                    "warning",
                    f"{space.names[i]}, an estimated initial state, ended on its {side} bound "
                    f"{solution.x[i]:.6g}: the recording hardly determines it, or the model does "
                    f"not fit the first samples. Trim the start, or give the initial state.",
                )
            )
            continue
        if _is_absent(assessment, space, solution.x, int(i)):
            out.append(
                (
                    "good",
                    f"{space.names[i]} is zero within the noise: at most "
                    f"{assessment.intervals[i, 1]:.3g}.",
                )
            )
            continue
        out.append(
            (
                "problem",
                f"{space.names[i]} ended on its {side} bound {solution.x[i]:.6g}: its interval is "
                f"one-sided, and the others are estimated as if it were known. Widen the bound, or "
                f"look for a missing term of the model.",
            )
        )
    return out


def _is_absent(assessment: Assessment, space: Space, x: np.ndarray, i: int) -> bool:
    """Whether a value at a lower limit of zero is what the data show."""
    at_zero = space.lower[i] == 0.0 and x[i] <= 1e-6 * space.upper[i]
    widths = assessment.relative_widths
    narrow = widths is not None and bool(widths[i] <= WIDE)
    is_noise = assessment.is_noise is not None and bool(assessment.is_noise[i])
    return bool(at_zero and is_noise and (narrow or is_harmless(assessment, i)))


def _overfit(assessment: Assessment) -> list[tuple[str, str]]:
    """Channels with a larger error on held-out data than on those of the fit, by more than chance.

    Errors of both parts are compared by mean squares over blocks, whose logarithms are nearly
    normal (Welch 1947).
    """
    seen, unseen = (_block_means(assessment.signals, part) for part in (False, True))
    if not unseen:
        return []
    names = [c for c in seen if c in unseen]
    out = []
    for channel in names:
        (known, spread), (held, _) = seen[channel], unseen[channel]
        error, other = (float(np.sqrt(np.mean(part))) for part in (held, known))
        if error < _MUCH_WORSE * other or error < _SMALL * spread:
            continue
        if _is_larger(np.log(held + 1e-300), np.log(known + 1e-300), _CHANCE / len(names)):
            out.append(
                (
                    "warning",
                    f"{channel}: the error is {error:.3g} on the held-out data and {other:.3g} on "
                    "the training data: the fit does not hold for other motions.",
                )
            )
    return out


def _block_means(
    signals: Sequence[SequenceSignals], held_out: bool
) -> dict[str, tuple[np.ndarray, float]]:
    """Mean squared errors of each channel over blocks of its recordings, and its spread."""
    errors: dict[str, list[np.ndarray]] = {}
    values: dict[str, list[np.ndarray]] = {}
    for s in signals:
        if s.held_out == held_out:
            for c, channel in enumerate(s.channels):
                errors.setdefault(channel, []).append(s.measured[:, c] - s.fitted[:, c])
                values.setdefault(channel, []).append(s.measured[:, c])
    out = {}
    for channel, parts in errors.items():
        off = np.square(np.concatenate(parts))
        sums, counts = block_sums(off), block_sums(np.ones(len(off)))
        out[channel] = sums / counts, float(np.std(np.concatenate(values[channel])))
    return out


def _is_larger(first: np.ndarray, second: np.ndarray, chance: float) -> bool:
    from scipy.stats import ttest_ind

    if min(len(first), len(second)) < 2 or not (np.ptp(first) or np.ptp(second)):
        return False
    test = ttest_ind(first, second, equal_var=False, alternative="greater")
    return bool(np.asarray(test.pvalue) < chance)  # type: ignore[attr-defined]


def _folds(
    problem: GrayBoxProblem, assessment: Assessment, crossed: CrossValidation
) -> list[tuple[str, str]]:
    out = []
    spread = np.ptp(crossed.values, axis=0)
    width = 2 * assessment.intervals[:, 1] - 2 * assessment.intervals[:, 0]
    for i in np.flatnonzero(np.isfinite(width) & (spread > width)):
        out.append(
            (
                "warning",
                f"{problem.space.names[i]} varies by {spread[i]:.3g} between the folds, more than "
                f"its interval: one recording differs from the others.",
            )
        )
    return out
