"""Setup of inverse dynamics for an experiment: filter, noise, recorded torques.

``prepared`` is a :class:`trueup.sysid.experiment.preparation.Prepared`, which imports this module.
"""

from copy import copy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from trueup.errors import SignalError, TrueupError, listing
from trueup.parameters import ParameterDict
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.torque.bandwidth import (
    ChosenBandwidth,
    choose_bandwidth,
    same_columns,
    supported_rest,
)
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.joint_motion import torque_sources
from trueup.sysid.torque.known_errors import OwnErrors
from trueup.sysid.torque.linear_fit import LinearFit, linear_columns, linear_fit
from trueup.sysid.torque.own_error import fitted, found_own_errors, own_errors
from trueup.sysid.torque.problem import TorqueProblem


@dataclass(frozen=True)
class TorqueSetup:
    """Inverse dynamics of one experiment."""

    bandwidth: ChosenBandwidth
    driven: dict[str, set[int]]
    """Actuators with a recorded control, by recording."""
    linear: LinearFit
    """Linear fit of the training recordings of the main model."""
    noise: dict[str, float]
    """Standard deviation of the torque of each joint [N m], by channel."""
    data: list[TorqueData]
    """Training recordings of the main model."""
    own_errors: OwnErrors | None = None
    """Errors of inverse dynamics itself, subtracted from the torques; None: not known."""
    problems: list[tuple[ParameterDict, TorqueProblem]] = field(default_factory=list, repr=False)
    """Problem for the parameters of the last call, whose models all recordings share; or empty."""


def torque_setup(prepared: Any) -> TorqueSetup:
    """Inverse dynamics of an experiment, constructed once.

    Raises:
      SignalError: no torque was recorded, or a joint was not measured.
      ModelError: a free or ball joint.
    """
    if prepared.torques is None:
        prepared.torques = _make(prepared)
    return prepared.torques


def possible_setup(prepared: Any) -> TorqueSetup | None:
    """Inverse dynamics of an experiment; None if its recordings do not support it."""
    try:
        return torque_setup(prepared)
    except (TrueupError, np.linalg.LinAlgError):
        return None


def torque_problem(
    prepared: Any,
    parameters: ParameterDict | None = None,
    sequences: list[ModelSequences] | None = None,
) -> TorqueProblem:
    """Torque problem of the training data, or of other sequences.

    Raises:
      SignalError: no torque was recorded, or a joint was not measured.
      ModelError: a free or ball joint.
    """
    setup, chosen = torque_setup(prepared), parameters or prepared.parameters
    for known, problem in setup.problems:
        if known is chosen and _same_space(problem, chosen):
            break
    else:
        problem = TorqueProblem(
            chosen, prepared.training, setup.bandwidth, setup.noise, setup.driven, setup.own_errors
        )
        setup.problems[:] = [(chosen, problem)]
    groups = prepared.training if sequences is None else sequences
    if problem.recordings is groups:
        return copy(problem)
    return problem.with_recordings(groups, setup.own_errors)


def _same_space(problem: TorqueProblem, parameters: ParameterDict) -> bool:
    """Whether bounds and values are those that the problem was made with."""
    own, other = problem.space, parameters.space()
    return own.names == other.names and all(
        np.array_equal(getattr(own, name), getattr(other, name))
        for name in ("lower", "upper", "start")
    )


def training_torques(prepared: Any) -> list[TorqueData]:
    """Torques of the training recordings as recorded, of the main model.

    Raises:
      SignalError: no torque was recorded, or a joint was not measured.
      ModelError: a free or ball joint.
    """
    bandwidth, driven = _filtered(prepared)
    data = bandwidth.torque_data(prepared.training, driven)
    return same_columns(data, data[0])


def setup_at(prepared: Any, x: np.ndarray) -> None:
    """Construct the inverse dynamics of an experiment with its own errors at a fit.

    Torques and a simulation are then compared like with like.

    Args:
      prepared: the experiment, with torques.
      x: a fit by simulation ``(p,)``.
    """
    plain, control = without_own_errors(prepared), prepared.experiment.control
    prepared.torques = plain
    problem = torque_problem(prepared)
    own = own_errors(problem, [*prepared.training, *prepared.held_out], x, control)
    before, after = (fitted(p, x)[1] for p in (problem, problem.with_own_errors(own)))
    if after < before:
        prepared.torques = _fitted_setup(prepared, plain.bandwidth, plain.driven, own)


