"""Residuals with a custom rollout or comparison, for batches of candidates."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trueup.errors import FitError, SignalError, TrueupError
from trueup.fitting.problem import LARGE_RESIDUAL, Failures
from trueup.parameters import ParameterDict
from trueup.signals import SignalType, TimeSeries
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.engine.held_start import held_states
from trueup.simulation.engine.open_loop import sysid_rollout
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.signal_modifier import (
    apply_delayed_ts_window,
    normalize_residual,
    weighted_diff,
)
from trueup.sysid.toolbox.aligned_signals import construct_ts_from_defaults
from trueup.sysid.toolbox.sequence_result import SequenceResult
from trueup.time_limit import check_time

BuildBatch = Callable[[np.ndarray, Failures], Sequence[mujoco.MjModel]]
"""Models of candidates ``(n, p)``; one that does not compile is a failure and is replaced."""


@dataclass(frozen=True)
class Hooks:
    """Custom functions, and settings of the default comparison."""

    modify_residual: Callable[..., Any] | None = None
    custom_rollout: Callable[..., Sequence[SystemTrajectory]] | None = None
    n_threads: int = 0
    return_pred_all: bool = False
    resample_true: bool = True
    sensor_weights: Mapping[str, float] | np.ndarray | None = None
    enabled_observations: Sequence[tuple[str, SignalType] | str] = ()


@dataclass(frozen=True)
class HookedGroup:
    """One model with the trajectories that it must reproduce."""

    build: BuildBatch
    trajectories: Sequence[SystemTrajectory]
    variants: ModelVariants | None = None


class HookedRollout:
    """Residuals of recorded sequences with a custom rollout or comparison.

    Each sequence is simulated with all candidates in one rollout; then each candidate is compared
    separately, since a custom comparison does not support batches.

    Args:
      parameters: all parameters; the free ones are estimated.
      groups: models with their trajectories.
      hooks: custom functions.
    """

    def __init__(self, parameters: ParameterDict, groups: Sequence[HookedGroup], hooks: Hooks):
        if not any(group.trajectories for group in groups):
            raise FitError("no recorded sequence to fit")
        self.parameters = parameters
        self.groups = list(groups)
        self.hooks = hooks
        self._passes_weights = _accepts_weights(hooks)
        self._data_rows: int | None = None

    @property
    def data_rows(self) -> int:
        """Number of rows of all sequences, from the comparison at the start values."""
        if self._data_rows is None:
            results = self.results(self.parameters.space().start[None, :], {})
            self._data_rows = sum(r.residuals.shape[1] for r in results)
        return self._data_rows

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """One block per sequence."""
        first = 0
        for result in self.results(X, failures):
            width = result.residuals.shape[1]
            yield slice(first, first + width), result.residuals
            first += width

    def results(self, X: np.ndarray, failures: Failures) -> list[SequenceResult]:
        """Residuals and compared signals of each sequence for candidates ``(n, p)``.

        A candidate that does not compile, stops early, or has a residual that is not finite is
        added to ``failures`` and gets large finite rows.
        """
        candidates = [self._at(x) for x in X]
        results = []
        for group in self.groups:
            with captured_warnings():
                models = group.build(X, failures)
            for trajectory in group.trajectories:
                check_time()
                states = _initial_states(group.variants, X, trajectory)
                results.append(self._sequence(candidates, models, trajectory, states, failures))
        for result in results:
            result.residuals[list(failures)] = LARGE_RESIDUAL
        return results

    def _at(self, x: np.ndarray) -> ParameterDict:
        parameters = self.parameters.copy()
        parameters.update_from_vector(x)
        return parameters

    def _sequence(
        self,
        candidates: list[ParameterDict],
        models: Sequence[mujoco.MjModel],
        trajectory: SystemTrajectory,
        states: list[np.ndarray],
        failures: Failures,
    ) -> SequenceResult:
        rollouts = self._rollouts(candidates, models, trajectory, states)
        rows: list[np.ndarray] = []
        predicted: list[TimeSeries] = []
        measured: list[TimeSeries] = []
        for i, (parameters, model, rollout) in enumerate(
            zip(candidates, models, rollouts, strict=True)
        ):
            check_time()
            if _stopped(rollout):
                failures.setdefault(i, "the simulation diverged")
            row, prediction, measurement = self._compare(parameters, model, rollout, trajectory)
            if not np.isfinite(row).all():
                failures.setdefault(i, "the residual is not finite")
                row = np.full(row.shape, LARGE_RESIDUAL)
            rows.append(row)
            predicted.append(prediction)
            measured.append(measurement)
        sizes = {row.size for row in rows}
        if len(sizes) > 1:
            raise SignalError(
                f"the length of the residual differs between candidates ({sorted(sizes)}): "
                "compare at "
                f"times that do not depend on the parameters"
            )
        return SequenceResult(np.stack(rows), predicted, measured)

    def _rollouts(
        self,
        candidates: list[ParameterDict],
        models: Sequence[mujoco.MjModel],
        trajectory: SystemTrajectory,
        states: list[np.ndarray],
    ) -> Sequence[SystemTrajectory]:
        model = models[0]
        qpos, qvel, act, ctrl = state_mappings(model)
        control = self._control(trajectory.control, model)
        first = np.tile(control_in_model_order(model, control)[0], (len(models), 1))
        starts = held_states(models, np.array(states), first)
        threads = self.hooks.n_threads or os.cpu_count() or 1
        arguments: dict[str, Any] = {
            "models": list(models),
            "datas": [mujoco.MjData(model) for _ in range(threads)],
            "control_signal": [control] * len(models),
            "initial_states": list(starts),
            "rollout_signal_mapping": sensor_mapping(model),
            "rollout_state_mapping": qpos | qvel | act,
            "ctrl_mapping": ctrl,
        }
        if self.hooks.custom_rollout is None:
            return sysid_rollout(**arguments)
        with captured_warnings():
            rollouts = self.hooks.custom_rollout(
                **arguments, param_dicts=[p.copy() for p in candidates]
            )
        if len(rollouts) != len(models):
            raise SignalError(
                f"custom_rollout returned {len(rollouts)} trajectories for {len(models)} models: "
                f"return one SystemTrajectory per model, in the same order"
            )
        return rollouts

    def _control(self, control: TimeSeries, model: mujoco.MjModel) -> TimeSeries:
        if not self.hooks.resample_true:
            return control
        # the step is the simulation's own, not the nearest one that divides the duration
        step, start = model.opt.timestep, control.times[0]
        steps = int(np.ceil((control.times[-1] - start) / step - 1e-6))
        return control.resample(start + step * np.arange(steps + 1))

    def _compare(
        self,
        parameters: ParameterDict,
        model: mujoco.MjModel,
        rollout: SystemTrajectory,
        trajectory: SystemTrajectory,
    ) -> tuple[np.ndarray, TimeSeries, TimeSeries]:
        state = None if rollout.state is None else rollout.state.data
        if self.hooks.modify_residual is None:
            residual, predicted, measured = self._default(model, rollout, trajectory.sensordata)
        else:
            weights = {"sensor_weights": self.hooks.sensor_weights} if self._passes_weights else {}
            residual, predicted, measured = self.hooks.modify_residual(
                parameters,
                rollout.sensordata,
                trajectory.sensordata,
                model,
                self.hooks.return_pred_all,
                state=state,
                **weights,
            )
        names = [
            None if t.signal_mapping is None else set(t.signal_mapping)
            for t in (predicted, measured)
        ]
        if names[0] != names[1]:
            raise SignalError(
                f"modify_residual returned predicted signals {names[0]} and measured signals "
                f"{names[1]}: both must be the same"
            )
        return np.asarray(residual, float).reshape(-1), predicted, measured

    def _default(
        self, model: mujoco.MjModel, rollout: SystemTrajectory, recorded: TimeSeries
    ) -> tuple[np.ndarray, TimeSeries, TimeSeries]:
        """The comparison of the toolbox: window, resample, weight, normalise."""
        sensors = rollout.sensordata
        if sensors.signal_mapping is None:
            sensors = TimeSeries(sensors.times, sensors.data, sensor_mapping(model))
        states = None
        if rollout.state is not None:
            qpos, qvel, act, _ = state_mappings(model)
            states = TimeSeries(sensors.times, rollout.state.data[:, 1:], qpos | qvel | act)
        measured, predicted = construct_ts_from_defaults(
            states, sensors, recorded, self.hooks.enabled_observations
        )
        if self.hooks.resample_true:
            measured = apply_delayed_ts_window(measured, predicted, 0.0, 0.0)
            predicted = predicted.resample(measured.times)
        else:
            count = min(len(measured) - 1, len(predicted))
            mapping = measured.signal_mapping
            measured = TimeSeries(
                measured.times[1 : count + 1], measured.data[1 : count + 1], mapping
            )
            predicted = TimeSeries(predicted.times[:count], predicted.data[:count], mapping)
        residual = weighted_diff(
            predicted.data,
            measured.data,
            model,
            self.hooks.sensor_weights,
            signal_mapping=measured.signal_mapping,
        )
        return normalize_residual(residual, measured.data), predicted, measured


def build_with_variants(variants: ModelVariants) -> BuildBatch:
    """Models of a batch from a spec and its parameters."""

    def build(X: np.ndarray, failures: Failures) -> Sequence[mujoco.MjModel]:
        models = variants.models(X, failures)
        if models is not None:
            return models
        if not variants.writes.writes:
            return [variants.model] * len(X)
        compiled = []
        for i, x in enumerate(X):
            check_time()
            try:
                compiled.append(variants.model_at(x))
            except (ValueError, TrueupError) as error:
                failures[i] = f"{variants.name} does not compile: {error}"
                compiled.append(variants.model)
        return compiled

    return build


def _accepts_weights(hooks: Hooks) -> bool:
    if hooks.modify_residual is None or hooks.sensor_weights is None:
        return False
    named = inspect.signature(hooks.modify_residual).parameters.values()
    if any(p.name == "sensor_weights" or p.kind is p.VAR_KEYWORD for p in named):
        return True
    raise SignalError(
        "sensor_weights are given, but modify_residual does not accept them: add an "
        "argument sensor_weights=None to the function, or weight the residual within it"
    )


def _stopped(rollout: SystemTrajectory) -> bool:
    """Whether a simulation is constant from some step on, as MuJoCo's rollout after a warning."""
    return rollout.state is not None and bool((np.diff(rollout.state.data[:, 0]) <= 0).any())


def _initial_states(
    variants: ModelVariants | None,
    X: np.ndarray,
    trajectory: SystemTrajectory,
) -> list[np.ndarray]:
    """Initial state of each candidate, with its state parameters applied."""
    states = np.tile(trajectory.initial_state, (len(X), 1))
    if variants is not None:
        model = variants.model
        offsets = {
            "state.qpos": 1,
            "state.qvel": 1 + model.nq,
            "state.act": 1 + model.nq + model.nv,
        }
        for write, values in variants.field_writes(X):
            if write.field in offsets and write.sequence in ("", trajectory.name):
                states[:, offsets[write.field] + write.entries] = values
    return list(states)
