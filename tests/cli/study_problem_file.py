"""A Python file with problems of a user's own, as the tests of ``trueup study`` write it."""

TEXT = '''
"""Problems of my own."""
import time
import numpy as np
from trueup.fitting import Problem
from trueup.parameters import Parameter, ParameterDict

SPACE = ParameterDict({
    "mass": Parameter("mass", 1.0, 0.1, 10.0, scale="log", unit="kg"),
    "friction": Parameter("friction", 0.5, 0.0, 1.0),
    "delay": Parameter("delay", 0.04, 0.0, 0.05, unit="s"),
}).space()
BEST = np.array([2.0, 0.3, 0.0])


class Mine(Problem):
    """Cost: squared distance from BEST in parts of the range; friction above 0.9 is invalid."""

    def __init__(self, pause=0.0):
        self.space, self.pause = SPACE, pause

    def costs(self, X, failures=None):
        time.sleep(self.pause)
        for row in np.flatnonzero(X[:, 1] > 0.9):
            failures[int(row)] = f"friction {X[row, 1]:.3f} locks the joint"
        return (((X - BEST) / (SPACE.upper - SPACE.lower)) ** 2).sum(axis=1)[:, None]


def problem():
    return Mine()


def slow():
    return Mine(0.01)


def slower():
    """A second process has time to start before the search is over."""
    return Mine(0.1)


def nothing():
    return {"cost": 1.0}


def with_argument(size):
    return Mine()
'''
