"""Batches are cut into chunks and put together again; workers' mistakes come home."""

import itertools
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from remote_problems import Curves, Sphere, StationaryError

from trueup.errors import EvaluationError, FitError
from trueup.fitting.problem import LARGE_COST, LARGE_RESIDUAL
from trueup.runs.evaluators import DaskCluster, LocalEvaluator, ProcessPool, make_evaluator
from trueup.runs.evaluators.answers import Outcome
from trueup.runs.evaluators.chunks import Chunks
from trueup.runs.evaluators.remote_problem import RemoteProblem
from trueup.runs.evaluators.worker_task import evaluate, mistake_of, pack, raise_mistake

X = np.random.default_rng(4).uniform(-5.0, 5.0, (23, 3))


class HandMade:
    """Workers in this process, which cut as they are told and lose some rows."""

    def __init__(self, problem, edges, lost=()):
        self.chunks = Chunks(0.001)
        self.problem, self.edges, self.lost, self.count = problem, edges, lost, 2

    def evaluate(self, kind, X, rows):
        edges = [0, *self.edges, len(X)]
        outcomes = []
        for a, b in itertools.pairwise(edges):
            part = slice(a, b)
            if a in self.lost:
                outcomes.append(Outcome(part, None, "lost"))
            else:
                outcomes.append(Outcome(part, evaluate(self.problem, kind, X[part])))
        return outcomes[::-1]


@given(
    candidates=st.integers(1, 5000),
    workers=st.integers(1, 300),
    seconds=st.one_of(st.none(), st.floats(0.0, 100.0)),
)
@settings(max_examples=200, deadline=None)
def test_chunks_cover_the_batch_and_keep_every_worker_busy(candidates, workers, seconds):
    chunks = Chunks(0.01)
    if seconds is not None:
        chunks.measured(1, seconds)
    cut = chunks.cut(candidates, workers)
    assert [i for part in cut for i in range(part.start, part.stop)] == list(range(candidates))
    sizes = [part.stop - part.start for part in cut]
    assert max(sizes) - min(sizes) <= 1
    assert min(candidates, workers) <= len(cut) <= 4 * workers


def test_fast_candidates_share_a_message_and_slow_ones_balance():
    chunks = Chunks(0.01)
    assert len(chunks.cut(64, 2)) == 8  # nothing is known yet
    chunks.measured(64, 64 * 1e-4)
    assert len(chunks.cut(64, 2)) == 2
    for _ in range(20):
        chunks.measured(64, 64 * 0.05)
    assert len(chunks.cut(64, 2)) == 8


@pytest.mark.parametrize("blocks_vary", [False, True])
@pytest.mark.parametrize("edges", [(), (1,), (5, 12), (7, 8, 20)])
def test_residuals_put_together_equal_those_of_one_call(blocks_vary, edges):
    problem = Curves(blocks_vary)
    here, there = {}, {}
    whole = problem.residuals(X, here)
    remote = RemoteProblem(problem, HandMade(problem, edges))
    blocks = list(remote.residual_blocks(X, there))
    assert there == here
    assert len(here) > 0
    covered = np.concatenate([np.arange(rows.start, rows.stop) for rows, _ in blocks])
    assert sorted(covered) == list(range(81))
    # a block never reaches over the rows on which other elements act
    assert all(
        remote.acting_on(rows) is not None and rows.stop - rows.start <= 20 for rows, _ in blocks
    )
    np.testing.assert_array_equal(remote.residuals(X), whole)
    # sums over blocks of another size are rounded differently
    relative = 1e-14 if blocks_vary else 0.0
    np.testing.assert_allclose(remote.costs(X), problem.costs(X), rtol=relative)


def test_blocks_keep_the_order_in_which_one_worker_gives_them():
    class Backwards(Curves):
        def residual_blocks(self, X, failures):
            yield from [(r, v.copy()) for r, v in super().residual_blocks(X, failures)][::-1]

    problem = Backwards()
    remote = RemoteProblem(problem, HandMade(problem, (4, 9)))
    order = [rows for rows, _ in remote.residual_blocks(X, {})]
    assert order == [rows for rows, _ in problem.residual_blocks(X, {})]


