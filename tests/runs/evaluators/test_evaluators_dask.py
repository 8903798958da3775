"""A Dask cluster gives the answers of this process, whatever happens to its workers."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from remote_problems import Curves, Deadly, Faulty, NotRebuilt, Sphere
from remote_study import OneCost
from toy_study import Evolution

from trueup.errors import EvaluationError, FitError, TrueupError
from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.runs import Budget, RunDirectory, Store, run_search
from trueup.runs.evaluators import DaskCluster
from trueup.runs.evaluators.worker_task import pack

pytest.importorskip("distributed")
dask_worker = pytest.importorskip("trueup.runs.evaluators.dask_worker")

X = np.random.default_rng(4).uniform(-5.0, 5.0, (23, 3))
_FOLDER = Path(__file__).parents[1]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _process(*command):
    """A command of Dask in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *map(str, command[1:])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": str(_FOLDER)},
    )
    try:
        yield process
    finally:
        children = (
            psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        )
        process.kill()
        process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


@contextlib.contextmanager
def _scheduler():
    """Address and process of a scheduler."""
    address = f"tcp://127.0.0.1:{_free_port()}"
    with _process("dask_scheduler", "--host", address, "--no-dashboard") as process:
        yield address, process


def _worker(address):
    return _process(
        "dask_worker",
        address,
        "--host",
        "127.0.0.1",
        "--nthreads",
        2,
        "--no-dashboard",
        "--no-nanny",
    )


def _history(path):
    with Store.open(path / "study.sqlite") as store:
        history = store.history()
        return history.X.tobytes(), history.costs.tobytes(), history.reasons


