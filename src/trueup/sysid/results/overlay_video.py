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
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trueup import reports
from trueup.simulation.engine.batch import BatchEngine
from trueup.sysid.recordings.measured_state import state_columns

if TYPE_CHECKING:
    from trueup.simulation.measured.model_sequences import ModelSequences
    from trueup.sysid.fit.identification import Identification
    from trueup.sysid.fit.problem import GrayBoxProblem

FRAME_RATE = 25
"""Frame rate [Hz]."""
_LONGEST = 10.0  # maximum duration of motion [s]
_MOST = 2  # maximum number of sequences
_TIMEOUT = 300.0  # time limit of one video [s]
_LEGEND = "Measured in blue, the initial model in red, the identified model in green."


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
    out: list[reports.Content] = []
    sequences = iter(problem.sequences)
    for variant, models in zip(problem.variants, models_sequences, strict=True):
        for trajectory in models.measured_rollout:
            sequence = next(sequences)
            if len(out) >= _MOST:
                return out
            motion = _motion(variant, sequence, trajectory.sensordata, np.stack([start, x]))
            try:
                content = _drawn(variant.model, *motion)
            except _NoVideoError as error:
                return [reports.Note(f"The overlay video was skipped: {error}")]
            out.append(reports.Video(content, sequence.name, _LEGEND, 640))
    return out


class _NoVideoError(Exception):
    """Reason why no video can be rendered."""


def _motion(
    variant: Any, sequence: Any, measured: Any, X: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """What is shown, and joint positions ``(shown, frames, nq)`` of each."""
    model, windows = variant.model, sequence.windows
    failures: dict[int, str] = {}
    models = variant.models(X, failures)
    engine = BatchEngine(model, windows, ["qpos"], chains=[sequence.segments])
    pieces: dict[int, list[np.ndarray]] = {}
    for block in engine.run(len(X), variant.field_writes(X), models, failures):
        for position, w in enumerate(block.segments):
            pieces.setdefault(int(w), []).append(block.records["qpos"][:, position])
    step = sequence.timestep
    times = np.concatenate([w.start_time + step * (1 + np.arange(w.steps)) for w in windows])
    path = np.concatenate([np.concatenate(pieces[w], axis=1) for w in range(len(windows))], axis=1)
    end = min(times[-1], times[0] + _LONGEST)
    frames = np.arange(times[0], end, 1.0 / FRAME_RATE)
    rows = np.clip(np.searchsorted(times, frames), 0, len(times) - 1)
    shown = ["initial", "identified"]
    positions = [path[0, rows], path[1, rows]]
    columns = state_columns(model, measured).positions
    if columns:
        recorded = measured.interpolate(frames, "linear")
        real = positions[1].copy()
        for address, column in columns.items():
            real[:, address] = recorded[:, column]
        shown.insert(0, "measured")
        positions.insert(0, real)
    return shown, np.nan_to_num(np.stack(positions), posinf=0.0, neginf=0.0)


def _drawn(model: mujoco.MjModel, shown: list[str], positions: np.ndarray) -> bytes:
    """The video as MP4.

    Raises:
      _NoVideoError: no OpenGL, no imageio, or rendering failed; the message gives the reason.
    """
    with tempfile.TemporaryDirectory(prefix="trueup-video-") as folder:
        source, target = Path(folder) / "motion.npz", Path(folder) / "motion.mp4"
        mujoco.mj_saveModel(model, str(Path(folder) / "model.mjb"), None)
        np.savez(source, shown=np.array(shown), positions=positions, rate=FRAME_RATE)
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
                raise _NoVideoError(str(error)) from error
            if done.returncode == 0 and target.is_file():
                return target.read_bytes()
            reasons.append(f"{library}: {_last_line(done.stderr)}")
            if "trueup[video]" in done.stderr:
                raise _NoVideoError(_last_line(done.stderr))
        raise _NoVideoError(
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
