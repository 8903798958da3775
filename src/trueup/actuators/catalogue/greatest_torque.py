"""Stall torque limit of an identified servo."""

import math

from trueup.actuators.catalogue.servo_model import ServoModel


def greatest_torque(model: ServoModel, vin: float | None = None) -> float:
    """Largest stall torque of a servo [N m], limited by voltage, current or firmware.

    Args:
      model: identified servo.
      vin: bus voltage [V]; default: the servo's.
    """
    servo, values = model.servo, model.values
    if servo.law == "torque_pd":
        return values.get("max_torque", math.inf)
    kt, resistance = values["kt"], values["R"]
    volts = servo.vin if vin is None else vin
    limit = min(values.get("current_limit", math.inf), servo.max_amps)
    if servo.law == "bus_current":
        # at standstill, bus power equals winding loss: vin I_bus = R I^2
        limit = math.sqrt(volts * limit / resistance)
    duty = servo.max_pwm if servo.law == "voltage" else 1.0
    return kt * min(limit, duty * volts / resistance)
