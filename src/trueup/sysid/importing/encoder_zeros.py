"""Zeros of encoders that a recording of position servos shows.

A zero that drive and log share turns the links: gravity shows it by the load that the servo
carries, and a vertical axis shows none. A zero of the log alone, a bias of the measured position,
shows in the difference of command and position of any joint.
"""

from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.parameters import Parameter
from trueup.signals.checks.statistics import noise_level
from trueup.simulation.measured.measurement import MeasurementRules, ScaleRule
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit._inner_fit import refit
from trueup.sysid.fit.late_controls import late_controls
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.importing.command_delays import Delay
from trueup.sysid.importing.proposed_parameters import ProposedParameter, rounded

_USEFUL = 0.02  # half-width of a zero that is worth an unknown [rad]
_TURNED = 0.2  # largest error of a zero that a mounted robot has [rad]
_CONSTANT = 0.3  # part of the errors of positions that is constant, from which a bias is tried
_ITERATIONS = 10  # of the fit with biases
_HALF = 0.5  # cost with biases relative to that with zeros, from which biases are the error


@dataclass(frozen=True)
class Zeros:
    """Zeros of encoders as unknowns."""

    parameters: list[ProposedParameter]
    prepared: Prepared
    """The experiment with them."""
    biases: dict[str, str] = field(default_factory=dict)
    """Parameter of the bias by signal; empty for zeros that drive and log share."""


def shared_zeros(prepared: Prepared, model: mujoco.MjModel, joints: list[str]) -> Zeros:
    """Zeros of drive and log that the recording determines, together with the other unknowns.

    Args:
      prepared: the experiment without zeros.
      model: its model.
      joints: hinges with a position servo.
    """
    targets = {t for p in prepared.parameters.values() for t in p.targets}
    asked = [name for name in joints if f"joint/{name}/ref" not in targets]
    parameters = prepared.parameters.copy()
    for name in asked:
        parameters.add(_zero(model, name))
    problem = prepared.motion_problem(parameters)
    residual, jacobian, _ = final_jacobian(problem, problem.space.start, central=False)
    if not np.isfinite(residual).all():
        return Zeros([], prepared)
    widths = 1.96 * np.sqrt(np.clip(np.diag(inverse_of(_information(problem, jacobian))), 0, None))
    out, known = [], prepared.parameters.copy()
    for name in asked:
        zero = _zero(model, name)
        width = float(widths[problem.space.names.index(zero.name)])
        if 0.0 < width < _USEFUL:
            known.add(zero)
            out.append(_proposed(zero))
    return Zeros(out, replace(prepared, parameters=known))


def biases(prepared: Prepared, model: mujoco.MjModel, joints: list[str]) -> Zeros:
    """A bias of the measured position of each joint, in place of its zero.

    Args:
      prepared: the experiment without zeros.
      model: its model.
      joints: hinges with a position servo.
    """
    signals = _position_signals(prepared.motion_problem(), model, joints)
    known, out, rules = prepared.parameters.copy(), [], []
    for joint, signal in signals.items():
        bias = Parameter(f"{_plain(joint)}_bias", 0.0, -_TURNED, _TURNED)
        known.add(bias)
        out.append(_proposed(bias))
        rules.append(ScaleRule(signal, bias.name, False, "predicted"))
    own = prepared.rules
    changed = MeasurementRules(
        sizes={name: parameter.size for name, parameter in known.items()},
        delays=own.delays,
        scales=(*own.scales, *rules),
    )
    return Zeros(
        out,
        replace(prepared, parameters=known, rules=changed),
        {rule.pattern: rule.parameter for rule in rules},
    )


def are_biases(others: Zeros, delay: Delay, seconds: float) -> bool:
    """Whether biases explain more of the error than all other unknowns with shared zeros.

    Args:
      others: biases.
      delay: delay and fit with shared zeros.
      seconds: limit of the fit with biases [s].
    """
    # without a fit, the error is that of the start values
    if not (others.biases and delay.fitted) or _constant_part(delay) < _CONSTANT:
        return False
    problem = others.prepared.motion_problem(
        sequences=late_controls(others.prepared.training, delay.seconds or 0.0)
    )
    fit = refit(problem, problem.space.start, None, seconds, _ITERATIONS)
    return fit is not None and fit.cost < _HALF * float(delay.problem.costs(delay.x[None])[0, 0])


def _constant_part(delay: Delay) -> float:
    """Share of the squared error of the positions that a constant of each explains."""
    total, constant = 0.0, 0.0
    for sequence, (measured, predicted) in zip(
        delay.problem.sequences, delay.problem.predictions(delay.x[None]), strict=True
    ):
        places = [c for c, channel in enumerate(sequence.channels) if channel.field != "qvel"]
        error = (measured[-1] - predicted[0])[:, places]
        total += float(np.sum(np.square(error)))
        constant += float(len(error) * np.sum(np.square(error.mean(axis=0))))
    return constant / (total + 1e-300)


def _position_signals(
    problem: GrayBoxProblem, model: mujoco.MjModel, joints: list[str]
) -> dict[str, str]:
    """Signal of the position of each joint that has one."""
    out = {}
    sequence = problem.sequences[0]
    for channel, signal in zip(sequence.channels, sequence.signal_names, strict=True):
        for joint in joints:
            number = model.joint(joint).id
            if channel.field == "qpos":
                own = channel.column == int(model.jnt_qposadr[number])
            else:
                own = channel.field == "sensordata" and _measures(model, channel.column, number)
            if own:
                out.setdefault(joint, signal)
    return out


def _measures(model: mujoco.MjModel, column: int, joint: int) -> bool:
    """Whether a column of the sensors is the position of a joint."""
    sensor = int(np.searchsorted(model.sensor_adr, column, side="right")) - 1
    kind = int(model.sensor_type[sensor])
    return (
        kind == int(mujoco.mjtSensor.mjSENS_JOINTPOS) and int(model.sensor_objid[sensor]) == joint
    )


def _zero(model: mujoco.MjModel, joint: str) -> Parameter:
    """Zero of the encoder of a joint [rad], near that of the model."""
    zero = float(model.qpos0[model.joint(joint).qposadr[0]])
    name, target = f"{_plain(joint)}_zero", f"joint/{joint}/ref"
    return Parameter(name, zero, zero - _TURNED, zero + _TURNED, target=target)


def _proposed(zero: Parameter) -> ProposedParameter:
    target = zero.targets[0] if zero.targets else ""
    lower, upper = (rounded(float(bound[0]), 4) for bound in zero.get_bounds())
    start = None if target else 0.0
    return ProposedParameter(zero.name, target, start, lower, upper, False, "rad", widens=False)


def _plain(joint: str) -> str:
    return joint.replace("/", "_")


def _information(problem: GrayBoxProblem, jacobian: np.ndarray) -> np.ndarray:
    """``J' J`` ``(p, p)`` in units of the noise of each channel."""
    total, row = np.zeros((jacobian.shape[1],) * 2), 0
    for sequence in problem.sequences:
        count, channels = sequence.measured.shape
        part = np.asarray(jacobian[row : row + count * channels]).reshape(count, channels, -1)
        row += count * channels
        for c in range(channels):
            noise = noise_level(sequence.measured[:, c]) * sequence.weights[c]
            if noise > 0:
                total += part[:, c].T @ part[:, c] / noise**2
    return total
