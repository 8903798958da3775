"""The walks that the benchmark of exoskeletons tries before its search."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

NAMES = ("theta_tgt", "1_GLU_FG", "2_HAM_FG", "1_SOL_FG")
CURVE = ("exo_peak", "exo_rise", "exo_time", "exo_fall")
BODY = np.array([1.0, 2.0, 3.0, 4.0])


class Problem:
    """Costs least where the helped gains are half of what they were, and keeps what it is asked."""

    def __init__(self, exo, dearer):
        entries = [SimpleNamespace(name=name, group="gains") for name in NAMES]
        if exo:
            entries += [SimpleNamespace(name=name, group="exoskeleton") for name in CURVE]
        self.parameters = SimpleNamespace(entries=entries)
        self.dearer, self.asked = dearer, []

    def whole_costs(self, X):
        self.asked.append(X.copy())
        return self.dearer + ((X[:, 1:3] / BODY[1:3] - 0.5) ** 2).sum(axis=1)


class Configuration:
    """Stands for the configuration of a walk, with perturbations or without."""

    def __init__(self, exo, perturbed=True):
        self.exo, self.perturbed = exo, perturbed

    def with_changes(self, changes):
        assert changes["perturbed_repeats"] == 0
        return Configuration(self.exo, perturbed=False)


@pytest.fixture
def tries(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("gait_tries")
    problems = []

    def make_problem(configuration, threads):
        problems.append(Problem(configuration.exo, 10.0 if configuration.perturbed else 0.0))
        return problems[-1]

    monkeypatch.setattr(module, "make_problem", make_problem)

    def run(name="tried", exo=True, seed=0, moved=NAMES[:3]):
        asked = module.Tries(400, "hip_extension", moved, 0.6)
        walks, evaluations = module.tried(
            tmp_path / f"{name}.json", Configuration(exo), BODY, asked, seed
        )
        return walks, evaluations

    return SimpleNamespace(module=module, run=run, problems=problems)


def test_the_cheapest_tries_are_judged_with_perturbations(tries):
    walks, evaluations = tries.run()
    perturbed, nominal = tries.problems
    (drawn,) = nominal.asked
    (judged,) = perturbed.asked
    assert len(drawn) == 400
    assert evaluations == 400 + tries.module.AGAIN
    assert walks.vectors.shape == (tries.module.AGAIN, len(NAMES + CURVE))
    np.testing.assert_array_equal(walks.vectors, judged)
    np.testing.assert_allclose(walks.costs, Problem(True, 10.0).whole_costs(judged))
    left = Problem(True, 0.0).whole_costs(drawn)
    dearest = np.sort(left)[tries.module.AGAIN - 1]
    assert walks.costs[1:].max() <= 10.0 + dearest + 1e-12


def test_the_walk_as_it_is_is_judged_whatever_it_costs(tries):
    walks, _ = tries.run()
    np.testing.assert_array_equal(walks.vectors[0, : len(BODY)], BODY)


def test_the_arm_without_a_device_tries_the_same_gains(tries):
    tries.run("with", exo=True)
    tries.run("without", exo=False)
    with_device, without = (tries.problems[k].asked[0] for k in (1, 3))
    np.testing.assert_array_equal(with_device[:, : len(BODY)], without)


def test_gains_that_are_not_moved_stay_and_helped_ones_are_lowered(tries):
    tries.run()
    (drawn,) = tries.problems[1].asked
    assert np.all(drawn[:, 3] == BODY[3])
    factors = drawn[1:, 1:3] / BODY[1:3]
    assert 0.6 < np.median(factors) < 0.75  # middle of 0.3 and 1.05
    assert np.abs(drawn[1:, 0] - BODY[0]).max() < 0.2


@pytest.mark.parametrize("device", ["ankle", "hip", "hip_extension"])
def test_curves_span_the_part_of_stance_in_which_the_muscles_work(tries, device):
    begin, end = tries.module.WORK[device]
    curves = tries.module.drawn_curves((begin, end), 0.6, 500, np.random.default_rng(0))
    height, rise, peak, fall = curves.T
    assert np.all(height == 0.6)
    assert rise.min() >= tries.module.BRIEFEST
    assert fall.min() >= tries.module.BRIEFEST
    assert np.all((peak > begin) & (peak < end))
    assert (peak - rise).min() >= begin - tries.module.BRIEFEST
    assert np.all(peak + fall <= end + 1e-12)
    assert (rise + fall).mean() == pytest.approx(2.0 / 3.0 * (end - begin), abs=0.02)


def test_tries_that_were_kept_are_taken_from_their_file(tries):
    first, evaluations = tries.run()
    made = len(tries.problems)
    again, count = tries.run()
    assert len(tries.problems) == made
    assert count == evaluations
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_seed_draws_other_tries(tries):
    one, other = tries.run("one", seed=0)[0], tries.run("other", seed=1)[0]
    assert not np.array_equal(one.vectors[1:], other.vectors[1:])
