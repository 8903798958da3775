"""Costs of walks: what terms measure, and stages that fade into each other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_walks import MASS, costs, cut, reference, walk

from trueup.errors import GaitError
from trueup.gait import Curve, WalkObjective
from trueup.gait.costs.stages import INVALID, PRESETS
from trueup.gait.costs.terms import TERMS, CostTerm
from trueup.gait.walk.frames import FRAME
from trueup.gait.walk.gait_cycle import strides_of


def test_a_walk_that_lasts_costs_its_terms_alone():
    for flag, weights in PRESETS.items():
        total, terms = costs(walk(), weights=weights)
        weighed = sum(weight * terms[name] for name, weight in weights.items())
        assert total == pytest.approx(weighed), flag
        assert all(np.isfinite(terms[name]) for name in TERMS)


def test_what_the_terms_measure():
    _, terms = costs(walk(speed=1.2, over=1.0), grf_threshold=1.6)
    assert terms["speed"] == pytest.approx(1.2) and terms["velocity"] == pytest.approx(0.05)
    # both feet bear 2.6 for the 0.1 of a stride that each one lands in
    assert terms["grf"] == pytest.approx(0.2 * 1.0, rel=0.1)
    assert terms["pain"] == pytest.approx(8.0 / MASS)
    assert terms["scuff"] == 0.0 and terms["symmetry"] == 0.0
    assert costs(walk(), clearance=0.06)[1]["scuff"] == pytest.approx(0.01)
    assert costs(walk(lame=0.25))[1]["symmetry"] == pytest.approx(0.15)


def test_a_term_that_is_registered_counts_like_those_of_the_kernel(monkeypatch):
    """Rise of the pelvis over the judged strides, the worst value where a walk is too short."""

    def rise(records, first, last):
        height, walks = records.column("z"), np.arange(len(first))
        return np.abs(height[walks, last] - height[walks, first]) + 0.01 * (last > first)

    with pytest.raises(GaitError, match="unknown cost term 'rise'"):
        WalkObjective(weights={"rise": 10.0})
    before, _ = costs(walk(), weights={"effort": 1.0})
    monkeypatch.setitem(TERMS, "rise", CostTerm("rise of the pelvis", "m", 0.5, rise))
    total, terms = costs(walk(), weights={"effort": 1.0, "rise": 10.0})
    assert terms["rise"] == pytest.approx(0.01, abs=1e-6)
    assert total == pytest.approx(before + 10.0 * terms["rise"])
    assert not {"first_frame", "last_frame"} & set(terms)
    short, lacking = costs(cut(walk(), 0.01), weights={"rise": 10.0})
    assert np.isnan(lacking["rise"])
    assert short == pytest.approx(costs(cut(walk(), 0.01), weights={})[0] + 5.0)


def test_effort_counts_all_muscles_and_no_time_step():
    """In the reference effort grows with the rate of the controller and leaves EDL out."""
    coarse, fine = costs(walk())[1]["effort"], costs(walk(rate=1000))[1]["effort"]
    assert coarse == pytest.approx(fine, rel=1e-3)
    squares = 2.0 * 0.09 * (1.0 + 0.25)
    assert fine == pytest.approx(squares / (MASS * 1.25), rel=1e-3)


def test_both_legs_are_compared_from_their_own_touch_down():
    """In the reference the right leg is compared with the left one's activations unshifted."""
    _, terms = costs(walk(), weights={"kinematic": 1.0})
    assert terms["kinematic"] < 0.03 and terms["emg"] < 1e-3 and terms["trunk"] < 1e-12
    _, other = costs(walk(), reference=reference(hip=Curve(np.full(100, 0.4))))
    assert other["kinematic"] > terms["kinematic"] + 0.1


def test_no_hidden_regulariser_and_no_velocity_cliff():
    """In the reference 0.01 m/s more cost 9900, and deviations of all entries from 1 are added."""
    totals = [costs(walk(speed=v), weights=PRESETS["-kine"])[0] for v in (1.2599, 1.2601)]
    assert abs(totals[1] - totals[0]) < 0.1
    assert costs(walk(activation=0.0), weights=PRESETS["-eff"])[0] == 0.0


