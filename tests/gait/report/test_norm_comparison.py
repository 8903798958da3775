"""A walk compared with norms: score, muscle timing, steps, energy, report page."""

from types import SimpleNamespace

import numpy as np
import pytest

from trueup.gait import Curve, adult_norm, load_configuration, look_at, make_problem, walk_report
from trueup.gait.costs.adult_norm import adult_metabolic_rate
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.report.norm_comparison import (
    energy_note,
    on_spans,
    profile_score,
    spans_text,
    step_rows,
)
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.gait.walk.gait_cycle import Stride
from trueup.runs import warm_start


def series(off=0.0, stance=0.6, **changes):
    """A walk of ten strides of 1.1 s with the angles of the norm, and some degrees more."""
    angles = adult_norm().reference.angles
    phase = np.stack([np.arange(1101) % 110, (np.arange(1101) + 55) % 110], axis=1) / 110.0
    values = np.stack(
        [np.interp(phase, np.linspace(0, 1, 101), np.append(c.mean, c.mean[0]))
         for c in (angles[joint] for joint in ("hip", "knee", "ankle"))], axis=2,
    )  # fmt: skip
    kept = {"slope": 0.0, "stairs": None, "period": 0.01, "threshold": 0.1, **changes}
    load = np.where(phase < stance, 1.0, 0.0)
    return SimpleNamespace(angles=values + np.deg2rad(off), load=load, **kept)


STRIDES = [
    [Stride(leg, first + 110 * k, first + 110 * k + 66, first + 110 * (k + 1)) for k in range(5)]
    for leg, first in ((0, 110), (1, 165))
]


def test_the_score_is_the_distance_from_the_norm():
    same = profile_score(series(), adult_norm(), STRIDES)
    assert same is not None and same.distance < 0.5
    other = profile_score(series(6.0), adult_norm(), STRIDES)
    assert other is not None and other.distance == pytest.approx(6.0, abs=0.1)
    # that is how far people are from each other
    assert other.people == pytest.approx(6.0, abs=0.1)
    assert other.deviations == pytest.approx(1.0, abs=0.05)
    assert profile_score(series(), adult_norm(), [STRIDES[0], []]) is None
    angles = {joint: Curve(c.mean) for joint, c in adult_norm().reference.angles.items()}
    bare = GaitNorm(SimpleNamespace(angles=angles, name="bare"))
    bare = profile_score(series(6.0), bare, STRIDES)
    assert bare is not None and np.isnan(bare.people) and bare.distance > 5.9


def test_muscles_are_on_in_spans_of_the_cycle():
    percent = np.arange(101)
    bump = np.where((percent >= 20) & (percent < 50), 0.8, 0.02)
    assert on_spans(Curve(bump)) == [(0.2, 0.5)]
    around = np.where((percent >= 90) | (percent < 16), 0.8, 0.0)
    assert on_spans(Curve(around)) == [(0.9, 0.16)]
    assert on_spans(Curve(np.full(101, 0.01))) == []
    assert on_spans(Curve(np.full(101, 0.5))) == [(0.0, 1.0)]
    assert spans_text([(0.9, 0.16), (0.5, 0.6)]) == "90 to 16, 50 to 60"
    assert spans_text([]) == "never"


def test_steps_stand_beside_those_of_adults_where_they_walk_like_that():
    rows = {row[0]: row[2:] for row in step_rows(series(), STRIDES, [0.7], 1.25)}
    assert rows["cadence"] == pytest.approx((109.1, 107.4), abs=0.1)
    assert rows["stance"] == pytest.approx((60.0, 62.0))
    assert rows["double support"] == pytest.approx((20.0, 24.0), abs=1.0)
    for other in (series(slope=5.0), series(stairs=(0.1, 0.3))):
        assert all(row[3] is None for row in step_rows(other, STRIDES, [0.7], 1.25))
    assert all(row[3] is None for row in step_rows(series(), STRIDES, [0.7], 0.1))


def test_people_take_about_four_watts_a_kg():
    assert adult_metabolic_rate(1.25) == pytest.approx(4.1, abs=0.01)
    assert energy_note(5.0, 1.25) == "adults 4.1 W/kg, rest included"
    assert energy_note(5.0, 0.1) == energy_note(np.nan, 1.25) == ""


def test_the_norm_has_two_humps_and_times_of_muscles():
    norm = adult_norm()
    upright = norm.ground_reaction["upright"].mean
    peaks = [k for k in range(1, 99) if upright[k - 1] < upright[k] > upright[k + 1]]
    assert peaks == [12, 50] and upright.max() == pytest.approx(1.1)
    forward = norm.ground_reaction["forward"].mean
    assert forward[:31].max() <= 0.0 and forward[32:62].min() > 0.0
    (scenario,) = problem_of_walk().scenarios
    assert set(norm.timing) == set(scenario.simulation.walker.anatomy.muscles)
    assert norm.timing["SOL"] == ((0.07, 0.52),)


def problem_of_walk(duration=0.5):
    _, configuration = load_configuration("walk").staged[0]
    return make_problem(configuration.with_changes({"sim_time": duration}))


def test_the_page_shows_people_beside_the_walk():
    problem = problem_of_walk(6.0)
    warm = warm_start(SHIPPED_WALK, problem.space, [problem.parameters.names])
    look = look_at(problem, problem.parameters.complete(warm.x[None])[0])
    page = walk_report(look, "walk", norm=adult_norm()).html()
    for words in ("gait profile score", "Compared with adults at this speed", "active in people",
                  "Muscle timing", "rest included", "double support"):  # fmt: skip
        assert words in page


def test_the_rates_of_the_muscles_add_up_to_that_of_the_walk():
    problem = problem_of_walk(6.0)
    warm = warm_start(SHIPPED_WALK, problem.space, [problem.parameters.names])
    look = look_at(problem, problem.parameters.complete(warm.x[None])[0])
    (series,) = look.series[0]
    strides = problem.scenarios[0].objective.strides
    left = series.strides(1, strides)
    judged = slice(left[0].start, left[-1].end)
    rate = series.muscle_powers[judged].sum(axis=1).mean() / series.mass
    assert rate == pytest.approx(look.terms_in(0)["metabolic_rate"], rel=0.01)
    assert (series.muscle_powers > 0.0).all()
