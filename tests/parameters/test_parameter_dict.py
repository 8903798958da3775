"""Sets of parameters: vectors of free elements, ties, tables of a batch."""

import numpy as np
import pytest

from trueup.errors import ParameterError
from trueup.parameters import Parameter, ParameterDict, Prior, Space
from trueup.parameters.space import LOGIT_REACH


@pytest.fixture
def parameters():
    made = ParameterDict()
    made.add(Parameter("a", 1.0, 0.0, 2.0, unit="kg"))
    made.add(Parameter("b", [3.0, 4.0], 0.0, 9.0, scale="linear"))
    made.add(Parameter("c", 5.0, 1.0, 9.0, frozen=True))
    made.add(Parameter("d", 0.5, 0.0, 2.0, tied_to="a"))
    made.add(Parameter("e", 0.1, 0.01, 1.0, scale="log", prior=Prior(0.1, 0.02)))
    made.apply_ties()
    return made


def test_vectors_hold_the_free_elements(parameters):
    assert parameters.size == 4
    np.testing.assert_array_equal(parameters.as_vector(), [1, 3, 4, 0.1])
    np.testing.assert_array_equal(parameters.as_vector(include_frozen=True), [1, 3, 4, 5, 0.1])
    assert parameters.get_non_frozen_parameter_names() == ["a", "b[0]", "b[1]", "e"]
    lower, upper = parameters.get_bounds()
    np.testing.assert_array_equal(lower, [0, 0, 0, 0.01])
    np.testing.assert_array_equal(upper, [2, 9, 9, 1])


def test_updates_leave_frozen_values_and_move_tied_ones(parameters):
    parameters.update_from_vector(np.array([1.5, 6, 7, 0.2]))
    assert parameters["c"].value[0] == 5
    assert parameters["d"].value[0] == 1.5
    assert parameters["b"].value.tolist() == [6, 7]
    parameters.reset()
    assert parameters["d"].value[0] == parameters["a"].value[0] == 1.0
    with pytest.raises(ParameterError, match=r"4 free elements, found 3: 'a', 'b\[0\]'"):
        parameters.update_from_vector(np.ones(3))


def test_a_table_of_a_batch_holds_every_parameter(parameters):
    X = np.array([[1.5, 6, 7, 0.2], [0.5, 2, 1, 0.3]])
    table = parameters.value_table(X)
    np.testing.assert_array_equal(table["a"], [[1.5], [0.5]])
    np.testing.assert_array_equal(table["b"], [[6, 7], [2, 1]])
    np.testing.assert_array_equal(table["c"], [[5], [5]])
    np.testing.assert_array_equal(table["d"], table["a"])
    np.testing.assert_array_equal(table["e"], [[0.2], [0.3]])


def test_the_space_of_the_free_elements(parameters):
    parameters["a"].value[:] = 7.0  # outside: a search starts on the bound
    space = parameters.space()
    assert space.names == ("a", "b[0]", "b[1]", "e")
    np.testing.assert_array_equal(space.start, [2, 3, 4, 0.1])
    assert space.log.tolist() == [False, False, False, True]
    assert space.units == ("kg", "", "", "")


def test_copies_are_deep(parameters):
    twin = parameters.copy()
    twin["a"].value[:] = 2.0
    assert parameters["a"].value[0] == 1.0


def test_moving_off_bounds_skips_frozen_ones_and_returns_the_set():
    made = ParameterDict()
    made.add(Parameter("a", 0.0, 0.0, 2.0))
    made.add(Parameter("b", 0.0, 0.0, 2.0, frozen=True))
    made.add(Parameter("c", 0.0, 0.0, 2.0, tied_to="a"))
    assert made.move_off_bounds() is made
    assert [p.value[0] for p in made.values()] == pytest.approx([0.1, 0.0, 0.1])


def test_random_draws(parameters):
    drawn = parameters.sample(np.random.default_rng(0))
    parameters.randomize(np.random.default_rng(0))
    np.testing.assert_array_equal(parameters.as_vector(), drawn)
    assert parameters["c"].value[0] == 5 and parameters["d"].value[0] == drawn[0]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Parameter("x", 1.0, 0, 2, tied_to="aa"), "does not exist.*Did you mean 'a'"),
        (Parameter("x", 1.0, 0, 2, tied_to="d"), "itself tied; tie both to 'a'"),
        (Parameter("x", 1.0, 0, 9, tied_to="b"), "has 2 elements, not 1"),
    ],
)
def test_broken_ties_are_refused(parameters, broken, words):
    parameters.add(broken)
    with pytest.raises(ParameterError, match=words):
        parameters.apply_ties()


def test_names_are_unique_and_near_names_are_suggested(parameters):
    with pytest.raises(ParameterError, match="exist already: 'a'"):
        parameters.update(ParameterDict({"a": Parameter("a", 1.0, 0, 2)}))
    with pytest.raises(KeyError, match="'b'"):
        parameters["bb"]
    parameters.update({"f": Parameter("f", 1.0, 0, 2)})
    assert list(parameters)[-1] == "f" and "f" in parameters and len(parameters) == 6


def test_a_parameter_takes_the_name_it_is_filed_under():
    made = ParameterDict({"mass": Parameter("m", 1.0, 0, 2)})
    assert made["mass"].name == "mass"
    assert made.get_non_frozen_parameter_names() == ["mass"]
    made["other"] = Parameter("o", 1.0, 0, 2)
    assert list(made.value_table(np.ones((1, 2)))) == ["mass", "other"]


