"""Several processes share one study: each candidate once, the answers those of one process."""

import contextlib
import dataclasses
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import optuna
import pytest
from toy_postgresql import Server, find_programs
from toy_sharing import SlowSphere
from toy_study import Evolution

from trueup.errors import EvaluationError, StorageError
from trueup.fitting.least_squares import LeastSquares
from trueup.fitting.test_problems import exponential_decay
from trueup.studies import Budget, RunDirectory, Store, run
from trueup.studies.optuna_storage import OptunaMirror, SharedStorage, load_study, work
from trueup.studies.optuna_storage import database as database_module
from trueup.studies.optuna_storage.claims import Posting, SharedTrials, digest_of_problem
from trueup.studies.optuna_storage.database import Database

_SCRIPT = Path(__file__).with_name("toy_sharing.py")
_GENERATIONS = 8
_LEASE = 1.0
_POPULATION = Evolution.population


class _Worker:
    """The script, and the candidates that it began to evaluate."""

    def __init__(self, url, pause):
        self._process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), url, "toy", str(pause)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.evaluated = []
        self._reader = threading.Thread(target=self._read)

    def go(self):
        assert self._process.stdout.readline() == "ready\n"
        self._process.stdin.write("\n")
        self._process.stdin.close()
        self._reader.start()

    def await_candidates(self, count):
        deadline = time.monotonic() + 30.0
        while len(self.evaluated) < count and self._process.poll() is None:
            assert time.monotonic() < deadline, "the process does nothing"
            time.sleep(0.002)

    def kill(self):
        self._process.send_signal(signal.SIGKILL)

    def end(self):
        code = self._process.wait(timeout=60)
        self._reader.join()
        self._process.stdout.close()
        return code

    def _read(self):
        self.evaluated.extend(line.strip() for line in iter(self._process.stdout.readline, ""))


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


def _assert_finished(trials, count):
    """Optuna finds every trial finished and sound."""
    assert [trial.number for trial in trials] == list(range(count))
    assert all(trial.state.is_finished() for trial in trials)
    for trial in trials:
        trial._validate()


def _shared_trials(url, problem, name="toy"):
    """The trials of a shared study, and what is posted; made by the first call."""
    database = Database.open(url, create=True)
    study = database.create_study(name, ["cost"])
    trials = SharedTrials(database, study, problem.space, 5.0)
    posting = trials.posting() or Posting("run", digest_of_problem(problem.space, ["cost"]), _LEASE)
    return trials, posting


def _assert_numbers_survive(url):
    """Every candidate and cost comes back from the storage bit for bit."""
    bits = np.random.default_rng(2).integers(0, 2**64, 90, dtype=np.uint64)
    special = [-0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308, 0.1, 1e30, 3.0]
    X = np.concatenate([special, bits.view(float)]).reshape(-1, 3)
    trials, posting = _shared_trials(url, SlowSphere(), "numbers")
    for candidates in (X, np.array([[-0.0, 1.0, -0.0]])):
        costs = candidates[:, ::-1][:, :1]
        posting, numbers = trials.post(posting, candidates)
        claim = trials.claim(posting, f"a:{posting.batch}", 100)
        _assert_identical(claim.X, candidates)
        trials.report(claim, costs, {2: "too far"})
        found, failures = trials.answers(numbers)
        _assert_identical(found, costs)
        assert failures == ({2: "too far"} if len(candidates) > 2 else {})
    trials.database.close()


def _assert_identical(one, other):
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.fixture
def server():
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: on Debian,  apt-get install postgresql")
    with contextlib.closing(Server()) as server:
        server.start()
        yield server


def test_processes_share_a_study_in_postgresql_through_a_restart(tmp_path, server):
    here, worker = [], _Worker(server.url, 0.02)

    def restart():
        worker.await_candidates(6)
        server.stop()  # at once: connections break, transactions in progress are lost
        time.sleep(0.3)
        server.start()

    worker.go()
    restarting = threading.Thread(target=restart)
    restarting.start()
    # slower than the worker, which so gets its share on any machine
    problem = SlowSphere(0.1, note=here.append)
    _share(tmp_path / "run", server.url, problem=problem, generations=_GENERATIONS)
    restarting.join()
    assert worker.end() == 0

    evaluated = Counter(here + worker.evaluated)
    assert len(evaluated) == _GENERATIONS * _POPULATION
    assert set(evaluated.values()) == {1}
    assert len(worker.evaluated) > 6, "it goes on after the restart"
    _assert_finished(_trials(server.url, "toy"), _GENERATIONS * _POPULATION)
    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local"))
    _assert_numbers_survive(server.url)


