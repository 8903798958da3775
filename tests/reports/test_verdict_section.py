"""The section of a page that shows a verdict."""

import json
import math
import re

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


def section(plain, **more):
    page = reports.Page("Elbow", lead=["words of the lead"])
    page.add(reports.verdict_section(plain, **more), reports.Section("Rest", "rest"))
    return page.html()


def many(count: int) -> dict:
    reasons = [fitting.Reason(fitting.Grade.LOOK, f"Reason number {k}.") for k in range(count)]
    return fitting.Verdict(tuple(reasons)).to_dict()


def shown(html: str) -> str:
    """The verdict without what is folded."""
    part = html[html.index('id="verdict"') : html.index('id="rest"')]
    return re.sub(r'<details class="fold">.*?</details>', "", part, flags=re.DOTALL)


def test_three_reasons_are_shown_and_the_others_folded():
    html = section(many(5))
    assert re.findall(r"Reason number (\d)", shown(html)) == ["0", "1", "2"]
    assert re.findall(r"Reason number (\d)", html) == ["0", "1", "2", "3", "4"]
    assert "2 further findings" in html
    assert "further finding" not in section(many(3))


def test_findings_and_big_numbers_of_a_capability_are_part_of_the_answer():
    html = section(
        many(1),
        figures=[reports.KeyFigure("6 of 7", "parameters determined")],
        further=[reports.Finding("info", "A detail.")],
    )
    assert "6 of 7" in shown(html)
    assert "A detail." in html and "A detail." not in shown(html)


def test_the_answer_is_above_the_lead():
    html = section(many(1))
    assert html.index("Reason number 0") < html.index("words of the lead") < html.index('"rest"')
    page = reports.Page("Elbow", lead=["words of the lead"])
    html = page.add(reports.Section("Rest", "rest")).html()
    assert html.index("words of the lead") < html.index('id="rest"')


def test_the_first_cause_leads_and_the_others_are_folded():
    causes = [
        {"cause": "delay", "share": 0.62, "sentence": "Commands act 12 ms late"},
        {"cause": "friction", "share": 0.2},
        {"cause": "gear", "share": None, "sentence": "The gear is 50, which explains 3 %."},
    ]
    html = section(many(4), causes=causes)
    first = "Commands act 12 ms late (62 % of the error)."
    assert first in shown(html)
    assert shown(html).index(first) < shown(html).index("Reason number 0")
    assert "friction (20 % of the error)." in html and "friction" not in shown(html)
    assert "The gear is 50, which explains 3 %." in html
    assert "Most likely cause" not in section(many(4))


def test_steps_have_the_command_to_type():
    steps = [
        reports.Step("Export it:", "trueup export dr 'a b' --form mjlab"),
        reports.Step("Rest"),
    ]
    html = section(many(1), steps=steps)
    assert "trueup export dr &#39;a b&#39; --form mjlab" in shown(html)
    assert html.count('class="copy needs-script"') == 1
    assert reports.Steps(steps).lines() == [
        "What next:",
        "  Export it:",
        "    trueup export dr 'a b' --form mjlab",
        "  Rest",
    ]


def test_a_terminal_shows_three_reasons_and_counts_the_others():
    found = fitting.Verdict.from_dict(many(5)).lines(3)
    assert len(found) == 5 and found[-1] == "  and 2 more in the report"
    assert fitting.Verdict.from_dict(many(3)).lines(3) == fitting.Verdict.from_dict(many(3)).lines()
