"""Step-through replay of a recording: the robot and its identified model as stick figures.

Positions of joints follow from measured and predicted signals by forward kinematics, so that it
needs no renderer and no further simulation; a fit to torques is simulated once, in short pieces
from the measured state.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trueup import reports
from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import ReportError, RunDirectoryError
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.fit.compared_channels import channels_of
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.window_states import without_window_states
from trueup.sysid.recordings.measured_state import StateColumns, state_columns

if TYPE_CHECKING:
    from trueup.simulation.measured.model_sequences import ModelSequences
    from trueup.sysid.fit.identification import Identification

REPLAY_FILE = "replay.npz"
_FRAMES = 120
_LONGEST = 20.0  # maximum duration of motion [s]
_PIECE = 0.5  # duration of a simulated piece of a fit to torques [s]
_MOST_POINTS = 60  # bodies above which stick figures are unreadable and large


def motion_replay(result: Identification) -> reports.Replay | None:
    """Replay of the first held-out recording, or of the first one.

    Returns:
      The figure; None if a joint was not measured, the prediction diverges, or the model has too
      many bodies for a stick figure.
    """
    prepared = result.prepared
    held_out = bool(prepared.held_out)
    groups = prepared.held_out if held_out else prepared.training
    trajectory = groups[0].measured_rollout[0]
    model = trajectory.model
    columns = state_columns(model, trajectory.sensordata)
    if model.nbody > _MOST_POINTS or len(columns.places()) < model.nq:
        return None
    pieces = f" in pieces of {_PIECE:g} s from the measured state"
    if prepared.experiment.search.by_torques:
        signals, how = _simulated(result, groups), pieces
    else:
        window = prepared.settings.window
        how = f" in windows of {window:g} s from the measured state" if window else ""
        signals = next(
            (s.times, s.measured, s.fitted)
            for s in result.assessment.signals
            if s.held_out == held_out
        )
    _, places, _ = channels_of(model, trajectory.sensordata, prepared.settings)
    sources = {a: places.index(c) for a, c in columns.positions.items() if c in places}
    if len(sources) < len(columns.positions):
        return None  # a joint has the weight zero
    times, *both = signals
    frames = np.linspace(times[0], min(times[-1], times[0] + _LONGEST), _FRAMES)
    rows = np.unique(np.clip(np.searchsorted(times, frames), 0, len(times) - 1))
    qpos = [_positions(model, sources, columns, data[rows]) for data in both]
    if not all(np.isfinite(q).all() for q in qpos):
        return None
    skeleton = _Skeleton(model)
    if not len(skeleton.edges):
        return None
    measured, fitted = (skeleton.points(q) for q in qpos)
    name = trajectory.name
    is_held_out = ", held out of the fit" if held_out and "held out" not in name else ""
    return replay_figure(
        times[rows] - times[0],
        skeleton.edges,
        measured,
        fitted,
        f"Replay of {name}{is_held_out}",
        f"Joints and links as lines. The model is simulated{how} with the recorded commands.",
    )


def replay_figure(
    times: np.ndarray,
    edges: np.ndarray,
    measured: np.ndarray,
    fitted: np.ndarray,
    title: str,
    caption: str,
) -> reports.Replay:
    """The figure from positions of points ``(frames, points, 3)`` of robot and model."""
    figures = [
        reports.StickFigure("robot", "measured", measured),
        reports.StickFigure("identified model", "fitted", fitted),
    ]
    return reports.Replay(times, edges, figures, title, caption)


def write_replay(replay: reports.Replay, directory: RunDirectory) -> None:
    """Write ``replay.npz``, so that the report can be written again."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        times=replay.times,
        edges=replay.edges,
        positions=np.stack([f.positions for f in replay.figures]).astype(np.float32),
        texts=np.array([replay.title, replay.caption]),
    )
    atomic.write_bytes(directory.inside(REPLAY_FILE), buffer.getvalue())


