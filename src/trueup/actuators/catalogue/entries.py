"""Catalogue of servos: built-in and user-registered."""

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup._input_files import read_settings, safe_yaml
from trueup.actuators.catalogue.servo import MOTOR_PARAMETERS, Servo
from trueup.actuators.equations.model_parameter import ModelParameter
from trueup.errors import FitError, ParameterError, TrueupWarning, did_you_mean, listing

_NUMBERS = ("vin", "kp", "error_gain", "damping", "max_pwm", "max_amps")
_KEYS = ("title", "law", *_NUMBERS, "parameters", "bounds", "source", "disputed", "bus")
_LOG = ("kt", "R", "armature", "error_gain_ratio", "max_velocity", "ratio")

_registered: dict[str, Servo] = {}


def servos() -> dict[str, Servo]:
    """All servos by name, built-in and registered."""
    return {**_built_in(), **_registered}


def find_servo(name: str) -> Servo:
    """Look up a servo by name.

    Raises:
      FitError: unknown servo.
    """
    known = servos()
    if name not in known:
        raise FitError(
            f"unknown servo {name!r}; available: {listing(known, 40)}."
            f"{did_you_mean(name, known)} Describe a new one in a YAML file and give it with "
            "catalogue=FILE; in Python load it with load_catalogue, or register a Servo"
        )
    return known[name]


def register(servo: Servo, *, replace: bool = False) -> Servo:
    """Add a servo to the catalogue, for this process.

    Raises:
      ParameterError: a servo of this name exists and ``replace`` is not set.
    """
    if servo.name in servos() and not replace:
        raise ParameterError(
            f"servo {servo.name!r} is already registered; choose another name or pass replace=True"
        )
    _registered[servo.name] = servo
    return servo


def load_catalogue(path: str | os.PathLike[str], *, replace: bool = False) -> tuple[Servo, ...]:
    """Read servos from a YAML file and register them.

    Each entry has a name and the keys ``law``, ``vin`` [V], ``kp``, ``error_gain`` (duty cycle,
    current [A] or torque [N m] per unit of kp and radian), ``damping``, ``max_pwm`` (0 to 1),
    ``max_amps`` [A], ``parameters`` and ``bounds``. A parameter is
    ``[start value, lower bound, upper bound]``; an entry of ``bounds`` is ``[lower, upper]`` of a
    friction parameter or extended term, or ``[start value, lower, upper]``. ``bus`` describes how
    to
    record it: a control table such as ``dynamixel``, or keys and values, see :class:`Servo`.

    Args:
      path: the file.
      replace: replace servos of the same name.

    Returns:
      The servos of the file.

    Raises:
      ParameterError: the file cannot be read, or an entry is invalid.
    """
    found = tuple(_read(Path(path)).values())
    # atomic: all entries are checked before any is registered
    taken = [servo.name for servo in found if servo.name in servos()]
    if taken and not replace:
        raise ParameterError(
            f"{path}: already registered: servos {listing(taken)}; choose other names or pass "
            "replace=True"
        )
    for servo in found:
        register(servo, replace=True)
    return found


def use_catalogue(path: str | os.PathLike[str] | None) -> None:
    """Register the servos of a catalogue file that a command or a run names.

    Reading it twice is silent; an entry that replaces a built-in servo by another one is
    reported with a :class:`~trueup.errors.TrueupWarning`, because its name still means the
    published servo in logs and parameter files.

    Args:
      path: the file; None for the built-in catalogue alone.

    Raises:
      ParameterError: the file cannot be read, or an entry is invalid.
    """
    if path is None:
        return
    before = servos()
    replaced = [
        servo.name
        for servo in load_catalogue(path, replace=True)
        if servo.name in _built_in() and not _same(servo, before[servo.name])
    ]
    if replaced:
        warnings.warn(
            f"{path}: replaces the built-in servos {listing(replaced)}; another name keeps both",
            TrueupWarning,
            stacklevel=3,
        )


def _same(first: Servo, second: Servo) -> bool:
    """Whether two entries describe one servo, whatever their titles and sources are."""
    texts = {"title": "", "source": "", "disputed": {}}
    return dataclasses.replace(first, **texts) == dataclasses.replace(second, **texts)


@functools.cache
def _built_in() -> dict[str, Servo]:
    return _read(Path(__file__).with_name("catalogue.yaml"))


def _read(path: Path) -> dict[str, Servo]:
    import yaml

    try:
        entries = safe_yaml(read_settings(path))
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        detail = " ".join(str(error).split())
        raise ParameterError(f"{path}: not a readable YAML file of servos: {detail}") from error
    if not isinstance(entries, dict) or not entries:
        raise ParameterError(f"{path}: expected servos by name, found {_kind(entries)}")
    return {str(name): _servo(str(name), entry, str(path)) for name, entry in entries.items()}


