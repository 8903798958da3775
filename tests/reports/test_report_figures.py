"""Figures: what is drawn is what was given."""

import json

import numpy as np
import pytest

from trueup import reports
from trueup.errors import ReportError
from trueup.reports.figure import short_names
from trueup.reports.palette import DARK, LIGHT
from trueup.reports.rendering import Context, json_for_script

TIMES = np.arange(5000) / 100


def trace(name="measured", style="measured", scale=1.0):
    return reports.Trace(name, TIMES, scale * np.sin(TIMES), style)


def tokens(value) -> set[str]:
    """Return the colour tokens in a figure."""
    if isinstance(value, str):
        return {value[1:]} if value.startswith("@") else set()
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(tokens, value)) if isinstance(value, list) else set()


def test_panels_hold_decimated_curves_and_residuals_below():
    panel = reports.Panel(
        "elbow",
        "rad",
        [trace("fitted", "fitted"), trace(), trace("residual", "residual", 0.1)],
        residuals=[trace("of the initial model", "initial", 0.5)],
    )
    figure = reports.time_series_figure([panel, panel], spans=[reports.Span(1, 2, "held out")])
    assert len(figure.plots) == 2 and figure.linked
    plot = figure.plots[0]
    assert [t["name"] for t in plot.data] == [
        "measured",
        "fitted",
        "of the initial model",
        "residual",
    ]
    assert [t.get("yaxis") for t in plot.data] == [None, None, "y2", "y2"]
    assert all(t["type"] == "scatter" and len(t["x"]) <= 1000 for t in plot.data)
    assert "[rad]" in plot.layout["yaxis"]["title"]["text"]
    assert "[rad]" in plot.layout["yaxis2"]["title"]["text"]
    assert plot.layout["xaxis"]["title"]["text"] == "time [s]"
    assert plot.layout["xaxis"]["anchor"] == "y2"
    assert plot.layout["yaxis2"]["domain"][1] < plot.layout["yaxis"]["domain"][0]
    assert (plot.layout["shapes"][0]["x0"], plot.layout["shapes"][0]["x1"]) == (1, 2)
    assert [entry.name for entry in figure.legend] == [
        "fitted",
        "measured",
        "residual",
        "of the initial model",
        "held out",
    ]
    assert "5,000 samples" in figure.caption


def test_a_panel_without_residuals_has_one_pair_of_axes():
    figure = reports.time_series_figure([reports.Panel("a", "m", [trace()])])
    assert "yaxis2" not in figure.plots[0].layout
    assert "anchor" not in figure.plots[0].layout["xaxis"]


def test_other_traces_take_turns_and_keep_their_colour():
    names = ["a", "b", "a"]
    panels = [reports.Panel(str(k), traces=[trace(n, "other")]) for k, n in enumerate(names)]
    colours = [plot.data[0]["line"]["color"] for plot in reports.time_series_figure(panels).plots]
    assert colours == ["@series-1", "@series-2", "@series-1"]


def test_other_traces_avoid_the_colours_of_roles_and_repeat_with_a_dash():
    figure = reports.time_series_figure(
        [
            reports.Panel(
                "a", traces=[trace("fit", "fitted"), *(trace(str(k), "other") for k in range(7))]
            )
        ]
    )
    lines = [t["line"] for t in figure.plots[0].data]
    drawn = {(LIGHT[line["color"][1:]], line.get("dash")) for line in lines}
    assert len(drawn) == 8


def test_shortened_names_stay_different():
    names = [
        f"ur10e/{joint}_joint_{quantity}"
        for joint in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
        for quantity in ("armature", "damping", "frictionloss")
    ]
    short = short_names(names, 20)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= 20
    assert short_names(["a", "b"], 20) == ["a", "b"]
    assert short_names([], 20) == []
    assert len(short_names(["x" * 99], 10)[0]) == 10


def test_long_names_lay_bars_down():
    names = [f"a rather long name {k}" for k in range(4)]
    assert "orientation" in reports.bar_figure(names, np.ones(4), label="x").plots[0].data[0]
    assert "orientation" not in reports.bar_figure(None, np.ones(9), label="x").plots[0].data[0]


def test_held_commands_are_drawn_as_steps():
    figure = reports.line_figure(
        [reports.Trace("u", [0, 1], [0, 1], step=True)], x_label="x", y_label="y"
    )
    assert figure.plots[0].data[0]["line"]["shape"] == "hv"