def test_tables_for_reading(parameters):
    assert "frozen" in parameters.get_parameter_info()
    text = parameters.compare_parameters(
        np.array([1, 3, 4, 0.1]), np.array([1.5, 3, 4, 0.2]), np.array([1.4, 3, 4, 0.2])
    )
    assert "b[1]" in text and "1.5" in text and "RMS error: 0.05" in text
    with pytest.raises(ParameterError, match="identified values has 2"):
        parameters.compare_parameters(np.ones(4), np.ones(2))
    assert ParameterDict().get_parameter_info() == "No parameters."
    assert str(ParameterDict()) == "ParameterDict(empty)"


# --- search coordinates --------------------------------------------------------------------------


def _space():
    return Space(
        ("a", "b", "c"),
        np.array([0.0, 1e-6, -np.inf]),
        np.array([1.0, 1e3, np.inf]),
        np.array([0.5, 1.0, 0.0]),
        np.array([False, True, False]),
    )


def test_search_coordinates_are_logarithms_and_come_back():
    space = _space()
    x = np.random.default_rng(0).uniform([0, 1e-6, -5], [1, 1e3, 5], (50, 3))
    z = space.to_search(x)
    np.testing.assert_allclose(z[:, 1], np.log(x[:, 1]))
    np.testing.assert_allclose(space.from_search(z), x, rtol=1e-14)
    np.testing.assert_array_equal(space.slope(x)[:, 1], x[:, 1])


def test_points_on_a_bound_are_exactly_on_it():
    space = _space()
    lower, upper = space.search_bounds
    ends = space.from_search(np.stack([lower - 1, lower, upper, upper + 1]))
    np.testing.assert_array_equal(ends[:, 1], [1e-6, 1e-6, 1e3, 1e3])
    np.testing.assert_array_equal(ends[:, 0], [0, 0, 1, 1])
    # rounding of a step that ends on the bound
    inner = space.from_search(np.array([[1e-15, 0.0, 0.0], [1 - 1e-15, 0.0, 0.0]]))
    assert inner[:, 0].tolist() == [0.0, 1.0]


def test_what_lies_at_a_bound():
    space = _space()
    assert space.at_bound(np.array([0.0005, 1.0, 1e9])).tolist() == [True, False, False]
    # a thousandth of the nine decades of a log range
    assert space.at_bound(np.array([0.5, 1.02e-6, 0.0])).tolist() == [False, True, False]


def test_fields_of_another_length_are_refused():
    with pytest.raises(ParameterError, match="lower has shape"):
        Space(("a",), np.zeros(2), np.ones(1), np.ones(1), np.zeros(1, bool))


def _logit_space():
    return Space(
        ("share", "plain"),
        np.array([0.1, -np.inf]),
        np.array([0.9, np.inf]),
        np.array([0.3, 0.0]),
        np.zeros(2, bool),
        logit=np.array([True, False]),
    )


def test_a_logit_scale_comes_back_and_reaches_its_bounds():
    space = _logit_space()
    x = np.stack([np.linspace(0.1, 0.9, 41), np.linspace(-3, 3, 41)], axis=1)
    z = space.to_search(x)
    np.testing.assert_allclose(space.from_search(z), x, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(z[:, 1], x[:, 1])
    assert z[20, 0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(z[[0, -1], 0], [-LOGIT_REACH, LOGIT_REACH])
    np.testing.assert_array_equal(space.from_search(z)[[0, -1], 0], [0.1, 0.9])
    outside = space.from_search(np.array([[-50.0, 1.0], [50.0, 1.0]]))
    assert outside[:, 0].tolist() == [0.1, 0.9]


def test_the_ends_of_a_logit_scale_have_more_room():
    space = _logit_space()
    x = np.array([[0.1008, 0.0], [0.101, 0.0], [0.5, 0.0], [0.5002, 0.0]])
    z = space.to_search(x)[:, 0]
    assert z[1] - z[0] > 50 * (z[3] - z[2])


def test_slopes_agree_with_finite_differences():
    space = _logit_space()
    z = np.stack([np.linspace(-6, 6, 13), np.linspace(-6, 6, 13)], axis=1)
    steps = (space.from_search(z + 1e-6) - space.from_search(z - 1e-6)) / 2e-6
    np.testing.assert_allclose(space.slope(space.from_search(z)), steps, rtol=1e-7)


def test_scales_and_deviations_of_parameters_reach_the_space():
    made = ParameterDict()
    made.add(Parameter("a", [0.5, 0.6], 0.0, 1.0, scale="logit", deviation=[0.1, 0.2]))
    made.add(Parameter("b", 1.0, 0.1, 2.0, scale="log"))
    made.add(Parameter("c", 1.0, 0.1, 2.0, frozen=True, deviation=3.0))
    space = made.space()
    assert space.logit is not None and space.logit.tolist() == [True, True, False]
    assert space.log.tolist() == [False, False, True] and not space.is_linear
    assert space.deviation is not None
    np.testing.assert_array_equal(space.deviation, [0.1, 0.2, np.nan])
    made["a"].deviation = None
    assert made.space().deviation is None


def test_a_space_is_on_one_scale_only():
    with pytest.raises(ParameterError, match="a log and a logit scale"):
        Space(
            *(("a",), np.zeros(1), np.ones(1), np.ones(1), np.ones(1, bool)),
            logit=np.ones(1, bool),
        )
    with pytest.raises(ParameterError, match="deviation has shape"):
        Space(("a",), *([np.ones(1)] * 3), np.zeros(1, bool), deviation=np.ones(2))
