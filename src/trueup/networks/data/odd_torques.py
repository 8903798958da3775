"""Findings about the torques of recordings: their times, their noise, and whether they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.agreement import Contradiction, contradictions
from trueup.networks.data.motion_agreement import MotionFinding, motion_findings
from trueup.networks.data.torque_timing import TorqueTiming, torque_timing

JUMPING = 0.3
"""Part of the variance of a torque that changes from sample to sample, from which it is reported;
good sensors have less than 0.05."""

SMOOTH = 0.05
"""The same part of the inputs, up to which they are smooth; a torque of smooth inputs is smooth."""


@dataclass(frozen=True)
class JumpingTorque:
    """A torque that jumps from sample to sample although its inputs do not.

    Attributes:
        name: name of the recording; empty where it holds for most.
        share: part of its variance that changes from sample to sample.
        sentence: the finding.
    """

    name: str
    share: float
    sentence: str
    is_certain: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "recording": self.name,
            "share": self.share,
            "certain": self.is_certain,
            "sentence": self.sentence,
        }


OddTorque = Contradiction | TorqueTiming | JumpingTorque | MotionFinding


def odd_torques(series: Sequence[ActuatorSeries], features: tuple[str, ...]) -> list[OddTorque]:
    """Findings about the torques, those of all recordings first.

    Args:
        series: recordings; their times and agreement are examined where their rates are equal.
        features: inputs of the network.
    """
    one_rate = len({each.rate for each in series}) == 1
    by_motion, explained = motion_findings(series)
    found: list[OddTorque] = list(by_motion)
    if one_rate:
        # where the motion shows the time and sign of a torque, the command does not decide
        rest = [each for each in series if each.name not in explained]
        found += torque_timing(rest, features) if by_motion else torque_timing(series, features)
    found += _jumping(series, features)
    reported = {each.name for each in found}
    if one_rate and not any(each.delay == 0.0 and not each.name for each in by_motion):
        found += [each for each in contradictions(series, features) if each.name not in reported]
    return found


def _jumping(series: Sequence[ActuatorSeries], features: tuple[str, ...]) -> list[JumpingTorque]:
    shares = {each.name: _share(each.torque) for each in series if np.ptp(each.torque) > 0}
    smooth = {
        each.name: all(_share(column) <= SMOOTH for column in each.features(features).T)
        for each in series
    }
    odd = [name for name, share in shares.items() if share >= JUMPING and smooth[name]]
    if not odd:
        return []
    if 2 * len(odd) > len(shares):
        share = float(np.median([shares[name] for name in odd]))
        return [JumpingTorque("", share, f"The torque {_sentence(share)}")]
    return [JumpingTorque(n, shares[n], f"{n}: the torque {_sentence(shares[n])}") for n in odd]


def _sentence(share: float) -> str:
    return (
        f"jumps from sample to sample: that is {100 * share:.2g} % of its variance, while its "
        "inputs are smooth. No actuator does that: samples belong to other times, or the torque is "
        "mostly noise. Check its column and its sensor."
    )


def _share(values: np.ndarray) -> float:
    """Part of the variance that changes from sample to sample.

    The second difference of white noise has six times its variance; that of a signal well below
    half the rate is small.
    """
    variance = float(np.var(values))
    if len(values) < 3 or variance <= 0.0:
        return 0.0
    return float(np.var(np.diff(values, 2))) / (6.0 * variance)
