"""Results of inverse dynamics on a fit: torque errors, base parameters, a cross-check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.errors import SignalError, TrueupError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty import contradiction_ratio
from trueup.sysid.assess.fit_covariance import residual_covariance
from trueup.sysid.fit.unseen_ends import beginnings_and_ends, obstacle_to_ends
from trueup.sysid.torque.bandwidth import halves, same_columns
from trueup.sysid.torque.causes import TorqueCause, torque_causes
from trueup.sysid.torque.data import joint_names
from trueup.sysid.torque.friction_structure import MissingFriction, missing_friction
from trueup.sysid.torque.joint_errors import (
    JointErrors,
    behind_sentences,
    contradicting_joints,
    joint_errors,
)
from trueup.sysid.torque.linear_fit import errors, plain_least_squares
from trueup.sysid.torque.own_error import fitted
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.setup import (
    TorqueSetup,
    possible_setup,
    setup_at,
    torque_problem,
    without_own_errors,
)

if TYPE_CHECKING:
    from trueup.sysid.assess.assessment import Assessment
    from trueup.sysid.experiment.preparation import Prepared

_STEPS = 0.05  # relative change of a value by the time step
_SHAPE = 0.1  # relative reduction of the error by another friction law that affects the grade


def torque_fit(
    prepared: Prepared, x: np.ndarray, time_limit: float = np.inf
) -> tuple[TorqueProblem, np.ndarray, np.ndarray] | None:
    """Fit the parameters to torques.

    Args:
      prepared: the experiment.
      x: start values ``(p,)``.
      time_limit: time limit [s].

    Returns:
      The problem, the values ``(p,)`` and which of them affect torques ``(p,)`` bool; None if the
      experiment has no torques.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    if possible_setup(prepared) is None or time_limit <= 0:
        return None
    try:
        problem = torque_problem(prepared)
    except TrueupError:
        return None
    values, cost = fitted(problem, x, time_limit)
    if not np.isfinite(cost):
        return None
    _, jacobian, _ = final_jacobian(problem, values)
    acts = np.abs(np.asarray(jacobian[: problem.data_rows])).max(axis=0) > 1e-9
    return problem, np.where(acts, values, x), acts


def torque_summary(
    prepared: Prepared,
    x: np.ndarray,
    start: np.ndarray,
    assessment: Assessment,
    level: float,
    time_limit: float = np.inf,
) -> dict[str, Any] | None:
    """Plain data of inverse dynamics for a fit; None without recorded torques.

    Args:
      prepared: the experiment.
      x: the fit ``(p,)``.
      start: start values ``(p,)``.
      assessment: the assessment of the fit.
      level: coverage of intervals.
      time_limit: time limit of the fit to torques [s].
    """
    is_torque = prepared.experiment.search.by_torques
    if not is_torque and time_limit > 0 and possible_setup(prepared) is not None:
        setup_at(prepared, x)
    found = (
        (torque_problem(prepared), x, None) if is_torque else torque_fit(prepared, x, time_limit)
    )
    if found is None:
        return None
    problem, values, acts = found
    setup = prepared.torques
    where, joints = joint_errors(prepared, x, start, values)
    rows = []
    if acts is not None:
        against = contradicting_joints(joints)
        rows = _compared(problem, x, values, acts, assessment, level, against)
    contradictions = [r["sentence"] for r in rows if r["sentence"]]
    friction = _friction(prepared, setup)
    columns = len(setup.linear.columns.names)
    matters = [f for f in friction if _matters(f, joints)]
    causes = _causes(prepared, x, values, where) if where else []
    doubts = [
        *behind_sentences(where, joints, columns, is_torque),
        *(f.sentence for f in matters),
        *contradictions,
    ]
    return {
        "corner": setup.bandwidth.corner,
        "own_error": _own_error(setup),
        "held": setup.bandwidth.held,
        "near_rest": _near_rest(setup),
        "tried": [list(pair) for pair in setup.bandwidth.tried],
        "errors": _errors(prepared, setup, x, start, values),
        "parameters": rows,
        "base_parameters": [
            {
                "words": p.words,
                "value": p.value,
                "half_width": p.half_width,
                "model_value": p.model_value,
            }
            for p in setup.linear.base
        ],
        "friction": [f.sentence for f in friction],
        "causes": [c.to_dict() for c in causes],
        "doubts": doubts,
        "sentences": [*doubts, *(f.sentence for f in friction if f not in matters)],
    }


