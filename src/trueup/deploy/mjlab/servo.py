"""Whole servo model as an actuator class of mjlab, in a module that runs without trueup.

The module consists of the classes of the folder ``module``, and reads parameter files: it contains
the constants of the servos, the equations of all laws and friction models, and the parameters of
the servo that it is written from.

mjlab, https://github.com/mujocolab/mjlab, 1.6.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup.actuators.catalogue.entries import find_servo, servos
from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations import servo_equations as equations
from trueup.actuators.equations._parameter_layout import NEUTRAL, ParameterValues
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS, terms_for
from trueup.actuators.equations.friction_models import (
    FRICTION_MODELS,
    PUBLISHED_MODELS,
    FrictionModel,
)
from trueup.actuators.equations.servo_laws import law_parameters
from trueup.deploy.joined_parts import ERRORS, joined_parts, source_of
from trueup.deploy.servo import ExportRequest, ServoExport
from trueup.deploy.servo_module import check_no_backlash, servo_module
from trueup.deploy.torch_equations import FUNCTIONS, parameter_function, torch_imports

_PARTS = (
    "parameter_file", "functions", "settings", "battery", "external_torque", "model_fields",
    "actuator", "config",
)  # fmt: skip
"""Parts of the module in order of dependency."""

_IMPORTS = ("import math", "from collections.abc import Mapping", "from typing import Any")

_MOTOR_TERMS = ("winding_braking", "supply_resistance", "torque_saturation")
"""Extended terms in the equation of a motor, which is written with and without them: without them
thousands of environments save operations that have no effect."""

_USE = """\
``BamActuatorCfg(target_names_expr=(".*",), json_path=FILE)`` belongs in the actuators of an entity,
and the event ``prepare_servo_fields`` of mode startup in those of the environment. FILE is the
parameter file of a servo of the table ``SERVOS``, with a friction model of ``FRICTIONS``; without
it, the actuator uses the servo above."""

_SERVO = '''
class Servo:
    """Constants of a servo: law, gains, voltage and limits, as in the table ``SERVOS``."""

    def __init__(self, **constants: Any):
        self.__dict__.update(constants)

'''

_NAMES = '''
ServoActuatorCfg, ServoActuator = BamActuatorCfg, BamActuator
"""Names as in the modules for other simulators."""
'''


def write_servo(request: ExportRequest) -> ServoExport:
    """Module with an actuator of mjlab, ``BamActuatorCfg``.

    Raises:
      FitError: the model has backlash.
    """
    return servo_module(request, "torch and mjlab", _USE, actuator_source(request.model))


def actuator_source(model: ServoModel) -> str:
    """Imports, tables, equations and actuator classes, with a default servo.

    Args:
      model: identified servo.

    Raises:
      FitError: the model has backlash.
    """
    check_no_backlash(model, "mjlab")
    folder = Path(__file__).parent / "module"
    equations_text = "\n\n\n".join(text.strip() for text in _equations(model))
    more = (*_IMPORTS, *torch_imports(equations_text))
    imports, classes = joined_parts((folder / f"{part}.py" for part in _PARTS), more)
    texts = (
        imports,
        FUNCTIONS,
        ERRORS,
        f"NEUTRAL = {_literal(NEUTRAL)}",
        f"REFERENCE_TEMPERATURE = {equations.REFERENCE_TEMPERATURE}",
        source_of(ParameterValues),
        *(source_of(each) for each in (equations.winding_resistance, equations.slewed_target)),
        equations_text,
        _tables(model),
        _SERVO + f"    {source_of(Servo.gains)}\n",
        classes,
        source_of(law_parameters),
        _NAMES,
    )
    return "\n\n\n".join(text.strip() for text in texts) + "\n"


def _servos(model: ServoModel) -> dict[str, Servo]:
    """Servos of the module: those of the catalogue, and that of the model."""
    return {**{name: find_servo(name) for name in servos()}, model.servo.name: model.servo}


def _frictions(model: ServoModel) -> dict[str, FrictionModel]:
    """Friction models of the module: the published ones, and that of the model."""
    published = {name: FRICTION_MODELS[name] for name in PUBLISHED_MODELS}
    return {**published, model.friction.name: model.friction}


def _equations(model: ServoModel) -> list[str]:
    """Functions of motors, of held targets and of friction."""
    texts = []
    for law in equations.LAWS:

        def motor(error, speed, on, p, law=law):
            driven, duty, damping = equations.LAWS[law](error, speed, p)
            driven = equations.saturated_torque(driven, p)
            torque, damping = equations.shaft_torque(on, driven, damping, speed, p)
            return torque, on * duty, damping

        def held(wanted, position, external, p, law=law):
            return equations.held_target(law, wanted, position, external, p)

        states = ("error", "speed", "on")
        texts += [
            parameter_function(f"{law}_motor", motor, states, _MOTOR_TERMS),
            parameter_function(f"{law}_motor_with_terms", motor, states),
            parameter_function(f"{law}_held", held, ("wanted", "position", "external")),
        ]
    for name, friction in _frictions(model).items():

        def loss(speed, motor, external, p, friction=friction):
            names = friction.parameter_names
            own = {each: getattr(p, each) for each in names}
            return friction.loss(motor, external, speed, ParameterValues(own, gate=p.gate))

        texts.append(parameter_function(f"{_identifier(name)}_loss", loss, _STATES))
    return texts


_STATES = ("speed", "motor", "external")


def _tables(model: ServoModel) -> str:
    laws = tuple(equations.LAWS)
    known = [*EXTENDED_TERMS.values()]
    for each in (*_servos(model).values(), *_frictions(model).values()):
        known += each.parameters
    constants = {
        name: {
            "law": servo.law, "kp": servo.kp, "error_gain": servo.error_gain,
            "damping": servo.damping, "vin": servo.vin, "max_pwm": servo.max_pwm,
            "max_amps": servo.max_amps, "parameters": {p.name: p.initial for p in servo.parameters},
        }
        for name, servo in _servos(model).items()
    }  # fmt: skip
    frictions = ",\n".join(
        f"    {name!r}: {{\n        'parameters': {friction.parameter_names!r},\n"
        f"        'reads_load': {friction.reads_load},\n"
        f"        'loss': {_identifier(name)}_loss,\n    }}"
        for name, friction in _frictions(model).items()
    )
    own = model_to_dict(model)
    identified = {n: v for n, v in own.items() if n not in ("units", "provenance")}
    motors = "".join(f"    {law!r}: ({law}_motor, {law}_motor_with_terms),\n" for law in laws)
    holding = "".join(f"    {law!r}: {law}_held,\n" for law in laws)
    positive = tuple(dict.fromkeys(p.name for p in known if p.lower >= 0.0))
    return "\n\n".join(
        (
            f"MOTOR_TERMS = {_MOTOR_TERMS!r}",
            f"MOTORS = {{\n{motors}}}",
            f"HOLDING = {{\n{holding}}}",
            f"FRICTIONS = {{\n{frictions},\n}}",
            f"TERMS = {_literal({law: terms_for(law) for law in laws})}",
            f"NOT_NEGATIVE = {positive!r}",
            f"SERVOS = {_literal(constants)}",
            f"IDENTIFIED = {_literal(identified)}",
            "KP = None\nVIN = None",
        )
    )


def _identifier(name: str) -> str:
    """Name of a friction model as part of a name in Python."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _literal(value: Any, indent: str = "") -> str:
    """Python text of a value, with one line per entry of a dictionary."""
    if isinstance(value, Mapping):
        inner = indent + "    "
        entries = (f"{inner}{key!r}: {_literal(v, inner)},\n" for key, v in value.items())
        return f"{{\n{''.join(entries)}{indent}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else f"{'-' * (value < 0)}math.inf"
    return repr(value)
