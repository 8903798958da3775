"""Videos of walks."""

from pathlib import Path

import mujoco
import numpy as np

from trueup.gait.models.walker import Walker
from trueup.gait.report.annotations import Annotations
from trueup.gait.report.film import check_film, lit, rows_of_frames, write_film
from trueup.gait.walk.series import WalkSeries

BELOW_HIPS = 0.1
"""Distance of the target of the camera below the hips [m]."""


def write_walk_video(
    path: str | Path,
    walker: Walker,
    series: WalkSeries,
    *,
    framerate: int = 30,
    pace: float = 1.0,
    width: int = 800,
    height: int = 450,
    distance: float = 2.8,
) -> Path:
    """Write a video of a walk from its right side, atomically.

    The right leg is blue and the left one orange, muscles are red in proportion to activation, and
    green arrows show the force of the ground on each foot, 0.6 m per body weight.

    Args:
      path: output MP4 file, replaced if it exists.
      walker: the walker.
      series: the walk.
      framerate: frame rate of the video [Hz].
      pace: seconds of the walk per second of the video; below 1 is slow motion.
      width: width [pixel]; rounded down to an even number.
      height: height [pixel]; likewise.
      distance: distance of the camera [m].

    Raises:
      GaitError: another suffix than .mp4, or a number that is not above 0.
      MissingExtraError: the packages for videos are not installed.
      ReportError: neither EGL nor OSMesa is available for rendering.
    """
    path = Path(path)
    check_film(path, width, height, framerate=framerate, pace=pace, distance=distance)
    from trueup.simulation.models.rendering import render_states

    rows = rows_of_frames(series.time, framerate / pace)
    lookat = _smooth(series.places[rows, :, 0].mean(axis=1), framerate / pace)
    model = lit(walker.model)
    marks = Annotations(walker, model, series, rows, lookat)
    frames = render_states(
        model,
        _full_physics(walker.model, series.states[rows]),
        lookat,
        distance=distance,
        width=width - width % 2,
        height=height - height % 2,
        prepare=marks.prepare,
        decorate=marks.decorate,
    )
    return write_film(path, frames, framerate)


def _smooth(places: np.ndarray, frames: float) -> np.ndarray:
    """Targets of the camera ``(frames, 3)`` [m]: the hips, with height averaged over a second."""
    window = np.ones(max(1, min(round(frames), len(places))))
    count = np.convolve(np.ones(len(places)), window, "same")
    smooth = places.copy()
    smooth[:, 2] = np.convolve(places[:, 2], window, "same") / count - BELOW_HIPS
    return smooth


def _full_physics(model: mujoco.MjModel, states: np.ndarray) -> np.ndarray:
    """States for rendering, from the recorded ones."""
    data = mujoco.MjData(model)
    kept, drawn = mujoco.mjtState.mjSTATE_INTEGRATION, mujoco.mjtState.mjSTATE_FULLPHYSICS
    found = np.zeros((len(states), mujoco.mj_stateSize(model, drawn)))
    for state, row in zip(states, found, strict=True):
        mujoco.mj_setState(model, data, state, kept)
        mujoco.mj_getState(model, data, row, drawn)
    return found
