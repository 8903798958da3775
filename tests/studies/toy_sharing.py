"""As a script, a process that works on a shared study, or runs one, and that a test can kill.

Usage: toy_sharing.py work URL STUDY PAUSE
       toy_sharing.py run URL STUDY PAUSE DIRECTORY GENERATIONS

PAUSE: seconds that a candidate takes. It says that it is ready, and starts when it is sent a line.
Each candidate is printed before it is evaluated.
"""

import importlib
import sys
import time

import numpy as np
from toy_study import Evolution, Sphere

from trueup.studies import Budget, RunDirectory, run
from trueup.studies.optuna_storage import SharedStorage, work

LEASE = 1.0


class SlowSphere(Sphere):
    """Prints what it evaluates; one cost in three is a negative zero, which SQLite forgets."""

    def costs(self, X, failures):
        for x in X:
            print("evaluate", x.tobytes().hex(), flush=True)
        time.sleep(self.pause * len(X))
        self.pause, pause = 0.0, self.pause
        costs = super().costs(X, failures)
        self.pause = pause
        return np.where(X[:, :1] < 0.0, -0.0, costs)


def main():
    what, url, name, pause = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    problem = SlowSphere(pause)
    importlib.import_module("optuna.storages")  # takes longer than the study
    print("ready", flush=True)
    sys.stdin.readline()
    if what == "work":
        work(problem, url, name, patience=30.0)
        return
    path, generations = sys.argv[5], int(sys.argv[6])
    try:
        directory = RunDirectory.open(path)
    except Exception:
        directory = RunDirectory.create(path)
    run(
        problem,
        Evolution(problem.space),
        directory,
        resume=True,
        budget=Budget(max_generations=generations),
        evaluator=SharedStorage(directory, url, name, lease=LEASE, patience=30.0),
        verbose=False,
    )


if __name__ == "__main__":
    main()