def test_a_tolerance_makes_the_target_speed_smooth():
    """Huber's function: its square up to the tolerance, in proportion beyond, no kink between."""
    weights, target, tolerance = {"velocity": 200.0}, 1.25, 0.1

    def charged(off, **options):
        total, terms = costs(walk(speed=target + off), weights=weights, **options)
        assert terms["velocity"] == pytest.approx(abs(off))  # what is told stays the distance
        return total

    for off in (-0.02, 0.05, 0.0999, 0.1001, 0.3):
        near = abs(off) <= tolerance
        huber = off**2 / (2 * tolerance) if near else abs(off) - tolerance / 2
        assert charged(off, speed_tolerance=tolerance) == pytest.approx(200.0 * huber)
        assert charged(off) == pytest.approx(200.0 * abs(off))
    with pytest.raises(GaitError, match=r"speed tolerance is -0\.1 m/s"):
        WalkObjective(weights=weights, speed_tolerance=-0.1)


@given(
    lasted=st.floats(0.0, 9.9),
    longer=st.floats(0.01, 5.0),
    distance=st.floats(-3.0, 12.0),
    further=st.floats(0.01, 5.0),
)
def test_falling_later_or_further_is_strictly_better(lasted, longer, distance, further):
    objective = WalkObjective(weights={})

    def stage(time, x):
        return float(objective.stage_costs(np.array([time]), np.array([x]), 10.0)[0][0])

    later = min(lasted + longer, 10.0)
    assert stage(later, distance) < stage(lasted, distance)
    assert stage(lasted, distance + further) < stage(lasted, distance)


def test_progress_shows_from_the_first_steps_to_the_end():
    """Falls before the first step differ, and no jump ends the falls."""
    whole = costs(walk())[0]
    times = np.concatenate([np.arange(0.1, 1.0, 0.1), np.arange(1.0, 9.96, 0.25)])
    fallen = np.array([costs(cut(walk(), seconds))[0] for seconds in times])
    assert (np.diff(fallen) < 0.0).all()
    assert (np.diff(fallen[:10]) < -15.0).all()
    assert fallen[0] < INVALID
    almost = costs(cut(walk(), 9.99))[0]
    assert 0.0 < almost - whole < 2.0
    slow = [costs(cut(walk(speed=v), 4.0))[0] for v in (0.0, 0.3, 0.6, 0.9, 1.2)]
    assert (np.diff(slow) < 0.0).all()
    short = [costs(cut(walk(speed=v), 0.2))[0] for v in (-0.5, 0.0, 0.5, 1.0, 1.5)]
    assert (np.diff(short) < 0.0).all()


def test_the_time_asked_for_is_no_cliff():
    """A fall in the last instant costs what the walk costs, whatever its terms are."""
    for name, weight in {"velocity": 100.0, "pain": 5.0, "scuff": 1000.0, "trunk": 30.0}.items():
        poor = walk(speed=2.5)
        poor.frames[:, :, FRAME.index("torso_pitch")] = 1.2
        poor.frames[:, :, FRAME.index("limit_knee_r")] = 900.0
        total = costs(poor, weights={name: weight})[0]
        assert total <= weight * TERMS[name].worst
        almost = costs(cut(poor, 9.99), weights={name: weight})[0]
        assert abs(almost - total) < 1.0, name


@pytest.mark.parametrize("more", [0.001, 0.005, 0.009])
def test_a_time_of_no_whole_frames_is_no_fall(more):
    """The last frame comes before such a time is over."""
    total, terms = costs(walk(), duration=10.0)
    other, others = costs(walk(), duration=10.0 + more)
    assert others["survived"] == terms["survived"] == 1.0 and other == total
    assert costs(cut(walk(), 9.99), duration=10.0 + more)[1]["survived"] < 1.0


def test_standing_still_is_worse_than_falling_on_the_way():
    standing = walk(speed=0.0)
    standing.frames[:, :, FRAME.index("load_r")] = 0.5
    standing.frames[:, :, FRAME.index("load_l")] = 0.5
    assert costs(standing)[0] > costs(cut(walk(), 5.0))[0]


def test_walks_that_cannot_start_are_the_worst():
    records = replace(walk(), invalid={0: "the pose"}, length=np.array([0]))
    assert costs(records)[0] == INVALID > costs(cut(walk(speed=-2.0), 0.1))[0]
    heavy = dict.fromkeys(TERMS, 10000.0)
    backwards = costs(cut(walk(speed=-2.0), 0.1), weights=heavy)[0]
    assert costs(records, weights=heavy)[0] > backwards


