"""The report of a training through the simulator."""

from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup.errors import RunDirectoryError
from trueup.studies import atomic

ANGLES = "angles"
"""Folder of the motions of the held-out logs, one CSV file a log."""

_SHOWN = 24
_NAMES = {"recorded_rad": ("recorded", "measured"), "servo_model_rad": ("servo model", "initial"),
          "corrected_rad": ("corrected", "fitted")}  # fmt: skip


def motion_report(folder: Path) -> reports.Page:
    """The report of a finished training, from the files of its run directory.

    Raises:
        RunDirectoryError: the run is not finished, or a file of it is damaged.
    """
    file = folder / "metrics.json"
    if not file.is_file():
        raise RunDirectoryError(
            f"{folder} holds no metrics.json: the training is not finished. Go on with it by  "
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
    part = "test" if metrics["logs"]["test"] else "validation"
    subtitle = (
        f"{settings['family']} of width {settings['hidden']} over a servo model, trained by the "
        f"motion of {len(metrics['logs']['training'])} logs"
    )
    figures = reports.KeyFigures(
        [
            reports.KeyFigure(own, "angle error, corrected", "mrad", f"{part} logs, mean"),
            reports.KeyFigure(base, "angle error, servo model", "mrad", f"{part} logs, mean"),
            reports.KeyFigure(metrics["steps"], "gradient steps", "", ""),
        ]
    )
    page = reports.Page(f"Motion of {metrics['name']}", subtitle, {}, [figures])
    page.add(reports.verdict_section(metrics["verdict"]))
    columns = [
        reports.Column("log"),
        reports.Column("servo model", "mrad", digits=4),
        reports.Column("corrected", "mrad", digits=4),
    ]
    rows = [[name, 1e3 * e["base"], 1e3 * e["corrected"]] for name, e in test.items()]
    note = f"RMS angle error of whole {part} logs, rolled out from their first sample."
    page.add(
        reports.Section("Scores", "scores", content=[reports.Table(columns, rows, notes=note)])
    )
    if panels := _motions(folder):
        page.add(
            reports.Section(
                "Motion",
                "motion",
                f"Angle of the {part} logs: recorded, and simulated along the recorded commands.",
                [reports.time_series_figure([panel]) for panel in panels],
            )
        )
    page.add(_curves(metrics))
    listed = [[name, str(value)] for name, value in settings.items()]
    table = reports.Table([reports.Column("setting"), reports.Column("value")], listed)
    page.add(reports.Section("Settings", content=[table], collapsed=True))
    return page


def _motions(folder: Path) -> list[reports.Panel]:
    panels = []
    for file in sorted((folder / ANGLES).glob("*.csv"))[:_SHOWN]:
        names = file.read_text().partition("\n")[0].split(",")
        rows = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
        found = dict(zip(names, rows.T, strict=True))
        traces = [reports.Trace(label, found["time_s"], found[name], kind)
                  for name, (label, kind) in _NAMES.items()]  # fmt: skip
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
    content: list[Any] = [reports.Text(f"Training took {metrics['seconds']:.0f} s.")]
    if history:
        title = "Angle error of whole logs"
        content.insert(0, reports.line_figure(traces, x_label="gradient step",
                       y_label="angle error", y_unit="mrad", log_y=True, title=title))  # fmt: skip
    return reports.Section("Training", "training", content=content)
