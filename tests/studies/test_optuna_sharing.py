"""Several processes share one study: each candidate once, the answers those of one process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import optuna
import pytest
from toy_postgresql import Server, find_programs
from toy_sharing import SlowSphere
from toy_study import Evolution

from trueup.studies import Budget, RunDirectory, Store, run
from trueup.studies.optuna_storage.database import Database

_SCRIPT = Path(__file__).with_name("toy_sharing.py")
_GENERATIONS = 12
_POPULATION = Evolution.population


class _Process:
    """The script, and what it prints, as it prints it."""

    def __init__(self, *arguments):
        self._process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read)

    @staticmethod
    def go(*processes):
        """Let them begin at the same time."""
        for process in processes:
            assert process._process.stdout.readline() == "ready\n"
        for process in processes:
            process._process.stdin.write("\n")
            process._process.stdin.close()
            process._reader.start()

    def _read(self):
        self.lines.extend(iter(self._process.stdout.readline, ""))

    def await_lines(self, count):
        deadline = time.monotonic() + 30.0
        while len(self.lines) < count and self._process.poll() is None:
            assert time.monotonic() < deadline, "the process does nothing"
            time.sleep(0.005)

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self.end()

    def end(self):
        code = self._process.wait(timeout=60)
        self._reader.join()
        self._process.stdout.close()
        return code


def _history(path):
    with Store.open(path / "study.sqlite") as store:
        return store.history()


def _local(path, generations=_GENERATIONS):
    problem = SlowSphere()
    budget = Budget(max_generations=generations)
    run(problem, Evolution(problem.space), RunDirectory.create(path), budget=budget, verbose=False)
    return _history(path)


def _assert_equal(history, other):
    assert history.X.tobytes() == other.X.tobytes()
    assert history.costs.tobytes() == other.costs.tobytes()
    assert history.reasons == other.reasons


def _trials(url, name):
    database = Database.open(url, create=False)
    trials = optuna.load_study(study_name=name, storage=database.storage).get_trials()
    database.close()
    return trials


def _assert_each_once(processes, trials, count):
    """Each candidate was printed by one process, once, and is one finished trial."""
    evaluated = Counter(line for process in processes for line in process.lines)
    assert len(evaluated) == count
    assert set(evaluated.values()) == {1}
    assert [trial.number for trial in trials] == list(range(count))
    assert all(trial.state.is_finished() for trial in trials)
    for trial in trials:
        trial._validate()


@pytest.fixture
def server():
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: on Debian,  apt-get install postgresql")
    server = Server()
    server.start()
    yield server
    server.stop()
    server.remove()


def test_processes_share_a_study_in_postgresql_through_a_restart(tmp_path, server):
    arguments = (server.url, "shared", 0.02)
    processes = [
        _Process("run", *arguments, tmp_path / "run", _GENERATIONS),
        _Process("work", *arguments),
    ]
    _Process.go(*processes)
    for process in processes:
        process.await_lines(8)
    server.stop()  # at once: connections break, transactions in progress are lost
    time.sleep(0.5)
    server.start()
    assert [process.end() for process in processes] == [0, 0]
    trials = _trials(server.url, "shared")
    _assert_each_once(processes, trials, _GENERATIONS * _POPULATION)
    assert all(len(process.lines) > 8 for process in processes), "both go on after the restart"
    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local"))


def test_a_killed_worker_and_a_killed_run_lose_nothing(tmp_path):
    url = f"sqlite:///{tmp_path}/shared.db"
    arguments = (url, "shared", 0.05)
    first = _Process("run", *arguments, tmp_path / "run", _GENERATIONS)
    worker = _Process("work", *arguments)
    victim = _Process("work", *arguments)
    _Process.go(first, worker, victim)
    victim.await_lines(3)
    victim.kill()  # it has printed the candidates that it holds, and not answered
    worker.await_lines(len(worker.lines) + 4)
    first.kill()
    second = _Process("run", *arguments, tmp_path / "run", _GENERATIONS)
    _Process.go(second)
    assert [second.end(), worker.end()] == [0, 0]

    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local"))
    trials = _trials(url, "shared")
    count = _GENERATIONS * _POPULATION
    assert [trial.number for trial in trials] == list(range(count))
    assert all(trial.state.is_finished() for trial in trials)
    # What was answered is never evaluated again: only what died with its process.
    twice = Counter(line for p in (first, worker, victim, second) for line in p.lines)
    repeated = sum(number - 1 for number in twice.values())
    assert len(twice) == count
    assert 1 <= repeated <= 2 * _POPULATION