def _servo(name: str, entry: Any, path: str) -> Servo:
    where = f"{path}: servo {name!r}"
    if not isinstance(entry, dict):
        raise ParameterError(
            f"{where}: expected keys and values, found {_kind(entry)}; keys are {listing(_KEYS)}"
        )
    for key in entry:
        if key not in _KEYS:
            raise ParameterError(
                f"{where}: unknown key {key!r}; keys are {listing(_KEYS)}."
                f"{did_you_mean(str(key), _KEYS)}"
            )
    for key in ("law", "parameters"):
        if key not in entry:
            raise ParameterError(f"{where}: the key {key!r} is missing")
    numbers = {key: _number(entry[key], f"{where}: {key}") for key in _NUMBERS if key in entry}
    parameters = _table(entry["parameters"], 3, f"{where}: parameters")
    given = entry.get("bounds", {})
    short, long = (
        {k: v for k, v in given.items() if (isinstance(v, list) and len(v) == 3) is has_start}
        if isinstance(given, Mapping)
        else given
        for has_start in (False, True)
    )
    bounds = _table(short, 2, f"{where}: bounds")
    started = _table(long, 3, f"{where}: bounds") if isinstance(given, Mapping) else {}
    disputed = _disputed(entry, where)
    try:
        motor = tuple(_parameter(key, *row) for key, row in parameters.items())
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from error
    bus = entry.get("bus", {})
    if not isinstance(bus, Mapping | str):
        raise ParameterError(
            f"{where}: bus: expected a control table such as dynamixel, or keys and values, found "
            f"{_kind(bus)}"
        )
    try:
        return Servo(
            name=name,
            law=str(entry["law"]),
            title=str(entry.get("title", name)),
            source=str(entry.get("source", "")),
            disputed=disputed,
            bus={"table": bus} if isinstance(bus, str) else dict(bus),
            parameters=motor,
            bounds={
                **{key: (low, high) for key, (low, high) in bounds.items()},
                **{key: (low, high) for key, (_, low, high) in started.items()},
            },
            starts={key: start for key, (start, _, _) in started.items()},
            **numbers,
        )
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from error


def _disputed(entry: Mapping[str, Any], where: str) -> dict[str, str]:
    given = entry.get("disputed", {})
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: disputed: expected names with texts, found {_kind(given)}")
    for name, text in given.items():
        if not isinstance(text, str):
            raise ParameterError(f"{where}: disputed: {name}: expected a text, found {text!r}")
    known = {*_NUMBERS, *entry.get("parameters", {}), *entry.get("bounds", {})}
    if unknown := [str(name) for name in given if name not in known]:
        raise ParameterError(
            f"{where}: disputed: the entry has no value {listing(unknown)}; it has "
            f"{listing(sorted(map(str, known)), 40)}"
        )
    return {str(name): " ".join(text.split()) for name, text in given.items()}


def _parameter(name: str, initial: float, lower: float, upper: float) -> ModelParameter:
    unit, description = MOTOR_PARAMETERS.get(name, ("", ""))
    return ModelParameter(
        name, initial, lower, upper, unit, description, log=name in _LOG and lower > 0
    )


def _check_bounds(name: str, lower: float, upper: float, where: str) -> None:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise ParameterError(
            f"{where}: {name} has no bounds, from {lower:g} to {upper:g}: a fit searches between "
            "them, give two finite numbers"
        )


def _table(value: Any, length: int, where: str) -> dict[str, list[float]]:
    form = "[start value, lower bound, upper bound]" if length == 3 else "[lower, upper]"
    if not isinstance(value, Mapping):
        raise ParameterError(f"{where}: expected names with {form}, found {_kind(value)}")
    rows = {}
    for name, row in value.items():
        if not isinstance(row, list) or len(row) != length:
            lacking = " has no bounds" if length == 3 and _is_number(row) else ""
            raise ParameterError(f"{where}: {name}{lacking}: expected {form}, found {row!r}")
        rows[str(name)] = [_number(number, f"{where}: {name}") for number in row]
        low, high = rows[str(name)][-2:]
        _check_bounds(str(name), low, high, where)
        if length == 2 and not rows[str(name)][0] <= rows[str(name)][1]:
            raise ParameterError(f"{where}: {name}: the lower bound is above the upper one: {row}")
    return rows


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = ""
        if isinstance(value, str):
            hint = "; YAML reads 1e-5 as text, write 1.0e-5"
        raise ParameterError(f"{where}: expected a number, found {value!r}{hint}")
    if math.isnan(value):
        raise ParameterError(f"{where}: not a number")
    return float(value)


def _is_number(value: Any) -> bool:
    alone = value[0] if isinstance(value, list) and len(value) == 1 else value
    return isinstance(alone, int | float) and not isinstance(alone, bool)


def _kind(value: Any) -> str:
    return {type(None): "nothing", dict: "keys and values", list: "a list"}.get(
        type(value), repr(value)[:60]
    )
