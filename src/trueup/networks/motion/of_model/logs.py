"""Recordings of the joints of a MuJoCo model as a batch for training through the
simulator."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

from trueup.errors import ModelError, RecordingError, listing
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, VELOCITY
from trueup.networks.motion.logs import MOVING
from trueup.networks.motion.of_model.joints import ModelBase, ModelJoints, ModelWindows
from trueup.networks.motion.settings import MOTION, MotionSettings
from trueup.signals import TimeSeries
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.actuator_types import holds_position
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.step_controls import controls_on_grid
from trueup.sysid.recordings.measured_state import StateColumns, state_columns

SAMPLE = 5e-3
"""Smallest sample interval of the corrections [s]."""

SMOOTHING = 0.02
"""Half width of the window over which speeds are estimated from angles [s]."""

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def joint_names(model: mujoco.MjModel) -> tuple[str, ...]:
    """Names of the joints of a model in the order of its degrees of freedom.

    Raises:
        ModelError: a joint is neither hinge nor slide, an actuator has an activation state, or
            there is no joint or no actuator.
    """
    names = [
        mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or f"joint {joint}"
        for joint in range(model.njnt)
    ]
    wider = [n for n, kind in zip(names, model.jnt_type, strict=True) if int(kind) not in _SCALAR]
    if wider:
        raise ModelError(
            f"joint {listing(wider)} of the model is a free or ball joint; corrections support "
            "hinge and slide joints only.  Clamp the robot and set  model: {base: fixed}"
        )
    if not names or not model.nu:
        raise ModelError(
            f"the model has {len(names)} joints and {model.nu} actuators; training requires both. "
            "Set  model: {actuators: position, kp: ..., kd: ...}  for position servos"
        )
    if model.na:
        raise ModelError(
            f"actuators of the model have {model.na} activation states, which the gradient does "
            "not support: set  model: {actuators: position} or torque"
        )
    return tuple(names)


@dataclass(frozen=True, eq=False)
class ModelLogs:
    """A batch of recordings of one sample rate; short ones are padded with their last row."""

    names: tuple[str, ...]
    joints: tuple[str, ...]
    base: ModelBase
    rate: float
    """Sample rate [Hz]."""
    lengths: np.ndarray
    position: Tensor
    """Angles, (recordings, samples, joints) [rad]."""
    speed: Tensor
    controls: np.ndarray
    """Control of each step, (recordings, samples, substeps, nu)."""
    substeps: int
    inputs: tuple[str, ...]
    """Inputs of a correction."""

    @classmethod
    def of(
        cls,
        base: ModelBase,
        sequences: Sequence[ModelSequences],
        settings: ObservationSettings,
        training: MotionSettings,
        substeps: int,
    ) -> "ModelLogs":
        """The recordings of a model.

        Args:
            base: base model.
            sequences: recordings of the model.
            settings: interpolation of controls, and delays of sensors.
            training: settings of the training; inputs are signals of the motion.
            substeps: time steps a sample.

        Raises:
            RecordingError: a joint was not measured, or all commands are constant.
        """
        model, found = base.model, []
        joints = joint_names(model)
        step = float(model.opt.timestep)
        for group in sequences:
            for trajectory in group.measured_rollout:
                found.append((trajectory.name, *_sampled(model, trajectory, settings, substeps)))
        size = max(len(angles) for _, angles, _, _ in found)
        names = tuple(name for name, *_ in found)
        if all(np.ptp(c.reshape(-1, model.nu), axis=0).max() == 0 for *_, c in found):
            raise RecordingError(
                f"all commands of {listing(names)} are constant: record commanded motion"
            )

        def stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
            return np.stack(
                [np.concatenate([r, np.repeat(r[-1:], size - len(r), 0)]) for r in rows]
            )

        angles, speeds, controls = (stacked(rows) for rows in list(zip(*found, strict=True))[1:])
        return cls(
            names=names,
            joints=joints,
            base=base,
            rate=1.0 / (step * substeps),
            lengths=np.array([len(angles) for _, angles, _, _ in found]),
            position=torch.from_numpy(angles),
            speed=torch.from_numpy(speeds),
            controls=controls,
            substeps=substeps,
            inputs=model_inputs(training.inputs),
        )

    def driven(self, base: ModelBase, learned: bool, identify_gains: bool) -> ModelJoints:
        """The simulator of these recordings; parameters of the model are not trained."""
        return ModelJoints(base, self.substeps)

    def windows(
        self, joints: ModelJoints, rows: Tensor, starts: Tensor, steps: int
    ) -> ModelWindows:
        """Windows of ``steps + 1`` samples, from starts (B,) in recordings (B,)."""
        last = self.position.shape[1] - 1
        at = (starts[:, None] + torch.arange(steps + 1)[None]).clamp(max=last)
        log = rows[:, None].expand_as(at)
        position, speed = self.position[log, at], self.speed[log, at]  # (B, samples, joints)
        controls = self.controls[log.numpy(), at.numpy()]
        states = np.stack([
            joints.state_of(*each) for each in zip(
                position[:, 0].numpy(), speed[:, 0].numpy(), (starts / self.rate).tolist(),
                strict=True)
        ])  # fmt: skip

        def as_rows(values: Tensor) -> Tensor:
            return values.permute(1, 2, 0).reshape(steps + 1, -1).contiguous()

        command = torch.from_numpy(_commands(self.base.model, controls[:, :, 0]))
        return ModelWindows(
            joints,
            as_rows(position),
            as_rows(speed),
            controls.transpose(1, 0, 2, 3)[:-1],
            as_rows(command),
            states,
            self.inputs,
            correction_features,
        )

    def whole(self, joints: ModelJoints) -> ModelWindows:
        """All recordings in full, padded to the longest."""
        rows = torch.arange(len(self.names))
        return self.windows(joints, rows, torch.zeros_like(rows), int(self.lengths.max()) - 1)

    def errors(self, positions: Tensor) -> np.ndarray:
        """RMS error (joints, recordings) [rad] of simulated angles (rows, samples)."""
        simulated = positions.reshape(len(self.joints), len(self.names), -1).numpy()
        squares = (simulated - self.position.permute(2, 0, 1).numpy()) ** 2
        means = [squares[:, r, :count].mean(axis=1) for r, count in enumerate(self.lengths)]
        return np.sqrt(np.stack(means, axis=1))

    @property
    def speed_deviations(self) -> np.ndarray:
        """Standard deviation of the recorded speed of each joint, (joints,) [rad/s]."""
        return self.speed.reshape(-1, len(self.joints)).std(dim=0).numpy()

    @property
    def shortest(self) -> float:
        """Duration of the shortest recording [s]."""
        return float(self.lengths.min()) / self.rate


def correction_features(
    names: tuple[str, ...], position: Tensor, command: Tensor, speed: Tensor
) -> Tensor:
    """Inputs of corrections, (rows, inputs); the angle error is zero without a position servo."""
    found = {ANGLE: position, VELOCITY: speed}
    if ANGLE_ERROR in names:
        found[ANGLE_ERROR] = torch.nan_to_num(command - position)
    return torch.stack([found[name] for name in names], dim=-1)


def model_inputs(named: Sequence[str]) -> tuple[str, ...]:
    """Inputs of the corrections of a model; angle and velocity by default.

    Raises:
        RecordingError: a name is a condition of servo logs.
    """
    if other := [name for name in named if name not in MOTION]:
        raise RecordingError(
            f"{other[0]!r} is a condition of servo logs; inputs of the corrections of a model are "
            f"{listing(MOTION)}"
        )
    found = tuple(feature for name, feature in zip(MOTION, MOVING, strict=True) if name in named)
    return found or (ANGLE, VELOCITY)


def sample_steps(model: mujoco.MjModel, sequences: Sequence[ModelSequences]) -> int:
    """Number of time steps per sample: the interval of the recordings, at least `SAMPLE`."""
    spans = [np.median(np.diff(t.sensordata.times)) for g in sequences for t in g.measured_rollout]
    return max(1, round(max(float(np.max(spans)), SAMPLE) / float(model.opt.timestep)))


def _sampled(
    model: mujoco.MjModel, trajectory: SystemTrajectory, settings: ObservationSettings, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles and speeds (samples, nv), and controls of each step (samples, substeps, nu)."""
    recorded, control = trajectory.sensordata, trajectory.control
    columns = state_columns(model, recorded)
    if missing := columns.missing(model):
        raise RecordingError(
            f"{trajectory.name}: joint {listing(missing)} was not measured; training through the "
            "simulator requires the angle of every joint. Add its column to the signals"
        )
    step = float(model.opt.timestep)
    start = max(recorded.times[0], control.times[0])
    end = min(recorded.times[-1], control.times[-1])
    count = int((end - start) / (step * steps) + 1e-9) + 1
    times = start + step * steps * np.arange(count)
    lag = 0.0 if settings.exact_sensor_times else step
    angles = _at(recorded, columns, columns.positions, times, lag)
    measured = dict(columns.velocities)
    speeds = _slopes(angles, 1.0 / (step * steps))
    if measured:
        given = _at(recorded, columns, measured, times, lag)
        for place, dof in enumerate(sorted(measured)):
            speeds[:, dof] = given[:, place]
    controls = controls_on_grid(model, control, settings, start, count * steps)
    return angles, speeds, controls.reshape(count, steps, model.nu)


