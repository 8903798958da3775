"""Logs that a fit to all logs does not predict: reversed signs, other units, other clocks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.actuators.assess.model_errors import trivial_errors
from trueup.actuators.logs.servo_log import ServoLog

FAR = 5.0
"""Error of a log relative to the median of the others from which it is named."""

USELESS = 0.5
"""Error of a log relative to that of a trivial prediction from which its log contradicts others."""

_RELATED = 0.7
_DEGREES = 180.0 / math.pi
_ALIKE = 1.5  # factor within which a ratio is that of degrees and radians


@dataclass(frozen=True)
class OddLog:
    """A log with an error far above that of the others.

    Attributes:
      name: name of the log.
      number: its number among the logs.
      ratio: its error relative to the median of the others.
      contradicts: whether the fit does not predict it at all.
      sentence: the finding and its likely cause.
    """

    name: str
    number: int
    ratio: float
    contradicts: bool
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "name": self.name,
            "ratio": self.ratio,
            "contradicts": self.contradicts,
            "sentence": self.sentence,
        }


def odd_logs(logs: Sequence[ServoLog], simulated: Sequence[np.ndarray]) -> list[OddLog]:
    """Logs with an error far above that of the others, the largest first.

    Args:
      logs: logs of the fit.
      simulated: simulated position of each log ``(n,)`` [rad].
    """
    if len(logs) < 3:
        return []
    pairs = zip(simulated, logs, strict=True)
    errors = np.array([np.abs(motion - log.position).mean() for motion, log in pairs])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    trivial = trivial_errors(logs)
    found = []
    for number, log in enumerate(logs):
        others = float(np.median(np.delete(errors, number)))
        error = float(errors[number])
        if not error > FAR * others:
            continue
        ratio = error / others if others > 0 else np.inf
        nearest = min(trivial["at goal"][number], trivial["at rest"][number])
        useless = bool(error > USELESS * nearest)
        sentence = _sentence(log, simulated[number], error, ratio, useless)
        found.append(OddLog(log.name, number, ratio, useless, sentence))
    return sorted(found, key=lambda one: -one.ratio)


def _sentence(
    log: ServoLog, simulated: np.ndarray, error: float, ratio: float, useless: bool
) -> str:
    what = (
        f"{log.name} is predicted {ratio:.3g} times worse than the other logs "
        f"({1e3 * error:.3g} mrad)"
    )
    if not useless:
        return f"{what}: check its load, gain, voltage and clock."
    correlation, slope = _relation(simulated, log.position)
    if correlation <= -_RELATED:
        return f"{what}: its position is reversed. Correct it, or remove the log."
    if correlation >= _RELATED and _is_ratio_of_degrees(slope):
        return (
            f"{what}: its position is {slope:.3g} times the predicted one, as where degrees "
            "are read as radians. Set its unit, or remove the log."
        )
    return f"{what}: its position does not follow from its goal. Check its units, sign and clock."


def _relation(simulated: np.ndarray, measured: np.ndarray) -> tuple[float, float]:
    """Correlation of both motions, and slope of the measured one over the simulated one."""
    a, b = simulated - simulated.mean(), measured - measured.mean()
    power, other = float(a @ a), float(b @ b)
    if not (np.isfinite(power) and power > 0.0 and other > 0.0):
        return 0.0, math.nan
    along = float(a @ b)
    return along / math.sqrt(power * other), along / power


def _is_ratio_of_degrees(slope: float) -> bool:
    return slope > 0 and abs(abs(math.log(slope)) - math.log(_DEGREES)) < math.log(_ALIKE)
