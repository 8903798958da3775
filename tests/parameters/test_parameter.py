"""One unknown: values, bounds, scales, priors, moving off bounds."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import ParameterError
from trueup.parameters import Parameter, Prior


@pytest.mark.parametrize("value", [1.5, [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0, 4.0]]])
def test_values_flatten_restore_and_reset(value):
    param = Parameter("p", value, 0.0, 10.0)
    array = np.atleast_1d(np.array(value))
    assert param.shape == array.shape and param.size == array.size
    np.testing.assert_array_equal(param.as_vector(), array.ravel())
    moved = array.ravel() + 0.5
    param.update_from_vector(moved)
    np.testing.assert_array_equal(param.value, array + 0.5)
    np.testing.assert_array_equal(param.as_nominal_vector(), array.ravel())
    param.as_vector()[:] = -1  # a copy
    np.testing.assert_array_equal(param.as_vector(), moved)
    param.reset()
    np.testing.assert_array_equal(param.value, array)
    param.value[...] = 7.0  # and the nominal value is another array
    param.reset()
    np.testing.assert_array_equal(param.value, array)


def test_bounds_belong_to_each_element():
    param = Parameter("p", [1.0, 5.0], [0.0, 4.0], 9.0)
    lower, upper = param.get_bounds()
    assert lower.tolist() == [0, 4] and upper.tolist() == [9, 9]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((1.0, 2.0, 3.0), {}, "outside the bounds"),
        ((1.0, 3.0, 2.0), {}, "swap them"),
        (([1.0, 2.0], [0.0, 0.0, 0.0], 5.0), {}, "shape"),
        ((np.nan, 0.0, 1.0), {}, "not finite"),
        ((0.5, np.nan, 1.0), {}, "NaN"),
        ((0.5, 0.0, 1.0), {"scale": "log"}, "positive lower bounds"),
        (
            (0.5, 0.1, 1.0),
            {"scale": "logarithmic"},
            "unknown scale 'logarithmic'; available: linear, log",
        ),
        ((0.5, 0.1, np.inf), {"scale": "logit"}, "two finite bounds that differ"),
        ((0.5, 0.5, 0.5), {"scale": "logit"}, "two finite bounds that differ"),
        ((0.5, 0.1, 1.0), {"deviation": 0.0}, "deviation must be positive"),
        ((0.5, 0.1, 1.0), {"deviation": [0.1, 0.2]}, "deviation has shape"),
        ((0.5, 0.1, 1.0), {"target": "a/b/c", "modifier": print}, "one of them"),
    ],
)
def test_malformed_parameters_are_refused(arguments, options, words):
    with pytest.raises(ParameterError, match=words):
        Parameter("p", *arguments, **options)


@pytest.mark.parametrize(("mean", "sd"), [(1.0, 0.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_malformed_priors_are_refused(mean, sd):
    with pytest.raises(ParameterError, match="prior"):
        Prior(mean, sd)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ParameterError, match="2 elements, the vector has 3"):
        Parameter("p", [1.0, 2.0], 0, 9).update_from_vector([1, 2, 3])


@pytest.mark.parametrize("seed", range(10))
def test_samples_are_seeded_and_within_bounds(seed):
    param = Parameter("p", [1.0, 50.0], [0.5, 10.0], [2.0, 100.0])
    first, again = (param.sample(np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first >= param.min_value).all() and (first <= param.max_value).all()
    assert param.value.tolist() == [1.0, 50.0]  # sampling does not move it


def test_samples_of_a_log_scale_are_spread_over_decades():
    param = Parameter("p", np.full(2000, 1e-3), 1e-6, 1.0, scale="log")
    share = np.mean(param.sample(np.random.default_rng(0)) < 1e-3)
    assert 0.46 < share < 0.54


def test_an_unbounded_parameter_cannot_be_sampled():
    with pytest.raises(ParameterError, match="infinite bound"):
        Parameter("p", 1.0, 0.0, np.inf).sample()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, 0.5),  # at the lower bound
        (1e-8, 0.5),  # within a hair of it
        (10.0, 9.5),  # at the upper bound
        (10.0 - 1e-8, 9.5),
        (0.02, 0.02),  # just inside
        (4.0, 4.0),
    ],
)
def test_moving_off_bounds(value, expected):
    param = Parameter("p", value, 0.0, 10.0)
    param.move_off_bound()
    assert param.value[0] == pytest.approx(expected, abs=1e-12)


def test_moving_off_bounds_by_another_fraction_and_tolerance():
    param = Parameter("p", 0.4, 0.0, 10.0)
    param.move_off_bound(fraction=0.2, at_bound_tol=0.05)
    assert param.value[0] == pytest.approx(2.0)


def test_moving_off_bounds_of_a_mixed_vector():
    lower, upper = [0.0, 0.0, 3.0, -np.inf, 0.0], [1.0, 1.0, 3.0, 5.0, np.inf]
    param = Parameter("p", [0.0, 0.5, 3.0, 5.0, 0.0], lower, upper)
    param.move_off_bound()
    # bounds without width, and ranges without end, leave their elements
    np.testing.assert_allclose(param.value, [0.05, 0.5, 3.0, 5.0, 0.0])


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(0, 1))
def test_moving_off_bounds_stays_within_them_and_settles(lower, width, share):
    upper = lower + width
    param = Parameter("p", min(max(lower + share * width, lower), upper), lower, upper)
    param.move_off_bound()
    once = param.value.copy()
    assert lower <= once[0] <= upper
    param.move_off_bound()
    np.testing.assert_array_equal(param.value, once)


def test_copies_share_the_modifier_and_nothing_else():
    def modifier(spec, param):
        spec.append(param.value[0])

    param = Parameter("p", 1.0, 0.0, 2.0, modifier=modifier)
    twin = copy.deepcopy(param)
    twin.value[0] = 2.0
    assert param.value[0] == 1.0 and twin.modifier is modifier
    seen: list[float] = []
    twin.apply_modifier(seen)
    assert seen == [2.0]
    Parameter("q", 1.0, 0.0, 2.0).apply_modifier(seen)  # nothing to do
    assert seen == [2.0]


def test_elements_have_names_and_text_says_value_unit_and_bounds():
    assert Parameter("p", 1.0, 0, 2).element_names == ["p"]
    assert Parameter("p", [1.0, 2.0], 0, 2).element_names == ["p[0]", "p[1]"]
    assert Parameter("p", np.ones((1, 2)), 0, 2).element_names == ["p[0,0]", "p[0,1]"]
    assert str(Parameter("m", 1.25, 0, 2, unit="kg")) == "m: 1.25 kg in [0, 2]"
    assert "frozen" in str(Parameter("m", 1.25, 0, 2, frozen=True))
    assert "= other" in str(Parameter("m", 1.25, 0, 2, tied_to="other"))
