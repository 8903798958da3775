"""Source of the actuator of mjlab as a module of its own: the classes of ``actuators/mjlab``.

The texts of those modules are joined; what they import from trueup is written beside them: the
servo with its numbers, and the functions of its equations.
"""

import re
from pathlib import Path

from trueup.actuators.catalogue.servo_model import ServoModel

_PARTS = (
    "servo_settings", "battery", "external_torque", "model_fields", "actuator", "config",
)  # fmt: skip
"""Modules of ``actuators/mjlab`` in the order in which they need each other."""

_SERVO = '''
class ParameterError(ValueError):
    """A setting has no meaning for this servo."""


class SimulationError(RuntimeError):
    """The simulation lacks what the servo needs."""


class _Law:
    """Firmware and constants of this servo."""

    name, law, vin = {name!r}, LAW, VIN

    def gains(self, kp=None, damping=None):
        """Gains of position error and of speed."""
        kp = KP if kp is None else kp
        damping = DAMPING if damping is None else damping
        return kp * ERROR_GAIN, damping * kp**0.5 if LAW == "current_pd" else damping


class _Friction:
    """Friction model of this servo."""

    reads_load = {reads_load!r}


class ServoModel:
    """This servo with its identified numbers."""

    servo, friction = _Law(), _Friction()
    terms = {terms!r}
    values = {values}


def load_model(path):
    """This servo; the path is that of the module."""
    return ServoModel()


class ServoFunctions(NamedTuple):
    """The equations, with settings of an actuator."""

    motor: Any
    friction: Any
    target: Any
    held: Any


def servo_functions(model, winding_temperature, timestep):
    """The equations at a winding temperature [degrees C] and a time step [s]."""

    def driven(error, speed, on, gain, rate_gain, vin):
        return motor(error, speed, on, gain, rate_gain, vin, vin, winding_temperature)

    def target(wanted, start):
        return slewed_target(wanted, start, MAX_VELOCITY * timestep)

    def held(wanted, position, external, gain, vin):
        return held_target(wanted, position, external, gain, vin, vin, winding_temperature)

    return ServoFunctions(driven, friction_loss, target, held)
'''


def mjlab_source(model: ServoModel) -> str:
    """Text of the classes of ``trueup.actuators.mjlab`` for one servo, without imports of trueup.

    Args:
      model: identified servo.
    """
    folder = Path(__file__).resolve().parents[1] / "mjlab"
    imports: dict[str, None] = {}
    bodies = []
    for part in _PARTS:
        text = (folder / f"{part}.py").read_text(encoding="utf-8")
        text = re.sub(r'\A""".*?"""\n', "", text, flags=re.S)
        found = re.findall(r"^(?:import|from) .*$", text, re.M)
        text = re.sub(r"^(?:import|from) .*\n", "", text, flags=re.M)
        imports |= dict.fromkeys(line for line in found if "trueup" not in line)
        bodies.append(text.strip())
    numbers = {name: float(value) for name, value in model.values.items()}
    servo = _SERVO.format(
        name=model.servo.name, reads_load=model.friction.reads_load, terms=model.terms,
        values=numbers,
    )  # fmt: skip
    whole = "\n\n\n".join(bodies)
    # the module is the file of the servo
    whole = re.sub(
        r'    json_path: str\n    """.*?"""\n',
        '    json_path: str = "this module"\n    """Not used: the servo stands in the module."""\n',
        whole,
        count=1,
        flags=re.S,
    )
    imports |= {"from typing import Any, NamedTuple": None}
    lines = "\n".join(line for line in imports if line != "from typing import Any")
    return f"\n{lines}\n\n{servo}\n\n{whole}\n"
