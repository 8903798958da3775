"""Rules for the verdict on a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.fitting.judgement.identifiability_words import by_vector
from trueup.fitting.judgement.verdict import Comparison, Criterion, Grade, Reason, Verdict
from trueup.fitting.problem import LARGE_COST
from trueup.fitting.solution import Solution, Status
from trueup.parameters import Space

EQUAL = 0.01
"""Relative margin within which a result counts as equal to a baseline."""

_SHOWN = 3  # channels or names that a sentence lists


@dataclass(frozen=True)
class Estimates:
    """Status of each parameter, by name: at the optimum, on a bound, undetermined, contradicted.

    Attributes:
        on_bounds: on a bound with the optimum possibly beyond it.
        at_limits: on a bound that is a physical limit, such as a friction of zero.
        not_needed: those of ``at_limits`` for which a test has shown that the cost increases away
            from the limit, so that a model without them fits as well.
        consistent: those of ``not_needed`` whose optimum without the limit differs from it by no
            more than noise, so that the model agrees with the data.
        limit_evidence: a clause by name on those of ``at_limits`` that are needed or were not
            tested.
        undetermined: not determined by the data.
        contradicted: sentences on values that differ between parts of the data by more than their
            intervals.
        flaw: why the values are not an optimum despite the status of the search, or empty.
    """

    on_bounds: Sequence[str] = ()
    at_limits: Sequence[str] = ()
    not_needed: Sequence[str] = ()
    consistent: Sequence[str] = ()
    limit_evidence: Mapping[str, str] = field(default_factory=dict)
    undetermined: Sequence[str] = ()
    contradicted: Sequence[str] = ()
    flaw: str = ""

    @classmethod
    def of(
        cls,
        space: Space,
        x: np.ndarray,
        at_bound: np.ndarray | None = None,
        undetermined: Sequence[str] = (),
        contradicted: Sequence[str] = (),
        gradient: np.ndarray | None = None,
        is_noise: np.ndarray | None = None,
    ) -> "Estimates":
        """Status of the parameters of a space; a bound of 0 is a physical limit.

        Args:
            space: the parameters.
            x: their values ``(p,)``.
            at_bound: which of them are on a bound ``(p,)`` bool; detected if None.
            undetermined: names of those that the data do not determine; those on a bound are not
                counted twice.
            contradicted: sentences on values that differ from those of other data.
            gradient: gradient of the cost ``(p,)``, to test whether the cost increases from a limit
                inwards; not tested if None.
            is_noise: whether the optimum without bounds differs from each value by no more than
                noise ``(p,)`` bool; not tested if None.
        """
        hits = space.at_bound(x) if at_bound is None else at_bound
        nearest = np.where(x - space.lower < space.upper - x, space.lower, space.upper)
        reached = [name for name, hit in zip(space.names, hits, strict=True) if hit]
        limits = [n for n, b in zip(space.names, nearest, strict=True) if n in reached and b == 0]
        not_needed, evidence = [], {}
        if gradient is not None:
            inwards = np.where(x - space.lower < space.upper - x, gradient, -gradient)
            for name in limits:
                if inwards[space.names.index(name)] >= 0:
                    not_needed.append(name)
                else:
                    evidence[name] = "the cost still decreases away from it: the search ended early"
        near = [] if is_noise is None else np.array(space.names)[np.asarray(is_noise, bool)]
        return cls(
            [name for name in reached if name not in limits],
            limits,
            not_needed,
            [name for name in not_needed if name in near],
            evidence,
            [name for name in undetermined if name not in reached],
            contradicted,
        )


@dataclass(frozen=True)
class SearchEnd:
    """How a search ended.

    Attributes:
        status: its status.
        message: the same in a sentence with numbers.
        converges: whether the method is expected to converge; random points and NSGA-II continue
            to the end of their budget.
    """

    status: Status
    message: str = ""
    converges: bool = True

    @classmethod
    def of(cls, solution: Solution, converges: bool = True) -> "SearchEnd":
        """The end of the search that gave ``solution``."""
        return cls(solution.status, solution.message, converges)


def judge(
    *,
    search: SearchEnd | None = None,
    comparisons: Sequence[Comparison] | None = None,
    estimates: Estimates | None = None,
    criteria: Sequence[Criterion] = (),
    diverged: Sequence[str] = (),
    look_at: Sequence[Reason | str] = (),
) -> Verdict:
    """Return the verdict on a result.

    Each rule gives reasons with a grade, and the verdict is the worst grade.

    **The search.** A converged search is ``use``. One that failed at its start values is ``do not
    use``. With data, any other end is ``do not use`` too: away from the optimum neither values nor
    intervals are meaningful. Without data the result is a design, which is as good as its cost: an
    end by a limit, a stall or an interrupt is ``look``. A method that is not expected to converge
    is ``look`` in both cases when its budget is used.

    **The baselines.** Held-out samples decide if there are any; the samples of the fit are
    compared by the same rule. For each baseline, the root mean square over channels of the ratio
    (error of the result) / (error of the baseline) says which is better as a whole. Above
    ``1 + EQUAL`` the result is worse: ``do not use``. From 1 to ``1 + EQUAL``, or where no single
    channel is worse by more than chance, it is not better: ``look``. Below 1, each single channel
    in which the baseline is better is ``look``, again by more than chance where that was tested. A
    result that diverges in a channel is ``do not use``. So a result worse than a baseline is never
    ``use``.

    **Held-out data.** A result with data but without held-out data is at best ``look``; so is one
    without a baseline.

    **The parameters.** With data, a value on a bound is ``do not use``: the optimum is beyond it,
    and all other values are biased to compensate. On a physical limit, such as zero friction, it
    is ``look``, unless the optimum without the limit differs from it by no more than noise: then
    the term does not exist, which is ``use``. A value that the data do not determine, or that
    differs between parts of the data, is ``look``. Without data, a value on a bound is ``look``
    and one on a physical limit is not reported.

    **Criteria** that are missed have the grade given by the capability, **divergence** in a
    recording is ``do not use``, and further reasons of a capability have their own grade.

    Args:
        search: how the search ended; None without a search, such as an evaluation.
        comparisons: errors compared with those of baselines; None for a result without data, such
            as a study of costs or a gait; empty for one with data but without a baseline.
        estimates: status of the parameters.
        criteria: requirements on a result that are not scored by data.
        diverged: recordings, or other names, in which the prediction diverges.
        look_at: further reasons; a string is a reason to look.

    Returns:
        The verdict, with the most severe reasons first.
    """
    with_data = comparisons is not None
    found: list[Reason] = []
    if diverged:
        found.append(
            _no(f"The prediction diverges in {_listed(diverged)}: its values are not valid there.")
        )
    if search is not None:
        found.append(_end(search, with_data))
    if comparisons is not None:
        found += _against_baselines(comparisons)
    if estimates is not None:
        found += _unknowns(estimates, with_data)
    found += [
        Reason(Grade.USE if c.met else c.missed, c.sentence, c.section or "criteria")
        for c in criteria
    ]
    found += [r if isinstance(r, Reason) else _look(r) for r in look_at]
    found.sort(key=lambda reason: -reason.grade.severity)
    return Verdict(tuple(found), tuple(comparisons or ()), tuple(criteria))


def judge_search(
    space: Space,
    solution: Solution,
    converges: bool = True,
    criteria: Sequence[Criterion] = (),
    look_at: Sequence[Reason | str] = (),
) -> Verdict:
    """Judge a result without data by its search, its bounds and its criteria.

    Args:
        space: the parameters.
        solution: result of the search.
        converges: whether the method is expected to converge.
        criteria: requirements on the result.
        look_at: further reasons; a string is a reason to look.
    """
    if np.isfinite(solution.cost) and solution.cost < LARGE_COST:
        estimates, reasons = Estimates.of(space, solution.x), list(look_at)
        search = SearchEnd.of(solution, converges)
    else:  # without a valid candidate the end of the search is irrelevant
        estimates = search = None
        reasons = [_no("No candidate was valid: the values are those of the start."), *look_at]
    return judge(
        search=search,
        estimates=estimates,
        criteria=criteria,
        look_at=reasons,
    )


def _end(search: SearchEnd, with_data: bool) -> Reason:
    status, message = search.status, search.message.rstrip(".")
    if status.success:
        return Reason(Grade.USE, f"The search ended well: {message or status.value}.", "course")
    end = f"{status.value}: {message}" if message else status.value
    if status is Status.START_FAILED:
        return _no(f"The search did not start ({end}). {status.advice}", "course")
    limits = (Status.ITERATION_LIMIT, Status.EVALUATION_LIMIT, Status.TIME_LIMIT)
    if not search.converges and status in limits:
        return _look(
            f"The search used its budget ({end}), as this method does: check whether it was "
            "still improving.",
            "course",
        )
    if with_data:
        return _no(
            f"The search did not converge ({end}): away from the optimum neither values nor "
            f"intervals are meaningful. {status.advice}",
            "course",
        )
    return _look(
        f"The search did not converge ({end}): a better result may exist. {status.advice}",
        "course",
    )


def _against_baselines(comparisons: Sequence[Comparison]) -> list[Reason]:
    if not comparisons:
        return [_look("No baseline was compared: the quality of the result is unknown.", "scores")]
    found: list[Reason] = []
    unseen = [c for c in comparisons if c.held_out]
    seen = [c for c in comparisons if not c.held_out]
    for part, where in ((unseen, "held-out data"), (seen, "the data of the fit")):
        off = [c.channel for c in part if not np.isfinite(c.error)]
        if off:
            found.append(_no(f"The prediction of {_listed(off)} diverges on {where}.", "scores"))
        found += [r for name in _baselines(part) for r in _against(name, part, where)]
    if not unseen:
        found.append(
            _look(
                "No data was held out: the error of the result on data outside the fit is unknown, "
                "and so is whether other data give the same values.",
                "scores",
            )
        )
    decisive = unseen or seen
    if not _baselines(decisive):
        found.append(_look("The result is not compared with a baseline.", "scores"))
    elif not found:
        found.append(Reason(Grade.USE, _praise(decisive), "scores"))
    return found


def _baselines(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(name for c in comparisons for name in c.baselines))


def _against(name: str, comparisons: Sequence[Comparison], where: str) -> list[Reason]:
    """Reasons against a result that is worse than a baseline, overall or in single channels."""
    compared = [c for c in comparisons if name in c.baselines]
    ratios = np.array([c.ratio(name) for c in compared])
    whole = float(np.sqrt(np.mean(ratios**2)))
    order = np.argsort(-ratios, kind="stable")
    figures = "; ".join(_figure(compared[i], name) for i in order[:_SHOWN])
    beaten = [c.is_beaten(name) for c in compared]
    if whole > 1.0 + EQUAL and any(beaten):
        return [_no(f"Worse than {name} on {where}: {figures}.", "scores")]
    if whole >= 1.0:
        return [_look(f"Not better than {name} on {where}: {figures}.", "scores")]
    worse = [i for i in order if beaten[i]]
    if not worse:
        return []
    figures = "; ".join(_figure(compared[i], name) for i in worse[:_SHOWN])
    more = f"; and {len(worse) - _SHOWN} more" if len(worse) > _SHOWN else ""
    return [_look(f"Single channels are worse than {name} on {where}: {figures}{more}.", "scores")]


def _figure(comparison: Comparison, name: str) -> str:
    unit = f" {comparison.unit}" if comparison.unit else ""
    return (
        f"{comparison.channel} {comparison.measure} {comparison.error:.3g}{unit} "
        f"compared with {comparison.baselines[name]:.3g}{unit}"
    )


def _praise(comparisons: Sequence[Comparison]) -> str:
    """Sentence on the smallest margin over a baseline."""
    pairs = [(c.ratio(name), c, name) for c in comparisons for name in c.baselines]
    _, nearest, name = max(pairs, key=lambda pair: pair[0])
    return (
        f"Better than every baseline ({_listed(_baselines(comparisons), 6)}) on held-out data; "
        f"the best baseline is {name}: {_figure(nearest, name)}."
    )


def _unknowns(estimates: Estimates, with_data: bool) -> list[Reason]:
    found = []
    if estimates.flaw:
        text = f"The values are not an optimum: {estimates.flaw}"
        found.append((_no if with_data else _look)(text, "parameters"))
    if estimates.on_bounds:
        names = _listed(estimates.on_bounds)
        ended = f"{names} ended on a bound"
        if with_data:
            text = (
                f"{ended}: the optimum is beyond it, and all other values are biased to "
                "compensate. "
                "Widen the bound, fix the value, or look for a missing term of the model."
            )
            found.append(_no(text, "parameters"))
        else:
            found.append(_look(f"{ended}: the result may improve beyond it.", "parameters"))
    if with_data:
        found += [_look(text, "parameters") for text in _limits(estimates)]
        zero = [n for n in estimates.consistent if n not in estimates.limit_evidence]
        if zero:
            text = (
                f"{_listed(zero)} {'is' if len(zero) == 1 else 'are'} zero within the noise, a "
                "physical limit: a simpler model without it fits as well."
            )
            found.append(Reason(Grade.USE, text, "parameters"))
    if estimates.undetermined:
        text = f"The data do not determine {_listed(by_vector(estimates.undetermined))}."
        found.append(_look(text, "identifiability"))
    found += [_look(sentence, "parameters") for sentence in estimates.contradicted]
    return found


def _limits(estimates: Estimates) -> list[str]:
    """Sentences on values at physical limits, with the results of tests."""
    limits, evidence = estimates.at_limits, estimates.limit_evidence
    beyond = [
        n
        for n in limits
        if n in estimates.not_needed and n not in evidence and n not in estimates.consistent
    ]
    open_ones = [n for n in limits if n not in estimates.not_needed and n not in evidence]
    ended = "ended at a physical limit"
    found = [f"{name} {ended}, and {evidence[name]}." for name in limits if name in evidence]
    if beyond:
        found.append(
            f"{_listed(beyond)} {ended}, and the cost increases from there: the data ask for a "
            "value beyond it, so that another part of the model is wrong or missing."
        )
    if open_ones:
        found.append(f"{_listed(open_ones)} {ended}. Whether the term is needed was not tested.")
    return found


def _listed(names: Sequence[str], most: int = _SHOWN) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _look(sentence: str, section: str = "") -> Reason:
    return Reason(Grade.LOOK, sentence, section)


def _no(sentence: str, section: str = "") -> Reason:
    return Reason(Grade.DO_NOT_USE, sentence, section)
