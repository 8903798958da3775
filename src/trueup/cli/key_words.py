"""Words ``KEY=VALUE`` at any position among the options of a command."""

import re
from collections.abc import Sequence
from typing import get_type_hints

_KEY = re.compile(r"[A-Za-z_][\w.-]*=")
_OPTION = re.compile(r"--?[A-Za-z]")
"""Start of an option; a word such as ``-5`` is a value."""


def split_keys(words: Sequence[str], command: type) -> tuple[list[str], tuple[str, ...]]:
    """The words of a command, separated into other words and those of the form ``KEY=VALUE``.

    The parser alone accepts them at one position only. Values of options, and all words of a
    command without keys, are other words.
    """
    if "keys" not in getattr(command, "__dataclass_fields__", {}):
        return list(words), ()
    hints = get_type_hints(command)
    flags = {f"--{name.replace('_', '-')}" for name, kind in hints.items() if kind is bool}
    keys = [
        place
        for place, word in enumerate(words)
        if _KEY.match(word) and not (place and _takes_value(words[place - 1], flags))
    ]
    others = [word for place, word in enumerate(words) if place not in keys]
    return others, tuple(words[place] for place in keys)


def _takes_value(word: str, flags: set[str]) -> bool:
    """Whether the word is an option whose value follows as the next word."""
    return bool(_OPTION.match(word)) and "=" not in word and word.replace("_", "-") not in flags
