"""A servo on its bench as a differentiable step in torch, with a correction of its torque.

The step is that of the bench simulator (``semi-implicit``), made from the same equations: motor,
friction and load by the servo model, and the correction as one more torque on the joint.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trueup.actuators.bench.loads import Pendulum, bench_of
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.actuators.equations.array_form import torch_function
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError, RecordingError, listing
from trueup.networks.base.servo_base import UNLIMITED

MAX_STEP = 2.5e-3
"""Greatest step of the joint [s]."""

STATES = ("backlash", "max_velocity")
"""Terms with a state of their own, which the step here does not have."""

_NOT_LEARNED = ("q_offset", "command_delay")
"""An offset may turn its sign, and the delay acts on the commands beforehand."""

_AT_REST = 1e-12
_FURTHEST = 4.0 * math.pi

_INPUTS = (
    "position", "speed", "target", "on", "correction", "gain", "rate_gain", "voltage", "volts",
    "warmth", "inertia", "gravity", "h",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MotionLogs:
    """Logs side by side, as tensors of shape (logs, samples); short ones end with their last row.

    All are sampled at one rate.
    """

    names: tuple[str, ...]
    rate: float
    """Samples a second [Hz]."""
    lengths: np.ndarray
    position: Tensor
    speed: Tensor
    substeps: int
    """Steps of the joint a sample."""
    goal: Tensor
    """Command as the servo gets it, with its delay [rad], (logs, samples, substeps)."""
    on: Tensor
    """Torque enable, likewise."""
    volts: Tensor
    warmth: Tensor
    gain: Tensor
    """Gain of the error, (logs,)."""
    rate_gain: Tensor
    voltage: Tensor
    inertia: Tensor
    gravity: Tensor
    kp: Tensor
    """Firmware gain, (logs,)."""

    @classmethod
    def of(cls, model: ServoModel, logs: Sequence[ServoLog]) -> "MotionLogs":
        """The logs of a servo.

        Raises:
            RecordingError: a log is not evenly sampled, rates differ, or it describes no pendulum.
            FitError: no command of a log ever changes.
        """
        if not logs:
            raise RecordingError("there is no log to train on")
        rates = sorted({round(1.0 / log.dt, 6) for log in logs if log.dt is not None})
        if len(rates) != 1 or any(log.dt is None for log in logs):
            raise RecordingError(
                f"logs are stepped at one rate; these have {listing(map(str, rates))} Hz, and raw "
                "logs none: resample them to one time step"
            )
        rate = rates[0]
        if all(np.ptp(log.goal_position) == 0 for log in logs):
            raise RecordingError(
                f"the command never changes in any of {len(logs)} logs: record motion, such as "
                "trueup actuator record makes"
            )
        size = max(len(log) for log in logs)
        substeps = max(1, math.ceil(1.0 / (rate * MAX_STEP) - 1e-9))
        lag = model.values.get("command_delay", 0.0) * rate * substeps

        def stacked(rows: Sequence[np.ndarray]) -> Tensor:
            padded = [np.concatenate([r, np.repeat(r[-1:], size - len(r), axis=0)]) for r in rows]
            return torch.as_tensor(np.stack(padded).astype(np.float64))

        benches = [_bench(log) for log in logs]
        # its checks: the servo of the logs, and measurements that terms read
        BenchSimulator(model, logs, benches=benches, max_step=MAX_STEP)
        furthest = max(float(np.abs(log.position).max()) for log in logs)
        if furthest > _FURTHEST:
            raise RecordingError(
                f"angles reach {furthest:.4g}: a log holds radians, and these look like degrees"
            )
        gains = [model.servo.gains(log.kp, log.damping) for log in logs]
        volts = [np.zeros(len(g)) if g.input_volts is None else g.input_volts for g in logs]
        warm = [
            np.zeros(len(g))
            if g.temperature is None
            else g.temperature - equations.REFERENCE_TEMPERATURE
            for g in logs
        ]
        numbers = [bench.numbers() for bench in benches if isinstance(bench, Pendulum)]
        nominal = [model.servo.vin if log.vin is None else log.vin for log in logs]
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
        )


class DrivenJoint(nn.Module):
    """The joint of a servo model, stepped from sample to sample.

    Args:
        model: servo, friction and terms.
        learned: let training move the parameters, each by a factor, so that none turns its sign.

    Raises:
        FitError: the model has a term with a state of its own.
    """

    def __init__(self, model: ServoModel, learned: bool = False):
        super().__init__()
        found = [name for name in STATES if name in model.terms]
        if found:
            raise FitError(
                f"training through the simulator has no {listing(found)}: fit the servo without, "
                "and let the network learn it"
            )
        self.model = model
        self.names = tuple(
            name
            for name, value in model.values.items()
            if learned and value and name not in _NOT_LEARNED
        )
        self.steps = nn.Parameter(torch.zeros(len(self.names), dtype=torch.float64))
        start = [model.values[name] for name in self.names]
        self.register_buffer("start", torch.tensor(start, dtype=torch.float64))
        self._step = torch_function(
            self._equation, _INPUTS, self.names
        )  # its numbers stand in the source

    def _equation(
        self, position, speed, target, on, correction, gain, rate_gain, voltage, volts, warmth,
        inertia, gravity, h, moved=None,
    ):  # fmt: skip
        model = self.model
        values = {**model.values, **(moved or {})}
        # finite limits: an infinite one has no slope by what it is multiplied with
        p = ParameterValues(
            values,
            limit=values.get("current_limit", values.get("max_torque", UNLIMITED)),
            max_amps=min(model.servo.max_amps, UNLIMITED),
            max_pwm=min(model.servo.max_pwm, UNLIMITED),
            rate_gain=rate_gain,
            gate=float(model.quadratic == "gated"),
        )
        ratio = values.get("error_gain_ratio", values.get("ratio", 1.0))
        p = ParameterValues(
            p._values,
            gain=gain * ratio,
            vin=equations.bus_voltage(voltage, volts, p),
            resistance=equations.winding_resistance(warmth, p),
        )
        load = -gravity * np.sin(position + p.q_offset)
        driven, _, damping = equations.LAWS[model.servo.law](target - position, speed, p)
        driven = equations.saturated_torque(driven, p)
        torque, damping = equations.shaft_torque(on, driven, damping, speed, p)
        # the Stribeck power has no slope at a speed of exactly zero, which a joint at rest has
        moving = np.where(np.absolute(speed) < _AT_REST, _AT_REST, speed)
        loss = model.friction.loss(torque, load, moving, p)
        return equations.implicit_speed(
            speed,
            torque + load + correction,
            (inertia + p.armature) / h,
            damping,
            loss,
            p.friction_viscous,
        )

    def forward(self, position: Tensor, speed: Tensor, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Position and speed after a sample, shapes (B,); the inputs are those of the step."""
        rate, substeps = float(inputs.pop("rate")), inputs["target"].shape[-1]
        h = torch.full_like(position, 1.0 / (rate * substeps))
        extra = (self.start * torch.exp(self.steps),) if self.names else ()
        for step in range(substeps):
            commands = {name: inputs[name][..., step] for name in ("target", "on")}
            given = [{**inputs, **commands}[name] for name in _INPUTS[2:-1]]
            speed = self._step(position, speed, *given, h, *extra)
            position = position + h * speed
        return position, speed

    def moved_model(self) -> ServoModel:
        """The servo with the parameters that training has reached."""
        if not self.names:
            return self.model
        numbers = (self.start * torch.exp(self.steps)).detach().tolist()
        moved = dict(zip(self.names, numbers, strict=True))
        return replace(self.model, values={**self.model.values, **moved})


def _bench(log: ServoLog) -> Any:
    """Load of a log.

    Raises:
        RecordingError: it states none.
    """
    try:
        return bench_of(log)
    except RecordingError as error:
        raise RecordingError(
            f"{error}. Motion alone gives the torque over the inertia: with the inertia stated, "
            "the scale of the torque follows; with the torque known, the inertia does"
        ) from error


def _delayed(values: np.ndarray, lag: float, substeps: int) -> np.ndarray:
    """Command of each step of the joint, some steps late, (samples, substeps).

    Commands hold; a step that two of them share is driven by their mean over it.
    """
    whole = int(lag)
    step = np.arange(len(values) * substeps) - whole
    now = values[np.maximum(step, 0) // substeps].astype(float)
    before = values[np.maximum(step - 1, 0) // substeps].astype(float)
    return (now + (lag - whole) * (before - now)).reshape(len(values), substeps)


def _column(values: Sequence[Any]) -> Tensor:
    return torch.tensor([float(v) for v in values], dtype=torch.float64)
