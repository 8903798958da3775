"""Module with a whole servo model that runs without trueup: head, gain and voltage.

The equations are written by :mod:`trueup.deploy.servo_source`; the actuator classes are in
the folders of the simulators.
"""

import math
import re

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy.servo import ExportRequest, ServoExport, printable_name
from trueup.errors import FitError

_HEAD = '''\
"""Servo {name}, friction model {friction}{terms}: the whole identified model.

Written by trueup; requires {needs}, not trueup.
{use}
"""
'''


def servo_module(request: ExportRequest, needs: str, use: str, source: str) -> ServoExport:
    """Module of a servo, with the gain and the voltage of a request.

    Args:
      request: servo and conditions.
      needs: packages that the module imports.
      use: how to use the module.
      source: imports, parameters, equations and classes.
    """
    model = request.model
    terms = "".join(f", {name.replace('_', ' ')}" for name in model.terms)
    head = _HEAD.format(
        name=printable_name(model), friction=model.friction.name, terms=terms, needs=needs, use=use
    )
    for name, value in (("KP", request.kp), ("VIN", request.supply)):
        if value is not None and math.isfinite(value):
            source = re.sub(rf"^{name} = .*$", f"{name} = {float(value)!r}", source, flags=re.M)
    return ServoExport(f"{head}\n{source.strip()}\n")


def check_no_backlash(model: ServoModel, simulator: str) -> None:
    """Reject a servo that an actuator class does not support.

    Raises:
      FitError: the model has backlash.
    """
    if "backlash" in model.terms:
        raise FitError(
            f"backlash requires a second body between motor and joint, which an actuator of "
            f"{simulator} cannot add: fit the servo without it, or use the form 'numpy'"
        )