def test_lost_candidates_have_the_values_of_invalid_ones():
    problem = Sphere()
    failures = {}
    remote = RemoteProblem(problem, HandMade(problem, (5, 6), lost=(5,)))
    costs = remote.costs(X, failures)
    expected = problem.costs(X, {})
    expected[5] = LARGE_COST
    assert failures[5] == "lost"
    np.testing.assert_array_equal(costs, expected)

    curves, failures = Curves(), {}
    remote = RemoteProblem(curves, HandMade(curves, (5, 6), lost=(5,)))
    residuals = remote.residuals(X, failures)
    assert failures[5] == "lost"
    assert (residuals[5] == LARGE_RESIDUAL).all()
    np.testing.assert_array_equal(np.delete(residuals, 5, 0), np.delete(curves.residuals(X), 5, 0))
    assert remote.costs(X)[5] == 0.5 * LARGE_RESIDUAL**2 * 81


def test_a_batch_of_which_nothing_is_left_still_has_all_rows():
    curves, failures = Curves(), {}
    remote = RemoteProblem(curves, HandMade(curves, (), lost=(0,)))
    blocks = list(remote.residual_blocks(X[:2], failures))
    assert [rows for rows, _ in blocks] == [slice(0, 40), slice(40, 80), slice(80, 81)]
    assert failures == {0: "lost", 1: "lost"}


def test_the_remote_problem_says_what_the_problem_says():
    for problem in (Sphere(), Curves()):
        remote = RemoteProblem(problem, HandMade(problem, ()))
        for name in ("space", "objectives", "noisy", "groups", "data_rows", "has_residuals"):
            assert getattr(remote, name) is getattr(problem, name) or getattr(
                remote, name
            ) == getattr(problem, name)
        assert remote.residual_size == problem.residual_size
    assert RemoteProblem(Curves(), HandMade(None, ())).times is not None
    with pytest.raises(AttributeError, match="colour"):
        _ = RemoteProblem(Curves(), HandMade(None, ())).colour
    with pytest.raises(FitError, match="no residuals"):
        RemoteProblem(Sphere(), HandMade(Sphere(), ())).residuals(X)


def test_a_problem_that_cannot_travel_is_refused():
    problem = Sphere()
    problem.lock = threading.Lock()
    with pytest.raises(EvaluationError, match="Sphere cannot be sent"):
        pack(problem, by_value=False)


def test_functions_within_functions_travel():
    assert pickle.loads(pack(lambda x: x + 1, by_value=False))(2) == 3


def test_exceptions_come_home_with_their_traceback():
    def mistake(error):
        try:
            raise error
        except Exception as caught:
            return mistake_of(caught, "worker 7")

    with pytest.raises(KeyError, match="mass") as caught:
        raise_mistake(mistake(KeyError("mass")))
    assert "worker 7" in caught.value.__notes__[0]
    assert "raise error" in caught.value.__notes__[0]
    with pytest.raises(EvaluationError, match="StationaryError: this and that"):
        raise_mistake(mistake(StationaryError("this and that")))


def test_what_the_options_ask_for():
    assert isinstance(make_evaluator(), LocalEvaluator)
    pool = make_evaluator(3)
    assert isinstance(pool, ProcessPool)
    assert pool.workers == 3
    assert make_evaluator(0).workers >= 1
    there = make_evaluator(scheduler="tcp://10.0.0.1:8786")
    assert isinstance(there, DaskCluster)
    assert there.scheduler == "tcp://10.0.0.1:8786"
    started = make_evaluator(2, "local")
    assert (started.scheduler, started.workers) == (None, 2)
    with pytest.raises(FitError, match="-1"):
        make_evaluator(-1)
    with pytest.raises(FitError, match=r"with a running scheduler.*remove them here"):
        make_evaluator(3, "tcp://10.0.0.1:8786")
    with pytest.raises(FitError, match="workers=0"):
        ProcessPool(0)
    with pytest.raises(FitError, match="patience=0"):
        DaskCluster(patience=0)


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("candidates", range(1, 40))
def test_equal_workers_evaluate_equal_numbers(candidates, workers):
    chunks = Chunks(0.01)
    for seconds in (None, 0.01, 0.05, 1.0):
        chunks.seconds = seconds
        loads = [0] * workers
        for part in chunks.cut(candidates, workers):
            # whoever is done first takes the next chunk
            loads[loads.index(min(loads))] += part.stop - part.start
        assert sum(loads) == candidates
        assert max(loads) - min(loads) <= 1 + (seconds is None), (seconds, loads)
