"""Torques of actuators by their laws, from recorded commands and positions."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from trueup.signals import TimeSeries, butterworth
from trueup.simulation.engine.control_layout import control_columns
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.actuator_types import has_static_law
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.torque.bandwidth import ChosenBandwidth
from trueup.sysid.torque.data import TorqueData
from trueup.sysid.torque.joint_motion import SAMPLES_PER_PERIOD, actuators_of, torque_sources

_HIGHEST = 0.2  # corner frequency of the filter, relative to the sampling rate
_CORNER = 20.0  # corner frequency without inverse dynamics, at most [Hz]
_UNFILTERED = 0.45  # corner relative to the sampling rate from which nothing is filtered
_FEWEST = 8  # smallest number of samples


@dataclass(frozen=True)
class ActuatorLaws:
    """Commands and motion of joints whose actuators have a constant law.

    The force of an actuator is that of :func:`has_static_law`, with its command clipped to the
    range of commands and late by a delay, and the force to its limits, as MuJoCo simulates it.
    """

    model: mujoco.MjModel
    """Model of a simulation of the causes: every actuator has limits."""
    names: tuple[str, ...]
    """Joints that are compared."""
    dofs: tuple[int, ...]
    """Degrees of freedom with a known law ``(k,)``."""
    compared: tuple[int, ...]
    """Those with a recorded torque, as places among ``dofs``."""
    actuators: tuple[tuple[int, ...], ...]
    """Actuators of each."""
    grid: np.ndarray
    """Equal intervals of the recording ``(N,)`` [s]."""
    rows: np.ndarray
    """Samples of the grid that are compared ``(T,)``."""
    positions: np.ndarray
    """Recorded positions ``(N, k)`` [rad, m]."""
    velocities: np.ndarray
    """Filtered ``(N, k)``."""
    commands: TimeSeries
    late: np.ndarray
    """Delay of the commands against the samples, because they are held ``(k,)`` [s]."""
    corner: float
    """Corner frequency of the filter [Hz]."""
    recorded: np.ndarray
    """Filtered torques of the joints that are compared ``(T, c)``."""
    noise: np.ndarray
    """Noise of the difference of both, of torques and positions ``(c,)``."""

    @property
    def times(self) -> np.ndarray:
        """Times of the compared samples ``(T,)`` [s]."""
        return self.grid[self.rows]

    def relative_gains(self, fields: dict[str, np.ndarray], place: int) -> np.ndarray:
        """Torque of a joint per unit of its commands, relative to that of the model ``(n,)``."""
        which = list(self.actuators[place])
        given = self.model.actuator_gear[which, 0] * self.model.actuator_gainprm[which, 0]
        own = fields["actuator_gear"][:, which, 0] * fields["actuator_gainprm"][:, which, 0]
        base = float(np.sqrt(np.square(given).sum()))
        found = np.sqrt(np.square(own).sum(axis=1))
        return np.where(found > 0, found, 1.0) / base if base > 0 else np.ones(len(found))

    def torques(self, fields: dict[str, np.ndarray]) -> np.ndarray:
        """Filtered torques ``(n, T, k)``.

        Args:
          fields: fields of candidate models ``(n, ...)``.
        """
        used = [i for own in self.actuators for i in own]
        joints = [int(self.model.dof_jntid[dof]) for dof in self.dofs]
        table = np.concatenate(
            [
                *(
                    fields[f"actuator_{name}"][:, used].reshape(len(fields["actuator_gear"]), -1)
                    for name in ("gear", "gainprm", "biasprm", "forcerange", "ctrlrange", "delay")
                ),
                fields["jnt_actfrcrange"][:, joints].reshape(len(fields["actuator_gear"]), -1),
            ],
            axis=1,
        )
        # most candidates differ in links and joints alone
        _, first, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return self._distinct({n: v[first] for n, v in fields.items()})[which.reshape(-1)]

    def _distinct(self, fields: dict[str, np.ndarray]) -> np.ndarray:
        """Filtered torques of models that all differ ``(n, T, k)``."""
        model, count = self.model, len(fields["actuator_gear"])
        # velocities are filtered already, and what limits cut off is filtered with the rest
        unfiltered, filtered = np.zeros((2, count, *self.positions.shape))
        for k, (dof, own) in enumerate(zip(self.dofs, self.actuators, strict=True)):
            for i in own:
                gear = fields["actuator_gear"][:, i, :1]
                bias = fields["actuator_biasprm"][:, i, :, None]
                force = fields["actuator_gainprm"][:, i, :1] * self._commands(fields, i, k)
                damped = np.zeros_like(force)
                if model.actuator_biastype[i] != int(mujoco.mjtBias.mjBIAS_NONE):
                    force += bias[:, 0] + gear * bias[:, 1] * self.positions[:, k]
                    damped = gear * bias[:, 2] * self.velocities[:, k]
                filtered[:, :, k] += gear * damped
                if model.actuator_forcelimited[i]:
                    limits = fields["actuator_forcerange"][:, i, :, None]
                    force = np.clip(force + damped, limits[:, 0], limits[:, 1]) - damped
                unfiltered[:, :, k] += gear * force
            joint = int(model.dof_jntid[dof])
            if model.jnt_actfrclimited[joint]:
                limits = fields["jnt_actfrcrange"][:, joint, :, None]
                whole = unfiltered[:, :, k] + filtered[:, :, k]
                unfiltered[:, :, k] = np.clip(whole, limits[:, 0], limits[:, 1])
                unfiltered[:, :, k] -= filtered[:, :, k]
        table = np.moveaxis(unfiltered, 0, 1).reshape(len(self.grid), -1)
        smooth = _smooth(self.grid, table, self.corner)[self.rows]
        smooth = smooth.reshape(len(self.rows), count, -1).swapaxes(0, 1)
        return smooth + filtered[:, self.rows]

    def _commands(self, fields: dict[str, np.ndarray], actuator: int, place: int) -> np.ndarray:
        """Commands of an actuator when they act ``(n, N)``."""
        times, values = self.commands.times, self.commands.data
        order = control_columns(self.model, self.commands)
        values = values[:, actuator if order is None else int(order[actuator])]
        late = fields["actuator_delay"][:, actuator] - self.model.actuator_delay[actuator]
        at = self.grid - self.late[place] - late[:, None]
        out = np.interp(at.reshape(-1), times, values).reshape(at.shape)
        if self.model.actuator_ctrllimited[actuator]:
            limits = fields["actuator_ctrlrange"][:, actuator, :, None]
            out = np.clip(out, limits[:, 0], limits[:, 1])
        return out


def actuator_laws(
    trajectory: SystemTrajectory,
    model: mujoco.MjModel,
    driven: set[str],
    bandwidth: ChosenBandwidth | None,
    motion: TorqueData | None,
    control: str,
) -> ActuatorLaws | None:
    """Laws of the actuators of a recording; None where no joint has a known one.

    Args:
      trajectory: recording of the model as given.
      model: model of a simulation of the causes.
      driven: names of the actuators with a recorded command.
      bandwidth: filter of inverse dynamics; None: a filter for the sampling rate.
      motion: inverse dynamics of the recording, whose samples are compared; None: all samples.
      control: interpolation of commands of the experiment.
    """
    given, recorded = trajectory.model, trajectory.sensordata
    columns = state_columns(given, recorded)
    numbers = {i for i in range(given.nu) if given.actuator(i).name in driven}
    sensors = torque_sources(given, recorded, numbers).sensor_columns
    dofs, actuators, compared = [], [], []
    for dof, address in sorted(columns.position_of_velocity.items()):
        own = actuators_of(given, dof)
        known = all(i in numbers and has_static_law(given, i) for i in own)
        if own and known and address in columns.positions:
            if dof in sensors:
                compared.append(len(dofs))
            dofs.append(dof)
            actuators.append(tuple(own))
    times = recorded.times
    step = float(np.median(np.diff(times)))
    if not dofs:
        return None
    grid = times[0] + step * np.arange(int((times[-1] - times[0]) / step) + 1)
    corner = min(_CORNER, _HIGHEST / step) if bandwidth is None else bandwidth.corner
    rows = np.arange(0, len(grid), max(1, int(1.0 / (SAMPLES_PER_PERIOD * corner * step))))
    if motion is not None:
        rows = np.rint((motion.motion.times - grid[0]) / step).astype(int)
    if len(rows) < _FEWEST:
        return None
    signals = CubicSpline(times, recorded.data)(grid)
    positions = signals[:, [columns.positions[columns.position_of_velocity[d]] for d in dofs]]
    # a simulation takes the velocity of a force from the step before
    earlier = np.maximum(grid - 0.5 * float(given.opt.timestep), grid[0])
    velocities = CubicSpline(grid, _smooth(grid, positions, corner))(earlier, 1)
    measured = _smooth(grid, signals[:, [sensors[dofs[k]] for k in compared]], corner)[rows]
    stiff = [sum(abs(given.actuator_gear[i, 0] ** 2 * given.actuator_biasprm[i, 1]) for i in own)
             for own in actuators]  # fmt: skip
    noise = np.hypot(
        _noise(signals[:, [sensors[dofs[k]] for k in compared]]),
        _noise(positions[:, compared]) * np.array(stiff)[compared],
    )
    held = 0.5 * float(np.median(np.diff(trajectory.control.times)))
    # a command that is held acts late against one that is interpolated; at the rate of the torques
    # both are sampled at the same instants
    sensed = max(held - 0.5 * step, 0.0) if control == "zoh" else 0.0
    alone = held if bandwidth is not None and bandwidth.held else 0.0
    late = np.array([sensed if dof in sensors else alone for dof in dofs])
    names = tuple(given.joint(int(given.dof_jntid[dofs[k]])).name for k in compared)
    return ActuatorLaws(
        model,
        names,
        tuple(dofs),
        tuple(compared),
        tuple(actuators),
        grid,
        rows,
        positions,
        np.asarray(velocities),
        trajectory.control,
        late,
        corner,
        measured,
        # white noise, of which the filter leaves its band
        noise * np.sqrt(min(1.0, 2.0 * corner * step)),
    )


def _noise(values: np.ndarray) -> np.ndarray:
    """Standard deviation of white noise of signals ``(N, k)``, by their second differences."""
    return np.std(np.diff(values, 2, axis=0), axis=0) / np.sqrt(6.0)


def _smooth(grid: np.ndarray, values: np.ndarray, corner: float) -> Any:
    """Values ``(N, k)`` after the zero-phase filter of inverse dynamics."""
    if not values.size or corner >= _UNFILTERED / float(grid[1] - grid[0]):
        return values
    return butterworth(grid, values, cutoff=corner, order=4)
