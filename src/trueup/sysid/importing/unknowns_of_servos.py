"""Unknowns of position servos whose effect a recording shows: zeros of encoders, a late command.

Gravity shows the zero of an encoder by the load that a servo carries; a vertical axis shows none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.parameters import Parameter
from trueup.signals import Recording
from trueup.signals.checks.statistics import noise_level
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.deciding_settings import command_delay, linearised
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.fit._inner_fit import refit
from trueup.sysid.fit.late_controls import late_controls, pause_of
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.importing.proposed_parameters import ProposedParameter, rounded
from trueup.sysid.recordings.sequence_start import first_part

_MOST_STEPS = 150_000  # simulated steps of all candidates together
_USEFUL = 0.02  # half-width of a zero that is worth an unknown [rad]
_TURNED = 0.2  # largest error of a zero that a mounted robot has [rad]
_SECONDS = 5.0  # limit of the fit before a delay is believed [s]
_SPACE, _LONGEST = 3.0, 0.1  # length of the buffer in delays, and at least [s]
_GRID = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)  # delays that are tried, in intervals of commands
_SEVERAL, _MOST = 3, 0.3  # positions, and their median error with a delay relative to that without
_LOWER = 0.9  # cost with a delay relative to that without, from which a fit is tried


@dataclass(frozen=True)
class ServoUnknowns:
    """Proposed unknowns, and settings of the model that they need."""

    parameters: list[ProposedParameter]
    model_lines: list[str]
    notes: list[str]


class HasText(Protocol):
    """A proposed experiment."""

    @property
    def text(self) -> str:
        """The experiment file."""
        ...


P = TypeVar("P", bound=HasText)


def with_servo_unknowns(
    proposal: Callable[[ServoUnknowns], P], folder: Path, opened: Mapping[Path, Recording]
) -> P:
    """The proposal with the unknowns that a simulation shows.

    Args:
      proposal: returns the proposal with further unknowns.
      folder: folder of the experiment file.
      opened: recordings that were already read, by their resolved paths.
    """
    plain = proposal(ServoUnknowns([], [], []))
    try:
        prepared = prepare(parse_experiment(plain.text), folder, opened)
        extra = unknowns_of_servos(prepared)
    except TrueupError:
        return plain  # the check of the file says why it cannot be simulated
    return proposal(extra) if extra.parameters else plain


def unknowns_of_servos(prepared: Prepared) -> ServoUnknowns:
    """Unknowns of a robot that stands on its base and follows position commands.

    Args:
      prepared: the experiment with armature, damping and friction as unknowns.
    """
    nothing = ServoUnknowns([], [], [])
    model = prepared.training[0].gt_model
    servos = _joints_of_servos(model)
    free = (model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any()
    if not servos or free or prepared.experiment.search.by_torques:
        return nothing
    count = len(servos) + prepared.parameters.size + 2
    prepared = replace(prepared, training=_beginnings(prepared.training, _MOST_STEPS // count))
    problem = prepared.motion_problem()
    failures: dict[int, str] = {}
    problem.costs(problem.space.start[None], failures)
    if failures:
        return nothing
    zeros = _zeros(prepared, model, servos)
    lines, parameters, notes = [], zeros, []
    delay = _delay(prepared, problem)
    if delay is not None:
        step = float(model.opt.timestep)
        longest = rounded(max(_SPACE * delay, _LONGEST), 1)
        if not model.actuator_history[:, 0].all():
            lines = [
                "# Longest delay of commands [s]: the actuators of the model had no buffer.",
                f"delay_buffer: {longest:g}",
            ]
        else:
            longest = float(model.actuator_history[:, 0].min()) * step
        start = min(max(rounded(delay), step), longest)
        late = ProposedParameter(
            "command_delay", "actuator/*/delay", start, step, longest, False, "s", widens=False
        )
        parameters = [*zeros, late]
        notes.append(
            f"commands act about {delay:.2g} s later than the model simulates: command_delay is "
            "an unknown"
        )
    return ServoUnknowns(parameters, lines, notes)


def _joints_of_servos(model: mujoco.MjModel) -> list[str]:
    """Hinges with a position servo."""
    found = []
    for i in range(model.nu):
        joint = int(model.actuator_trnid[i, 0])
        on_joint = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        hinge = on_joint and int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        if hinge and model.actuator_biasprm[i, 1] < 0 and model.joint(joint).name:
            found.append(model.joint(joint).name)
    return found


def _beginnings(groups: list[ModelSequences], most: int) -> list[ModelSequences]:
    """The recordings, shortened to a number of time steps in total."""
    wholes = [t for group in groups for t in group.measured_rollout]
    step = float(groups[0].gt_model.opt.timestep)
    total = sum(float(np.ptp(t.sensordata.times)) for t in wholes) / step
    if total <= most:
        return groups
    out = []
    for group in groups:
        parts = []
        for whole in group.measured_rollout:
            times = whole.sensordata.times
            end = float(times[0]) + float(np.ptp(times)) * most / total
            parts.append(first_part(whole, (float(times[0]), end), "zoh"))
        out.append(
            ModelSequences.from_trajectories(
                group.name, group.spec, group.sequence_name, parts, group.allow_missing_sensors
            )
        )
    return out


def _zeros(prepared: Prepared, model: mujoco.MjModel, joints: list[str]) -> list[ProposedParameter]:
    """Zeros of encoders that the recording determines, together with the other unknowns."""
    parameters = prepared.parameters.copy()
    asked = [
        name
        for name in joints
        if f"joint/{name}/ref" not in {t for p in parameters.values() for t in p.targets}
    ]
    for name in asked:
        zero = float(model.qpos0[model.joint(name).qposadr[0]])
        parameters.add(
            Parameter(
                f"{name}_zero", zero, zero - _TURNED, zero + _TURNED, target=f"joint/{name}/ref"
            )
        )
    problem = prepared.motion_problem(parameters)
    residual, jacobian, _ = final_jacobian(problem, problem.space.start, central=False)
    if not np.isfinite(residual).all():
        return []
    widths = 1.96 * np.sqrt(np.clip(np.diag(inverse_of(_information(problem, jacobian))), 0, None))
    out = []
    for name in asked:
        width = float(widths[problem.space.names.index(f"{name}_zero")])
        zero = float(model.qpos0[model.joint(name).qposadr[0]])
        if 0.0 < width < _USEFUL:
            plain = name.replace("/", "_")
            out.append(
                ProposedParameter(
                    f"{plain}_zero",
                    f"joint/{name}/ref",
                    None,
                    rounded(zero - _TURNED, 4),
                    rounded(zero + _TURNED, 4),
                    False,
                    "rad",
                )
            )
    return out


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


def _delay(prepared: Prepared, problem: GrayBoxProblem) -> float | None:
    """Delay of commands [s] by which the log lags the simulation; None if the model explains it.

    Damping of each joint has nearly the effect of a delay of all. A delay is believed where it
    explains most of the error of several joints by itself, where it explains more than a fit of
    all joints does, or where such a fit leaves it.
    """
    start, pause = problem.space.start, pause_of(prepared.training)
    delays = pause * np.array([0.0, *_GRID])
    found = [_errors(problem)]
    for delay in delays[1:]:
        later = late_controls(prepared.training, float(delay))
        found.append(_errors(prepared.motion_problem(sequences=later)))
    costs = [cost for cost, _ in found]
    best = int(np.argmin(costs))
    if costs[best] > _LOWER * costs[0]:
        return None
    common = int(np.argmin([np.median(errors) for _, errors in found]))
    ratios = found[common][1] / found[0][1]
    if len(ratios) >= _SEVERAL and np.median(ratios) < _MOST:
        return float(delays[common])
    fit = refit(problem, start, None, _SECONDS)
    if fit is None or costs[best] < fit.cost:
        return float(delays[best])
    late = command_delay(prepared, linearised(problem, fit.x))
    return None if late is None else late.seconds


def _errors(problem: GrayBoxProblem) -> tuple[float, np.ndarray]:
    """Cost at the start values, and the error of each channel but noisy velocities of joints."""
    start = problem.space.start[None]
    squares: dict[str, float] = {}
    for sequence, (measured, predicted) in zip(
        problem.sequences, problem.predictions(start), strict=True
    ):
        for c, channel in enumerate(sequence.channels):
            if channel.field != "qvel":
                error = np.mean(np.square(measured[-1, :, c] - predicted[0, :, c]))
                name = sequence.channel_names[c]
                squares[name] = squares.get(name, 0.0) + float(error)
    return float(problem.costs(start)[0, 0]), np.sqrt(np.array([*squares.values()]) + 1e-300)
