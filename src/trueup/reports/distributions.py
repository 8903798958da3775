"""Figures of distributions, of pairs of quantities, and of the autocorrelation of residuals."""

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ReportError
from trueup.reports.figure import Figure, Json, LegendEntry, Plot, axis_title
from trueup.reports.numbers import rounded_significant, rounded_to_span

_BINS_AT_MOST = 80
_CURVE_POINTS = 121
_POINTS = 1000  # of a scatter
# 97.5 % quantile of the standard normal distribution: a band of 95 %.
_NORMAL_QUANTILE = 1.959963984540054


def histogram_figure(
    values: ArrayLike,
    *,
    label: str,
    unit: str = "",
    bins: int | None = None,
    normal: bool = True,
    title: str = "",
    caption: str = "",
    height: int = 220,
) -> Figure:
    """Return the density of values, compared with the normal density of equal moments.

    Args:
        values: samples of any shape; values that are not finite are skipped.
        label: name of the quantity.
        unit: their unit.
        bins: number of bars; ``None``: the rule of Freedman and Diaconis (1981), at most 80.
        normal: draw the normal distribution of the same mean and standard deviation.
        title: heading.
        caption: small print.
        height: height [pixels].

    Raises:
        ReportError: no value is finite.
    """
    samples = np.asarray(values, dtype=float).ravel()
    samples = samples[np.isfinite(samples)]
    if samples.size == 0:
        raise ReportError(f"the histogram of {label!r} requires finite values, found none")
    if np.ptp(samples) <= 1e-12 * np.abs(samples).max():
        samples = np.full_like(samples, samples[0])  # values equal up to rounding have no bins
    if bins is None:
        bins = _number_of_bins(samples)
    density, edges = np.histogram(samples, bins=bins, density=True)
    centres, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    data: list[Json] = [
        {
            "type": "bar",
            "x": rounded_to_span(centres),
            "y": rounded_significant(density, 4),
            "width": float(f"{width * 0.94:.4g}"),
            "marker": {"color": "@residual", "opacity": 0.75},
            "name": "samples",
            "legendgroup": "samples",
        }
    ]
    legend: tuple[LegendEntry, ...] = ()
    deviation = float(samples.std())
    if normal and deviation > 0:
        curve = np.linspace(edges[0], edges[-1], _CURVE_POINTS)
        bell = np.exp(-0.5 * ((curve - samples.mean()) / deviation) ** 2)
        bell /= deviation * np.sqrt(2 * np.pi)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": rounded_to_span(curve),
                "y": rounded_significant(bell, 4),
                "line": {"color": "@ink", "width": 1.4, "dash": "dot"},
                "name": "normal",
                "legendgroup": "normal",
                "hoverinfo": "skip",
            }
        )
        legend = (
            LegendEntry("samples", "residual", "bar", "samples"),
            LegendEntry("normal of equal mean and deviation", "ink", "dot", "normal"),
        )
    layout: Json = {
        "hovermode": "closest",
        "bargap": 0,
        "xaxis": {"title": axis_title(label, unit), "showgrid": False},
        "yaxis": {"title": axis_title("density"), "rangemode": "tozero", "nticks": 4},
    }
    described = (
        f"distribution of {label}: mean {samples.mean():.4g}, standard deviation {deviation:.4g}"
    )
    return Figure((Plot(data, layout, "", height, description=described),), legend, title, caption)