def test_wrong_objectives():
    with pytest.raises(GaitError, match=r"unknown cost term 'efort'.*Did you mean 'effort'"):
        WalkObjective(weights={"efort": 1.0})
    with pytest.raises(GaitError, match="must not be negative"):
        WalkObjective(weights={"effort": -1.0})
    with pytest.raises(GaitError, match="requires a reference gait"):
        WalkObjective(weights=PRESETS["-kine"])
    with pytest.raises(GaitError, match="'timed' requires a reference gait"):
        WalkObjective(weights={"timed": 1.0})
    with pytest.raises(GaitError, match=r"the speed is 0.3 m/s; adults walk at 0.6 to 2 m/s"):
        WalkObjective(weights={"timed": 1.0}, reference=reference(), speed=0.3)
    with pytest.raises(GaitError, match="with activations"):
        WalkObjective(weights={"emg": 1.0}, reference=replace(reference(), emg={}))
    with pytest.raises(GaitError, match="unknown trunk error 'ref'"):
        WalkObjective(weights={}, trunk="ref")
    with pytest.raises(GaitError, match="unknown column 'soleus'"):
        walk().column("soleus")


@settings(deadline=None)  # compiled at the first call
@given(
    spells=st.lists(st.tuples(st.integers(1, 45), st.integers(1, 45)), min_size=1, max_size=12),
    begins=st.booleans(),
)
def test_strides_are_those_of_the_report(spells, begins):
    """Costs and reports mean the same by a stride, whatever the load does."""
    loads = [0.8 * ((k + begins) % 2) for pair in spells for k in range(2)]
    load = np.repeat(loads, [frames for pair in spells for frames in pair])
    records = walk(duration=len(load) / 100)
    names = (*FRAME, *records.muscles)
    for side in "rl":
        records.frames[0, :, names.index(f"load_{side}")] = load
    _, terms = costs(records)
    assert terms["strides"] == len(strides_of(load, 0, 0.01))


def test_a_load_that_lets_up_ends_no_stance():
    """Half a second after touch-down, which is long enough to be taken for a stride."""
    records = walk()
    whole = costs(records)[1]["strides"]
    names = (*FRAME, *records.muscles)
    for side in "rl":
        column = records.frames[0, :, names.index(f"load_{side}")]
        for down in np.flatnonzero((column[1:] > 0.1) & (column[:-1] <= 0.1)) + 1:
            column[down + 50 : down + 55] = 0.0
    assert costs(records)[1]["strides"] == whole


def test_walks_too_short_for_a_stride_differ_by_what_needs_none():
    """Else a search of short walks sees a plain, and ends as if it had converged."""
    found = [costs(cut(walk(activation=a), 0.5), 0.5)[0] for a in (0.1, 0.2, 0.4)]
    assert found[0] < found[1] < found[2]
    _, terms = costs(cut(walk(), 0.5), 0.5)
    assert terms["strides"] == 0.0
    known = ("effort", "velocity", "grf", "pain", "scuff", "metabolic")
    assert all(np.isfinite(terms[name]) for name in known)
    assert all(np.isnan(terms[name]) for name in ("symmetry", "kinematic", "emg", "trunk"))
    upright = costs(cut(walk(), 0.5), 0.5, trunk="zero_diff")[1]["trunk"]
    assert upright == pytest.approx(0.15)
    assert np.isnan(costs(cut(walk(), 0.01), 0.5)[1]["effort"])


@pytest.mark.parametrize("slope", [-10.0, 5.0, 10.0])
def test_a_metre_on_a_slope_is_one_along_the_ground(slope):
    """As the speed is told; what is spent for each metre and each second then fit together."""
    rate = 300.0
    records = walk()
    records.frames[0, :, FRAME.index("metabolic")] = MASS * rate * records.column("time")[0]
    level = costs(records, weights={})[1]
    assert level["metabolic"] == pytest.approx(rate / 1.25)
    rising = replace(records, frames=records.frames.copy(), level=False)
    grade = np.tan(np.deg2rad(slope))
    rising.frames[0, :, FRAME.index("z")] += grade * records.column("x")[0]
    terms = costs(rising, weights={})[1]
    assert terms["speed"] == pytest.approx(1.25 / np.cos(np.deg2rad(slope)))
    assert terms["metabolic"] * terms["speed"] == pytest.approx(terms["metabolic_rate"])
    assert terms["effort"] * terms["speed"] == pytest.approx(level["effort"] * level["speed"])


def test_a_pelvis_that_ends_higher_makes_no_distance_on_level_ground():
    records = walk()
    expected = costs(records, weights={})[1]["effort"]
    records.frames[0, :, FRAME.index("z")] += 0.02 * records.column("time")[0]
    assert costs(records, weights={})[1]["effort"] == expected
