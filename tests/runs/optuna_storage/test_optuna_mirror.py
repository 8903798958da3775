"""A study appears in an Optuna storage: every candidate once, also after a kill or an outage."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import optuna
import pytest
from toy_postgresql import Server, find_programs
from toy_study import Evolution, Sphere

from trueup.errors import StorageError, TrueupWarning
from trueup.fitting.problem import VectorisedCosts
from trueup.parameters import Space
from trueup.runs import (
    Budget,
    Execution,
    RunDirectory,
    Store,
    StudySettings,
    resume,
    run_search,
    study,
)
from trueup.runs.optuna_storage import OptunaMirror, database, load_study, mirror

_SCRIPT = Path(__file__).parents[1].joinpath("toy_mirror.py")


def _run(path, tracker, *, generations=30, problem=None, search=None, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = problem or Sphere()
    search = search or Evolution(problem.space)
    budget = Budget(max_generations=generations)
    options = {"verbose": False, "trackers": [tracker], "budget": budget, **options}
    return run_search(problem, search, directory, **options)


def _trials(url, name):
    storage = optuna.storages.RDBStorage(url)
    try:
        return optuna.load_study(study_name=name, storage=storage).get_trials()
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _assert_mirrors(trials, path):
    """The trials are the history: all, once, in order, with the same numbers."""
    with Store.open(path / "study.sqlite") as store:
        history = store.history()
    assert len(trials) == len(history.X)
    for i, trial in enumerate(trials):
        trial._validate()  # Optuna finds it sound
        assert trial.number == i
        assert trial.params == dict(zip(history.names, history.X[i], strict=True))
        assert trial.user_attrs["generation"] == history.generation[i]
        assert trial.user_attrs["candidate"] == history.candidate[i]
        if i in history.reasons:
            assert trial.state.name == "FAIL"
            assert trial.user_attrs["reason"] == history.reasons[i]
        else:
            assert trial.state.name == "COMPLETE"
            assert trial.values == history.costs[i].tolist()


def test_optuna_reads_the_study(tmp_path, capfd):
    url = f"sqlite:///{tmp_path}/study.db"
    solution = _run(tmp_path / "run", OptunaMirror(url, "sphere"))
    assert capfd.readouterr() == ("", "")
    trials = _trials(url, "sphere")
    _assert_mirrors(trials, tmp_path / "run")
    assert {trial.state.name for trial in trials} == {"COMPLETE", "FAIL"}
    study = optuna.load_study(study_name="sphere", storage=url)
    assert study.best_value == solution.cost
    assert study.best_params == solution.parameters
    starts = [trial.datetime_start for trial in trials]
    assert starts == sorted(starts)
    assert all(trial.datetime_complete >= trial.datetime_start for trial in trials)


def test_another_sampler_of_optuna_continues_the_study(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    _run(tmp_path / "run", OptunaMirror(url, "sphere"))
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.load_study(study_name="sphere", storage=url, sampler=sampler)
    former = len(study.get_trials())
    assert set(optuna.search_space.intersection_search_space(study.get_trials())) == set("abc")

    study.optimize(lambda t: sum(t.suggest_float(n, -5, 5) ** 2 for n in "abc"), n_trials=3)
    assert [trial.number for trial in study.get_trials()] == list(range(former + 3))


def test_a_killed_run_leaves_no_trial_out_and_none_twice(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    random = np.random.default_rng(5)
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), str(tmp_path / "run"), "100000", url],
            stdout=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()
        time.sleep(random.uniform(0.3, 0.8))  # in the middle of writing, as likely as not
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        done = store.history().generations[-1]["generation"]
    _run(tmp_path / "run", OptunaMirror(url, "run"), generations=done + 20, resume=True)
    trials = _trials(url, "run")
    _assert_mirrors(trials, tmp_path / "run")
    assert len(trials) == (done + 20) * Evolution.population


def test_the_mirror_writes_while_the_study_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "_SHORTEST_PAUSE", 0.05)
    monkeypatch.setattr(mirror, "_TRIALS_AT_ONCE", 20)
    url = f"sqlite:///{tmp_path}/study.db"
    seen = []

    def look(generation):
        with contextlib.closing(sqlite3.connect(tmp_path / "study.db", timeout=60)) as connection:
            seen.append(connection.execute("SELECT count(*) FROM trials").fetchone()[0])

    _run(tmp_path / "run", OptunaMirror(url), problem=Sphere(0.02), on_generation=look)
    assert 0 < seen[-1] < 180
    assert not any(count % Evolution.population for count in seen), "half a generation was seen"
    _assert_mirrors(_trials(url, "run"), tmp_path / "run")


def test_a_storage_that_goes_away_does_not_stop_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(mirror, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(database, "_LOCK_SECONDS", 0.02)
    url = f"sqlite:///{tmp_path}/study.db"
    blocker = sqlite3.connect(tmp_path / "study.db", isolation_level=None, timeout=30.0)

    def lose(generation):
        if generation.number == 8:
            blocker.execute("BEGIN EXCLUSIVE")

    tracker = OptunaMirror(url, patience=0.2)
    problem = Sphere(0.01)
    with pytest.warns(TrueupWarning) as caught:
        solution = _run(tmp_path / "run", tracker, problem=problem, on_generation=lose)
    assert solution.stats["generations"] == 30
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "The run goes on" in messages[0]
    assert "resume the run to add them" in messages[1]

    blocker.execute("ROLLBACK")
    blocker.close()
    _run(tmp_path / "run", OptunaMirror(url), resume=True)
    _assert_mirrors(_trials(url, "run"), tmp_path / "run")


def test_several_objectives_and_made_up_ranges(tmp_path):
    space = Space(
        names=("gain", "stiffness", "delay"),
        lower=np.array([-np.inf, 1e-3, 0.0]),
        upper=np.array([np.inf, np.inf, 1.0]),
        start=np.array([2.0, 1.0, 0.5]),
        log=np.array([False, True, False]),
    )

    def costs(X):
        pair = np.stack([X[:, 0] ** 2, np.where(X[:, 2] > 0.9, np.nan, X[:, 1])], axis=1)
        return pair

    class Steps(Evolution):
        def ask(self):
            far = [[1e7, 1.0, 0.1], [-0.0, 1e9, 0.2], [2.0, 1.0, 0.95]]
            return np.concatenate([far, self.random.uniform(0.1, 0.9, (3, 3))])

    url = f"sqlite:///{tmp_path}/study.db"
    problem = VectorisedCosts(costs, space, objectives=("effort", "error"))
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        optuna.create_study(storage=url).set_metric_names(["what Optuna's own call writes"])
    _run(
        tmp_path / "run",
        OptunaMirror(url),
        generations=4,
        problem=problem,
        search=Steps(space),
    )
    trials = _trials(url, "run")
    _assert_mirrors(trials, tmp_path / "run")
    study = optuna.load_study(study_name="run", storage=url)
    assert [direction.name for direction in study.directions] == ["MINIMIZE"] * 2
    assert study.metric_names == ["effort", "error"]
    assert study.user_attrs["parameters without bounds"] == "gain, stiffness"
    assert study.best_trials
    assert trials[3].distributions == {
        "gain": optuna.distributions.FloatDistribution(-2000.0, 2000.0),
        "stiffness": optuna.distributions.FloatDistribution(1e-3, 1000.0, log=True),
        "delay": optuna.distributions.FloatDistribution(0.0, 1.0),
    }
    assert trials[0].distributions["gain"].high == 1e7


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://ann:s3cret@127.0.0.1:9/lab", "cannot be used.*Check its address"),
        ("sqlite:////nowhere/at/all/study.db", "unable to open database file"),
        ("sqlite://", "memory of one process"),
        ("study.db", "'study.db' is not the URL of a storage, such as sqlite:///study.db"),
        ("oracel://ann:s3cret@host/lab", "there is no database 'oracel'"),
        ("postgresql://ann:s3cret@host:port/lab", "is not the URL"),
        ("postgresql://ann@127.0.0.1:9/lab?password=s3cret", r"password=\*\*\*"),
    ],
)
def test_an_unusable_storage_is_one_error_before_the_run_begins(tmp_path, url, says):
    with pytest.raises(StorageError, match=says) as caught:
        _run(tmp_path / "run", OptunaMirror(url))
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    with Store.open(tmp_path / "run" / "study.sqlite") as store:
        assert store.evaluations == 0
    assert "s3cret" not in "".join(p.read_text() for p in (tmp_path / "run").glob("*.json*"))


def test_a_study_of_another_run_is_left_alone_unless_loaded(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    _run(tmp_path / "first", OptunaMirror(url, "arm"), generations=5)
    with pytest.raises(StorageError, match=r"'arm' already.*--load-study"):
        _run(tmp_path / "second", OptunaMirror(url, "arm"), generations=5)
    with pytest.raises(StorageError, match=r"no study 'arn'; it has 'arm'.*Did you mean 'arm'"):
        _run(tmp_path / "third", OptunaMirror(url, "arn", load=True), generations=5)
    _run(tmp_path / "fourth", OptunaMirror(url, "arm", load=True), generations=5)
    trials = _trials(url, "arm")
    assert [trial.number for trial in trials] == list(range(60))
    assert trials[30].params == trials[0].params


def test_the_default_is_a_file_in_the_run_directory(tmp_path):
    _run(tmp_path / "{run}", OptunaMirror(), generations=3)
    _assert_mirrors(
        _trials(f"sqlite:///{tmp_path}/{{{{run}}}}/trials.sqlite", "{run}"), tmp_path / "{run}"
    )


@pytest.fixture
def server():
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: on Debian,  apt-get install postgresql")
    with contextlib.closing(Server()) as server:
        server.start()
        yield server


def test_a_server_that_restarts_gets_every_trial_once(tmp_path, server, monkeypatch):
    monkeypatch.setattr(mirror, "_SHORTEST_PAUSE", 0.02)
    monkeypatch.setattr(mirror, "_LONGEST_PAUSE", 0.02)

    def restart(generation):
        if generation.number == 8:
            server.stop()  # at once: connections break, transactions in progress are lost
        if generation.number == 20:
            server.start()

    with warnings.catch_warnings():
        # the outage falls between two writings, or is noticed and told
        warnings.filterwarnings("ignore", "the storage postgresql", TrueupWarning)
        tracker = OptunaMirror(server.url, "run")
        _run(tmp_path / "run", tracker, problem=Sphere(0.02), on_generation=restart)
    _assert_mirrors(
        _trials(server.url.replace("postgresql", "postgresql+psycopg", 1), "run"), tmp_path / "run"
    )
    found = load_study(server.url, "run", Sphere().space)
    assert found.trials == 30 * Evolution.population


def test_processes_may_make_a_storage_at_the_same_time(tmp_path):
    url, failed = f"sqlite:///{tmp_path}/study.db", []

    def mirrored(name):
        try:
            _run(tmp_path / name, OptunaMirror(url), generations=2)
        except StorageError as error:
            failed.append(error)

    threads = [threading.Thread(target=mirrored, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for name in "abcd":
        _assert_mirrors(_trials(url, name), tmp_path / name)


def test_a_resumed_run_writes_on_in_its_study(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    search = {"settings": StudySettings(method="cmaes", seed=1), "verbose": False}
    storage = Execution(storage=url)
    run = tmp_path / "run"
    study("sphere", run, limits=Budget(max_evaluations=12), execution=storage, **search)
    resume(run, limits=Budget(max_evaluations=24), verbose=False)
    study("sphere", run, limits=Budget(max_evaluations=36), resume=True, **search)
    with Store.open(run / "study.sqlite") as store:
        assert 24 < store.evaluations <= 36
        assert len(optuna.load_study(storage=url, study_name="run").trials) == store.evaluations
