"""Reports of networks as HTML pages: of a training run, and of a network on recordings."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup import reports
from trueup._marks import unmarked
from trueup.errors import RunDirectoryError
from trueup.fitting import Verdict
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.evaluation.metrics import NetworkScores
from trueup.networks.evaluation.network_verdict import (
    evaluation_verdict,
    start_note,
    training_verdict,
)
from trueup.networks.evaluation.prediction_figures import (
    PredictedRecording,
    bands_section,
    groups_table,
    held_out_table,
    names_groups,
    recordings_tables,
    scatter_section,
    score_figures,
    time_series_section,
)
from trueup.networks.model.network import Network
from trueup.networks.training.saved_files import read_history
from trueup.runs.store import atomic

if TYPE_CHECKING:
    from trueup.networks.evaluation.closed_loop import RollOut

_SHOWN_RECORDINGS = 24
_SUFFIX = "_nm"
_NOT_SHOWN = ("configuration", "data", "trained_on")
"""Entries of the provenance that are too long for a page, or shown elsewhere on it."""

_SEVERITY = {"refuse": "serious", "warning": "warning", "info": "info"}
"""Severity of a finding -> its name on the page."""


def evaluation_report(
    network: Network,
    series: Sequence[ActuatorSeries],
    scores: NetworkScores,
    rollouts: Sequence["RollOut"] = (),
    notes: Sequence[tuple[str, str]] = (),
    verdict: Verdict | None = None,
) -> reports.Page:
    """A page: verdict, scores, torque over time, scatter, error against speed and frequency.

    Args:
        network: the network.
        series: the recordings that it was scored on.
        scores: scores of the network on them.
        rollouts: closed-loop motions with the network, one per recording; or None.
        notes: severity and text of further remarks on the recordings.
        verdict: verdict on the network over these recordings; by default that for recordings that
            may have been used in training.
    """
    recordings = [
        PredictedRecording(
            each.name,
            each.group,
            each.start + each.times,
            each.torque,
            {"network": scored.predicted, **_reference(each)},
        )
        for each, scored in zip(series, scores.series, strict=True)
    ]
    metrics = scores.to_dict()
    page = reports.Page(
        "Network on recordings",
        _description(network),
        _shown_provenance(network),
        [score_figures(metrics), *_notes([*_start_notes(metrics), *notes])],
    )
    page.add(reports.verdict_section((verdict or evaluation_verdict(metrics, None)).to_dict()))
    page.add(*_score_sections(metrics, recordings))
    if rollouts:
        page.add(_closed_loop_section(series, rollouts))
    page.add(_reading_section([metrics]))
    return page


def training_report(directory: str | os.PathLike[str]) -> reports.Page:
    """The report of a finished training, from the files of its run directory.

    Raises:
        RunDirectoryError: the run is not finished, or one of its files is damaged.
    """
    folder = Path(directory)
    metrics = _metrics(folder)
    folds = metrics.get("folds")
    if folds is None:
        page = _page(folder, metrics, [(folder, "")])
        page.add(*_score_sections(metrics, read_predictions(folder)))
        page.add(*_closed_loop_table([metrics]))
    else:
        places = {_metrics(place)["split"]: place for place in sorted(folder.glob("fold_*"))}
        page = _page(folder, metrics, [(places[name], name) for name in folds])
        page.add(_folds_section(metrics))
        page.add(*_closed_loop_table(list(folds.values())))
        for name, fold in folds.items():
            recordings = read_predictions(places[name])
            content = [part for s in _score_sections(fold, recordings, name) for part in _parts(s)]
            page.add(reports.Section(f"Held out: {name}", content=content, collapsed=True))
    page.add(_curves_section(folder, folds, metrics))
    page.add(*_check_sections(folder))
    page.add(_reading_section(list((folds or {"": metrics}).values())))
    configuration = folder / "config.yaml"
    if configuration.is_file():
        content = [reports.Code(configuration.read_text(), "config.yaml", "yaml")]
        page.add(reports.Section("Configuration", content=content, collapsed=True))
    return page


def read_predictions(folder: Path) -> list[PredictedRecording]:
    """The predictions of a run, one per recording.

    Raises:
        RunDirectoryError: a file is damaged.
    """
    found = []
    for path in sorted((folder / "predictions").glob("*/*.csv")):
        try:
            head, *rows = unmarked(path.read_text()).splitlines()
            names = head.strip().split(",")
            table = np.loadtxt(rows, delimiter=",", ndmin=2)
            columns = dict(zip(names, table.T, strict=True))
            estimates = {
                name.removesuffix(_SUFFIX): values
                for name, values in columns.items()
                if name not in ("time_s", "torque_nm", "predicted_nm")
            }
            estimates["network"] = columns["predicted_nm"]
            times, torque = columns["time_s"], columns["torque_nm"]
        except (ValueError, KeyError, OSError) as error:
            raise RunDirectoryError(f"{path} is not a file of predictions: {error!r}") from error
        found.append(PredictedRecording(path.stem, path.parent.name, times, torque, estimates))
    return found


def _page(
    folder: Path, metrics: Mapping[str, Any], places: Sequence[tuple[Path, str]]
) -> reports.Page:
    from trueup.networks.model.network_file import read_network

    network = read_network(places[0][0] / "network.safetensors")
    figures = _fold_figures(metrics) if "folds" in metrics else score_figures(metrics)
    lead = [figures, *_notes(_start_notes(metrics))]
    title = f"Learned actuator {folder.name}"
    page = reports.Page(title, _description(network), _shown_provenance(network), lead)
    verdict = metrics.get("verdict") or training_verdict(metrics).to_dict()
    return page.add(reports.verdict_section(verdict, steps=_steps(verdict, folder)))


def _steps(verdict: Mapping[str, Any], folder: Path) -> list[reports.Step]:
    """Steps after a training, by its verdict, with the commands."""
    run = shlex.quote(str(folder))
    if verdict["grade"] == "use":
        export = f"trueup network export {run} --form isaac-lab --output network.pt"
        return [
            reports.Step("Write the network for a simulator (or --form mjlab, newton):", export)
        ]
    score = f"trueup network evaluate {run} --data RECORDINGS"
    return [reports.Step("Score it on recordings that the training has not seen:", score)]


def _start_notes(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Note on the error at the start of the recordings of a split."""
    note = "" if "folds" in metrics else start_note(metrics)
    return [("info", note)] if note else []


