"""Verdict on an identification: baselines on held-out recordings, and parameter status."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from trueup.fitting import Comparison, Estimates, Grade, Reason, SearchEnd, Solution, Verdict, judge
from trueup.fitting.judgement import baselines
from trueup.fitting.judgement.rules import EQUAL
from trueup.fitting.uncertainty import contradiction_ratio
from trueup.parameters import Space
from trueup.sysid.assess.assessment import Assessment, SequenceSignals
from trueup.sysid.assess.held_motion import velocities

_CONFIRMED = (
    "The model before the fit is as good on the data of the fit, and its values are within the "
    "intervals: the recordings confirm it."
)
_ROUNDING = 1e-9

WIDE = 0.5
"""Half-width of an interval, relative to the size of the value, above which it says little."""


def verdict_of(
    space: Space,
    solution: Solution,
    assessment: Assessment,
    unseen: Sequence[SequenceSignals] = (),
    how: str = "",
    still: Sequence[str] = (),
    starts: Collection[str] = (),
    doubts: Sequence[Reason] = (),
    limit_evidence: Mapping[str, str] | None = None,
    causes: Sequence[Reason] = (),
    little: Sequence[Reason] = (),
) -> Verdict:
    """Return the verdict on an identification by the rules of :func:`trueup.fitting.judge`.

    Its baselines are a constant, the last state and the last velocity held (over each window, if
    there are windows) and the model before the fit.

    Args:
        space: the unknowns.
        solution: the fit.
        assessment: its assessment.
        unseen: held-out signals predicted by further fits: those of a cross-validation, or of a
            fit without the ends of the recordings.
        how: meaning of such an error, or the reason for none.
        still: channels at rest, with noise only, which are excluded.
        starts: parameters that are estimated initial states of recordings. Their bounds are
            guesses from the motion, so reaching one does not affect the robot's parameters.
        limit_evidence: result of other fits for parameters that ended at zero, a clause for each.
        doubts: further reasons against the fit, see :func:`trueup.sysid.assess.doubts.doubts`.
        causes: reasons that explain others, which come first.
        little: reasons of too little data, which come next: what the other rules find may be
            their consequence.
    """
    signals = [*assessment.signals, *unseen]
    grade = Grade.USE if unseen else Grade.LOOK
    comparisons = compared(signals, still)
    confirmed = _is_confirmed(space, solution, assessment, comparisons)
    if confirmed:
        comparisons = [_without_start(each) for each in comparisons]
        doubts = [*doubts, Reason(Grade.USE, _CONFIRMED, "scores")]
    verdict = judge(
        search=SearchEnd.of(solution),
        comparisons=comparisons,
        estimates=_estimates(space, solution, assessment, starts, limit_evidence or {}),
        look_at=[*little, *doubts, *([Reason(grade, _sentence(how), "scores")] if how else ())],
    )
    others = [reason for reason in verdict.reasons if reason not in little]
    return replace(verdict, reasons=(*causes, *little, *others))


def _wide(space: Space, assessment: Assessment, names: Collection[str]) -> dict[str, str]:
    """A clause for each value at a limit whose interval is too wide to say that it is zero.

    One without a noticeable effect on the motion is no reason to doubt, as within its bounds.
    """
    widths, out = assessment.relative_widths, {}
    for i, name in enumerate(space.names):
        if name not in names or is_harmless(assessment, i):
            continue
        if widths is not None and not widths[i] <= WIDE:
            low, high = assessment.intervals[i]
            out[name] = f"its interval from {low:.3g} to {high:.3g} is too wide to say more"
    return out


def is_harmless(assessment: Assessment, i: int) -> bool:
    """Whether an element is within noise of its limit, and no value of its interval has effect."""
    is_noise, matters = assessment.is_noise, assessment.matters
    reach = assessment.reach_matters
    if is_noise is None or matters is None or reach is None:
        return False
    return bool(is_noise[i] and not matters[i] and not reach[i])


def _is_confirmed(
    space: Space, solution: Solution, assessment: Assessment, comparisons: Sequence[Comparison]
) -> bool:
    """Whether the start values are those of the fit, within its intervals and its error.

    The fit of a right model with right values cannot be better than its start.
    """
    seen = [c for c in comparisons if not c.held_out]
    if not (solution.success and seen and _is_no_better(seen)):
        return False
    away = np.abs(space.to_search(space.start) - space.to_search(solution.x))
    count = int(np.isfinite(away).sum())
    covariance = assessment.covariance
    limits = contradiction_ratio(count, 1.0 - covariance.alpha, covariance.dof)
    with np.errstate(invalid="ignore"):
        return bool((away <= limits * covariance.half_widths + _ROUNDING).all())


def _is_no_better(seen: Sequence[Comparison]) -> bool:
    """Whether the model before the fit is as good as the fit on its own data."""
    return all(c.ratio(baselines.BEFORE_FIT) > 1.0 - EQUAL for c in seen)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def compared(signals: Sequence[SequenceSignals], still: Sequence[str] = ()) -> list[Comparison]:
    """Errors compared with those of the baselines, in the channels common to all sequences.

    A model before the fit that is as good on the data of the fit as the fit itself is a result of
    these recordings, such as that of an earlier run. It is not used as a baseline on parts of them
    that are held out of a second fit.
    """
    first = signals[0]
    common = [c for c in first.channels if all(c in s.channels for s in signals)]
    common = [c for c in common if c not in still]
    if not common:
        return []
    columns = [[s.channels.index(c) for c in common] for s in signals]
    measured, predicted, before = (
        [getattr(s, part)[:, own] for s, own in zip(signals, columns, strict=True)]
        for part in ("measured", "fitted", "initial")
    )
    held_out = [s.held_out for s in signals]
    windows = [np.array(s.window_starts, int) for s in signals]
    rivals = {
        baselines.CONSTANT: baselines.constant(
            measured, held_out, [s.repeats_training for s in signals]
        ),
        baselines.STATE_HELD: baselines.state_held(measured, windows),
        baselines.BEFORE_FIT: before,
    }
    if all(s.velocity_sources for s in signals):
        speeds = [
            velocities(s.times, s.measured, s.velocity_sources)[:, own]
            for s, own in zip(signals, columns, strict=True)
        ]
        times = [s.times for s in signals]
        rivals[baselines.VELOCITY_HELD] = baselines.velocity_held(measured, times, windows, speeds)
    found = baselines.compare(
        measured,
        predicted,
        rivals,
        held_out,
        common,
        units=[first.units[c] for c in columns[0]] if first.units else (),
    )
    seen = [c for c in found if not c.held_out]
    if seen and _is_no_better(seen) and any(s.repeats_training for s in signals):
        return [_without_start(each) if each.held_out else each for each in found]
    return found


def _without_start(found: Comparison) -> Comparison:
    others = {n: e for n, e in found.baselines.items() if n != baselines.BEFORE_FIT}
    return replace(found, baselines=others)


def _estimates(
    space: Space,
    solution: Solution,
    assessment: Assessment,
    starts: Collection[str],
    limit_evidence: Mapping[str, str],
) -> Estimates:
    # exclude initial states of windows, which are nuisance parameters
    asked = np.array(["#" not in name for name in space.names])
    of_robot = asked & np.array([name not in starts for name in space.names])
    determined = assessment.identifiability.determined
    undetermined = [
        name
        for name, is_asked in zip(space.names, asked, strict=True)
        if is_asked and name not in determined
    ]
    found = Estimates.of(
        space,
        solution.x,
        assessment.at_bound & of_robot,
        undetermined if solution.success and not assessment.flaw else (),
        () if assessment.stability is None else assessment.stability.sentences,
        assessment.gradient,
        assessment.is_noise,
    )
    flaw = f"{assessment.flaw}." if assessment.flaw else ""
    limit_evidence = {**_wide(space, assessment, found.at_limits), **limit_evidence}
    evidence = {n: clause for n, clause in limit_evidence.items() if n in found.at_limits}
    return replace(found, flaw=flaw, limit_evidence={**found.limit_evidence, **evidence})
