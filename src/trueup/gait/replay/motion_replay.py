"""A motion on a model: muscle lengths and moment arms over time."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup import reports
from trueup.errors import GaitError, ModelError, RunDirectoryError
from trueup.gait.models._couplings import couple_joints
from trueup.gait.models._shipped_models import SHIPPED_MODELS, build_shipped_model
from trueup.gait.models.coordinates import Coordinates, coordinates_of, default_positions
from trueup.gait.opensim.comparison import WrittenModel
from trueup.gait.replay.motion_file import Motion, read_coordinates
from trueup.gait.replay.replay_film import film_frames
from trueup.gait.replay.replay_page import replay_page
from trueup.gait.report.film import check_film, write_film
from trueup.runs.store import atomic
from trueup.simulation.models.limits import check_model_file

_CHUNK = 500
"""Poses that are evaluated at once: the derivatives of all lengths take 0.2 MB each."""

LEAST_ARM = 1e-4
"""Largest moment arm over a motion below which a muscle does not act on a coordinate [m, or 1]."""

_TOLERANCE = {True: np.deg2rad(0.5), False: 5e-4}
"""Excess over a range that is not mentioned: of an angle [rad], of a distance [m]."""


@dataclass(frozen=True)
class MotionReplay:
    """A motion on a model.

    Attributes:
      source: name or file of the model.
      model: compiled model.
      motion: the motion.
      coordinates: coordinates of the model.
      positions: positions of all joints ``(n, nq)``.
      lengths: muscle -> its length with the tendon ``(n,)`` [m].
      arms: muscle -> coordinate -> moment arm ``(n,)`` [m; 1 for a distance], positive where the
        muscle increases the coordinate; those above a tenth of a millimetre.
      notes: coordinates that the model or the motion lacks, exceeded ranges, assumed units.
    """

    source: str
    model: mujoco.MjModel
    motion: Motion
    coordinates: Coordinates
    positions: np.ndarray
    lengths: dict[str, np.ndarray]
    arms: dict[str, dict[str, np.ndarray]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The extremes of all muscles as JSON values."""
        times = self.motion.times
        return {
            "model": self.source,
            "motion": str(self.motion.path),
            "rows": len(times),
            "start_s": float(times[0]),
            "end_s": float(times[-1]),
            "coordinates": list(self.motion.coordinates),
            "muscles": {
                name: {
                    "length_m": [float(length.min()), float(length.max())],
                    "moment_arm": {
                        about: [float(arm.min()), float(arm.max())]
                        for about, arm in self.arms[name].items()
                    },
                }
                for name, length in self.lengths.items()
            },
            "notes": list(self.notes),
        }

    def table(self) -> tuple[list[str], np.ndarray]:
        """Names with units, and values ``(n, columns)``: time, lengths, moment arms."""
        columns = {"time [s]": self.motion.times}
        columns |= {f"{name}/length [m]": length for name, length in self.lengths.items()}
        for name, arms in self.arms.items():
            for about, arm in arms.items():
                unit = " [m]" if about in self.coordinates.angles else ""
                columns[f"{name}/moment_arm/{about}{unit}"] = arm
        return list(columns), np.column_stack(list(columns.values()))

    def page(self, video: bytes | None = None) -> reports.Page:
        """Report: coordinates, stick figure, lengths and moment arms over time.

        Args:
          video: content of an MP4 file, shown first.
        """
        return replay_page(
            self.model,
            self.motion,
            self.coordinates,
            self.positions,
            self.lengths,
            self.arms,
            self.notes,
            video,
        )

    def save_film(
        self,
        path: str | Path,
        *,
        framerate: int = 30,
        pace: float = 1.0,
        width: int = 800,
        height: int = 450,
    ) -> Path:
        """Write a film of the motion from the right side, atomically; returns its path.

        Bodies are drawn with their geometry, and by lines between their joints; muscles are red in
        proportion to the activations of the motion.

        Args:
          path: MP4 file.
          framerate: frame rate [Hz].
          pace: seconds of the motion per second of the film.
          width: width [pixel], rounded down to an even number.
          height: height [pixel], likewise.

        Raises:
          GaitError: another suffix than .mp4, or a number that is not above 0.
          MissingExtraError: the packages for videos are not installed.
          ReportError: neither EGL nor OSMesa is available for rendering.
        """
        path = Path(path)
        check_film(path, width, height, framerate=framerate, pace=pace)
        frames = film_frames(
            self.model, self.motion, self.positions, framerate / pace, width, height
        )
        return write_film(path, frames, framerate)

    def save(
        self, folder: str | Path, *, film: bool = False, overwrite: bool = False
    ) -> dict[str, Path]:
        """Write table, report and film; returns their paths by kind.

        Args:
          folder: output folder, created if missing.
          film: write a film, which the report contains too.
          overwrite: replace existing files.

        Raises:
          GaitError: the folder already contains such files, or is a file.
          MissingExtraError: the packages for videos are not installed.
          ReportError: neither EGL nor OSMesa is available for rendering.
          RunDirectoryError: the folder cannot be written.
        """
        folder = Path(folder)
        check_replay_folder(folder, overwrite=overwrite)
        files = {"table": folder / "replay.csv", "report": folder / "replay.html"}
        video = None
        if film:  # first: it fails where nothing can be rendered
            files["film"] = self.save_film(folder / "replay.mp4")
            video = files["film"].read_bytes()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunDirectoryError(f"cannot write {folder}: {error.strerror}") from error
        names, values = self.table()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([f"{value:.9g}" for value in row] for row in values)
        atomic.write_text(files["table"], text.getvalue())
        self.page(video).save(files["report"])
        return files


