"""Attribution where every fit has a closed form: what is found, and what must not matter."""

import itertools

import numpy as np
import pytest
from linear_log import NOISE, linear_log

from trueup.explain.attribution import attribute
from trueup.explain.elimination import eliminated
from trueup.explain.fits import ALL, MODEL, key_of
from trueup.explain.held_out import held_out_fit
from trueup.parameters import Space
from trueup.sysid.causes.freed import Freed, FreedFit, fit_freed, space_of

CAUSES = {"delay": [0], "gains": [1], "friction": [2, 3], "limits": [4]}


def closed_form(log, columns):
    """Least-squares values of some unknowns, and half the squared residual that they leave."""
    problem = log.training
    matrix = problem.matrix.reshape(-1, len(log.names)) / NOISE
    measured = problem.measured.ravel() / NOISE
    found = np.zeros(len(log.names))
    found[columns] = np.linalg.lstsq(matrix[:, columns], measured, rcond=None)[0]
    return found, 0.5 * np.sum((matrix @ found - measured) ** 2)


@pytest.fixture(scope="module")
def one():
    return attribute(linear_log(CAUSES, [0.0, 0.4, 0.0, 0.0, 0.0]))


@pytest.fixture(scope="module")
def two():
    return attribute(linear_log(CAUSES, [0.3, 0.0, 0.2, -0.3, 0.0]))


def test_the_cause_at_work_is_named(one, two):
    assert one.chosen == ["gains"] and one.together == {"gains": []}
    assert sorted(two.chosen) == ["delay", "friction"]
    assert all(own == [] for own in two.together.values())


def test_fits_are_those_of_least_squares(one, two):
    for found in (one, two):
        for fit in found.fits.values():
            columns = np.concatenate([found.log.columns[c] for c in fit.causes])
            values, cost = closed_form(found.log, columns)
            # they stop where a step would bring less than 1e-4 of the cost
            assert cost * (1 - 1e-12) <= fit.cost <= cost * (1 + 3e-4)  # and rounding
            if set(found.chosen) <= set(fit.causes):
                np.testing.assert_allclose(fit.x, values, atol=3e-3)


def test_values_at_work_are_found(one, two):
    np.testing.assert_allclose(one.fit_of(["gains"]).x, [0, 0.4, 0, 0, 0], atol=3e-3)
    found = two.fit_of(two.chosen).x
    np.testing.assert_allclose(found, [0.3, 0, 0.2, -0.3, 0], atol=3e-3)


def test_more_freedom_never_fits_worse(one, two):
    for found in (one, two):
        fits = list(found.fits.values())
        for fewer, more in itertools.permutations(fits, 2):
            if set(fewer.causes) < set(more.causes):
                assert more.cost <= fewer.cost * (1 + 1e-6)
        assert found.all_free is None  # nothing is left for a fit of all


def test_nothing_is_named_where_there_is_no_gap():
    for seed in range(3):
        found = attribute(linear_log(CAUSES, [0.0] * 5, seed=seed))
        assert found.chosen == [] and found.training_gap() == pytest.approx(1.0, abs=0.1)


def test_a_gap_is_so_many_times_noise(one):
    """Noise of a channel is half the mean square of its changes between samples."""
    error = one.log.training.measured / NOISE
    noise = np.sum(np.mean(np.diff(error, axis=0) ** 2, axis=0) / 2.0)
    assert one.training_gap() == pytest.approx(np.sqrt(np.sum(np.mean(error**2, axis=0)) / noise))


def test_a_cause_without_effect_is_no_cause():
    def still(matrix):
        return matrix * np.array([1.0, 1.0, 0.0, 0.0, 1.0])

    found = attribute(linear_log(CAUSES, [0.3, 0.0, 0.0, 0.0, 0.0], still))
    assert found.acting == ["delay", "gains", "limits"]
    idle = found.fit_of(["friction"])
    assert not idle.acts and np.array_equal(idle.x, found.log.start)
    assert found.chosen == ["delay"] and found.ranking[-1] == "friction"
    assert found.all_free is None and "friction" not in found.chances


def test_causes_of_which_none_acts_leave_the_model():
    found = attribute(linear_log(CAUSES, [0.0] * 5, lambda matrix: 0.0 * matrix))
    assert found.chosen == [] and found.acting == []
    assert found.all_free is None


def test_causes_that_act_alike_are_named_together():
    def alike(matrix):
        matrix[:, :, 4] = -2.0 * matrix[:, :, 1]
        return matrix

    found = attribute(linear_log(CAUSES, [0.0, 0.4, 0.0, 0.0, 0.0], alike))
    (first,) = found.chosen
    assert {first, *found.together[first]} == {"gains", "limits"}
    assert set(found.ranking[:2]) == {"gains", "limits"}
    assert sorted(found.ranking) == sorted(CAUSES)


