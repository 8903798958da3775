"""A page in a real browser: nothing complains, nothing is fetched, figures are drawn."""

import time

import numpy as np
import pytest
from headless_chromium import Chromium, find_chromium

from trueup import reports

EVIL = "<script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"
DRAWN = "document.querySelectorAll('.canvas.drawn').length"

COUNT_AT_FIRST_SCREEN = f"""
new MutationObserver(() => {{ window.drawnAtFirst ??= {DRAWN}; }}).observe(
  document, {{ subtree: true, attributes: true, attributeFilter: ["data-first-screen"] }})
"""


@pytest.fixture(scope="module")
def browser():
    executable = find_chromium()
    if executable is None:
        pytest.skip("no chromium on the PATH: install it to test pages in a browser")
    with Chromium(executable) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    times = np.arange(3000) / 100
    rng = np.random.default_rng(0)
    panels = [
        reports.Panel(
            f"{EVIL} {k}",
            "rad",
            [
                reports.Trace("measured", times, np.sin(times), "measured"),
                reports.Trace("fitted", times, np.cos(times), "fitted"),
                reports.Trace(EVIL, times, np.sin(times) - np.cos(times), "residual"),
            ],
        )
        for k in range(4)
    ]
    names = [EVIL, "@fitted", "c"]
    page = reports.Page(EVIL, lead=[reports.Findings([("warning", EVIL)])])
    page.add(
        reports.Section("Signals", content=reports.time_series_figure(panels)),
        reports.Section(
            "Parameters",
            content=[
                reports.Table(["name", "value"], [[EVIL, 10.0], ["b", 9.0], ["c", np.inf]]),
                reports.interval_figure(
                    names,
                    [1, 2, 3],
                    half_widths=[0.1, 1, np.inf],
                    lower=[0, 0, 0],
                    upper=[4, 4, 4],
                    initial=[2, 2, 2],
                ),
                reports.heatmap_figure(np.eye(3), names),
            ],
        ),
        reports.Section(
            "Rest",
            content=[
                reports.bar_figure(names, [1e3, 1, 1e-9], label="s", log=True, threshold=1e-6),
                reports.direction_figure(names, [1.0, -2.0, 0.0]),
                reports.figure_grid(
                    [
                        reports.histogram_figure(rng.normal(size=500), label="r"),
                        reports.acf_figure([1, 0.5, 0.1], samples=100),
                    ]
                ),
            ],
        ),
        reports.Section(
            "Folded",
            collapsed=True,
            content=reports.line_figure(
                {"cost": [3.0, 2.0]}, x_label="iteration", y_label="cost", log_y=True
            ),
        ),
    )
    return page.save(tmp_path_factory.mktemp("report") / "report.html")


def scroll_through(browser):
    height = browser.evaluate("document.documentElement.scrollHeight")
    for top in range(0, int(height), 700):
        browser.evaluate(f"window.scrollTo({{top: {top}, behavior: 'instant'}})")
        time.sleep(0.05)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (375, True)])
def test_a_page_works_from_a_file(browser, saved, width, dark):
    browser.window(width, 800, dark=dark, phone=width < 600)
    browser.command("Page.addScriptToEvaluateOnNewDocument", source=COUNT_AT_FIRST_SCREEN)
    browser.open(saved)
    assert 0 < browser.evaluate("window.drawnAtFirst") < 10, "what is in view is drawn first"
    # programs that print or capture a page begin once it has loaded
    assert browser.evaluate(DRAWN) == 10
    scroll_through(browser)
    browser.evaluate("document.querySelector('#folded details').open = true")
    browser.evaluate("document.getElementById('folded').scrollIntoView({behavior: 'instant'})")
    browser.wait_for(f"{DRAWN} === 11")
    assert browser.complaints() == []
    assert browser.requests() == [saved.resolve().as_uri()]
    assert not browser.evaluate("window.harmed")
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.evaluate("document.querySelectorAll('.canvas canvas').length") == 0
    tick = "[...document.querySelectorAll('#parameters .ytick text')].map(t => t.textContent)"
    ticks = browser.evaluate(tick)
    assert any(text.startswith("<scr") for text in ticks)
    assert any(text.startswith("@fitted") for text in ticks)


def test_the_theme_changes_figures_too(browser, saved):
    browser.window(1280, 800)
    browser.open(saved)
    browser.evaluate("localStorage.removeItem('trueup-theme')")
    browser.open(saved)
    browser.wait_for("document.documentElement.dataset.firstScreen")
    stroke = (
        "getComputedStyle(document.querySelector('.canvas.drawn .scatterlayer .js-line')).stroke"
    )
    paper = "getComputedStyle(document.body).backgroundColor"
    before = browser.evaluate(f"[{stroke}, {paper}]")
    browser.evaluate("document.getElementById('theme-toggle').click()")
    browser.wait_for(f"{stroke} !== {before[0]!r}")
    assert browser.evaluate(paper) != before[1]
    browser.evaluate("localStorage.removeItem('trueup-theme')")