def check_replay_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise GaitError for a path that is not a folder, or a folder that contains a replay."""
    if folder.exists() and not folder.is_dir():
        raise GaitError(f"{folder} is not a folder: choose another --output")
    if (folder / "replay.csv").exists() and not overwrite:
        raise GaitError(
            f"{folder} already contains replay.csv: choose another --output, or use --overwrite"
        )


def replay_motion(model: str | Path | mujoco.MjModel, motion: str | Path) -> MotionReplay:
    """Set a model to the poses of a motion, without simulation.

    Coupled joints follow their coordinates; coordinates without a column keep their default.

    Args:
      model: MJCF file, such as ``model.xml`` of an imported model, a shipped model by its name, or
        a compiled model.
      motion: ``.mot``, ``.sto`` or ``.csv`` file, see
        :func:`trueup.gait.replay.motion_file.read_coordinates`.

    Raises:
      ModelError: the model file is missing or does not compile.
      GaitError: the motion cannot be read, or has no coordinate of the model.
    """
    compiled = model if isinstance(model, mujoco.MjModel) else _compiled(str(model))
    source = str(compiled.names[: compiled.names.index(b"\0")].decode() or "model")
    source = source if isinstance(model, mujoco.MjModel) else str(model)
    coordinates = coordinates_of(compiled)
    found = read_coordinates(motion, coordinates, source)
    positions = np.tile(default_positions(compiled), (len(found.times), 1))
    for name, values in found.coordinates.items():
        place = compiled.joint(name).qposadr[0]
        positions[:, place] = coordinates.signs[name] * values
    couple_joints(compiled, positions)
    lengths, arms = _muscles(compiled, coordinates, positions)
    notes = (*found.notes, *_exceeded(found, coordinates))
    return MotionReplay(source, compiled, found, coordinates, positions, lengths, arms, notes)


def _compiled(source: str) -> mujoco.MjModel:
    """Model of a file, or a shipped one."""
    path = Path(source)
    try:
        if source in SHIPPED_MODELS:
            return build_shipped_model(source)[0].compile()
        if not path.is_file():
            raise ModelError(f"no such model file {path}: give the model.xml of an import")
        if path.suffix.lower() == ".osim":
            raise ModelError(
                f"{path} is a model of OpenSim: convert it by  trueup gait import {path}  and give "
                "the model.xml that it writes"
            )
        check_model_file(path)
        return mujoco.MjModel.from_xml_path(source)
    except ValueError as error:
        raise ModelError(f"{path} does not compile: {error}") from error


def _muscles(
    model: mujoco.MjModel, coordinates: Coordinates, positions: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
    """Lengths and moment arms of all muscles over the poses."""
    tendons = {
        model.actuator(int(k)).name: int(model.actuator_trnid[k, 0])
        for k in np.flatnonzero(
            (model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON)
            & (model.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE)
        )
    }
    if not tendons:
        return {}, {}
    written, places = WrittenModel(model, coordinates.signs), list(tendons.values())
    lengths, arms = [], []
    for begin in range(0, len(positions), _CHUNK):
        poses = positions[begin : begin + _CHUNK]
        length, slopes = written.paths(poses)
        rates = np.stack([written.rates(poses, name) for name in coordinates.signs], axis=2)
        lengths.append(length[:, places])
        # moment arm: minus the derivative of the length by the coordinate
        arms.append(-slopes[:, places] @ rates)
    length, arm = np.concatenate(lengths), np.concatenate(arms)
    acts = np.abs(arm).max(axis=0) > LEAST_ARM
    return (
        {name: length[:, k] for k, name in enumerate(tendons)},
        {
            name: {about: arm[:, k, c] for c, about in enumerate(coordinates.signs) if acts[k, c]}
            for k, name in enumerate(tendons)
        },
    )


def _exceeded(motion: Motion, coordinates: Coordinates) -> list[str]:
    """Sentences on coordinates beyond their ranges."""
    said = []
    for name, values in motion.coordinates.items():
        if name not in coordinates.ranges:
            continue
        low, high = coordinates.ranges[name]
        excess = np.maximum(low - values, values - high)
        row, turns = int(np.argmax(excess)), name in coordinates.angles
        if excess[row] <= _TOLERANCE[turns]:
            continue
        unit, factor = ("deg", 180.0 / np.pi) if turns else ("mm", 1e3)
        said.append(
            f"{name} is up to {factor * excess[row]:.3g} {unit} beyond its range of "
            f"{factor * low:.4g} to {factor * high:.4g} {unit}, at {motion.times[row]:.4g} s"
        )
    return said
