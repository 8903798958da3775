"""The search by screened mutants that the benchmark of exoskeletons runs."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SIZE = 4


class Valleys:
    """Two valleys along the first number: the start at 1 is cheaper, the bottom at -1 is."""

    def __init__(self, stops_at=np.inf):
        self.calls, self.stops_at = 0, stops_at
        entries = [
            SimpleNamespace(name=f"gain_{k}", group="body", lower=-3.0, upper=3.0)
            for k in range(SIZE)
        ]
        self.parameters = SimpleNamespace(entries=entries)

    def whole_costs(self, X):
        self.calls += 1
        if self.calls > self.stops_at:
            raise KeyboardInterrupt
        first, others = X[:, 0], (X[:, 1:] ** 2).sum(axis=1)
        near = 0.5 + 0.1 * (first - 1.0) ** 2 + 0.1 * others
        far = 2.0 * ((first + 1.0) ** 2 + others)
        return np.where(first > 0.0, near, far)


class Configuration:
    """Stands for the configuration of a walk."""

    def with_changes(self, changes):
        return self


@pytest.fixture
def search(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    gait_mutants = importlib.import_module("gait_mutants")

    far = np.array([-1.2, 0.3, 0.3, 0.3])
    vectors = np.stack([np.array([1.2, 0.1, 0.1, 0.1]) + 0.01 * k for k in range(5)] + [far])

    def run(name, rounds=10, seed=0, moved=None, problem=None, vectors=vectors, **options):
        problem = problem or Valleys()
        monkeypatch.setattr(gait_mutants, "make_problem", lambda *_, **__: problem)
        costs = type(problem)().whole_costs(vectors)
        first = gait_mutants.Walks(costs, vectors)
        return gait_mutants.mutated(
            tmp_path / f"{name}.json", Configuration(), first, rounds, moved, seed, **options
        )[1]

    return SimpleNamespace(module=gait_mutants, run=run, vectors=vectors)


def test_a_lineage_that_begins_dearer_and_becomes_cheaper_is_not_given_up(search):
    begun = Valleys().whole_costs(search.vectors)
    assert begun.argmax() == len(begun) - 1
    pool = search.run("valleys", rounds=20)
    assert pool.vectors[0, 0] == pytest.approx(-1.0, abs=0.1)
    assert pool.costs[0] < 0.1
    assert set(pool.lineages) == {5}
    assert np.all(np.diff(pool.costs) >= 0.0)


def test_only_moved_gains_change(search):
    pool = search.run("moved", moved=("gain_0",))
    assert {tuple(row) for row in pool.vectors[:, 1:]} <= {
        tuple(row) for row in search.vectors[:, 1:]
    }
    assert len(np.unique(pool.vectors[:, 0])) > 10


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(search):
    whole = search.run("whole")
    with pytest.raises(KeyboardInterrupt):
        search.run("stopped", problem=Valleys(stops_at=7))
    resumed = search.run("stopped")
    for one, other in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_cheapest_of_each_lineage(search):
    costs = np.array([5.0, 1.0, 2.0, 3.0, 4.0])
    lineages = np.array([7, 9, 9, 9, 7])
    assert search.module.cheapest_of_each(costs, lineages, 2).tolist() == [1, 2, 4, 0]


def test_lineages_are_given_up_in_equal_parts_of_the_rounds(search):
    module = search.module
    costs = np.arange(40.0)[::-1].copy()
    pool = module.Pool(0, costs, np.zeros((40, SIZE)), np.arange(40) % 20)
    left = [len(set(module.surviving(pool._replace(rounds=r), 20).lineages)) for r in range(21)]
    assert left == [16] * 4 + [8] * 4 + [4] * 4 + [2] * 4 + [1] * 5
    kept = module.surviving(pool._replace(rounds=19), 20)
    assert set(kept.lineages) == {19}
    assert kept.costs.tolist() == [0.0, 20.0]


def test_curves_stay_within_stance(search):
    curves = np.random.default_rng(0).uniform(-1.0, 2.0, (200, 4))
    height, rise, peak, fall = search.module.within_stance(curves).T
    assert height.min() >= 0.0
    assert height.max() <= 1.0
    assert np.all(rise <= peak)
    assert np.all(peak + fall <= 1.0 + 1e-12)


def test_a_least_height_of_the_curve_is_kept_and_rises(search):
    """What a search is free to make small stays small where that is cheaper."""

    class Worn(Valleys):
        def __init__(self):
            super().__init__()
            for k in range(4):
                entry = SimpleNamespace(name=f"exo_{k}", group="exoskeleton", lower=0.0, upper=1.0)
                self.parameters.entries.append(entry)

        def whole_costs(self, X):
            return super().whole_costs(X[:, :SIZE]) + X[:, SIZE]

    curves = np.tile([0.3, 0.2, 0.5, 0.2], (len(search.vectors), 1))
    vectors = np.concatenate([search.vectors, curves], axis=1)
    free = search.run("free", problem=Worn(), vectors=vectors, moved=("gain_0",))
    assert free.vectors[0, SIZE] < 0.1
    held = search.run("held", problem=Worn(), vectors=vectors, moved=("gain_0",), least=(0.3, 0.02))
    heights = held.vectors[:, SIZE]
    last = 0.3 + 0.02 * 9
    assert heights.min() >= last - search.module.BELOW and heights[0] < last + 0.1


def test_differences_are_those_of_walks_of_one_lineage(search):
    module = search.module
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 5.0], [10.0, 7.0], [50.0, 50.0]])
    pool = module.Pool(0, np.zeros(5), vectors, np.array([1, 1, 2, 2, 3]))
    lineages = np.repeat([1, 2, 3], 50)
    found = module.differences_of(pool, lineages, np.random.default_rng(0))
    assert {tuple(row) for row in found[:50]} == {(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0)}
    assert {tuple(row) for row in found[50:100]} == {(0.0, 0.0), (0.0, 2.0), (0.0, -2.0)}
    assert not found[100:].any()


def test_mutants_along_differences_follow_a_narrow_valley(search, monkeypatch):
    """Steps that are alike in all directions leave it, and have to be small."""

    class Narrow(Valleys):
        def whole_costs(self, X):
            across = X[:, 0] + X[:, 1] - X[:, 2] - 0.3
            return 1e4 * across**2 + (X[:, 0] - 2.0) ** 2 + ((X[:, 1:] - 1.0) ** 2).sum(axis=1)

    ends = {}
    for share in (0.0, search.module.CROSSED):
        monkeypatch.setattr(search.module, "CROSSED", share)
        found = [
            search.run(f"{share} {seed}", rounds=10, seed=seed, problem=Narrow()).costs[0]
            for seed in range(4)
        ]
        ends[share] = np.median(found)
    assert ends[search.module.CROSSED] < 0.2 * ends[0.0]
