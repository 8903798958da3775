"""A study that was stopped in any way goes on as if nothing had happened."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from toy_study import Evolution, Sphere

from trueup.errors import FitError, RunDirectoryError
from trueup.fitting import minimise
from trueup.fitting.problem import Vectorised
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.solution import Status
from trueup.parameters import Space
from trueup.runs import Budget, EventLog, RunDirectory, Store, run_search
from trueup.time_limit import check_time

_SCRIPT = Path(__file__).parents[1].joinpath("toy_study.py")


def _history(directory):
    with Store.open(directory / "study.sqlite") as store:
        return store.history()


def _assert_equal(history, other):
    assert history.X.tobytes() == other.X.tobytes()
    assert history.costs.tobytes() == other.costs.tobytes()
    assert history.reasons == other.reasons
    np.testing.assert_array_equal(history.generation, other.generation)
    for one, two in zip(history.generations, other.generations, strict=True):
        assert {**one, "seconds": 0} == {**two, "seconds": 0}


def _run(path, *, generations=40, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = Sphere()
    options = {"budget": Budget(max_generations=generations), "verbose": False, **options}
    return run_search(problem, Evolution(problem.space), directory, **options)


def _start(path, generations, pause):
    return subprocess.Popen(
        [sys.executable, str(_SCRIPT), str(path), str(generations), str(pause)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "pause"),
    [
        (signal.SIGINT, 0.0005),
        (signal.SIGTERM, 0.02),
        (signal.SIGKILL, 0.0005),
        (signal.SIGKILL, 0.02),
    ],
)
def test_resumed_history_equals_the_uninterrupted(tmp_path, number, pause):
    generations = 400 if pause < 0.001 else 40
    whole = _run(tmp_path / "whole", generations=generations)
    random = np.random.default_rng(number)
    path, stops, committed = tmp_path / "stopped", 0, 0
    while True:
        process = _start(path, generations, pause)
        if stops < 3:
            process.stdout.readline()  # under way: imports are over
            time.sleep(random.uniform(0.0, 0.5 * generations * pause))
            process.send_signal(number)
            stops += 1
        output, _ = process.communicate()
        with Store.open(path / "study.sqlite") as store:  # never unreadable
            assert len(store.history().X) >= committed
            committed = len(store.history().X)
        if (path / "parameters.json").exists():
            json.loads((path / "parameters.json").read_text())
        if number != signal.SIGKILL:
            assert process.returncode == 0
            assert stops == 3 or "--resume" in output or "ITERATION_LIMIT" in output
        if "ITERATION_LIMIT" in output:
            break
    assert stops == 3
    _assert_equal(_history(path), _history(tmp_path / "whole"))
    best = json.loads((path / "parameters.json").read_text())
    assert best == json.loads((tmp_path / "whole" / "parameters.json").read_text())
    assert best["cost"] == whole.cost


def test_a_time_limit_within_a_generation_loses_none_that_was_finished(tmp_path):
    class Slow(Sphere):
        """Ends the fourth generation only where it is stopped."""

        calls = 0

        def costs(self, X, failures):
            self.calls += 1
            while self.calls == 4:
                time.sleep(0.02)
                check_time()
            return super().costs(X, failures)

    budget = Budget(max_generations=8, max_seconds=2.0)
    directory = RunDirectory.create(tmp_path / "run")
    problem = Slow(pause=0.05)
    solution = run_search(
        problem, Evolution(problem.space), directory, budget=budget, verbose=False
    )
    assert solution.status is Status.TIME_LIMIT and "within a generation" in solution.message
    whole = _run(tmp_path / "whole", generations=8)
    first = _history(tmp_path / "run")
    assert len(first.X) == 3 * Evolution.population
    assert solution.cost == np.delete(first.costs, list(first.reasons), 0).min()
    _run(tmp_path / "run", resume=True, budget=Budget(max_generations=8))
    _assert_equal(_history(tmp_path / "run"), _history(tmp_path / "whole"))
    assert whole.status is Status.ITERATION_LIMIT


def test_a_kill_before_the_first_checkpoint_starts_anew(tmp_path):
    directory = RunDirectory.create(tmp_path / "run")
    directory.study.touch()
    assert _run(directory.path, resume=True).status is Status.ITERATION_LIMIT


def test_solution_and_files(tmp_path):
    solution = _run(tmp_path / "run")
    history = _history(tmp_path / "run")
    valid = np.array([i not in history.reasons for i in range(len(history.X))])
    assert 0 < len(history.reasons) == solution.stats["failed_evaluations"]
    assert solution.cost == history.costs[valid].min()
    assert solution.stats["evaluations"] == len(history.X) == 240
    best = json.loads((tmp_path / "run" / "parameters.json").read_text())
    assert best["parameters"] == solution.parameters == dict(zip("abc", solution.x, strict=True))
    assert best["cost"] == solution.cost
    assert history.generations[3]["step"] == pytest.approx(0.99**4)
    events = [event["event"] for event in EventLog(tmp_path / "run" / "log.jsonl").read()]
    assert events[0] == "start"
    assert events[-2:] == ["checkpoint", "end"]
    assert not (tmp_path / "run" / "run.lock").exists()


def test_a_larger_budget_on_resume_goes_on(tmp_path):
    _run(tmp_path / "two", generations=15)
    solution = _run(tmp_path / "two", generations=40, resume=True)
    _run(tmp_path / "one", generations=40)
    _assert_equal(_history(tmp_path / "two"), _history(tmp_path / "one"))
    assert solution.stats["failed_evaluations"] == len(_history(tmp_path / "one").reasons)
    again = _run(tmp_path / "two", generations=40, resume=True)
    assert (again.cost, again.x.tolist()) == (solution.cost, solution.x.tolist())
    assert again.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        (Budget(max_evaluations=20), Status.EVALUATION_LIMIT),
        (Budget(max_seconds=1e-9), Status.TIME_LIMIT),
        (Budget(target_cost=0.01), Status.TARGET_REACHED),
        (Budget(), Status.CONVERGED),
    ],
)
def test_what_ends_a_study(tmp_path, budget, status):
    solution = _run(tmp_path / "run", budget=budget)
    assert solution.status is status
    assert "cost" in solution.message
    if budget.max_evaluations:
        assert solution.stats["evaluations"] == 18


def test_a_batch_that_would_pass_the_limit_leaves_no_trace(tmp_path):
    path = tmp_path / "two"
    assert _run(path, budget=Budget(max_evaluations=20)).stats["evaluations"] == 18
    done = _run(path, budget=Budget(max_evaluations=38), resume=True)
    whole = _run(tmp_path / "one", budget=Budget(max_evaluations=36))
    assert done.stats["evaluations"] == whole.stats["evaluations"] == 36
    _assert_equal(_history(path), _history(tmp_path / "one"))


def test_budget_has_to_be_positive():
    with pytest.raises(FitError, match="max_seconds must be positive, found 0"):
        Budget(max_seconds=0)


def test_callbacks(tmp_path):
    every, best = [], []
    _run(tmp_path / "run", on_generation=every.append, on_best=best.append)
    assert [event.number for event in every] == list(range(40))
    assert every[0].evaluations == 6
    costs = [event.cost for event in best]
    assert costs == sorted(set(costs), reverse=True)
    assert costs[-1] == every[-1].cost
    assert every[0].x is not every[1].x


def test_a_study_is_not_started_over(tmp_path):
    _run(tmp_path / "run", generations=2)
    with pytest.raises(RunDirectoryError, match=r"already contains a study.*--resume"):
        _run(tmp_path / "run")


def test_another_problem_is_refused(tmp_path):
    _run(tmp_path / "run", generations=2, settings={"rate": 1})
    with pytest.raises(RunDirectoryError, match="other bounds, start values, settings"):
        _run(tmp_path / "run", resume=True, settings={"rate": 2})
    problem = Sphere()
    object.__setattr__(problem.space, "names", ("a", "b", "d"))
    with pytest.raises(RunDirectoryError, match=r"another problem.*'c'.*'d'"):
        run_search(
            problem, Evolution(problem.space), RunDirectory.open(tmp_path / "run"),
            resume=True, settings={"rate": 1}, verbose=False,
        )  # fmt: skip
    assert _run(tmp_path / "run", resume=True, settings={"rate": 1}).stats["generations"] == 40


def test_a_run_in_progress_is_left_alone(tmp_path):
    process = _start(tmp_path / "run", 1000, 0.01)
    try:
        process.stdout.readline()
        with pytest.raises(RunDirectoryError, match=f"in progress.*{process.pid}"):
            _run(tmp_path / "run", resume=True)
    finally:
        process.kill()
        process.communicate()


def test_a_full_disk_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    _run(tmp_path / "run", generations=15)
    best = (tmp_path / "run" / "parameters.json").read_text()
    with monkeypatch.context() as patch:

        def full(*arguments, **options):
            raise RunDirectoryError(os.strerror(errno.ENOSPC))

        patch.setattr(Store, "flush", full)
        with pytest.raises(RunDirectoryError, match="No space"):
            _run(tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "parameters.json").read_text() == best
    assert EventLog(tmp_path / "run" / "log.jsonl").read()[-1]["event"] == "error"
    _run(tmp_path / "run", resume=True)
    _run(tmp_path / "whole")
    _assert_equal(_history(tmp_path / "run"), _history(tmp_path / "whole"))


def test_an_error_in_the_problem_is_logged_and_raised(tmp_path):
    class Broken(Sphere):
        def costs(self, X, failures):
            raise ZeroDivisionError("broken model")

    problem = Broken()
    directory = RunDirectory.create(tmp_path / "run")
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        run_search(problem, Evolution(problem.space), directory, verbose=False)
    assert signal.getsignal(signal.SIGINT) is handler
    assert EventLog(directory.log).read()[-1]["message"] == "broken model"
    with directory.lock():
        pass


def test_the_second_interrupt_stops_at_once(tmp_path):
    class Stuck(Sphere):
        calls = 0

        def costs(self, X, failures):
            self.calls += 1
            if self.calls == 4:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                raise AssertionError("not reached")
            return super().costs(X, failures)

    problem = Stuck()
    search = Evolution(problem.space)
    solution = run_search(problem, search, RunDirectory.create(tmp_path / "run"), verbose=False)
    assert solution.status is Status.INTERRUPTED
    assert "--resume" in solution.message
    _run(tmp_path / "run", resume=True)
    _run(tmp_path / "whole")
    _assert_equal(_history(tmp_path / "run"), _history(tmp_path / "whole"))


def test_in_another_thread(tmp_path):
    solutions = []
    thread = threading.Thread(target=lambda: solutions.append(_run(tmp_path / "run")))
    thread.start()
    thread.join()
    assert solutions[0].status is Status.ITERATION_LIMIT


def test_least_squares_goes_on_too(tmp_path):
    def rosenbrock(X):
        return np.stack([10 * (X[:, 1] - X[:, 0] ** 2), 1 - X[:, 0]], axis=1)

    two = np.full(2, 5.0)
    space = Space(("a", "b"), -two, two, np.array([-1.2, 1.0]), np.zeros(2, bool))
    problem = Vectorised(rosenbrock, space)
    whole = minimise(problem, LeastSquares(space))
    directory = RunDirectory.create(tmp_path / "run")
    for generations in range(3, 80, 4):
        solution = run_search(
            problem, LeastSquares(space), directory, resume=True,
            budget=Budget(max_generations=generations), verbose=False,
        )  # fmt: skip
    assert solution.status is whole.status
    assert solution.history == whole.history
    assert solution.x.tobytes() == whole.x.tobytes()
    assert solution.stats["evaluations"] == whole.stats["evaluations"]


def test_an_ignored_signal_stays_ignored(tmp_path):
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        solution = _run(
            tmp_path / "run", on_generation=lambda _: signal.raise_signal(signal.SIGTERM)
        )
        assert solution.stats["generations"] == 40
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, former)


def test_silent_when_asked(tmp_path, capfd):
    _run(tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_a_line_of_the_log_that_was_cut_off(tmp_path):
    log = EventLog(tmp_path / "log.jsonl")
    assert log.read() == []
    log.write("a", cost=np.inf)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"event": "cu')
    log.write("b")
    assert [event["event"] for event in log.read()] == ["a", "b"]
    assert log.read()[0]["cost"] == "Infinity"


def test_the_progress_names_parameters_on_a_bound(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("trueup.runs.loop.progress._PLAIN_INTERVAL", 0.0)
    space = Space(("mass", "kp"), np.zeros(2), np.ones(2), np.full(2, 0.5), np.zeros(2, bool))
    problem = Vectorised(lambda X: X - [0.3, 2.0], space)
    directory = RunDirectory.create(tmp_path / "run")
    run_search(problem, LeastSquares(space), directory, verbose=True)
    assert "1 of 2 on a bound: kp" in capsys.readouterr().err
