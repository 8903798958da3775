"""Integers on the command line, also written as 1e6 or 2.0."""

import math
from collections.abc import Sequence
from typing import Any

from trueup.errors import ExperimentError

_LARGEST = 2.0**53  # above it not every integer is a float


def whole_numbers(words: Sequence[str]) -> Any:
    """Rule of the parser for options with integers.

    4096, 1e6 and 2.0 are integers; the error for 1.5 or nan names the option.

    Args:
      words: words of the command.
    """
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def rule(info: Any) -> PrimitiveConstructorSpec | None:
        if info.type is not int:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=lambda given: _whole(given[0], words),
            is_instance=lambda value: isinstance(value, int) and not isinstance(value, bool),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def _whole(text: str, words: Sequence[str]) -> int:
    """Integer of a text; the parser reports a ValueError, for text that is not a number."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None
    if math.isfinite(number) and number == int(number) and abs(number) <= _LARGEST:
        return int(number)
    option = next(
        (
            before if word == text else word.partition("=")[0]
            for before, word in zip(("", *words), words, strict=False)
            if word == text or word.partition("=")[2] == text
        ),
        "",
    )
    name = option if option.startswith("-") else "a number"
    raise ExperimentError(f"{name} is {text}; it must be a whole number up to {_LARGEST:.0f}")
