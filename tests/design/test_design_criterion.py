"""Criterion and search of a design against closed forms, on pieces that say what they are told."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trueup.design.criterion import NORMAL, Criterion, half_bounds, half_scales
from trueup.design.problem import DesignProblem
from trueup.design.robot.piece_information import PieceInformation
from trueup.design.search import EXCEEDS, IDENTIFIABLE, DesignSearch
from trueup.errors import FitError
from trueup.fitting.problem import LARGE_COST
from trueup.fitting.solution import Status
from trueup.parameters import Parameter, ParameterDict, Prior

SCALE = np.array([0.5, 2.0, 10.0])
NOTHING = np.zeros((3, 3))
FREE = Criterion(SCALE, NOTHING)


def information(seed, size=3, rows=8):
    """``J' J`` of some derivatives in units of the scale."""
    jacobian = np.random.default_rng(seed).normal(size=(rows, size)) / SCALE[:size]
    return 30.0 * jacobian.T @ jacobian


# --- the criterion -------------------------------------------------------------------------------


def test_who_knows_nothing_has_all_that_was_allowed():
    np.testing.assert_allclose(FREE.intervals(NOTHING, NOTHING), 1.0)


def test_precisions_of_one_parameter_add_up():
    """Bounds count as an interval: 1 / variance = n + known + (1.96 / scale)^2."""
    gram = np.diag([30.0, 4.0, 0.0])
    known = np.diag([0.0, 2.0, 1.0])
    found = Criterion(SCALE, known).intervals(gram, gram)
    variance = 1.0 / (np.diag(gram + known) + (NORMAL / SCALE) ** 2)
    np.testing.assert_allclose(found, NORMAL * np.sqrt(variance) / SCALE)
    np.testing.assert_allclose(Criterion(SCALE, known).alone.intervals(gram, gram),
                               FREE.intervals(gram, gram))  # fmt: skip


def test_intervals_are_those_of_the_inverse_information():
    gram = information(0)
    covariance = np.linalg.inv(gram + np.diag((NORMAL / SCALE) ** 2))
    expected = NORMAL * np.sqrt(np.diag(covariance)) / SCALE
    np.testing.assert_allclose(FREE.intervals(gram, gram), expected)


def test_noise_with_memory_widens_by_the_root_of_its_factor():
    """Where the recording says much more than the bounds."""
    gram = 1e8 * information(1)
    for factor in (0.25, 4.0, 9.0):
        ratio = FREE.intervals(gram, factor * gram) / FREE.intervals(gram, gram)
        np.testing.assert_allclose(ratio, np.sqrt(factor), rtol=1e-4)


@settings(max_examples=40)
@given(some.integers(0, 1000), some.floats(0.0, 50.0))
def test_more_information_is_never_wider(seed, factor):
    gram, more = information(seed), factor * information(seed + 1)
    before, after = FREE.intervals(gram, gram), FREE.intervals(gram + more, gram + more)
    assert np.all(after <= before + 1e-12)
    assert np.all((after > 0.0) & (before <= 1.0))


@settings(max_examples=40)
@given(some.integers(0, 1000), some.permutations(range(3)),
       some.lists(some.floats(1e-3, 1e3), min_size=3, max_size=3))  # fmt: skip
def test_neither_units_nor_the_order_of_the_unknowns_matter(seed, order, units):
    """Derivatives by an unknown in a unit that is so much larger are so much larger."""
    gram, known, units = information(seed), information(seed + 5), np.array(units)
    expected = Criterion(SCALE, known).intervals(gram, 2.0 * gram)
    turned = np.outer(units, units)
    moved = [(each * turned)[np.ix_(order, order)] for each in (gram, 2.0 * gram, known)]
    found = Criterion((SCALE / units)[order], moved[2]).intervals(*moved[:2])
    np.testing.assert_allclose(found, expected[order], rtol=1e-6)


def test_designs_are_judged_side_by_side_as_alone():
    grams = np.stack([[information(4 * n + d) for d in range(2)] for n in range(3)])
    found = FREE.intervals(grams, grams)
    assert found.shape == (3, 2, 3)
    for n, d in itertools.product(range(3), range(2)):
        np.testing.assert_allclose(found[n, d], FREE.intervals(grams[n, d], grams[n, d]))


def test_the_volume_is_the_mean_logarithm():
    intervals = np.array([[0.5, 0.1], [0.2, 1.0]])
    assert Criterion.volume(intervals) == pytest.approx(0.25 * np.log(0.5 * 0.1 * 0.2))
    # intervals half as wide are less by log 2, whichever they are
    assert Criterion.volume(0.5 * intervals) == pytest.approx(
        Criterion.volume(intervals) - np.log(2)
    )


