"""Check that the numbers of settings are finite."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from trueup.errors import TrueupError


def check_finite(settings: Any, error: type[TrueupError], prefix: str = "") -> None:
    """Check that all numbers of a dataclass are finite.

    Args:
      settings: instance of a dataclass; its lists and mappings are checked too.
      error: class of the error.
      prefix: prefix of the name of a field, such as ``train.``.

    Raises:
      TrueupError: of the class ``error``; a number is NaN or infinite.
    """
    for field in fields(settings):
        for place, number in _numbers(field.name, getattr(settings, field.name)):
            if not math.isfinite(number):
                raise error(f"{prefix}{place} must be a finite number, found {number}")


def _numbers(place: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _numbers(f"{place}.{name}", part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(place, part)
