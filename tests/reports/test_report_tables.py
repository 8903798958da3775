"""Tables, key figures, findings, videos."""

import re

import numpy as np
import pytest

from trueup import reports
from trueup.errors import ReportError
from trueup.reports.rendering import Context


def shown(part) -> str:
    return str(part.markup(Context()))


def cells(html: str) -> list[tuple[str, str]]:
    """Return (class, content) of each cell of the body."""
    body = html[html.index("<tbody>") :]
    found = re.findall(r"<(t[hd])([^>]*)>(.*?)</\1>", body)
    return [
        ((re.findall('class="(.*?)"', attributes) or [""])[0], content)
        for _, attributes, content in found
    ]


def test_numbers_stand_right_and_texts_left():
    html = shown(reports.Table(["name", "value"], [["a", 1.23456789], ["b", None]]))
    assert cells(html) == [("", "a"), ("right", "1.2346"), ("", "b"), ("right", "–")]


def test_rules_mark_cells_and_explain_themselves_if_they_apply():
    table = reports.Table(
        ["name", "value"],
        [["a", 1.0], ["b", np.inf], ["c", -1.0]],
        highlights=[
            reports.Highlight("value", np.isinf, "serious", "not determined"),
            reports.Highlight(
                "value",
                lambda row: row["name"] == "c",
                by_row=True,
                whole_row=True,
                label="it is c",
            ),
            reports.Highlight("value", lambda value: value > 1e9, "info", "huge"),
            reports.Highlight("name", lambda name: name == "zzz", label="never"),
        ],
    )
    html = shown(table)
    assert cells(html)[3] == ("right tone-serious", "∞")
    assert cells(html)[4:] == [("tone-warning", "c"), ("right tone-warning", "-1")]
    assert "not determined" in html and "it is c" in html
    assert "never" not in html


def test_cells_and_columns_may_say_how_they_look():
    columns = [reports.Column("a", format=lambda value: f"{value:.1f} m"), "b"]
    html = shown(
        reports.Table(
            columns, [[2.0, reports.Cell("x", "good", "because")], [3.0, reports.Html("<b>y</b>")]]
        )
    )
    assert [content for _, content in cells(html)] == ["2.0 m", "x", "3.0 m", "<b>y</b>"]
    assert 'title="because"' in html


def test_sorting_uses_full_numbers():
    html = shown(reports.Table(["v"], [[0.123456789], [np.inf], [2]]))
    assert 'data-value="0.123456789"' in html and 'data-value="inf"' in html


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        (["a", "b"], [[1]], "1 values, expected one for each of 2 columns"),
        (["mass", "b"], [{"mas": 1}], "Did you mean 'mass'"),
        (["a", "a"], [], "titles of a table must be unique: 'a', 'a'"),
        ([], [], "at least one column"),
    ],
)
def test_rows_that_do_not_fit_are_refused(columns, rows, message):
    with pytest.raises(ReportError, match=message):
        reports.Table(columns, rows)


def test_a_rule_for_a_missing_column_is_refused():
    with pytest.raises(ReportError, match="highlight rule refers to an unknown column 'valu'"):
        reports.Table(["value"], [], highlights=[reports.Highlight("valu", bool)])


def test_findings_come_most_serious_first():
    part = reports.Findings(
        [("good", "g"), ("info", "i"), ("serious", "s1"), ("warning", "w"), ("serious", "s2")]
    )
    assert [finding.sentence for finding in part.ordered()] == ["s1", "s2", "w", "i", "g"]
    assert "Nothing to report." in shown(reports.Findings([]))
    with pytest.raises(ReportError, match="unknown severity"):
        reports.Findings([("fatal", "x")]).ordered()


def test_key_figures_are_short():
    html = shown(reports.KeyFigures([(0.123456, "RMSE", "rad"), ("2 of 7", "open")]))
    assert "0.1235" in html and "2 of 7" in html


def test_videos_are_embedded_from_bytes_and_files(tmp_path):
    content = b"\0\0\0\x18ftypmp42rest"
    (tmp_path / "v.mp4").write_bytes(content)
    assert shown(reports.Video(content)) == shown(reports.Video(tmp_path / "v.mp4"))
    assert "data:video/mp4;base64,AAAAGGZ0eXBtcDQycmVzdA==" in shown(reports.Video(content))
    assert "data:video/webm" in shown(reports.Video(b"\x1a\x45\xdf\xa3rest"))
    assert "<img" in shown(reports.Video(b"GIF89a...", "a title"))


@pytest.mark.parametrize("source", [b"", b"not a video at all", "/nowhere/video.mp4"])
def test_what_no_browser_plays_is_refused(source):
    with pytest.raises(ReportError, match="video"):
        shown(reports.Video(source))


def test_groups_fold_and_rows_wrap():
    assert "<details" not in shown(reports.Group("g", "text"))
    assert '<details class="fold">' in shown(reports.Group("g", "text", collapsed=True))
    assert '<details class="fold" open>' in shown(reports.Group("g", "text", collapsed=False))
    assert "--minimum: 200px" in shown(reports.Row(["a", "b"], 200))
    assert shown(reports.Text("one\n\ntwo")).count("<p") == 2


def test_long_names_may_break_without_changing():
    html = shown(reports.Table(["name"], [["left_knee/damping.<x>"]]))
    assert cells(html) == [("long", "left_<wbr>knee/<wbr>damping.&lt;x&gt;")]


def test_columns_of_a_group_share_a_heading_and_may_share_titles():
    columns = [
        "channel",
        *(reports.Column("RMSE", group=part) for part in ("held-out", "training")),
    ]
    table = reports.Table(
        [*columns, reports.Column("fit", "%", group="training")], [["q", 1, 2, 3]]
    )
    html = reports.Page("t").add(reports.Section("s", content=table)).html()
    assert re.findall(r'colspan="(\d)">([\w-]*)<', html) == [
        ("1", ""),
        ("1", "held-out"),
        ("2", "training"),
    ]
    assert html.count('<span class="heading">RMSE') == 2
    with pytest.raises(ReportError, match="must be unique"):
        reports.Table([reports.Column("RMSE", group="a"), reports.Column("RMSE", group="a")], [])


def test_rules_and_mappings_name_a_column_of_a_group():
    columns = ["channel", reports.Column("RMSE", group="new"), reports.Column("RMSE", group="old")]
    table = reports.Table(
        columns,
        [{"channel": "q", "new: RMSE": 3, "old: RMSE": 2}],
        highlights=[reports.Highlight("new: RMSE", lambda value: value > 2.5, "serious")],
    )
    html = reports.Page("t").add(reports.Section("s", content=table)).html()
    assert re.findall(r'<td class="right tone-serious"[^>]*>(\d)', html) == ["3"]


def test_a_second_value_below_the_first_is_escaped():
    cell = reports.Stacked("<1> ± 2", "CAD & 3", muted=True)
    html = (
        reports.Page("t").add(reports.Section("s", content=reports.Table(["a"], [[cell]]))).html()
    )
    assert '<span class="stacked muted">&lt;1&gt; ± 2<span class="under">CAD &amp; 3' in html
