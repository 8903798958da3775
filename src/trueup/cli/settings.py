"""Options and keys of commands, made from the settings of the library.

A setting marked with :class:`trueup._options.Option` becomes an option: :func:`options_of` makes a
class of them that commands inherit. Every setting, marked or not, can be given as ``KEY=VALUE``: a
command has a field ``keys`` of type :data:`Keys`, its settings in ``KEYS``, the names of those that
it does not take in ``WITHOUT``, and reads them by :func:`values_of`.
"""

import re
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from tyro.conf import Positional, arg

from trueup._input_files import safe_yaml
from trueup._options import MISSING, Setting, settings_of
from trueup.errors import ExperimentError, did_you_mean, listing

Switch = Literal["1", "0", "True", "False", "true", "false"]
"""Values of a switch."""

TRUE = ("1", "True", "true")

Keys = Annotated[
    Positional[tuple[str, ...]],
    arg(metavar="[KEY=VALUE ...]", help="Further settings."),
]
"""Type of the field of a command that takes settings as ``KEY=VALUE``."""

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
"""A number that YAML may read as text."""


# --- options -------------------------------------------------------------------------------------


def options_of(
    settings: type, name: str, *, only: Collection[str] = (), types: Mapping[str, Any] | None = None
) -> type[Any]:
    """A dataclass with an option for each marked setting; an option that is not given is None.

    Args:
      settings: dataclass or pydantic model.
      name: name of the class.
      only: names of the settings; all that are marked where empty.
      types: types of options that the parser reads by a rule of its own, by name.
    """
    marked = [s for s in settings_of(settings).values() if s.option is not None]
    chosen = [s for s in marked if not only or s.name in only]
    fields = [
        (s.name, _option(s, (types or {}).get(s.name)), field(default=_not_given(s)))
        for s in chosen
    ]
    return make_dataclass(name, fields, frozen=True, kw_only=True)


def given(command: Any, settings: type) -> dict[str, Any]:
    """Values of the settings whose options are given, by name."""
    found: dict[str, Any] = {}
    for setting in settings_of(settings).values():
        value = getattr(command, setting.name, None) if setting.option is not None else None
        if value is None or value is False:
            continue
        if value == () or (isinstance(value, tuple) and "" in value):
            # what a variable that is empty leaves of an option
            raise ExperimentError(f"{_spelling(setting)} requires a value; give one or remove it")
        takes_word = setting.option is not None and not setting.option.flag
        is_switch = _plain(setting.annotation) is bool and takes_word
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
    """Placeholder of a value that is one of some words."""
    kind = _plain(annotation)
    if kind is bool:
        return "{1,0}"
    return f"{{{','.join(map(str, get_args(kind)))}}}" if get_origin(kind) is Literal else None


def _parsed(annotation: Any) -> Any:
    """Type by which the parser reads the value of an option."""
    kind = _plain(annotation)
    if kind is bool:
        return Switch
    if get_origin(kind) is tuple:
        return tuple[tuple(_parsed(each) if each is not ... else ... for each in get_args(kind))]
    return kind


def _plain(annotation: Any) -> Any:
    """A type without marks, and without None."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [each for each in get_args(annotation) if each is not type(None)]
        return _plain(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


# --- KEY=VALUE -----------------------------------------------------------------------------------


def values_of(
    settings: type,
    words: Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Values of settings, by key: those given as options, and those given as ``KEY=VALUE``.

    Lists are given with commas, as in ``tgt_vel=1.0,1.25``, numbers by name as in
    ``weights=effort:300,velocity:100``, both also as YAML; ``none`` is no value.

    Args:
      settings: dataclass or pydantic model that has the settings.
      words: words of the form ``KEY=VALUE``.
      options: values of :func:`given`.
      without: names of settings that cannot be given.

    Raises:
      ExperimentError: a word has another form, a key is unknown, or is given twice.
    """
    known = {s.key: s for s in settings_of(settings).values() if s.name not in without}
    by_name = {s.name: s for s in known.values()}
    found = {by_name[name].key: value for name, value in (options or {}).items()}
    for word in words:
        key, equals, text = word.partition("=")
        setting = known.get(key) or by_name.get(key) or by_name.get(key.replace("-", "_"))
        if not equals:
            raise ExperimentError(f"{word!r} is not of the form KEY=VALUE")
        if setting is None and key in {
            name for s in settings_of(settings).values() for name in (s.key, s.name)
        }:
            raise ExperimentError(f"{key} has no effect here; remove it")
        if setting is None:
            raise ExperimentError(
                f"there is no key {key!r}; the keys are {listing(known, limit=len(known))}."
                f"{did_you_mean(key, known)}"
            )
        if setting.key in found:
            raise ExperimentError(f"{setting.key} is given twice; give it once")
        found[setting.key] = value_of(setting, text)
    return found


