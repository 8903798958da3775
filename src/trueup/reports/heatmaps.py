"""Heat maps of matrices, such as correlations of parameters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError
from trueup.reports.figure import Figure, Json, Plot, checked_names, plotly_text, short_names
from trueup.reports.numbers import format_number, rounded_to_span

_NUMBERS_UP_TO = 14


def heatmap_figure(
    matrix: ArrayLike,
    names: Sequence[str],
    *,
    column_names: Sequence[str] | None = None,
    low: float = -1.0,
    high: float = 1.0,
    label: str = "correlation",
    unit: str = "",
    title: str = "",
    caption: str = "",
) -> Figure:
    """Return a heat map of a matrix, with its numbers if they fit.

    Rows have number and name, columns the number only, so that long names fit on a narrow screen.
    The colours range from negative over neutral (the middle of ``low`` and ``high``) to positive;
    values that are not finite are blank and marked with a dash.

    Args:
        matrix: shape (n, m).
        names: of the rows, n of them.
        column_names: of the columns; ``None``: the names of the rows.
        low: value of the strongest negative colour.
        high: value of the strongest positive colour.
        label: name of the quantity.
        unit: their unit.
        title: heading.
        caption: small print.

    Raises:
        ReportError: shapes and names do not match.
    """
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or values.size == 0:
        raise ReportError(f"a heat map requires a matrix, found shape {values.shape}")
    rows, columns = values.shape
    names = checked_names(names, rows, "rows of a heat map")
    square = column_names is None
    across = checked_names(
        names if square else column_names or [], columns, "columns of a heat map"
    )
    hover = [
        [
            f"{plotly_text(r)}<br>{plotly_text(c)}<br>{format_number(float(v), 4)} "
            f"{plotly_text(unit)}"
            for c, v in zip(across, line)
        ]
        for r, line in zip(names, values)
    ]
    trace: Json = {
        "type": "heatmap",
        "z": [rounded_to_span(line, digits=4) for line in values],
        "x": list(range(columns)),
        "y": list(range(rows)),
        "zmin": low,
        "zmax": high,
        "xgap": 2,
        "ygap": 2,
        "hovertext": hover,
        "hoverinfo": "text",
        "colorscale": [[0, "@negative"], [0.5, "@middle"], [1, "@positive"]],
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "len": 1,
            "title": {"text": plotly_text(f"{label} [{unit}]" if unit else label), "side": "right"},
            "nticks": 5,
        },
    }
    wide_names, narrow_names = short_names(names, 32), short_names(names, 14)
    column_texts = [str(n) for n in range(1, columns + 1)] if square else across
    layout: Json = {
        "hovermode": "closest",
        "xaxis": {
            "tickvals": list(range(columns)),
            "ticktext": [plotly_text(text) for text in short_names(column_texts, 14)],
            "range": [-0.5, columns - 0.5],
            "side": "top",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "yaxis": {
            "tickvals": list(range(rows)),
            "ticktext": _numbered(wide_names),
            "range": [rows - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "margin": {"t": 30, "b": 10, "r": 10},
        "annotations": _numbers(values, low, high) if columns <= _NUMBERS_UP_TO else [],
    }
    narrow: Json = {
        "yaxis.ticktext": _numbered(narrow_names),
        "annotations": _numbers(values, low, high) if columns <= _NUMBERS_UP_TO // 2 else [],
        "data.showscale": False,
    }
    height = int(np.clip(50 + 34 * rows, 150, 720))
    described = f"{label} of {', '.join(names)}"
    return Figure(
        (Plot([trace], layout, "", height, narrow, description=described),), (), title, caption
    )


def _numbered(names: list[str]) -> list[str]:
    return [plotly_text(f"{name}  {number}") for number, name in enumerate(names, start=1)]


def _numbers(values: np.ndarray, low: float, high: float) -> list[Json]:
    middle, half = (low + high) / 2, (high - low) / 2
    annotations = []
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            strong = np.isfinite(value) and abs(value - middle) > 0.55 * half
            annotations.append(
                {
                    "x": column,
                    "y": row,
                    "text": f"{value:.2f}".replace("-0.00", "0.00") if np.isfinite(value) else "–",
                    "showarrow": False,
                    "font": {"size": 11, "color": "@on-strong" if strong else "@ink"},
                }
            )
    return annotations
