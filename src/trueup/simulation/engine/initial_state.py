"""State vectors ``mjSTATE_FULLPHYSICS``: built from named parts, and moved to another clock."""

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals.model_signals import state_mappings
from trueup.signals.signal_type import SignalMapping

FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
"""Components of a state vector: time, qpos, qvel, act, history and plugin states, in this order."""


def state_size(model: mujoco.MjModel) -> int:
    """Return the number of elements of a full-physics state of the model."""
    return mujoco.mj_stateSize(model, FULL_PHYSICS)


def create_initial_state(
    model: mujoco.MjModel,
    qpos: ArrayLike,
    qvel: ArrayLike | None = None,
    act: ArrayLike | None = None,
    qpos_names: Sequence[str] | None = None,
    qvel_names: Sequence[str] | None = None,
    act_names: Sequence[str] | None = None,
    held: bool = False,
) -> np.ndarray:
    """Pack positions, velocities and activations into a full-physics state at time zero.

    Without names the values are in the model's order and complete. With names they are those of the
    named joints, free bodies or actuators, one after the other; the others keep the model's
    defaults.

    As in MuJoCo's toolbox, activations that are not given are zero and buffers of delays are
    empty, which causes a transient in a robot that rests away from zero. With ``held`` both are
    NaN; :func:`sysid_rollout` and fits then set them, for each candidate, to the steady state under
    the first command at this pose.

    Args:
        model: the model.
        qpos: generalised positions, shape (nq,) [m, rad].
        qvel: generalised velocities, shape (nv,) [m/s, rad/s]; zero when None.
        act: activations, shape (na,); zero when None.
        qpos_names: signals in ``qpos``, such as ``elbow_qpos`` or ``elbow``.
        qvel_names: likewise for ``qvel``.
        act_names: likewise for ``act``.
        held: set activations that are not given, and samples of delays, from the first command.

    Returns:
        State vector of :func:`state_size` elements.

    Raises:
        SignalError: a wrong number of values, a value that is not finite, or an unknown or repeated
            name.
    """
    data = mujoco.MjData(model)
    qpos_signals, qvel_signals, act_signals, _ = state_mappings(model)
    parts = (
        ("qpos", qpos, qpos_names, qpos_signals, data.qpos, 0),
        ("qvel", qvel, qvel_names, qvel_signals, data.qvel, model.nq),
        ("act", act, act_names, act_signals, data.act, model.nq + model.nv),
    )
    if held:
        data.act[:] = np.nan
        data.history[_places_in_history(model, samples=True)] = np.nan
    for quantity, values, names, signals, out, offset in parts:
        if values is None:
            if names is not None:
                raise SignalError(f"{quantity}_names requires {quantity}: give the values too.")
            continue
        columns = _columns(quantity, names, signals, offset, len(out))
        values = np.atleast_1d(np.asarray(values, dtype=float))
        if values.shape != columns.shape:
            raise SignalError(
                f"Expected {quantity} to have shape {columns.shape}, found {values.shape}."
            )
        if not np.isfinite(values).all():
            raise SignalError(f"{quantity} contains values that are not finite: {values}.")
        out[columns] = values
    state = np.empty(state_size(model))
    mujoco.mj_getState(model, data, state, FULL_PHYSICS)
    return state


def with_start_time(model: mujoco.MjModel, state: np.ndarray, time: float) -> np.ndarray:
    """Return a copy of a state with its clock set to ``time`` [s].

    Args:
        model: the model.
        state: full-physics state, shape (state size,).
        time: new time of the state [s].
    """
    state = np.asarray(state, dtype=float)
    moved = with_shifted_clock(model, state, time - float(state[0]))
    moved[0] = time
    return moved


def with_shifted_clock(model: mujoco.MjModel, states: np.ndarray, shift: float) -> np.ndarray:
    """Return a copy of states with their clock shifted by ``shift`` [s].

    The time stamps in MuJoCo's delay buffers are shifted too; otherwise a delayed control or sensor
    would treat its stored samples as old.

    Args:
        model: the model.
        states: full-physics states, shape (..., state size).
        shift: time to add [s].
    """
    moved = np.array(states, dtype=float)
    if shift != 0:
        moved[..., 0] += shift
        if model.nhistory:
            start = 1 + model.nq + model.nv + model.na
            moved[..., start + _places_in_history(model, samples=False)] += shift
    return moved


def _columns(
    quantity: str, names: Sequence[str] | None, signals: SignalMapping, offset: int, size: int
) -> np.ndarray:
    if names is None:
        return np.arange(size)
    columns: list[int] = []
    for name in names:
        full = name if name in signals else f"{name}_{quantity}"
        if full not in signals:
            raise SignalError(
                f"The model has no {quantity} named {name!r}.{did_you_mean(name, signals)} "
                f"Available names: {listing(signals)}."
            )
        columns.extend((signals[full][1] - offset).tolist())
    if len(set(columns)) != len(columns):
        raise SignalError(f"{quantity}_names contains a duplicate: {listing(names)}.")
    return np.array(columns, dtype=int)


def with_commands_before(
    model: mujoco.MjModel, state: np.ndarray, times: np.ndarray, controls: np.ndarray
) -> np.ndarray:
    """Return a copy of a state with open samples of delayed commands set from the recording.

    Args:
        model: the model.
        state: full-physics state, shape (state size,).
        times: when commands were given, on the clock of the state, shape (commands,) [s].
        controls: the commands, held from then on, shape (commands, nu).
    """
    filled, start = np.array(state, dtype=float), 1 + model.nq + model.nv + model.na
    for actuator in np.flatnonzero(model.actuator_historyadr >= 0):
        size = int(model.actuator_history[actuator, 0])
        first = start + int(model.actuator_historyadr[actuator]) + 2
        stamps, samples = filled[first : first + size], filled[first + size : first + 2 * size]
        # a stamp is a sum of time steps, and may be rounded to just before its command
        place = np.searchsorted(times, stamps + 1e-6 * model.opt.timestep, side="right") - 1
        commands = controls[np.maximum(place, 0), model.actuator_ctrladr[actuator]]
        samples[:] = np.where(np.isnan(samples), commands, samples)
    return filled


def open_places(model: mujoco.MjModel) -> np.ndarray:
    """Entries ``(state size,)`` of a state that may be open: activations, samples of delays."""
    places = np.zeros(state_size(model), bool)
    start = 1 + model.nq + model.nv
    places[start : start + model.na] = True
    places[start + model.na + _places_in_history(model, samples=True)] = True
    return places


def _places_in_history(model: mujoco.MjModel, samples: bool) -> np.ndarray:
    """Places of samples, or of their time stamps, in the buffers of delays.

    A buffer of n samples is laid out as user value, cursor, n time stamps, then the samples.
    """
    sizes = np.concatenate([model.actuator_history[:, 0], model.sensor_history[:, 0]])
    widths = np.concatenate([np.ones(model.nactuator, int), model.sensor_dim])
    addresses = np.concatenate([model.actuator_historyadr, model.sensor_historyadr])
    found = [np.zeros(0, int)]
    for address, size, width in zip(addresses.tolist(), sizes.tolist(), widths.tolist()):
        if address >= 0:
            first, count = (address + 2 + size, size * width) if samples else (address + 2, size)
            found.append(np.arange(first, first + count))
    return np.concatenate(found)
