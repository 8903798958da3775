"""Check of recorded torques against those of the weight and inertia of the links.

A torque with another sign, of another joint, or on the motor side of a gear is detected if gravity
or inertia are significant: apart from friction, armature and a constant, the torque of the model's
links is proportional to the recorded torque with a factor near 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import SignalError, listing
from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.left_out_forces import left_out_sentence
from trueup.sysid.torque.linear_fit import LinearColumns, design, torque_of
from trueup.sysid.torque.link_regressor import parameters_of
from trueup.sysid.torque.setup import possible_setup

_CLEAR = 0.8
"""Minimum correlation for a clear effect of the load of a joint on a torque."""
_NEAR = 2.0
"""Factor between recorded and model torque that mass errors may explain."""
_FAR = 5.0
"""Factor between recorded and model torque that mass errors cannot explain."""
_HEAVY = 0.1
"""Relative load of a joint above which an unknown payload cannot invert its sign."""


@dataclass(frozen=True)
class LoadMatch:
    """Correlations of recorded torques with the loads of joints."""

    joints: tuple[str, ...]
    correlation: np.ndarray
    """Partial correlation of the torque of a joint (row) with the load of another ``(d, d)``."""
    factor: np.ndarray
    """Ratio of the recorded torque of a joint (row) to the load of another ``(d, d)``."""
    share: np.ndarray
    """Load of each joint relative to the largest ``(d,)``."""


def load_match(data: Sequence[TorqueData], columns: LinearColumns) -> LoadMatch:
    """Compare recorded torques with the loads of the model's links.

    Args:
      data: recordings of one model.
      columns: parameters of the linear model.
    """
    model = data[0].model
    links = parameters_of(model)
    count = 4 * len(columns.dofs)
    loads = np.concatenate([p.links @ links for p in data])
    torques = np.concatenate([torque_of(p) for p in data])
    own = np.concatenate([design(p, columns) for p in data])
    size = len(columns.dofs)
    correlation, factor, share = *np.zeros((2, size, size)), np.zeros(size)
    for k in range(size):
        # first remove friction, armature and a constant of the joint by projection
        basis, _ = np.linalg.qr(own[:, k, 4 * k : min(4 * k + 4, count)])
        torque = torques[:, k] - basis @ (basis.T @ torques[:, k])
        rest = loads - basis @ (basis.T @ loads)
        length = np.linalg.norm(rest, axis=0)
        seen = length > 1e-6 * np.linalg.norm(loads).clip(1e-12)
        scale = np.where(seen, length, 1.0) * max(float(np.linalg.norm(torque)), 1e-300)
        correlation[k] = np.where(seen, torque @ rest / scale, 0.0)
        share[k] = length[k]
        factor[k] = np.where(seen, torque @ rest / np.where(seen, length, 1.0) ** 2, np.nan)
    share /= max(float(share.max()), 1e-300)
    return LoadMatch(tuple(joint_names(model, columns.dofs)), correlation, factor, share)


def check_loads(match: LoadMatch, known_gains: bool) -> list[str]:
    """Check the sign and the joint of recorded torques; return sentences on possible errors.

    Args:
      match: from :func:`load_match`.
      known_gains: whether the gains of drives are given rather than estimated.

    Raises:
      SignalError: torques with an inverted sign, or of other joints.
    """
    own, heavy = np.diag(match.correlation), match.share > _HEAVY
    turned = own < -_CLEAR
    if (turned & heavy).any():
        names = [n for n, t in zip(match.joints, turned & heavy, strict=True) if t]
        raise SignalError(
            f"the recorded torque of {listing(names)} opposes the weight and inertia of the "
            f"links (correlation {own[turned & heavy].min():.2f}): its sign is inverted, or it is "
            "the torque on the environment. Give scale: -1 in controls, or correct the axis of "
            "the joint"
        )
    _check_joints(match, own, heavy)
    notes = [
        f"The recorded torque of {name} opposes the load of its links (correlation {c:.2f}): "
        "its sign is inverted, or a payload is missing from the model."
        for name, c, light in zip(match.joints, own, turned & ~heavy, strict=True)
        if light
    ]
    return [*notes, *_wrong_size(match, own > _CLEAR)] if known_gains else notes


def _check_joints(match: LoadMatch, own: np.ndarray, heavy: np.ndarray) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        near = np.abs(np.log(match.factor)) < np.log(_NEAR)
    strange = heavy & ~near.diagonal()
    for k in np.flatnonzero(strange):
        for j in np.flatnonzero(strange[k + 1 :]) + k + 1:
            crossed = match.correlation[[k, j], [j, k]]
            fits = near[k, j] and near[j, k] and crossed.min() > _CLEAR
            if fits and (crossed > own[[k, j]]).all():
                a, b = match.joints[k], match.joints[j]
                raise SignalError(
                    f"the recorded torque of {a} matches the load of {b} (correlation "
                    f"{crossed[0]:.2f}), and vice versa: columns of controls are "
                    "exchanged, or torques are in another frame"
                )


def _wrong_size(match: LoadMatch, clear: np.ndarray) -> list[str]:
    """Sentence if torques are far smaller or larger than their loads."""
    factors = match.factor.diagonal()[clear]
    small = len(factors) > 0 and factors.max() < 1 / _FAR
    if not small and not (len(factors) > 0 and factors.min() > _FAR):
        return []
    names = np.array(match.joints)[clear]
    shown = ", ".join(f"{n} {f:.3g}" for n, f in zip(names, factors, strict=True))
    start = f"The ratios of the recorded torques to those of the model's links: {shown}. "
    if small:
        return [
            f"{start}They are on the motor side of a gear of about {1 / np.median(factors):.3g} "
            "while the angles are on the link side, or currents: give scale in controls, or "
            "estimate the gains (actuator/NAME/gainprm/0)."
        ]
    return [f"{start}Their unit or the masses of the model are wrong."]


def torque_notes(prepared: Any) -> list[str]:
    """Sentences on the recorded torques of an experiment; none if it has no torques.

    Args:
      prepared: a :class:`trueup.sysid.experiment.preparation.Prepared`.

    Raises:
      SignalError: torques of another sign, or of other joints.
    """
    setup = possible_setup(prepared)
    if setup is None:
        return []
    targets = [t for p in prepared.parameters.values() for t in p.targets]
    known = not any("/gainprm" in t or "/gear" in t for t in targets)
    left_out = left_out_sentence(setup.data[0].model)
    # if only torques are compared, this is already in the notes on the recordings
    said = prepared.experiment.search.by_torques or not left_out
    notes = (
        [] if said else [f"{left_out[0].upper()}{left_out[1:]}: torques are not compared there."]
    )
    return [*notes, *check_loads(load_match(setup.data, setup.linear.columns), known)]
