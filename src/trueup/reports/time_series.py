"""Figure of signals over time, one panel per channel, with their residuals below."""

from collections.abc import Sequence
from dataclasses import dataclass

from trueup.errors import ReportError
from trueup.reports.decimation import POINTS_PER_TRACE
from trueup.reports.figure import Figure, Json, LegendEntry, Plot, axis_title, plotly_text
from trueup.reports.numbers import rounded_to_span
from trueup.reports.traces import Look, Trace, drawing_order, legend_for, line_json, looks


@dataclass(frozen=True)
class Span:
    """A shaded interval of time, such as the part held out of the fit.

    Attributes:
        start: start [s].
        end: end [s].
        label: text at its top and in the legend.
    """

    start: float
    end: float
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One channel.

    Attributes:
        title: name of the channel.
        unit: unit of its values.
        traces: curves. Those of style ``"residual"`` are drawn in a separate panel below.
        residuals: more curves for that panel, in any style: the residual of the initial model
            keeps the colour of the initial model if it is given as style ``"initial"``.
        spans: shaded intervals of this panel only.
        subtitle: a short remark next to the title, such as the score of the fit.
        quantity: quantity of its axis, if not in the title, such as "torque".
    """

    title: str
    unit: str = ""
    traces: Sequence[Trace] = ()
    residuals: Sequence[Trace] = ()
    spans: Sequence[Span] = ()
    subtitle: str = ""
    quantity: str = ""

    def main_traces(self) -> list[Trace]:
        """Return the curves of the upper axes."""
        return [trace for trace in self.traces if trace.style != "residual"]

    def residual_traces(self) -> list[Trace]:
        """Return the curves of the lower axes."""
        return [t for t in self.traces if t.style == "residual"] + list(self.residuals)


def time_series_figure(
    panels: Sequence[Panel],
    *,
    title: str = "",
    caption: str | None = None,
    time_label: str = "time",
    time_unit: str = "s",
    spans: Sequence[Span] = (),
    columns: int = 1,
    height: int = 190,
    residual_height: int = 90,
) -> Figure:
    """Return panels that share their time axis: zooming one zooms all.

    Traces are decimated to at most 1000 points, keeping the smallest and the largest sample of each
    interval, so that no peak is lost.

    Args:
        panels: one per channel.
        title: heading.
        caption: small print; ``None`` reports the number of samples if curves are decimated.
        time_label: name of the horizontal axis.
        time_unit: its unit.
        spans: intervals shaded in all panels.
        columns: number of panels next to each other if the width permits.
        height: height of the axes of the signals [pixels].
        residual_height: height of the axes of the residuals [pixels].

    Raises:
        ReportError: no panel.
    """
    if not panels:
        raise ReportError("a figure of signals requires at least one panel")
    everything = [t for p in panels for t in (*p.main_traces(), *p.residual_traces())]
    styles = looks(everything)
    plots = [
        _panel_plot(
            panel, styles, (*spans, *panel.spans), time_label, time_unit, height, residual_height
        )
        for panel in panels
    ]
    legend = legend_for(everything, styles)
    labels = {s.label for p in panels for s in (*spans, *p.spans) if s.label}
    legend += tuple(LegendEntry(label, "shade", "area") for label in sorted(labels))
    if caption is None:
        caption = _decimation_note(everything)
    return Figure(tuple(plots), legend, title, caption, columns, linked=True)


def _panel_plot(
    panel: Panel,
    styles: dict[str, Look],
    spans: Sequence[Span],
    time_label: str,
    time_unit: str,
    height: int,
    residual_height: int,
) -> Plot:
    main, residuals = panel.main_traces(), panel.residual_traces()
    data = [line_json(trace, styles[trace.group]) for trace in drawing_order(main)]
    data += [line_json(trace, styles[trace.group], axis="y2") for trace in drawing_order(residuals)]
    bottom = 46  # room for the ticks and the title of the time axis [pixels]
    total = height + bottom
    layout: Json = {
        "xaxis": {"title": axis_title(time_label, time_unit)},
        "yaxis": {"title": axis_title(panel.quantity, panel.unit)},
        "margin": {"b": bottom},
    }
    if residuals:
        gap = 14
        total += residual_height + gap
        drawn = height + residual_height + gap
        layout["yaxis"]["domain"] = [(residual_height + gap) / drawn, 1]
        layout["yaxis2"] = {
            "title": _residual_title(panel.unit),
            "domain": [0, residual_height / drawn],
            "zeroline": True,
            "nticks": 4,
        }
        layout["xaxis"]["anchor"] = "y2"
    if spans:
        layout["shapes"] = [_span_shape(span) for span in spans]
    title = f"{panel.title} · {panel.subtitle}" if panel.subtitle else panel.title
    return Plot(data, layout, title, total, zoom=True, description=_description(panel))


def _residual_title(unit: str) -> Json:
    # The axes are low: a long unit is put on a separate line.
    if len(unit) <= 5:
        return axis_title("residual", unit)
    return {"text": f"residual<br>[{plotly_text(unit)}]"}


def _span_shape(span: Span) -> Json:
    start, end = rounded_to_span([span.start, span.end], digits=8)
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": start,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": "@shade",
        "name": plotly_text(span.label),
    }


def _description(panel: Panel) -> str:
    names = ", ".join(dict.fromkeys(t.name for t in (*panel.traces, *panel.residuals)))
    unit = f" in {panel.unit}" if panel.unit else ""
    return f"{panel.title}{unit} over time: {names}"


def _decimation_note(traces: Sequence[Trace]) -> str:
    longest = max((len(trace.values) for trace in traces), default=0)  # type: ignore[arg-type]
    if longest <= POINTS_PER_TRACE:
        return ""
    return (
        f"Curves of up to {longest:,} samples are drawn with fewer points; the smallest and the "
        "largest sample of every interval are kept."
    )