def test_wrong_traces_are_refused():
    with pytest.raises(ReportError, match="Did you mean 'fitted'"):
        reports.Trace("a", [0], [0], "fited")
    with pytest.raises(ReportError, match="must be one-dimensional and of equal length"):
        reports.Trace("a", [0, 1], [0])
    with pytest.raises(ReportError, match="at least one panel"):
        reports.time_series_figure([])
    with pytest.raises(ReportError, match="at least one curve"):
        reports.line_figure({}, x_label="x", y_label="y")
    with pytest.raises(ReportError, match="at least one figure"):
        reports.figure_grid([])


def positions(plot, name):
    return next(t["x"] for t in plot.data if t["name"] == name)


def test_intervals_lie_on_their_tracks():
    figure = reports.interval_figure(
        ["linear", "log", "lower", "open"],
        [2.5, 1.0, 0.0, 2.0],
        half_widths=[0.5, 0.1, 0.1, np.inf],
        lower=[0, 0.01, 0, 0],
        upper=[10, 100, 1, 4],
        initial=[5, 10, 0.5, np.nan],
        log=[False, True, False, True],
        units=["kg", "", "m", ""],
    )
    (plot,) = figure.plots
    np.testing.assert_allclose(positions(plot, "identified"), [0.25, 0.5, 0, 0.5], atol=1e-4)
    np.testing.assert_allclose(positions(plot, "initial")[:3], [0.5, 0.75, 0.5], atol=1e-4)
    assert positions(plot, "initial")[3] is None
    assert not any(t["name"] == "nominal" for t in plot.data)
    widths = [s for s in plot.layout["shapes"] if s["line"]["color"] != "@track"]
    assert widths[0]["x0"] == 0.2 and widths[0]["x1"] == 0.3
    assert widths[3]["x0"] < 0 and widths[3]["x1"] > 1
    marks = next(t for t in plot.data if t["name"] == "identified")["marker"]["color"]
    assert marks == ["@fitted", "@fitted", "@warning", "@warning"]
    texts = [a["text"] for a in plot.layout["annotations"]]
    assert "2.50 ± 0.50 kg" in texts and "0.00 ± 0.10 m · at a bound" in texts
    assert "2 ± ∞ · not determined" in texts


def test_intervals_may_be_asymmetric_or_missing_and_bounds_open():
    figure = reports.interval_figure(
        ["a", "b"],
        [1.0, -3.0],
        low=[0.5, None],
        high=[3.0, None],
        lower=[None, None],
        upper=[np.inf, None],
    )
    texts = [a["text"] for a in figure.plots[0].layout["annotations"]]
    assert texts == ["a", "1 (0.5 to 3)", "b", "-3"]
    x = positions(figure.plots[0], "identified")
    assert all(0 < value < 1 for value in x)


def test_interval_arrays_have_to_fit():
    with pytest.raises(ReportError, match="one entry per name, found 2 for 1 names"):
        reports.interval_figure(["a"], [1.0, 2.0])
    with pytest.raises(ReportError, match="not both"):
        reports.interval_figure(["a"], [1.0], half_widths=[1.0], low=[0.0])


def test_heat_map_shows_the_matrix():
    matrix = [[1, -0.5], [-0.5, np.nan]]
    (plot,) = reports.heatmap_figure(matrix, ["first", "second"]).plots
    assert plot.data[0]["z"] == [[1, -0.5], [-0.5, None]]
    assert [a["text"] for a in plot.layout["annotations"]] == ["1.00", "-0.50", "-0.50", "–"]
    assert plot.layout["xaxis"]["ticktext"] == ["1", "2"]
    with pytest.raises(ReportError, match="one name for each of 2 values, found 1"):
        reports.heatmap_figure(matrix, ["first"])


def test_bars_on_a_logarithmic_axis_mark_what_has_no_logarithm():
    figure = reports.bar_figure(
        None,
        [100.0, 1e-9, 0.0],
        label="singular value",
        log=True,
        threshold=1e-6,
        threshold_label="limit",
    )
    (plot,) = figure.plots
    assert plot.data[0]["y"] == [100, 1e-9, None]
    assert plot.data[0]["marker"]["color"] == ["@series-1", "@warning", "@warning"]
    assert [a["text"] for a in plot.layout["annotations"]] == ["0"]
    assert plot.layout["yaxis"]["range"][0] < -9
    lying = reports.bar_figure(["a"], [1.0], label="x", horizontal=True).plots[0]
    assert lying.data[0]["x"] == [1] and lying.data[0]["orientation"] == "h"


