"""The report of a study: statistics against plain loops, figures that stay small, odd studies."""

import json
import re
import time

import numpy as np
import pytest
from headless_chromium import Chromium, find_chromium
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import RunDirectoryError
from trueup.runs import RunDirectory, Store, read_study, study_report
from trueup.runs.store.history import History
from trueup.runs.study_page import statistics
from trueup.runs.study_page.figures import cost_figure, parallel_figure, population_figure
from trueup.runs.study_page.record import StudyRecord


def history_of(sizes, costs, p=3, reasons=None, seed=0):
    """A history with generations of the given sizes."""
    sizes = np.asarray(sizes, int)
    total = int(sizes.sum())
    costs = np.asarray(costs, float).reshape(total, np.size(costs) // total if total else 1)
    ends = np.cumsum(sizes)
    return History(
        names=tuple(f"x{i}" for i in range(p)),
        generation=np.repeat(np.arange(len(sizes)), sizes),
        candidate=np.concatenate([np.arange(n) for n in sizes]) if total else np.empty(0, int),
        X=np.random.default_rng(seed).random((total, p)),
        costs=costs,
        reasons=reasons or {},
        generations=[
            {"generation": i, "evaluations": int(n), "seconds": 0.1 * i, "step": 0.9**i}
            for i, n in enumerate(ends)
        ],
    )


def record_of(history, **more):
    valid = StudyRecord("toy", history, ("cost",)).valid()
    best = int(np.argmin(np.where(valid, history.costs[:, 0], np.inf))) if valid.any() else None
    rows = [
        {"name": n, "value": float(history.X[best, i]), "lower": 0.0, "upper": 1.0, "start": 0.5}
        for i, n in enumerate(history.names)
        if best is not None
    ]
    objectives = tuple(f"f{i}" for i in range(history.costs.shape[1]))
    return StudyRecord("toy", history, objectives, rows, **more)


generations = st.lists(st.integers(1, 7), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(sizes=generations, limit=st.integers(1, 12), data=st.data())
def test_statistics_are_those_of_a_plain_loop(sizes, limit, data):
    total = sum(sizes)
    numbers = st.one_of(st.just(float("nan")), st.floats(-10, 10))
    costs = np.array(data.draw(st.lists(numbers, min_size=total, max_size=total)))
    generation = np.repeat(np.arange(len(sizes)), sizes)
    groups = statistics.groups_of(generation, limit)
    assert groups.count <= limit
    assert groups.evaluations[-1] == total
    found = statistics.quantiles_of_groups(costs, groups)
    so_far = statistics.best_so_far(costs)
    lowest = np.inf
    for group in range(groups.count):
        members = np.sort(costs[groups.of == group])
        members = members[np.isfinite(members)]
        assert len(set(generation[groups.of == group])) >= 1
        if not len(members):
            assert np.isnan(found[:, group]).all()
        else:
            for level, value in zip(statistics.LEVELS, found[:, group], strict=True):
                assert value == members[int(np.rint(level * (len(members) - 1)))]
            lowest = min(lowest, members[0])
        row = so_far[groups.evaluations[group] - 1]
        assert (costs[row] if row >= 0 else np.inf) == lowest


def test_of_equal_costs_the_first_is_the_best():
    found = statistics.best_so_far(np.array([np.nan, 2.0, 2.0, 1.0, 1.0]))
    assert found.tolist() == [-1, 1, 1, 3, 3]


def test_sorted_costs_have_the_best_first_and_the_invalid_last():
    costs = np.array([3.0, 1.0, np.nan, 2.0, 9.0, 8.0])
    groups = statistics.groups_of(np.array([0, 0, 0, 0, 1, 1]))
    Z = statistics.sorted_costs(costs, groups)
    np.testing.assert_array_equal(Z[:, 0], [1.0, 2.0, 3.0, np.nan])
    np.testing.assert_array_equal(Z[:, 1], [8.0, 8.0, 9.0, 9.0])


def test_log_axes_are_for_positive_costs_of_several_decades():
    assert statistics.wants_log(np.array([1e-9, 1.0, np.nan]))
    assert statistics.wants_log(np.append(np.logspace(-6, 0, 50), 0.0)), "an optimum of zero"
    assert not statistics.wants_log(np.array([-1.0, 1e-9, 5.0]))
    assert not statistics.wants_log(np.array([4.0, 5.0]))
    assert not statistics.wants_log(np.array([np.nan]))


def test_a_hundred_thousand_evaluations_stay_small_and_quick():
    rng = np.random.default_rng(0)
    costs = np.exp(-np.arange(100_000) / 2e4) * rng.lognormal(size=100_000)
    reasons = {int(i): f"fell at {i / 1e5:.4f} s" for i in rng.integers(0, 100_000, 3000)}
    record = record_of(history_of([32] * 3125, costs, p=30, reasons=reasons))
    started = time.process_time()
    page = study_report(record).html()
    assert time.process_time() - started < 10.0
    assert len(page) < 8e6
    assert page.count("fell at") == 1, "reasons that differ in numbers only are one row"
    assert str(len(reasons)) in page


@pytest.mark.parametrize(
    "history",
    [
        history_of([1], [0.5]),
        history_of([4, 4], [np.nan] * 8),
        history_of([4, 4], [1e30] * 8, reasons=dict.fromkeys(range(8), "it fell")),
        history_of([1] * 50, np.linspace(-5, -90, 50)),
        history_of([5, 1, 9], np.ones(15)),
        history_of([3, 3], np.arange(18.0), p=1),
        history_of([6, 6], np.random.default_rng(1).random((12, 3))),
        history_of([], [], p=2),
    ],
    ids=["one", "nan", "failures", "negative", "ragged", "one_parameter", "three_costs", "none"],
)
def test_odd_studies_have_a_report(history):
    front = history.costs[:2] if history.costs.shape[1] > 1 else None
    page = study_report(record_of(history, front=front)).html()
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert len(blocks) == page.count('class="canvas"') and (blocks or not len(history.X))
    for block in blocks:
        json.loads(block, parse_constant=pytest.fail)


def test_parameters_on_a_bound_and_failures_are_said():
    record = record_of(
        history_of([4] * 5, np.arange(20.0) + 1, reasons={3: "it fell", 5: "it fell"})
    )
    record.parameters[1]["at_bound"] = True
    page = study_report(record).html()
    assert "On a bound: x1." in page
    assert "2 of 20 candidates were invalid." in page


def test_names_are_escaped():
    history = history_of([4, 4], np.arange(8.0))
    record = record_of(history)
    record.parameters[0]["name"] = "<script>alert(1)</script>"
    named = History(("<script>alert(1)</script>", *history.names[1:]), *[
        getattr(history, f) for f in ("generation", "candidate", "X", "costs", "reasons")
    ], history.generations)  # fmt: skip
    page = study_report(StudyRecord("<b>x</b>", named, ("cost",), record.parameters)).html()
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_the_good_candidates_of_parallel_coordinates_are_the_best_share():
    history = history_of([10] * 20, np.arange(200.0)[::-1] + 1)
    order = np.argsort(history.costs[:, 0])
    rows = record_of(history).parameters
    figure = parallel_figure(history.X, order[:10], order[10:], rows, "best 5 %")
    others, good, best = figure.plots[0].data
    assert len(good["x"]) == 10 * 4
    assert len(others["x"]) == 120 * 4
    np.testing.assert_allclose(best["x"][:3], history.X[-1], atol=1e-3)


def test_figures_show_the_cost_that_was_reached():
    costs = np.array([5.0, 3.0, 4.0, 2.0, 9.0, 1e-3])
    groups = statistics.groups_of(np.array([0, 0, 1, 1, 2, 2]))
    reached = cost_figure(costs, groups).plots[0].data[-1]
    assert (reached["x"], reached["y"]) == ([2, 4, 6], [3.0, 2.0, 1e-3])
    heat = population_figure(costs, groups).plots[0].data[0]
    np.testing.assert_allclose(heat["z"][0], np.log10([3.0, 2.0, 1e-3]), atol=1e-3)


def test_a_study_in_progress_is_read(tmp_path):
    directory = RunDirectory.create(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="saved no history"):
        read_study(directory)
    with Store.create(directory.study, ("a", "b")) as store:
        store.record(0, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 1.0]), {0: "bad"})
        store.flush({})
    record = read_study(directory)
    assert [row["value"] for row in record.parameters] == [3.0, 4.0]
    assert record.failures() == [("bad", 1)]
    assert "not finished" in study_report(record).html()


@pytest.mark.slow
def test_the_page_works_on_a_dark_phone(tmp_path):
    executable = find_chromium()
    if executable is None:
        pytest.skip("no chromium on the PATH: install it to test pages in a browser")
    rng = np.random.default_rng(2)
    history = history_of([8] * 40, rng.random((320, 2)) * [1.0, 1e-6], p=13)
    record = record_of(history, front=history.costs[:3])
    page = study_report(record).save(tmp_path / "report.html")
    with Chromium(executable) as browser:
        browser.window(375, 800, dark=True, phone=True)
        browser.open(page)
        browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        height = browser.evaluate("document.documentElement.scrollHeight")
        for top in range(0, int(height), 700):
            browser.evaluate(f"window.scrollTo({{top: {top}, behavior: 'instant'}})")
            time.sleep(0.03)
        browser.wait_for(
            "document.querySelectorAll('.canvas.drawn').length"
            " === document.querySelectorAll('.canvas').length"
        )
        assert browser.complaints() == []
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
