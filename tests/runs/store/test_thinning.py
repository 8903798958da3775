"""Files of a run of any length stay bounded; nothing depends on when it was killed."""

import os
import re
import signal
import sqlite3
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toy_study import Evolution, Sphere

from trueup.fitting.problem import Vectorised
from trueup.fitting.searches import saved_state
from trueup.fitting.searches.random import RandomSearch
from trueup.parameters import Space
from trueup.runs import Budget, EventLog, RunDirectory, Store, run_search
from trueup.runs.store import database
from trueup.runs.store.checkpoint import Checkpoints
from trueup.runs.store.generation_lines import GenerationLines
from trueup.runs.store.thinning import LAST, kept_generations
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report

GENERATIONS = 600
LIMIT = 30_000
"""Limit of the files of a short run: it passes it some times."""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(database, "LARGEST", LIMIT)


def run(path, generations=GENERATIONS, **options):
    directory = RunDirectory.open(path) if path.exists() else RunDirectory.create(path)
    problem = Sphere()
    options = {"budget": Budget(max_generations=generations), "verbose": False, **options}
    run_search(problem, Evolution(problem.space), directory, resume=True, **options)
    return directory


def content(directory):
    """History and state of a study, without its seconds."""
    with Store.open(directory.study) as store:
        history, state = store.history(), store.last_state()
        failed = store.failed_evaluations()
    assert failed == len(history.reasons) + history.removed.failed
    rows = [{**row, "seconds": 0} for row in history.generations]
    arrays = [a.tobytes() for a in (history.X, history.costs, history.generation)]
    return arrays, rows, history.reasons, history.removed.to_dict(), repr(state)


