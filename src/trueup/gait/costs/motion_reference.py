"""Reference gaits from motions of OpenSim: ``.mot`` and ``.sto`` files of joint angles."""

import re
from pathlib import Path

import numpy as np

from trueup.errors import GaitError, TrueupError, listing
from trueup.gait.costs.reference import GaitReference
from trueup.gait.models.planar22 import planar22_anatomy
from trueup.gait.walk.gait_cycle import POINTS, Curve, Stride, over_cycle, strides_of
from trueup.signals import read
from trueup.signals.units import convert

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
    time, columns = _evenly(path)
    lacks = [f"{name}_r" for name in COLUMNS.values() if f"{name}_r" not in columns]
    if lacks:
        raise GaitError(f"{path} has no coordinate {listing(lacks)}; it has {listing(columns)}")
    strides = _strides(path, time, columns)
    angles = {joint: _curve(_angles(columns, joint), strides) for joint in COLUMNS}
    if {"pelvis_tilt", "lumbar_extension"} <= set(columns):
        # both are positive for backward rotation
        lean = -columns["pelvis_tilt"] - columns["lumbar_extension"]
        angles["trunk"] = _curve({"r": lean, "l": lean}, strides)
    speed = None
    if "pelvis_tx" in columns:
        place = columns["pelvis_tx"]
        mean = float((place[-1] - place[0]) / (time[-1] - time[0]))
        speed = mean if abs(mean) > 0.1 else None  # on a treadmill the pelvis does not advance
    return GaitReference(path.stem, speed, angles, _activations(columns, strides), source=str(path))


Columns = dict[str, np.ndarray]
"""Values in SI units ``(rows,)`` by column."""


def _evenly(path: Path) -> tuple[np.ndarray, Columns]:
    """Evenly spaced times [s] and the columns there.

    Raises:
      GaitError: the file cannot be read, or has a value that is not finite or a time that does not
        increase.
    """
    try:
        stream = read(path, time="time", format="opensim").stream
    except TrueupError as error:
        raise GaitError(f"cannot read a motion: {error}") from error
    if (np.diff(stream.times) <= 0.0).any():
        raise GaitError(f"{path}: time does not increase from row to row")
    for name, values in stream.columns.items():
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise GaitError(f"{path}: row {row + 1} of {name!r} is not finite")
    even = np.linspace(stream.times[0], stream.times[-1], len(stream.times))
    si = {name: convert(x, stream.units.get(name, "1")) for name, x in stream.columns.items()}
    return even, {name: np.interp(even, stream.times, values) for name, values in si.items()}


def _angles(columns: Columns, joint: str) -> dict[str, np.ndarray]:
    """Angle of each leg ``(rows,)`` [rad], by its letter; flexion and dorsiflexion positive."""
    found = {
        side: columns[f"{COLUMNS[joint]}_{side}"]
        for side in "rl"
        if f"{COLUMNS[joint]}_{side}" in columns
    }
    flexes_down = joint == "knee" and np.mean(found["r"]) < 0.0
    return {side: -values if flexes_down else values for side, values in found.items()}


def _strides(path: Path, time: np.ndarray, columns: Columns) -> dict[str, list[Stride]]:
    """Strides of each leg, by its letter."""
    period = float(np.median(np.diff(time)))
    found: dict[str, list[Stride]] = {}
    for leg, side in enumerate("rl"):
        for form in UPRIGHT_FORCES:
            if form.format(side) in columns:
                force = columns[form.format(side)]
                load = force / max(float(force.max()), 1e-9)
                found[side] = strides_of(load, leg, period, LOADED)
    if any(found.values()):
        return {side: strides for side, strides in found.items() if strides}
    if found:
        raise GaitError(
            f"{path} contains no complete stride, from touch-down to touch-down of a foot"
        )
    gaps = {joint: float(np.ptp(_angles(columns, joint)["r"][[0, -1]])) for joint in COLUMNS}
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


def _activations(columns: Columns, strides: dict[str, list[Stride]]) -> dict[str, Curve]:
    """Activations of the muscle groups with OpenSim muscle names."""
    groups = {
        name.removesuffix("_{side}"): group
        for group, names in planar22_anatomy().muscles.items()
        for name in names
    } | GROUPS
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in columns.items():
        match = re.fullmatch(r"(?:.*/)?(\w+)_([rl])[/.]activation", name)
        if match and match[1] in groups:
            found.setdefault(groups[match[1]], {})[match[2]] = values
    shared = {group: legs for group, legs in found.items() if set(legs) & set(strides)}
    return {group: _curve(legs, strides) for group, legs in shared.items()}
