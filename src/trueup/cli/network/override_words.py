"""Overrides such as ``train.max_epochs=100`` may stand anywhere among the options of a command."""

import re
from typing import get_type_hints

_OVERRIDE = re.compile(r"[A-Za-z_][\w.]*=")


def overrides_together(words: list[str], command: type) -> list[str]:
    """The words of a command with its overrides side by side, where the last of them stands.

    The parser takes them from one place only. Words of a command without overrides are left as
    they are, and so is what follows an option that takes a value.
    """
    if "overrides" not in getattr(command, "__dataclass_fields__", {}):
        return words
    kinds = get_type_hints(command)
    flags = {f"--{name.replace('_', '-')}" for name, kind in kinds.items() if kind is bool}
    places = [
        place
        for place, word in enumerate(words)
        if _OVERRIDE.match(word) and not (place and _takes_value(words[place - 1], flags))
    ]
    if not places:
        return words
    others = [word for place, word in enumerate(words) if place not in places]
    start = places[-1] - len(places) + 1
    return [*others[:start], *(words[place] for place in places), *others[start:]]


def _takes_value(word: str, flags: set[str]) -> bool:
    """Whether the word is an option whose value follows as the next word."""
    return word.startswith("-") and "=" not in word and word.replace("_", "-") not in flags
