"""Setup of inverse dynamics for an experiment: filter, noise, recorded torques.

``prepared`` is a :class:`trueup.sysid.experiment.preparation.Prepared`, which imports this module.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.parameters import ParameterDict
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.torque.bandwidth import ChosenBandwidth, choose_bandwidth, same_columns
from trueup.sysid.torque.data import TorqueData, joint_names, torque_data
from trueup.sysid.torque.linear_fit import LinearFit, linear_columns, linear_fit
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
    setup = torque_setup(prepared)
    return TorqueProblem(
        parameters or prepared.parameters,
        sequences if sequences is not None else prepared.training,
        setup.bandwidth,
        setup.noise,
        setup.driven,
    )


def _make(prepared: Any) -> TorqueSetup:
    driven = _driven(prepared)
    bandwidth = choose_bandwidth(prepared.training, prepared.held_out, driven)
    data = torque_data(prepared.training, bandwidth.corner, bandwidth.slowest, driven)
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
    return TorqueSetup(bandwidth, driven, linear, noise, main)


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