def _notes(notes: Sequence[tuple[str, str]]) -> list[reports.Findings]:
    return [reports.Findings(list(notes))] if notes else []


def _score_sections(
    metrics: Mapping[str, Any], recordings: Sequence[PredictedRecording], name: str = ""
) -> list[reports.Section]:
    tables: list[Any] = [*([] if name else held_out_table(metrics)), *recordings_tables(metrics)]
    if len(metrics["groups"]) > 1:
        tables.append(groups_table(metrics))
    if "ensemble" in metrics:
        tables.append(reports.Text(_ensemble_words(metrics["ensemble"])))
    sections = [reports.Section("Scores", "" if name else "scores", content=tables)]
    if recordings:
        sections.append(time_series_section(recordings[:_SHOWN_RECORDINGS], len(recordings)))
        sections.append(replace(scatter_section(recordings), collapsed=True))
    bands = bands_section(metrics)
    return [*sections, *([] if bands is None else [replace(bands, collapsed=True)])]


def _parts(section: reports.Section) -> list[Any]:
    """The content of a section with its heading, for use within another section."""
    content: Any = section.content
    parts = list(content) if isinstance(content, list | tuple) else [content]
    return [reports.Group(section.title, parts)]


def _folds_section(metrics: Mapping[str, Any]) -> reports.Section:
    columns = [
        reports.Column("held out"),
        reports.Column("RMSE", "N m", digits=4),
        reports.Column("settled RMSE", "N m", digits=4),
        reports.Column("R2", digits=4),
        reports.Column("MAE", "N m", digits=4),
    ]
    own, linear_rows = [], []
    for name, fold in metrics["folds"].items():
        linear, settled = (fold[key]["linear"] for key in ("others", "others_settled"))
        own.append([name, fold["rmse"], fold["settled"]["rmse"], fold["r2"], fold["mae"]])
        linear_rows.append([name, linear["rmse"], settled["rmse"], linear["r2"]])
    for rows in (own, linear_rows):
        values = np.array([[float(cell) for cell in row[1:]] for row in rows])
        rows.append(["mean", *values.mean(axis=0).tolist()])
        rows.append(["spread", *values.std(axis=0, ddof=1).tolist()])
    notes = "Spread: standard deviation over the groups held out."
    return reports.Section(
        "Each group held out",
        "folds",
        "Each group is tested once, by the finished network; epoch and history are chosen on a "
        "validation part of the other groups.",
        [
            reports.Table(columns, own, notes=notes),
            reports.Table(columns[:4], linear_rows, "The linear model"),
        ],
    )


