"""The search with large populations that the benchmark of exoskeletons runs."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SIZE = 4
START = np.array([1.2, 0.3, -0.3, 0.3])
CURVE = np.array([0.1, 0.2, 0.5, 0.2])


class Cliff:
    """A bowl with its bottom at 0.5, behind a cliff; a device helps in proportion to its height."""

    def __init__(self, worn=False, stops_at=np.inf):
        self.calls, self.stops_at, self.asked = 0, stops_at, []
        entries = [
            SimpleNamespace(name=f"gain_{k}", group="body", lower=-3.0, upper=3.0)
            for k in range(SIZE)
        ]
        if worn:
            entries += [
                SimpleNamespace(name=f"exo_{k}", group="exoskeleton", lower=0.0, upper=1.0)
                for k in range(4)
            ]
        self.parameters = SimpleNamespace(entries=entries)

    def whole_costs(self, X):
        self.calls += 1
        if self.calls > self.stops_at:
            raise KeyboardInterrupt
        self.asked.append(X.copy())
        distance = ((X[:, :SIZE] - 0.5) ** 2).sum(axis=1)
        cost = 1.0 + distance - (0.5 * X[:, SIZE] if X.shape[1] > SIZE else 0.0)
        return np.where(X[:, 0] < 0.45, 1000.0, cost)


@pytest.fixture
def search(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("gait_population")
    monkeypatch.setattr(module, "POPULATION", 24)
    monkeypatch.setattr(module, "CHEAPEST", 6)
    changed = []

    class Configuration:
        """Stands for the configuration of a walk."""

        def with_changes(self, changes):
            changed.append(changes)
            return self

    def run(name, generations=40, seed=0, gains=None, problem=None, start=START):
        problem = problem or Cliff()
        monkeypatch.setattr(module, "make_problem", lambda *_, **__: problem)
        moved = module.entries_moved(problem.parameters, start, gains)
        path = tmp_path / f"{name}.json"
        return module.searched(path, Configuration(), moved, generations, seed)

    return SimpleNamespace(module=module, run=run, folder=tmp_path, changed=changed)


def test_it_comes_to_the_edge_of_a_cliff(search):
    found = search.run("cliff", generations=80)
    costs = Cliff().whole_costs(found)
    assert costs.min() < 1.02
    assert np.median(costs) < 1.1


def test_the_height_of_a_curve_rises_where_torque_pays(search):
    start = np.concatenate([START, CURVE])
    found = search.run("worn", generations=60, problem=Cliff(worn=True), start=start)
    assert np.median(found[:, SIZE]) > 0.9
    height, rise, peak, fall = found[:, SIZE:].T
    assert height.max() <= 1.0
    assert (rise <= peak).all() and (peak + fall <= 1.0 + 1e-12).all()


def test_only_moved_gains_and_the_curve_change(search):
    problem = Cliff(worn=True)
    start = np.concatenate([START, CURVE])
    search.run("moved", generations=6, gains=("gain_1",), problem=problem, start=start)
    asked = np.concatenate(problem.asked)
    constant = np.ptp(asked, axis=0) == 0.0
    assert constant.tolist() == [True, False, True, True, False, False, False, False]
    np.testing.assert_array_equal(asked[0, constant], start[constant])


def test_what_is_left_over_are_the_cheapest_and_the_means_of_the_last_generations(search):
    module, problem = search.module, Cliff()
    found = search.run("left", generations=7, problem=problem)
    each = module.CHEAPEST + 1
    assert found.shape == (module.LAST * each, SIZE)
    costs = json.loads((search.folder / "left.json").read_text())
    assert len(costs) == 7
    asked, last = problem.asked[-1], np.array(costs[-1])
    np.testing.assert_array_equal(found[-each:-1], asked[np.argsort(last)[: module.CHEAPEST]])


def test_each_generation_and_seed_has_other_perturbations(search):
    for seed in (0, 1):
        search.run(f"seed {seed}", generations=6, seed=seed)
    seeds = [changes["seed"] for changes in search.changed]
    assert len(set(seeds)) == len(seeds) == 12
    assert {changes["perturbed_repeats"] for changes in search.changed} == {search.module.REPEATS}


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(search):
    whole = search.run("whole", generations=12)
    with pytest.raises(KeyboardInterrupt):
        search.run("stopped", generations=12, problem=Cliff(stops_at=7))
    rest = Cliff()
    resumed = search.run("stopped", generations=12, problem=rest)
    assert rest.calls == 5
    np.testing.assert_array_equal(resumed, whole)
    again = search.run("stopped", generations=12, problem=Cliff(stops_at=0))
    np.testing.assert_array_equal(again, whole)


def test_another_seed_asks_for_other_candidates(search):
    one, other = (search.run(f"of {seed}", generations=6, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one, other)
