"""Logs that are held out are spread over everything that varies."""

import itertools

import numpy as np
import pytest
from tests.actuators.bench_logs import make_log

from trueup.actuators.logs.splits import FACTORS, spread_logs

TRAJECTORIES = ("lift_and_drop", "sin_sin", "sin_time_square", "up_and_down")


def grid(**levels):
    """A log of each combination of levels, under names that sort them as files are."""
    rows = itertools.product(*levels.values())
    return [
        make_log("_".join(map(str, row)), samples=4, **dict(zip(levels, row, strict=True)))
        for row in rows
    ]


def counts(logs, name):
    """Logs of each level, and those that are held out."""
    held = spread_logs(logs)
    values = [getattr(log, name) for log in logs]
    return {v: (values.count(v), [values[i] for i in held].count(v)) for v in set(values)}


GRIDS = {
    "gain and trajectory": {"kp": (100, 200, 400), "trajectory": TRAJECTORIES},
    "trajectory and gain": {"trajectory": TRAJECTORIES, "kp": (100, 200, 400)},
    "four gains": {"kp": (4, 8, 16, 32), "trajectory": TRAJECTORIES},
    "two of each": {"kp": (1, 2), "trajectory": ("a", "b"), "mass": (0.2, 0.4)},
    "mass in the middle": {"trajectory": TRAJECTORIES, "mass": (0.5, 1.0), "kp": (8, 16, 32)},
    "lengths": {"length": (0.1, 0.15), "mass": (0.5, 0.7, 1.2), "trajectory": TRAJECTORIES},
    "voltages": {"vin": (None, 7.4), "trajectory": TRAJECTORIES[:3], "kp": (8, 16)},
    "five and three": {"trajectory": (*TRAJECTORIES, "brutal"), "kp": (8, 16, 32)},
    "repeats": {"kp": (100, 200), "trajectory": ("a", "b"), "damping": (None, 1.0, 2.0)},
    "one of three": {"kp": (1, 2, 3), "mass": (0.1, 0.2), "trajectory": ("a",)},
}


@pytest.mark.parametrize("levels", GRIDS.values(), ids=GRIDS)
def test_no_level_is_held_out_entirely_and_all_come_as_near_as_they_can(levels):
    logs = grid(**levels)
    held = spread_logs(logs)
    assert len(logs) // 4 <= len(held) <= max(len(logs) // 4, len(logs) // 3)
    for name in levels:
        found = counts(logs, name)
        assert all(out < whole for whole, out in found.values()), name
        out = [out for _, out in found.values()]
        assert max(out) - min(out) <= 1, (name, found)


def test_each_trajectory_and_gain_of_a_bench_is_held_out_once():
    logs = grid(kp=(100, 200, 400), trajectory=TRAJECTORIES)
    held = [logs[i] for i in spread_logs(logs)]
    assert sorted(log.trajectory for log in held) == list(TRAJECTORIES)
    assert {log.kp for log in held} == {100, 200, 400}
    # every fourth by name would be one trajectory at all gains
    assert {log.trajectory for log in logs[3::4]} == {"up_and_down"}


def test_neither_order_nor_names_decide():
    levels = {"kp": (100, 200, 400), "trajectory": TRAJECTORIES, "mass": (0.3, 0.6)}
    logs = grid(**levels)

    def held(some):
        return {tuple(getattr(some[i], n) for n in FACTORS) for i in spread_logs(some)}

    order = np.random.default_rng(1).permutation(len(logs))
    assert held([logs[i] for i in order]) == held(logs)
    renamed = [make_log(f"log{len(logs) - i}", samples=4, trajectory=log.trajectory, kp=log.kp,
                        mass=log.mass) for i, log in enumerate(logs)]  # fmt: skip
    assert held(renamed) == held(logs)


def test_masses_written_with_more_digits_are_one_level():
    logs = [make_log(f"l{i}", samples=4, mass=m, trajectory=t)
            for i, (m, t) in enumerate(itertools.product((0.741, 0.74117693), "abc"))]  # fmt: skip
    alike = [make_log(f"l{i}", samples=4, mass=0.741, trajectory=t)
             for i, t in enumerate("abcabc")]  # fmt: skip
    assert spread_logs(logs) == spread_logs(alike)


def test_values_that_all_differ_share_levels_with_their_neighbours():
    logs = [make_log(f"l{i}", samples=4, mass=0.1 * (i + 1)) for i in range(8)]
    first, second = (logs[i].mass for i in spread_logs(logs))
    assert abs(first - second) > 0.15


def test_a_condition_that_one_log_has_alone_stays_in_the_fit():
    logs = [*grid(kp=(100, 200), trajectory=("a", "b"), damping=(None, 1.0)),
            make_log("alone", samples=4, kp=800, trajectory="a")]  # fmt: skip
    assert len(logs) - 1 not in spread_logs(logs)


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_few_or_equal_logs_have_one_left_out(count):
    logs = [make_log(f"l{i}", samples=4) for i in range(count)]
    assert len(spread_logs(logs)) == 1
