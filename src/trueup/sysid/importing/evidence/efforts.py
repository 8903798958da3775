"""Kind of recorded efforts: torques, currents with a constant at each joint, position errors.

A name or a unit says it, or the values do: the difference of command and position repeats the noise
of the encoder with the factor -1, and a torque has the size of the weight of the links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.sysid.importing.columns.names import is_current, take_apart
from trueup.sysid.importing.evidence.reading import JointSeries, Reading, values_of
from trueup.sysid.importing.evidence.torque_agreement import TorqueAgreement
from trueup.sysid.torque.left_out_forces import torque_is_known

TORQUE, CURRENT, ERROR, STRANGE = "torque", "current", "error", "strange"

_NEAR_ONE = (0.4, 2.5)  # plausible range of the ratio of model to recorded torque
_DETERMINED = 10.0  # standard errors of a constant that the weight determines
_ALIKE = 0.95  # least correlation of the noise of an error with that of its position


@dataclass(frozen=True)
class Efforts:
    """Kind of the efforts, and their relation to torques."""

    kind: str
    """``torque``, ``current``, ``error`` (of the position), or ``strange``: of another size."""
    constants: dict[int, float]
    """Torque per recorded effort [N m per unit] by joint, where the weight of the links has it."""
    points: list[str]
    """Open points, in sentences."""


def judge_efforts(
    model: mujoco.MjModel,
    readings: Sequence[Reading],
    series: JointSeries,
    columns: Mapping[int, str],
    units: Mapping[str, str],
) -> Efforts:
    """Kind of the efforts of a log.

    Args:
      model: the robot.
      readings: interpretation of the positions.
      series: positions, commands and efforts.
      columns: column of the effort by joint.
      units: units that the file states, by column.
    """
    if series.effort is None or not columns:
        return Efforts(TORQUE, {}, [])
    names = [model.joint(r.joint).name for r in readings if r.joint in columns]
    if _are_errors(readings, series):
        return Efforts(
            ERROR,
            {},
            [
                f"efforts of {listing(names)} are the position error (commanded minus measured), "
                "not a torque: they repeat the noise of the position with the factor -1. Position "
                "plus effort is the command: write it into the log as a column of commands"
            ],
        )
    constants = _constants(model, readings, series)
    by_name = any(_is_current(column, units.get(column, "")) for column in columns.values())
    if by_name:
        return Efforts(CURRENT, constants, _of_currents(model, readings, columns, constants))
    off = {j: k for j, k in constants.items() if not _NEAR_ONE[0] < k < _NEAR_ONE[1]}
    if not off:
        return Efforts(TORQUE, constants, [])
    each = ", ".join(f"{model.joint(j).name} {k:.3g}" for j, k in constants.items())
    sign = ", and check the sign" if any(k < 0 for k in off.values()) else ""
    return Efforts(
        STRANGE,
        constants,
        [
            "efforts are not the torque of inverse dynamics: they are currents, or torques on the "
            f"motor side. By the weight of the links, N m per unit are: {each}. The constant of "
            f"each joint is an unknown of the experiment{sign}"
        ],
    )


def _is_current(column: str, unit: str) -> bool:
    # CurrentPosition is the present one
    name = take_apart(column)
    return unit in ("A", "mA") or (is_current(column) and name.quantity == "effort")


def _of_currents(
    model: mujoco.MjModel,
    readings: Sequence[Reading],
    columns: Mapping[int, str],
    constants: Mapping[int, float],
) -> list[str]:
    each = ", ".join(f"{model.joint(j).name} {k:.3g}" for j, k in constants.items())
    found = f" By the weight of the links they are {each}." if each else ""
    out = [
        f"efforts ({next(iter(columns.values()))}, ...) are currents by their name, not torques: "
        "where they drive joints, the constant of each joint [N m per A] is an unknown of the "
        f"experiment.{found}"
    ]
    left = [model.joint(r.joint).name for r in readings if r.joint not in constants]
    if left:
        out.append(
            f"the constant of {listing(left)} [N m per A] is hardly determined by weight: give it "
            "as start with a prior, or freeze it, where the drive is known"
        )
    return out


def _are_errors(readings: Sequence[Reading], series: JointSeries) -> bool:
    """Whether efforts are command minus position.

    The fourth difference removes the motion and leaves the noise of the encoder. A controller's
    torque repeats that noise too, but times its stiffness.
    """
    assert series.effort is not None
    found = []
    for k, reading in enumerate(readings):
        position, effort = values_of(reading, series.position[:, k]), series.effort[:, k]
        if np.std(effort) < 1e-12 or np.std(position) < 1e-12:
            continue
        scale = position.std() / max(float(np.std(series.position[:, k])), 1e-12)
        for factor in (1.0, scale):
            a, b = np.diff(position, 4), factor * np.diff(effort, 4)
            size = float(a @ a)
            if size <= 0 or float(b @ b) <= 0:
                continue
            slope, alike = float(a @ b) / size, float(a @ b) / np.sqrt(size * float(b @ b))
            if alike < -_ALIKE and abs(slope + 1) < 0.1:
                found.append(True)
                break
        else:
            found.append(False)
    return bool(found) and all(found)


def _constants(
    model: mujoco.MjModel, readings: Sequence[Reading], series: JointSeries
) -> dict[int, float]:
    """Torque per effort of joints where weight and inertia of the links determine it."""
    if model.nv != model.njnt:
        return {}
    agreement = TorqueAgreement(model, readings, series)
    out = {}
    for reading, (gain, error) in zip(readings, agreement.gains(readings), strict=True):
        if torque_is_known(model, reading.joint) and abs(gain) > _DETERMINED * error:
            out[reading.joint] = 1.0 / gain
    return out
