"""Knowledge of a finished servo fit, ready to be drawn from and simulated on its bench."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.search.prepared_fit import Prepared, prepare
from trueup.actuators.search.problem import ServoProblem
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.search.steps import read_inputs
from trueup.actuators.selection.model_for_fit import choice_of_run, chosen_spec
from trueup.errors import RunDirectoryError
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.draws import Draws
from trueup.knowledge.finished_run import check_names, finished, known_of, mark_of, values_of
from trueup.knowledge.gaussian_run import GaussianRun
from trueup.parameters import Space
from trueup.runs import check_inputs, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.input_check import check_read
from trueup.runs.store.run_directory import RunDirectory

OF_BENCH = "q_offset"
"""Parameter of the bench that no robot has: the angle of gravity against the encoder."""


@dataclass(frozen=True)
class _Start:
    """A sample that a rollout starts from."""

    first: int


@dataclass(frozen=True)
class _Log:
    """A log as :class:`trueup.knowledge.held_out_check.HeldOutProblem` has recordings."""

    name: str
    times: np.ndarray
    measured: np.ndarray
    windows: tuple[_Start, ...]
    channels: tuple[int, ...] = (0,)
    channel_names: tuple[str, ...] = ("position",)
    weights: float = 1.0


class ServoLogs(ServoProblem):
    """Positions in logs, and their simulation on the bench.

    Args:
      simulator: bench with the free parameters of the fit.
    """

    def __init__(self, simulator: BenchSimulator):
        super().__init__(simulator)
        self.sequences: Sequence[_Log] = [
            _Log(
                log.name,
                log.times,
                log.position[:, None],
                tuple(_Start(int(first)) for first in self.start_samples(number)),
            )
            for number, log in enumerate(simulator.logs)
        ]

    def predictions(
        self, X: np.ndarray, failures: Failures | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Measured ``(1, T, 1)`` and simulated ``(n, T, 1)`` positions of each log [rad]."""
        motion = self.simulator.simulate(np.atleast_2d(X))
        if failures is not None:
            failures.update(motion.failures)
        return [
            (log.measured[None], position[..., None])
            for log, position in zip(self.sequences, motion.position, strict=True)
        ]


@dataclass(frozen=True)
class ServoRun(GaussianRun):
    """A finished servo fit and what is known of its parameters."""

    directory: RunDirectory
    prepared: Prepared
    """The fit before its search: logs, simulators, problem."""
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    model: ServoModel
    """The fitted servo."""
    fit: np.ndarray
    """Identified values ``(p,)``."""
    known: Gaussian
    """Knowledge from the noise of the training logs."""
    widening: np.ndarray
    """Factor on the standard deviation of each parameter, for the error of the model ``(p,)``."""
    mark: str | None = None
    """Mark of everything made from it, where its inputs have changed."""

    @property
    def space(self) -> Space:
        """The free parameters and their bounds."""
        return self.prepared.space

    @property
    def training_error(self) -> float:
        """Mean square of the training residuals."""
        problem = ServoLogs(self.prepared.simulator(self.prepared.training_logs))
        blocks = [values for _, values in problem.residual_blocks(self.fit[None], {})]
        return float(np.mean(np.concatenate(blocks, axis=1) ** 2))

    def held_out_problem(self) -> "ServoLogs | None":
        """The bench with the logs held out; None where none is."""
        logs = self.prepared.held_out_logs
        return ServoLogs(self.prepared.simulator(logs)) if logs else None

    def units(self, problem: Any) -> list[tuple[str, ...]]:
        """Unit of each channel of each held-out log."""
        return [("rad",) for _ in problem.sequences]

    @property
    def drawn(self) -> ServoModel:
        """The servo that the rows are draws of."""
        return self.model

    def rows(self, values: np.ndarray) -> tuple[Draws, list[str]]:
        """Rows of the parameters that belong to the servo."""
        kept = [i for i, name in enumerate(self.names) if name != OF_BENCH]
        units = self.space.units or ("",) * self.space.size
        made = Draws(
            tuple(self.names[i] for i in kept),
            tuple(units[i] for i in kept),
            tuple(f"servo/{self.names[i]}" for i in kept),
            values[:, kept],
        )
        return made, []


def servo_run(
    directory: str | os.PathLike[str], *, anyway: bool = False, folder: Path | None = None
) -> ServoRun:
    """Read a finished servo fit.

    Args:
      directory: run directory.
      anyway: take a run whose verdict is "do not use", or whose logs have changed, too.
      folder: where the logs are, if they have moved away from the run.

    Raises:
      RunDirectoryError: it is no finished servo fit, has no intervals, its verdict is "do not
        use", or its logs have changed.
    """
    opened = RunDirectory.open(directory)
    check = check_inputs(opened, folder=folder, anyway=anyway)
    if (kind := kind_of(opened)) != FitSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind)}; this takes a servo fit (trueup actuator fit)"
        )
    spec = read_spec(opened, folder)
    assert isinstance(spec, FitSpec)
    spec.check_whole(opened.path)
    solution, verdict = finished(opened, anyway)
    known = known_of(solution, opened)
    logs = read_inputs(spec)
    fitted = chosen_spec(spec, choice_of_run(spec, opened))
    prepared = prepare(fitted, logs.logs)
    inputs = spec.named_inputs or logs.inputs()
    mark = mark_of(check_read(check, inputs, anyway=anyway), verdict)
    space = prepared.space
    check_names(known, space.names, opened)
    fit = values_of(solution, opened)
    with read_as_written(opened.solution):
        widening = np.array(solution["widening"], float)
    values = dict(zip(space.names, fit.tolist(), strict=True))
    model = prepared.start_model.with_values(**values)
    return ServoRun(opened, prepared, solution, verdict, model, fit, known, widening, mark)