def _at(
    recorded: TimeSeries,
    columns: StateColumns,
    chosen: dict[int, int],
    times: np.ndarray,
    lag: float,
) -> np.ndarray:
    """Columns at times, in the order of their indices, shifted by the delays of the sensors."""
    now, late = (recorded.interpolate(times + shift, "linear") for shift in (0.0, lag))
    return np.stack(
        [(late if c in columns.from_sensors else now)[:, c] for _, c in sorted(chosen.items())],
        axis=1,
    )


def _slopes(angles: np.ndarray, rate: float) -> np.ndarray:
    """Speeds by local quadratic fits over `SMOOTHING` on either side of each sample."""
    half = max(1, min(round(SMOOTHING * rate), (len(angles) - 1) // 2))
    offsets = np.arange(-half, half + 1.0)
    weights = offsets / np.sum(offsets**2)
    found = np.zeros_like(angles)
    windows = np.lib.stride_tricks.sliding_window_view(angles, 2 * half + 1, axis=0)
    found[half:-half] = windows @ weights
    # at the ends by the quadratic of the first and the last full window
    powers = np.stack([np.ones_like(offsets), offsets, offsets**2], axis=1)
    for samples, at in ((slice(0, 2 * half + 1), slice(0, half)),
                        (slice(-2 * half - 1, None), slice(-half, None))):  # fmt: skip
        _, slope, bend = np.linalg.lstsq(powers, angles[samples], rcond=None)[0]
        found[at] = slope + 2.0 * bend * offsets[at, None]
    return found * rate


def _commands(model: mujoco.MjModel, controls: np.ndarray) -> np.ndarray:
    """Command of the position servo of each joint, (..., nv); NaN where it has none."""
    found = np.full((*controls.shape[:-1], model.nv), np.nan)
    for actuator in range(model.nu):
        joint = int(model.actuator_trnid[actuator, 0])
        on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        if on_joint and holds_position(model, actuator):
            found[..., int(model.jnt_dofadr[joint])] = controls[..., actuator]
    return found
