"""Open-loop simulation of recorded controls, for several models and sequences at once."""

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco.rollout import rollout

from trueup.errors import SignalError, SimulationError
from trueup.signals.model_signals import sensor_mapping, state_mappings
from trueup.signals.signal_type import SignalMapping
from trueup.signals.time_series import TimeSeries
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.engine.held_start import held_states
from trueup.simulation.engine.initial_state import state_size, with_shifted_clock, with_start_time
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.measured.system_trajectory import SystemTrajectory


def sysid_rollout(
    models: mujoco.MjModel | Sequence[mujoco.MjModel],
    datas: mujoco.MjData | Sequence[mujoco.MjData],
    control_signal: Sequence[TimeSeries] | TimeSeries,
    initial_states: np.ndarray | Sequence[np.ndarray],
    rollout_signal_mapping: SignalMapping | None = None,
    rollout_state_mapping: SignalMapping | None = None,
    ctrl_mapping: SignalMapping | None = None,
) -> list[SystemTrajectory]:
    """Simulate models under recorded controls, one row of controls per time step.

    N rows of controls give N - 1 steps: the state after the last row was never measured. The
    trajectory starts at ``control.times[0]``, and sample k of the prediction is at
    ``control.times[0] + timestep * (k + 1)``. Named controls are reordered to the model's order.
    Sequences may differ in length. A simulation that diverges repeats its last values.

    As in MuJoCo, sensor values of a step are those of the state at its start, so that a position
    sensor lags the state of the same row by one time step.

    Args:
        models: one model, or one per simulation; all of one layout.
        datas: scratch memory, one per thread.
        control_signal: controls of one sequence, or of each, sampled at the model's time step.
        initial_states: full-physics states, shape (state size,) or (simulations, state size). NaN
            entries are set to the steady state under the first control.
        rollout_signal_mapping: names of the sensor columns; those of the model when None.
        rollout_state_mapping: names of the state columns, counted without the time as
            :meth:`TimeSeries.compute_all_state_mappings` gives them; those of the model when None.
        ctrl_mapping: names of the control columns of the result; those of the model when None.

    Returns:
        One trajectory per simulation; the columns of its state signals include the time, to match
        its data.

    Raises:
        SignalError: inconsistent numbers of models, controls and states, or controls or states
            that do not match the model.
        SimulationError: MuJoCo rejects the inputs, for example models of different layouts.
    """
    all_models = [models] if isinstance(models, mujoco.MjModel) else list(models)
    all_datas = [datas] if isinstance(datas, mujoco.MjData) else list(datas)
    controls = [control_signal] if isinstance(control_signal, TimeSeries) else list(control_signal)
    states = _rows_of(initial_states)
    count = _common_count(models=all_models, controls=controls, initial_states=states)
    all_models = all_models * count if len(all_models) == 1 else all_models
    controls = controls * count if len(controls) == 1 else controls
    states = states * count if len(states) == 1 else states
    first = all_models[0]
    if rollout_signal_mapping is None:
        rollout_signal_mapping = sensor_mapping(first)
    if rollout_state_mapping is None or ctrl_mapping is None:
        qpos, qvel, act, ctrl = state_mappings(first)
        rollout_state_mapping = (
            qpos | qvel | act if rollout_state_mapping is None else rollout_state_mapping
        )
        ctrl_mapping = ctrl if ctrl_mapping is None else ctrl_mapping
    with_time = {
        name: (signal_type, np.asarray(columns) + 1)
        for name, (signal_type, columns) in rollout_state_mapping.items()
    }
    applied = [
        _applied_control(model, control, position)
        for position, (model, control) in enumerate(zip(all_models, controls))
    ]
    starts = held_states(
        all_models,
        np.stack([_start(m, s, k) for k, (m, s) in enumerate(zip(all_models, states))]),
        np.stack([control[0] for control in applied]),
    )
    results: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for same_length in _grouped_by_length(applied):
        state, sensordata = _run(
            [all_models[i] for i in same_length],
            all_datas,
            np.stack([starts[i] for i in same_length]),
            np.stack([applied[i] for i in same_length]),
        )
        results.update(zip(same_length, zip(state, sensordata)))
    trajectories = []
    for i in range(count):
        state, sensordata = results[i]
        model: mujoco.MjModel = all_models[i]
        control_times = controls[i].times[:-1]
        start_time = float(control_times[0])
        times = start_time + model.opt.timestep * np.arange(1, len(state) + 1)
        trajectories.append(
            SystemTrajectory(
                model=model,
                control=TimeSeries(control_times, applied[i], ctrl_mapping),
                sensordata=TimeSeries(times, sensordata, rollout_signal_mapping),
                initial_state=with_start_time(model, starts[i], start_time),
                state=TimeSeries(times, with_shifted_clock(model, state, start_time), with_time),
            )
        )
    return trajectories


def _rows_of(initial_states: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
    if isinstance(initial_states, np.ndarray) and initial_states.ndim == 1:
        return [initial_states]
    return [np.asarray(state, dtype=float) for state in initial_states]


def _common_count(**parts: Sequence[object]) -> int:
    counts = {name: len(part) for name, part in parts.items()}
    count = max(counts.values())
    if any(n not in (1, count) for n in counts.values()):
        found = ", ".join(f"{n} {name}" for name, n in counts.items())
        raise SignalError(f"Expected one of each, or one per simulation; found {found}.")
    return count


def _applied_control(model: mujoco.MjModel, control: TimeSeries, position: int) -> np.ndarray:
    if len(control) < 2:
        raise SignalError(
            f"Control {position} of the rollout has one sample: a simulation needs at least two."
        )
    try:
        return control_in_model_order(model, control)[:-1]
    except SignalError as error:
        raise SignalError(f"Control {position} of the rollout: {error}") from error


def _start(model: mujoco.MjModel, state: np.ndarray, position: int) -> np.ndarray:
    if state.shape != (state_size(model),):
        raise SignalError(
            f"Initial state {position} of the rollout has {state.size} elements, the model's "
            f"states have {state_size(model)}: build it with create_initial_state."
        )
    # On MuJoCo's clock every simulation starts at zero: at 1e9 s the accumulated time and the
    # delays that depend on it would be rounded to a fraction of a step.
    return with_start_time(model, state, 0.0)


def _grouped_by_length(applied: list[np.ndarray]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for position, control in enumerate(applied):
        groups.setdefault(len(control), []).append(position)
    return list(groups.values())


def _run(
    models: list[mujoco.MjModel],
    datas: list[mujoco.MjData],
    starts: np.ndarray,
    controls: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    try:
        with captured_warnings():
            state, sensordata = rollout(models, datas, starts, controls, nstep=controls.shape[1])
    except ValueError as error:
        raise SimulationError(f"MuJoCo rejected the rollout: {error}") from error
    return np.asarray(state), np.asarray(sensordata)