def test_a_cause_that_imitates_two_others_is_dropped_for_them():
    """It is found first, as it explains more than either, and not as much as both."""

    def imitating(matrix):
        matrix[:, :, 1] = matrix[:, :, 0] + 0.8 * matrix[:, :, 4] + 0.3 * matrix[:, :, 1]
        return matrix

    found = attribute(linear_log(CAUSES, [0.4, 0.0, 0.0, 0.0, 0.4], imitating))
    single = {cause: found.fit_of([cause]).cost for cause in CAUSES}
    assert min(single, key=lambda cause: single[cause]) == "gains"
    assert sorted(found.chosen) == ["delay", "limits"]


def test_neither_names_nor_their_order_matter(two):
    truth = [0.3, 0.0, 0.2, -0.3, 0.0]
    for order in ([3, 1, 0, 2], [2, 3, 1, 0]):
        names = [list(CAUSES)[k] for k in order]
        renamed = {f"z{k}_{name}": CAUSES[name] for k, name in enumerate(names)}
        found = attribute(linear_log(renamed, truth))
        assert [c.split("_")[1] for c in found.chosen] == two.chosen
        x = found.fit_of(found.chosen).x
        np.testing.assert_allclose(x, two.fit_of(two.chosen).x, atol=2e-4)


def test_units_of_the_unknowns_do_not_matter(two):
    units = np.array([1e-3, 1.0, 1e3, 10.0, 1e-6])
    found = attribute(linear_log(CAUSES, [0.3, 0.0, 0.2, -0.3, 0.0], units=units))
    assert found.chosen == two.chosen
    x = found.fit_of(found.chosen).x / units
    np.testing.assert_allclose(x, two.fit_of(two.chosen).x, atol=2e-4)
    for cause, chance in found.chances.items():
        assert chance == pytest.approx(two.chances[cause], abs=1e-3)


def test_a_mirrored_truth_has_the_mirrored_values(one):
    log = linear_log(CAUSES, [0.0, -0.4, 0.0, 0.0, 0.0])
    for part, other in ((log.training, one.log.training), (log.held_out, one.log.held_out)):
        part.measured = -other.measured
    found = attribute(log)
    assert found.chosen == one.chosen
    np.testing.assert_allclose(found.fit_of(["gains"]).x, -one.fit_of(["gains"]).x, atol=2e-4)


def test_fits_that_were_made_are_not_made_again(two):
    seen, shares = [], []
    again = attribute(
        two.log, fits=two.fits, on_fit=seen.append, progress=lambda _, share: shares.append(share)
    )
    assert seen == [] and all(0.0 <= share <= 1.0 for share in shares)
    assert again.chosen == two.chosen and again.ranking == two.ranking
    few = {key: two.fits[key] for key in ("delay", "gains")}
    attribute(two.log, fits=few, on_fit=lambda fits: seen.append(len(fits)),
              progress=lambda _, share: shares.append(share))  # fmt: skip
    assert seen[0] == 3 and seen == sorted(seen)
    assert all(0.0 <= share <= 1.0 for share in shares)


def test_keys_know_no_order():
    assert key_of(["b", "a"]) == key_of(["a", "b"]) == "a + b"
    assert key_of([]) == MODEL != ALL


# --- one fit -------------------------------------------------------------------------------------


def test_what_is_not_freed_stays():
    log = linear_log(CAUSES, [0.3, 0.4, 0.0, 0.0, 0.1])
    at = np.array([0.2, 0.0, 0.0, 0.0, 0.1])
    fit = fit_freed(log.training, ["gains"], np.array([1]), np.zeros(0, int), at, log.guesses)
    assert fit.causes == ("gains",) and fit.acts and fit.evaluations > 5
    np.testing.assert_array_equal(np.delete(fit.x, 1), np.delete(at, 1))
    rest = log.training.measured - log.training.matrix @ at
    column = log.training.matrix[:, :, 1]
    assert fit.x[1] == pytest.approx(np.sum(column * rest) / np.sum(column**2), abs=1e-4)


def test_elements_that_every_fit_frees_are_freed_along():
    log = linear_log(CAUSES, [0.3, 0.4, 0.0, 0.0, 0.0])
    args = (log.training, ["gains"], np.array([1]), np.array([0]), log.start, log.guesses)
    values, cost = closed_form(log, [0, 1])
    fit = fit_freed(*args)
    np.testing.assert_allclose(fit.x, values, atol=2e-4)
    assert fit.cost == pytest.approx(cost, rel=1e-3)


