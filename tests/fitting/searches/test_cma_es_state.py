"""A resumed CMA-ES goes on as if it had never stopped, whatever it was doing."""

import functools
import sys

import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting import CmaEs, CmaEsSettings
from trueup.fitting.searches.saved_state import HistoryColumns
from trueup.fitting.test_problems.test_problem import box
from trueup.runs.store.state_codec import decode_state, encode_state


def _ellipsoid(X, generation):
    return np.square(X - 0.3) @ 10.0 ** np.linspace(0, 6, X.shape[1])


def _correlated(X, generation):
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
    return np.square((X - 0.1) @ axes) @ 10.0 ** np.linspace(0, 13, X.shape[1])


def _rastrigin(X, generation):
    z = X - 0.7
    return (np.square(z) + 10.0 * (1.0 - np.cos(2.0 * np.pi * z))).sum(axis=1)


def _failing(X, generation):
    return np.where(np.sin(9 * X.sum(axis=1)) > 0.3, np.nan, _ellipsoid(X, generation))


def _noisy(X, generation):
    noise = np.random.default_rng(generation).standard_normal(len(X))
    return np.square(X - 0.3).sum(axis=1) + 0.1 * noise


_SHORT = {"options": {"maxiter": 25}}
_LEFT_TO_THE_POPULATION = {"noise_treatment": False, "contender_evaluations": 5}
_CASES = {
    "plain": (6, {}, _ellipsoid, 100),
    "one unknown": (1, {}, _ellipsoid, 60),
    "ill-conditioned": (2, {}, _correlated, 130),
    "separable": (6, {"separable": True}, _ellipsoid, 60),
    "diagonal at first": (6, {"options": {"CMA_diagonal": 30}}, _ellipsoid, 60),
    "many unknowns": (120, {}, _ellipsoid, 20),
    "not active, elitist": (6, {"active": False, "elitist": True}, _ellipsoid, 60),
    "two-point adaptation": (6, {"options": {"AdaptSigma": "TPA"}}, _ellipsoid, 40),
    "mirrors": (6, {"options": {"CMA_mirrors": True}}, _ellipsoid, 40),
    "mirrors within": (6, {"options": {"CMA_mirrors": 2, "CMA_mirrormethod": 0}}, _ellipsoid, 40),
    "whole numbers": (6, {"options": {"integer_variables": [0, 2]}}, _ellipsoid, 60),
    "penalty": (6, {"options": {"BoundaryHandler": "BoundPenalty"}}, _ellipsoid, 60),
    "VkD": (8, {"options": {"CMA_sampler": "VkD"}}, _ellipsoid, 40),
    "diagonal decoding": (6, {"options": {"CMA_diagonal_decoding": 1}}, _ellipsoid, 60),
    "ipop": (3, {"restarts": "ipop", "max_restarts": 2, **_SHORT}, _rastrigin, 400),
    "bipop": (2, {"restarts": "bipop", "max_restarts": 2, **_SHORT}, _rastrigin, 900),
    "failing": (4, {}, _failing, 60),
    "never valid": (3, {}, lambda X, generation: np.full(len(X), np.nan), 90),
    "noisy": (4, {"noisy": True}, _noisy, 60),
    "noisy, by the population": (4, {"noisy": True, **_LEFT_TO_THE_POPULATION}, _noisy, 60),
    "noisy, to its end": (2, {"noisy": True, "options": {"maxiter": 20}}, _noisy, 100),
}


@functools.cache
def _run(case, stops=frozenset()):
    """Batches of a search that is saved and restored before some of its generations.

    Every other time it is saved after it has been asked for the next one.
    """
    size, settings, cost, generations = _CASES[case]
    space = box(np.full(size, 2.0), -5.0, 5.0)
    search, batches = CmaEs(space, CmaEsSettings(**settings), seed=3), []
    for generation in range(generations):
        if search.done() is not None:
            break
        if generation in stops:
            if sum(stop <= generation for stop in stops) % 2:
                search.ask()
            search = CmaEs.from_state(decode_state(*encode_state(search.state())), space)
        X = search.ask()
        search.tell(X, cost(X, generation), {})
        batches.append(X)
    return batches, search


@pytest.mark.parametrize("case", _CASES)
def test_a_resumed_search_gives_the_same_history_bit_for_bit(case):
    straight, search = _run(case)
    stops = frozenset(np.linspace(1, len(straight) - 1, 10).astype(int).tolist())
    resumed, other = _run(case, stops)
    assert len(resumed) == len(straight)
    for before, after in zip(straight, resumed, strict=True):
        np.testing.assert_array_equal(before, after)
    assert other.history == search.history and other.message == search.message
    assert (other.cost, other.done()) == (search.cost, search.done())
    assert other.finished == search.finished
    np.testing.assert_array_equal(other.x, search.x)


def test_the_cases_do_what_they_are_named_for():
    _, ill = _run("ill-conditioned")
    assert not ill._run.strategy.gp.isidentity  # cma has moved the covariance into a linear map
    _, ipop = _run("ipop")
    assert len(ipop.finished) == 3
    _, bipop = _run("bipop")
    assert {run.regime for run in bipop.finished} == {"small", "large"}
    _, noisy = _run("noisy, to its end")
    assert noisy.done() is not None and noisy.history[-1]["evaluations"] > 40


def test_a_state_stays_small_and_holds_plain_values_only():
    search = CmaEs(box(np.full(5, 2.0), -5.0, 5.0))
    sizes = []
    for generation in range(120):
        X = search.ask()
        search.tell(X, _ellipsoid(X, generation), {})
        if generation % 40 == 39:
            document, arrays = encode_state(search.state())
            sizes.append(len(document) + sum(map(len, arrays.values())))
    per_generation = (sizes[-1] - sizes[0]) / 80
    assert per_generation < 150  # bytes: ten thousand generations stay below 1.5 MB
    assert sizes[0] < 50_000


def test_records_come_back_from_columns():
    history = [
        {"generation": 0, "cost": np.inf, "best": None},
        {"generation": 1, "cost": 2.5, "best": 0.1},
    ]
    columns = HistoryColumns()
    columns.pack(history[:1])
    packed = columns.pack(history)
    assert HistoryColumns.unpack(packed) == history
    assert type(HistoryColumns.unpack(packed)[1]["generation"]) is int
    assert HistoryColumns.unpack(HistoryColumns().pack([])) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 99}, "state version 99, this version of trueup supports 2"),
        ({"cma": "3.0"}, "requires cma 3.0, found .*pip install cma==3.0"),
        ({"search": "NSGA2"}, "is of NSGA2, expected CMA-ES"),
        ({"names": ["a", "b"]}, "another problem: it has 2 parameters .a, b., expected 3 "),
        ({"center": np.ones(3)}, "other bounds or start values"),
    ],
)
def test_a_state_of_something_else_is_refused(change, words):
    space = box(np.full(3, 2.0), -5.0, 5.0)
    with pytest.raises(FitError, match=words):
        CmaEs.from_state({**CmaEs(space).state(), **change}, space)


def test_a_state_that_cannot_be_held_is_an_error_at_once():
    search = CmaEs(box(np.full(3, 2.0), -5.0, 5.0))
    search._run.strategy.strange = sys.stderr
    with pytest.raises(TypeError, match=r"strategy\.strange of cma is a"):
        search.state()