def _fold_figures(metrics: Mapping[str, Any]) -> reports.KeyFigures:
    spread = f"spread over the groups {metrics['rmse_std']:.2g}"
    folds = list(metrics["folds"].values())
    settled = float(np.mean([fold["settled"]["rmse"] for fold in folds]))
    linear = float(np.mean([fold["others_settled"]["linear"]["rmse"] for fold in folds]))
    return reports.KeyFigures(
        [
            reports.KeyFigure(metrics["rmse"], "RMSE, mean over the groups", "N m", spread),
            reports.KeyFigure(metrics["r2"], "R2", "", f"spread {metrics['r2_std']:.2g}"),
            reports.KeyFigure(settled, "settled RMSE", "N m", "after 0.5 s"),
            reports.KeyFigure(linear, "settled RMSE of the linear", "N m", "after 0.5 s"),
        ]
    )


def _curves_section(
    folder: Path, folds: Mapping[str, Any] | None, metrics: Mapping[str, Any]
) -> reports.Section:
    """Loss and validation error over the epochs, of each fold and member."""
    error, loss = [], []
    for path in sorted(folder.rglob("history.jsonl")):
        place = path.parent.relative_to(folder).as_posix()
        name = "" if place == "." else f" {place}"
        entries = read_history(path)
        for key, label, curves in (
            ("val_rmse_epoch", "validation", error),
            ("train_loss", "loss", loss),
        ):
            known = [(e["epoch"], e[key]) for e in entries if e.get(key) is not None]
            if known:
                epochs, values = np.array(known, dtype=float).T
                curves.append(reports.Trace(f"{label}{name}", epochs, values))
    figures = [
        reports.line_figure(
            curves, x_label="epoch", y_label=label, y_unit=unit, log_y=True, title=title
        )
        for curves, label, unit, title in (
            (error, "RMSE", "N m", "Error on whole validation recordings, from a cold start"),
            (loss, "loss", "", "Loss while training, normalised"),
        )
        if curves
    ]
    content: list[Any] = list(figures) or [reports.Text("No history of epochs was kept.")]
    seconds = [m["training_seconds"] for m in (folds or {"": metrics}).values()]
    content.append(reports.Text(f"Total training time: {sum(seconds):.0f} s."))
    return reports.Section("Training", "training", content=content, collapsed=True)


def _reading_section(scored: Sequence[Mapping[str, Any]]) -> reports.Section:
    """Processing of the samples before training."""
    files = [file for metrics in scored for file in metrics["files"]]
    notes = dict.fromkeys(note for file in files for note in file["notes"])
    lines: list[Any] = [reports.Text(f"{note[0].upper()}{note[1:]}.") for note in notes]
    if not lines:
        lines = [reports.Text("The samples were used without processing.")]
    return reports.Section("Processing of the recordings", "reading", content=lines, collapsed=True)


