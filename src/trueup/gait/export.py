"""Export of walks: motions and forces for OpenSim, and tables."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from trueup.errors import GaitError
from trueup.gait.models.coordinates import coordinates_of
from trueup.gait.models.walker import Walker
from trueup.gait.walk.series import JOINTS, WalkSeries
from trueup.runs.store import atomic

FORMATS = {
    ".mot": "coordinates in degrees and metres",
    ".sto": "activations, ground reaction, moments and device",
    ".csv": "all of them, with units",
}
"""File suffixes and their content."""


def write_walk(path: str | Path, walker: Walker, series: WalkSeries) -> Path:
    """Write a walk over time.

    ``.mot`` contains the coordinates of the model by the names of its joints, in degrees and
    metres, in the format of OpenSim motions. ``.sto`` contains the activation of each muscle
    (``soleus_r/activation``), the ground reaction (``ground_force_r_vx`` forward, ``vy`` vertical,
    ``vz`` to the right) [N], the internal moments of the joints (``knee_r_moment``, extension and
    plantarflexion positive) [N m] and, where there is a device, its torque [N m] and power [W].
    ``.csv`` contains all of them, with a header of names and units.

    Args:
      path: output file; its suffix selects the format.
      walker: walker of the walk.
      series: the walk, by :func:`trueup.gait.observe_walks`.

    Returns:
      The path.

    Raises:
      GaitError: another suffix.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        known = ", ".join(f"{name} ({what})" for name, what in FORMATS.items())
        raise GaitError(f"{path} has an unsupported suffix; available: {known}")
    coordinates, forces = _coordinates(walker, series), _forces(series)
    if ending == ".csv":
        return _write_table(path, series, {**coordinates, **forces})
    columns = coordinates if ending == ".mot" else forces
    values = np.column_stack([series.time, *(column for column, _ in columns.values())])
    return write_opensim(path, ("time", *columns), values, degrees=ending == ".mot")


def write_opensim(path: Path, columns: Sequence[str], values: np.ndarray, *, degrees: bool) -> Path:
    """Write a table of OpenSim; returns the path.

    Args:
      path: ``.mot`` or ``.sto`` file.
      columns: names of the columns; the first one is ``time``.
      values: ``(rows, columns)``.
      degrees: whether angles are in degrees; else they are in radians.
    """
    head = [
        path.stem,
        "version=1",
        f"nRows={len(values)}",
        f"nColumns={len(columns)}",
        f"inDegrees={'yes' if degrees else 'no'}",
        "endheader",
        "\t".join(columns),
    ]
    rows = ["\t".join(f"{value:.9g}" for value in row) for row in values]
    atomic.write_text(path, "\n".join([*head, *rows]) + "\n")
    return path


Columns = dict[str, tuple[np.ndarray, str]]
"""Values ``(frames,)`` and unit of columns by name."""


def _coordinates(walker: Walker, series: WalkSeries) -> Columns:
    """Coordinates of hinge and slide joints [deg, m]."""
    model = walker.model
    signs = coordinates_of(model).signs
    found: Columns = {}
    # a state begins with the time, followed by the coordinates
    first = mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_TIME.value))
    for joint in range(model.njnt):
        kind = mujoco.mjtJoint(int(model.jnt_type[joint]))
        if kind not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            continue
        turns = kind == mujoco.mjtJoint.mjJNT_HINGE
        name = model.joint(joint).name
        # an inverted joint has the opposite sign of the coordinate of OpenSim
        values = signs.get(name, 1.0) * series.states[:, first + model.jnt_qposadr[joint]]
        found[name] = (np.rad2deg(values), "deg") if turns else (values, "m")
    return found


def _forces(series: WalkSeries) -> Columns:
    found: Columns = {
        f"{name}/activation": (values, "")
        for name, values in zip(series.muscles, series.activations.T, strict=True)
    }
    for leg, side in enumerate("rl"):
        forward, left, upright = series.ground_force[:, leg].T
        for axis, force in (("x", forward), ("y", upright), ("z", -left)):
            found[f"ground_force_{side}_v{axis}"] = (force, "N")
    for leg, side in enumerate("rl"):
        for k, joint in enumerate(JOINTS):
            found[f"{joint}_{side}_moment"] = (series.moments[:, leg, k], "N m")
    for leg, side in enumerate("rl" if series.has_device else ""):
        found[f"device_{side}_torque"] = (series.device_torque[:, leg], "N m")
        found[f"device_{side}_power"] = (series.device_power[:, leg], "W")
    return found


def _write_table(path: Path, series: WalkSeries, columns: Columns) -> Path:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    units = (f"{name} [{unit}]" if unit else name for name, (_, unit) in columns.items())
    table.writerow(["time [s]", *units])
    values = np.column_stack([series.time, *(column for column, _ in columns.values())])
    table.writerows([f"{value:.9g}" for value in row] for row in values)
    atomic.write_text(path, text.getvalue())
    return path
