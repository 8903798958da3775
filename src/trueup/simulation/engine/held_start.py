"""Initial values of unmeasured states: the steady state under the first command.

Positions and velocities are measured; internal states of actuators and sensors are not. NaN entries
of an initial state are set as if the first command had held the first pose for a long time:

- buffers of delayed commands contain the first command, those of delayed sensors their first value;
- filters, muscles and rate limits have settled at the command, currents at their voltage;
- integrators carry the weight in that pose, within their limits, and so does the bristle of a LuGre
  friction without an integrator; contacts, loops and dry friction carry nothing;
- temperatures are ambient; activations of plugins and of ``user`` dynamics are zero.

The activation that carries the weight depends on masses and gains, so it is computed for each
simulation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.simulation.engine.dcmotor_states import DcMotor, inputs
from trueup.simulation.engine.initial_state import FULL_PHYSICS
from trueup.simulation.engine.segment import INTEGRATION

Field = Callable[[str], np.ndarray]
"""Values ``(simulations, ...)`` of a field of MjModel."""

_CORRECTIONS = 1
_TURNING = 8
"""Corrector iterations for the activations that carry the weight, and those of ball joints, whose
equation is nonlinear."""

_READ = ("actuator_length", "actuator_force", "actuator_moment", "moment_colind", "moment_rownnz",
         "moment_rowadr", "qfrc_bias", "qfrc_passive", "qfrc_gravcomp")  # fmt: skip

_DYN, _GAIN, _INPUT = mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtCtrlInput


@dataclass(frozen=True)
class Holding:
    """An activation that carries the weight."""

    actuator: int
    output: int
    """Force output of the actuator that it acts on."""
    place: int
    """Index into ``act``."""


class HeldStart:
    """Initialisation of the open (NaN) entries of the states of a batch.

    Args:
      model: the model, which gives the layout; its numbers may differ between simulations.
    """

    def __init__(self, model: mujoco.MjModel):
        self.model = model
        self._delayed = _blocks(model.actuator_history, model.actuator_historyadr)
        self._sensed = _blocks(model.sensor_history, model.sensor_historyadr, model.sensor_dim)
        self._motors = {
            i: DcMotor(model, i)
            for i in range(model.nactuator)
            if model.actuator_dyntype[i] == _DYN.mjDYN_DCMOTOR and model.actuator_actnum[i]
        }
        self.holding = self._find_holding()
        """Activations that hold the weight."""
        currents = [
            int(model.actuator_actadr[i]) + m.current
            for i, m in self._motors.items()
            if m.current >= 0
        ]
        self._looked_at = [*(h.place for h in self.holding), *currents]

    def fill(
        self,
        batch: Batch,
        ids: np.ndarray,
        controls: np.ndarray,
        field: Field,
        attempt: Callable[[Callable[[], Any]], None] = lambda call: call(),
    ) -> None:
        """Fill the entries of states that are NaN.

        Args:
          batch: the batch; fields and the rest of the states are set.
          ids: simulations to initialise ``(n,)``.
          controls: first command of each ``(n, nu)``.
          field: values of the model's fields for these simulations.
          attempt: runs a call of the batch that may fail in some of the simulations.
        """
        is_open = np.isnan(batch.state[ids]).any(axis=1)
        if not is_open.any():
            return
        if not is_open.all():
            whole, field = field, lambda name: whole(name)[is_open]
            ids, controls = ids[is_open], controls[is_open]
        act, history = batch.bind("act"), batch.bind("history")
        open_act, open_history = np.isnan(act[ids]), np.isnan(history[ids])
        values, samples = act[ids], np.where(open_history, 0.0, history[ids])
        for actuator, place, _, _ in self._delayed:
            held = controls[:, self.model.actuator_ctrladr[actuator], None]
            samples[:, place] = np.where(open_history[:, place], held, samples[:, place])
        commands = self._clipped(controls, field)
        for actuator in range(self.model.nactuator):
            self._arrived(actuator, commands, values, open_act, field)
        kept = batch.state[ids]
        batch.bind("ctrl")[ids] = controls
        act[ids], history[ids] = values, samples
        if any(open_act[:, place].any() for place in self._looked_at):
            attempt(lambda: self._hold(batch, ids, commands, open_act, field))
            values = act[ids]
        if any(open_history[:, place].any() for _, place, _, _ in self._sensed):
            attempt(lambda: self._sense(batch, ids, controls, open_history, samples))
        # restore what the evaluation of the forces has changed
        batch.state[ids] = kept
        act[ids], history[ids] = values, samples

    def _clipped(self, controls: np.ndarray, field: Field) -> np.ndarray:
        """Commands clipped to the control ranges ``(n, nu)``."""
        model = self.model
        if int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL):
            return controls
        limits = field("actuator_ctrlrange")
        clipped = np.clip(controls, limits[..., 0], limits[..., 1])
        return np.where(model.actuator_ctrllimited.astype(bool), clipped, controls)

    def _arrived(
        self,
        actuator: int,
        commands: np.ndarray,
        values: np.ndarray,
        is_open: np.ndarray,
        field: Field,
    ) -> None:
        """Set open activations of an actuator to their steady state, carrying ones to 0."""
        model = self.model
        first, number = (int(a[actuator]) for a in (model.actuator_actadr, model.actuator_actnum))
        if number <= 0:
            return
        dynamics = int(model.actuator_dyntype[actuator])
        own = np.zeros((len(values), number))
        if model.actuator_ctrlnum[actuator]:
            command = commands[:, model.actuator_ctrladr[actuator]]
            if dynamics in (_DYN.mjDYN_FILTER, _DYN.mjDYN_FILTEREXACT):
                own[:, -1] = command
            elif dynamics == _DYN.mjDYN_MUSCLE:
                own[:, -1] = np.clip(command, 0.0, 1.0)
            elif dynamics == _DYN.mjDYN_PID and model.actuator_dynprm[actuator, 1] > 0:
                own[:, 0] = command  # the setpoint, whose rate is limited
        if actuator in self._motors and self._motors[actuator].slew >= 0:
            own[:, self._motors[actuator].slew] = command
        place = slice(first, first + number)
        own[:, -1] = self._limited(actuator, own[:, -1], field)
        values[:, place] = np.where(is_open[:, place], own, values[:, place])

    def _limited(self, actuator: int, value: np.ndarray, field: Field) -> np.ndarray:
        """Value of the last activation of an actuator within its range."""
        if not self.model.actuator_actlimited[actuator]:
            return value
        limits = field("actuator_actrange")[:, actuator]
        return np.clip(value, limits[:, 0], limits[:, 1])

    def limits(self, one: Holding) -> tuple[float, float]:
        """Lower and upper limit of an activation that carries the weight, for the model."""
        edges, everything = np.array([[-np.inf], [np.inf]]), fields_of([self.model])
        low, high = (float(self._in_limits(one, edge, everything)[0]) for edge in edges)
        return low, high

    def _find_holding(self) -> list[Holding]:
        """Activations that hold the weight."""
        model, found = self.model, []
        for i in range(model.nactuator):
            first, number = int(model.actuator_actadr[i]), int(model.actuator_actnum[i])
            output, kind = int(model.actuator_outadr[i]), int(model.actuator_dyntype[i])
            if kind == _DYN.mjDYN_INTEGRATOR:
                outputs = int(model.actuator_outnum[i]) if self._turns(i) else 1
                places = range(first + number - outputs, first + number)
                found += [Holding(i, output + k, p) for k, p in enumerate(places)]
            elif kind == _DYN.mjDYN_PID and number > int(model.actuator_dynprm[i, 1] > 0):
                found.append(Holding(i, output, first + number - 1))
            elif i in self._motors:
                motor = self._motors[i]
                slot = motor.integral if motor.integral >= 0 else motor.bristle
                if slot >= 0:
                    found.append(Holding(i, output, first + slot))
        return found

    def _turns(self, actuator: int) -> bool:
        """Whether an actuator drives a ball joint, with three outputs."""
        return int(self.model.actuator_gaintype[actuator]) == _GAIN.mjGAIN_SO3

    def _hold(
        self,
        batch: Batch,
        ids: np.ndarray,
        commands: np.ndarray,
        is_open: np.ndarray,
        field: Field,
    ) -> None:
        """Set activations that carry the weight, and the currents of motors."""
        act = batch.bind("act")
        holding = [h for h in self.holding if is_open[:, h.place].any()]
        batch.bind("qvel")[ids] = 0.0
        for name in _READ:
            batch.bind(name)  # zero until the next call
        batch.forward(ids)
        needed = self._needed(batch, ids, [h.output for h in holding])
        length = batch.bind("actuator_length")[ids]
        force = batch.bind("actuator_force")[ids]
        values = act[ids]
        for k, one in enumerate(holding):
            wanted = self._within_force(one, needed[:, k], field)
            needed[:, k] = wanted
            rest, slope = self._law(one, commands, values, length, force, field)
            self._set(values, is_open, one, _quotient(wanted - rest, slope), field)
        self._set_currents(values, is_open, commands, length, field)
        turns = any(self._turns(one.actuator) for one in holding)
        for _ in range(_TURNING if turns else _CORRECTIONS):
            act[ids] = values
            batch.forward(ids)
            force = batch.bind("actuator_force")[ids]
            for k, one in enumerate(holding):
                _, slope = self._law(one, commands, values, length, force, field)
                change = _quotient(needed[:, k] - force[:, one.output], slope)
                self._set(values, is_open, one, values[:, one.place] + change, field)
            self._set_currents(values, is_open, commands, length, field)
        act[ids] = values

    def _law(
        self,
        one: Holding,
        commands: np.ndarray,
        values: np.ndarray,
        length: np.ndarray,
        force: np.ndarray,
        field: Field,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Force of an output without its carrying activation, and its slope in it, each ``(n,)``.

        The force is the one before its limits, so that a servo far from its setpoint has a slope.
        """
        model, i = self.model, one.actuator
        gain, bias = field("actuator_gainprm")[:, i], field("actuator_biasprm")[:, i]
        own = length[:, one.output]
        if i in self._motors:
            motor, first = self._motors[i], int(model.actuator_actadr[i])
            dynamics, setpoint = field("actuator_dynprm")[:, i], self._setpoint(i, commands, values)
            warmth = motor.warmth(values[:, first:], gain, dynamics)
            asked = motor.torque(setpoint, own, 0.0, gain)
            if one.place - first == motor.integral:
                return asked / warmth, gain[:, 5] / warmth
            at_rest = force[:, one.output] + dynamics[:, 5] * values[:, one.place]
            if motor.current >= 0:
                most = motor.most(gain)
                at_rest = at_rest + np.clip(asked, -most, most) / warmth
                at_rest = at_rest - gain[:, 1] * values[:, first + motor.current]
            return at_rest, -dynamics[:, 5]
        affine = int(model.actuator_biastype[i]) == mujoco.mjtBias.mjBIAS_AFFINE
        offset = bias[:, 0] + bias[:, 1] * own if affine or self._turns(i) else np.zeros(len(own))
        if int(model.actuator_dyntype[i]) == _DYN.mjDYN_PID:
            given = inputs(model, i, self._setpoint(i, commands, values))
            position, speed, torque = (
                given.get(int(bit), 0.0) for bit in (_INPUT.mjINPUT_POS, _INPUT.mjINPUT_VEL,
                                                     _INPUT.mjINPUT_FF)
            )  # fmt: skip
            return offset - bias[:, 1] * position - bias[:, 2] * speed + torque, gain[:, 0]
        slope = gain[:, 0]
        if int(model.actuator_gaintype[i]) == _GAIN.mjGAIN_AFFINE:
            slope = slope + gain[:, 1] * own
        elif int(model.actuator_gaintype[i]) not in (_GAIN.mjGAIN_FIXED, _GAIN.mjGAIN_SO3):
            slope = np.zeros(len(own))  # unsupported law
        return offset, slope

    def _setpoint(self, actuator: int, commands: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Commands ``(n, nu)`` with the rate-limited setpoint of an actuator."""
        model, first = self.model, int(self.model.actuator_actadr[actuator])
        if actuator in self._motors:
            limited = self._motors[actuator].slew >= 0
        else:
            limited = model.actuator_dynprm[actuator, 1] > 0
        if not limited:
            return commands
        commands = commands.copy()
        commands[:, model.actuator_ctrladr[actuator]] = values[:, first]
        return commands

    def _needed(self, batch: Batch, ids: np.ndarray, outputs: list[int]) -> np.ndarray:
        """Force ``(n, outputs)`` of each of these outputs that carries the weight at rest."""
        model = self.model
        moment = _moments(batch, ids, model)
        others = batch.bind("actuator_force")[ids]
        others[:, outputs] = 0.0
        load = batch.bind("qfrc_bias")[ids] - batch.bind("qfrc_passive")[ids]
        load -= np.einsum("nkv,nk->nv", moment, others)
        if model.ngravcomp:
            compensated = model.jnt_actgravcomp[model.dof_jntid].astype(bool)
            load -= np.where(compensated, batch.bind("qfrc_gravcomp")[ids], 0.0)
        own = moment[:, outputs]
        return np.einsum("nvk,nv->nk", np.linalg.pinv(own, rcond=1e-9), load) if model.nv else own

    def _within_force(self, one: Holding, force: np.ndarray, field: Field) -> np.ndarray:
        """Force of an output within the limits of its actuator."""
        if not self.model.actuator_forcelimited[one.actuator] or self._turns(one.actuator):
            return force
        limits = field("actuator_forcerange")[:, one.actuator]
        return np.clip(force, limits[:, 0], limits[:, 1])

    def _set(
        self,
        values: np.ndarray,
        is_open: np.ndarray,
        one: Holding,
        value: np.ndarray,
        field: Field,
    ) -> None:
        """Set an open activation, within its limits."""
        place, value = one.place, self._in_limits(one, value, field)
        values[:, place] = np.where(is_open[:, place], value, values[:, place])

    def _in_limits(self, one: Holding, value: np.ndarray, field: Field) -> np.ndarray:
        """Value ``(n,)`` of an activation that carries the weight, within its limits."""
        most = np.full(len(value), np.inf)
        i, dynamics = one.actuator, field("actuator_dynprm")[:, one.actuator]
        if int(self.model.actuator_dyntype[i]) == _DYN.mjDYN_PID:
            most = np.where(dynamics[:, 0] > 0, dynamics[:, 0], most)
        elif i in self._motors:
            first, motor = int(self.model.actuator_actadr[i]), self._motors[i]
            if one.place - first == motor.integral:
                most = np.where(dynamics[:, 8] > 0, dynamics[:, 8], most)
            else:
                friction = field("actuator_biasprm")[:, i, 4]
                most = friction / np.maximum(dynamics[:, 5], mujoco.mjMINVAL)
        return self._limited(i, np.clip(value, -most, most), field)

    def _set_currents(
        self,
        values: np.ndarray,
        is_open: np.ndarray,
        commands: np.ndarray,
        length: np.ndarray,
        field: Field,
    ) -> None:
        """Set the current of each motor to that of its controller and supply at rest."""
        for i, motor in self._motors.items():
            if motor.current < 0:
                continue
            first, gain = int(self.model.actuator_actadr[i]), field("actuator_gainprm")[:, i]
            integral = values[:, first + motor.integral] if motor.integral >= 0 else 0.0
            own, most = length[:, self.model.actuator_outadr[i]], motor.most(gain)
            asked = motor.torque(self._setpoint(i, commands, values), own, integral, gain)
            warmth = motor.warmth(values[:, first:], gain, field("actuator_dynprm")[:, i])
            current = _quotient(np.clip(asked, -most, most) / warmth, gain[:, 1])
            place = first + motor.current
            values[:, place] = np.where(is_open[:, place], current, values[:, place])

    def _sense(
        self,
        batch: Batch,
        ids: np.ndarray,
        controls: np.ndarray,
        is_open: np.ndarray,
        samples: np.ndarray,
    ) -> None:
        """Set open samples of delayed sensors to their value at the first state."""
        history = batch.bind("history")
        for sensor, place, _, _ in self._sensed:
            if self.model.sensor_interval[sensor, 0] > 0:
                # due at once, whatever the phase
                samples_before = place.start - self.model.sensor_history[sensor, 0] - 2
                history[ids, samples_before] = -np.inf
        batch.rollout(1, controls[:, None], ids=ids, record=())
        after = history[ids]
        rows = np.arange(len(ids))[:, None]
        for _, place, count, width in self._sensed:
            # layout of a buffer: user value, cursor at the newest, time stamps, samples
            newest = after[:, place.start - count - 1].astype(int)
            columns = place.start + newest[:, None] * width + np.arange(width)
            first = np.tile(after[rows, columns], (1, count))
            samples[:, place] = np.where(is_open[:, place], first, samples[:, place])


def held_states(
    models: Sequence[mujoco.MjModel], states: np.ndarray, controls: np.ndarray
) -> np.ndarray:
    """Copies of states with open entries set to the steady state under the first command.

    Args:
      models: one model per state, all of one layout.
      states: full-physics states ``(n, state size)``; NaN is open.
      controls: first command of each ``(n, nu)``.

    Raises:
      mujoco.batch.SimulationError: MuJoCo refuses a state.
    """
    states = np.array(states, float)
    if not np.isnan(states).any():
        return states
    model = models[0]
    batch = Batch(model, len(states), 1)
    batch.set_models(models)
    rows, data = batch.state, mujoco.MjData(model)
    for row, state in zip(rows, states, strict=True):
        mujoco.mj_setState(model, data, state, FULL_PHYSICS)
        mujoco.mj_getState(model, data, row, INTEGRATION)
    HeldStart(model).fill(batch, np.arange(len(states)), controls, fields_of(models))
    for row, state in zip(rows, states, strict=True):
        mujoco.mj_extractState(model, row, INTEGRATION, state, FULL_PHYSICS)
    return states


def fields_of(models: Sequence[mujoco.MjModel]) -> Field:
    """Values of fields of compiled models, one per simulation."""
    return lambda name: np.stack([np.asarray(getattr(model, name)) for model in models])


def _blocks(
    sizes: np.ndarray, addresses: np.ndarray, widths: np.ndarray | None = None
) -> list[tuple[int, slice, int, int]]:
    """Buffers of delays: index, address of the samples, number of samples, width."""
    found = []
    for number, (size, address) in enumerate(zip(sizes[:, 0].tolist(), addresses.tolist())):
        if address >= 0:
            width = 1 if widths is None else int(widths[number])
            start = address + 2 + size
            found.append((number, slice(start, start + size * width), size, width))
    return found


def _moments(batch: Batch, ids: np.ndarray, model: mujoco.MjModel) -> np.ndarray:
    """Moment arms ``(n, outputs, nv)`` of the transmissions."""
    sparse, columns = batch.bind("actuator_moment")[ids], batch.bind("moment_colind")[ids]
    counts, first = batch.bind("moment_rownnz")[ids], batch.bind("moment_rowadr")[ids]
    dense = np.zeros((len(ids), counts.shape[1], model.nv))
    for output in range(counts.shape[1]):
        for k in range(int(counts[:, output].max(initial=0))):
            rows = np.flatnonzero(counts[:, output] > k)
            place = first[rows, output] + k
            dense[rows, output, columns[rows, place]] = sparse[rows, place]
    return dense


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a / b``, and zero where ``b`` is zero."""
    usable = np.abs(b) > mujoco.mjMINVAL
    return np.where(usable, a / np.where(usable, b, 1.0), 0.0)