def test_zooming_one_panel_zooms_all_and_legends_hide(browser, saved):
    browser.window(1280, 2400)
    browser.open(saved)
    browser.wait_for(f"{DRAWN} >= 4")
    browser.evaluate(
        "Plotly.relayout('plot-1', {'xaxis.range[0]': 5, 'xaxis.range[1]': 6}).then(() => null)"
    )
    browser.wait_for("document.getElementById('plot-3')._fullLayout.xaxis.range[0] === 5")
    browser.evaluate("document.querySelector('.legend button').click()")
    browser.wait_for("document.getElementById('plot-2').data[0].visible === false")
    browser.evaluate("document.querySelectorAll('th .sort')[1].click()")
    order = "[...document.querySelectorAll('td.right')].map(c => c.textContent)"
    assert browser.evaluate(order) == ["9", "10", "∞"]
    assert browser.complaints() == []


def test_tables_and_findings_need_no_script(browser, saved):
    browser.window(1280, 800)
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(saved)
        text = browser.evaluate("document.body.innerText")
        shown = browser.evaluate("document.querySelector('table').getBoundingClientRect().height")
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert "The figures of this report need JavaScript" in text
    assert shown > 50


def test_a_replay_is_stepped_through_and_a_wide_table_keeps_its_first_column(browser, tmp_path):
    times = np.linspace(0, 1, 11)
    arm = np.zeros((11, 2, 3))
    arm[:, 1] = np.stack([np.sin(times), 0 * times, -np.cos(times)], axis=1)
    figures = [
        reports.StickFigure("robot", "measured", arm),
        reports.StickFigure("model", "fitted", arm + np.array([[0, 0, 0], [0.02, 0, 0]])),
    ]
    columns = ["name", *(f"a long heading {k}" for k in range(12))]
    wide = reports.Table(columns, [[f"row {k}", *range(12)] for k in (1, 2)])
    page = reports.Page("Arm")
    page.add(reports.Section("Replay", content=reports.Replay(times, np.array([[0, 1]]), figures)))
    page.add(reports.Section("Wide", content=wide))
    browser.window(390, 800, phone=True)
    browser.open(page.save(tmp_path / "arm.html"))
    drawn = "document.querySelectorAll('.replay .now')[1].getAttribute('d')"
    first = browser.wait_for(drawn)
    slider = "document.querySelector('.replay input')"
    browser.evaluate(f"{slider}.value = 10; {slider}.dispatchEvent(new Event('input'))")
    assert browser.evaluate(drawn) != first
    said = browser.evaluate("document.querySelector('.replay output').textContent")
    assert said == "1.00 s · largest distance 20 mm"
    visible = "getComputedStyle(document.querySelector('.replay .strobe')).display"
    assert browser.evaluate(visible) == "none"
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    browser.evaluate("document.querySelector('#wide .scroll').scrollLeft = 300")
    browser.wait_for("document.querySelector('#wide .scroll').classList.contains('scrolled')")
    left = "document.querySelector('#wide tbody th').getBoundingClientRect().left"
    assert 0 <= browser.evaluate(left) < 30
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(visible) == "inline"
    assert browser.evaluate("getComputedStyle(document.querySelector('.player')).display") == "none"
    browser.command("Emulation.setEmulatedMedia", media="")
    assert browser.complaints() == []


def test_a_page_without_a_script_is_legible_on_a_phone(browser, tmp_path):
    times = np.arange(300) / 100
    trace = reports.Trace("measured", times, np.sin(times), "measured")
    figure = reports.time_series_figure([reports.Panel("elbow", "rad", [trace])])
    page = reports.Page("Small").add(reports.Section("Motion", content=[figure]))
    browser.window(390, 844, phone=True)
    browser.open(page.save(tmp_path / "small.html", static=True))
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    letters = "Math.min(...Array.from(document.querySelectorAll('svg text'), letter)) > 6.5"
    letter = "t => t.getBoundingClientRect().height * (t.transform.baseVal.length ? 9 : 1)"
    assert browser.evaluate(f"const letter = {letter}; {letters}")


def test_a_table_of_many_long_columns_is_printed_whole(browser, tmp_path):
    columns = ["iteration", *(f"left_shoulder_{k}_friction" for k in range(8))]
    table = reports.Table(columns, [[0, *np.linspace(0.1, 0.9, 8)]])
    key = "settings.experiment.measurement.signals.elbow_position.noise_of_the_encoder"
    page = reports.Page("Wide", provenance={key: 0.001})
    path = page.add(reports.Section("S", content=[table])).save(tmp_path / "w.html")
    browser.window(720, 1000)
    browser.open(path)
    browser.command("Emulation.setEmulatedMedia", media="print")
    try:
        width = browser.evaluate("document.querySelector('main table').scrollWidth")
        assert width <= 720
        key = "document.querySelector('.provenance th')"
        assert browser.evaluate(f"{key}.scrollWidth <= {key}.clientWidth")
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")
