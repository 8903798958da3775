"""The time of a resumed search counts from its resume."""

import pytest

from trueup import runs
from trueup.cli import main
from trueup.runs import Budget

SLOW = """\
import time

import numpy as np

from trueup.fitting import VectorisedCosts
from trueup.parameters import Space


def problem():
    space = Space(("a", "b"), np.full(2, -1.0), np.full(2, 2.0), np.ones(2), np.zeros(2, bool))

    def costs(X):
        time.sleep(0.05)
        return (X**2).sum(axis=1)

    return VectorisedCosts(costs, space)
"""


@pytest.fixture
def stopped(tmp_path):
    """A run of ten slow generations: half a second at least."""
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["study", "run", f"{tmp_path}/slow.py:problem", "--method", "sobol"]
    run = tmp_path / "run"
    assert main([*words, "--generations", "10", "--output", str(run)]) in (0, 3)
    return words, run


@pytest.mark.parametrize("way", ["command", "study resume", "python"])
def test_the_time_of_a_resumed_search_counts_from_there(way, stopped):
    words, run = stopped
    limits = ["--generations", "1000", "--seconds", "0.5"]
    if way == "command":
        main([*words, *limits, "--output", str(run), "--resume"])
    elif way == "study resume":
        main(["study", "resume", str(run), *limits])
    else:
        runs.resume(run, limits=Budget(max_generations=1000, max_seconds=0.5), verbose=False)
    with runs.Store.open(run / "study.sqlite") as store:
        generations = store.last_state()[0] + 1
    assert 12 <= generations <= 20
