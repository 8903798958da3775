"""Conditions of recordings, as listed in a parameter file: gains, voltage and load."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trueup.actuators.bench.loads import Pendulum
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.logs.servo_log import ServoLog


@dataclass(frozen=True)
class Conditions:
    """Gains, voltage and pendulum of recordings."""

    kp: float
    """Firmware gain."""
    vin: float | None
    """Nominal bus voltage [V]; None if unknown."""
    damping: float | None
    """Derivative gain, for servos with one; None if unknown."""
    inertia: float
    """Moment of inertia of the load [kg m2]."""
    gravity_torque: float
    """Torque that holds the pendulum horizontally [N m]."""

    def suits(self, servo: Servo) -> bool:
        """Whether the values are valid for recordings of a servo."""
        numbers = (self.kp, self.inertia, 1.0 if self.vin is None else self.vin)
        limited = math.isfinite(self.gravity_torque) and math.isfinite(self.damping or 0.0)
        has_volts = self.vin is not None or math.isfinite(servo.vin) or servo.law == "torque_pd"
        return all(0 < n < math.inf for n in numbers) and limited and has_volts


def conditions_of(logs: Iterable[ServoLog], benches: Iterable[Any]) -> list[dict[str, Any]]:
    """Distinct conditions of logs, as plain data; loads other than pendulums are skipped."""
    found = [
        Conditions(log.kp, log.vin, log.damping, bench.inertia, abs(bench.gravity_torque))
        for log, bench in zip(logs, benches, strict=True)
        if isinstance(bench, Pendulum)
    ]
    return [asdict(each) for each in dict.fromkeys(found)]


def conditions_in(provenance: Mapping[str, Any]) -> list[Conditions]:
    """Conditions listed in the provenance of a parameter file; empty if it lists none."""
    found = []
    records = provenance.get("conditions")
    for record in records if isinstance(records, list) else []:
        try:
            optional = {n: record.get(n) for n in ("vin", "damping")}
            found.append(
                Conditions(
                    **{n: None if v is None else float(v) for n, v in optional.items()},
                    **{n: float(record[n]) for n in ("kp", "inertia", "gravity_torque")},
                )
            )
        except (TypeError, KeyError, ValueError, AttributeError):
            continue  # provenance is free-form: other programs may write anything here
    return found
