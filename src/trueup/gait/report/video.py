"""Videos of walks."""

import copy
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from trueup._writing import write_bytes
from trueup.errors import GaitError, MissingExtraError
from trueup.gait.models.walker import Walker
from trueup.gait.report.annotations import Annotations
from trueup.gait.walk.series import WalkSeries

BELOW_HIPS = 0.1
"""Distance of the target of the camera below the hips [m]."""

_LARGEST = 1000.0
"""Largest frame rate [Hz], pace and distance [m] of a video."""
SHADOW_SIZE = 1024
"""Resolution of shadows; a larger one dominates the time of software rendering."""


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
    if path.suffix.lower() != ".mp4":
        raise GaitError(f"videos are written as MP4; expected the suffix .mp4, found {path.name!r}")
    numbers = {"framerate": framerate, "pace": pace, "distance": distance}
    wrong = [name for name, value in numbers.items() if not 0 < value <= _LARGEST]
    if wrong or min(width, height) < 16:
        raise GaitError(
            "a video requires a frame rate, a pace and a distance above 0 and up to "
            f"{_LARGEST:g}, and at least 16 pixels; found {numbers}, {width} x {height}"
        )
    try:
        import imageio.v2 as imageio
        import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("a video", "video", "imageio[ffmpeg]") from error
    from trueup.simulation.models.rendering import render_states

    rows = _rows(series, framerate, pace)
    lookat = _smooth(series.places[rows, :, 0].mean(axis=1), framerate / pace)
    model = _lit(walker.model)
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
    first = next(frames)  # fails before any file is written if rendering is not possible
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder:
        whole = Path(folder) / path.name
        with imageio.get_writer(whole, fps=framerate, quality=7, macro_block_size=2) as writer:
            writer.append_data(first)  # pyright: ignore[reportAttributeAccessIssue]
            for frame in frames:
                writer.append_data(frame)  # pyright: ignore[reportAttributeAccessIssue]
        write_bytes(path, whole.read_bytes())
    return path


def _rows(series: WalkSeries, framerate: int, pace: float) -> np.ndarray:
    """Indices of the frames of the walk in the video."""
    times = np.arange(series.time[0], series.time[-1] + 1e-9, pace / framerate)
    return np.clip(np.searchsorted(series.time, times - 1e-9), 0, len(series.time) - 1)


def _smooth(places: np.ndarray, frames: float) -> np.ndarray:
    """Targets of the camera ``(frames, 3)`` [m]: the hips, with height averaged over a second."""
    window = np.ones(max(1, min(round(frames), len(places))))
    count = np.convolve(np.ones(len(places)), window, "same")
    smooth = places.copy()
    smooth[:, 2] = np.convolve(places[:, 2], window, "same") / count - BELOW_HIPS
    return smooth


def _lit(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model with low-resolution shadows, and with lights if it has none."""
    model = copy.copy(model)
    model.vis.quality.shadowsize = min(model.vis.quality.shadowsize, SHADOW_SIZE)
    if not model.ntex:
        model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.45, 0.6
    return model


def _full_physics(model: mujoco.MjModel, states: np.ndarray) -> np.ndarray:
    """States for rendering, from the recorded ones."""
    data = mujoco.MjData(model)
    kept, drawn = mujoco.mjtState.mjSTATE_INTEGRATION, mujoco.mjtState.mjSTATE_FULLPHYSICS
    found = np.zeros((len(states), mujoco.mj_stateSize(model, drawn)))
    for state, row in zip(states, found, strict=True):
        mujoco.mj_setState(model, data, state, kept)
        mujoco.mj_getState(model, data, row, drawn)
    return found
