"""Synthetic recordings of an actuator, in one folder per inertia."""

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup._seeds import check_seed
from trueup.errors import ExperimentError, RecordingError, SimulationError
from trueup.networks.data.settings import GROUPS_FILE
from trueup.networks.data.synthetic_settings import SyntheticSettings, SyntheticSignal

COLUMNS = (
    "Time_ms",
    "Encoder_Angle",
    "Commanded_Angle",
    "Acc_X",
    "Acc_Y",
    "Acc_Z",
    "Gyro_X",
    "Gyro_Y",
    "Gyro_Z",
    "Motor_Torque",
)
"""Columns of the files: [ms], [deg], [deg], [m/s2], [deg/s], [N m]; the last is the true torque."""

_GRAVITY = 9.81
_IDLE_ACCEL_NOISE = 0.2
_IDLE_GYRO_NOISE = 0.1
_MULTISINE_LINES = 12
_STEP_DURATION = 0.1


@dataclass(frozen=True)
class SyntheticFile:
    """A synthetic recording on disk."""

    path: Path
    group: str
    inertia: float
    noise_floor: float
    """RMS noise of the target in this file [N m]: the smallest possible error of a network."""


@dataclass(frozen=True)
class SyntheticData:
    """Folder of synthetic recordings."""

    folder: Path
    files: tuple[SyntheticFile, ...]
    noise_floors: dict[str, float]
    """Group -> expected RMSE of a perfect network [N m]."""


def synthesize(
    settings: SyntheticSettings, folder: str | os.PathLike[str], seed: int = 0
) -> SyntheticData:
    """Simulate recordings and write them as CSV, with ``inertia_groups.json`` in the same folder.

    Args:
        settings: joint, motion and sensors.
        folder: output folder; it may exist, but not contain synthetic groups.
        seed: seed of phases, levels and noise; the same seed gives the same files.

    Raises:
        ExperimentError: a negative seed.
        RecordingError: the folder already contains data.
        SimulationError: the motion diverges, for example with gains too high for the time step.
    """
    check_seed(seed, ExperimentError)
    folder = Path(folder)
    groups = [(f"{inertia:g}kgm2", inertia) for inertia in settings.inertias]
    present = [name for name in (GROUPS_FILE, *(g for g, _ in groups)) if (folder / name).exists()]
    if present:
        raise RecordingError(f"{folder} already contains {present[0]}: choose another folder")
    random = np.random.default_rng(seed)
    files = []
    with _new_folders(folder, [name for name, _ in groups]):
        for index, (name, inertia) in enumerate(groups):
            for signal in settings.signals:
                for repeat in range(settings.repeats):
                    path = folder / name / f"{signal}_{repeat + 1:02d}.csv"
                    floor = _write(path, settings, index, inertia, signal, random)
                    files.append(SyntheticFile(path, name, inertia, floor))
        listed = [{"id": name, "folder": name, "inertia": inertia} for name, inertia in groups]
        (folder / GROUPS_FILE).write_text(json.dumps(listed, indent=2) + "\n")
    floors = {name: settings.noise_floor(inertia) for name, inertia in groups}
    return SyntheticData(folder, tuple(files), floors)


@contextlib.contextmanager
def _new_folders(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Create folders, and remove them if writing into them fails."""
    existed = folder.exists()
    try:
        for name in names:
            (folder / name).mkdir(parents=True)
        yield
    except BaseException:
        for name in names:
            shutil.rmtree(folder / name, ignore_errors=True)
        if not existed:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _write(
    path: Path,
    settings: SyntheticSettings,
    index: int,
    inertia: float,
    signal: SyntheticSignal,
    random: np.random.Generator,
) -> float:
    from trueup.networks.data.synthetic_joint import simulate

    count = round(settings.duration * settings.rate)
    step = 1.0 / (settings.rate * settings.substeps)
    target = _target(settings, index, signal, np.arange(count * settings.substeps) * step, random)
    no_load = math.inf if settings.no_load_speed is None else settings.no_load_speed
    angle, velocity, acceleration, motor, clean = simulate(
        target,
        np.gradient(target, step),
        settings.torque_noise * random.standard_normal(count),
        inertia,
        step,
        settings.substeps,
        round(settings.delay / step),
        np.array([settings.kp, settings.kd]),
        np.array([settings.torque_limit, no_load]),
        np.array(
            [settings.coulomb, settings.viscous, settings.stribeck, settings.stribeck_velocity]
        ),
        settings.spring,
    )
    if not np.isfinite(angle).all() or np.abs(angle).max() > 1e3:
        raise SimulationError(
            f"the motion with inertia {inertia:g} kg m2 diverges: lower kp, kd or delay, or raise "
            "substeps"
        )

    def noise(deviation: float) -> np.ndarray:
        return deviation * random.standard_normal(count)

    accel = acceleration * settings.radius_accel + noise(settings.accel_noise)
    columns = (
        np.arange(count) * 1e3 / settings.rate,
        np.degrees(angle + noise(settings.encoder_noise)),
        np.degrees(target[:: settings.substeps]),
        noise(_IDLE_ACCEL_NOISE),
        accel,
        _GRAVITY + noise(_IDLE_ACCEL_NOISE),
        np.degrees(noise(_IDLE_GYRO_NOISE)),
        np.degrees(noise(_IDLE_GYRO_NOISE)),
        np.degrees(velocity + noise(settings.gyro_noise)),
        motor,
    )
    np.savetxt(
        path, np.stack(columns, 1), "%.9g", delimiter=",", header=",".join(COLUMNS), comments=""
    )
    return float(np.sqrt(np.mean((inertia * accel / settings.radius_accel - clean) ** 2)))


def _target(
    settings: SyntheticSettings,
    index: int,
    signal: SyntheticSignal,
    times: np.ndarray,
    random: np.random.Generator,
) -> np.ndarray:
    """Target angle, shape (n,) [rad]; each further group moves less far and faster."""
    amplitude = settings.amplitude * max(0.2, 1.0 - 0.1 * index)
    low = settings.frequency * (1.0 + 0.2 * index)
    high = max(low, settings.highest_frequency)
    if signal == "sine":
        return amplitude * np.sin(2 * np.pi * low * times)
    if signal == "chirp":
        # exponential sweep, phase = 2 pi times the integral of the frequency
        growth = math.log(high / low) / settings.duration
        cycles = low * (np.expm1(growth * times) / growth if growth > 0 else times)
        return amplitude * np.sin(2 * np.pi * cycles + 2 * np.pi * random.random())
    if signal == "multisine":
        frequencies = np.geomspace(low, high, _MULTISINE_LINES)[:, None]
        phases = 2 * np.pi * random.random((_MULTISINE_LINES, 1))
        # amplitudes fall with frequency so that all lines have the same peak velocity
        waves = np.sin(2 * np.pi * frequencies * times + phases) / frequencies
        total = waves.sum(axis=0)
        return amplitude * total / np.abs(total).max()
    changes = 1 + random.poisson(low * settings.duration)
    starts = np.sort(random.uniform(0.0, settings.duration, changes))
    levels = amplitude * random.uniform(-1.0, 1.0, changes + 1)
    # half-cosine transitions between levels, as of a trajectory generator
    passed = np.clip((times[:, None] - starts) / _STEP_DURATION, 0.0, 1.0)
    return levels[0] + (0.5 - 0.5 * np.cos(np.pi * passed)) @ np.diff(levels)
