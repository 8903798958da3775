"""Reports as one self-contained HTML file: page, sections, tables, figures, videos.

A page is built from parts and saved as one file that works offline, on a phone and in print::

    from trueup import reports

    page = reports.Page("Elbow", subtitle="identified from two runs")
    page.add(reports.Section("Parameters", content=[reports.Table(["name", "value"], rows)]))
    page.save("report.html")

Texts are escaped wherever they are given as plain strings; only :class:`Html` is passed through.
Figures are plain dictionaries in the format of plotly.js, drawn in the browser as they scroll into
view. Importing this package loads neither plotly nor jinja2.
"""

import importlib

_MODULES = {
    "bars": ("bar_figure", "direction_figure"),
    "content": ("Code", "Content", "Group", "Html", "Note", "Row", "Text", "Yaml"),
    "decimation": ("decimate",),
    "distributions": ("acf_figure", "histogram_figure"),
    "figure": ("Figure", "LegendEntry", "Plot", "figure_grid"),
    "findings": ("Finding", "Findings", "KeyFigure", "KeyFigures"),
    "heatmaps": ("heatmap_figure",),
    "intervals": ("interval_figure",),
    "lines": ("line_figure",),
    "numbers": ("format_interval", "format_number"),
    "page": ("Page", "Section"),
    "table": ("Cell", "Column", "Highlight", "Table"),
    "time_series": ("Panel", "Span", "time_series_figure"),
    "traces": ("Trace", "TraceStyle"),
    "video": ("Video",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

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
    "Row",
    "Section",
    "Span",
    "Table",
    "Text",
    "Trace",
    "TraceStyle",
    "Video",
    "Yaml",
    "acf_figure",
    "bar_figure",
    "decimate",
    "direction_figure",
    "figure_grid",
    "format_interval",
    "format_number",
    "heatmap_figure",
    "histogram_figure",
    "interval_figure",
    "line_figure",
    "time_series_figure",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"trueup.reports.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'trueup.reports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
