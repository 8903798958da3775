"""A joint on its bench as a differentiable step, with a correction of its torque.

The step is that of the bench simulator (``semi-implicit``), from the same equations: motor,
friction and load of the servo model or of a PD law, and the correction as an additional torque on
the joint.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import ParameterValues
from trueup.errors import FitError, listing
from trueup.networks.base.equations import pd_torque
from trueup.networks.base.servo import UNLIMITED
from trueup.networks.motion.base import Joint, MotionBase, PdJoint
from trueup.networks.motion.joint_step import SampleInputs, SampleStep, sample_step

STATES = ("backlash", "max_velocity")
"""Terms with an additional state, which this step does not have."""

_NOT_LEARNED = ("q_offset", "command_delay")
"""Parameters that are not scaled: an offset may change its sign; the delay shifts the commands."""

_AT_REST = 1e-12


class DrivenJoint(nn.Module):
    """Joint of a base, simulated from sample to sample.

    Args:
        base: servo model or PD joint, with the firmware factors of the gains.
        learned: whether training adjusts its parameters, each by a positive factor.
        gains: gains of the logs with a trainable factor; empty: the factors of the base.

    Raises:
        FitError: the model has a term with an additional state.
    """

    start: Tensor
    places: Tensor

    def __init__(
        self, base: Joint | MotionBase, learned: bool = False, gains: tuple[float, ...] = ()
    ):
        super().__init__()
        self.base = MotionBase.of(base)
        joint = self.base.joint or PdJoint()
        found = [name for name in STATES if isinstance(joint, ServoModel) and name in joint.terms]
        if found:
            raise FitError(
                f"training through the simulator does not support {listing(found)}: fit the servo "
                "without; the network learns the effect"
            )
        # parameters of 0 are omitted from the equations; servos of one kind share a compiled step
        self.numbers = tuple(name for name, value in joint.values.items() if value)
        self.names = tuple(n for n in self.numbers if learned and n not in _NOT_LEARNED)
        self.steps = nn.Parameter(torch.zeros(len(self.names), dtype=torch.float64))
        start = [joint.values[name] for name in self.numbers]
        self.register_buffer("start", torch.tensor(start, dtype=torch.float64))
        places = [self.numbers.index(name) for name in self.names]
        self.register_buffer("places", torch.tensor(places, dtype=torch.long))
        self.gains = gains
        self.stated_gains = tuple(sorted(gains or self.base.gains))
        known = self.base.gains or dict.fromkeys(self.stated_gains, 1.0)
        factors = [known.get(gain, 1.0) for gain in self.stated_gains]
        self.gain_steps = nn.Parameter(torch.tensor(factors, dtype=torch.float64).log())
        self._step = sample_step(_equation(joint), self.numbers)

    @property
    def moved(self) -> list[nn.Parameter]:
        """Trainable parameters in addition to the network."""
        return [*([self.steps] if self.names else []), *([self.gain_steps] if self.gains else [])]

    def read_base(self, content: Mapping[str, Any], where: str) -> MotionBase:
        """The base stored in a checkpoint."""
        return MotionBase.from_dict(content, where)

    def forward(
        self,
        position: Tensor,
        speed: Tensor,
        inputs: SampleInputs,
        *,
        correction: Tensor,
        gain: Tensor,
        h: float,
        numbers: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Position and speed after a sample.

        Args:
            position, speed: before it, shape (B,).
            inputs: commands and conditions of the sample.
            correction: torque added to that of the base [N m], shape (B,).
            gain: gain of the angle error, shape (B,).
            h: time step within the sample [s].
            numbers: values of `numbers`, (numbers, B); None: the current ones.
        """
        if numbers is None:
            numbers = self.reached()[:, None].expand(-1, len(position))
        found = SampleStep.apply(self._step, inputs, h, position, speed, correction, gain, numbers)
        return found[0], found[1]

    def gain_factors(self, kp: Tensor) -> Tensor:
        """Firmware factors at gains ``kp``, of the same shape."""
        if not self.stated_gains:
            return torch.ones_like(kp)
        known = torch.tensor(self.stated_gains, dtype=torch.float64).log()
        if len(known) == 1:
            return self.gain_steps.exp().expand_as(kp)
        place = kp.log().clamp(known[0], known[-1])
        upper = torch.searchsorted(known, place).clamp(1, len(known) - 1)
        share = (place - known[upper - 1]) / (known[upper] - known[upper - 1])
        steps = self.gain_steps
        return ((1.0 - share) * steps[upper - 1] + share * steps[upper]).exp()

    def reached(self) -> Tensor:
        """Current values of `numbers`, trained ones included."""
        if not self.names:
            return self.start
        return self.start * torch.exp(
            torch.zeros_like(self.start).index_put((self.places,), self.steps)
        )

    def trained_base(self) -> MotionBase:
        """The base with the trained parameters."""
        numbers = self.reached().detach()[self.places].tolist()
        factors = self.gain_steps.exp().detach().tolist()
        gains = dict(zip(self.stated_gains, factors, strict=True))
        return self.base.with_values(dict(zip(self.names, numbers, strict=True)), gains)


def _equation(joint: Joint) -> Callable[..., Any]:
    """Speed after a step of a joint, in the form of the servo equations."""
    return pd_step(joint) if isinstance(joint, PdJoint) else servo_step(joint)


def servo_step(model: ServoModel) -> Callable[..., Any]:
    """Step of a servo model with its friction."""

    def step(
        position, speed, target, on, correction, gain, rate_gain, voltage, volts, warmth, inertia,
        gravity, h, moved,
    ):  # fmt: skip
        values = {**model.values, **moved}
        # finite limits: the derivative of a product with an infinite one is not a number
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
        # the Stribeck power has no derivative at zero speed, the speed of a joint at rest
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

    return step


def pd_step(joint: PdJoint) -> Callable[..., Any]:
    """Step of a PD law within its torque-speed curve, with armature and Coulomb friction."""
    limited = joint.law.has_curve

    def step(
        position, speed, target, on, correction, gain, rate_gain, voltage, volts, warmth, inertia,
        gravity, h, moved,
    ):  # fmt: skip
        p = ParameterValues({**joint.values, **moved}, k_spring=0.0, theta0=0.0)
        scaled = ParameterValues(p._values, kp=p.kp * gain, kd=p.kd * rate_gain)
        driven = pd_torque(position, target - position, speed, 0.0, scaled, limited)
        wanted = pd_torque(position, target - position, speed, 0.0, scaled, False)
        # saturated by the curve, the torque does not fall with speed at the rate of the law
        damping = on * np.where(driven == wanted, scaled.kd, 0.0 * speed)
        load = -gravity * np.sin(position)
        return equations.implicit_speed(
            speed,
            on * driven + load + correction,
            (inertia + p.armature) / h,
            damping,
            p.frictionloss + 0.0 * speed,
            0.0 * speed,
        )

    return step
