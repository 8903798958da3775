"""Overlay videos of measured, initial and identified motion.

Frames are rendered in a separate process: MuJoCo selects its OpenGL library on import, and a driver
crash must not end the identification.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trueup import reports
from trueup.errors import ReportError
from trueup.sysid.results.motions import COLOURS, FRAME_RATE, Motion, motions_of

if TYPE_CHECKING:
    from trueup.simulation.measured.model_sequences import ModelSequences
    from trueup.sysid.fit.identification import Identification
    from trueup.sysid.fit.problem import GrayBoxProblem

_MOST = 2  # maximum number of sequences
_TIMEOUT = 300.0  # time limit of one video [s]


def overlay_videos(result: Identification) -> list[reports.Content]:
    """Videos of the first sequences of an identification.

    Returns:
      Videos; or one note with the reason for none (no OpenGL, no imageio).
    """
    problem = result.problem
    return motion_videos(problem, result.prepared.training, problem.space.start, result.solution.x)


def film(result: Identification) -> reports.Content:
    """Film of an identification, for a notebook or a page: recording, first and identified model.

    Args:
      result: an identification.

    Returns:
      The film; a note with the reason where none can be rendered (no OpenGL, no encoder).
    """
    return reports.Group("Film", overlay_videos(result))


def motion_videos(
    problem: GrayBoxProblem,
    models_sequences: Sequence[ModelSequences],
    start: np.ndarray,
    x: np.ndarray,
) -> list[reports.Content]:
    """Videos of the first sequences of a problem.

    Args:
      problem: the problem.
      models_sequences: its models and recordings, in the problem's order.
      start: initial parameters ``(p,)``.
      x: identified parameters ``(p,)``.

    Returns:
      Videos; or one note with the reason for none.
    """
    models = {"initial": ("the initial model", start), "identified": ("the identified model", x)}
    out: list[reports.Content] = []
    for motion in motions_of(problem, models_sequences, models, _MOST):
        try:
            content = film_of(motion)
        except ReportError as error:
            return [reports.Note(f"The overlay video was skipped: {error}")]
        out.append(reports.Video(content, motion.name, motion.legend, 640))
    return out


def film_of(motion: Motion) -> bytes:
    """Film of a motion as MP4.

    Raises:
      ReportError: no OpenGL, no encoder, or rendering failed; the message gives the reason.
    """
    with tempfile.TemporaryDirectory(prefix="trueup-video-") as folder:
        source, target = Path(folder) / "motion.npz", Path(folder) / "motion.mp4"
        mujoco.mj_saveModel(motion.model, str(Path(folder) / "model.mjb"), None)
        colours = np.array([COLOURS[key][1] for key in motion.shown])
        np.savez(source, colours=colours, positions=motion.positions, rate=FRAME_RATE)
        reasons = []
        for library in _libraries():
            environment = {**os.environ, "MUJOCO_GL": library, "PYOPENGL_PLATFORM": library}
            command = [sys.executable, "-m", "trueup.sysid.results._overlay_frames", folder]
            try:
                done = subprocess.run(
                    command,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=_TIMEOUT,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ReportError(str(error)) from error
            if done.returncode == 0 and target.is_file():
                return target.read_bytes()
            reasons.append(f"{library}: {_last_line(done.stderr)}")
            if "trueup[video]" in done.stderr:
                raise ReportError(_last_line(done.stderr))
        raise ReportError(
            f"MuJoCo cannot render here ({'; '.join(reasons)}). Install EGL or OSMesa."
        )


def _libraries() -> list[str]:
    chosen = os.environ.get("MUJOCO_GL", "")
    if chosen:
        return [chosen]
    return ["egl", "osmesa"] if sys.platform.startswith("linux") else ["glfw"]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
