"""Searches by name: every method, their settings, and what is refused."""

import numpy as np
import pytest

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting import (
    NSGA2,
    SEARCH_METHODS,
    CmaEs,
    LeastSquares,
    LeastSquaresSettings,
    RandomSearch,
    SearchMethod,
    make_search,
    test_problems,
)
from trueup.fitting.searches.auto import AutoSearch
from trueup.fitting.searches.methods import method_named
from trueup.fitting.searches.multi_start import MultiStart
from trueup.fitting.searches.polish import Polished
from trueup.fitting.searches.random import ScatterSearch, SobolSearch
from trueup.fitting.test_problems.test_problem import box

_KINDS = {
    "auto": Polished,
    "least-squares": LeastSquares,
    "multi-start": MultiStart,
    "cmaes": CmaEs,
    "random": RandomSearch,
    "sobol": SobolSearch,
    "scatter": ScatterSearch,
    "nsgaii": NSGA2,
}


def test_every_method_makes_its_search():
    space = test_problems.exponential_decay().space
    assert set(SEARCH_METHODS) == set(_KINDS)
    for method, kind in _KINDS.items():
        search = make_search(method, space, seed=5)
        assert type(search) is kind and search.space is space
        assert SEARCH_METHODS[method].meaning
    assert isinstance(make_search("auto", space).first, AutoSearch)


@pytest.mark.parametrize(
    ("method", "settings", "where"),
    [
        ("least-squares", {"max_iters": 3}, lambda s: s.settings.max_iters),
        ("multi-start", {"starts": 3}, lambda s: s.starts),
        ("multi-start", {"max_iters": 3}, lambda s: s.settings.max_iters),
        ("cmaes", {"max_generations": 3}, lambda s: s.settings.max_generations),
        ("auto", {"scanned": 3}, lambda s: s.first.scanned),
        ("auto", {"max_generations": 3}, lambda s: s.first.settings.max_generations),
        ("random", {"candidates": 3}, lambda s: s.candidates),
        ("sobol", {"batch": 3}, lambda s: s.batch),
        ("scatter", {"deviation": 3}, lambda s: s.deviation),
        ("nsgaii", {"generations": 3}, lambda s: s.settings.generations),
    ],
)
def test_settings_reach_the_search(method, settings, where):
    space = test_problems.exponential_decay().space
    assert where(make_search(method, space, settings=settings)) == 3


def test_a_population_is_the_size_of_a_batch():
    space = test_problems.sphere(3).space
    for method, entry in SEARCH_METHODS.items():
        if entry.population is not None and method not in ("cmaes", "auto"):
            assert len(make_search(method, space, population=12).ask()) == 12
    # with the start value
    assert len(make_search("cmaes", space, population=12).ask()) == 13
    assert make_search("auto", space, population=12).first.settings.population == 12


@pytest.mark.parametrize(
    ("alias", "name"),
    [("cma", "cmaes"), ("cma-es", "cmaes"), ("mujoco", "least-squares"), ("sobol", "sobol")],
)
def test_names_of_other_programs_are_aliases(alias, name):
    assert method_named(alias) == name
    space = test_problems.exponential_decay().space
    assert type(make_search(alias, space)) is type(make_search(name, space))


def test_no_alias_is_the_name_of_two_methods():
    aliases = [alias for entry in SEARCH_METHODS.values() for alias in entry.aliases]
    assert len(set(aliases)) == len(aliases) and not set(aliases) & set(SEARCH_METHODS)


def test_polish_wraps_searches_over_costs_only():
    space = test_problems.exponential_decay().space
    settings = LeastSquaresSettings(loss="huber")
    for method, entry in SEARCH_METHODS.items():
        search = make_search(method, space, polish=True, polish_settings=settings)
        assert isinstance(search, Polished) is not entry.needs_residuals
        if isinstance(search, Polished):
            assert search.settings is settings and not isinstance(search.first, Polished)


def test_auto_is_nsga2_for_several_objectives():
    toy = test_problems.zdt1(3)
    assert isinstance(make_search("auto", toy.space, objectives=2), NSGA2)


@pytest.mark.parametrize(
    "toy",
    [test_problems.sine(), test_problems.rastrigin(2), test_problems.failing_sphere(3)],
    ids=lambda toy: toy.name,
)
def test_auto_solves_what_nothing_is_known_about(toy):
    solution = fitting.minimise(toy.problem, make_search("auto", toy.space, population=20, seed=2))
    assert toy.excess(solution.x)[0] < 1e-8


def test_auto_begins_with_the_given_start_where_the_box_is_open():
    search = make_search("auto", box([1.0, 2.0], 0.0, [np.inf, 3.0]))
    np.testing.assert_array_equal(search.ask()[0], [1.0, 2.0])
    assert search.info()["scan"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "cmeas"}, "'cmeas'.*Did you mean 'cmaes'.*'nsgaii'"),
        ({"method": "cmaes", "settings": {"max_generation": 3}}, "Did you mean 'max_generations'"),
        ({"method": "random", "settings": {"starts": 3}}, "no setting 'starts'.*'batch', 'cand"),
        ({"method": "multi-start", "population": 5}, "'multi-start' has no population"),
        ({"method": "random", "population": 5, "settings": {"batch": 6}}, "population is 5.*6"),
        (
            {"method": "cmaes", "objectives": 2},
            "has 2: use one of 'random', 'sobol', 'scatter', 'nsgaii'",
        ),
        ({"method": "nsgaii", "settings": {"population": "many"}}, "'nsgaii' has the wrong type"),
        ({"method": "auto", "settings": {"scanned": 0}}, "scanned must be at least 1, found 0"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words):
    arguments = dict(arguments)
    with pytest.raises(FitError, match=words):
        make_search(arguments.pop("method"), box([1.0, 1.0], 0.0, 2.0), **arguments)


class Halving:
    """A search that halves the distance to zero: a method of a test's own."""

    settings_class = None

    def __init__(self, space, candidates=4, seed=0):
        self.space, self.candidates, self.seed = space, candidates, seed


def test_a_method_of_ones_own_needs_its_class_and_an_entry(monkeypatch):
    entry = SearchMethod("halves", f"{__name__}:Halving", population="candidates")
    monkeypatch.setitem(SEARCH_METHODS, "halving", entry)
    search = make_search("halving", box([1.0]), seed=3, population=7)
    assert (type(search), search.candidates, search.seed) == (Halving, 7, 3)
    with pytest.raises(FitError, match=r"no setting 'candidate'.*Available: 'candidates'"):
        make_search("halving", box([1.0]), settings={"candidate": 2})
    with pytest.raises(FitError, match="'halving'"):
        make_search("halvin", box([1.0]))
