"""Motions of a recording and of models, frame by frame: for films and for the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trueup.simulation.engine.batch import BatchEngine
from trueup.sysid.recordings.measured_state import state_columns

if TYPE_CHECKING:
    from trueup.simulation.measured.model_sequences import ModelSequences

FRAME_RATE = 25
"""Frame rate [Hz]."""
_LONGEST = 10.0  # maximum duration of motion [s]
COLOURS = {
    "measured": ("blue", (0.16, 0.47, 0.84, 0.95)),
    "initial": ("red", (0.83, 0.26, 0.22, 0.35)),
    "identified": ("green", (0.12, 0.62, 0.35, 0.55)),
}
"""Colour of what is shown: its name, and red, green, blue and opacity."""


@dataclass(frozen=True)
class Motion:
    """One recording, and the motion of models that follow it.

    Attributes:
      name: name of the recording.
      model: the model whose bodies are drawn.
      shown: what is drawn, keys of :data:`COLOURS`; the recording first where joints were measured.
      labels: words for each.
      positions: joint positions ``(shown, frames, nq)``, at :data:`FRAME_RATE`.
      joints: name and address of each measured joint.
    """

    name: str
    model: mujoco.MjModel
    shown: tuple[str, ...]
    labels: tuple[str, ...]
    positions: np.ndarray
    joints: tuple[tuple[str, int], ...] = ()

    @property
    def legend(self) -> str:
        """Sentence on the colours."""
        parts = [f"{what} in {COLOURS[key][0]}" for key, what in zip(self.shown, self.labels)]
        text = ", ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def residuals(self) -> np.ndarray:
        """Recording minus the last model ``(frames, joints)`` [rad or m]; empty without one."""
        if self.shown[0] != "measured" or len(self.shown) < 2:
            return np.zeros((self.positions.shape[1], 0))
        places = [address for _, address in self.joints]
        return (self.positions[0] - self.positions[-1])[:, places]


def motions_of(
    problem: Any,
    models_sequences: Sequence[ModelSequences],
    models: dict[str, tuple[str, np.ndarray]],
    most: int,
) -> list[Motion]:
    """Motions of the first recordings of a problem.

    Args:
      problem: the problem.
      models_sequences: its models and recordings, in the problem's order.
      models: key of :data:`COLOURS` -> words and values of the parameters ``(p,)``.
      most: maximum number of recordings.
    """
    X = np.stack([x for _, x in models.values()])
    words = tuple(text for text, _ in models.values())
    out: list[Motion] = []
    sequences = iter(problem.sequences)
    for variant, group in zip(problem.variants, models_sequences, strict=True):
        for trajectory in group.measured_rollout:
            sequence = next(sequences)
            if len(out) == most:
                return out
            out.append(_motion(variant, sequence, trajectory.sensordata, X, tuple(models), words))
    return out


def _motion(
    variant: Any,
    sequence: Any,
    measured: Any,
    X: np.ndarray,
    keys: tuple[str, ...],
    words: tuple[str, ...],
) -> Motion:
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
    positions = list(path[:, rows])
    columns = state_columns(model, measured).positions
    joints: tuple[tuple[str, int], ...] = ()
    if columns:
        recorded = measured.interpolate(frames, "linear")
        real = positions[-1].copy()
        for address, column in columns.items():
            real[:, address] = recorded[:, column]
        positions.insert(0, real)
        keys, words = ("measured", *keys), ("measured", *words)
        joints = tuple((_joint_at(model, address), int(address)) for address in columns)
    together = np.nan_to_num(np.stack(positions), posinf=0.0, neginf=0.0)
    return Motion(sequence.name, model, keys, words, together, joints)


def _joint_at(model: mujoco.MjModel, address: int) -> str:
    """Name of the joint with a position at an address."""
    joint = int(np.searchsorted(model.jnt_qposadr, address, side="right")) - 1
    return model.joint(joint).name or f"joint {joint}"


def coloured(model: mujoco.MjModel, colour: Sequence[float]) -> mujoco.MjModel:
    """A copy of a model whose moving bodies have one colour, in bright light."""
    import copy

    out = copy.copy(model)
    moving = out.body_weldid[out.geom_bodyid] != 0
    out.geom_rgba[moving] = colour
    out.geom_matid[moving] = -1
    brighten(out)
    return out


def brighten(model: mujoco.MjModel) -> None:
    """Light a model from the camera, so that bodies in the shade of its own lights are seen."""
    model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.45, 0.65


def camera_of(model: mujoco.MjModel, positions: np.ndarray) -> mujoco.MjvCamera:
    """The model's first camera, or one from the side with all of a motion in view.

    Args:
      model: the model.
      positions: joint positions ``(shown, frames, nq)``.
    """
    camera = mujoco.MjvCamera()
    if model.ncam:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
        return camera
    data, reached = mujoco.MjData(model), []
    for qpos in positions.reshape(-1, positions.shape[-1])[:: max(positions.shape[1] // 20, 1)]:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        reached.append(data.geom_xpos[model.geom_bodyid > 0].copy())
    points = np.concatenate(reached)
    low, high = points.min(axis=0), points.max(axis=0)
    size = high - low
    camera.lookat[:] = (low + high) / 2
    camera.distance = max(1.6 * float(np.linalg.norm(size)), 1.2 * model.stat.extent, 0.3)
    # across the wider horizontal direction of the motion
    camera.azimuth, camera.elevation = 90.0 if size[0] >= size[1] else 180.0, -15.0
    return camera