def value_of(setting: Setting, text: str) -> Any:
    """Value of a setting from text; whether it fits is for the settings to check.

    Raises:
      ExperimentError: the text is empty, or of no form that the setting takes.
    """
    if not text.strip():
        raise ExperimentError(f"{setting.key} requires a value; give one or remove it")
    kind = _plain(setting.annotation)
    if get_origin(kind) is Literal and text.strip() in get_args(kind):
        return text.strip()  # a word may be none, or one that YAML takes for a number
    value = _value_or_none(text, setting.key)
    if kind is str and value is not None:
        return text.strip() if not isinstance(value, str) else value
    if get_origin(kind) in (dict, Mapping) and isinstance(value, str):
        if get_origin(get_args(kind)[1]) is dict:  # names choose among mappings that there are
            return tuple(part.strip() for part in text.split(","))
        pairs = [part.partition(":") for part in text.split(",")]
        if not all(colon and name.strip() for name, colon, _ in pairs):
            raise ExperimentError(
                f"{setting.key}={text}: expected values by name, as in "
                f"{setting.key}=first:1.5,second:2"
            )
        names = [name.strip() for name, _, _ in pairs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ExperimentError(f"{setting.key} has {listing(twice)} twice")
        return {name.strip(): _value_or_none(number, setting.key) for name, _, number in pairs}
    if get_origin(kind) in (tuple, list) or kind in (tuple, list):
        parts = value if isinstance(value, list) else None
        if parts is None and value is not None and get_args(kind)[:1] == (str,):
            parts = [part.strip() for part in text.split(",")]  # names may look like numbers
        elif parts is None and value is not None:
            parts = [_value_or_none(part, setting.key) for part in text.split(",")]
        return None if parts is None else tuple(parts)
    return value


def _value_or_none(text: str, key: str) -> Any:
    return None if text.strip() in ("none", "None") else read_value(text, key)


def read_value(text: str, key: str) -> Any:
    """A value that is written as in YAML; a text beginning with ``*`` is text.

    Raises:
      ExperimentError: it is not YAML.
    """
    text = text.strip()
    if _EXPONENT.fullmatch(text):
        return float(text)
    try:
        # a pattern such as *.json is text, which YAML would take for an alias
        return text if text.startswith("*") else safe_yaml(text)
    except yaml.YAMLError as error:
        raise ExperimentError(f"the value of {key} cannot be read: {error}") from error


def check_type(settings: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values converted to the types of the settings of a dataclass, which checks no types itself.

    Raises:
      ExperimentError: one does not fit.
    """
    from pydantic import TypeAdapter, ValidationError

    known = {s.key: s for s in settings_of(settings).values()}
    found = {}
    for key, value in values.items():
        try:
            found[key] = TypeAdapter(known[key].annotation).validate_python(value)
        except ValidationError as error:
            reason = error.errors()[0]["msg"].lower()
            raise ExperimentError(f"{key}={value_in_words(value)}: {reason}") from error
    return found


def keys_of(command: type) -> list[str]:
    """Keys that a command takes as ``KEY=VALUE``."""
    settings = getattr(command, "KEYS", None)
    without = getattr(command, "WITHOUT", ())
    if settings is None:
        return []
    return [s.key for s in settings_of(settings).values() if s.name not in without]


def further_keys(command: type) -> list[Setting]:
    """Settings that a command takes as ``KEY=VALUE`` only."""
    options = getattr(command, "__dataclass_fields__", {})
    keys = keys_of(command)
    if not keys:
        return []
    settings = settings_of(command.KEYS).values()  # type: ignore[attr-defined]
    return [s for s in settings if s.key in keys and s.name not in options]


def value_in_words(value: Any) -> str:
    """A default as it is written on the command line."""
    if isinstance(value, tuple | list):
        return ",".join(map(value_in_words, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{value_in_words(each)}" for name, each in value.items())
    return str(int(value)) if isinstance(value, bool) else str(value)


def type_in_words(annotation: Any) -> str:
    """What the value of a setting is: a number, a list of texts, one of some words."""
    kind = _plain(annotation)
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