def test_a_killed_worker_loses_nothing(tmp_path, url):
    here, worker, victim = [], _Worker(url, 0.05), _Worker(url, 0.3)

    def kill():
        victim.await_candidates(1)  # it holds this one, and has not answered
        victim.kill()

    worker.go()
    victim.go()
    killing = threading.Thread(target=kill)
    killing.start()
    problem = SlowSphere(0.05, note=here.append)
    _share(tmp_path / "run", url, problem=problem, generations=_GENERATIONS)
    killing.join()
    assert [worker.end(), victim.end()] == [0, -signal.SIGKILL]

    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local"))
    _assert_finished(_trials(url, "toy"), _GENERATIONS * _POPULATION)
    assert worker.evaluated
    assert victim.evaluated
    # What was answered is never evaluated again: only what died with its process.
    evaluated = Counter(here + worker.evaluated + victim.evaluated)
    assert len(evaluated) == _GENERATIONS * _POPULATION
    assert {c for c, number in evaluated.items() if number > 1} == set(victim.evaluated)
    assert max(evaluated.values()) == 2


def test_a_killed_run_takes_up_its_own_claims_and_the_answers_that_were_given(tmp_path, url):
    def stop(generation):
        if generation.number == 2:
            raise KeyError("as good as a kill: nothing is tidied up")

    with pytest.raises(KeyError):
        _share(tmp_path / "run", url, on_generation=stop)
    # The next generation was posted; one half was answered, the other half claimed by the run.
    trials, posting = _shared_trials(url, SlowSphere())
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        committed = len(store.history().X)
    X = _local(tmp_path / "longer", 6).X[3 * _POPULATION : 4 * _POPULATION]
    posting, _ = trials.post(posting, X)
    claim = trials.claim(posting, "worker:1", 3)
    failures = {}
    trials.report(claim, SlowSphere().costs(claim.X, failures), failures)
    assert trials.claim(posting, "run-dead:1", 3)
    trials.database.close()

    here = []
    problem = SlowSphere(note=here.append)
    _share(tmp_path / "run", url, problem=problem, generations=6)
    _assert_finished(_trials(url, "toy"), 6 * _POPULATION)
    _assert_equal(_history(tmp_path / "run"), _history(tmp_path / "longer"))
    # Of generations that were posted, only those three are evaluated, committed or not.
    assert committed < 3 * _POPULATION
    assert len(here) == 2 * _POPULATION + 3


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/shared.db"


