"""MP4 files of rendered frames."""

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

from trueup._writing import write_bytes
from trueup.errors import GaitError, MissingExtraError

_LARGEST = 1000.0
"""Largest frame rate [Hz], pace and distance [m] of a video."""

_SHADOW_SIZE = 1024
"""Resolution of shadows; a larger one dominates the time of software rendering."""


def check_film(path: Path, width: int, height: int, **numbers: float) -> None:
    """Check the file and the numbers of a film, and that it can be encoded here.

    Raises:
      GaitError: another suffix than .mp4, or a number that is not above 0.
      MissingExtraError: the packages for videos are not installed.
    """
    if path.suffix.lower() != ".mp4":
        raise GaitError(f"videos are written as MP4; expected the suffix .mp4, found {path.name!r}")
    wrong = [name for name, value in numbers.items() if not 0 < value <= _LARGEST]
    if wrong or min(width, height) < 16:
        words = ["a frame rate", "a pace", "a distance"][: len(numbers)]
        raise GaitError(
            f"a video requires {', '.join(words[:-1])} and {words[-1]} above 0 and up to "
            f"{_LARGEST:g}, and at least 16 pixels; found {numbers}, {width} x {height}"
        )
    try:
        import imageio.v2  # noqa: F401
        import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("a video", "video", "imageio[ffmpeg]") from error


def write_film(path: Path, frames: Iterator[np.ndarray], framerate: int) -> Path:
    """Write frames as an MP4 file, atomically; returns its path.

    Args:
      path: output file, replaced if it exists.
      frames: RGB frames ``(height, width, 3)`` uint8.
      framerate: frame rate [Hz].
    """
    import imageio.v2 as imageio

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


def lit(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of the model with low-resolution shadows, and with lights if it has none."""
    model = copy.copy(model)
    model.vis.quality.shadowsize = min(model.vis.quality.shadowsize, _SHADOW_SIZE)
    if not model.ntex:
        model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.45, 0.6
    return model


def rows_of_frames(times: np.ndarray, rate: float) -> np.ndarray:
    """Indices of the rows of increasing times ``(n,)`` [s] in frames at a rate [Hz]."""
    frames = np.arange(times[0], times[-1] + 1e-9, 1.0 / rate)
    return np.clip(np.searchsorted(times, frames - 1e-9), 0, len(times) - 1)
