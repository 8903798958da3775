"""Report of a motion on a model."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trueup import reports
from trueup.gait.models.coordinates import Coordinates
from trueup.gait.replay.motion_file import Motion
from trueup.gait.replay.skeleton_lines import skeleton_lines

_DRAWN = 300
"""Largest number of instants in figures."""

_STEPS = 60
"""Largest number of instants of the stick figure."""


def replay_page(
    model: mujoco.MjModel,
    motion: Motion,
    coordinates: Coordinates,
    positions: np.ndarray,
    lengths: Mapping[str, np.ndarray],
    arms: Mapping[str, Mapping[str, np.ndarray]],
    notes: Sequence[str],
    video: bytes | None,
) -> reports.Page:
    """Page of a replay.

    Args:
      model: model.
      motion: motion.
      coordinates: coordinates of the model.
      positions: positions of the joints ``(n, nq)``.
      lengths: muscle -> length ``(n,)`` [m].
      arms: muscle -> coordinate -> moment arm ``(n,)`` [m; 1 for a distance].
      notes: sentences on the motion.
      video: content of an MP4 file.
    """
    duration = float(motion.times[-1] - motion.times[0])
    page = reports.Page(
        f"{motion.path.name} on the model",
        f"{reports.counted(len(motion.times), 'instant')} over {duration:.4g} s, "
        f"{reports.counted(len(motion.coordinates), 'coordinate')}, "
        f"{reports.counted(len(lengths), 'muscle')}",
    )
    beyond = " beyond its range "
    page.add(
        reports.Findings(
            [reports.Finding("warning" if beyond in one else "info", f"{one}.") for one in notes]
        )
    )
    if video is not None:
        page.add(reports.Section("Video", content=[reports.Video(video, width=960)]))
    page.add(_motion(model, motion, coordinates, positions))
    if lengths:
        page.add(_extremes(lengths, arms, coordinates))
    for name, length in lengths.items():
        page.add(_muscle(name, motion.times, length, arms[name], coordinates))
    return page


def _thinned(count: int, most: int) -> np.ndarray:
    """Evenly spaced indices of at most so many rows."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _motion(
    model: mujoco.MjModel, motion: Motion, coordinates: Coordinates, positions: np.ndarray
) -> reports.Section:
    rows = _thinned(len(motion.times), _STEPS)
    points, lines = skeleton_lines(model, positions[rows])
    content: list[reports.Content] = []
    if len(lines):
        figure = reports.StickFigure("model", "fitted", points)
        words = "Lines between the origins of the bodies."
        content.append(reports.Replay(motion.times[rows], lines, [figure], caption=words))
    rows = _thinned(len(motion.times), _DRAWN)
    panels = []
    for name, values in motion.coordinates.items():
        turns = name in coordinates.angles
        shown = np.rad2deg(values[rows]) if turns else values[rows]
        trace = reports.Trace("motion", motion.times[rows], shown, "measured")
        panels.append(reports.Panel(name, "deg" if turns else "m", [trace]))
    content.append(reports.time_series_figure(panels, columns=2, height=130, caption=""))
    return reports.Section("Motion", "motion", content=content)


def _extremes(
    lengths: Mapping[str, np.ndarray],
    arms: Mapping[str, Mapping[str, np.ndarray]],
    coordinates: Coordinates,
) -> reports.Section:
    columns: list[reports.Column | str] = [
        "muscle",
        reports.Column("shortest", "mm", digits=4, align="right"),
        reports.Column("longest", "mm", digits=4, align="right"),
        "moment arms [mm]",
    ]
    rows = []
    for name, length in lengths.items():
        about = [
            f"{one} {factor * arm.min():.3g} to {factor * arm.max():.3g}"
            for one, arm in arms[name].items()
            for factor in ((1e3,) if one in coordinates.angles else (1.0,))
        ]
        rows.append([name, 1e3 * length.min(), 1e3 * length.max(), "; ".join(about) or "none"])
    said = (
        "Lengths of muscle with tendon, and moment arms, smallest to largest over the motion. A "
        "moment arm is positive where the muscle increases the coordinate. Moment arms about "
        "distances have no unit."
    )
    return reports.Section("Muscles", "muscles", said, [reports.Table(columns, rows)])


def _muscle(
    name: str,
    times: np.ndarray,
    length: np.ndarray,
    arms: Mapping[str, np.ndarray],
    coordinates: Coordinates,
) -> reports.Section:
    rows = _thinned(len(times), _DRAWN)
    lines = [reports.Trace("length", times[rows], 1e3 * length[rows], "measured")]
    panels = [reports.Panel("length", "mm", lines)]
    turning = [
        reports.Trace(about, times[rows], 1e3 * arm[rows])
        for about, arm in arms.items()
        if about in coordinates.angles
    ]
    if turning:
        panels.append(reports.Panel("moment arms", "mm", turning))
    figure = reports.time_series_figure(panels, columns=2, height=170, caption="")
    return reports.Section(name, "", "", [figure], collapsed=True)
