"""Help of commands: texts without line breaks, defaults, and the keys of settings."""

import dataclasses
import textwrap
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from tyro.conf import arg

from trueup._options import MISSING, settings_of
from trueup.cli.settings import further_keys, type_in_words, value_in_words

HELP_KEYS = "--help-keys"
"""Option that lists the keys of a command."""

_EMPTY = (MISSING, None, False, (), "")
"""Defaults that the help does not show."""

_Words: Any = type(arg())
"""Type of what :func:`tyro.conf.arg` returns."""


def with_help(command: type) -> type:
    """The command, with the help texts and defaults for the parser; idempotent.

    By itself the parser would show docstrings with their line breaks, and ``None`` and ``False`` as
    defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    for name, setting in settings_of(command).items():
        kind, *marks = get_args(hints[name]) if _is_annotated(hints[name]) else [hints[name]]
        words = words_of(hints[name])
        others = [mark for mark in marks if mark is not words]
        if words.help is None:
            words = dataclasses.replace(words, help=setting.help)
        if words.help_behavior_hint is None and _is_empty(setting.default):
            hint = "(required)" if setting.default is MISSING else ""
            words = dataclasses.replace(words, help_behavior_hint=hint)
        command.__annotations__[name] = Annotated[(kind, *others, words)]  # type: ignore[misc]
    return command


def words_of(hint: Any) -> Any:
    """Spellings and help of an option, from the marks of its type."""
    marks = get_args(hint)[1:] if _is_annotated(hint) else ()
    return next((mark for mark in marks if isinstance(mark, _Words)), arg())


def keys_line(command: type) -> str:
    """Line with the keys of a command that are not options; empty without any."""
    keys = [setting.key for setting in further_keys(command)]
    if not keys:
        return ""
    return f"\n\nKeys, given as KEY=VALUE and described by {HELP_KEYS}: {', '.join(keys)}."


def keys_table(command: type) -> list[str]:
    """Lines that describe the keys of a command."""
    lines = ["Settings given as KEY=VALUE: lists as 1,2,3; values by name as a:1,b:2."]
    for setting in further_keys(command):
        default = setting.default
        shown = "" if _is_empty(default) else f" = {value_in_words(default)}"
        lines += ["", f"{setting.key}: {type_in_words(setting.annotation)}{shown}"]
        lines += textwrap.wrap(setting.help, 96, initial_indent="    ", subsequent_indent="    ")
    return lines


def _is_empty(default: Any) -> bool:
    return default is MISSING or default is None or default is False or default in ((), "", {})


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated
