"""Figures: one or several plots with a common legend and caption.

A plot is a plain dictionary in the format of plotly.js (traces and layout). Fonts, margins, grid
and hover are set by the page's script, so that a figure contains only its content. Colours are
tokens (``"@fitted"``) that the script replaces by those of the current theme.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trueup.errors import ReportError
from trueup.reports.pictures.plot import static_plot
from trueup.reports.rendering import Context, Part, json_for_script

if TYPE_CHECKING:
    from markupsafe import Markup

Json = dict[str, Any]


@dataclass(frozen=True)
class LegendEntry:
    """One entry of a figure's legend; a tap hides and shows its traces.

    Attributes:
        name: text.
        colour: token of the palette, such as ``"fitted"``.
        mark: ``"line"``, ``"dash"``, ``"dot"``, ``"point"``, ``"ring"``, ``"diamond"``, ``"bar"``
            or ``"area"``.
        group: ``legendgroup`` of the traces it toggles; empty: an explanation only.
    """

    name: str
    colour: str
    mark: str = "line"
    group: str = ""


@dataclass(frozen=True)
class Plot:
    """One set of axes (or several that share the horizontal one).

    Attributes:
        data: traces in the format of plotly.js.
        layout: axes, shapes and annotations in the format of plotly.js.
        title: heading above the plot.
        height: height on the page [pixels].
        narrow: layout entries that replace those of ``layout`` on a phone, keys with dots:
            ``{"yaxis.ticktext": [...]}``.
        zoom: dragging zooms; otherwise the axes are fixed.
        description: alternative text for screen readers.
    """

    data: Sequence[Json]
    layout: Json
    title: str = ""
    height: int = 260
    narrow: Json = field(default_factory=dict)
    zoom: bool = False
    description: str = ""

    def json(self) -> Json:
        """Return the data for the page's script."""
        spec: Json = {"data": list(self.data), "layout": dict(self.layout)}
        if self.narrow:
            spec["narrow"] = self.narrow
        if self.zoom:
            spec["zoom"] = True
        return spec


@dataclass(frozen=True)
class Figure(Part):
    """Plots with one legend and one caption.

    Attributes:
        plots: the plots, each drawn when it scrolls into view.
        legend: entries above the plots.
        title: heading.
        caption: small print below.
        columns: number of plots next to each other if the width permits.
        linked: zooming the horizontal axis of one plot zooms all.
    """

    plots: Sequence[Plot]
    legend: Sequence[LegendEntry] = ()
    title: str = ""
    caption: str = ""
    columns: int = 1
    linked: bool = False

    def with_text(self, title: str | None = None, caption: str | None = None) -> "Figure":
        """Return the figure with another title or caption."""
        return replace(
            self,
            title=self.title if title is None else title,
            caption=self.caption if caption is None else caption,
        )

    def markup(self, context: Context) -> "Markup":
        """Return the frame of the figure with its data; the drawing happens in the browser.

        A static context gets pictures instead of data.
        """
        plots = [
            {
                "number": context.next_figure(),
                "title": plot.title,
                "height": int(plot.height),
                "description": (name := plot.description or plot.title or self.title or "figure"),
                "json": "" if context.static else json_for_script(plot.json()),
                "picture": static_plot(plot.data, plot.layout, plot.height, name)
                if context.static
                else "",
            }
            for plot in self.plots
        ]
        return context.render("figure.html", figure=self, plots=plots)


def figure_grid(
    figures: Sequence[Figure], columns: int = 2, title: str = "", caption: str = ""
) -> Figure:
    """Return several figures as one, with all plots under one legend.

    The title of a figure with one untitled plot becomes the title of that plot.

    Raises:
        ReportError: no figure.
    """
    if not figures:
        raise ReportError("a grid of figures requires at least one figure")
    plots: list[Plot] = []
    legend: dict[tuple[str, str], LegendEntry] = {}
    for figure in figures:
        for plot in figure.plots:
            plots.append(plot if plot.title else replace(plot, title=figure.title))
        legend.update({(entry.name, entry.group): entry for entry in figure.legend})
    return Figure(tuple(plots), tuple(legend.values()), title, caption, columns)


def plotly_text(text: object) -> str:
    """Return text escaped for plotly.js, which interprets some HTML in labels."""
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\n", " ")


def short_names(names: Sequence[str], length: int) -> list[str]:
    """Return names shortened to ``length`` characters, with as many distinct ones as possible.

    First the common prefix up to a separator is removed; then the middle of each long name, at the
    position that keeps most of them distinct.
    """
    if max(map(len, names), default=0) <= length:
        return list(names)
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
    prefix = first[:same] if first != last else ""
    start = max(prefix.rfind(separator) + 1 for separator in "/._ ")
    shorter = [name[start:] for name in names]
    best: list[str] = []
    for head in sorted(range(length), key=lambda head: abs(head - length // 2)):
        tail = length - 1 - head
        cut = [
            name if len(name) <= length else f"{name[:head]}…{name[len(name) - tail :]}"
            for name in shorter
        ]
        if len(set(cut)) > len(set(best)):
            best = cut
    return best


def axis_title(label: str, unit: str = "") -> Json:
    """Return an axis title ``label [unit]``; without a label the unit alone in brackets."""
    unit = f"[{unit}]" if unit else ""
    return {"text": plotly_text(f"{label} {unit}".strip())}


def checked_names(names: Sequence[str], count: int, what: str) -> list[str]:
    """Return names as strings.

    Raises:
        ReportError: their number is not ``count``.
    """
    names = [str(name) for name in names]
    if len(names) != count:
        raise ReportError(
            f"{what}: expected one name for each of {count} values, found {len(names)}"
        )
    return names


def merged_layout(*layouts: Mapping[str, Any]) -> Json:
    """Return one layout from several; nested mappings are merged, later ones win."""
    result: Json = {}
    for layout in layouts:
        for key, value in layout.items():
            if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
                result[key] = merged_layout(result[key], value)
            else:
                result[key] = value
    return result
