"""Plots as SVG, for notebooks and for pages without a script.

Drawn are lines, points, bars, heat maps, lines and rectangles across the axes, and texts: what the
figures of trueup consist of. Colours are variables of the style sheet, so that the picture follows
the theme of the page or the notebook.
"""

import html
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup._secrets import mask
from trueup.errors import ReportError
from trueup.reports.decimation import decimate
from trueup.reports.pictures.axis import Axis

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH = 720
"""Width of a picture in its units; it is scaled to the width of the output."""
_POINTS = 300  # maximum number of points of a curve: a notebook stores every one
_MARGIN = {"l": 64, "r": 12, "t": 10, "b": 44}
_LETTER = 6.2  # width of a letter of a tick
_DASHES = {"dash": "7 4", "dot": "2 3"}


def static_plot(
    data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], height: int, description: str
) -> "Markup":
    """A plot as SVG, safe to insert.

    Args:
        data: traces in the format of plotly.js.
        layout: axes, shapes and annotations in that format.
        height: height of the picture [units].
        description: alternative text.

    Raises:
        ReportError: a trace or a shape of a kind that is not drawn.
    """
    from markupsafe import Markup

    return Markup(_Picture(data, layout, height).text(description))


class _Picture:
    """One plot that is being drawn."""

    def __init__(self, data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], height: int):
        self.data, self.layout, self.height = data, layout, int(height)
        self.margin = {**_MARGIN, **layout.get("margin", {})}
        across, upright = layout.get("xaxis", {}), layout.get("yaxis", {})
        if upright.get("ticktext"):
            longest = max(map(len, map(_plain, upright["ticktext"])))
            self.margin["l"] = max(self.margin["l"], int(_LETTER * longest) + 14)
        left, right = self.margin["l"], WIDTH - self.margin["r"]
        top, bottom = self.margin["t"], self.height - self.margin["b"]
        self.frame = left, right, top, bottom
        self.x = Axis.of(across, self._values("x"), left, right, across=True)
        self.y: dict[str, Axis] = {}
        for key in ("y", "y2"):
            own = layout.get(key.replace("y", "yaxis"))
            if key == "y2" and own is None:
                continue
            low, high = (own or {}).get("domain", (0.0, 1.0))
            ends = bottom - low * (bottom - top), bottom - high * (bottom - top)
            self.y[key] = Axis.of(own or {}, self._values("y", key), *ends, across=False)
        self.parts: list[str] = []

    def text(self, description: str) -> str:
        """The picture, with its alternative text."""
        for shape in self.layout.get("shapes", ()):
            self._shape(shape)
        self._axes()
        for trace in self.data:
            if trace.get("visible", True) is True:
                self._trace(trace)
        for note in self.layout.get("annotations", ()):
            self._annotation(note)
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" '
            f'style="max-width:100%;height:auto" role="img" aria-label="{_escaped(description)}" '
            f'font-size="11" fill="none">{"".join(self.parts)}</svg>'
        )

    def _values(self, key: str, axis: str = "y") -> np.ndarray:
        """Every finite value along an axis, for its limits."""
        found: list[np.ndarray] = []
        for trace in self.data:
            if key == "y" and trace.get("yaxis", "y") != axis:
                continue
            values = _numbers(trace.get(key, ()))
            if trace["type"] == "bar":
                along = "x" if trace.get("orientation") == "h" else "y"
                half = 0.5 * np.max(_numbers(trace.get("width", 0.8)), initial=0.0)
                values = np.append(values, 0.0) if key == along else values[:, None] + [-half, half]
                if key == along and self.layout.get(f"{key}axis", {}).get("type") == "log":
                    values = values[:-1]
            found.append(np.ravel(values))
        together = np.concatenate(found) if found else np.zeros(0)
        return together[np.isfinite(together)]

    def _axes(self) -> None:
        left, right, top, bottom = self.frame
        for axis in self.y.values():
            if not axis.visible:
                continue
            for value, label in axis.ticks():
                at = axis.place(value)
                if axis.grid:
                    self._line(left, at, right, at, "@line" if value == 0 else "@grid")
                self._label(left - 6, at + 4, label, "end")
            self._title(axis.title, 13, 0.5 * (axis.start + axis.end), turned=True)
        if self.x.visible:
            below = self.x.side != "top"
            for value, label in self.x.ticks():
                at = self.x.place(value)
                if self.x.grid:
                    self._line(at, top, at, bottom, "@grid")
                self._label(at, bottom + 15 if below else top - 6, label, "middle")
            self._title(self.x.title, 0.5 * (left + right), bottom + 34)

    def _trace(self, trace: Mapping[str, Any]) -> None:
        kind = trace["type"]
        draw = {"scatter": self._scatter, "bar": self._bars, "heatmap": self._heatmap}.get(kind)
        if draw is None:
            raise ReportError(f"a static picture has no traces of the type {kind!r}")
        draw(trace)

    def _scatter(self, trace: Mapping[str, Any]) -> None:
        mode = trace.get("mode", "lines")
        x, y = _numbers(trace["x"]), _numbers(trace["y"])
        axis = self.y[trace.get("yaxis", "y")]
        if trace.get("fill") in ("tozeroy", "toself"):
            closed = trace["fill"] == "tozeroy" and len(x)
            xs = np.concatenate([x[:1], x, x[-1:]]) if closed else x
            ys = np.concatenate([[0.0], y, [0.0]]) if closed else y
            kept = np.isfinite(xs) & np.isfinite(ys)
            corners = " ".join(map(self._pair, *self._places(xs[kept], ys[kept], axis)))
            colour = _colour(trace.get("fillcolor", "@shade"))
            self.parts.append(f'<polygon points="{corners}" fill="{colour}" opacity=".6"/>')
        if "lines" in mode:
            self._curve(trace, x, y, axis)
        if "markers" in mode:
            self._points(trace, *self._places(x, y, axis))

    def _curve(self, trace: Mapping[str, Any], x: np.ndarray, y: np.ndarray, axis: Axis) -> None:
        line = trace.get("line", {})
        if len(y) > _POINTS and np.all(np.diff(x) >= 0):
            x, y = decimate(x, y, _POINTS)
        places = np.stack(self._places(x, y, axis), axis=1)
        words, drawing = [], False
        for (across, down), before in zip(places, [None, *places[:-1]]):
            if not (math.isfinite(across) and math.isfinite(down)):
                drawing = False
                continue
            held = drawing and line.get("shape") == "hv" and before is not None
            step = f"H{across:.1f}" if held else ""
            words.append(f"{step}{'L' if drawing else 'M'}{self._pair(across, down)}")
            drawing = True
        dash = _DASHES.get(line.get("dash", ""), "")
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{"".join(words)}" stroke="{_colour(line.get("color", "@series-1"))}" '
            f'stroke-width="{float(line.get("width", 1.5)):g}" stroke-linejoin="round"{dashed}/>'
        )

    def _points(self, trace: Mapping[str, Any], across: np.ndarray, down: np.ndarray) -> None:
        marker = trace.get("marker", {})
        colours, symbol = marker.get("color", "@series-1"), str(marker.get("symbol", "circle"))
        size = marker.get("size", 6)
        for k, (x, y) in enumerate(zip(across, down)):
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            colour = _colour(colours[k] if isinstance(colours, list) else colours)
            radius = 0.5 * float(size[k] if isinstance(size, list) else size)
            look = (
                f'stroke="{colour}" stroke-width="1.6"' if "open" in symbol else f'fill="{colour}"'
            )
            if symbol.startswith("diamond"):
                shape = f"M{x:.1f} {y - radius:.1f}l{0.7 * radius:.1f} {radius:.1f}"
                shape += f"l{-0.7 * radius:.1f} {radius:.1f}l{-0.7 * radius:.1f} {-radius:.1f}z"
                self.parts.append(f'<path d="{shape}" {look}/>')
            else:
                self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {look}/>')

    def _bars(self, trace: Mapping[str, Any]) -> None:
        lying = trace.get("orientation") == "h"
        along, upright = (self.x, self.y["y"]) if lying else (self.y["y"], self.x)
        lengths, places = (_numbers(trace[key]) for key in (("x", "y") if lying else ("y", "x")))
        widths = np.broadcast_to(_numbers(trace.get("width", 0.8)), lengths.shape)
        colours = trace.get("marker", {}).get("color", "@series-1")
        foot = along.start if along.log else float(np.clip(along.place(0.0), *along.ends))
        for k, (length, place, width) in enumerate(zip(lengths, places, widths)):
            if not math.isfinite(length):
                continue
            ends = foot, along.place(length)
            sides = upright.place(place - width / 2), upright.place(place + width / 2)
            colour = _colour(colours[k] if isinstance(colours, list) else colours)
            self._box(*((ends, sides) if lying else (sides, ends)), colour)

    def _heatmap(self, trace: Mapping[str, Any]) -> None:
        values = np.array([_numbers(row) for row in trace["z"]])
        low = float(trace.get("zmin", np.nanmin(values)))
        high = float(trace.get("zmax", np.nanmax(values)))
        scale = trace.get("colorscale") or [[0, "@middle"], [1, "@positive"]]
        for y, row in zip(_numbers(trace["y"]), values):
            for x, value in zip(_numbers(trace["x"]), row):
                if math.isfinite(value):
                    share = float(np.clip((value - low) / ((high - low) or 1.0), 0, 1))
                    across = self.x.place(x - 0.48), self.x.place(x + 0.48)
                    down = self.y["y"].place(y - 0.46), self.y["y"].place(y + 0.46)
                    self._box(across, down, _between(scale, share))

    def _shape(self, shape: Mapping[str, Any]) -> None:
        left, right, top, bottom = self.frame
        axis = self.y.get(shape.get("yref", "y"), self.y["y"])

        def at(key: str) -> float:
            value = float(shape[key])
            on_paper = shape.get(f"{key[0]}ref") == "paper"
            if key[0] == "x":
                return left + value * (right - left) if on_paper else self.x.place(value)
            return bottom - value * (bottom - top) if on_paper else axis.place(value)

        x0, x1, y0, y1 = (at(key) for key in ("x0", "x1", "y0", "y1"))
        opacity = float(shape.get("opacity", 1.0))
        if shape["type"] == "line":
            line = shape.get("line", {})
            width, dash = float(line.get("width", 1)), line.get("dash", "")
            self._line(x0, y0, x1, y1, line.get("color", "@muted"), width, opacity, dash)
        elif shape["type"] == "rect":
            colour = _colour(shape.get("fillcolor", "@shade"))
            self._box((x0, x1), (y0, y1), colour, opacity)
        else:
            raise ReportError(f"a static picture has no shapes of the type {shape['type']!r}")

    def _annotation(self, note: Mapping[str, Any]) -> None:
        left, right, top, bottom = self.frame
        x, y = float(note.get("x", 0.5)), float(note.get("y", 0.5))
        paper = note.get("xref") == "paper", note.get("yref") == "paper"
        across = left + x * (right - left) if paper[0] else self.x.place(x)
        down = bottom - y * (bottom - top) if paper[1] else self.y["y"].place(y)
        font = note.get("font", {})
        anchor = {"left": "start", "right": "end"}.get(note.get("xanchor", "center"), "middle")
        self._label(
            across + float(note.get("xshift", 0)),
            down - float(note.get("yshift", 0)) + 4,
            note["text"],
            anchor,
            font.get("color", "@muted"),
            float(font.get("size", 11)),
        )

    def _places(self, x: np.ndarray, y: np.ndarray, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
        return self.x.places(x), axis.places(y)

    @staticmethod
    def _pair(across: float, down: float) -> str:
        return f"{across:.1f} {down:.1f}"

    def _line(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        colour: str,
        width: float = 1.0,
        opacity: float = 1.0,
        dash: str = "",
    ) -> None:
        more = f' opacity="{opacity:g}"' if opacity < 1 else ""
        more += f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""
        self.parts.append(
            f'<path d="M{self._pair(x0, y0)}L{self._pair(x1, y1)}" stroke="{_colour(colour)}" '
            f'stroke-width="{width:g}"{more}/>'
        )

    def _box(
        self, across: Sequence[float], down: Sequence[float], colour: str, opacity: float = 1.0
    ) -> None:
        (left, right), (top, bottom) = sorted(across), sorted(down)
        more = f' opacity="{opacity:g}"' if opacity < 1 else ""
        self.parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" fill="{colour}"{more}/>'
        )

    def _label(
        self,
        x: float,
        y: float,
        text: object,
        anchor: str,
        colour: str = "@muted",
        size: float = 11,
    ) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_colour(colour)}" '
            f'font-size="{size:g}">{_escaped(text)}</text>'
        )

    def _title(self, text: str, x: float, y: float, turned: bool = False) -> None:
        if text:
            turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
            self.parts.append(
                f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{_colour("@muted")}"'
                f"{turn}>{_escaped(text)}</text>"
            )


def _numbers(values: Any) -> np.ndarray:
    """Values as numbers; a missing one is NaN."""
    flat = values if isinstance(values, Sequence | np.ndarray) else [values]
    return np.array([np.nan if v is None else v for v in flat], dtype=float)


def _colour(token: str) -> str:
    return f"var(--{token[1:]})" if token.startswith("@") else _escaped(token)


def _between(scale: Sequence[Sequence[Any]], share: float) -> str:
    """Colour of a scale of tokens at a share of it."""
    for (low, first), (high, second) in itertools.pairwise(scale):
        if share <= high:
            mixed = 100 * (share - low) / ((high - low) or 1.0)
            return f"color-mix(in srgb,{_colour(second)} {mixed:.0f}%,{_colour(first)})"
    return _colour(scale[-1][1])


def _plain(text: object) -> str:
    """Text of a label, without the markup that plotly.js interprets."""
    return html.unescape(re.sub(r"<[^>]*>", " ", str(text)))


def _escaped(text: object) -> str:
    return html.escape(mask(_plain(text)))
