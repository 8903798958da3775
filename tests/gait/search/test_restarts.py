"""Restarts of a search: which one is continued."""

import numpy as np

from trueup.gait.search.restarts import Restarts
from trueup.parameters import Space

SPACE = Space(("a",), np.zeros(1), np.ones(1), np.full(1, 0.5), np.zeros(1, bool))


class Written:
    """A search whose costs are written down: one candidate a generation, its cost the median."""

    def __init__(self, costs, index):
        self.space, self.costs, self.index = SPACE, costs, index
        self.x, self.cost, self.generation, self.history = np.array([float(index)]), np.inf, 0, []

    def ask(self):
        return np.zeros((1, 1))

    def tell(self, X, answer, failures):
        median = self.costs[self.generation]
        self.history.append({"generation_median": median})
        self.generation += 1
        self.cost = min(self.cost, np.inf if median is None else median)

    def done(self):
        return None

    def state(self):
        return {"generation": self.generation, "cost": self.cost}

    def from_state(self, state, space):
        self.generation, self.cost = state["generation"], state["cost"]
        return self


def continued(*courses):
    """Index of the restart that is continued after the given medians of generations."""
    length = len(courses[0])
    search = Restarts(lambda index: Written(courses[index], index), len(courses), length)
    for _ in range(len(courses) * length):
        search.tell(search.ask(), None, {})
        search.advance()
    assert search.restart is None and search.generation == length
    return search.search.index


def test_the_last_five_generations_decide():
    early = [9.0] * 5 + [1.0] * 5
    late = [0.0] * 5 + [2.0] * 5
    assert continued(early, late) == 0 and continued(late, early) == 1
    # the fifth from the end counts, the sixth does not
    assert continued([9.0] * 5 + [5.0, 1.0, 1.0, 1.0, 1.0], [1.5] * 10) == 1
    assert continued([9.0] * 6 + [1.0] * 5, [1.5] * 11) == 0


def test_a_generation_without_a_valid_candidate_loses():
    assert continued([1.0] * 7 + [None], [50.0] * 8) == 1