def _study(path, problem=None, generations=12, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = problem or OneCost()
    return run_search(
        problem,
        Evolution(problem.space),
        directory,
        budget=Budget(max_generations=generations),
        verbose=False,
        **options,
    )


def _listening():
    """Addresses that this process and its children listen on."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    connections = [c for p in processes for c in p.net_connections()]
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}


def test_a_local_cluster(tmp_path):
    here, there = {}, {}
    expected = Sphere().costs(X, here)
    before = set(psutil.Process().children(recursive=True))
    own_threads = os.environ.get("OMP_NUM_THREADS")
    with DaskCluster(workers=2, threads=3).over(Sphere(journal=tmp_path)) as remote:
        for _ in range(2):
            there.clear()
            assert remote.costs(X, there).tobytes() == expected.tobytes()
            assert there == here
        assert _listening() == {"127.0.0.1"}
    assert os.environ.get("OMP_NUM_THREADS") == own_threads
    journal = [file.read_text().split() for file in tmp_path.iterdir()]
    assert sum(int(entry[0]) for entry in journal) == 2 * len(X)
    assert {tuple(entry[1:]) for entry in journal} == {("3", "3")}
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [p for p in left if "resource_tracker" not in " ".join(p.cmdline())]


def test_a_study_in_which_a_worker_is_killed_equals_the_local_one(tmp_path):
    _study(tmp_path / "here")
    killed = []

    def kill(generation):
        if generation.number == 3:  # while generation 4 is evaluated
            workers = psutil.Process().children(recursive=True)
            worker = next(w for w in workers if "spawn_main" in " ".join(w.cmdline()))
            timer = threading.Timer(0.03, lambda: killed.append(worker.kill()))
            timer.start()

    _study(
        tmp_path / "there",
        OneCost(0.02),
        evaluator=DaskCluster(workers=2),
        on_generation=kill,
    )
    assert killed
    assert _history(tmp_path / "there") == _history(tmp_path / "here")


@pytest.mark.slow
def test_the_candidate_that_ends_its_workers_is_invalid_and_no_other():
    deadly = np.minimum(X[:4], 2.0)
    deadly[2, 0] = 3.5
    failures, here = {}, {}
    expected = Sphere().costs(deadly, here)
    with DaskCluster(workers=2).over(Deadly()) as remote:
        costs = remote.costs(deadly, failures)
    assert failures.keys() - here.keys() == {2}
    assert "workers that evaluated it died" in failures[2]
    expected[2] = 1e30
    np.testing.assert_array_equal(costs, expected)


def test_a_new_worker_does_not_evaluate_before_it_is_known(monkeypatch):
    # one that dies at once, before its nanny has heard of it, makes closing the cluster fail
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(address="here"))
    monkeypatch.setattr(dask_worker, "_SETTLING", 3600.0)
    slept = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=slept.append)
    monkeypatch.setattr(dask_worker, "time", clock)
    plugin = dask_worker.HoldProblem("new", pack(Sphere(), by_value=True), None)
    plugin.setup(None)
    for _ in range(2):
        dask_worker.evaluate_chunk("new", "costs", X)
    (once,) = slept
    assert 1800.0 < once < 3600.0
    plugin.teardown(None)


@pytest.mark.slow
def test_a_scheduler_with_workers(tmp_path):
    alone = minimise(Curves(), LeastSquares(Curves().space))
    with _scheduler() as (address, _):
        evaluator = DaskCluster(address, patience=30.0)
        with evaluator.over(Sphere(journal=tmp_path)) as remote:
            with _worker(address):
                first = remote.costs(X, {})
            with _worker(address):  # joins later, and gets the problem too
                assert remote.costs(X, {}).tobytes() == first.tobytes()
        assert len({file.name.split(".")[0] for file in tmp_path.iterdir()}) == 2

        with _worker(address):
            with evaluator.over(Curves()) as remote:
                there = minimise(remote, LeastSquares(remote.space))
            assert there.x.tobytes() == alone.x.tobytes()

            mistake = pytest.raises(FitError, match="'mass' is not known")
            with evaluator.over(Faulty("own")) as remote, mistake as caught:
                remote.costs(X)
            assert "worker tcp://127.0.0.1" in caught.value.__notes__[0]

            refusal = pytest.raises(EvaluationError, match=r"cannot be unpickled on worker .*model")
            with evaluator.over(NotRebuilt()) as remote, refusal:
                remote.costs(X)

        hurried = DaskCluster(address, patience=0.2)
        refusal = pytest.raises(EvaluationError, match=r"no worker for 0.2 s: .*dask worker tcp://")
        with hurried.over(Sphere()) as remote, refusal:
            remote.costs(X)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:{port}", "tcp://no.such.host.invalid:8786", "what?"]
)
def test_a_scheduler_that_cannot_be_reached(tmp_path, address, monkeypatch):
    monkeypatch.setattr("trueup.runs.evaluators.dask_cluster._CONNECT", 0.5)
    address = address.format(port=_free_port())
    with pytest.raises(TrueupError, match="cannot be reached") as caught:
        _study(tmp_path / "run", evaluator=DaskCluster(address))
    assert isinstance(caught.value, EvaluationError)
    assert not [t for t in threading.enumerate() if t.name == "Dask client"]
    assert address in str(caught.value)
    assert "dask scheduler" in str(caught.value)


def test_a_scheduler_that_is_lost_stops_the_study_which_then_goes_on_here(tmp_path, monkeypatch):
    # each generation has a checkpoint, however slow the disk is
    monkeypatch.setattr("trueup.runs.store.checkpoint.SHARE_OF_TIME", float("inf"))
    _study(tmp_path / "here")
    with _scheduler() as (address, scheduler), _worker(address):

        def kill(generation):
            if generation.number == 4:
                threading.Timer(0.05, scheduler.kill).start()

        with pytest.raises(EvaluationError, match=rf"{address} is lost.*Resume with") as caught:
            _study(
                tmp_path / "there",
                OneCost(0.05),
                evaluator=DaskCluster(address),
                on_generation=kill,
            )
    assert "--resume" in caught.value.__notes__[0]
    with Store.open(tmp_path / "there" / "study.sqlite") as store:
        assert len(store.history().generations) >= 4
    _study(tmp_path / "there", resume=True)
    assert _history(tmp_path / "there") == _history(tmp_path / "here")
