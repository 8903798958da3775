"""A conventional chirp, for comparison with a design."""

import numpy as np

from trueup.design.motion.family import MotionFamily, chirp
from trueup.design.prepared import PreparedDesign, training_fraction
from trueup.design.robot.piece_information import PieceSimulator
from trueup.design.table import Widths

_SHRINK = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08)


def largest_chirp(prepared: PreparedDesign) -> tuple[np.ndarray, Widths] | None:
    """Chirp of all joints, as large as the limits of a design allow.

    Returns:
      Commands ``(T, n)`` [rad, m] and intervals; None if even a small one exceeds the limits.
    """
    robot, experiment = prepared.robot, prepared.spec.experiment
    limits, part = robot.limits.commands(), experiment.design
    whole = MotionFamily(robot.pose, limits, part.duration, part.rate)
    simulator = PieceSimulator(
        robot, whole, prepared.noise, prepared.clearance, training_fraction(experiment)
    )
    shape = chirp(robot.pose, limits, part.duration, part.rate) - robot.pose
    for share in _SHRINK:
        commands = robot.pose + share * shape
        (found,) = simulator.information_of(commands[None])
        if found.excess == 0:
            return commands, Widths.of(prepared.problem.criterion, found.gram, found.spread)
    return None
