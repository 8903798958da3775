"""Settings dataclasses from JSON or YAML values, with types checked."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trueup.errors import ExperimentError, did_you_mean, listing


def build_settings(kind: type, content: Any, where: str) -> Any:
    """A settings dataclass, with nested ones, from nested JSON or YAML values.

    Raises:
      ExperimentError: a key is unknown or missing, or a value has another type or is out of range.
    """
    if isinstance(content, kind):
        return content
    names = [item.name for item in fields(kind)]
    if not isinstance(content, Mapping):
        raise ExperimentError(f"{where} is {content!r}; expected keys {listing(names)}")
    unknown = [str(key) for key in content if key not in names]
    if unknown:
        raise ExperimentError(
            f"unknown key {unknown[0]!r} of {where}.{did_you_mean(unknown[0], names)} Its keys are "
            f"{listing(names, limit=len(names))}"
        )
    missing = [n for n in names if n not in content and _is_needed(kind, n)]
    if missing:
        raise ExperimentError(
            f"{where} requires the key {listing(missing)}; its keys are {listing(names)}"
        )
    hints = get_type_hints(kind)
    values = {
        name: _value(hints[name], value, f"{where}.{name}") for name, value in content.items()
    }
    return kind(**values)


def to_values(settings: Any) -> dict[str, Any]:
    """Settings as JSON values, the inverse of `build_settings`."""
    return asdict(settings)


def _is_needed(kind: type, name: str) -> bool:
    item = kind.__dataclass_fields__[name]  # type: ignore[attr-defined]
    return item.default is MISSING and item.default_factory is MISSING


def _value(hint: Any, value: Any, where: str) -> Any:
    if hasattr(hint, "__dataclass_fields__"):
        return build_settings(hint, value, where)
    origin = get_origin(hint)
    if origin is tuple:
        return _items(get_args(hint)[0], value, where)
    if origin is Literal:
        return _choice(get_args(hint), value, where)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ExperimentError(f"{where} is {value!r}; expected keys with values")
        return value
    allowed = get_args(hint) or (hint,)
    if value is None and type(None) in allowed:
        return None
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        return _finite(float(value), where)
    kinds = tuple(kind for kind in allowed if kind is not type(None))
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        hint = _number_as_text(value) if {int, float} & set(kinds) else ""
        raise ExperimentError(f"{where} is {value!r}; expected {expected}{hint}")
    return _finite(value, where) if isinstance(value, float) else value


def _items(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ExperimentError(f"{where} is {value!r}; expected a list, such as [{value}]")
    return tuple(_value(hint, item, f"{where}[{number}]") for number, item in enumerate(value))


def _choice(choices: tuple[str, ...], value: Any, where: str) -> str:
    if value not in choices:
        raise ExperimentError(
            f"{where} is {value!r}; it must be one of {listing(choices)}."
            f"{did_you_mean(str(value), choices)}"
        )
    return value


def _number_as_text(value: Any) -> str:
    """Advice for a number that is given as text; empty for other values."""
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return ""
    return ", found text: write the number without quotes, and 1e-3 in YAML as 1.0e-3"


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise ExperimentError(f"{where} is {value}; expected a finite number")
    return value
