"""As a script, a process that works on a shared study, and that a test can kill.

Usage: toy_sharing.py URL STUDY PAUSE

PAUSE: seconds that a candidate takes. It says that it is ready, and starts when it is sent a line.
Each candidate is printed before it is evaluated.
"""

import importlib
import sys
import time

import numpy as np
from toy_study import Sphere

from trueup.studies.optuna_storage import work


class SlowSphere(Sphere):
    """Notes what it evaluates; half of the costs are negative zeros, which SQLite forgets."""

    def __init__(self, pause=0.0, note=lambda candidate: None):
        super().__init__()
        self.pause_of_one = pause
        self.note = note

    def costs(self, X, failures):
        for x in X:
            self.note(x.tobytes().hex())
        time.sleep(self.pause_of_one * len(X))
        return np.where(X[:, :1] < 0.0, -0.0, super().costs(X, failures))


def main():
    url, name, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
    problem = SlowSphere(pause, note=lambda candidate: print(candidate, flush=True))
    importlib.import_module("optuna.storages")  # takes longer than the study
    print("ready", flush=True)
    sys.stdin.readline()
    work(problem, url, name, patience=30.0)


if __name__ == "__main__":
    main()
