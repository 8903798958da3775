"""Identifiability: which combinations are undetermined, as numbers and in words."""

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting.judgement.identifiability import analyse
from trueup.fitting.judgement.identifiability_words import by_vector

RNG = np.random.default_rng(0)
A, B, C, D = RNG.standard_normal((4, 400))


def cart(mass, gear):
    """Jacobian of a cart's velocity, which depends on force gain over mass alone."""
    rounding = 1.0 + 1e-8 * RNG.standard_normal((400, 3))
    columns = np.column_stack([-gear / mass**2 * A, B, A / mass])
    return columns * rounding


@pytest.mark.parametrize("as_information", [False, True])
@pytest.mark.parametrize(("mass", "gear"), [(3.5, 5.25), (2.0, 3.0)])
def test_the_cart_gives_mass_and_gear_only_as_their_ratio(mass, gear, as_information):
    jacobian = cart(mass, gear)
    found = analyse(
        jacobian.T @ jacobian if as_information else jacobian,
        np.array([mass, 2.0, gear]),
        ["mass", "damping", "gear"],
    )
    assert not found.identifiable
    assert found.determined == ("damping",)
    (direction,) = found.directions
    assert direction.raw["mass"] / direction.raw["gear"] == pytest.approx(2.0 / 3.0, rel=1e-2)
    assert direction.coefficients == pytest.approx({"mass": 1.0, "gear": 1.0}, rel=1e-2)
    assert direction.sentence == (
        "mass and gear can only be determined as their ratio: increasing both by 1 % has no effect "
        "on the recorded signals"
    )
    assert "the recorded signals determine damping" in found.sentences
    assert found.condition == np.inf
    assert found.correlation[0, 2] == pytest.approx(1.0)
    assert found.correlation[0, 1] == 0.0


def test_two_groups_of_the_cart_determine_both():
    jacobian = np.concatenate([cart(2.0, 3.0), np.column_stack([-3.0 / 9.0 * C, D, C / 3.0])])
    found = analyse(jacobian, np.array([2.0, 2.0, 3.0]), ["mass", "damping", "gear"])
    assert found.identifiable
    assert found.directions == ()
    assert 1.0 < found.condition < 1e4


@pytest.mark.parametrize(
    ("columns", "values", "words"),
    [
        ([A, A], [1.0, 3.0], "their sum: increasing a and decreasing b by the same amount"),
        ([A, -A], [1.0, 3.0], "their difference: increasing both by the same amount"),
        ([3 * A, A], [1.0, 3.0], "their product: increasing a by 1 % and decreasing b by 1 %"),
        ([-3 * A, A], [1.0, 3.0], "their ratio: increasing both by 1 %"),
        ([-3 * A, -A], [1.0, -3.0], "their ratio: increasing both by 1 %"),
        ([A, -A], [2.0, 2.0], "their ratio (or, near these values, their difference)"),
        ([6 * A, A], [1.0, 3.0], "a x sqrt(b): increasing a by 0.5 % and decreasing b by 1 %"),
        ([-1.5 * A, A], [1.0, 3.0], "a / b^2: increasing a by 1 % and increasing b by 0.5 %"),
        (
            [6.9 * A, A],
            [1.0, 3.0],
            "not distinguishable: increasing a by 0.43 % and decreasing b by 1",
        ),
    ],
)
def test_pairs_in_words(columns, values, words):
    found = analyse(np.column_stack(columns), np.array(values), ["a", "b"])
    (direction,) = found.directions
    assert words in direction.sentence
    assert "no effect on the recorded" in direction.sentence
    # The direction leaves the prediction alone, whatever the words.
    change = np.column_stack(columns) @ [direction.raw["a"], direction.raw["b"]]
    assert np.abs(change).max() < 1e-9


def test_three_parameters_and_several_directions():
    jacobian = np.column_stack([A, B, -A - B, C, -2 * C, D])
    names = ["a", "b", "c", "d", "e", "f"]
    found = analyse(jacobian, np.ones(6), names)
    assert [set(d.coefficients) for d in found.directions] in (
        [{"a", "b", "c"}, {"d", "e"}],
        [{"d", "e"}, {"a", "b", "c"}],
    )
    assert found.determined == ("f",)
    assert any("a, b and c can only be determined as their ratios" in s for s in found.sentences)
    for direction in found.directions:
        change = sum(v * jacobian[:, names.index(k)] for k, v in direction.raw.items())
        assert np.abs(change).max() < 1e-9


def test_a_parameter_without_effect_has_its_own_sentence():
    found = analyse(np.column_stack([A, 0 * A]), np.ones(2), ["mass", "idle"])
    assert found.no_effect == ("idle",)
    assert found.directions == ()
    assert found.determined == ("mass",)
    assert found.sentences[0].startswith("idle has no effect on the recorded signals")
    nothing = analyse(np.zeros((10, 2)), np.ones(2), ["a", "b"])
    assert nothing.no_effect == ("a", "b")
    assert np.isfinite(nothing.variance_shares).all()


