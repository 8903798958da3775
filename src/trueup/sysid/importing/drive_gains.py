"""Gains of servos and torque constants of motors that a log has, or leaves unknown."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from trueup.sysid.importing.columns.joint_families import JointLog
from trueup.sysid.importing.columns.names import take_apart
from trueup.sysid.importing.drive_controls import actuator_name
from trueup.sysid.importing.evidence.efforts import CURRENT, STRANGE, Efforts
from trueup.sysid.importing.evidence.reading import Reading
from trueup.sysid.importing.imported_log import ImportedLog
from trueup.sysid.importing.proposed_parameters import ProposedParameter, rounded
from trueup.sysid.importing.template_text import quoted

_SAME_GAIN = 0.05  # maximum relative spread of a constant gain


def gains_of_log(
    robot: mujoco.MjModel, log: ImportedLog, readings: Sequence[Reading]
) -> tuple[list[str], list[str]]:
    """Gains of the log as settings of the model; empty if it has none."""
    joints = log.joints
    assert joints is not None
    lines, points = [], []
    for kind in ("kp", "kd"):
        values = _constants(log, joints, kind)
        for r in readings:
            column = joints.column(r.joint, kind, True) or joints.column(r.joint, kind)
            if column is None:
                continue
            found = log.recording.column(column)[1]
            found = found[np.isfinite(found)]
            middle = float(np.median(found))
            if np.std(found) > _SAME_GAIN * max(abs(middle), 1e-9):
                points.append(
                    f"{kind} of {robot.joint(r.joint).name} changes in the log, from "
                    f"{found.min():.4g} to {found.max():.4g}: trim to a part with one gain"
                )
            values[r.joint] = middle
        if not {r.joint for r in readings} <= set(values) or not any(values.values()):
            # a law without damping is a law
            return (lines, points) if kind == "kd" else ([], [])
        pairs = ", ".join(
            f"{quoted(actuator_name(robot, r.joint))}: {values[r.joint]:.6g}" for r in readings
        )
        lines.append(f"{kind}: {{{pairs}}}")
    return lines, points


def _constants(log: ImportedLog, joints: JointLog, kind: str) -> dict[int, float]:
    """Gains that a file gives once, for all joints or one for each, by joint."""
    labels = list(joints.joints)
    labels = sorted(labels, key=int) if all(label.isdigit() for label in labels) else labels
    for name, value in log.recording.metadata.items():
        numbers = value if isinstance(value, list) else [value] * len(labels)
        if take_apart(name).quantity != kind or len(numbers) != len(labels):
            continue
        known = [float(n) for n in numbers if isinstance(n, int | float)]
        if len(known) == len(labels):
            return {joints.joints[label]: n for label, n in zip(labels, known, strict=True)}
    return {}


def torque_constants(
    robot: mujoco.MjModel,
    readings: Sequence[Reading],
    efforts: Mapping[int, str],
    kind: Efforts,
) -> tuple[ProposedParameter, ...]:
    """Torque constants as unknowns, where efforts are no torques; their signs are those found."""
    if kind.kind not in (CURRENT, STRANGE):
        return ()
    # a joint whose weight does not tell starts at the usual constant of the others
    usual = float(np.median(np.abs(list(kind.constants.values())))) if kind.constants else 1.0
    unit = "N m/A" if kind.kind == CURRENT else "N m"
    out = []
    for r in readings:
        if r.joint not in efforts:
            continue
        start = abs(kind.constants.get(r.joint, usual))
        known = r.joint in kind.constants
        wide = 3.0 if known else 10.0
        name = actuator_name(robot, r.joint)
        out.append(
            ProposedParameter(
                f"{name.replace('/', '_')}_constant",
                f"actuator/{name}/gainprm/0",
                rounded(start),
                rounded(start / wide),
                rounded(start * wide),
                True,
                unit,
            )
        )
    return tuple(out)
