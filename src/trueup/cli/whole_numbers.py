"""Whole numbers among the words of a command, however they are written."""

import math
from collections.abc import Sequence
from typing import Any

from trueup.errors import ExperimentError

_LARGEST = 2.0**53  # beyond it a number with an exponent is no exact count


def whole_numbers(words: Sequence[str]) -> Any:
    """Rules of the parser by which options of whole numbers are read.

    4096, 1e6 and 2.0 are whole numbers; for 1.5 and nan the option is named.

    Args:
      words: those of the command.
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
    """The number of a text; what is no number at all the parser refuses."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
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
    what = option if option.startswith("-") else "a number"
    raise ExperimentError(f"{what} is {text}, which is no whole number up to {_LARGEST:.0f}")
