"""A process pool gives the answers of this process, whatever happens to its workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from remote_problems import Curves, Deadly, Faulty, KillsOnce, NotRebuilt, Sphere

from trueup.errors import EvaluationError, FitError
from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.runs.evaluators import ProcessPool

X = np.random.default_rng(4).uniform(-5.0, 5.0, (23, 3))
_SCRIPT = Path(__file__).parents[1].joinpath("remote_study.py")


@pytest.fixture(autouse=True)
def _strangers():
    """Processes that other tests of this session started and keep, apart from the pool's."""
    _OTHERS.clear()
    _OTHERS.update(child.pid for child in psutil.Process().children())


_OTHERS: set[int] = set()


def _children():
    """Processes that the pool started; the interpreter's own resource tracker is none of them."""
    mine = (child for child in psutil.Process().children() if child.pid not in _OTHERS)
    return [child for child in mine if "resource_tracker" not in " ".join(child.cmdline())]


def _journal(folder):
    """What each process wrote: its id, candidates, threads asked for, threads allowed."""
    return [(f.name.split(".")[0], *f.read_text().split()) for f in sorted(folder.iterdir())]


def test_answers_equal_those_of_this_process(tmp_path):
    problem, here, there = Sphere(), {}, {}
    expected = problem.costs(X, here)
    own_threads = os.environ.get("OMP_NUM_THREADS")
    with ProcessPool(2, threads=3).over(Sphere(journal=tmp_path)) as remote:
        for _ in range(3):  # the chunks get larger
            there.clear()
            costs = remote.costs(X, there)
            assert costs.tobytes() == expected.tobytes()
            assert there == here
        workers = {str(child.pid) for child in _children()}
    assert not _children()
    journal = _journal(tmp_path)
    assert {entry[0] for entry in journal} == workers
    assert sum(int(entry[1]) for entry in journal) == 3 * len(X)
    assert {entry[2:] for entry in journal} == {("3", "3")}
    assert os.environ.get("OMP_NUM_THREADS") == own_threads


def test_least_squares_over_a_pool():
    alone = minimise(Curves(), LeastSquares(Curves().space))
    with ProcessPool(2).over(Curves()) as remote:
        pooled = minimise(remote, LeastSquares(remote.space))
    assert pooled.x.tobytes() == alone.x.tobytes()
    assert pooled.cost == alone.cost


def test_candidates_of_a_worker_that_died_are_evaluated_again(tmp_path):
    problem, failures = KillsOnce(tmp_path / "flag"), {}
    with ProcessPool(2).over(problem) as remote:
        costs = remote.costs(X, failures)
    assert (tmp_path / "flag").exists()
    here = {}
    assert costs.tobytes() == Sphere().costs(X, here).tobytes()
    assert failures == here


def test_a_worker_that_dies_idle_is_replaced():
    with ProcessPool(2).over(Deadly()) as remote:
        harmless = np.minimum(X, 2.0)
        expected = remote.costs(harmless, {})
        for child in _children():
            child.kill()
            while child.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
        assert remote.costs(harmless, {}).tobytes() == expected.tobytes()


def test_the_candidate_that_ends_its_workers_is_invalid_and_no_other():
    deadly = np.minimum(X, 2.0)
    deadly[9, 0] = 3.5
    failures, here = {}, {}
    with ProcessPool(2).over(Deadly()) as remote:
        costs = remote.costs(deadly, failures)
    expected = Sphere().costs(deadly, here)
    assert failures.keys() - here.keys() == {9}
    assert "3 workers died" in failures[9]
    assert "SIGKILL" in failures[9]
    expected[9] = 1e30
    np.testing.assert_array_equal(costs, expected)


def test_workers_that_always_die_stop_the_study():
    with (
        ProcessPool(2).over(Faulty("exit")) as remote,
        pytest.raises(EvaluationError, match=r"exit code 7.*without workers"),
    ):
        remote.costs(X)
    assert not _children()


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("own", FitError, "'mass' is not known"),
        ("other", KeyError, "mass"),
        ("untravelled", EvaluationError, "StationaryError: this and that"),
    ],
)
def test_a_mistake_in_the_problem_is_raised(kind, error, message):
    with ProcessPool(2).over(Faulty(kind)) as remote:
        for _ in range(2):  # the pool is as good as before
            with pytest.raises(error, match=message) as caught:
                remote.costs(X)
        note = "\n".join(caught.value.__notes__)
        assert "trueup worker" in note
        assert "remote_problems.py" in note
    assert not _children()


def test_a_problem_that_cannot_be_rebuilt_is_refused():
    with (
        pytest.raises(EvaluationError, match=r"cannot be unpickled on trueup worker .*model.xml"),
        ProcessPool(2).over(NotRebuilt()),
    ):
        pass
    assert not _children()


def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(_SCRIPT.parent)!r})\n"
        "from remote_problems import Sphere\n"
        "from trueup.runs.evaluators import ProcessPool\n"
        "with ProcessPool(1).over(Sphere()): pass\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "if __name__ == '__main__'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("how", "stop"),
    [
        ("pool", "twice"),
        ("pool", "kill"),
        ("dask", "once"),
        pytest.param("dask", "kill", marks=pytest.mark.slow),
    ],
)
def test_no_worker_outlives_the_study(tmp_path, how, stop):
    # a group of its own: Ctrl-C of a terminal reaches every process of it
    if how == "dask":
        pytest.importorskip("distributed")
    study = subprocess.Popen(
        [sys.executable, _SCRIPT, how, tmp_path / "run", "1000", "0.3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    study.stdout.readline()  # under way
    workers = psutil.Process(study.pid).children(recursive=True)
    assert len(workers) >= 2
    if stop == "kill":
        study.kill()
    else:
        time.sleep(0.2)  # in the middle of an evaluation
        os.killpg(study.pid, signal.SIGINT)
        if stop == "twice":
            time.sleep(0.1)
            os.killpg(study.pid, signal.SIGINT)
    output, errors = study.communicate(timeout=30)
    if stop != "kill":
        assert study.returncode == 0, errors
        assert "INTERRUPTED" in output
        assert "Traceback" not in errors
        assert errors == ""
    _, alive = psutil.wait_procs(workers, timeout=5)
    assert not alive
