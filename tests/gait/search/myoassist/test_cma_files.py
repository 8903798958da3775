"""Text files of CMA-ES in a run directory, as the package cma reads them."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK

from trueup import gait, runs
from trueup.fitting import CmaEs
from trueup.gait.search import run_files
from trueup.gait.search.myoassist import cma_files
from trueup.parameters import Space
from trueup.runs import Budget, Store
from trueup.runs.store import thinning

SHORT = {"sim_time": 0.05, "popsize": 4, "maxiter": 3, "seed": 3}
STAGES = {
    "find": {"maxiter": 3, "sigma_gain": 10, "attempts": [2, 1]},
    "steady": {"maxiter": 2, "step": 0.5},
}


def loaded(run):
    """The files of a run as the logger of cma reads them, its last row twice as it does."""
    import cma

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cma.CMADataLogger(f"{run}/outcmaes/").load()


def history(run):
    with Store.open(run / "study.sqlite") as store:
        return store.history()


def lines(run):
    """The files of a run as numbers, without the elapsed time."""
    found = {file.stem: np.loadtxt(file, comments="%") for file in (run / "outcmaes").iterdir()}
    found["fit"] = found["fit"][:, :11]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    run = tmp_path_factory.mktemp("cma") / "plain"
    gait.optimize(FIRST_WALK, run, changes=SHORT, verbose=False)
    return run


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    content = yaml.safe_load(Path(FIRST_WALK).read_text()) | {"stages": STAGES}
    path = tmp_path_factory.mktemp("cma") / "staged.yaml"
    path.write_text(yaml.safe_dump(content | SHORT | {"maxiter": None}, sort_keys=False))
    gait.optimize(path, path.with_name("staged"), verbose=False)
    return path, path.with_name("staged")


@pytest.mark.parametrize("kind", ["plain", "staged"])
def test_the_files_agree_with_the_history(request, kind):
    value = request.getfixturevalue(kind)
    run = value if kind == "plain" else value[1]
    files, study = loaded(run), history(run)
    generations = np.unique(study.generation)
    assert len(generations) == (3 if kind == "plain" else 6)
    np.testing.assert_array_equal(files.f[:, 0], generations + 1)
    np.testing.assert_array_equal(files.f[:, 1], [g["evaluations"] for g in study.generations])
    for row, recent, mean, generation in zip(
        files.f, files.xrecent, files.xmean, generations, strict=False
    ):
        rows = study.generation == generation
        costs, X = study.costs[rows, 0], study.X[rows]
        best, median, worst = np.sort(costs)[[0, len(costs) // 2, -1]]
        np.testing.assert_array_equal(row[5:8], [best, median, worst])
        np.testing.assert_array_equal(recent[5:], X[np.argmin(costs)])
        assert recent[4] == best
        assert mean[5:].shape == (len(study.names),)
    # of the search that has learned from the generation, not of the restart that follows
    assert not np.allclose(files.xmean[0, 5:], study.X[0])
    assert (files.std[:, 5:] > 0.0).all() and files.D.shape[1] == 5 + len(study.names)
    assert (np.diff(files.D[:, 5:], axis=1) >= 0.0).all()


def test_long_files_are_thinned_at_the_end_at_last(tmp_path, monkeypatch):
    for module in (run_files, cma_files):
        monkeypatch.setattr(module, "LARGEST", 1)
    monkeypatch.setattr(thinning, "LAST", 1)
    gait.optimize(FIRST_WALK, tmp_path / "run", changes=SHORT, verbose=False)
    assert list(run_files.read_terms(tmp_path / "run" / "terms.jsonl")[0]) == [0, 2]
    for rows in lines(tmp_path / "run").values():
        assert rows[:, 0].tolist() == [1.0, 3.0]


def test_lengths_and_deviations_are_those_of_the_search():
    size = 3
    space = Space(
        names=tuple("abc"),
        lower=np.full(size, -np.inf),
        upper=np.full(size, np.inf),
        start=np.array([1.0, 2.0, 3.0]),
        log=np.zeros(size, bool),
        deviation=np.array([0.1, 0.2, 0.4]),
    )
    search = CmaEs(space)
    np.testing.assert_allclose(search.mean, space.start)
    np.testing.assert_allclose(search.axis_lengths, space.deviation, rtol=1e-3)
    assert search.step_size == 1.0
    for _ in range(5):
        X = search.ask()
        search.tell(X, np.sum((X @ np.diag([1.0, 3.0, 9.0])) ** 2, axis=1), {})
    deviation, correlation = search.distribution
    covariance = correlation * np.outer(deviation, deviation)
    product = np.prod((search.step_size * search.axis_lengths) ** 2)
    assert product == pytest.approx(np.linalg.det(covariance))
    assert np.linalg.norm(search.mean) < np.linalg.norm(space.start)


@pytest.mark.parametrize("generations", [1, 2, 4])
def test_a_resumed_run_has_no_generation_twice(staged, tmp_path, generations):
    path, whole = staged
    run = tmp_path / "run"
    gait.optimize(path, run, limits=Budget(max_generations=generations), verbose=False)
    for file in (run / "outcmaes").iterdir():
        with file.open("a") as end:  # of a process that was killed before its checkpoint
            again = file.read_text().splitlines()[-1].split(" ", 1)[1]
            end.write(f"{generations + 1} {again}\n{generations + 2} {again[:7]}")
    runs.resume(run, limits=Budget(max_generations=6), verbose=False)
    expected, found = lines(whole), lines(run)
    assert sorted(found) == ["axlen", "fit", "stddev", "xmean", "xrecentbest"]
    for name, numbers in expected.items():
        np.testing.assert_array_equal(found[name], numbers)


def test_the_headers_are_those_of_cma(plain, tmp_path):
    import cma

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        es = cma.CMAEvolutionStrategy([1.0, 1.0], 0.1, {"verbose": -9})
        logger = cma.CMADataLogger(f"{tmp_path}/").register(es)
        es.ask_and_eval(cma.ff.sphere)
        logger.initialize()
    for file in (plain / "outcmaes").iterdir():
        columns = [
            one.read_text().split('columns="')[1].split('"')[0]
            for one in (file, tmp_path / file.name)
        ]
        assert columns[0] == columns[1]


def test_other_searches_have_no_such_files(tmp_path):
    changes = {**SHORT, "search": "scatter", "maxiter": 1}
    gait.optimize(FIRST_WALK, tmp_path / "run", changes=changes, verbose=False)
    assert not (tmp_path / "run/outcmaes").exists()


def test_a_separable_search_has_lengths_and_deviations():
    """CMA-ES keeps variances only in more than 100 dimensions, as with gains of each leg."""
    size = 120
    space = Space(
        names=tuple(f"x{i}" for i in range(size)),
        lower=np.full(size, -np.inf),
        upper=np.full(size, np.inf),
        start=np.ones(size),
        log=np.zeros(size, bool),
        deviation=np.linspace(0.1, 0.5, size),
    )
    search = CmaEs(space)
    for _ in range(3):
        X = search.ask()
        search.tell(X, np.sum(X**2, axis=1), {})
    deviation, correlation = search.distribution
    np.testing.assert_allclose(correlation, np.eye(size), atol=1e-12)
    assert np.isfinite(deviation).all() and np.ptp(deviation / space.deviation) > 0.0
    np.testing.assert_allclose(search.step_size * search.axis_lengths, np.sort(deviation))
