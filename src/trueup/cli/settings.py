"""Options and keys of commands, made from the settings of the library.

A setting marked with :class:`trueup._options.Option` becomes an option: :func:`options_of` returns
a class of options for commands to inherit. Every setting, marked or not, can be given as
``KEY=VALUE``: a command has a field ``keys`` of type :data:`Keys`, its settings in ``KEYS``, the
names of those that it does not support in ``WITHOUT``, and reads them with
:func:`trueup.cli.key_values.values_of`.
"""

from collections.abc import Collection, Mapping
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from tyro.conf import Positional, arg

from trueup._options import MISSING, Setting, plain_type, settings_of
from trueup.errors import ExperimentError

Switch = Literal["1", "0", "True", "False", "true", "false"]
"""Values of a switch."""

TRUE = ("1", "True", "true")

Keys = Annotated[
    Positional[tuple[str, ...]],
    arg(metavar="[KEY=VALUE ...]", help="Further settings."),
]
"""Type of the field for settings given as ``KEY=VALUE``."""


def options_of(
    settings: type, name: str, *, only: Collection[str] = (), types: Mapping[str, Any] | None = None
) -> type[Any]:
    """A dataclass with an option for each marked setting, None by default.

    Args:
      settings: dataclass or pydantic model.
      name: name of the class.
      only: names of the settings; by default all that are marked.
      types: types of options with a custom rule of the parser, by name.
    """
    marked = [s for s in settings_of(settings).values() if s.option is not None]
    chosen = [s for s in marked if not only or s.name in only]
    fields = [
        (s.name, _option(s, (types or {}).get(s.name)), field(default=_not_given(s)))
        for s in chosen
    ]
    return make_dataclass(name, fields, frozen=True, kw_only=True)


def given(command: Any, settings: type) -> dict[str, Any]:
    """Values of the settings that are given as options, by name."""
    found: dict[str, Any] = {}
    for setting in settings_of(settings).values():
        value = getattr(command, setting.name, None) if setting.option is not None else None
        if value is None or value is False:
            continue
        if value == () or (isinstance(value, tuple) and "" in value):
            # from an empty variable of the shell
            raise ExperimentError(f"{_spelling(setting)} requires a value; give one or remove it")
        takes_word = setting.option is not None and not setting.option.flag
        is_switch = plain_type(setting.annotation) is bool and takes_word
        found[setting.name] = value in TRUE if is_switch else value
    return found


def _not_given(setting: Setting) -> Any:
    return False if setting.option is not None and setting.option.flag else None


def _spelling(setting: Setting) -> str:
    name = (setting.option.name if setting.option else None) or setting.name
    return f"--{name.replace('_', '-')}"


def _option(setting: Setting, given_type: Any) -> Any:
    """Type of an option, with its spellings and its help."""
    option = setting.option
    assert option is not None
    shown = "" if option.flag or setting.default in (MISSING, None, "", ()) else setting.default
    hint = "" if shown == "" else f"(default: {value_in_words(shown)})"
    words = arg(
        name=option.name,
        metavar=option.metavar or _words_in(setting.annotation),
        aliases=list(option.aliases),
        help=setting.help,
        help_behavior_hint="(required)" if setting.default is MISSING else hint,
    )
    if option.flag:
        return Annotated[bool, words]
    return Annotated[(given_type or _parsed(setting.annotation)) | None, words]


def _words_in(annotation: Any) -> str | None:
    """Placeholder for a choice of words; None for other values."""
    kind = plain_type(annotation)
    if kind is bool:
        return "{1,0}"
    return f"{{{','.join(map(str, get_args(kind)))}}}" if get_origin(kind) is Literal else None


def _parsed(annotation: Any) -> Any:
    """Type with which the parser reads the value of an option."""
    kind = plain_type(annotation)
    if kind is bool:
        return Switch
    if get_origin(kind) is tuple:
        return tuple[tuple(_parsed(each) if each is not ... else ... for each in get_args(kind))]
    return kind


def keys_of(command: type) -> list[str]:
    """Keys that a command accepts as ``KEY=VALUE``."""
    settings = getattr(command, "KEYS", None)
    without = getattr(command, "WITHOUT", ())
    if settings is None:
        return []
    return [s.key for s in settings_of(settings).values() if s.name not in without]


def further_keys(command: type) -> list[Setting]:
    """Settings that a command accepts as ``KEY=VALUE`` only."""
    options = getattr(command, "__dataclass_fields__", {})
    keys = keys_of(command)
    if not keys:
        return []
    settings = settings_of(command.KEYS).values()  # type: ignore[attr-defined]
    return [s for s in settings if s.key in keys and s.name not in options]


def value_in_words(value: Any) -> str:
    """A default value in the form of the command line."""
    if isinstance(value, tuple | list):
        return ",".join(map(value_in_words, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{value_in_words(each)}" for name, each in value.items())
    return str(int(value)) if isinstance(value, bool) else str(value)


def type_in_words(annotation: Any) -> str:
    """Description of the type of a setting: number, list of texts, or a choice of words."""
    kind = plain_type(annotation)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(str, parts))
    if origin in (tuple, list):
        return f"list of {type_in_words(parts[0])}s" if ... in parts else f"{len(parts)} numbers"
    if origin in (dict, Mapping):
        nested = get_origin(parts[1]) is dict
        return "names" if nested else f"{type_in_words(parts[1])}s by name"
    names = {bool: "1 or 0", int: "whole number", float: "number", str: "text", Path: "path"}
    return names.get(kind, "value")
