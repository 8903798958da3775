"""Logs of a joint as a batch for training through the simulator."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueup.actuators.bench.loads import Pendulum, bench_of
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, listing
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    DERIVATIVE_GAIN,
    INERTIA,
    POSITION_GAIN,
    TEMPERATURE,
    VELOCITY,
    VOLTAGE,
)
from trueup.networks.motion.base import NONE, Joint, MotionBase
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.joint_step import SampleInputs
from trueup.networks.motion.joint_windows import JointWindows
from trueup.networks.motion.settings import CONDITIONS, MOTION
from trueup.signals import suspect_units

MAX_STEP = 2.5e-3
"""Largest time step of the joint [s]."""

MOVING = (ANGLE, ANGLE_ERROR, VELOCITY)
"""Inputs of a correction from the motion. With the torque disabled the angle error is zero."""

TORQUE_COLUMN = "torque"
"""Field of a log that holds the measured torque on the load [N m]."""


@dataclass(frozen=True, eq=False)
class MotionLogs:
    """Logs as tensors of shape (logs, samples); short logs are padded with their last row.

    All logs have one sample rate.
    """

    names: tuple[str, ...]
    rate: float
    """Sample rate [Hz]."""
    lengths: np.ndarray
    position: Tensor
    speed: Tensor
    substeps: int
    """Number of time steps of the joint per sample."""
    goal: Tensor
    """Command with the delay of the servo [rad], (logs, samples, substeps)."""
    on: Tensor
    """Torque enable with the same delay, (logs, samples, substeps)."""
    volts: Tensor
    warmth: Tensor
    gain: Tensor
    """Gain of the angle error, with its firmware factor, (logs,)."""
    rate_gain: Tensor
    voltage: Tensor
    inertia: Tensor
    gravity: Tensor
    kp: Tensor
    """Firmware gain of the angle error, (logs,)."""
    inputs: tuple[str, ...]
    """Inputs of the correction: signals of the motion, and conditions of a log."""
    conditions: dict[str, Tensor]
    """Values of the conditions among `inputs` by name, (logs,) each."""
    torque: Tensor | None
    """Measured torque on the load [N m]; None where a log has none."""

    @classmethod
    def of(
        cls,
        base: Joint | MotionBase,
        logs: Sequence[ServoLog],
        inputs: Sequence[str] = MOVING,
    ) -> "MotionLogs":
        """The logs of a joint.

        Args:
            base: base model of the joint.
            logs: evenly sampled logs.
            inputs: inputs of the correction, names of features.

        Raises:
            RecordingError: a log is not evenly sampled, rates differ, all commands are constant,
                angles appear to be in degrees, or the load or a condition of a log is missing.
        """
        if not logs:
            raise RecordingError("the list of training logs is empty")
        rates = sorted({round(1.0 / log.dt, 6) for log in logs if log.dt is not None})
        if len(rates) != 1 or any(log.dt is None for log in logs):
            raise RecordingError(
                f"logs must have one sample rate; these have {listing(map(str, rates))} Hz, and "
                "raw logs have none: resample them to one time step"
            )
        rate = rates[0]
        _check_motion(logs)
        size = max(len(log) for log in logs)
        substeps = max(1, math.ceil(1.0 / (rate * MAX_STEP) - 1e-9))
        model = MotionBase.of(base).joint
        delay = model.values.get("command_delay", 0.0) if isinstance(model, ServoModel) else 0.0
        lag = delay * rate * substeps

        def stacked(rows: Sequence[np.ndarray]) -> Tensor:
            padded = [np.concatenate([r, np.repeat(r[-1:], size - len(r), axis=0)]) for r in rows]
            return torch.as_tensor(np.stack(padded).astype(np.float64))

        benches = [_bench(log) for log in logs]
        if isinstance(model, ServoModel):
            # for its checks: the servo of the logs, and measurements that terms require
            BenchSimulator(model, logs, benches=benches, max_step=MAX_STEP)
        gains = [_gains(model, log, logs) for log in logs]
        volts = [np.zeros(len(g)) if g.input_volts is None else g.input_volts for g in logs]
        warm = [
            np.zeros(len(g))
            if g.temperature is None
            else g.temperature - equations.REFERENCE_TEMPERATURE
            for g in logs
        ]
        numbers = [bench.numbers() for bench in benches]
        supply = model.servo.vin if isinstance(model, ServoModel) else math.nan
        nominal = [supply if log.vin is None else log.vin for log in logs]
        torques = [log.columns.get(TORQUE_COLUMN) for log in logs]
        measured = [torque for torque in torques if torque is not None]
        return cls(
            names=tuple(log.name for log in logs),
            rate=rate,
            lengths=np.array([len(log) for log in logs]),
            position=stacked([log.position for log in logs]),
            speed=stacked([log.speed for log in logs]),
            substeps=substeps,
            goal=stacked([_delayed(log.goal_position, lag, substeps) for log in logs]),
            on=stacked([_delayed(log.torque_enable, lag, substeps) for log in logs]),
            volts=stacked(volts),
            warmth=stacked(warm),
            gain=_column([gain for gain, _ in gains]),
            rate_gain=_column([each for _, each in gains]),
            voltage=_column([v if math.isfinite(v) else 1.0 for v in nominal]),
            inertia=_column([inertia for inertia, _ in numbers]),
            gravity=_column([gravity for _, gravity in numbers]),
            kp=_column([log.kp for log in logs]),
            inputs=tuple(inputs),
            conditions={
                name: _column([condition_of(log, name) for log in logs])
                for name in inputs
                if name not in MOVING
            },
            torque=stacked(measured) if len(measured) == len(logs) else None,
        )

    def driven(self, base: Joint | MotionBase, learned: bool, identify_gains: bool) -> DrivenJoint:
        """The joint of these logs, with trainable parameters and gains."""
        gains = tuple(sorted(set(self.kp.tolist()))) if identify_gains else ()
        return DrivenJoint(base, learned, gains)

    def windows(self, joint: DrivenJoint, rows: Tensor, starts: Tensor, steps: int) -> JointWindows:
        """Windows of ``steps + 1`` samples, from starts (B,) in logs (B,)."""
        last = self.position.shape[1] - 1
        at = (starts[:, None] + torch.arange(steps + 1)[None]).clamp(max=last).T.contiguous()
        log = rows[None].expand_as(at)
        goal, on = self.goal[log, at], self.on[log, at]
        moving = [self.volts[log, at].numpy(), self.warmth[log, at].numpy()]
        held = {n: getattr(self, n)[rows].numpy()
                for n in ("rate_gain", "voltage", "inertia", "gravity")}  # fmt: skip
        pairs = zip(goal.numpy(), on.numpy(), *moving, strict=True)
        return JointWindows(
            joint=joint,
            position=self.position[log, at],
            speed=self.speed[log, at],
            command=goal[..., 0],
            enabled=on[..., 0],
            feature_names=self.inputs,
            conditions={n: each[rows] for n, each in self.conditions.items()},
            kp=self.kp[rows],
            gain=self.gain[rows],
            inputs=tuple(
                SampleInputs(target=t, on=o, volts=v, warmth=w, **held) for t, o, v, w in pairs
            ),
            h=1.0 / (self.rate * self.substeps),
            rate=self.rate,
            torque=None if self.torque is None else self.torque[log, at],
        )

    def whole(self, joint: DrivenJoint) -> JointWindows:
        """All logs in full, padded to the longest."""
        rows = torch.arange(len(self.names))
        return self.windows(joint, rows, torch.zeros_like(rows), int(self.lengths.max()) - 1)

    def errors(self, positions: Tensor) -> np.ndarray:
        """RMS angle error of each log (1, logs) [rad], of simulated angles (logs, samples)."""
        return np.array([rms_errors(positions, self.position, self.lengths)])

    @property
    def speed_deviations(self) -> np.ndarray:
        """Standard deviation of the recorded speed, (1,) [rad/s]."""
        return self.speed.std().reshape(1).numpy()

    @property
    def torque_scale(self) -> float:
        """Gravity torque of the load [N m], the scale of all torques."""
        return max(float(self.gravity.abs().max()), 1e-3)

    @property
    def shortest(self) -> float:
        """Duration of the shortest log [s]."""
        return float(self.lengths.min()) / self.rate


def correction_inputs(
    base: Joint | MotionBase | str, logs: Sequence[ServoLog], named: Sequence[str]
) -> tuple[str, ...]:
    """Inputs of a correction, names of features.

    A correction without conditions cannot extrapolate over them wrongly: from two gains a network
    learns nothing valid at a third, and the base already includes gain, voltage and load. Without a
    base, the correction drives the joint.

    Args:
        base: base model of the correction.
        logs: training logs.
        named: names from ``MOTION`` and ``CONDITIONS``; conditions alone are added to all of the
            motion. None: angle and velocity; without a base also the error and the gain, and of
            derivative gain, load and supply voltage those that differ among the logs.

    Raises:
        RecordingError: a log does not contain a named condition.
    """
    motion = tuple(_FEATURE_OF[name] for name in MOTION if name in named)
    found = [_FEATURE_OF[name] for name in named if name in CONDITIONS]
    if named:
        for log in logs:
            _ = [condition_of(log, name) for name in found]
        return (*(motion or MOVING), *found)
    if MotionBase.of(base).kind != NONE:
        return (ANGLE, VELOCITY)
    for name, value in _VALUES.items():
        known = {value(log) for log in logs}
        # a constant carries no information; few distinct temperatures would only identify the logs
        differs = None not in known and len(known) > 1 and name != TEMPERATURE
        if differs or name == POSITION_GAIN:
            found.append(name)
    return (*MOVING, *found)


def _voltage(log: ServoLog) -> float | None:
    """Nominal supply voltage of a log [V]; the measured one drops under load."""
    if log.vin is None and log.input_volts is not None:
        return float(np.mean(log.input_volts))
    return log.vin


def _temperature(log: ServoLog) -> float | None:
    return None if log.temperature is None else float(np.mean(log.temperature))


_FEATURE_OF = dict(
    zip(
        (*MOTION, *CONDITIONS),
        (*MOVING, POSITION_GAIN, DERIVATIVE_GAIN, INERTIA, VOLTAGE, TEMPERATURE),
        strict=True,
    )
)
_VALUES: dict[str, Callable[[ServoLog], float | None]] = {
    POSITION_GAIN: lambda log: log.kp,
    DERIVATIVE_GAIN: lambda log: log.damping,
    INERTIA: lambda log: float(_bench(log).numbers()[0]),
    VOLTAGE: _voltage,
    TEMPERATURE: _temperature,
}


def condition_of(log: ServoLog, name: str) -> float:
    """Value of a condition of a log.

    Raises:
        RecordingError: the log does not contain it.
    """
    value = _VALUES[name](log)
    if value is None:
        word = next(word for word, feature in _FEATURE_OF.items() if feature == name)
        raise RecordingError(
            f"{log.name}: the log has no {word}, which is an input of the correction: record it "
            "in every log, or remove it from the inputs"
        )
    return float(value)


def _gains(model: Joint | None, log: ServoLog, logs: Sequence[ServoLog]) -> tuple[float, float]:
    """Gains of the angle error and of the speed of a log.

    Raises:
        RecordingError: some logs have a derivative gain, and this one does not.
    """
    if isinstance(model, ServoModel):
        return model.servo.gains(log.kp, log.damping)
    stated = [each.damping is not None for each in logs]
    if log.damping is None and any(stated):
        raise RecordingError(
            f"{log.name}: the log has no derivative gain (damping), but {sum(stated)} of "
            f"{len(logs)} logs have one: record it in every log, or in none"
        )
    return log.kp, 1.0 if log.damping is None else log.damping


def _check_motion(logs: Sequence[ServoLog]) -> None:
    """Refuse logs with constant commands, and angles that appear to be in degrees."""
    if all(np.ptp(log.goal_position) == 0 for log in logs):
        raise RecordingError(
            f"the command is constant in all {len(logs)} logs: record motion, for example with "
            "trueup actuator record"
        )
    for log in logs:
        for name, values in (("position", log.position), ("goal_position", log.goal_position)):
            if suspect_units(name, values, "angle"):
                raise RecordingError(
                    f"{log.name}: angles of {name} reach {float(np.abs(values).max()):.4g}; "
                    "expected radians, these appear to be degrees"
                )


def _bench(log: ServoLog) -> Pendulum:
    """Pendulum load of a log.

    Raises:
        RecordingError: the log has no load.
    """
    try:
        return bench_of(log)
    except RecordingError as error:
        raise RecordingError(
            f"{error}. Motion alone determines only the ratio of torque to inertia: state the "
            "inertia of the load"
        ) from error


def _delayed(values: np.ndarray, lag: float, substeps: int) -> np.ndarray:
    """Command of each step of the joint, delayed by ``lag``, (samples, substeps).

    Commands are held; a step that two commands share has their time-weighted mean.
    """
    whole = int(lag)
    step = np.arange(len(values) * substeps) - whole
    now = values[np.maximum(step, 0) // substeps].astype(float)
    before = values[np.maximum(step - 1, 0) // substeps].astype(float)
    return (now + (lag - whole) * (before - now)).reshape(len(values), substeps)


def rms_errors(positions: Tensor, recorded: Tensor, lengths: np.ndarray) -> list[float]:
    """RMS angle error of each log [rad]; both angles have the shape (logs, samples)."""
    errors = (positions - recorded).numpy()
    return [
        float(np.sqrt(np.mean(row[:count] ** 2)))
        for row, count in zip(errors, lengths, strict=True)
    ]


def _column(values: Sequence[Any]) -> Tensor:
    return torch.tensor([float(v) for v in values], dtype=torch.float64)