def test_values_near_zero_are_scaled_by_their_range():
    found = analyse(
        np.column_stack([A, A]), np.array([0.0, 2.0]), ["offset", "b"], [-4.0, 0.0], [4.0, 5.0]
    )
    (direction,) = found.directions
    assert direction.coefficients["offset"] == pytest.approx(0.25)
    assert direction.raw["offset"] == pytest.approx(-direction.raw["b"])
    assert "their sum" in direction.sentence


def test_units_do_not_decide():
    jacobian = np.column_stack([A, 0.5 * A + B])
    plain = analyse(jacobian, np.ones(2))
    scaled = analyse(jacobian * [1e-8, 1e8], np.array([1e8, 1e-8]))
    assert scaled.identifiable
    np.testing.assert_allclose(scaled.singular_values, plain.singular_values)
    assert scaled.collinearity == pytest.approx(plain.collinearity)


def test_collinearity_is_that_of_the_definition():
    cosine = 0.96
    unit = np.linalg.qr(np.column_stack([A, B]))[0]
    jacobian = np.column_stack(
        [unit[:, 0], cosine * unit[:, 0] + np.sqrt(1 - cosine**2) * unit[:, 1]]
    )
    found = analyse(jacobian * 7.0, np.ones(2), ["a", "b"])
    assert found.collinearity == pytest.approx(1.0 / np.sqrt(1.0 - cosine))
    (pair,) = found.pairs
    assert pair.collinearity == pytest.approx(found.collinearity)
    assert pair.correlation == pytest.approx(-cosine)
    assert "correlated by -0.960" in found.sentences[0]


def test_a_value_near_zero_is_uncertain_in_its_unit_not_in_percent():
    covariance = np.diag([0.5**2, 0.01**2])
    (weak,) = analyse(
        np.column_stack([A, B]), np.array([0.002, 1.0]), ["a", "b"], covariance=covariance
    ).weak
    assert weak.sentence.endswith("a is uncertain by ± 0.98, more than its value")
    assert "%" not in weak.sentence


def test_elements_of_a_vector_are_listed_once():
    names = ["mass", "link[0]", "link[3]", "other[1]"]
    assert by_vector(names) == ["mass", "link (2 elements)", "other[1]"]


def test_weak_directions_follow_the_covariance():
    jacobian = np.column_stack([A, B])
    covariance = np.diag([0.5**2, 0.01**2])
    found = analyse(jacobian, np.ones(2), ["a", "b"], covariance=covariance)
    (weak,) = found.weak
    assert weak.coefficients == {"a": 1.0}
    assert weak.uncertainty == pytest.approx(0.98)
    assert "a is uncertain by 98 % of its value" in weak.sentence
    assert found.identifiable
    together = np.array([[1.0, -0.999], [-0.999, 1.0]])
    (weak,) = analyse(jacobian, np.ones(2), ["a", "b"], covariance=together).weak
    assert set(weak.coefficients) == {"a", "b"}
    assert analyse(jacobian, np.ones(2), covariance=np.diag([1e-4, 1e-4])).weak == ()


def test_weak_directions_without_noise_compare_with_the_best():
    found = analyse(np.column_stack([A, 1e-4 * B]), np.ones(2), ["a", "b"])
    assert [set(w.coefficients) for w in found.weak] == [{"b"}]
    assert found.weak[0].uncertainty is None


def test_variance_shares_add_up_and_point_at_the_weakest():
    found = analyse(np.column_stack([A, A + 1e-3 * B, C]), np.ones(3))
    np.testing.assert_allclose(found.variance_shares.sum(axis=1), 1.0)
    assert (found.variance_shares[:2, -1] > 0.99).all()
    assert found.variance_shares[2, -1] < 0.5


def test_all_well():
    found = analyse(np.column_stack([A, B]), np.array([1.0, 2.0]), ["a", "b"])
    assert found.identifiable
    assert found.sentences == (
        "every parameter can be determined individually from the recorded signals",
    )


def test_wrong_arguments_are_named():
    with pytest.raises(FitError, match="give \\(residuals, parameters\\)"):
        analyse(np.zeros(4), np.ones(1))
    with pytest.raises(FitError, match="not finite"):
        analyse(np.full((4, 1), np.nan), np.ones(1))
    with pytest.raises(FitError, match="2 columns of the Jacobian, found 1 values and 2 names"):
        analyse(np.zeros((4, 2)), np.ones(1))
    with pytest.raises(FitError, match="must be square"):
        analyse(np.zeros((4, 2)), np.ones(2), is_information=True)
    with pytest.raises(FitError, match=r"bounds have shapes \(3,\) and \(2,\), expected \(2,\)"):
        analyse(np.ones((4, 2)), np.ones(2), lower=np.ones(3))
