"""Checked inputs of the design of a robot's recording."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, joined
from trueup.design.criterion import Criterion, half_scales
from trueup.design.last_run import knowledge_of
from trueup.design.motion.family import MotionFamily
from trueup.design.motion.problem import channel_noise
from trueup.design.problem import DesignProblem
from trueup.design.recording_noise import ChannelNoiseModel, recorded
from trueup.design.robot.clearance import Clearance
from trueup.design.robot.designed_robot import DesignedRobot, designed_robot
from trueup.design.robot.piece_information import PieceSimulator
from trueup.design.search import DesignSearch
from trueup.design.search_run import compared_prediction
from trueup.design.search_settings import SECONDS
from trueup.design.spec import DesignSpec
from trueup.knowledge.identified import IdentifiedRun, identified_run
from trueup.runs.loop.budget import Budget
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.results.outputs import read_signals

PIECE = 5.0  # approximate duration of a piece [s]
_LIBRARY = (24, 320)  # smallest and largest number of pieces
_LIBRARY_SHARE = 0.45  # fraction of the time of the search


@dataclass(frozen=True)
class PreparedDesign:
    """Inputs of a design."""

    spec: DesignSpec
    """The spec with its notes and the size of the library."""
    comparison: dict[str, Any] | None
    """Comparison of the last prediction with its result; None without one."""
    last_run: IdentifiedRun | None
    """Run of the last recording; None for a design from bounds and priors."""
    robot: DesignedRobot
    """Robot, controller, sensors and unknowns."""
    noise: Mapping[str, ChannelNoiseModel]
    """Noise by channel."""
    family: MotionFamily
    """Family of the pieces."""
    clearance: Clearance
    """Distances to keep."""
    problem: DesignProblem
    """Information of pieces, and the criterion."""
    seconds_a_piece: float | None
    """Time of a piece [s]; None if the size of the library is given."""

    @property
    def inputs(self) -> list[Path]:
        """Input files."""
        files = list(self.robot.inputs)
        return files if self.last_run is None else [*files, self.last_run.directory.solution]

    @property
    def mark(self) -> str | None:
        """Mark of all outputs if inputs of the last runs have changed."""
        return joined(
            None if self.last_run is None else self.last_run.mark,
            None if self.comparison is None else self.comparison.get(KEY),
        )

    @property
    def wider(self) -> str:
        """Advice on allowing more motions."""
        return (
            f"Widen design.limits, which include a margin of {100 * self.robot.limits.margin:.0f} "
            "% (design.limits.margin), or choose another design.pose"
        )

    def commands(self, x: np.ndarray) -> np.ndarray:
        """Commands ``(T, n)`` [rad, m] of pieces ``(slots, size)``."""
        return np.concatenate(list(self.family.commands(x)))


def prepare(spec: DesignSpec) -> PreparedDesign:
    """Read and check everything that a design requires; nothing is written.

    Raises:
      ExperimentError: the controller is not in the model, or the limits exclude any motion.
      RunDirectoryError: the last run has no intervals, has the verdict "do not use", or is of
        another model.
      SimulationError: the requested device is not usable, or cannot simulate the robot.
    """
    device = DeviceChoice(spec.experiment.simulation.device, "The search for pieces")
    # an invalid prediction is reported before the slow steps
    comparison = compared_prediction(spec)
    last_run, estimate, known, found = None, None, None, {}
    if spec.after is not None:
        last_run = identified_run(spec.after, anyway=spec.anyway)
        estimate, known = knowledge_of(last_run, spec.experiment)
        found = dict(recorded(read_signals(last_run.directory), last_run.directory.path.name))
    robot = designed_robot(spec.experiment, spec.folder, spec.seed or 0, estimate, known)
    noise = channel_noise(robot, found)
    part = spec.experiment.design
    slots = max(1, round(part.duration / PIECE))
    family = MotionFamily(robot.pose, robot.limits.commands(), part.duration / slots, part.rate)
    qpos = robot.state[1 : 1 + robot.model.nq]
    wanted = part.limits.clearance * (1 + part.limits.margin)
    clearance = Clearance.of(robot.model, qpos, wanted)
    simulator = PieceSimulator(robot, family, noise, clearance, device=device)
    shares = np.clip(slots * training_fraction(spec.experiment) - np.arange(slots), 0.0, 1.0)
    criterion = Criterion(half_scales(robot.parameters), robot.known)
    problem = DesignProblem(simulator, shares, criterion)
    seconds = seconds_a_piece(simulator) if spec.library is None else None
    library = spec.library if seconds is None else affordable(spec.limits, seconds)
    notes = [*robot.notes, *simulator.notes]
    if clearance.touching:
        close = ", ".join(clearance.touching[:4])
        notes.append(
            f"Closer than the clearance in the start pose and therefore not checked: {close}."
        )
    return PreparedDesign(
        spec=spec.model_copy(update={"library": library, "notes": tuple(notes)}),
        comparison=comparison,
        last_run=last_run,
        robot=robot,
        noise=noise,
        family=family,
        clearance=clearance,
        problem=problem,
        seconds_a_piece=seconds,
    )


def training_fraction(experiment: Experiment) -> float:
    """Fraction of a recording, from its start, that is used for training; the rest is held out."""
    return 1.0 - experiment.held_out.fraction


def seconds_a_piece(simulator: PieceSimulator) -> float:
    """Time per evaluation of a piece [s], measured on a batch."""
    rows = simulator.family.random(simulator.batch, np.random.default_rng(0))
    rows[:, 2:] *= 0.2
    if simulator.on_device:
        simulator.information(rows)  # kernels are compiled, and worlds made
    began = time.perf_counter()
    simulator.information(rows)
    return (time.perf_counter() - began) / len(rows)


def affordable(limits: Budget, seconds: float) -> int:
    """Number of pieces within the time of the library.

    Args:
      limits: limits of the search.
      seconds: time per piece [s].
    """
    whole = limits.max_seconds or SECONDS
    return int(np.clip(_LIBRARY_SHARE * whole / seconds, *_LIBRARY))


def make_search(prepared: PreparedDesign) -> DesignSearch:
    """The search before its first batch."""
    spec, problem = prepared.spec, prepared.problem
    assert spec.library is not None  # set during preparation
    pieces = prepared.family.random(spec.library, np.random.default_rng([spec.seed or 0, 1]))
    return DesignSearch(
        problem.space,
        pieces,
        problem.slots,
        problem.shares,
        max(problem.simulator.batch, 4),
        (problem.simulator.draws, problem.simulator.size),
        polish=spec.polish,
        rounds=spec.turns,
        target=spec.experiment.design.target_interval,
        seed=spec.seed or 0,
    )