@given(some.lists(some.floats(1e-4, 1.0), min_size=3, max_size=3))
def test_the_smooth_largest_lies_between_a_mean_and_the_largest(values):
    intervals, every = np.array([values]), np.ones(3, bool)
    found = float(np.exp(Criterion.largest(intervals, every)))
    assert max(values) * 3 ** (-1 / 8) <= found * (1 + 1e-9) and found <= max(values) * (1 + 1e-9)
    counted = np.array([True, False, True])
    only = float(np.exp(Criterion.largest(intervals, counted)))
    assert only <= max(values[0], values[2]) * (1 + 1e-9)
    even = np.full((2, 3), values[0])
    assert float(np.exp(Criterion.largest(even, every))) == pytest.approx(values[0])


def test_what_was_allowed_is_half_of_the_bounds_or_of_a_narrower_prior():
    unknown = ParameterDict(
        {
            "plain": Parameter("plain", 1.0, 0.0, 3.0),
            "ratio": Parameter("ratio", 2.0, 1.0, 8.0, scale="log"),
            "sure": Parameter("sure", 1.0, 0.0, 3.0, prior=Prior(1.0, 0.1)),
            "vague": Parameter("vague", 1.0, 0.0, 3.0, prior=Prior(1.0, 50.0)),
            "both": Parameter("both", 2.0, 1.0, 8.0, scale="log", prior=Prior(2.0, 0.1)),
        }
    )
    expected = [1.5, 0.5 * np.log(8.0), 0.1 * NORMAL, 1.5, 0.1 * NORMAL / 2.0]
    np.testing.assert_allclose(half_scales(unknown), expected, rtol=1e-6)


def test_without_bounds_the_magnitude_counts():
    unknown = ParameterDict({n: Parameter(n, v, -np.inf, np.inf) for n, v in
                             (("large", -40.0), ("none", 0.0))})  # fmt: skip
    np.testing.assert_allclose(half_bounds(unknown.space()), [40.0, 1e-6])


# --- a problem of pieces -------------------------------------------------------------------------


class ToldFamily:
    """Rows hold the information about each unknown, by its root, and an excess."""

    size = 4

    def names(self):
        return ["a", "b", "c", "excess"]

    def bounds(self):
        return np.zeros(4), np.array([9.0, 9.0, 9.0, 1.0])

    def rest(self):
        return np.zeros(4)

    def still(self, rows):
        return np.all(rows == 0.0, axis=1)


class ToldPieces:
    """Pieces that say what their rows hold, of two draws; counts what it was asked for."""

    family, draws, size, batch = ToldFamily(), 2, 3, 4

    def __init__(self):
        self.asked = 0

    def information(self, rows):
        self.asked += len(rows)
        grams = [np.diag((row[:3] / SCALE) ** 2) for row in rows]
        return [PieceInformation(np.stack([g, 2 * g]), np.stack([g, 2 * g]), float(row[3]))
                for g, row in zip(grams, rows, strict=True)]  # fmt: skip


def problem(shares=(1.0, 1.0)):
    return DesignProblem(ToldPieces(), np.array(shares), FREE)


def design(*pieces):
    return np.concatenate([[*piece, 0.0] for piece in pieces])


def test_pieces_of_a_design_add_up_by_their_shares():
    found = problem((1.0, 0.25))
    gram, spread, excess = found.totals(np.stack([design((1, 2, 3), (4, 0, 2))]))
    expected = np.diag(np.array([1 + 0.25 * 16, 4.0, 9 + 0.25 * 4]) / SCALE**2)
    np.testing.assert_allclose(gram[0], [expected, 2 * expected])
    np.testing.assert_allclose(spread, gram)
    assert excess.tolist() == [0.0]


def test_the_cost_of_a_design_is_that_of_its_intervals():
    design_ = design((1, 2, 3), (4, 0, 2))
    total = np.array([17.0, 4.0, 13.0])
    widths = [NORMAL / np.sqrt(factor * total + NORMAL**2) for factor in (1, 2)]
    assert problem().costs(design_).item() == pytest.approx(np.mean(np.log(widths)))
    # slots that count alike may be exchanged
    swapped = design((4, 0, 2), (1, 2, 3))
    assert problem().costs(swapped).item() == pytest.approx(problem().costs(design_).item())
    # what is held out says nothing
    other = problem((1.0, 0.0))
    costs = other.costs(np.stack([design((1, 2, 3), (4, 0, 2)), design((1, 2, 3), (9, 9, 9))]))
    assert costs[0] == costs[1]


def test_a_design_beyond_its_limits_has_a_large_cost_and_what_it_exceeds():
    wild = design((1, 2, 3), (4, 0, 2))
    wild[3], wild[7] = 0.2, 0.3
    found = problem()
    assert found.costs(wild).item() == LARGE_COST
    answer = found.answer(np.stack([wild, design((1, 2, 3), (4, 0, 2))]), {})
    assert answer[:, -1].tolist() == [0.5, 0.0]
    assert found.intervals_of(answer).shape == (2, 2, 3)
    np.testing.assert_array_equal(found.mean_gram().diagonal() * SCALE**2, 2 * np.array(
        [(1 + 16) / 2, 4 / 2, (9 + 4) / 2]))  # fmt: skip


