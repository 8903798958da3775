"""The section of a page that shows a verdict."""

import json
import math

import pytest

from trueup import fitting, reports
from trueup.errors import ReportError
from trueup.runs import atomic


def verdict(error: float) -> fitting.Verdict:
    return fitting.judge(
        search=fitting.SearchEnd(fitting.Status.CONVERGED, "7 iterations"),
        comparisons=[
            fitting.Comparison("q", error, {"a constant": 0.5, "the start": math.inf}, unit="rad")
        ],
        criteria=[fitting.Criterion("drift", 0.1, 0.2, unit="m", missed=fitting.Grade.LOOK)],
    )


@pytest.mark.parametrize(("error", "grade"), [(0.1, "use"), (0.502, "look"), (2, "do not use")])
def test_a_section_shows_grade_reasons_and_errors(error, grade):
    plain = json.loads(atomic.to_json(verdict(error).to_dict()))
    page = reports.Page("Elbow")
    page.add(reports.verdict_section(plain))
    html = page.html()
    assert plain["grade"] == grade
    for reason in plain["reasons"]:
        assert reason["sentence"].replace("'", "&#39;") in html
    assert "a constant" in html and "∞" in html and "at most 0.2" in html
    assert ("worse than" in html) is (error > 0.5)


def test_an_unknown_grade_is_refused():
    plain = {**verdict(0.1).to_dict(), "grade": "fine"}
    with pytest.raises(ReportError, match="fine"):
        reports.verdict_section(plain)


def test_reasons_link_to_sections_that_the_page_has():
    plain = verdict(0.1).to_dict()
    assert {r["section"] for r in plain["reasons"]} >= {"course", "scores"}
    page = reports.Page("Elbow")
    page.add(reports.verdict_section(plain, anchors={"scores": "errors"}))
    page.add(reports.Section("Errors", "errors"))
    html = page.html()
    assert 'href="#errors" class="see"' in html
    assert 'href="#scores"' not in html and 'href="#course"' not in html


def headings(comparisons):
    page = reports.Page("Elbow")
    page.add(reports.verdict_section(fitting.judge(comparisons=comparisons).to_dict()))
    return page.html()


def test_what_all_comparisons_share_stands_below_the_table():
    one = fitting.Comparison("q", 0.1, {"a constant": 0.5}, unit="rad")
    html = headings([one, fitting.Comparison("r", 0.7, {"a constant": 0.5}, unit="rad")])
    assert "RMSE in rad on held-out data." in html
    assert html.count('<span class="heading">') == 3  # channel, result, a constant
    assert "Marked results are worse than a baseline." in html
    assert 'title="worse than a constant"' in html
    other = fitting.Comparison("r", 0.1, {"a constant": 0.5}, held_out=False, unit="m")
    html = headings([one, other])
    assert html.count('<span class="heading">') == 5
    assert "RMSE." in html and "data of the fit" in html
