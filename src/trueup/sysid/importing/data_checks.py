"""Checks of the columns of joints in an import: copies, and torques beyond the model's limits."""

from collections.abc import Mapping

import mujoco

from trueup.errors import RecordingError
from trueup.signals.checks.copies import copy_sentence
from trueup.signals.checks.limits import beyond
from trueup.signals.checks.spikes import spike_rows
from trueup.signals.checks.statistics import noise_level
from trueup.sysid.importing.columns.joint_families import JointLog
from trueup.sysid.importing.evidence.reading import JointSeries
from trueup.sysid.recordings.model_limits import force_limit


def check_commands(
    robot: mujoco.MjModel, series: JointSeries, columns: Mapping[int, str], joints: JointLog
) -> None:
    """Check that commanded positions are no copy of the measured ones.

    Raises:
      RecordingError: the command of a joint is a copy.
    """
    if series.command is None:
        return
    for k, joint in enumerate(series.joints):
        command = joints.column(joint, "position", True) or robot.joint(joint).name
        sentence = copy_sentence(
            command, series.command[:, k], columns[joint], series.position[:, k]
        )
        if sentence:
            raise RecordingError(sentence)


def torques_beyond(robot: mujoco.MjModel, series: JointSeries, joints: JointLog) -> list[str]:
    """Sentences on recorded torques beyond the force limits of the model; empty for none."""
    if series.effort is None:
        return []
    out = []
    for k, joint in enumerate(series.joints):
        limit = force_limit(robot, joint)
        values = series.effort[:, k]
        if limit is None:
            continue
        values = values[~spike_rows(values)]
        name = joints.column(joint, "effort") or f"the torque of {robot.joint(joint).name}"
        sentence = beyond(name, values, limit, noise_level(values))
        if sentence:
            out.append(sentence.rstrip("."))
    return out
