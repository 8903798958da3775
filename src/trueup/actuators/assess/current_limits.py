"""Measured currents above the current limit of a model."""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import FitError

_ABOVE = 1.1  # ratio of current to limit that counts as exceeded: a margin for ripple and rounding
_OFTEN = 0.005  # smallest share of driven samples that makes a finding


def current_findings(
    model: ServoModel, logs: Sequence[ServoLog], vin: float | None = None
) -> list[str]:
    """Findings on the current limit of a servo with a bridge.

    The measured duty cycle and speed drive the current ``(duty vin - kt speed) / R`` through the
    winding; firmware with a current limit keeps it below that limit.

    Args:
      model: model with a current limit, of the catalogue or identified.
      logs: logs; those without a measured duty cycle are skipped.
      vin: nominal bus voltage [V] that replaces that of the logs.
    """
    limit = min(model.values.get("current_limit", np.inf), model.servo.max_amps)
    if model.servo.law != "voltage" or not np.isfinite(limit):
        return []
    kt = model.values["kt"]
    current = _currents(model, logs, vin, {"kt": (kt, kt)}, model.values["R"])
    if not current.size:
        return []
    share = float((current > _ABOVE * limit).mean())
    if share <= _OFTEN:
        return []
    return [
        f"a current limit of {limit:.3g} A contradicts the logs: in {100 * share:.1f} % of the "
        f"driven samples the measured duty cycle drives more through the winding, up to "
        f"{float(np.percentile(current, 99.5)):.3g} A. Raise the limit, fit it, or remove it"
    ]


def check_given_limit(
    logs: Sequence[ServoLog],
    model: ServoModel,
    fixed: Mapping[str, float],
    vin: float | None = None,
) -> None:
    """Raise FitError if a given current limit contradicts the logs with every motor in the bounds.

    Args:
      logs: logs; those without a measured duty cycle are skipped.
      model: model before its fit.
      fixed: given values by name.
      vin: nominal bus voltage [V] that replaces that of the logs.
    """
    limit = fixed.get("current_limit")
    if limit is None or model.servo.law != "voltage":
        return
    bounds = {p.name: (p.lower, p.upper) for p in model.parameters}
    bounds |= {name: (value, value) for name, value in fixed.items()}
    least = _currents(model, logs, vin, bounds, bounds["R"][1])
    if not least.size or (share := float((least > _ABOVE * limit).mean())) <= _OFTEN:
        return
    raise FitError(
        f"current_limit = {limit:g} A contradicts the logs: in {100 * share:.1f} % of the driven "
        "samples the measured duty cycle drives more through the winding with every kt and R "
        f"within bounds, up to {float(np.percentile(least, 99.5)):.3g} A; raise it, or fit it"
    )


def _currents(
    model: ServoModel,
    logs: Sequence[ServoLog],
    vin: float | None,
    bounds: Mapping[str, tuple[float, float]],
    resistance: float,
) -> np.ndarray:
    """Smallest current of the driven samples [A], for torque constants within bounds."""
    found = [np.zeros(0)]
    for log in logs:
        if log.load is None or not np.any(log.load):
            continue  # a field that is 0 throughout was not measured
        nominal = model.servo.vin if log.vin is None else log.vin
        volts = nominal if vin is None else vin
        volts = volts if log.input_volts is None else log.input_volts
        ends = np.array([log.load * volts - kt * log.speed for kt in bounds["kt"]])
        one_side = ends[0] * ends[1] > 0
        drop = np.where(one_side, np.abs(ends).min(axis=0), 0.0)
        found.append(drop[log.torque_enable] / resistance)
    return np.concatenate(found)
