"""The report of a training through the simulator."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup._marks import unmarked
from trueup.errors import RunDirectoryError
from trueup.networks.motion.base import KINDS, MotionBase
from trueup.runs.store import atomic

ANGLES = "angles"
"""Folder of the motions of the held-out logs, one CSV file per log."""

_SHOWN = 24
_KINDS = {"recorded_rad": "measured", "base_rad": "initial", "corrected_rad": "fitted"}


def motion_report(folder: Path) -> reports.Page:
    """The report of a finished training, from the files of its run directory.

    Raises:
        RunDirectoryError: the run is not finished, or one of its files is damaged.
    """
    file = folder / "metrics.json"
    if not file.is_file():
        raise RunDirectoryError(
            f"{folder} has no metrics.json: the training is not finished. Resume it with:  "
            f"trueup study resume {folder}"
        )
    metrics = atomic.read_json(file)
    try:
        return _page(folder, metrics)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(f"{file} is damaged: {error!r}") from error


def _page(folder: Path, metrics: dict[str, Any]) -> reports.Page:
    test, settings = metrics["test"], metrics["settings"]
    base, own = (1e3 * float(np.mean([each[name] for each in test.values()]))
                 for name in ("base", "corrected"))  # fmt: skip
    words = metrics["base_words"]
    part = "test" if metrics["logs"]["test"] else "validation"
    subtitle = (
        f"{settings['family']} of width {settings['hidden']} over the {words}, trained on the "
        f"motion of {len(metrics['logs']['training'])} logs"
    )
    shown = [reports.KeyFigure(base, f"angle error, {words}", "mrad", f"{part} logs, mean")]
    if metrics["corrected"]:
        corrected = reports.KeyFigure(own, "angle error, corrected", "mrad", f"{part} logs, mean")
        shown.insert(0, corrected)
    shown.append(reports.KeyFigure(metrics["steps"], "gradient steps", "", ""))
    figures = reports.KeyFigures(shown)
    page = reports.Page(f"Motion of {metrics['name']}", subtitle, {}, [figures])
    page.add(reports.verdict_section(metrics["verdict"]))
    compared = [("base", words), *([("corrected", "corrected")] if metrics["corrected"] else [])]
    page.add(reports.Section("Scores", "scores", content=[_scores(test, compared, part)]))
    if any(each["horizons"] for each in test.values()):
        page.add(_horizons(test, compared, part))
    if panels := _motions(folder, compared):
        page.add(
            reports.Section(
                "Motion",
                "motion",
                f"Angle of the {part} logs: recorded, and simulated with the recorded commands.",
                [reports.time_series_figure([panel]) for panel in panels],
            )
        )
    page.add(_curves(metrics))
    if metrics["base"]["kind"] in KINDS:
        page.add(_base(MotionBase.from_dict(metrics["base"])))
    listed = [[name, str(value)] for name, value in settings.items()]
    table = reports.Table([reports.Column("setting"), reports.Column("value")], listed)
    page.add(reports.Section("Settings", content=[table], collapsed=True))
    return page


def _scores(test: dict[str, Any], compared: list[tuple[str, str]], part: str) -> reports.Table:
    """Angle error of each log, and torque error where the torque was recorded.

    Args:
        test: scores of each log.
        compared: keys of what was simulated, the base and its correction, with their words.
        part: part of the logs.
    """
    columns = [reports.Column("log")]
    columns += [reports.Column(words, "mrad", digits=4) for _, words in compared]
    rows = [[name, *(1e3 * e[key] for key, _ in compared)] for name, e in test.items()]
    note = f"RMS angle error of whole {part} logs, simulated from their first sample."
    if all("base_torque" in each for each in test.values()):
        columns += [reports.Column(f"torque, {words}", "N m", digits=3) for _, words in compared]
        for row, each in zip(rows, test.values(), strict=True):
            row += [each[f"{key}_torque"] for key, _ in compared]
        note += " Torque: RMS error of the torque on the load over the simulated motion."
    return reports.Table(columns, rows, notes=note)


def _horizons(test: dict[str, Any], compared: list[tuple[str, str]], part: str) -> reports.Section:
    """Angle error of each log by the time after the last recorded state; see :func:`_scores`."""
    times = sorted({row["horizon"] for each in test.values() for row in each["horizons"]})
    columns = [reports.Column("log")]
    columns += [
        reports.Column(words, "mrad", digits=3, group=f"{time:g} s")
        for time in times
        for _, words in compared
    ]
    rows: list[list[object]] = []
    for name, each in test.items():
        by = {row["horizon"]: row for row in each["horizons"]}
        rows.append(
            [name, *(1e3 * by[t][key] if t in by else None for t in times for key, _ in compared)]
        )
    note = (
        f"RMS angle error of {part} logs at this time after the last recorded state, to which the "
        "simulation returns after each such time."
    )
    table = reports.Table(columns, rows, notes=note)
    return reports.Section("Errors by horizon", "horizons", content=[table])


def _base(base: MotionBase) -> reports.Section:
    """Parameters of the base, and the firmware factors of the gains."""
    columns = [reports.Column("number"), reports.Column("value", digits=4), reports.Column("unit")]
    table = reports.Table(columns, base.numbers())
    return reports.Section("Base", content=[table], collapsed=True)


def _motions(folder: Path, compared: list[tuple[str, str]]) -> list[reports.Panel]:
    labels = {"recorded_rad": "recorded"} | {f"{key}_rad": words for key, words in compared}
    panels = []
    for file in sorted((folder / ANGLES).glob("*.csv"))[:_SHOWN]:
        head, *lines = unmarked(file.read_text()).splitlines()
        rows = np.loadtxt(lines, delimiter=",", ndmin=2)
        found = dict(zip(head.split(","), rows.T, strict=True))
        traces = [reports.Trace(labels[name], found["time_s"], found[name], kind)
                  for name, kind in _KINDS.items() if name in labels]  # fmt: skip
        panels.append(reports.Panel(file.stem, "rad", traces, quantity="angle"))
    return panels


def _curves(metrics: dict[str, Any]) -> reports.Section:
    """Angle error of validation and training logs over the gradient steps."""
    history = metrics["history"]
    steps = np.array([entry["steps"] for entry in history], dtype=float)
    traces = [
        reports.Trace(label, steps, np.array([1e3 * entry[key] for entry in history]))
        for key, label in (("error", "validation"), ("training_error", "training"))
    ]
    content: list[Any] = [reports.Text(f"Training time: {metrics['seconds']:.0f} s.")]
    if history:
        title = "Angle error of whole logs"
        content.insert(0, reports.line_figure(traces, x_label="gradient step",
                       y_label="angle error", y_unit="mrad", log_y=True, title=title))  # fmt: skip
    return reports.Section("Training", "training", content=content)