def killed(work):
    """Do the work in a child that kills itself."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_what_stays_is_nested_and_holds_the_best_and_the_last():
    numbers, sizes = np.arange(1000), np.full(1000, 10)
    best = np.random.default_rng(1).normal(size=(1000, 2))
    best[300:400] = np.inf
    once = kept_generations(numbers, sizes, 10_000, best)
    assert sizes[once].sum() <= 5000
    assert once[best.argmin(axis=0)].all() and once[-LAST:].all() and once[0]
    assert once[-200:].all()  # a quarter of the limit; 250 of them
    again = kept_generations(numbers[once], sizes[once], 2500, best[once])
    straight = kept_generations(numbers, sizes, 2500, best)
    np.testing.assert_array_equal(numbers[once][again], numbers[straight])
    large = kept_generations(numbers, np.full(1000, 1e6), 10_000, best)
    assert set(np.flatnonzero(large)) == {0, *best.argmin(axis=0), *range(1000 - LAST, 1000)}


def test_the_store_of_a_day_is_bounded_and_its_numbers_are_those_of_all(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "LARGEST", 200_000)
    costs = np.random.default_rng(2).normal(size=100_000)
    path, largest = tmp_path / "study.sqlite", 0
    with Store.create(path, ("a",)) as store:
        for number, cost in enumerate(costs):
            failures = {0: f"fell after {number} steps"} if number % 10 == 0 else None
            store.record(number, [[cost]], [cost], failures, seconds=float(number))
            if number % 5000 == 4999:
                store.flush({"n": number})
                largest = max(largest, path.stat().st_size)
        assert store.evaluations == 100_000 and store.failed_evaluations() == 10_000
    assert largest < 3 * 200_000  # with the pages and indices of SQLite
    with Store.open(path) as store:
        generation, x, cost = store.best()
        history = store.history()
    valid = np.where(np.arange(100_000) % 10, costs, np.inf)
    assert (generation, x[0], cost) == (valid.argmin(), valid.min(), valid.min())
    assert history.evaluations == 100_000
    assert history.removed.invalid == history.removed.failed == 10_000 - len(history.reasons)
    assert list(history.removed.reasons.values()) == [history.removed.failed]
    np.testing.assert_array_equal(history.counted, history.generation + 1)
    assert set(range(100_000 - LAST, 100_000)) <= set(history.generation.tolist())


def test_a_resumed_run_keeps_the_same_generations(small, tmp_path):
    whole = content(run(tmp_path / "whole"))
    assert whole[3]["evaluations"] > 1000
    # stopped before, at and after each time that the file is thinned
    with Store.open(tmp_path / "whole" / "study.sqlite") as store:
        assert len(store.history().generations) < GENERATIONS / 2
    path = tmp_path / "parts"
    for generations in (1, 99, 100, 150, 151, 349, 420, 599, GENERATIONS):
        run(path, generations)
    assert content(RunDirectory.open(path)) == whole


@pytest.mark.parametrize("statement", [1, 40])
def test_a_kill_within_the_thinning_loses_nothing(small, tmp_path, monkeypatch, statement):
    whole, path = content(run(tmp_path / "whole")), tmp_path / "killed"

    class Connection(sqlite3.Connection):
        """A connection whose process is killed at a deletion of evaluations."""

        def executemany(self, sql, rows):
            rows = list(rows)
            is_thinning = sql.startswith("DELETE FROM evaluations")
            found = super().executemany(sql, rows[:statement] if is_thinning else rows)
            if is_thinning:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    run(path, 60)
    before, connect = content(RunDirectory.open(path)), sqlite3.connect

    def work():
        monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Connection))
        run(path)

    killed(work)
    found = content(RunDirectory.open(path))
    assert not found[3]["evaluations"] and found[0][0].startswith(before[0][0])
    assert content(run(path)) == whole


def number_of(line):
    return int(line.split()[0]) if line.split() and line.split()[0].isdigit() else None


def lines_of(path, header=""):
    return GenerationLines(path, number_of, 4000, header)


@pytest.mark.parametrize("header", ["", "% columns"])
def test_lines_are_thinned_once_their_generation_is_in_the_store(tmp_path, header):
    path = tmp_path / "terms"
    lines, sizes = lines_of(path, header), []
    for number in range(1000):
        # a checkpoint after each seventh generation
        lines.append(f"{number} {'x' * 20}", number, number // 7 * 7 - 1)
        sizes.append(path.stat().st_size)
    assert max(sizes) < 4000 + 8 * 25 and min(sizes[200:]) > 1000
    text = path.read_text().splitlines()
    assert text[0] == header or not header
    assert number_of(text[-1].encode()) == 999 and path.read_text().endswith("\n")

    # stopped at any time, with lines of generations that are repeated, and in the middle of a line
    for stop in range(100, 1000, 111):
        other = tmp_path / f"stopped{stop}"
        first = lines_of(other, header)
        for number in range(stop):
            first.append(f"{number} {'x' * 20}", number, number // 7 * 7 - 1)
        other.write_bytes(other.read_bytes()[:-3])
        second = lines_of(other, header)
        for number in range(stop // 7 * 7 - 7, 1000):
            second.append(f"{number} {'x' * 20}", number, number // 7 * 7 - 1)
        assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("every", [1, 3, 50, 10_000])
def test_finished_lines_do_not_depend_on_the_times_of_checkpoints(tmp_path, every):
    files = [tmp_path / "each", tmp_path / "shared"]
    for file, between in zip(files, (1, every), strict=True):
        lines = lines_of(file)
        for number in range(400):
            lines.append(f"{number} {'x' * 20}", number, number // between * between - 1)
        lines.finish()
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size <= 4000


def test_a_kill_before_the_thinned_lines_have_their_name(tmp_path, monkeypatch):
    whole, path = tmp_path / "whole", tmp_path / "killed"
    for target in (whole, path):
        lines = lines_of(target)
        for number in range(158):
            lines.append(f"{number} {'x' * 20}", number, number - 1)
    before = path.read_bytes()

    def work():
        monkeypatch.setattr(Path, "replace", lambda *args: os.kill(os.getpid(), signal.SIGKILL))
        for number in range(158, 300):
            lines.append(f"{number} {'x' * 20}", number, number - 1)

    killed(work)
    assert path.read_bytes().startswith(before)
    resumed, lines = lines_of(path), lines_of(whole)
    for target, first in ((lines, 158), (resumed, 150)):
        for number in range(first, 300):
            target.append(f"{number} {'x' * 20}", number, number - 1)
    assert path.read_bytes() == whole.read_bytes()


def test_the_page_of_a_thinned_study_has_the_numbers_of_all(small, tmp_path, monkeypatch):
    directory = run(tmp_path / "thinned")
    monkeypatch.undo()
    full = run(tmp_path / "full")
    one, two = read_study(full), read_study(directory)
    assert len(two.history.X) < len(one.history.X) / 2
    assert two.failures() == one.failures() and two.parameters == one.parameters
    pages = [re.sub(r"<[^>]*>", " ", study_report(record).html()) for record in (one, two)]
    figures = [re.findall(r"Overview.*?invalid candidates", page, re.DOTALL) for page in pages]
    for text in ("3600", "in 600 generations"):
        assert all(text in found[0] for found in figures), figures
    assert "contains" not in pages[0] and " of its 600 generations" in pages[1]


def test_the_history_within_a_search_is_bounded(monkeypatch):
    monkeypatch.setattr(saved_state, "LONGEST", 1200)
    space = Space(("a",), np.zeros(1), np.ones(1), np.full(1, 0.5), np.zeros(1, bool))
    problem = Vectorised(lambda X: X - 0.3, space)

    def told(search, count):
        for _ in range(count):
            X = search.ask()
            search.tell(X, problem.costs(X, {}), {})
        return search

    def fresh():
        return RandomSearch(space, batch=1, seed=1)

    whole = told(fresh(), 2000)
    parts = fresh()
    for count in (1100, 200, 1, 699):
        parts = RandomSearch.from_state(told(parts, count).state(), space)
    assert parts.history == whole.history and len(whole.history) <= 1200
    generations = [record["generation"] for record in whole.history]
    assert generations[0] == 0 and generations[-1000:] == list(range(1000, 2000))
    assert RandomSearch.from_state(whole.state(), space).history == whole.history


def test_lines_of_the_log_grow_with_the_logarithm(tmp_path):
    """A checkpoint after each of 5000 generations."""
    directory, log = RunDirectory.create(tmp_path / "run"), EventLog(tmp_path / "run" / "log.jsonl")
    store = SimpleNamespace(has_pending=True, flush=lambda state: None)
    checkpoints = Checkpoints(directory, store, log)
    for number in range(5000):
        store.evaluations = 6 * (number + 1)
        checkpoints.save({}, number, 1.0, None)
    numbers = [event["generation"] for event in log.read()]
    assert numbers[:1000] == list(range(1000)) and len(numbers) < 3000
    assert max(np.diff(numbers)) <= 6 and numbers[-1] > 4990