def test_a_guess_is_looked_at():
    """Beyond a hill of the error, where no slope leads."""
    log = linear_log({"delay": [0]}, [4.0])
    problem = log.training
    blocks = problem.residual_blocks

    def hilly(X, failures):
        moved = X.copy()
        moved[:, 0] = np.where(X[:, 0] < 3.5, -np.abs(X[:, 0]), X[:, 0])
        return blocks(moved, failures)

    problem.residual_blocks = hilly
    args = (problem, ["delay"], np.array([0]), np.zeros(0, int), np.zeros(1))
    assert abs(fit_freed(*args, [()]).x[0] - 4.0) > 0.5
    assert fit_freed(*args, [(3.8,)]).x[0] == pytest.approx(4.0, abs=0.01)


def test_the_values_of_all_elements_hold_the_free_ones_in_their_places():
    log = linear_log(CAUSES, [0.0] * 5)
    freed = Freed(log.training, np.array([1, 3]), np.arange(5.0))
    np.testing.assert_array_equal(freed.complete([[8.0, 9.0]]), [[0.0, 8.0, 2.0, 9.0, 4.0]])
    assert freed.space.names == ("x1", "x3") and freed.residual_size == log.training.data_rows
    np.testing.assert_array_equal(
        freed.residuals([[8.0, 9.0]]), log.training.residuals([[0.0, 8.0, 2.0, 9.0, 4.0]])
    )


def test_a_part_of_a_box_keeps_all_that_its_elements_have():
    whole = Space(
        tuple("abcd"), np.array([0.1, -1.0, 0.0, 2.0]), np.array([9.0, 1.0, 5.0, 3.0]),
        np.array([1.0, 0.0, 1.0, 2.5]), np.array([True, False, False, False]),
        units=("kg", "m", "s", "N"), together=np.array([0, 3, 1, 3]),
        logit=np.array([False, False, False, True]), deviation=np.array([0.1, 0.2, 0.3, 0.4]),
    )  # fmt: skip
    part = space_of(whole, np.array([0, 1, 3]), np.array([20.0, 0.5, 1.0, 2.7]))
    assert part.names == ("a", "b", "d") and part.units == ("kg", "m", "N")
    # a start beyond the box is moved to its edge; groups keep their members
    np.testing.assert_array_equal(part.start, [9.0, 0.5, 2.7])
    np.testing.assert_array_equal(part.together, [0, 1, 1])
    assert part.log.tolist() == [True, False, False]
    assert part.logit.tolist() == [False, False, True]
    np.testing.assert_array_equal(part.deviation, [0.1, 0.2, 0.4])


def test_a_fit_comes_back_from_its_plain_data(two):
    for fit in two.fits.values():
        again = FreedFit.from_dict(fit.to_dict())
        assert again.to_dict() == fit.to_dict() and np.array_equal(again.x, fit.x)


def test_a_fit_that_fails_has_an_infinite_error():
    log = linear_log(CAUSES, [0.0] * 5)
    none = np.zeros(0, int)
    fine, bad = (held_out_fit(log.held_out, np.full(5, v), none) for v in (0.0, 1e9))
    assert not fine.failed and np.isfinite(fine.square)
    assert bad.failed and bad.square == np.inf and np.isfinite(bad.residuals[0]).all()


# --- elimination ---------------------------------------------------------------------------------


def alike(matrix):
    """Columns that share most of what they do: what is dropped is made up for by others."""
    return matrix + 2.0 * matrix.mean(axis=2, keepdims=True)


@pytest.mark.parametrize("change", [None, alike], ids=["apart", "alike"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_dropped_costs_least_of_all(seed, change):
    """Where the motion is linear, the price of a cause is what its loss costs a new fit."""
    truth = np.random.default_rng(seed).normal(scale=0.2, size=5)
    log = linear_log(CAUSES, list(truth), change, seed=seed)
    values, _ = closed_form(log, np.arange(5))
    fit = FreedFit(tuple(CAUSES), values, 0.0, 0, columns=tuple(range(5)))
    kept, expected = list(CAUSES), []
    while len(kept) > 1:
        costs = {
            dropped: closed_form(log, np.concatenate([CAUSES[c] for c in kept if c != dropped]))[1]
            for dropped in kept
        }
        kept.remove(min(costs, key=lambda cause: costs[cause]))
        expected.append(tuple(kept))
    assert eliminated(log, fit, 4) == expected
    assert eliminated(log, fit, 2) == expected[1:]