def read_replay(directory: RunDirectory) -> reports.Replay | None:
    """Replay of a run; None if it has none.

    Raises:
      RunDirectoryError: the file is damaged.
    """
    path = directory.inside(REPLAY_FILE)
    if not path.is_file():
        return None
    try:
        file = read_arrays(path)
        measured, fitted = file["positions"].astype(float)
        title, caption = (str(text) for text in file["texts"])
        return replay_figure(file["times"], file["edges"], measured, fitted, title, caption)
    except (ReportError, *DAMAGED_ARCHIVE) as error:
        raise RunDirectoryError(f"{path} is damaged: {error}") from error


def _simulated(
    result: Identification, groups: Sequence[ModelSequences]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, measured and predicted signals of the first recording, in short pieces."""
    prepared = result.prepared
    parameters, keep = without_window_states(prepared.parameters)
    settings = replace(prepared.settings, window=_PIECE)
    problem = GrayBoxProblem(parameters, groups[:1], settings, prepared.rules)
    x = result.solution.x[keep]
    measured, predicted = problem.predictions(x[None])[0]
    return problem.sequences[0].times, measured[-1], predicted[0]


def _positions(
    model: mujoco.MjModel,
    sources: dict[int, int],
    columns: StateColumns,
    signals: np.ndarray,
) -> np.ndarray:
    """Joint positions ``(frames, nq)`` from signals ``(frames, channels)``."""
    qpos = np.tile(model.qpos0, (len(signals), 1))
    for address, channel in sources.items():
        qpos[:, address] = signals[:, channel]
    columns.follow(qpos, np.zeros((len(qpos), model.nv)))
    return qpos


class _Skeleton:
    """Points and lines of a model: joints, connected along the tree, and ends of the last links."""

    def __init__(self, model: mujoco.MjModel):
        self._model = model
        moving = [b for b in range(1, model.nbody) if model.body_jntnum[b]]
        children = {_ancestor(model, b) for b in moving}
        self._bodies = moving
        tips = {b: _tip(model, b) for b in moving if b not in children}
        self._tips = [(b, tip) for b, tip in tips.items() if tip is not None]
        node = {b: k for k, b in enumerate(moving)}
        edges = [(node[a], node[b]) for b in moving if (a := _ancestor(model, b)) in node]
        edges += [(node[b], len(moving) + k) for k, (b, _) in enumerate(self._tips)]
        self.edges = np.array(edges, int).reshape(-1, 2)

    def points(self, qpos: np.ndarray) -> np.ndarray:
        """World positions ``(frames, points, 3)``."""
        model, data = self._model, mujoco.MjData(self._model)
        joints = model.body_jntadr[self._bodies]
        out = np.empty((len(qpos), len(self._bodies) + len(self._tips), 3))
        for frame, row in enumerate(qpos):
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            out[frame, : len(joints)] = data.xanchor[joints]
            for k, (body, tip) in enumerate(self._tips):
                rotation = data.xmat[body].reshape(3, 3)
                out[frame, len(joints) + k] = data.xpos[body] + rotation @ tip
        return out


def _ancestor(model: mujoco.MjModel, body: int) -> int:
    """Next body towards the world that has a joint; 0 for none."""
    body = int(model.body_parentid[body])
    while body and not model.body_jntnum[body]:
        body = int(model.body_parentid[body])
    return body


def _tip(model: mujoco.MjModel, body: int) -> np.ndarray | None:
    """Point of a body, and of what is welded to it, farthest from its joint, in its frame."""
    anchor = model.jnt_pos[model.body_jntadr[body]]
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    rotation, origin = data.xmat[body].reshape(3, 3), data.xpos[body]
    points: list[Any] = []
    for other in np.flatnonzero(model.body_weldid == body):
        points.append(data.xpos[other])
        first = model.body_geomadr[other]
        for geom in range(first, first + model.body_geomnum[other]):
            centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
            own = data.geom_xmat[geom].reshape(3, 3)
            # the middle of each face of its box
            faces = centre + np.concatenate([np.diag(half), -np.diag(half)])
            points += list(data.geom_xpos[geom] + faces @ own.T)
        points.append(data.xipos[other])
    local = (np.array(points) - origin) @ rotation
    distance = np.linalg.norm(local - anchor, axis=1)
    best = int(np.argmax(distance))
    return local[best] if distance[best] > 1e-6 else None
