"""Measured currents above the current limit of a model."""

from collections.abc import Sequence

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog

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
    currents = []
    for log in logs:
        if log.load is None or not np.any(log.load):
            continue  # a field that is 0 throughout was not measured
        nominal = model.servo.vin if log.vin is None else log.vin
        volts = nominal if vin is None else vin
        volts = volts if log.input_volts is None else log.input_volts
        current = (log.load * volts - model.values["kt"] * log.speed) / model.values["R"]
        currents.append(np.abs(current[log.torque_enable]))
    if not currents or not sum(c.size for c in currents):
        return []
    current = np.concatenate(currents)
    share = float((current > _ABOVE * limit).mean())
    if share <= _OFTEN:
        return []
    return [
        f"a current limit of {limit:.3g} A contradicts the logs: in {100 * share:.1f} % of the "
        f"driven samples the measured duty cycle drives more through the winding, up to "
        f"{float(np.percentile(current, 99.5)):.3g} A. Raise the limit, fit it, or remove it"
    ]
