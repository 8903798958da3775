"""Reference gaits from motions of OpenSim: ``.mot`` and ``.sto`` files of joint angles."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.errors import GaitError, listing
from trueup.gait.costs.reference import GaitReference
from trueup.gait.models.planar22 import planar22_anatomy
from trueup.gait.opensim_storage import Storage, read_storage
from trueup.gait.walk.gait_cycle import POINTS, Curve, Stride, over_cycle, strides_of

COLUMNS = {"hip": "hip_flexion", "knee": "knee_angle", "ankle": "ankle_angle"}
"""Joint -> coordinate of OpenSim without the suffix of its side."""

UPRIGHT_FORCES = ("ground_force_{}_vy", "{}_ground_force_vy")
"""Column names of the vertical ground reaction of a leg, with its letter inserted."""

GROUPS = {"glut_max": "GLU", "rect_fem": "RF", "tib_ant": "TA"}
"""Muscle names of OpenSim's planar models that differ from ours -> group."""

OPEN = np.deg2rad(10.0)
"""Largest difference between the ends of a motion accepted as one gait cycle [rad]."""

LOADED = 0.05
"""Fraction of the largest vertical force above which a foot is on the ground."""


def read_motion(path: str | Path) -> GaitReference:
    """Read joint angles of OpenSim as a reference gait.

    A file with the vertical ground reaction (``ground_force_r_vy``) is divided into strides of both
    legs; a file without it must be a single gait cycle of the right leg, from touch-down to
    touch-down. Knee flexion is positive in the result, whatever its sign in the model.
    Activations (``soleus_r/activation``) are mapped to muscle groups; the speed is that of
    ``pelvis_tx``.

    Raises:
      GaitError: the file cannot be read, or has no complete cycle or not all joints.
    """
    path = Path(path)
    storage = _evenly(read_storage(path))
    lacks = [f"{name}_r" for name in COLUMNS.values() if f"{name}_r" not in storage.columns]
    if lacks:
        raise GaitError(
            f"{path} has no coordinate {listing(lacks)}; it has {listing(storage.columns)}"
        )
    strides = _strides(path, storage)
    angles = {joint: _curve(_angles(storage, joint), strides) for joint in COLUMNS}
    if {"pelvis_tilt", "lumbar_extension"} <= set(storage.columns):
        # both are positive for backward rotation
        lean = -_radians(storage, "pelvis_tilt") - _radians(storage, "lumbar_extension")
        angles["trunk"] = _curve({"r": lean, "l": lean}, strides)
    speed = None
    if "pelvis_tx" in storage.columns:
        place, time = storage.column("pelvis_tx"), storage.column("time")
        mean = float((place[-1] - place[0]) / (time[-1] - time[0]))
        speed = mean if abs(mean) > 0.1 else None  # on a treadmill the pelvis does not advance
    return GaitReference(path.stem, speed, angles, _activations(storage, strides), source=str(path))


def _evenly(storage: Storage) -> Storage:
    """The table at evenly spaced times."""
    time = storage.column("time")
    even = np.linspace(time[0], time[-1], len(time))
    columns = [np.interp(even, time, values) for values in storage.values.T[1:]]
    return replace(storage, values=np.column_stack([even, *columns]))


def _radians(storage: Storage, name: str) -> np.ndarray:
    values = storage.column(name)
    return np.deg2rad(values) if storage.degrees else values


def _angles(storage: Storage, joint: str) -> dict[str, np.ndarray]:
    """Angle of each leg ``(rows,)`` [rad], by its letter; flexion and dorsiflexion positive."""
    found = {
        side: _radians(storage, f"{COLUMNS[joint]}_{side}")
        for side in "rl"
        if f"{COLUMNS[joint]}_{side}" in storage.columns
    }
    flexes_down = joint == "knee" and np.mean(found["r"]) < 0.0
    return {side: -values if flexes_down else values for side, values in found.items()}


def _strides(path: Path, storage: Storage) -> dict[str, list[Stride]]:
    """Strides of each leg, by its letter."""
    time = storage.column("time")
    period = float(np.median(np.diff(time)))
    found: dict[str, list[Stride]] = {}
    for leg, side in enumerate("rl"):
        for form in UPRIGHT_FORCES:
            if form.format(side) in storage.columns:
                force = storage.column(form.format(side))
                load = force / max(float(force.max()), 1e-9)
                found[side] = strides_of(load, leg, period, LOADED)
    if any(found.values()):
        return {side: strides for side, strides in found.items() if strides}
    if found:
        raise GaitError(
            f"{path} contains no complete stride, from touch-down to touch-down of a foot"
        )
    gaps = {joint: float(np.ptp(_angles(storage, joint)["r"][[0, -1]])) for joint in COLUMNS}
    joint = max(gaps, key=lambda name: gaps[name])
    if gaps[joint] > OPEN or len(time) < 10:
        raise GaitError(
            f"{path} is not a gait cycle: over its {len(time)} rows the start and end of {joint} "
            f"differ by {np.rad2deg(gaps[joint]):.0f} degrees. Cut it from touch-down to "
            "touch-down of the right foot, or add the vertical ground reaction as "
            "ground_force_r_vy"
        )
    last = len(time) - 1
    return {"r": [Stride(0, 0, int(0.6 * last), last)]}


def _curve(values: dict[str, np.ndarray], strides: dict[str, list[Stride]]) -> Curve:
    """Mean and deviation over the strides of both legs; the last sample repeats the first."""
    cycles = np.concatenate(
        [over_cycle(values[side], found) for side, found in strides.items() if side in values]
    )[:, : POINTS - 1]
    return Curve(cycles.mean(axis=0), cycles.std(axis=0, ddof=1) if len(cycles) > 1 else None)


def _activations(storage: Storage, strides: dict[str, list[Stride]]) -> dict[str, Curve]:
    """Activations of the muscle groups with OpenSim muscle names."""
    groups = {
        name.removesuffix("_{side}"): group
        for group, names in planar22_anatomy().muscles.items()
        for name in names
    } | GROUPS
    found: dict[str, dict[str, np.ndarray]] = {}
    for name in storage.columns:
        match = re.fullmatch(r"(?:.*/)?(\w+)_([rl])[/.]activation", name)
        if match and match[1] in groups:
            found.setdefault(groups[match[1]], {})[match[2]] = storage.column(name)
    shared = {group: legs for group, legs in found.items() if set(legs) & set(strides)}
    return {group: _curve(legs, strides) for group, legs in shared.items()}
