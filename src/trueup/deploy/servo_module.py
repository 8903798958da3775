"""Module that holds a whole servo model and runs without trueup: its head, its gain and voltage.

The equations are those that :mod:`trueup.deploy.servo_source` writes; the actuator classes stand in
the folders of the simulators.
"""

import math
import re

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy.servo import ExportRequest, ServoExport, printable_name
from trueup.errors import FitError

_HEAD = '''\
"""Servo {name}, friction model {friction}{terms}: the whole identified model.

Written by trueup; needs {needs}, not trueup.
{use}
"""
'''


def servo_module(request: ExportRequest, needs: str, use: str, source: str) -> ServoExport:
    """Module of a servo, with the gain and the voltage of a request.

    Args:
      request: servo and conditions.
      needs: packages that the module imports.
      use: how it is used.
      source: imports, numbers, equations and classes.
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
    """Refuse a servo that an actuator class cannot hold.

    Raises:
      FitError: the model has backlash.
    """
    if "backlash" in model.terms:
        raise FitError(
            f"backlash needs a second body between motor and joint, which an actuator of "
            f"{simulator} cannot add: fit the servo without it, or take the form 'numpy'"
        )
