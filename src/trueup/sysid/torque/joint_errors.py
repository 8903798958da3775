"""Torque errors of each joint under several models, and tests of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.sysid.torque.bandwidth import halves, last_quarter, same_columns
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.linear_fit import design, plain_least_squares, torque_of
from trueup.sysid.torque.setup import torque_problem

if TYPE_CHECKING:
    from trueup.sysid.experiment.preparation import Prepared

_SMALL = 0.01  # share of a joint's torque: smaller differences are due to filter and time step
_REST = 0.002  # the same with known errors of inverse dynamics itself, of which little is left
_POSES = 200  # number of poses of a recording that are checked for contacts


@dataclass(frozen=True)
class JointErrors:
    """Squared errors of the recorded torque of one joint, on the comparison data of a fit.

    Sums are over blocks of the recordings ``(B,)``.
    """

    channel: str
    unit: str
    samples: int
    identified: np.ndarray
    initial: np.ndarray
    torque_fit: np.ndarray
    """Errors of the same parameters, fitted to torques."""
    plain: np.ndarray
    """Errors of plain least squares, fitted to other data; infinite if there is none."""
    floor: float
    """Insignificant difference of errors [N m, N]: 0.2 % of the torque with known errors of inverse
    dynamics itself, else 1 %, and the effect of half a sample of timing of a held control."""

    def rms(self, name: str) -> float:
        """Root mean square error of one of the models."""
        return float(np.sqrt(getattr(self, name).sum() / self.samples))

    def is_behind(self, own: str, other: str, chance: float) -> bool:
        """Whether one model is worse than another by more than chance and the floor.

        Args:
          own: name of the model, such as ``"identified"``.
          other: name of the other.
          chance: probability of True for two equally good models.
        """
        first, second = getattr(self, own), getattr(self, other)
        allowed = second + len(first) ** -1 * self.samples * self.floor**2
        return is_clearly_worse(first, allowed, chance)


def joint_errors(
    prepared: Prepared, x: np.ndarray, start: np.ndarray, values: np.ndarray
) -> tuple[str, list[JointErrors]]:
    """Errors of each joint on held-out data, or on the last quarters of the recordings.

    Args:
      prepared: the experiment, with torques.
      x: the fit ``(p,)``.
      start: start values ``(p,)``.
      values: the same parameters, fitted to torques ``(p,)``.

    Returns:
      Name of the data, and one entry per joint; none if contacts or joint limits carry a part of
      the torques.
    """
    setup = prepared.torques
    groups = prepared.held_out or prepared.training
    problem = torque_problem(prepared, sequences=groups)
    off = problem.raw_residuals(np.stack([x, start, values]))
    data = [s.data for s in problem.sequences]
    counts = [part.counts for part in data]
    if any(_is_supported(part) for part in data):
        return "", []
    columns, model = setup.linear.columns, setup.data[0].model
    if prepared.held_out:
        seen, where = setup.data, "held-out data"
    else:
        seen, _ = halves(setup.data)
        where = "the last quarters of the recordings"
        off = [last_quarter(o, axis=1) for o in off]
        counts = [last_quarter(c, axis=0) for c in counts]
    plain_values = plain_least_squares(seen, columns)
    main = {id(part) for part in same_columns(data, setup.data[0])}
    held = prepared.experiment.control == "zoh"
    known = all(part.own_error is not None for part in data)
    out = []
    for channel in dict.fromkeys(n for s in problem.sequences for n in s.channel_names):
        squares, plain, floors, sizes = [], [], [], []
        for sequence, errors, count in zip(problem.sequences, off, counts, strict=True):
            if channel not in sequence.channel_names:
                continue
            k, part = sequence.channel_names.index(channel), sequence.data
            slides = count[:, k] > 0
            squares.append(np.square(errors[:, slides, k]).T)
            own = np.full(int(slides.sum()), np.inf)
            if id(part) in main:
                rest = torque_of(part, raw=True) - design(part, columns) @ plain_values
                rest = rest if prepared.held_out else last_quarter(rest, axis=0)
                own = np.square(rest[slides, k])
            plain.append(own)
            torque = torque_of(part)[:, k]
            sizes.append(torque)
            is_open = held and part.own_error is None
            floors.append(_timing(part)[:, k] if is_open else np.zeros_like(torque))
        rows = np.column_stack([np.concatenate(squares), np.concatenate(plain)])
        size, late = (
            float(np.sqrt(np.mean(np.square(np.concatenate(v))))) for v in (sizes, floors)
        )
        identified, initial, torque_fit, linear = block_sums(rows).T
        out.append(
            JointErrors(
                channel,
                _unit(model, channel),
                len(rows),
                identified,
                initial,
                torque_fit,
                linear,
                float(np.hypot((_REST if known else _SMALL) * size, late)),
            )
        )
    return where, out


def behind_sentences(
    where: str, rows: Sequence[JointErrors], columns: int, is_torque_fit: bool
) -> list[str]:
    """Sentences if a fit has larger torque errors than plain least squares, or than no fit.

    Args:
      where: name of the data.
      rows: errors of the joints.
      columns: number of columns of plain least squares.
      is_torque_fit: whether the fit is to torques.
    """
    chance = CHANCE / max(len(rows), 1)
    out = []
    worse = [r for r in rows if r.is_behind("identified", "plain", chance)]
    if worse:
        why = "terms are missing (links, friction, offsets)"
        if not is_torque_fit:
            why += ", or motion and torque contradict each other"
        out.append(
            f"the identified model has larger torque errors on {where} than plain least squares "
            f"with {columns} columns, {_figures(worse, 'plain')}: {why}"
        )
    worse = [r for r in rows if r.is_behind("identified", "initial", chance)]
    if worse:
        out.append(f"the fit increased the torque errors on {where}, {_figures(worse, 'initial')}")
    return out


def contradicting_joints(rows: Sequence[JointErrors]) -> list[JointErrors]:
    """Joints with significantly larger torque errors than the same parameters fitted to torques."""
    chance = CHANCE / max(len(rows), 1)
    return [r for r in rows if r.is_behind("identified", "torque_fit", chance)]


def _figures(rows: Sequence[JointErrors], other: str) -> str:
    """Errors of both models by joint, with their ratio."""
    return ", ".join(
        f"{r.channel} {r.rms('identified'):.3g} {r.unit} compared with {r.rms(other):.3g} "
        f"({r.rms('identified') / max(r.rms(other), 1e-300):.3g} times)"
        for r in rows
    )


def _timing(part: TorqueData) -> np.ndarray:
    """Change of the torque of each joint for controls delayed by half a sample ``(T, dofs)``."""
    early = replace(part, motion=replace(part.motion, controls=part.motion.controls_early))
    return torque_of(part) - torque_of(early)


def _is_supported(part: TorqueData) -> bool:
    """Whether contacts or joint limits are active in a recording."""
    model, motion = part.model, part.motion
    data = mujoco.MjData(model)
    data.qvel[:] = 0.0
    for k in np.unique(np.linspace(0, len(motion.times) - 1, _POSES).astype(int)):
        data.qpos[:] = motion.qpos[k]
        mujoco.mj_fwdPosition(model, data)
        kinds = data.efc_type[: data.nefc]
        bearing = (
            int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT),
            *range(int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS), 8),
        )
        if np.isin(kinds, bearing).any():
            return True
    return False


def _unit(model: mujoco.MjModel, channel: str) -> str:
    names = joint_names(model, range(model.nv)) if model.nv == model.njnt else []
    name = channel.removesuffix(" torque")
    slides = name in names and int(model.jnt_type[names.index(name)]) == int(
        mujoco.mjtJoint.mjJNT_SLIDE
    )
    return "N" if slides else "N m"
