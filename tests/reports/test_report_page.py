"""The page as a whole: one file, offline, escaped, written atomically."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from trueup import reports
from trueup.errors import ReportError
from trueup.reports.content import Yaml, provenance_rows
from trueup.reports.page import anchor_from

EVIL = "<script>alert('x')</script>&\"'"
VOID = {"wbr", "meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects elements and checks that they nest."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    assert parser.open == []
    return parser


def line():
    return reports.line_figure({"cost": [3.0, 2.0, 1.0]}, x_label="iteration", y_label="cost")


def everything(name: str) -> reports.Page:
    """A page with every kind of part, each of which is given ``name``."""
    time = np.arange(5.0)
    trace = reports.Trace(name, time, time, "measured")
    panel = reports.Panel(
        name,
        name,
        [trace, reports.Trace(name, time, time, "residual")],
        spans=[reports.Span(0, 1, name)],
        subtitle=name,
    )
    page = reports.Page(name, name, {name: {name: [name, 1]}})
    page.add(reports.KeyFigures([(name, name, name, name, "warning")]))
    page.add(reports.Findings([("serious", name), reports.Finding("good", name, "first")]))
    page.add(
        reports.Section(
            name,
            "first",
            name,
            [
                name,
                reports.Note(name),
                reports.Table(
                    [reports.Column(name, name, note=name), "b"],
                    [[name, reports.Cell(1.0, "good", name)], {name: None, "b": name}],
                    name,
                    name,
                    [reports.Highlight("b", lambda b: True, label=name)],
                ),
                reports.Group(name, [reports.Code(name, name, name)], collapsed=True),
                reports.Row([Yaml({name: name}, name), reports.Text(name)]),
                reports.Video(b"\0\0\0\x18ftypmp42", name, name),
                reports.time_series_figure([panel], title=name, caption=name, time_unit=name),
                reports.interval_figure([name], [1.0], half_widths=[0.1], units=name, title=name),
                reports.heatmap_figure([[1.0]], [name], label=name, unit=name),
                reports.bar_figure(
                    [name], [1.0], label=name, unit=name, threshold=2, threshold_label=name
                ),
                reports.line_figure([trace], x_label=name, y_label=name, x_unit=name),
                reports.direction_figure([name, "b"], [1.0, 2.0], titles=[name]),
                reports.histogram_figure(time, label=name, unit=name),
                reports.acf_figure([1.0, 0.1], samples=9, lag_unit=name),
            ],
        ),
        reports.Section(name),
    )
    return page


def test_a_name_that_looks_like_html_is_harmless():
    plain = outline(everything("x" * len(EVIL)).html())
    evil = outline(everything(EVIL).html())
    # where a name may be broken depends on its letters
    evil.elements, plain.elements = (
        [element for element in each.elements if element[0] != "wbr"] for each in (evil, plain)
    )
    assert [tag for tag, _ in evil.elements] == [tag for tag, _ in plain.elements]
    keys = [sorted(attributes) for _, attributes in plain.elements]
    assert [sorted(attributes) for _, attributes in evil.elements] == keys
    assert "".join(evil.text).count("<script>alert") > 20


def test_the_page_asks_for_nothing_from_outside():
    html = everything("x").html()
    for _, attributes in outline(html).elements:
        for key in ("src", "href", "action", "poster"):
            address = attributes.get(key)
            assert not address or address.startswith(("data:", "#"))
    style = "".join(re.findall(r"<style>(.*?)</style>", html, re.S))
    assert "url(" not in style and "@import" not in style


def test_plotting_code_is_embedded_once_and_only_for_figures():
    holder = 'id="plotting-code"'
    without = reports.Page("a").add(reports.Section("b", content="text")).html()
    assert holder not in without
    assert len(without) < 50_000
    with_figures = reports.Page("a").add(line(), line()).html()
    assert with_figures.count(holder) == 1
    assert "<noscript><p" in with_figures


def test_the_same_page_is_written_the_same():
    assert everything("x").html() == everything("x").html()


def test_anchors_are_unique_and_linked():
    page = reports.Page("a")
    page.add(reports.Section("Größe, 1. Teil"), reports.Section("Data"), reports.Section("Data"))
    page.add(reports.Section("???"), reports.Section("own", "data-2"))
    html = page.html()
    ids = [a["id"] for tag, a in outline(html).elements if tag == "section"]
    assert ids == ["groe-1-teil", "data", "data-3", "section", "data-2"]
    links = [a["href"] for tag, a in outline(html).elements if tag == "a" and "class" not in a]
    assert links == [f"#{anchor}" for anchor in ids]
    assert anchor_from("12 joints") == "section-12-joints"


def test_wrong_parts_are_refused_with_a_reason():
    page = reports.Page("a").add(reports.Section("b", "same"))
    with pytest.raises(ReportError, match="two sections have the anchor 'same'"):
        page.add(reports.Section("c", "same"))
    with pytest.raises(ReportError, match="begin with a letter"):
        reports.Section("c", "1 bad")
    with pytest.raises(ReportError, match="does not support the type 'int'"):
        page.add(3)  # type: ignore[arg-type]
    with pytest.raises(ReportError, match=r"unknown severity 'warnin'.*Did you mean 'warning'"):
        reports.Section("c", tone="warnin")


def test_saving_replaces_the_file_or_leaves_it(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "report.html"
    assert reports.Page("first").save(str(path)) == path
    assert path.read_text("utf-8").startswith("<!doctype html>")
    reports.Page("second").save(path)
    assert "<title>second</title>" in path.read_text("utf-8")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(ReportError, match=r"cannot write the report.*No space left"):
        reports.Page("third").save(path)
    assert "<title>second</title>" in path.read_text("utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_saved_report_is_readable_like_any_file(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    saved = reports.Page("a").save(tmp_path / "report.html")
    assert saved.stat().st_mode == ordinary.stat().st_mode


def test_saving_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ReportError, match="Choose another path"):
        reports.Page("a").save(tmp_path / "file" / "report.html")


def test_provenance_is_flat_and_complete():
    page = reports.Page("a", provenance={"versions": {"numpy": "2"}, "seeds": [1, 2]})
    text = " ".join("".join(outline(page.html()).text).split())
    assert "versions.numpy 2" in text.replace("versions.numpy2", "versions.numpy 2")
    assert "1, 2" in text


def test_inputs_have_a_row_each_in_the_provenance():
    inputs = [{"name": "a.csv", "sha256": "12ab"}, {"name": "b.csv", "sha256": "34cd"}]
    rows = provenance_rows({"inputs": inputs, "empty": [], "mixed": [{"a": {"b": 1}}, 2]})
    assert rows == [
        ("inputs 1", "name a.csv, sha256 12ab"),
        ("inputs 2", "name b.csv, sha256 34cd"),
        ("empty", ""),
        ("mixed 1", "a.b 1"),
        ("mixed 2", "2"),
    ]


def test_importing_reports_loads_neither_plotly_nor_jinja2():
    code = (
        "import sys, trueup.reports; print([m for m in ('plotly', 'jinja2') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_every_public_name_exists_and_is_documented():
    for name in reports.__all__:
        public = getattr(reports, name)
        assert getattr(public, "__doc__", None) or name == "TraceStyle", name


def test_a_page_without_a_script_shows_its_figures(tmp_path):
    times = np.linspace(0.0, 3.0, 5000)
    trace = reports.Trace("measured", times, np.sin(times), "measured")
    figure = reports.time_series_figure([reports.Panel("elbow", "rad", [trace])])
    page = reports.Page("Elbow").add(
        reports.Section("Motion", content=[figure]),
        reports.Section("Folded", content=[reports.Table(["a"], [[1.0]])], collapsed=True),
    )
    path = page.save(tmp_path / "small.html", static=True)
    text = path.read_text()
    assert "<script" not in text and "plotly.js" not in text and len(text) < 40_000
    outline = Outline()
    outline.feed(text)
    assert outline.open == [] and "svg" in [name for name, _ in outline.elements]
    assert not [1 for _, given in outline.elements if "needs-script" in (given.get("class") or "")]
    assert "<script" in page.html()
