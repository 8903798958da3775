"""As a script, the study of toy_study with a mirror in an Optuna storage, that a test can kill.

Usage: toy_mirror.py DIRECTORY GENERATIONS URL
"""

import sys

from toy_study import Evolution, Sphere

from trueup.runs import Budget, RunDirectory, run_search
from trueup.runs.optuna_storage import OptunaMirror, mirror


def main():
    path, generations, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    mirror._SHORTEST_PAUSE = mirror._LONGEST_PAUSE = 0.001  # writes nearly all the time
    mirror._TRIALS_AT_ONCE = 50
    try:
        directory = RunDirectory.open(path)
    except Exception:
        directory = RunDirectory.create(path)
    problem = Sphere(0.002)
    run_search(
        problem,
        Evolution(problem.space),
        directory,
        resume=True,
        budget=Budget(max_generations=generations),
        trackers=[OptunaMirror(url)],
        on_generation=lambda generation: print(generation.number, flush=True),
        verbose=False,
    )


if __name__ == "__main__":
    main()
