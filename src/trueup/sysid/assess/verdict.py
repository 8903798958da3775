"""Verdict on an identification: baselines on held-out recordings, and parameter status."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from trueup.fitting import Comparison, Estimates, Grade, Reason, SearchEnd, Solution, Verdict, judge
from trueup.fitting.judgement import baselines
from trueup.fitting.judgement.rules import EQUAL
from trueup.parameters import Space
from trueup.sysid.assess.assessment import Assessment, SequenceSignals
from trueup.sysid.assess.held_motion import velocities


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
    """
    signals = [*assessment.signals, *unseen]
    grade = Grade.USE if unseen else Grade.LOOK
    found = judge(
        search=SearchEnd.of(solution),
        comparisons=compared(signals, still),
        estimates=_estimates(space, solution, assessment, starts, limit_evidence or {}),
        look_at=[*doubts, *([Reason(grade, _sentence(how), "scores")] if how else ())],
    )
    return replace(found, reasons=(*causes, *found.reasons))


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
    is_result = seen and all(c.ratio(baselines.BEFORE_FIT) > 1.0 - EQUAL for c in seen)
    if is_result and any(s.repeats_training for s in signals):
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
    )
    flaw = f"{assessment.flaw}." if assessment.flaw else ""
    evidence = {n: clause for n, clause in limit_evidence.items() if n in found.at_limits}
    return replace(found, flaw=flaw, limit_evidence={**found.limit_evidence, **evidence})
