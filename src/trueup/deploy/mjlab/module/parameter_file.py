"""Parameter files of servos: flat JSON of friction model, servo and parameters."""

import json
import sys
from pathlib import Path
from typing import Any

from trueup.actuators.catalogue.servo import Servo
from trueup.deploy.mjlab.module.tables import (
    FRICTIONS,
    IDENTIFIED,
    KP,
    NOT_NEGATIVE,
    SERVOS,
    TERMS,
    VIN,
)
from trueup.errors import ParameterError

_NOT_VALUES = {
    "model", "actuator", "quadratic", "units", "provenance", "not_in_bam", "made_although",
}  # fmt: skip


class ServoModel:
    """Servo with its identified parameters.

    Args:
      servo: constants of the servo.
      friction: name of the friction model.
      values: value of each parameter, by name.
      terms: its extended terms.
      quadratic: form of the quadratic term, ``gated`` or ``ungated``.
    """

    def __init__(
        self,
        servo: Servo,
        friction: str,
        values: dict[str, Any],
        terms: tuple[str, ...],
        quadratic: str,
    ):
        self.servo, self.friction, self.values = servo, friction, values
        self.terms, self.quadratic = terms, quadratic
        self.reads_load: bool = FRICTIONS[friction]["reads_load"]


def load_model(path: str | Path | None = None) -> ServoModel:
    """Servo of a parameter file; by default that of this module.

    Raises:
      ParameterError: the file cannot be read, or is of a servo that is not in this module.
    """
    if path is None:
        given = {"kp": KP, "vin": VIN}
        given = {name: value for name, value in given.items() if value is not None}
        return model_from_dict(IDENTIFIED, "this module", **given)
    if not isinstance(path, str | Path) or not str(path):
        raise ParameterError(
            f"json_path is {path!r}: set it to the path of a servo's parameter file"
        )
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: not a parameter file (invalid JSON: {error})") from error
    return model_from_dict(content, str(path))


def model_from_dict(content: Any, source: str, **constants: Any) -> ServoModel:
    """Servo from the content of a parameter file.

    Args:
      content: names and values.
      source: name of the file in errors.
      constants: constants of the servo that replace those of its table.

    Raises:
      ParameterError: a value is missing or not a number, or belongs to another model.
    """
    if not isinstance(content, dict):
        raise ParameterError(f"{source}: expected names and values, found {type(content).__name__}")
    for key in ("actuator", "model"):
        if not isinstance(content.get(key), str):
            raise ParameterError(
                f"{source}: the key {key!r} is missing: not the parameter file of a servo"
            )
    name, friction = content["actuator"], content["model"].lower()
    for key, found, known in (("actuator", name, SERVOS), ("model", friction, FRICTIONS)):
        if found not in known:
            raise ParameterError(
                f"{source}: unknown {key} {found!r}; this module contains {', '.join(known)}. "
                "Write the module from this file: trueup actuator export --form mjlab"
            )
    constants = {**SERVOS[name], **_stated_voltage(content.get("provenance")), **constants}
    own = constants["parameters"]
    starts = {**own, "q_offset": 0.0}
    terms = tuple(t for t in TERMS[constants["law"]] if t in content and t not in own)
    parameters = (*own, *FRICTIONS[friction]["parameters"], *terms)
    for key in content:
        if key not in parameters and key not in _NOT_VALUES:
            raise ParameterError(
                f"{source}: {key!r} is not a parameter of {name!r} with {friction}: is this the "
                f"file of another model? Parameters: {', '.join(parameters)}"
            )
    if missing := [key for key in parameters if key not in content and key not in starts]:
        raise ParameterError(
            f"{source}: {', '.join(missing)} missing, which {friction} requires: is this the file "
            "of another model?"
        )
    values = {key: _number(content.get(key, starts.get(key)), key, source) for key in parameters}
    quadratic = content.get("quadratic", "gated")
    if quadratic not in ("gated", "ungated"):
        raise ParameterError(
            f"{source}: unknown form {quadratic!r} of the quadratic term; available: gated, ungated"
        )
    return ServoModel(Servo(name=name, **constants), friction, values, terms, quadratic)


def _stated_voltage(provenance: Any) -> dict[str, float]:
    """Bus voltage of the recordings in a file [V]; empty unless all are the same."""
    stated = provenance.get("conditions") if isinstance(provenance, dict) else None
    records = stated if isinstance(stated, list) else []
    found = [each.get("vin") for each in records if isinstance(each, dict)]
    numbers = [v for v in found if isinstance(v, int | float) and not isinstance(v, bool)]
    is_one = len(numbers) == len(found) and len(set(numbers)) == 1
    return {"vin": float(numbers[0])} if is_one and 0 < numbers[0] <= sys.float_info.max else {}


def _number(value: Any, name: str, source: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # JSON integers can exceed the range of float
    if not is_number or not abs(value) <= sys.float_info.max:
        raise ParameterError(f"{source}: {name}: expected a finite number, found {value!r:.60}")
    if value < 0 and name in NOT_NEGATIVE:
        raise ParameterError(f"{source}: {name} must not be negative, got {value:g}")
    return float(value)