def without_own_errors(prepared: Any) -> TorqueSetup:
    """Inverse dynamics of an experiment with the torques as recorded."""
    setup = torque_setup(prepared)
    if setup.own_errors is None:
        return setup
    return _fitted_setup(prepared, setup.bandwidth, setup.driven)


def _filtered(prepared: Any) -> tuple[ChosenBandwidth, dict[str, set[int]]]:
    """Filter, and actuators with a recorded control by recording."""
    driven = _driven(prepared)
    _check_same_instants(prepared, driven)
    held = prepared.experiment.control == "zoh"
    return choose_bandwidth(prepared.training, prepared.held_out, driven, held), driven


def _make(prepared: Any) -> TorqueSetup:
    bandwidth, driven = _filtered(prepared)
    plain = _fitted_setup(prepared, bandwidth, driven)
    if not prepared.experiment.search.by_torques:
        return plain
    problem = TorqueProblem(prepared.parameters, prepared.training, bandwidth, plain.noise, driven)
    own = found_own_errors(problem, prepared.training, prepared.held_out)
    if own is None:
        return plain
    # friction at rest, which a simulation holds, may count then
    rest = supported_rest(bandwidth, prepared.training, driven, own)
    return _fitted_setup(prepared, replace(bandwidth, rest=rest), driven, own)


def _check_same_instants(prepared: Any, driven: dict[str, set[int]]) -> None:
    """Raise SignalError if motion is measured late: it has no torque of its own instant.

    The control of a servo meets the true angle; with a late one its torque is off by gain times
    speed times delay, many times the error of measurement. Torques that are measured as late as
    the motion are of the same instant.
    """
    delays = prepared.experiment.measurement.delays
    for group in (*prepared.training, *prepared.held_out) if delays else ():
        for trajectory in group.measured_rollout:
            signals = trajectory.sensordata.signal_mapping or {}
            late = {
                signal: parameter
                for signal in signals
                for pattern, parameter in delays.items()
                if fnmatchcase(signal, pattern)
            }
            sources = torque_sources(
                trajectory.model, trajectory.sensordata, driven[trajectory.name]
            )
            alike = len(late) == len(signals) and len(set(late.values())) == 1
            if late and (sources.actuators or not alike):
                raise SignalError(
                    "inverse dynamics requires motion and torque of the same instants, and "
                    f"measurement.delays delays {listing(sorted(late))}: use search: "
                    "{method: least-squares}, which simulates the delay"
                )


def _fitted_setup(
    prepared: Any,
    bandwidth: ChosenBandwidth,
    driven: dict[str, set[int]],
    own: OwnErrors | None = None,
) -> TorqueSetup:
    """Linear fit and noise with a given filter."""
    data = bandwidth.torque_data(prepared.training, driven, own)
    # links of a variant have other values: a linear fit requires one model
    main = same_columns(data, data[0])
    level = prepared.experiment.confidence.level
    linear = linear_fit(main, level, linear_columns(main))
    noise: dict[str, float] = {}
    for part in data:
        names = joint_names(part.model, part.sources.dofs)
        known = dict(
            zip(joint_names(main[0].model, linear.columns.dofs), linear.noise, strict=True)
        )
        typical = float(np.median(linear.noise))
        for name in names:
            noise[f"{name} torque"] = max(float(known.get(name, typical)), 1e-9)
    return TorqueSetup(bandwidth, driven, linear, noise, main, own)


def _driven(prepared: Any) -> dict[str, set[int]]:
    """Actuators with a recorded control, by sequence; parts of a recording have those of it."""
    by_recording = {r.name: set(r.part.controls) for r in prepared.recordings}
    out: dict[str, set[int]] = {}
    for group in (*prepared.training, *prepared.held_out):
        for trajectory in group.measured_rollout:
            model, name = trajectory.model, trajectory.name
            controls = by_recording.get(name) or by_recording[name.removesuffix(" (held out)")]
            out[name] = {i for i in range(model.nu) if model.actuator(i).name in controls}
    return out