def _share(path, url, *, generations=4, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = options.pop("problem", None) or SlowSphere()
    on_generation = options.pop("on_generation", None)
    options = {"lease": _LEASE, "patience": 30.0, **options}
    return run(
        problem,
        Evolution(problem.space),
        directory,
        resume=True,
        budget=Budget(max_generations=generations),
        evaluator=SharedStorage(directory, url, "toy", **options),
        on_generation=on_generation,
        verbose=False,
    )


def test_numbers_survive_sqlite(url):
    _assert_numbers_survive(url)


def test_processes_may_make_a_storage_at_the_same_time(url):
    opened, failed = [], []

    def reach(create):
        try:
            opened.append(Database.open(url, create=create))
        except StorageError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=reach, args=(i < 3,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) >= 3, failed
    assert all("does not exist" in text or "no study of Optuna" in text for text in failed)
    for database in opened:
        database.close()


def test_a_late_answer_is_dropped(url):
    trials, posting = _shared_trials(url, SlowSphere())
    posting, numbers = trials.post(posting, np.ones((4, 3)))
    late = trials.claim(posting, "late:1", 3)
    assert trials.release("late:", posting, lost=True) == 1
    prompt = trials.claim(posting, "prompt:1", 4)
    assert prompt.trials == tuple(numbers)
    assert trials.report(late, np.full((3, 1), 7.0), {}) == 0
    assert trials.report(prompt, np.full((4, 1), 5.0), {}) == 4
    assert trials.report(late, np.full((3, 1), 7.0), {}) == 0
    np.testing.assert_array_equal(trials.answers(numbers)[0], np.full((4, 1), 5.0))
    trials.database.close()


def test_what_is_repeated_after_a_lost_receipt_changes_nothing(url):
    trials, before = _shared_trials(url, SlowSphere())
    for batch in range(2):
        X = np.full((3, 3), 1.0 + batch)
        posting, numbers = trials.post(before, X)
        assert trials.post(before, X) == (posting, numbers)
        claim = trials.claim(posting, f"a:{batch}", 2)
        again = trials.claim(posting, f"a:{batch}", 2)
        assert again is None or again.trials == claim.trials
        assert trials.report(claim, np.ones((2, 1)), {}) == 2
        assert trials.report(claim, np.ones((2, 1)), {}) == 0
        rest = trials.claim(posting, f"b:{batch}", 2)
        assert trials.report(rest, np.ones((1, 1)), {}) == 1
        before = posting
    assert len(_trials(url, "toy")) == 6
    trials.database.close()


def test_a_candidate_has_one_claim_at_a_time(url):
    trials, posting = _shared_trials(url, SlowSphere())
    posting, numbers = trials.post(posting, np.ones((24, 3)))
    taken = []

    def take(name):
        own, _ = _shared_trials(url, SlowSphere())
        count = 0
        while claim := own.claim(posting, f"{name}:{count}", 2):
            taken.extend(claim.trials)
            count += 1
        own.database.close()

    threads = [threading.Thread(target=take, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == numbers
    trials.database.close()


def test_a_candidate_that_ends_every_process_stops_the_run(tmp_path, url):
    def die_again_and_again():
        database = None
        for number in range(1000):
            time.sleep(0.02)
            if database is None and (tmp_path / "shared.db").exists():
                with contextlib.suppress(StorageError):
                    database = Database.open(url, create=False)
            study = database and database.find_study("toy")
            if not study:
                continue
            trials = SharedTrials(database, study, SlowSphere().space, 5.0)
            posting = trials.posting()
            if posting is not None and not posting.is_open:
                break
            if posting is not None and trials.claim(posting, f"weak{number}:1", 9):
                trials.set_worker(f"weak{number}", 0)
        database.close()

    thread = threading.Thread(target=die_again_and_again)
    thread.start()
    with pytest.raises(EvaluationError, match=r"lost with \d+ processes") as caught:
        _share(tmp_path / "run", url, evaluates=False, lease=0.3, patience=20.0)
    # three, or more where several were found dead in one look
    assert int(re.search(r"with (\d+) processes", str(caught.value))[1]) >= 3
    assert "--resume" in caught.value.__notes__[0]
    thread.join()
    # one more that claims what was lost and dies before the run goes on: losses count from nothing
    database = Database.open(url, create=False)
    trials = SharedTrials(database, database.find_study("toy"), SlowSphere().space, 5.0)
    trials.release("weak", trials.posting(), lost=True)
    assert trials.claim(trials.posting(), "late:1", 9)
    trials.set_worker("late", 0)
    database.close()
    _share(tmp_path / "run", url)
    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local", 4))


def test_a_storage_that_stays_away_stops_the_run_which_can_go_on(tmp_path, url, monkeypatch):
    monkeypatch.setattr(database_module, "_LOCK_SECONDS", 0.05)
    blocker = sqlite3.connect(tmp_path / "shared.db", isolation_level=None)

    def block(generation):
        if generation.number == 1:
            blocker.execute("BEGIN EXCLUSIVE")

    with pytest.raises(EvaluationError, match="database is locked") as caught:
        _share(tmp_path / "run", url, on_generation=block, patience=0.3)
    assert "--resume" in caught.value.__notes__[0]
    blocker.execute("ROLLBACK")
    blocker.close()
    _share(tmp_path / "run", url)
    _assert_equal(_history(tmp_path / "run"), _local(tmp_path / "local", 4))
    assert len(_trials(url, "toy")) == 4 * _POPULATION


def test_without_any_process_the_run_stops(tmp_path, url):
    with pytest.raises(EvaluationError, match="no process has worked on the study 'toy'"):
        _share(tmp_path / "run", url, evaluates=False, patience=0.3)


def test_work_refuses_what_is_not_its_study(tmp_path, url):
    with pytest.raises(StorageError, match="does not exist"):
        work(SlowSphere(), url, "toy", patience=0.1)
    _share(tmp_path / "run", url)
    with pytest.raises(StorageError, match=r"no study 'tow'; it has 'toy'"):
        work(SlowSphere(), url, "tow", patience=0.1)
    other = SlowSphere()
    other.space = dataclasses.replace(other.space, upper=np.full(3, 9.0))
    with pytest.raises(StorageError, match="is that of another problem"):
        work(other, url, "toy", patience=0.1)
    assert work(SlowSphere(), url, "toy", patience=0.1) == 0  # it has ended


def test_a_shared_study_is_not_mirrored_as_well(tmp_path, url):
    _share(tmp_path / "run", url)
    problem = SlowSphere()
    with pytest.raises(StorageError, match="leave the mirror out"):
        run(
            problem,
            Evolution(problem.space),
            RunDirectory.open(tmp_path / "run"),
            resume=True,
            trackers=[OptunaMirror(url, "toy")],
            verbose=False,
        )


def test_another_run_needs_a_study_of_its_own(tmp_path, url):
    _share(tmp_path / "run", url)
    with pytest.raises(StorageError, match=r"'toy' already.*--load-study"):
        _share(tmp_path / "other", url)
    _share(tmp_path / "loading", url, load=True)
    _assert_equal(_history(tmp_path / "loading"), _history(tmp_path / "run"))
    trials = _trials(url, "toy")
    assert [trial.number for trial in trials] == list(range(8 * _POPULATION))
    loaded = load_study(url, "toy", SlowSphere().space)
    assert loaded.costs[0, 0] == min(trial.value for trial in trials if trial.values)


def test_residuals_stay_in_this_process(tmp_path):
    toy = exponential_decay()
    directory = RunDirectory.create(tmp_path / "run")
    solution = run(
        toy.problem,
        LeastSquares(toy.space),
        directory,
        evaluator=SharedStorage(directory),
        verbose=False,
    )
    assert toy.excess(solution.x) < 1e-12