def _near_rest(setup: TorqueSetup) -> dict[str, dict[str, float]]:
    """Speed [rad/s, m/s] below which samples of a joint do not count, and their share, by joint."""
    if setup.bandwidth.rest is None:
        return {}
    dofs = setup.linear.columns.dofs
    shares = 1.0 - np.concatenate([part.counts for part in setup.data]).mean(axis=0)
    return {
        name: {"speed": float(setup.bandwidth.rest[dof]), "share": float(share)}
        for name, dof, share in zip(
            joint_names(setup.data[0].model, dofs), dofs, shares, strict=True
        )
        if share > 0
    }


def _own_error(setup: TorqueSetup) -> dict[str, Any] | None:
    """Root mean square error of inverse dynamics itself by joint; None if it is not known."""
    known = [part.own_error for part in setup.data if part.own_error is not None]
    if setup.own_errors is None or not known:
        return None
    sizes = np.sqrt(np.mean(np.square(np.concatenate(known)), axis=0))
    names = joint_names(setup.data[0].model, setup.linear.columns.dofs)
    return {
        "control": setup.own_errors.control,
        "rms": dict(zip(names, map(float, sizes), strict=True)),
    }


def _causes(prepared: Prepared, x: np.ndarray, values: np.ndarray, where: str) -> list[TorqueCause]:
    """Causes of the torque error of the fit to torques."""
    if not prepared.held_out and obstacle_to_ends(prepared):
        return []
    parts = (
        (prepared.training, prepared.held_out)
        if prepared.held_out
        else beginnings_and_ends(prepared)
    )
    try:
        seen, unseen = (torque_problem(prepared, sequences=part) for part in parts)
    except SignalError:  # a part is too short for the filter
        return []
    return torque_causes(seen, unseen, values, where)


def _matters(friction: MissingFriction, joints: list[JointErrors]) -> bool:
    """Whether an additional friction term exceeds the effects of chance, filter and timing."""
    floors = [r.floor for r in joints if r.channel == f"{friction.joint} torque"]
    is_large = bool(floors) and friction.torque > max(floors)
    return friction.gain > _SHAPE or (friction.is_clear and is_large)


def _friction(prepared: Prepared, setup: TorqueSetup) -> list[MissingFriction]:
    """Missing friction of the model, by held-out recordings or the last quarter of each."""
    found = _missing(prepared, setup)
    if not found or setup.own_errors is None:
        return found
    # the own error is that of a model without the term, and holds a part of it: what is clear
    # without that part has the shape and size that the torques as recorded give
    plain = {f.joint: f for f in _missing(prepared, without_own_errors(prepared))}
    return [plain.get(f.joint, f) for f in found]


def _missing(prepared: Prepared, setup: TorqueSetup) -> list[MissingFriction]:
    columns, bandwidth = setup.linear.columns, setup.bandwidth
    if not prepared.held_out:
        seen, unseen = halves(setup.data)
        return missing_friction(seen, unseen, columns)
    data = bandwidth.torque_data(prepared.held_out, setup.driven, setup.own_errors)
    unseen = same_columns(data, setup.data[0])
    return missing_friction(setup.data, unseen, columns) if unseen else []