def test_directions_are_scaled_sorted_and_signed():
    figure = reports.direction_figure(
        ["mass", "idle", "gear"], [[-2, 1e-4, -3], [0, 1, -0.5]], titles=["s = 1e-9", "s = 1e-3"]
    )
    first, second = figure.plots
    np.testing.assert_allclose(first.data[0]["x"], [1, 2 / 3], atol=1e-4)
    assert first.layout["yaxis"]["ticktext"] == ["gear", "mass"]
    assert "s = 1e-9 · 1 of 3 parameters not involved" in first.title
    assert second.data[0]["marker"]["color"] == ["@positive", "@negative"]
    assert [entry.colour for entry in figure.legend] == ["positive", "negative"]
    with pytest.raises(ReportError, match="a direction must be finite and not zero"):
        reports.direction_figure(["a"], [0.0])


def test_histogram_is_a_density():
    samples = np.random.default_rng(0).normal(2, 3, 20_000)
    bars, bell = reports.histogram_figure(samples, label="residual").plots[0].data
    steps = np.diff(bars["x"]).mean()
    assert np.sum(bars["y"]) * steps == pytest.approx(1, rel=1e-3)
    assert max(bell["y"]) == pytest.approx(1 / (3 * np.sqrt(2 * np.pi)), rel=0.02)
    constant = reports.histogram_figure(np.ones(5), label="same").plots[0]
    assert len(constant.data) == 1
    with pytest.raises(ReportError, match="'empty' requires finite values, found none"):
        reports.histogram_figure([np.nan], label="empty")


def test_autocorrelation_has_the_band_of_white_noise():
    (plot,) = reports.acf_figure([1, 0.5, 0.01], samples=400, lag_step=0.1, lag_unit="s").plots
    assert plot.layout["shapes"][0]["y1"] == pytest.approx(1.96 / 20, rel=1e-3)
    assert plot.data[0]["marker"]["color"] == ["@residual", "@warning", "@residual"]
    np.testing.assert_allclose(plot.data[0]["x"], [0, 0.1, 0.2])
    with pytest.raises(ReportError, match="lags 0 and 1"):
        reports.acf_figure([1.0])


def test_a_logarithmic_curve_leaves_out_what_has_no_logarithm():
    figure = reports.line_figure({"cost": [10.0, 0.0, 1e-12]}, x_label="n", y_label="c", log_y=True)
    assert figure.plots[0].data[0]["y"] == [10, None, 1e-12]
    assert figure.legend == ()


def test_a_grid_gathers_plots_and_legends():
    one = reports.acf_figure([1, 0.1], samples=9, title="one")
    two = reports.acf_figure([1, 0.2], samples=9, title="two")
    grid = reports.figure_grid([one, two], title="both")
    assert [plot.title for plot in grid.plots] == ["one", "two"]
    assert grid.legend == one.legend


def test_figures_use_colours_of_the_palette_and_no_webgl():
    figures = [
        reports.time_series_figure(
            [
                reports.Panel(
                    "a",
                    "m",
                    [
                        trace(style=style)
                        for style in (
                            "measured",
                            "initial",
                            "fitted",
                            "residual",
                            "trivial",
                            "other",
                        )
                    ],
                )
            ]
        ),
        reports.interval_figure(["a", "b"], [1, 2], half_widths=[0.1, np.inf], nominal=[1, 1]),
        reports.heatmap_figure([[1.0]], ["a"]),
        reports.bar_figure(None, [1.0, 2.0], label="x", threshold=1.5),
        reports.direction_figure(["a", "b"], [1, -1]),
        reports.histogram_figure([1, 2, 3], label="x"),
        reports.acf_figure([1, 0.5], samples=10),
    ]
    for figure in figures:
        for plot in figure.plots:
            text = json.dumps(plot.json(), allow_nan=False)
            assert "gl" not in {t["type"][-2:] for t in plot.data}
            assert tokens(json.loads(text)) <= set(LIGHT)
        assert {entry.colour for entry in figure.legend} <= set(LIGHT)


def test_json_cannot_leave_its_script_element():
    text = json_for_script({"</script>": "<!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": "<!-- & \u2028"}


def test_every_plot_has_a_number_of_its_own():
    context = Context()
    html = str(reports.time_series_figure([reports.Panel("a"), reports.Panel("b")]).markup(context))
    assert 'id="plot-1"' in html and 'id="plot-2"' in html
    assert context.figures == 2


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2.2, relative luminance)."""

    def luminance(colour):
        parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(one), luminance(other)])
    return float((high + 0.05) / (low + 0.05))


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_and_curves_stand_out_from_the_paper(palette):
    assert set(palette) == set(LIGHT)
    for name in ("ink", "muted", "accent", "good", "info", "warning", "serious"):
        assert contrast(palette[name], palette["paper"]) >= 4.5, name
    for name in palette:
        if name in ("measured", "initial", "fitted", "residual", "trivial") or "series" in name:
            assert contrast(palette[name], palette["paper"]) >= 3, name
