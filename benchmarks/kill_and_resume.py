"""Exactness of resume: studies killed at random times, compared with uninterrupted ones.

Run:  python benchmarks/kill_and_resume.py [--runs 50] [--seed 0]

Each run takes the next of several searches and is killed by SIGKILL one to three times; after each
kill every file is read. At the end its history must equal that of the uninterrupted run, bit for
bit.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from trueup.fitting import make_search, test_problems
from trueup.runs import Budget, EventLog, RunDirectory, Store, atomic, run_search

CASES = {
    "cmaes": ("rotated_rastrigin", {"restarts": "ipop", "population": 8}),
    "cmaes-bipop": ("rosenbrock", {"restarts": "bipop"}),
    # its noise belongs to the candidate: a generator of the problem would start anew with a process
    "cmaes-noisy": ("rough_sphere", {"noisy": True}),
    "nsgaii": ("zdt1", {"population": 20}),
    "auto": ("exponential_decay", {}),
    "multi-start": ("exponential_decay", {"starts": 64}),
    "sobol": ("sphere", {"batch": 16}),
}
EVALUATIONS = 3000
PAUSE = 0.004  # [s] of a generation, so that a run lasts a few seconds


class Paused:
    """A problem that takes its time, so that a kill finds it at work."""

    def __init__(self, problem):
        self._problem = problem

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def costs(self, X, failures=None):
        """Costs of the problem itself."""
        time.sleep(PAUSE)
        return self._problem.costs(X, failures)

    def residual_blocks(self, X, failures):
        """Residuals of the problem itself."""
        time.sleep(10 * PAUSE)
        return self._problem.residual_blocks(X, failures)


def study(path: Path, case: str, seed: int) -> None:
    """Run or continue one study; what the child process does."""
    name, settings = CASES[case]
    problem = getattr(test_problems, name)().problem
    search = make_search(
        case.split("-")[0] if case.startswith("cmaes") else case,
        problem.space,
        seed=seed,
        settings=settings,
        objectives=len(problem.objectives),
    )
    directory = (
        RunDirectory.open(path) if (path / "run.json").is_file() else RunDirectory.create(path)
    )
    run_search(
        Paused(problem),
        search,
        directory,
        resume=True,
        budget=Budget(max_evaluations=EVALUATIONS),
        verbose=False,
    )


def child(path: Path, case: str, seed: int) -> subprocess.Popen:
    """The study in a process of its own."""
    return subprocess.Popen(
        [sys.executable, __file__, "--child", str(path), case, str(seed)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen) -> None:
    """Wait for the end of a study; its error ends the benchmark."""
    error = process.communicate()[1].decode()
    if process.returncode:
        raise SystemExit(f"a study failed with exit code {process.returncode}:\n{error}")


def check_readable(path: Path) -> int:
    """Read every file that a killed study left; returns its committed evaluations."""
    if (path / "parameters.json").exists():
        json.loads((path / "parameters.json").read_text())
    if not (path / "run.json").is_file():
        return 0
    directory = RunDirectory.open(path)
    EventLog(directory.log).read()
    if Store.is_blank(directory.study):
        return 0
    with Store.open(directory.study) as store:
        store.last_state()
        return len(store.history().X)


def outcome(path: Path) -> tuple:
    """Everything that has to be equal."""
    with Store.open(path / "study.sqlite") as store:
        history = store.history()
    info = [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in history.generations
    ]
    parameters = atomic.read_json(path / "parameters.json")
    return history.X, history.costs, history.generation, info, history.reasons, parameters


def equal(a: tuple, b: tuple) -> bool:
    """Whether two outcomes are the same, bit for bit."""
    arrays = all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a[:3], b[:3], strict=True))
    return arrays and repr(a[3:]) == repr(b[3:])


def main() -> None:
    """Kill, resume, compare."""
    if sys.argv[1:2] == ["--child"]:
        study(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    same = kills = found = 0
    with tempfile.TemporaryDirectory() as folder:
        reference, seconds = {}, {}
        for number in range(options.runs):
            case = list(CASES)[number % len(CASES)]
            if case not in reference:
                whole = Path(folder) / f"whole-{case}"
                started = time.monotonic()
                finished(child(whole, case, 1))
                seconds[case] = time.monotonic() - started
                reference[case] = outcome(whole)
            path = Path(folder) / f"run{number}"
            for _ in range(rng.randint(1, 3)):
                process = child(path, case, 1)
                time.sleep(rng.uniform(0.3, 1.0) * seconds[case])
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += process.returncode == -signal.SIGKILL
                found += check_readable(path)
            finished(child(path, case, 1))
            is_same = equal(outcome(path), reference[case])
            same += is_same
            if not is_same:
                print(f"  run {number} ({case}) differs from the uninterrupted one")
    print(
        f"{options.runs} runs of {len(CASES)} searches, killed {kills} times with SIGKILL in "
        f"mid-run: {same} histories equal to the uninterrupted one, bit for bit; every file was "
        f"readable after every kill ({found} evaluations found committed)"
    )
    sys.exit(same != options.runs)


if __name__ == "__main__":
    main()
