"""Figures and tables of a network's error, from its scores and predictions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup import reports
from trueup.networks.evaluation.cross_validation import held_out_scores
from trueup.networks.evaluation.metrics import SETTLING

_SCATTER_POINTS = 1500


@dataclass(frozen=True, eq=False)
class PredictedRecording:
    """A recording and estimates of its torque.

    Attributes:
        name: name of the recording.
        group: group of the recording.
        times: sample times, shape (n,) [s].
        torque: measured torque, shape (n,) [N m].
        estimates: torque of ``network`` and others by name, shape (n,) [N m].
    """

    name: str
    group: str
    times: np.ndarray
    torque: np.ndarray
    estimates: dict[str, np.ndarray]


def time_series_section(recordings: Sequence[PredictedRecording], of: int) -> reports.Section:
    """Torque and error over time, one panel per recording; the first of ``of`` recordings."""
    panels = []
    for each in recordings:
        network = each.estimates["network"]
        rmse = float(np.sqrt(np.mean((network - each.torque) ** 2)))
        traces = [
            reports.Trace("measured", each.times, each.torque, "measured"),
            reports.Trace("network", each.times, network, "fitted"),
        ]
        if "reference" in each.estimates:
            estimate = each.estimates["reference"]
            traces.append(reports.Trace("reference", each.times, estimate, "other"))
        residuals = [reports.Trace("error", each.times, network - each.torque, "residual")]
        if "linear" in each.estimates:
            error = each.estimates["linear"] - each.torque
            # its large error at a start in motion would hide all others
            error = np.where(each.times < each.times[0] + SETTLING, np.nan, error)
            label = "error of linear, settled"
            residuals.append(reports.Trace(label, each.times, error, "initial"))
        panels.append(
            reports.Panel(
                each.name if each.group in each.name else f"{each.group}: {each.name}",
                "N m",
                traces,
                residuals,
                subtitle=f"RMSE {reports.format_number(rmse)} N m",
                quantity="torque",
            )
        )
    figures = [reports.time_series_figure([panel]) for panel in panels]
    return reports.Section(
        "Torque over time",
        "time-series",
        "Each recording begins with a cold start: as if its first sample had been constant "
        "before, as after a reset of a simulator."
        + (f" The first {len(recordings)} of {of} are shown." if of > len(recordings) else ""),
        figures,
    )


def scatter_section(recordings: Sequence[PredictedRecording]) -> reports.Section:
    """Predicted against measured torque."""
    torque = np.concatenate([each.torque for each in recordings])
    network = np.concatenate([each.estimates["network"] for each in recordings])
    groups = np.concatenate([np.full(len(each.torque), each.group) for each in recordings])
    names = list(dict.fromkeys(groups.tolist()))
    # evenly spaced over all samples, so that groups keep their proportions
    shown = np.linspace(0, len(torque) - 1, min(_SCATTER_POINTS, len(torque))).astype(int)
    data: list[dict[str, Any]] = []
    legend = []
    for number, name in enumerate(names):
        rows = shown[groups[shown] == name]
        token = f"series-{number % 6 + 1}"
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "legendgroup": name,
                "x": [float(f"{value:.5g}") for value in torque[rows]],
                "y": [float(f"{value:.5g}") for value in network[rows]],
                "marker": {"color": f"@{token}", "size": 4, "opacity": 0.5},
            }
        )
        legend.append(reports.LegendEntry(name, token, "point", name))
    ends = [float(min(torque.min(), network.min())), float(max(torque.max(), network.max()))]
    line = {"type": "line", "x0": ends[0], "y0": ends[0], "x1": ends[1], "y1": ends[1]}
    layout = {
        "xaxis": {"title": {"text": "measured torque [N m]"}},
        "yaxis": {"title": {"text": "predicted torque [N m]"}},
        "hovermode": "closest",
        "shapes": [{**line, "line": {"color": "@ink", "width": 1, "dash": "dot"}}],
    }
    description = "predicted over measured torque"
    plot = reports.Plot(data, layout, "", 380, zoom=True, description=description)
    caption = f"{len(shown):,} of {len(torque):,} samples. Dotted: a perfect prediction."
    figure = reports.Figure((plot,), legend if len(legend) > 1 else (), "", caption)
    return reports.Section("Predicted against measured", "scatter", content=[figure])


def _speed_names(edges: Sequence[tuple[float, float]]) -> list[str]:
    """Labels of speed bands [rad/s], short enough to fit below each bar.

    Edges are rounded to a hundredth of the highest, or finer where both of a band would be equal.
    """
    places = 2 - math.floor(math.log10(max(high for _, high in edges) or 1.0))
    for more in range(3):
        rounded = [(round(low, places + more), round(high, places + more)) for low, high in edges]
        if all(low < high for low, high in rounded):
            break
    return [f"{low:g} to {high:g}" for low, high in rounded]


def bands_section(metrics: Mapping[str, Any]) -> reports.Section | None:
    """Section of errors by speed and frequency; None where neither is known."""
    figures = []
    if metrics.get("speed_bands"):
        bands = metrics["speed_bands"]
        names = _speed_names([(band["lowest"], band["highest"]) for band in bands])
        figures.append(_band_figure(names, metrics["speed_bands"], "speed", "rad/s"))
    if metrics.get("frequency_bands"):
        bands = [band for band in metrics["frequency_bands"] if band["samples"]]
        names = [f"{band['lowest']:g} to {band['highest']:g}" for band in bands]
        figures.append(_band_figure(names, bands, "frequency", "Hz"))
    if not figures:
        return None
    return reports.Section(
        "Error against speed and frequency",
        "bands",
        "Bands of speed have equal numbers of samples. The squared errors of the frequency bands "
        "add up to the total.",
        [reports.figure_grid(figures)],
    )


def _band_figure(
    names: Sequence[str], bands: Sequence[Mapping[str, Any]], label: str, unit: str
) -> reports.Figure:
    """Bar chart of error and torque of each band."""
    places = list(range(len(names)))
    parts = [("error", "series-1", "rmse"), ("torque", "series-2", "torque_rms")]
    data = [
        {
            "type": "bar",
            "name": name,
            "legendgroup": name,
            "x": places,
            "y": [float(f"{band[key]:.4g}") for band in bands],
            "marker": {"color": f"@{token}"},
        }
        for name, token, key in parts
    ]
    layout = {
        "barmode": "group",
        "xaxis": {
            "tickvals": places,
            "ticktext": list(names),
            "title": {"text": f"{label} [{unit}]"},
            "automargin": True,
        },
        "yaxis": {"title": {"text": "RMS [N m]"}, "rangemode": "tozero"},
    }
    described = "; ".join(
        f"{name} {unit}: error {band['rmse']:.3g}, torque {band['torque_rms']:.3g} N m"
        for name, band in zip(names, bands, strict=True)
    )
    legend = [reports.LegendEntry(name, token, "bar", name) for name, token, _ in parts]
    plot = reports.Plot(data, layout, "", 280, description=described)
    return reports.Figure((plot,), legend, f"By {label}")


def names_groups(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the groups differ from the names of the recordings."""
    return any(not each["name"].startswith(each["group"]) for each in rows)


