"""Information of logs of a servo about its unknowns, before they are recorded.

The simulator, its exact derivatives, the weights of the residuals and the noise of the samples that
a rollout starts from are those of a fit. If friction preserves an error of the start for long, the
residuals are correlated, and a fit widens its intervals: such a log has less weight, half
if that error adds :data:`_HELD` to the variance of the residuals.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.actuators.assess.start_noise import motions, start_noise_sizes
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.problem import ServoProblem
from trueup.design.bench.family import BenchCondition, BenchFamily
from trueup.design.bench.limits import BenchLimits
from trueup.design.robot.piece_information import PieceInformation
from trueup.knowledge.servo_run import ServoRun

_BATCH = 16  # number of logs per simulation
_HELD = 0.07  # fraction of the variance of the residuals, see above


def planned_log(
    template: ServoLog, condition: BenchCondition, name: str, rate: float, motion: np.ndarray
) -> ServoLog:
    """A log before its recording: its goals, at rest at the start.

    Args:
      template: log with the same servo, arm and supply.
      condition: load and gain.
      name: name of log and trajectory.
      rate: sampling rate [Hz].
      motion: goals [rad] and torque enables ``(2, T)``.
    """
    goals, enable = motion
    zeros = np.zeros(len(goals))
    volts = template.vin or (
        float(np.median(template.input_volts)) if template.input_volts is not None else 0.0
    )
    return replace(
        template,
        name=name,
        source=name,
        sha256="",
        trajectory=name,
        mass=condition.mass,
        length=condition.length,
        kp=condition.kp,
        dt=1.0 / rate,
        times=np.arange(len(goals)) / rate,
        position=zeros + goals[0],
        speed=zeros,
        goal_position=np.array(goals, float),
        torque_enable=np.asarray(enable) > 0.5,
        load=zeros,
        input_volts=zeros + volts,
        temperature=zeros + 30.0,
        columns={},
        header={},
    )


class BenchPieces:
    """Simulator of logs over all draws of the servo.

    Args:
      source: the fit.
      family: family of the logs.
      limits: limits of the motion.
      draws: servos that the design must suit ``(draws, p)``; the first is the estimate.
    """

    def __init__(
        self, source: ServoRun, family: BenchFamily, limits: BenchLimits, draws: np.ndarray
    ):
        self.source, self.family, self.limits = source, family, limits
        self.rows, self.draws, self.size = draws, *draws.shape
        self.batch = _BATCH
        """Number of logs per simulation."""
        names = source.space.names
        self.models = [
            source.model.with_values(**dict(zip(names, row.tolist(), strict=True))) for row in draws
        ]
        self._slopes = np.array([source.space.slope(row) for row in draws])
        # the residuals of the former logs determine the information of a sample
        self._worth = 1.0 / max(source.known.inflation, 1e-30)

    @property
    def vin(self) -> float | None:
        """Nominal bus voltage [V] of the fit that replaces that of the logs."""
        return self.source.prepared.settings.vin

    @property
    def template(self) -> ServoLog:
        """Former log that defines servo, arm and supply of the next ones."""
        return self.source.prepared.training_logs[0]

    def planned(self, rows: np.ndarray) -> list[ServoLog]:
        """Logs of rows ``(m, size)``."""
        goals, enable = self.family.logs(rows)
        rate = self.family.motion.rate
        names = [f"after_{self.source.directory.path.stem}_{k + 1}" for k in range(len(rows))]
        return [
            planned_log(self.template, self.family.condition(row), name, rate, np.stack(motion))
            for name, row, *motion in zip(names, rows, goals, enable, strict=True)
        ]

    def information(self, rows: np.ndarray) -> list[PieceInformation]:
        """Information of rows ``(m, size)``, see :meth:`information_of`."""
        return self.information_of(self.planned(rows))

    def information_of(self, logs: Sequence[ServoLog]) -> list[PieceInformation]:
        """Information of planned logs; zero for those that exceed limits."""
        out: list[PieceInformation] = []
        for first in range(0, len(logs), self.batch):
            out += self._batch(logs[first : first + self.batch])
        return out

    def simulator(self, logs: Sequence[ServoLog]) -> BenchSimulator:
        """Bench of the fit with planned logs."""
        prepared = self.source.prepared
        settings = prepared.settings
        return BenchSimulator(
            self.source.model,
            logs,
            free=prepared.free,
            scheme=settings.scheme,
            vin=settings.vin,
            threads=prepared.threads,
        )

    def excess(self, logs: Sequence[ServoLog]) -> dict[str, np.ndarray]:
        """Relative excess of planned logs over each limit for the worst draw ``(m,)``."""
        motion = self.simulator(logs).simulate(self.rows)
        return self.limits.excess(self.models, logs, motion, self.limits.margin, self.vin)

    def _batch(self, logs: Sequence[ServoLog]) -> list[PieceInformation]:
        over = self.excess(logs)
        total = np.sum(list(over.values()), axis=0)
        zero = np.zeros((self.draws, self.size, self.size))
        out = [
            PieceInformation(
                zero, zero, float(total[k]), ", ".join(w for w, v in over.items() if v[k] > 0)
            )
            for k in range(len(logs))
        ]
        good = np.flatnonzero(total == 0).tolist()
        if good:
            for k, found in zip(good, self._known([logs[k] for k in good]), strict=True):
                out[k] = found
        return out

    def _known(self, logs: Sequence[ServoLog]) -> list[PieceInformation]:
        """Information of logs within the limits."""
        problem = ServoProblem(self.simulator(logs), self.source.prepared.settings.objective)
        weights = np.array(problem.objective.weights)
        used = np.flatnonzero(weights > 0)
        simulator = problem.simulator
        _, slopes = simulator.sensitivities(self.rows, position_only=used.tolist() == [0])
        # draws, channels, samples, parameters
        slopes = slopes[:, used] * weights[used][:, None, None] * self._slopes[:, None, None, :]
        effects = self._effects_of_starts(problem)
        out = []
        for number in range(len(logs)):
            own = slopes[:, :, simulator.data.log_samples(number)]
            added = (effects[number] ** 2).mean(axis=(2, 3)).max(axis=0) / self._variance
            worth = (self._worth / (1.0 + (added / _HELD) ** 2))[:, None]
            gram = worth[..., None] * np.einsum("dctp,dctq->dpq", own, own, optimize=True)
            pulls = worth * np.einsum("dctp,edtc->edp", own, effects[number], optimize=True)
            out.append(PieceInformation(gram, gram + np.einsum("edp,edq->dpq", pulls, pulls), 0.0))
        return out

    def _effects_of_starts(self, problem: ServoProblem) -> list[np.ndarray]:
        """Change of the residuals ``(2, draws, T, channels)`` due to noise of each log's start."""
        count = len(problem.simulator.logs)
        before = motions(problem, self.rows)
        out = [[] for _ in range(count)]
        for channel, size in enumerate(self._start_noise):
            after = motions(problem, self.rows, channel, np.full(count, size))
            for number in range(count):
                change = after[number] - before[number]
                out[number].append(problem.weighted_change(change, number))
        return [np.stack(effects) for effects in out]

    @functools.cached_property
    def _former(self) -> ServoProblem:
        """Problem of the former logs."""
        prepared = self.source.prepared
        simulator = prepared.simulator(prepared.training_logs)
        return ServoProblem(simulator, prepared.settings.objective)

    @functools.cached_property
    def _start_noise(self) -> np.ndarray:
        """Standard deviation of position [rad] and speed [rad/s] noise at starts of rollouts."""
        fitted = [motion[0] for motion in motions(self._former, self.source.fit[None, :])]
        return np.median(start_noise_sizes(self._former, fitted), axis=1)

    @functools.cached_property
    def _variance(self) -> float:
        """Mean square of the residuals of the former logs."""
        return max(float(np.mean(self._former.residuals(self.source.fit[None, :]) ** 2)), 1e-30)
