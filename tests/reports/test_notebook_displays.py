"""Displays in notebooks: parts of a report without a script, from the same figures and tables."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from trueup import reports
from trueup.fitting import Grade, Reason, Solution, Status, Verdict
from trueup.parameters import Parameter, ParameterDict

TIMES = np.linspace(0, 10, 3000)
FORMATTER = DisplayFormatter()


def shown(value) -> tuple[str, str]:
    """HTML and text that a notebook stores of the value of a cell."""
    bundle, _ = FORMATTER.format(value)
    return bundle["text/html"], bundle["text/plain"]


def pictures(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.S)]


def places(picture: ElementTree.Element) -> np.ndarray:
    """Coordinates of every corner of the paths of a picture."""
    words = " ".join(path.get("d", "") for path in picture.iter("path"))
    return np.array(re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", words), float).reshape(-1, 2)


def overlay() -> reports.Figure:
    traces = [
        reports.Trace("measured", TIMES, np.sin(TIMES), "measured"),
        reports.Trace("fitted", TIMES, 0.9 * np.sin(TIMES), "fitted"),
    ]
    residual = [reports.Trace("residual", TIMES, 0.1 * np.sin(TIMES), "residual")]
    return reports.time_series_figure([reports.Panel("elbow", "rad", traces, residual)])


FIGURES = {
    "overlay": overlay,
    "intervals": lambda: reports.interval_figure(
        ["a", "b"], [1.0, 2.0], low=[0.5, -np.inf], high=[1.5, np.inf], lower=[0, 0], upper=[3, 3]
    ),
    "history": lambda: reports.line_figure(
        {"cost": np.geomspace(1e3, 1e-3, 20)}, x_label="step", y_label="cost", log_y=True
    ),
    "bars": lambda: reports.bar_figure(["x", "y", "z"], [3.0, -1.0, 2.0], label="torque"),
    "log bars": lambda: reports.bar_figure(
        ["x", "y", "z"], [1.0, 1e-6, 0.0], label="value", log=True, threshold=1e-3
    ),
    "heat map": lambda: reports.heatmap_figure(np.array([[1, -0.5], [-0.5, 1]]), ["a", "b"]),
    "histogram": lambda: reports.histogram_figure(np.sin(TIMES), label="residual", unit="rad"),
    "correlation": lambda: reports.acf_figure(np.linspace(1, 0, 20)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_pictures_without_a_script(name):
    html, text = shown(FIGURES[name]())
    assert "<script" not in html and text and len(text) < 200
    found = pictures(html)
    assert found
    for picture in found:
        width, height = (float(part) for part in picture.get("viewBox").split()[2:])
        corners = places(picture)
        assert np.isfinite(corners).all()
        assert (corners >= -20).all() and (corners <= [width + 20, height + 20]).all()
        for box in picture.iter("rect"):
            assert min(float(box.get("width")), float(box.get("height"))) >= 0
        assert any(label.text for label in picture.iter("text"))


def test_a_picture_draws_the_values():
    html, _ = shown(overlay())
    (picture,) = pictures(html)
    measured, fitted = (
        next(p for p in picture.iter("path") if f"--{name})" in p.get("stroke", ""))
        for name in ("measured", "fitted")
    )
    spans = []
    for path in (measured, fitted):
        corners = np.array(re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d")), float)
        assert len(corners) <= 300  # a notebook stores every one
        spans.append(np.ptp(corners[:, 1]))
    assert spans[1] / spans[0] == pytest.approx(0.9, abs=0.01)
    labels = {label.text for label in picture.iter("text")}
    assert {"time [s]", "[rad]", "residual [rad]"} <= labels


def test_gaps_of_a_curve_stay_gaps():
    values = np.sin(TIMES[:100])
    values[40:60] = np.nan
    html, _ = shown(reports.line_figure({"q": values}, x_label="k", y_label="q", markers=False))
    (picture,) = pictures(html)
    path = next(p.get("d") for p in picture.iter("path") if "--series" in p.get("stroke", ""))
    assert path.count("M") == 2


def test_texts_of_data_are_escaped():
    trace = reports.Trace("<script>x</script>", TIMES, TIMES)
    panel = reports.Panel("<img src=x onerror=y>", "m", [trace])
    html, _ = shown(reports.time_series_figure([panel]))
    assert "<script" not in html and "<img" not in html


def solution(**changes) -> Solution:
    known = {
        "parameters": {"mass": 1.25, "friction": 0.031},
        "x": np.array([1.25, 0.031]),
        "cost": 12.5,
        "status": Status.CONVERGED,
        "message": "No further reduction expected.",
        "intervals": np.array([[1.2, 1.3], [-np.inf, np.inf]]),
    }
    return Solution(**{**known, **changes})


def test_a_solution_shows_its_parameters_with_their_intervals():
    html, text = shown(solution())
    assert "1.250 ± 0.050" in html and "undetermined" in html
    assert "No further reduction expected." in html
    assert text == "Solution: converged, cost 12.5, 2 parameters"
    html, text = shown(solution(intervals=None, status=Status.STALLED))
    assert "1.25" in html and "interval" not in html.split("<table")[1]
    assert "tone-warning" in html and text.startswith("Solution: stalled")


def test_a_verdict_shows_grade_and_reasons():
    reasons = Reason(Grade.LOOK, "Two parameters are not determined.", "identifiability")
    html, text = shown(Verdict((reasons,)))
    assert "look" in html and "Two parameters are not determined." in html
    assert 'href="#' not in html  # there is no page to go to
    assert text == "Verdict: look. Two parameters are not determined."


def test_parameters_show_values_bounds_and_targets():
    mass = Parameter("mass", 1.5, 0.1, 3.0, target="body/link/mass", unit="kg")
    inertia = Parameter("inertia", np.array([1.0, 2.0]), np.zeros(2), np.full(2, 5.0))
    inertia.frozen = True
    html, text = shown(ParameterDict({"mass": mass, "inertia": inertia}))
    assert re.search(r"mass.*1\.5.*kg.*0\.1 to 3.*free.*body/link/mass", html, re.S)
    assert "inertia[1]" in html and "fixed" in html
    assert text.startswith("ParameterDict(")


def test_a_page_shows_what_is_not_folded_with_the_verdict_first():
    page = reports.Page("Elbow", lead=[reports.Note("leading")])
    page.add(reports.Section("Verdict", "verdict", content="usable"))
    page.add(reports.Section("Search", content=overlay(), collapsed=True))
    page.add(reports.Section("Parameters", summary="seven", content=[reports.Table(["a"], [[1]])]))
    html, text = shown(page)
    order = [html.index(word) for word in ("usable", "leading", "Parameters", "seven", "<table")]
    assert order == sorted(order) and "Search" not in html and "<svg" not in html
    assert text == "Elbow"


def test_every_part_is_displayed_as_on_the_page():
    parts = [
        reports.Text("plain"), reports.Note("small"), reports.Code("x = 1"),
        reports.Findings([("warning", "loose")]), reports.KeyFigures([(3.5, "error", "rad")]),
        reports.Steps([reports.Step("Do it:", "trueup check file")]),
        reports.Group("Heading", "inside", collapsed=True), reports.Html("<b>bold</b>"),
        reports.Row(["left", "right"]), reports.Video(b"GIF89a...", "film"),
    ]  # fmt: skip
    for part, word in zip(
        parts,
        ["plain", "small", "x = 1", "loose", "3.5", "trueup check file", "inside", "<b>bold</b>",
         "right", "data:image/gif"],
    ):  # fmt: skip
        html, text = shown(part)
        assert word in html and "Copy" not in html
        assert text and "0x" not in text
