"""Rules of the verdict: what makes a result one to use, to look at, or not to use."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import FitError
from trueup.fitting import (
    Comparison,
    Criterion,
    Estimates,
    Grade,
    Reason,
    SearchEnd,
    Status,
    Verdict,
    judge,
)
from trueup.parameters import Parameter, ParameterDict, Space

CONVERGED = SearchEnd(Status.CONVERGED, "converged after 7 iterations")
ERRORS = st.floats(1e-3, 1e3) | st.just(math.inf)
NAMES = ("a constant", "the model before the fit", "a linear model")


def channel(error: float, held_out: bool = True, name: str = "q", **baselines: float) -> Comparison:
    return Comparison(name, error, baselines, held_out, "rad")


@st.composite
def comparisons(draw: st.DrawFn) -> list[Comparison]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    return [
        Comparison(f"q{i}", draw(ERRORS), {n: draw(ERRORS) for n in names}, draw(st.booleans()))
        for i in range(draw(st.integers(0, 4)))
    ]


@st.composite
def judgements(draw: st.DrawFn) -> dict:
    lists = st.lists(st.sampled_from("abc"), max_size=2)
    return {
        "search": SearchEnd(draw(st.sampled_from(Status)), "so it ended", draw(st.booleans())),
        "comparisons": draw(st.none() | comparisons()),
        "estimates": draw(
            st.builds(
                Estimates,
                on_bounds=lists,
                at_limits=lists,
                undetermined=lists,
                contradicted=lists,
                flaw=st.sampled_from(["", "the gradient is not zero."]),
            )
        ),
        "criteria": draw(
            st.lists(
                st.builds(
                    Criterion,
                    st.just("drift"),
                    st.floats(0, 2),
                    st.floats(0, 2),
                    st.booleans(),
                    missed=st.sampled_from([Grade.LOOK, Grade.DO_NOT_USE]),
                ),
                max_size=2,
            )
        ),
        "diverged": draw(lists),
        "look_at": draw(st.lists(st.just("the load was not recorded."), max_size=1)),
    }


@given(judgements())
def test_use_needs_every_rule_to_be_met(asked):
    verdict = judge(**asked)
    estimates, beside = asked["estimates"], asked["comparisons"]
    if verdict.grade is not Grade.USE:
        return
    assert asked["search"].status.success
    assert not (estimates.on_bounds or estimates.undetermined or estimates.contradicted)
    assert not (asked["diverged"] or asked["look_at"] or estimates.flaw)
    assert all(c.met for c in asked["criteria"])
    if beside is not None:
        assert any(c.held_out for c in beside)
        for c in beside:
            assert all(c.error <= e for e in c.baselines.values())


@given(comparisons(), st.floats(1.001, 100))
def test_nothing_that_a_baseline_beats_is_green(beside, factor):
    whole = judge(search=CONVERGED, comparisons=beside)
    beaten = any(e < c.error for c in beside for e in c.baselines.values())
    diverges = any(math.isinf(c.error) for c in beside)
    assert whole.grade is not Grade.USE or not (beaten or diverges)
    # a larger error never has a better verdict
    worse = [
        Comparison(c.channel, c.error * factor, c.baselines, c.held_out, c.unit) for c in beside
    ]
    assert judge(search=CONVERGED, comparisons=worse).grade.severity >= whole.grade.severity


@given(judgements(), judgements())
def test_a_further_flaw_never_improves_the_grade(asked, other):
    before = judge(**asked).grade.severity
    more = dict(asked)
    more["diverged"] = [*asked["diverged"], *other["diverged"]]
    more["criteria"] = [*asked["criteria"], *other["criteria"]]
    more["look_at"] = [*asked["look_at"], *other["look_at"]]
    assert judge(**more).grade.severity >= before


@given(judgements())
def test_a_verdict_survives_its_way_through_json(asked):
    verdict = judge(**asked)
    plain = verdict.to_dict()
    again = Verdict.from_dict(json.loads(json.dumps(plain)))
    assert again.to_dict() == plain
    assert again.grade is verdict.grade
    assert again.lines() == verdict.lines()


@given(judgements())
def test_every_verdict_says_why_the_gravest_first(asked):
    verdict = judge(**asked)
    assert verdict.reasons
    assert all(reason.sentence.strip() for reason in verdict.reasons)
    ranks = [reason.grade.severity for reason in verdict.reasons]
    assert ranks == sorted(ranks, reverse=True)
    assert verdict.lines()[0] == f"Verdict: {verdict.grade.value}"
    assert len(verdict.lines()) == 1 + len(verdict.reasons)


def test_better_than_all_on_held_out_data_is_to_use():
    verdict = judge(
        search=CONVERGED,
        comparisons=[channel(0.01, **{"a constant": 0.2, "the model before the fit": 0.03})],
        estimates=Estimates(),
    )
    assert verdict.grade is Grade.USE
    text = "\n".join(verdict.lines())
    assert "the model before the fit: q RMSE 0.01 rad compared with 0.03 rad" in text


def test_without_held_out_data_a_result_is_at_best_one_to_look_at():
    verdict = judge(search=CONVERGED, comparisons=[channel(0.01, False, rival=1.0)])
    assert verdict.grade is Grade.LOOK
    assert any("No data was held out" in r.sentence for r in verdict.reasons)


def test_a_result_that_was_compared_with_nothing_is_one_to_look_at():
    assert judge(search=CONVERGED, comparisons=[]).grade is Grade.LOOK
    assert judge(search=CONVERGED, comparisons=[channel(0.01)]).grade is Grade.LOOK


@pytest.mark.parametrize(
    ("error", "grade"),
    [(0.99, Grade.USE), (1.0, Grade.LOOK), (1.009, Grade.LOOK), (1.02, Grade.DO_NOT_USE)],
)
def test_a_tie_is_one_to_look_at_and_a_defeat_is_not_to_use(error, grade):
    assert judge(search=CONVERGED, comparisons=[channel(error, rival=1.0)]).grade is grade


def test_a_single_worse_channel_among_better_ones_is_one_to_look_at():
    good = [channel(0.1, name=f"q{i}", rival=1.0) for i in range(3)]
    verdict = judge(search=CONVERGED, comparisons=[*good, channel(1.5, name="lift", rival=1.0)])
    assert verdict.grade is Grade.LOOK
    assert "lift" in verdict.reasons[0].sentence and "q0" not in verdict.reasons[0].sentence
    # and so far off that the whole is worse, it is not to be used
    verdict = judge(search=CONVERGED, comparisons=[*good, channel(2.1, name="lift", rival=1.0)])
    assert verdict.grade is Grade.DO_NOT_USE


def test_a_worse_channel_counts_only_beyond_chance_where_that_was_tested():
    good = [channel(0.1, name=f"q{i}", rival=1.0) for i in range(3)]
    for beaten, grade in (((), Grade.USE), (("rival",), Grade.LOOK), (None, Grade.LOOK)):
        tied = replace(channel(1.0001, name="lift", rival=1.0), beaten_by=beaten)
        verdict = judge(search=CONVERGED, comparisons=[*good, tied])
        assert verdict.grade is grade
        again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
        assert again.comparisons[-1].beaten_by == beaten
    # worse as a whole, but in no channel by more than chance: not better
    for beaten, grade in (((), Grade.LOOK), (("rival",), Grade.DO_NOT_USE)):
        whole = replace(channel(1.05, rival=1.0), beaten_by=beaten)
        assert judge(search=CONVERGED, comparisons=[whole]).grade is grade


def test_errors_below_the_resolution_count_as_equal():
    still = Comparison("lift", 2e-7, {"a constant": 1e-12}, resolution=1e-6)
    assert still.ratio("a constant") == 1.0
    moving = channel(0.01, **{"a constant": 1.0})
    assert judge(search=CONVERGED, comparisons=[moving, still]).grade is Grade.USE


def test_a_baseline_that_diverges_beats_nothing():
    assert judge(search=CONVERGED, comparisons=[channel(1.0, rival=math.inf)]).grade is Grade.USE
    lost = judge(search=CONVERGED, comparisons=[channel(math.inf, rival=math.inf)])
    assert lost.grade is Grade.DO_NOT_USE


@pytest.mark.parametrize("status", [s for s in Status if not s.success])
def test_a_search_that_did_not_converge_spoils_an_estimate_and_not_a_design(status):
    end = SearchEnd(status, "it ended")
    estimate = judge(search=end, comparisons=[channel(0.1, rival=1.0)])
    assert estimate.grade is Grade.DO_NOT_USE
    design = judge(search=end)
    failed = status is Status.START_FAILED
    assert design.grade is (Grade.DO_NOT_USE if failed else Grade.LOOK)


def test_a_method_without_a_test_of_convergence_ends_with_its_budget():
    end = SearchEnd(Status.EVALUATION_LIMIT, "1000 evaluations", converges=False)
    assert judge(search=end, comparisons=[channel(0.1, rival=1.0)]).grade is Grade.LOOK
    end = SearchEnd(Status.INTERRUPTED, "stopped", converges=False)
    assert judge(search=end, comparisons=[channel(0.1, rival=1.0)]).grade is Grade.DO_NOT_USE


def test_of_a_study_without_data_only_the_search_is_judged():
    verdict = judge(search=CONVERGED)
    assert verdict.grade is Grade.USE
    assert len(verdict.reasons) == 1


@pytest.mark.parametrize(
    ("estimates", "with_data", "design"),
    [
        (Estimates(on_bounds=["mass"]), Grade.DO_NOT_USE, Grade.LOOK),
        (Estimates(at_limits=["friction"]), Grade.LOOK, Grade.USE),
        (Estimates(undetermined=["mass"]), Grade.LOOK, Grade.LOOK),
        (Estimates(contradicted=["mass is 1 and 2."]), Grade.LOOK, Grade.LOOK),
        (Estimates(flaw="the gradient is not zero."), Grade.DO_NOT_USE, Grade.LOOK),
    ],
)
def test_what_became_of_the_unknowns_counts(estimates, with_data, design):
    beside = [channel(0.1, rival=1.0)]
    assert judge(search=CONVERGED, comparisons=beside, estimates=estimates).grade is with_data
    assert judge(search=CONVERGED, estimates=estimates).grade is design


def space_of_friction() -> Space:
    unknowns = ParameterDict()
    unknowns.add(Parameter("friction", 0.5, 0.0, 1.0))
    unknowns.add(Parameter("pull", -0.5, -1.0, 0.0))
    return unknowns.space()


@pytest.mark.parametrize(
    ("gradient", "is_noise", "said", "unsaid", "grade"),
    [
        # the cost rises from the lower bound and from the upper one, by no more than noise explains
        ([2.0, -2.0], True, "friction, pull are zero within the noise", "test", Grade.USE),
        # by more: the data ask for a negative friction
        (
            [2.0, -2.0],
            False,
            "friction, pull ended at a physical limit, and the cost increases",
            "simpler model",
            Grade.LOOK,
        ),
        (
            [2.0, 2.0],
            True,
            "pull ended at a physical limit, and the cost still decreases",
            "not tested",
            Grade.LOOK,
        ),
        (
            None,
            False,
            "Whether the term is needed was not tested",
            "simpler model",
            Grade.LOOK,
        ),
    ],
)
def test_a_zero_is_what_the_data_show_only_where_slope_and_noise_say_so(
    gradient, is_noise, said, unsaid, grade
):
    slope = None if gradient is None else np.array(gradient)
    found = Estimates.of(
        space_of_friction(), np.zeros(2), gradient=slope, is_noise=np.full(2, is_noise)
    )
    assert list(found.at_limits) == ["friction", "pull"]
    verdict = judge(search=CONVERGED, comparisons=[channel(0.1, rival=1.0)], estimates=found)
    assert verdict.grade is grade
    text = " ".join(verdict.lines())
    assert said in text and unsaid not in text
    zero = sum("simpler model without it" in r.sentence for r in verdict.reasons)
    assert zero == (gradient is not None and is_noise)


def test_a_value_that_another_fit_finds_is_said_in_place_of_a_simpler_model():
    found = replace(
        Estimates.of(space_of_friction(), np.array([0.0, -0.5]), gradient=np.ones(2)),
        limit_evidence={"friction": "least squares finds 0.8"},
    )
    verdict = judge(search=CONVERGED, comparisons=[channel(0.1, rival=1.0)], estimates=found)
    (reason,) = [r for r in verdict.reasons if r.grade is Grade.LOOK and "friction" in r.sentence]
    assert reason.sentence == ("friction ended at a physical limit, and least squares finds 0.8.")


def test_criteria_are_graded_as_their_owner_says():
    steady = Criterion("drift of the pelvis", 0.4, 0.1, unit="m/s", advice="Search for longer.")
    natural = Criterion("distance from recorded angles", 2.0, 3.0, missed=Grade.LOOK)
    assert judge(search=CONVERGED, criteria=[natural]).grade is Grade.USE
    verdict = judge(search=CONVERGED, criteria=[steady, natural])
    assert verdict.grade is Grade.DO_NOT_USE
    assert verdict.reasons[0].sentence == (
        "drift of the pelvis: 0.4 m/s (at most 0.1 m/s required). Search for longer."
    )
    least = Criterion("steps", 4, 5, at_most=False, missed=Grade.LOOK)
    assert judge(search=CONVERGED, criteria=[least]).grade is Grade.LOOK


def test_a_criterion_that_is_no_number_is_missed():
    for at_most in (True, False):
        assert not Criterion("drift", np.nan, 1.0, at_most).met


def test_what_a_capability_adds_has_its_own_grade():
    assert judge(search=CONVERGED, look_at=["The load is guessed."]).grade is Grade.LOOK
    grave = Reason(Grade.DO_NOT_USE, "The load is wrong.")
    assert judge(search=CONVERGED, look_at=[grave]).grade is Grade.DO_NOT_USE


def test_plain_data_that_is_no_verdict_is_refused():
    with pytest.raises(FitError, match=r"malformed verdict.*'reasons'"):
        Verdict.from_dict({"grade": "use"})
    plain = judge(search=CONVERGED).to_dict()
    plain["reasons"][0]["grade"] = "fine"
    with pytest.raises(FitError, match="fine"):
        Verdict.from_dict(plain)