def scatter_figure(
    x: ArrayLike,
    y: ArrayLike,
    *,
    labels: tuple[str, str],
    units: tuple[str, str] = ("", ""),
    title: str = "",
    caption: str = "",
    height: int = 300,
) -> Figure:
    """Return pairs of values as points, evenly thinned to 1000.

    Args:
        x: values of the horizontal axis ``(n,)``.
        y: values of the vertical axis ``(n,)``.
        labels: names of the quantities.
        units: their units.
        title: heading.
        caption: small print.
        height: height [pixels].

    Raises:
        ReportError: the values are not of equal number, or none is finite.
    """
    points = [np.asarray(values, dtype=float).ravel() for values in (x, y)]
    if len(points[0]) != len(points[1]):
        raise ReportError(
            f"a scatter of {labels[0]!r} and {labels[1]!r} requires as many values of each, found "
            f"{len(points[0])} and {len(points[1])}"
        )
    finite = np.flatnonzero(np.isfinite(points).all(axis=0))
    if not len(finite):
        raise ReportError(f"a scatter of {labels[0]!r} and {labels[1]!r} requires finite values")
    rows = finite[np.linspace(0, len(finite) - 1, min(len(finite), _POINTS)).astype(int)]
    trace: Json = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded_to_span(points[0][rows]),
        "y": rounded_to_span(points[1][rows]),
        "marker": {"color": "@residual", "opacity": 0.35, "size": 4},
        "name": "samples",
    }
    layout: Json = {
        "hovermode": "closest",
        "xaxis": {"title": axis_title(labels[0], units[0])},
        "yaxis": {"title": axis_title(labels[1], units[1])},
    }
    described = f"{labels[1]} over {labels[0]}, {len(rows)} points"
    return Figure((Plot([trace], layout, "", height, description=described),), (), title, caption)


def acf_figure(
    autocorrelation: ArrayLike,
    *,
    samples: int | None = None,
    band: float | None = None,
    lag_step: float = 1.0,
    lag_unit: str = "samples",
    title: str = "",
    caption: str = "",
    height: int = 220,
) -> Figure:
    """Return the autocorrelation of residuals over the lag, with the band of white noise.

    Args:
        autocorrelation: shape (lags,), beginning at lag 0.
        samples: number of samples of the estimate: the band is ``1.96 / sqrt(samples)``, within
            which 95 % of the values of white noise lie (Box and Jenkins, section 2.1).
        band: half the width of the band; takes precedence over ``samples``.
        lag_step: step between lags, in ``lag_unit``.
        lag_unit: unit of the lag, such as ``"s"``.
        title: heading.
        caption: small print.
        height: height [pixels].

    Raises:
        ReportError: not one-dimensional, or no lag except 0.
    """
    values = np.asarray(autocorrelation, dtype=float)
    if values.ndim != 1 or values.size < 2:
        raise ReportError(
            f"an autocorrelation must have shape (lags,) with at least lags 0 and 1, "
            f"found {values.shape}"
        )
    if band is None and samples:
        band = _NORMAL_QUANTILE / float(np.sqrt(samples))
    lags = np.arange(values.size) * lag_step
    outside = np.zeros(values.size, bool) if band is None else np.abs(values) > band
    outside[0] = False
    trace: Json = {
        "type": "bar",
        "x": rounded_to_span(lags),
        "y": rounded_to_span(values, digits=4),
        "width": float(f"{0.55 * lag_step:.4g}"),
        "marker": {"color": ["@warning" if is_out else "@residual" for is_out in outside]},
    }
    half = float(f"{0.5 * lag_step:.4g}")
    layout: Json = {
        "hovermode": "closest",
        "xaxis": {
            "title": axis_title("lag", lag_unit),
            "range": [-half, float(f"{lags[-1] + half:.6g}")],
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": {
            "title": axis_title("autocorrelation"),
            "range": [min(-0.25, float(np.nanmin(values)) * 1.1), 1.05],
            "zeroline": True,
            "nticks": 5,
        },
    }
    legend: tuple[LegendEntry, ...] = ()
    if band is not None:
        level = float(f"{band:.4g}")
        layout["shapes"] = [_band(level)]
        legend = (
            LegendEntry("95 % of white noise", "shade", "area"),
            LegendEntry("outside", "warning", "bar"),
        )
    described = f"autocorrelation, {int(outside.sum())} of {values.size - 1} lags outside the band"
    return Figure(
        (Plot([trace], layout, "", height, description=described),), legend, title, caption
    )


def _number_of_bins(samples: np.ndarray) -> int:
    quartile_low, quartile_high = np.percentile(samples, [25, 75])
    width = 2 * (quartile_high - quartile_low) / samples.size ** (1 / 3)
    span = float(np.ptp(samples))
    if width <= 0 or span <= 0:
        return 10
    return int(np.clip(round(span / width), 5, _BINS_AT_MOST))


def _band(level: float) -> Json:
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": -level,
        "y1": level,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": "@track",
        "opacity": 0.6,
    }