def recordings_tables(metrics: Mapping[str, Any]) -> list[reports.Table]:
    """Scores of each recording, and its errors compared with those of other estimates."""
    files = metrics["files"]
    others = list(dict.fromkeys(name for each in files for name in each["others"]))
    columns = [
        reports.Column("recording"),
        reports.Column("RMSE", "N m", digits=4),
        reports.Column("settled RMSE", "N m", digits=4, note="without the first half second"),
        reports.Column("R2", digits=4),
        reports.Column("MAE", "N m", digits=4),
    ]
    rows = [[e["name"], e["rmse"], e["settled"]["rmse"], e["r2"], e["mae"]] for e in files]
    tables = [reports.Table(columns, rows)]
    # separate tables: one with all columns is wider than a phone or a printed page
    with_group = names_groups(files)
    columns = [reports.Column("recording"), *([reports.Column("group")] if with_group else [])]
    columns += [
        reports.Column("samples"),
        reports.Column("out of range", "%", digits=3, note="samples outside those of training"),
    ]
    rows = [
        [
            e["name"],
            *([e["group"]] if with_group else []),
            e["samples"],
            None if _missing(e["out_of_range"]) else 100.0 * e["out_of_range"],
        ]
        for e in files
    ]
    tables.append(reports.Table(columns, rows, "Samples, and those outside the range of training"))
    if not others:
        return tables
    names = [reports.Column("recording")]
    names += [reports.Column(name, "N m", digits=4) for name in ("network", *others)]
    for title, own, others_key in (
        ("Settled RMSE compared with other estimates", "settled", "others_settled"),
        ("RMSE of whole recordings compared with other estimates", None, "others"),
    ):
        rows = [
            [
                each["name"],
                each["rmse"] if own is None else each[own]["rmse"],
                *(each[others_key].get(name, {}).get("rmse") for name in others),
            ]
            for each in files
        ]
        tables.append(reports.Table(names, rows, title))
    return tables


