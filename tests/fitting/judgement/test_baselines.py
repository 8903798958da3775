"""Baselines over plain arrays, and the comparison of a result with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueup.errors import FitError
from trueup.fitting.judgement import baselines

TABLES = st.integers(1, 3).flatmap(
    lambda channels: st.lists(
        st.integers(2, 12).flatmap(
            lambda n: arrays(float, (n, channels), elements=st.floats(-1e3, 1e3))
        ),
        min_size=1,
        max_size=3,
    )
)


def test_a_constant_is_the_mean_of_what_was_seen():
    a, b = np.array([[1.0], [3.0]]), np.array([[100.0], [200.0]])
    first, second = baselines.constant([a, b], [False, True])
    assert np.all(first == 2.0) and np.all(second == 2.0) and second.shape == b.shape
    assert np.all(baselines.constant([np.array([[np.nan], [4.0]])])[0] == 4.0)


def test_a_constant_for_a_part_of_what_was_seen_is_the_mean_of_the_rest():
    whole = np.array([[1.0, np.nan], [3.0, 5.0], [8.0, 7.0], [10.0, np.nan]])
    other = np.array([[2.0, 9.0]])
    held = [False, False, True, True]
    found = baselines.constant([whole, other, whole[2:], other], held, held)
    assert np.all(found[2] == [2.0, 7.0]) and found[2].shape == (2, 2)
    assert np.all(found[3] == [5.5, 6.0])
    assert np.all(found[0] == [4.8, 7.0])
    # nothing else was seen: no sample to take a mean of
    assert np.all(baselines.constant([other, other], [False, True], [False, True])[1] == 0.0)


def test_a_constant_needs_something_to_learn_from():
    with pytest.raises(FitError, match="held out"):
        baselines.constant([np.ones((3, 1))], [True])


def test_a_state_is_held_through_each_window():
    x = np.arange(10.0)[:, None]
    assert baselines.state_held([x])[0][:, 0].tolist() == [0.0] * 10
    windows = baselines.state_held([x], 4)[0][:, 0]
    assert windows.tolist() == [0, 0, 0, 0, 3, 3, 3, 3, 7, 7]
    starts = baselines.state_held([x, x], [np.array([5]), np.array([])])
    assert starts[0][:, 0].tolist() == [0] * 5 + [4] * 5
    assert starts[1][:, 0].tolist() == [0] * 10


def test_a_state_that_was_not_measured_is_the_last_one_before_it():
    x = np.arange(10.0)[:, None]
    x[2:4] = np.nan
    assert baselines.state_held([x], 4)[0][4, 0] == 1.0
    x[:4] = np.nan
    assert baselines.state_held([x], 4)[0][4, 0] == 4.0


def test_a_held_velocity_continues_a_straight_line_exactly():
    t = np.cumsum([0.0, 0.1, 0.2, 0.1, 0.3, 0.1, 0.1])
    x = np.stack([2.0 * t + 1.0, -t], axis=1)
    for window in (None, 3):
        np.testing.assert_allclose(baselines.velocity_held([x], [t], window)[0], x, atol=1e-12)
    speeds = np.tile([2.0, -1.0], (len(t), 1))
    np.testing.assert_allclose(baselines.velocity_held([x], [t], 3, [speeds])[0], x, atol=1e-12)


def test_a_linear_model_is_exact_where_the_data_are_linear():
    random = np.random.default_rng(1)
    inputs = [random.normal(size=(20, 2)) * [1.0, 1e6] for _ in range(2)]
    outputs = [z @ np.array([[1.0, -2.0], [3e-6, 0.0]]) + [5.0, 0.1] for z in inputs]
    outputs[0][3] = np.nan  # a gap is left out
    seen, unseen = baselines.linear(outputs, inputs, [False, True])
    np.testing.assert_allclose(unseen, outputs[1], rtol=1e-9)
    assert np.isfinite(seen).all()


def test_a_linear_model_learns_from_what_was_seen_only():
    x = [np.ones((4, 1)), 9.0 * np.ones((4, 1))]
    z = [np.arange(4.0), np.arange(4.0)]
    np.testing.assert_allclose(baselines.linear(x, z, [False, True])[1], 1.0)


@given(TABLES)
def test_predictions_have_the_shapes_of_the_recordings(measured):
    times = [np.linspace(0.0, 1.0, len(m)) for m in measured]
    for guess in (
        baselines.constant(measured),
        baselines.state_held(measured, 3),
        baselines.velocity_held(measured, times, 3),
        baselines.linear(measured, [m[:, :1] for m in measured]),
    ):
        assert [g.shape for g in guess] == [m.shape for m in measured]
        assert all(np.isfinite(g).all() for g in guess)


@given(TABLES, st.sampled_from(baselines.MEASURES))
def test_the_truth_has_no_error_and_every_baseline_its_own(measured, measure):
    rivals = {baselines.CONSTANT: baselines.constant(measured)}
    for c in baselines.compare(measured, measured, rivals, measure=measure):
        assert c.error == 0.0
        assert c.ratio(baselines.CONSTANT) <= 1.0


def test_errors_are_those_of_the_samples_that_were_measured():
    truth = [np.array([[0.0, 1.0], [np.nan, 1.0]]), np.array([[2.0, 1.0]])]
    guess = [np.array([[3.0, 1.0], [99.0, 1.0]]), np.array([[2.0, np.nan]])]
    rivals = {"zero": [np.zeros((2, 2)), np.zeros((1, 2))]}
    unseen = baselines.compare(truth, guess, rivals, [False, True], ["q", "v"], units=["rad", ""])
    assert [(c.channel, c.held_out) for c in unseen] == [
        ("q", True), ("v", True), ("q", False), ("v", False),
    ]  # fmt: skip
    q, v, seen, _ = unseen
    assert (q.error, q.baselines["zero"], q.unit) == (0.0, 2.0, "rad")
    assert v.error == np.inf
    assert (seen.error, seen.baselines["zero"]) == (3.0, 0.0)
    mean = baselines.compare(truth, guess, rivals, measure="MAE")
    assert mean[0].error == 1.5 and mean[0].measure == "MAE"


def test_a_channel_that_was_never_measured_is_left_out():
    truth = np.array([[1.0, np.nan], [2.0, np.nan]])
    found = baselines.compare([truth], [np.zeros((2, 2))], {}, channels=["q", "load"])
    assert [c.channel for c in found] == ["q"]


def test_differences_below_the_rounding_of_a_channel_count_as_equal():
    truth = np.full((5, 1), 0.3)
    rivals = {baselines.CONSTANT: baselines.constant([truth])}
    (c,) = baselines.compare([truth], [truth + 1e-8], rivals)
    assert c.ratio(baselines.CONSTANT) == 1.0
    (c,) = baselines.compare([truth], [truth + 1e-4], rivals, resolution=1e-3)
    assert c.ratio(baselines.CONSTANT) == 1.0


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda x: baselines.compare([x], [x[1:]], {}), "same samples"),
        (lambda x: baselines.compare([x], [x], {}, [True, False]), "2 entries"),
        (lambda x: baselines.compare([x], [x], {}, channels=["a", "b", "c"]), "3 names"),
        (lambda x: baselines.compare([x], [x], {}, measure="R2"), "R2"),
        (lambda x: baselines.compare([], [], {}), "for each recording"),
        (lambda x: baselines.state_held([x], 0), "at least one sample"),
        (lambda x: baselines.velocity_held([x], [np.zeros(2)]), "4 samples"),
        (lambda x: baselines.linear([x], [x[1:]]), "one row per sample"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(broken, words):
    with pytest.raises(FitError, match=words):
        broken(np.zeros((4, 2)))


def test_a_baseline_that_is_better_by_chance_beats_nothing():
    """A tie: one of two predictions is always the better one, in a few samples of its noise."""
    rng = np.random.default_rng(0)
    measured = np.sin(np.linspace(0, 20, 1000))[:, None] + 0.01 * rng.normal(size=(1000, 2))
    small = 1e-4 * np.sin(np.linspace(0, 50, 1000))[:, None]
    clean = np.repeat(np.sin(np.linspace(0, 20, 1000))[:, None], 2, axis=1)
    for sign in (1.0, -1.0):
        rivals = {"the model before the fit": [clean - sign * small], "a constant": [0 * clean]}
        for each in baselines.compare([measured], [clean + sign * small], rivals):
            assert each.beaten_by == ()
    assert any(
        each.ratio("the model before the fit") > 1.0
        for sign in (1.0, -1.0)
        for each in baselines.compare(
            [measured], [clean + sign * small], {"the model before the fit": [clean - sign * small]}
        )
    )
    # an error of half the noise in one channel is seen there
    wrong = clean + 0.005 * np.array([1.0, 0.0])
    found = baselines.compare([measured], [wrong], {"the model before the fit": [clean]})
    assert [each.beaten_by for each in found] == [("the model before the fit",), ()]