def _check_sections(folder: Path) -> list[reports.Section]:
    """Findings of the checks before training; empty in runs without them."""
    path = folder / "data_check.json"
    if not path.is_file():
        return []
    check = atomic.read_json(path)
    found = [(f["severity"], f["sentence"]) for f in check["findings"] if f["check"] != "reading"]
    for file in check["files"]:
        found += [(f["severity"], f"{file['name']}: {f['sentence']}") for f in file["findings"]]
    listed = reports.Findings([(_SEVERITY[severity], sentence) for severity, sentence in found])
    return [
        reports.Section(
            "Findings of the checks",
            "checks",
            "Checks of the raw recordings before training.",
            [listed],
        )
    ]


def _closed_loop_section(
    series: Sequence[ActuatorSeries], rollouts: Sequence["RollOut"]
) -> reports.Section:
    from trueup.networks.data.features import ANGLE

    panels = [
        reports.Panel(
            each.name,
            "rad",
            [
                reports.Trace("measured", each.times, each.channels[ANGLE], "measured"),
                reports.Trace("network in closed loop", each.times, motion.angle, "fitted"),
            ],
            subtitle=f"RMSE {reports.format_number(motion.scores.rmse)} rad",
            quantity="angle",
        )
        for each, motion in list(zip(series, rollouts, strict=True))[:_SHOWN_RECORDINGS]
    ]
    return reports.Section(
        "Closed loop",
        "closed-loop",
        "The network drives a simulated joint with the recorded commands: errors feed back.",
        [reports.time_series_figure([panel]) for panel in panels],
    )


def _closed_loop_table(scored: Sequence[Mapping[str, Any]]) -> list[reports.Section]:
    """Errors of the angle in closed loop; empty where the network did not drive the joint."""
    motions = [motion for metrics in scored for motion in metrics.get("closed_loop", ())]
    if not motions:
        return []
    with_group = names_groups(motions)
    columns = [
        reports.Column("recording"),
        *([reports.Column("group")] if with_group else []),
        reports.Column("angle RMSE", "rad", digits=4),
        reports.Column("angle R2", digits=4),
        reports.Column("torque RMSE", "N m", digits=4),
        reports.Column("diverged"),
    ]
    rows: list[list[Any]] = [
        [
            each["name"],
            *([each["group"]] if with_group else []),
            each["angle_rmse"],
            each["angle_r2"],
            each["torque_rmse"],
            "yes" if each["diverged"] else "no",
        ]
        for each in motions
    ]
    return [
        reports.Section(
            "Closed loop",
            "closed-loop",
            "The network drives a simulated joint with the recorded commands: errors feed back.",
            [reports.Table(columns, rows)],
        )
    ]


def _metrics(folder: Path) -> dict[str, Any]:
    path = folder / "metrics.json"
    if not path.is_file():
        raise RunDirectoryError(
            f"{folder} has no metrics.json: the training is not finished. Resume it with:  "
            f"trueup network train --resume --output {folder}"
        )
    return atomic.read_json(path)


def _description(network: Network) -> str:
    size = f"{network.layers} x {network.hidden}" if network.hidden else ""
    history = f"history of {network.history} samples" if network.history > 1 else ""
    base = "over an analytic base" if network.base is not None else ""
    weights = f"{sum(w.size for w in network.weights.values()):,} weights"
    parts = [f"{network.family} {size}".strip(), history, base, weights, f"{network.rate:g} Hz"]
    parts.append(f"features {', '.join(network.features)}")
    return "; ".join(part for part in parts if part)


def _shown_provenance(network: Network) -> dict[str, Any]:
    return {k: v for k, v in network.provenance.items() if k not in _NOT_SHOWN}


def _ensemble_words(ensemble: Mapping[str, Any]) -> str:
    spread = ensemble["spread"]
    return (
        f"The mean of the ensemble has an RMSE of {ensemble['rmse']:.4g} N m; the RMS spread of "
        f"its members is {spread['rms']:.3g} N m;  {100 * spread['out_of_range']:.1f} % of the "
        "samples lie outside the range of training."
    )


def _reference(series: ActuatorSeries) -> dict[str, np.ndarray]:
    return {} if series.reference_torque is None else {"reference": series.reference_torque}