def groups_table(metrics: Mapping[str, Any]) -> reports.Table:
    """Scores of each group."""
    columns = [
        reports.Column("group"),
        reports.Column("samples"),
        reports.Column("RMSE", "N m", digits=4),
        reports.Column("MAE", "N m", digits=4),
        reports.Column("R2", digits=4),
    ]
    rows = [
        [name, each["samples"], each["rmse"], each["mae"], each["r2"]]
        for name, each in metrics["groups"].items()
    ]
    return reports.Table(columns, rows)


def held_out_table(metrics: Mapping[str, Any]) -> list[reports.Table]:
    """Errors on each recording held out in turn; empty where a validation part was used."""
    found = held_out_scores(metrics)
    if found is None or found.table is None:
        return []
    table, names = found.table, [found.taken, *reversed(found.simpler)]
    columns = [
        reports.Column("recording"),
        reports.Column("torque's standard deviation", "N m", digits=4),
        *(reports.Column(f"RMSE, {name}", "N m", digits=4) for name in dict.fromkeys(names)),
        *(reports.Column(f"settled, {name}", "N m", digits=4) for name in dict.fromkeys(names)),
    ]
    rows: list[list[Any]] = [
        [
            recording,
            table["deviations"][number],
            *(table[kind][n][number] for kind in ("rmse", "settled") for n in dict.fromkeys(names)),
        ]
        for number, recording in enumerate(table["recordings"])
    ]
    notes = "Networks trained without the recording, for fewer epochs; scored from a cold start."
    return [reports.Table(columns, rows, "Recordings held out in turn", notes=notes)]


def score_figures(metrics: Mapping[str, Any]) -> reports.KeyFigures:
    """Key figures: of recordings held out in turn, then of the test part."""
    others = metrics["others_settled"]
    held_out = held_out_scores(metrics)
    figures, part = [], ""
    if held_out is not None:
        part = f", {metrics.get('scored_on', 'test')} part"
        note = f"constant {held_out.constant:.3g}, linear {held_out.linear:.3g}"
        if held_out.worst is not None:
            note += f"; {held_out.worst[0]} {held_out.worst[1]:.3g}"
        label = "error on recordings held out in turn"
        figures += [
            reports.KeyFigure(held_out.error, label, "of the torque's standard deviation", note),
            reports.KeyFigure(1.0 - held_out.error**2, "R2 on recordings held out in turn"),
        ]
    figures += [
        reports.KeyFigure(
            metrics["rmse"], f"RMSE, whole recordings{part}", "N m", "from a cold start"
        ),
        reports.KeyFigure(metrics["r2"], f"R2{part}"),
        reports.KeyFigure(metrics["settled"]["rmse"], "settled RMSE", "N m", "after 0.5 s"),
    ]
    for name in ("linear", "reference"):
        if name in others:
            rmse = others[name]["rmse"]
            figures.append(
                reports.KeyFigure(rmse, f"settled RMSE of the {name}", "N m", "after 0.5 s")
            )
    return reports.KeyFigures(figures)


def _missing(value: float | None) -> bool:
    return value is None or not np.isfinite(value)