def _errors(
    prepared: Prepared,
    setup: TorqueSetup,
    x: np.ndarray,
    start: np.ndarray,
    values: np.ndarray,
) -> list[dict[str, Any]]:
    """Error of each joint's recorded torque, on held-out data if available."""
    groups = prepared.held_out or prepared.training
    problem = torque_problem(prepared, sequences=groups)
    off = problem.raw_residuals(np.stack([x, start, values]))
    found: dict[str, list[np.ndarray]] = {}
    for sequence, errors_of in zip(problem.sequences, off, strict=True):
        for k, name in enumerate(sequence.channel_names):
            found.setdefault(name, []).append(errors_of[:, sequence.data.counts[:, k] > 0, k])
    bandwidth = setup.bandwidth
    columns = setup.linear.columns
    data = bandwidth.torque_data(groups, setup.driven, setup.own_errors)
    main = same_columns(data, setup.data[0])
    plain: dict[str, float] = {}
    if main:
        off = errors(main, columns, plain_least_squares(setup.data, columns))
        names = joint_names(main[0].model, columns.dofs)
        plain = {f"{name} torque": float(e) for name, e in zip(names, off, strict=True)}
    return [
        {
            "channel": name,
            "part": "held-out" if prepared.held_out else "training",
            **dict(zip(("identified", "initial", "torque_fit"), _rms(by), strict=True)),
            "plain_least_squares": plain.get(name, float("nan")),
            "columns": len(columns.names),
        }
        for name, by in found.items()
    ]


def _rms(parts: list[np.ndarray]) -> list[float]:
    """Root mean square over recordings ``(n, T)`` of each candidate."""
    rows = np.concatenate(parts, axis=1)
    return [float(v) for v in np.sqrt(np.mean(np.square(rows), axis=1))]


def _compared(
    problem: TorqueProblem,
    x: np.ndarray,
    values: np.ndarray,
    acts: np.ndarray,
    assessment: Assessment,
    level: float,
    against: list[JointErrors],
) -> list[dict[str, Any]]:
    """Values of the simulation and those of torques.

    They contradict each other if their difference exceeds their intervals, and if the torque error
    with the values of the simulation is significantly larger.
    """
    residual, jacobian, _ = final_jacobian(problem, values)
    at_bound = problem.space.at_bound(values, 1e-6)
    try:
        covariance = residual_covariance(
            problem, residual, jacobian, at_bound | ~acts, "auto", 1 - level, Loss(), 0
        )
        half_widths = covariance.half_widths * problem.space.slope(values)
    except TrueupError:
        half_widths = np.full(len(values), np.inf)
    own = 0.5 * np.ptp(assessment.intervals, axis=1)
    limit = float(contradiction_ratio(int(acts.sum()), level))
    rows = []
    for i in np.flatnonzero(acts):
        name = problem.space.names[i]
        width = np.hypot(np.nan_to_num(own[i]), half_widths[i])
        apart = abs(x[i] - values[i])
        differs = bool(against and np.isfinite(width) and apart > limit * width and not at_bound[i])
        rows.append(
            {
                "name": name,
                "simulation": float(x[i]),
                "torque": float(values[i]),
                "torque_half_width": float(half_widths[i]),
                "agrees": not differs,
                "sentence": (
                    f"the simulation gives {name} {x[i]:.4g}, torques give {values[i]:.4g} +- "
                    f"{half_widths[i]:.2g}: the difference exceeds their intervals. "
                    f"With the values of torques the error of {against[0].channel} is "
                    f"{against[0].rms('torque_fit'):.3g} {against[0].unit}, with those of the "
                    f"simulation {against[0].rms('identified'):.3g}. "
                    + _reason(float(x[i]), float(values[i]))
                    if differs
                    else ""
                ),
            }
        )
    return rows


def _reason(simulated: float, torque: float) -> str:
    """Reason for a difference between the results of torques and of a simulation."""
    if abs(simulated - torque) < _STEPS * max(abs(simulated), abs(torque)):
        return (
            "Such a small difference may be due to the time step: a simulation holds torques over "
            "a step and damps at its end, while torques are compared at samples"
        )
    return (
        "The model, the signals or their timing are wrong; torques are sensitive to accelerations "
        "and loads, motion to their integral"
    )
