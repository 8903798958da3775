"""Kinds of machine are simulated along all recordings only where they may explain their error."""

import numpy as np
import pytest
from test_reduced_torques import MOTORS, problem_of

from trueup.sysid.torque.known_errors import FINE, Machine, OwnErrors
from trueup.sysid.torque.own_error import fitted
from trueup.sysid.torque.promising_machines import promising


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    problem = problem_of(tmp_path_factory.mktemp("arm"), False, MOTORS)
    return problem, fitted(problem, problem.space.start)[0]


def simulations(problem, x, size, of_noise):
    """A function that gives series for recordings, and the names that it was called with.

    Args:
      problem: torque problem.
      x: its fit ``(p,)``.
      size: share of what the fit leaves, by kind.
      of_noise: size of white noise in the series, by kind.
    """
    rng, asked = np.random.default_rng(3), []
    variant = problem.variants[0]
    left = {
        s.name: (
            s.times,
            problem.left_over(x, s.data, variant) / problem.gains_at(x, s.data, variant),
        )
        for s in problem.sequences
    }
    spread = {name: values.std(axis=0) for name, (_, values) in left.items()}

    def simulate(groups, kind):
        names = [t.name for g in groups for t in g.measured_rollout]
        asked.extend((name, kind) for name in names)
        pair = []
        for step in (FINE, 1.0):
            series = {
                name: (
                    left[name][0],
                    size[kind] * left[name][1]
                    + step * of_noise[kind] * spread[name] * rng.normal(size=left[name][1].shape),
                )
                for name in names
            }
            pair.append(OwnErrors(x, kind[0], series, Machine(kind[1], step)))
        return tuple(pair)

    return simulate, asked


HELPS, HARMS = ("zoh", False), ("zoh", True)


def test_a_kind_that_increases_the_error_is_not_simulated_further(fit):
    problem, x = fit
    simulate, asked = simulations(problem, x, {HELPS: 0.5, HARMS: 0.0}, {HELPS: 0.0, HARMS: 2.0})
    pairs = promising(problem, problem.recordings, x, [HARMS, HELPS], simulate)
    assert [pair[0].machine.hard for pair in pairs] == [False]
    names = [s.name for s in problem.sequences]
    assert asked == [(names[0], HARMS), (names[0], HELPS), (names[1], HELPS)]
    assert all(set(own.series) == set(names) for own in pairs[0])


def test_kinds_that_change_little_are_compared_on_all_recordings(fit):
    problem, x = fit
    small = {HELPS: 0.01, HARMS: 0.01}
    simulate, asked = simulations(problem, x, {HELPS: 0.0, HARMS: 0.0}, small)
    pairs = promising(problem, problem.recordings, x, [HELPS, HARMS], simulate)
    assert len(pairs) == 2 and len(asked) == 4


def test_without_a_promising_kind_there_are_no_own_errors(fit):
    problem, x = fit
    simulate, asked = simulations(problem, x, {HARMS: 0.0}, {HARMS: 3.0})
    assert promising(problem, problem.recordings, x, [HARMS], simulate) == []
    assert len(asked) == 1
