"""Reports as one self-contained HTML file: page, sections, tables, figures, videos.

A page is built from parts and saved as one file that works offline, on a phone and in print::

    from trueup import reports

    page = reports.Page("Elbow", subtitle="identified from two runs")
    page.add(reports.Section("Parameters", content=[reports.Table(["name", "value"], rows)]))
    page.save("report.html")

Plain strings are always escaped; only :class:`Html` is inserted verbatim.
Figures are plain dictionaries in the format of plotly.js, drawn in the browser as they scroll into
view. Importing this package loads neither plotly nor jinja2.
"""

from trueup.reports.bars import bar_figure, direction_figure
from trueup.reports.content import Code, Content, Group, Html, Note, Row, Stacked, Text
from trueup.reports.decimation import decimate
from trueup.reports.distributions import acf_figure, histogram_figure, scatter_figure
from trueup.reports.figure import Figure, LegendEntry, Plot, figure_grid
from trueup.reports.findings import Finding, Findings, KeyFigure, KeyFigures
from trueup.reports.heatmaps import heatmap_figure
from trueup.reports.intervals import interval_figure
from trueup.reports.lines import line_figure
from trueup.reports.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_range,
    format_rounded,
)
from trueup.reports.page import Page, Section
from trueup.reports.replay import Replay, StickFigure
from trueup.reports.steps import Step, Steps
from trueup.reports.table import Cell, Column, Highlight, Table
from trueup.reports.time_series import Panel, Span, time_series_figure
from trueup.reports.traces import Trace
from trueup.reports.verdict import cause_sentence, counted, verdict_section
from trueup.reports.video import Video

__all__ = [
    "Cell",
    "Code",
    "Column",
    "Content",
    "Figure",
    "Finding",
    "Findings",
    "Group",
    "Highlight",
    "Html",
    "KeyFigure",
    "KeyFigures",
    "LegendEntry",
    "Note",
    "Page",
    "Panel",
    "Plot",
    "Replay",
    "Row",
    "Section",
    "Span",
    "Stacked",
    "Step",
    "Steps",
    "StickFigure",
    "Table",
    "Text",
    "Trace",
    "Video",
    "acf_figure",
    "bar_figure",
    "cause_sentence",
    "counted",
    "decimate",
    "direction_figure",
    "figure_grid",
    "format_estimate",
    "format_interval",
    "format_number",
    "format_range",
    "format_rounded",
    "heatmap_figure",
    "histogram_figure",
    "interval_figure",
    "line_figure",
    "scatter_figure",
    "time_series_figure",
    "verdict_section",
]
