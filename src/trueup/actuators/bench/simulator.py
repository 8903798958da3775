"""The bench simulator: candidates x logs in one compiled call, with exact derivatives on demand."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trueup.actuators.bench._data import BenchData
from trueup.actuators.bench.conditions import conditions_of
from trueup.actuators.bench.loads import Bench, bench_of
from trueup.actuators.bench.objective import CHANNELS, Objective
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.friction_models import layout_of
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, RecordingError, listing
from trueup.fitting.problem import LARGE_COST, Failures

if TYPE_CHECKING:
    from trueup.actuators.bench._step_program import StepKind

SCHEMES = ("semi-implicit", "bam")
"""Integration schemes. ``semi-implicit``: the position moves with the new speed, damping and
friction are implicit, in steps of at most a given length; MuJoCo's integrator converges to the same
motion. ``bam``: Better Actuator Models' explicit step, one per sample, with a position that leads
by part of a step."""

MAX_STEP = 1e-3
"""Longest default step of the semi-implicit scheme [s]."""

# Steps of a thread at least, some 3 ms: to start one and to end it takes a millisecond.
_STEPS_OF_THREAD = 150_000
_SLOPES_COST = 5  # cost of a rollout with derivatives relative to one without


@dataclass(frozen=True)
class Rollouts:
    """Simulated motion of candidates in each log."""

    position: list[np.ndarray]
    """Position [rad] for each log, ``(n, T)``; NaN after a rollout has diverged."""
    speed: list[np.ndarray]
    """Speed [rad/s], likewise."""
    duty: list[np.ndarray]
    """Duty cycle of the bridge, likewise; while torque is off, the value that it would have."""
    failures: Failures
    """Candidate -> message with the log and time of divergence."""


class BenchSimulator:
    """Simulates a servo on the bench of each log, for batches of candidates.

    Args:
      model: servo, friction model, terms, and the values of what is not free.
      logs: evenly sampled logs, of any lengths. A rollout starts from the first sample's position
        and speed, and follows the log's goals, each held until the next.
      free: names of the candidates' columns, in order; all parameters by default.
      benches: load of each log; by default the pendulum that the log describes.
      scheme: one of ``SCHEMES``.
      max_step: longest step of the semi-implicit scheme [s].
      reset_period: interval at which position and speed are reset to the log's [s].
      vin: nominal bus voltage [V] that replaces that of the logs.
      threads: number of threads; all cores by default.

    Raises:
      FitError: an unknown scheme, or one that does not support the model's terms; a voltage that is
        not positive; a reset period shorter than two samples.
      RecordingError: a log is of another servo, is unevenly sampled, describes no load, or lacks
        a measurement that a term requires.
    """

    def __init__(
        self,
        model: ServoModel,
        logs: Sequence[ServoLog],
        *,
        free: Iterable[str] | None = None,
        benches: Sequence[Bench] | None = None,
        scheme: str = "semi-implicit",
        max_step: float = MAX_STEP,
        reset_period: float | None = None,
        vin: float | None = None,
        threads: int | None = None,
    ):
        if scheme not in SCHEMES:
            raise FitError(f"unknown scheme {scheme!r}; available: {listing(SCHEMES)}")
        if scheme == "bam" and "backlash" in model.terms:
            raise FitError(
                "the scheme 'bam' does not support backlash: use the scheme 'semi-implicit'"
            )
        if not max_step > 0 or not (reset_period is None or reset_period > 0):
            raise FitError(
                f"max_step and reset_period must be positive [s], got {max_step} and {reset_period}"
            )
        # a voltage in mV is not refused here: it is fitted, and a finding reports it
        if vin is not None and not 0 < vin <= 1e6:
            raise FitError(
                "vin replaces the bus voltage of the logs and must be above 0 and at most 1e6 V, "
                f"got {vin:g}: omit it to use the voltages of the logs"
            )
        if not logs:
            raise RecordingError("no logs to simulate: give at least one")
        if reset_period is not None:
            _check_reset_period(reset_period, logs)
        if benches is not None and len(benches) != len(logs):
            raise FitError(f"{len(benches)} benches for {len(logs)} logs: give one bench per log")
        self.model = model
        self.logs = tuple(logs)
        self.names = model.names if free is None else model.check_names(free)
        self.scheme = scheme
        self.threads = threads
        benches = [bench_of(log) for log in logs] if benches is None else benches
        self.conditions = conditions_of(logs, benches)
        """Gains, voltages and loads of the logs, without duplicates, as plain data."""
        self.data = BenchData.of(
            model.servo,
            self.logs,
            benches,
            model.terms,
            None if scheme == "bam" else max_step,
            reset_period,
            vin,
        )
        self._layout = layout_of(model.friction)
        self._base = self._layout.row(model.values)
        entries = [(k, c) for k, n in enumerate(self.names) for c in self._layout.columns_of(n)]
        self._sources, self._targets = np.array(entries, np.int64).reshape(-1, 2).T
        self._kind = self._step_kind()

    @property
    def log_names(self) -> tuple[str, ...]:
        """Names of the logs."""
        return tuple(log.name for log in self.logs)

    def costs(
        self,
        X: np.ndarray,
        objective: Objective | None = None,
        failures: Failures | None = None,
    ) -> np.ndarray:
        """Objective of each candidate ``(n,)``; a large finite cost for one that diverges.

        Args:
          X: candidates ``(n, p)``, columns as in :attr:`names`.
          objective: what to minimise; the mean absolute position error [rad] by default.
          failures: output, candidate -> message, for candidates that diverged.
        """
        objective = self._checked(objective)
        sums, failed = self._run(self._batch(X), objective)
        self._note(failed, failures)
        return np.where(_is_lost(failed), LARGE_COST, self._combined(sums, objective))

    def log_costs(self, X: np.ndarray, objective: Objective | None = None) -> np.ndarray:
        """Objective of each candidate on each single log ``(n, l)``."""
        objective = self._checked(objective)
        sums, failed = self._run(self._batch(X), objective)
        means = sums / np.maximum(self.data.counts, 1.0)
        values = objective.scale(means) @ np.array(objective.weights)
        return np.where(np.isnan(failed), values, LARGE_COST)

    def cost_gradients(
        self,
        X: np.ndarray,
        objective: Objective | None = None,
        failures: Failures | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Objective ``(n,)`` and its exact gradient ``(n, p)``; a zero gradient if it diverges.

        The gradient is that of the discrete steps: at a kink, such as a joint that just comes
        to rest, it is a one-sided derivative.
        """
        objective = self._checked(objective)
        X = self._batch(X)
        channels = 1 if objective.speed == objective.duty == 0.0 else 3
        gradient = np.zeros((len(X), len(self.logs), channels, len(self._targets)))
        sums, failed = self._run(X, objective, gradient=gradient)
        gradient = self._of_names(gradient)
        self._note(failed, failures)
        shares = self.data.shares
        slope = objective.slope(np.einsum("nlc,lc->nc", sums, shares))[:, :channels]
        out = np.einsum("nlcp,lc,nc->np", gradient, shares[:, :channels], slope)
        lost = _is_lost(failed)
        out[lost] = 0.0
        return np.where(lost, LARGE_COST, self._combined(sums, objective)), out

    def simulate(self, X: np.ndarray | None = None) -> Rollouts:
        """Motion of each candidate; by default of one candidate with the model's values."""
        X = self._batch(self.model.vector(self.names) if X is None else X)
        recorded = np.full((len(X), 3, self.data.samples), np.nan)
        _, failed = self._run(X, Objective(), recorded=recorded)
        failures: Failures = {}
        self._note(failed, failures)
        parts = [self.data.log_samples(i) for i in range(len(self.logs))]
        position, speed, duty = ([recorded[:, c, part] for part in parts] for c in range(3))
        return Rollouts(position, speed, duty, failures)

    def sensitivities(
        self, X: np.ndarray, failures: Failures | None = None, *, position_only: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Simulated samples of all logs, concatenated, and their exact derivatives.

        Args:
          X: candidates ``(n, p)``.
          failures: output, candidate -> message, for candidates that diverged.
          position_only: skip the derivatives of speed and duty cycle, to save their cost.

        Returns:
          Position, speed and duty ``(n, 3, m)``, and their derivatives ``(n, 3, m, p)``; of both,
          the position alone with ``position_only``: ``(n, 1, m)`` and ``(n, 1, m, p)``.
        """
        X = self._batch(X)
        kept = 1 if position_only else 3
        recorded = np.zeros((len(X), 3, self.data.samples))
        jacobian = np.zeros((len(X), kept, self.data.samples, len(self._targets)))
        _, failed = self._run(X, Objective(), recorded=recorded, jacobian=jacobian)
        self._note(failed, failures)
        return recorded[:, :kept], self._of_names(jacobian)

    def _step_kind(self) -> "StepKind":
        """Kind of the steps, from the features of the model."""
        from trueup.actuators.bench._step_program import EXTRAS, STANDSTILL, StepKind

        model, layout = self.model, self._layout
        varied = {layout.names[column] for column in self._targets}

        def has(*names: str) -> bool:
            at = [layout.names.index(name) for name in names]
            return bool(np.any(self._base[at] != layout.neutral[at])) or not varied.isdisjoint(
                names
            )

        return StepKind(
            law=model.servo.law,
            explicit=self.scheme == "bam",
            standstill=model.friction.is_curved or has(*STANDSTILL),
            extras=has(*EXTRAS),
            slewed=has("max_velocity"),
            backlash=has("backlash"),
            tabulated=bool(len(self.data.table)),
            friction=model.friction.loss,
            columns=layout.names,
        )

    def _batch(self, X: np.ndarray) -> np.ndarray:
        X = np.atleast_2d(np.asarray(X, float))
        if X.shape[1] != len(self.names):
            raise FitError(
                f"candidates have {X.shape[1]} columns, expected one for each of the "
                f"{len(self.names)} free parameters: {listing(self.names, 40)}"
            )
        return X

    def _rows(self, X: np.ndarray) -> np.ndarray:
        rows = np.repeat(self._base[None, :], len(X), axis=0)
        rows[:, self._targets] = X[:, self._sources]
        return rows

    def _of_names(self, derivatives: np.ndarray) -> np.ndarray:
        """Derivatives ``(..., p)`` with respect to the free parameters, from those of columns.

        A parameter of two columns gets the sum of both.
        """
        out = np.zeros((*derivatives.shape[:-1], len(self.names)))
        for place, k in enumerate(self._sources):
            out[..., k] += derivatives[..., place]
        return out

    def _checked(self, objective: Objective | None) -> Objective:
        """The objective, or the default; one that compares no sample would be 0 for any motion."""
        objective = objective or Objective()
        weighted = [i for i, weight in enumerate(objective.weights) if weight > 0.0]
        if not self.data.counts[:, weighted].any():
            names = " and ".join(CHANNELS[i] for i in weighted)
            raise RecordingError(
                f"the objective compares {names} only, which no log contains "
                f"({listing(self.log_names, 5)}): give the position a weight, or record the load"
            )
        return objective

    def _combined(self, sums: np.ndarray, objective: Objective) -> np.ndarray:
        """Cost ``(n,)`` of summed losses ``(n, l, 3)``."""
        means = np.einsum("nlc,lc->nc", sums, self.data.shares)
        return objective.scale(means) @ np.array(objective.weights)

    def _note(self, failed: np.ndarray, failures: Failures | None) -> None:
        if failures is None:
            return
        for row in np.flatnonzero(_is_lost(failed)):
            number = int(np.flatnonzero(~np.isnan(failed[row]))[0])
            failures[int(row)] = (
                f"the simulation of {self.logs[number].name!r} diverged after "
                f"{failed[row, number]:.3g} s"
            )

    def _run(
        self,
        X: np.ndarray,
        objective: Objective,
        *,
        recorded: np.ndarray | None = None,
        gradient: np.ndarray | None = None,
        jacobian: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of losses ``(n, l, 3)`` and times of divergence ``(n, l)``, NaN for none."""
        from trueup.actuators.bench._kernel import rollouts, work_sizes
        from trueup.actuators.bench._lane_code import LANES
        from trueup.actuators.bench._lane_rollouts import PAIR

        data = self.data
        pairs = len(X) * len(self.logs)
        sums = np.zeros((len(X), len(self.logs), 3))
        failed = np.full((len(X), len(self.logs)), np.nan)
        recorded = np.zeros((0, 0, 0)) if recorded is None else recorded
        slopes = [np.zeros((0, 0, 0, 1)) if a is None else a for a in (gradient, jacobian)]
        with_slopes = any(map(len, slopes))
        with_duty = (gradient is not None and gradient.shape[2] > 1) or (
            jacobian is not None and jacobian.shape[1] > 1
        )
        wanted = self._targets if with_slopes else None
        form = (self._kind, with_slopes, with_duty)
        function, sizes = rollouts(*form), work_sizes(*form)
        gate = 1.0 if self.model.quadratic == "gated" else 0.0
        fixed = (self._rows(X), gate, data.log_rows, data.offsets, data.table, data.inputs,
                 data.measured, objective.row(), sums, failed, recorded, wanted,
                 *slopes)  # fmt: skip

        def run(start: int, stop: int) -> None:
            """Rollouts of one thread, with its own work space."""
            work = (*map(np.zeros, sizes), np.zeros((len(PAIR), LANES), np.int64))
            function(start, stop, *fixed, *work)

        work = len(X) * data.steps
        work *= _SLOPES_COST if with_slopes else 1
        threads = min(self.threads or _usable_cores(), int(work // _STEPS_OF_THREAD))
        if threads <= 1:
            run(0, pairs)
            return sums, failed
        # lanes stay empty if a thread has few rollouts
        parts = min(pairs, max(threads, min(pairs // LANES, 4 * threads)))
        bounds = np.linspace(0, pairs, parts + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(run, bounds[:-1], bounds[1:]):
                pass  # raises the exception of a thread
        return sums, failed


def _check_reset_period(reset_period: float, logs: Sequence[ServoLog]) -> None:
    """Reject a period without a simulated sample: position and speed would all be the log's."""
    slowest = max(logs, key=lambda log: log.dt or 0.0)
    if slowest.dt is not None and reset_period < 2.0 * slowest.dt * (1.0 - 1e-9):
        raise FitError(
            f"a reset period of {reset_period:g} s is shorter than two samples of log "
            f"{slowest.name!r}, which are {slowest.dt:g} s apart, so no motion would be simulated. "
            "Use some tenths of a second, or omit it"
        )


def _is_lost(failed: np.ndarray) -> np.ndarray:
    """Which candidates diverged in a log ``(n,)``."""
    return np.asarray(~np.isnan(failed).all(axis=1))


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
