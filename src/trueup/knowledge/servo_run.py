"""Finished servo fit, with the distribution of its parameters and its simulation on the bench."""

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
"""Parameter of the bench, not of a robot: the angle of gravity relative to the encoder [rad]."""


@dataclass(frozen=True)
class _Start:
    """Sample at the start of a rollout."""

    first: int


@dataclass(frozen=True)
class _Log:
    """A log as a recording of :class:`trueup.knowledge.held_out_check.HeldOutProblem`."""

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
    """A finished servo fit with the distribution of its parameters."""

    directory: RunDirectory
    """Directory of the run."""
    prepared: Prepared
    """The fit before its search: logs, simulators, problem."""
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    """Verdict on the use of the run."""
    model: ServoModel
    """The fitted servo."""
    fit: np.ndarray
    """Identified values ``(p,)``."""
    known: Gaussian
    """Distribution from the noise of the training logs."""
    widening: np.ndarray
    """Factor on the standard deviation of each parameter for model error ``(p,)``."""
    mark: str | None = None
    """Mark of all results, if logs have changed or the verdict is "do not use"."""

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
        """The bench with the held-out logs; None without any."""
        logs = self.prepared.held_out_logs
        return ServoLogs(self.prepared.simulator(logs)) if logs else None

    def units(self, problem: Any) -> list[tuple[str, ...]]:
        """Unit of each channel of each held-out log."""
        return [("rad",) for _ in problem.sequences]

    @property
    def drawn(self) -> ServoModel:
        """The fitted servo; each row contains its parameters."""
        return self.model

    def rows(self, values: np.ndarray) -> tuple[Draws, list[str]]:
        """Draws of the parameters of the servo, without those of the bench."""
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
      anyway: accept a run with the verdict "do not use", or with changed logs.
      folder: folder of the logs, if they have moved relative to the run.

    Raises:
      RunDirectoryError: it is not a finished servo fit, has no intervals, has the verdict "do not
        use", or its logs have changed.
    """
    opened = RunDirectory.open(directory)
    check = check_inputs(opened, folder=folder, anyway=anyway)
    if (kind := kind_of(opened)) != FitSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind)}; expected a servo fit (trueup actuator fit)"
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