def test_a_piece_is_simulated_once_and_one_at_rest_never():
    found = problem()
    first = design((1, 2, 3), (0, 0, 0))
    found.costs(np.stack([first, design((1, 2, 3), (1, 2, 3))]))
    assert found.simulator.asked == 1
    found.costs(design((4, 5, 6), (1, 2, 3)))
    assert found.simulator.asked == 2 and len(found.simulated_pieces()) == 3
    assert found.costs(np.zeros((1, 8))).item() == pytest.approx(0.0)
    assert found.simulator.asked == 2
    np.testing.assert_array_equal(found.space.start, 0.0)
    assert found.space.names[:5] == (
        "piece1_a",
        "piece1_b",
        "piece1_c",
        "piece1_excess",
        "piece2_a",
    )


# --- the search ----------------------------------------------------------------------------------

LIBRARY = np.array([[9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [3, 3, 3, 0], [1, 8, 1, 0],
                    [9, 9, 9, 1], [5, 0, 5, 0], [0, 1, 0, 0]], float)  # fmt: skip


def searched(made, stop=lambda search: False, **more):
    """A search over a problem, until it ends or is stopped."""
    search = started(made, **more)
    while search.done() is None and not stop(search):
        advance(search, made)
    return search


def started(made, **more):
    given = {"polish": 30, "rounds": 1, "seed": 3} | more
    library = given.pop("library", LIBRARY)
    return DesignSearch(
        made.space,
        library,
        made.slots,
        made.shares,
        3,
        (2, 3),
        fixed=given.pop("fixed", 0),
        **given,
    )


def advance(search, made):
    asked = search.ask()
    search.tell(asked, search.evaluate(made, asked, {}), {})


@pytest.mark.parametrize("shares", [(1.0, 1.0), (1.0, 0.5)])
def test_the_exchange_finds_the_best_pieces_of_the_library(shares):
    """By all pairs of those that keep the limits."""
    made = problem(shares)
    search = searched(made, lambda s: s.phase == "polish")
    usable = LIBRARY[LIBRARY[:, 3] == 0]
    pairs = np.array([np.concatenate(pair) for pair in itertools.product(usable, repeat=2)])
    intervals = made.intervals_of(made.answer(pairs, {}))
    best = Criterion.largest(intervals, search.counted).min()
    assert search.cost == pytest.approx(best, abs=1e-9)
    assert search.usable.tolist() == (LIBRARY[:, 3] == 0).tolist()


def test_the_order_of_the_library_does_not_matter():
    one = searched(problem(), lambda s: s.phase == "polish")
    other = searched(problem(), lambda s: s.phase == "polish", library=LIBRARY[::-1])
    assert other.cost == pytest.approx(one.cost)


def test_a_polish_never_loses_what_the_exchange_found():
    made = problem()
    search = searched(made)
    costs = [entry["cost"] for entry in search.history if entry["phase"] == "polish"]
    assert search.done() is Status.CONVERGED and np.all(np.diff(costs) <= 0.0)
    assert search.evaluations == search.history[-1]["evaluations"]
    assert made.answer(search.x[None], {})[0, -1] == 0.0
    # numbers that are held stay those of the pieces
    held = searched(problem(), fixed=3)
    exchanged = searched(problem(), lambda s: s.phase == "polish")
    np.testing.assert_array_equal(held.x.reshape(2, 4)[:, :3], exchanged.x.reshape(2, 4)[:, :3])


def test_a_search_goes_on_from_its_state_at_any_time():
    made, whole = problem(), searched(problem())
    search = started(made)
    for _ in range(200):
        if search.done() is not None:
            break
        advance(search, made)
        search = DesignSearch.from_state(search.state(), made.space)
    assert search.history == whole.history
    np.testing.assert_array_equal(search.x, whole.x)
    with pytest.raises(FitError):
        DesignSearch.from_state({**search.state(), "version": 0}, made.space)


def test_a_search_ends_where_the_largest_interval_is_narrow_enough():
    search = searched(problem(), target=0.6, rounds=20)
    assert search.done() is Status.TARGET_REACHED
    made = problem()
    found = made.intervals_of(made.answer(search.x[None], {}))[0].mean(axis=0)
    assert found[search.counted].max() <= 0.9 * 0.6
    assert searched(problem(), target=1e-6).done() is Status.CONVERGED


def test_a_library_beyond_all_limits_ends_the_search():
    wild = LIBRARY.copy()
    wild[:, 3] = 0.5
    search = searched(problem(), library=wild)
    assert search.done() is Status.START_FAILED and "limits" in search.message
    assert search.costs_of(np.array([[1.0] * 6 + [0.5]])).item() == EXCEEDS + 0.5


def test_what_no_piece_tells_does_not_count():
    """The second unknown is in no piece: the largest interval is that of the others."""
    library = LIBRARY * np.array([1.0, 0.0, 1.0, 1.0])
    library[-1] = [2.0, 0.0, 2.0, 0.0]
    search = searched(problem(), lambda s: s.phase == "polish", library=library)
    assert search.counted.tolist() == [True, False, True]
    assert np.exp(search.cost) < IDENTIFIABLE
    assert search.words == "polish"
