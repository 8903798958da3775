"""PNG files of logs with simulated motions."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.actuators.assess.model_errors import ModelErrors
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.report.overlay_figures import motions_of
from trueup.actuators.report.png_files import new_figure, numbered_paths, save_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOGS_PER_IMAGE = 4
"""Number of logs per file."""

_ROWS = ("position [rad]", "error [rad]", "speed [rad/s]", "duty", "torque [N m]")
_HEIGHTS = (3.0, 1.4, 1.6, 1.4, 1.4)
_MARGINS = (0.85, 0.15, 0.55, 0.95)  # left, right, bottom, top [inches]


def overlay_images(
    logs: Sequence[ServoLog], errors: Sequence[ModelErrors], path: str | os.PathLike[str]
) -> list[Path]:
    """Draw logs with the motions of models into PNG files, four logs per file.

    Args:
        logs: logs, in the order of drawing.
        errors: motions and errors of the models on these logs; may be empty.
        path: PNG file; a second one is named ``<name>-2.png``.

    Returns:
        The paths of the files.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ReportError: a file cannot be written.
    """
    rows = _rows(logs, bool(errors))
    paths = numbered_paths(path, -(-len(logs) // LOGS_PER_IMAGE))
    for page, file in enumerate(paths):
        numbers = list(range(len(logs)))[page * LOGS_PER_IMAGE : (page + 1) * LOGS_PER_IMAGE]
        size = (4.6 * len(numbers) + 0.8, 1.3 * sum(_HEIGHTS[r] for r in rows) + 1.2)
        figure = new_figure(size, tight=False)
        axes: Any = figure.subplots(
            len(rows),
            len(numbers),
            sharex="col",
            squeeze=False,
            height_ratios=[_HEIGHTS[r] for r in rows],
        )
        width, height = size
        figure.subplots_adjust(
            left=_MARGINS[0] / width,
            right=1.0 - _MARGINS[1] / width,
            bottom=_MARGINS[2] / height,
            top=1.0 - _MARGINS[3] / height,
            wspace=0.22,
            hspace=0.12,
        )
        for column, number in enumerate(numbers):
            _draw_log(axes[:, column], rows, logs[number], errors, number)
        for line, r in enumerate(rows):
            axes[line, 0].set_ylabel(_ROWS[r])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=min(len(labels), 8))
        save_png(figure, file)
    return paths


def _rows(logs: Sequence[ServoLog], has_models: bool) -> list[int]:
    rows = [0, 2]
    if has_models:
        rows += [1, 4]
    if has_models or any(log.load is not None for log in logs):
        rows.append(3)
    return sorted(rows)


def _draw_log(
    axes: "Sequence[Axes]",
    rows: Sequence[int],
    log: ServoLog,
    errors: Sequence[ModelErrors],
    number: int,
) -> None:
    by_row = dict(zip(rows, axes, strict=True))
    measured = {"color": "0.6", "linewidth": 2.6, "label": "measured"}
    by_row[0].plot(log.times, log.position, **measured)
    goal = np.where(log.torque_enable, log.goal_position, np.nan)
    by_row[0].step(log.times, goal, ":", where="post", color="0.25", linewidth=1.0, label="goal")
    by_row[2].plot(log.times, log.speed, **measured)
    if log.load is not None and 3 in by_row:
        by_row[3].plot(log.times, log.load, **measured)
    for place, (label, motion) in enumerate(motions_of(errors, number).items()):
        look = {"color": f"C{place}", "linewidth": 1.1}
        by_row[0].plot(log.times, motion["position"], label=label, **look)
        by_row[1].plot(log.times, motion["position"] - log.position, **look)
        by_row[2].plot(log.times, motion["speed"], **look)
        by_row[3].plot(log.times, motion["duty"], **look)
        by_row[4].plot(log.times, motion["torque"], **look)
    if 1 in by_row:
        by_row[1].axhline(0.0, color="0.7", linewidth=0.8)
    score = "".join(f"  {m.label} {m.mae[number] * 1e3:.1f}" for m in errors[:4])
    by_row[0].set_title(log.name + (f"\n{score.strip()} mrad" if score else ""), fontsize=9)
    axes[-1].set_xlabel("time [s]")
