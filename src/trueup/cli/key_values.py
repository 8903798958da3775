"""Values of settings from words ``KEY=VALUE``."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import yaml

from trueup._input_files import safe_yaml
from trueup._options import Setting, plain_type, settings_of
from trueup.cli.settings import value_in_words
from trueup.errors import ExperimentError, did_you_mean, listing

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
"""Numbers that YAML may read as text, such as 1e-3."""


def values_of(
    settings: type,
    words: Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Values of settings, by key: those given as options, and those given as ``KEY=VALUE``.

    Lists are written with commas, as in ``tgt_vel=1.0,1.25``, values by name as in
    ``weights=effort:300,velocity:100``, both also as YAML; ``none`` is None.

    Args:
      settings: dataclass or pydantic model with the settings.
      words: words of the form ``KEY=VALUE``.
      options: values of :func:`trueup.cli.settings.given`.
      without: names of settings that the command does not support.

    Raises:
      ExperimentError: a word has another form, or a key is unknown, not supported or given twice.
    """
    known = {s.key: s for s in settings_of(settings).values() if s.name not in without}
    by_name = {s.name: s for s in known.values()}
    found = {by_name[name].key: value for name, value in (options or {}).items()}
    for word in words:
        key, equals, text = word.partition("=")
        setting = known.get(key) or by_name.get(key) or by_name.get(key.replace("-", "_"))
        if not equals:
            raise ExperimentError(f"{word!r}: expected the form KEY=VALUE")
        if setting is None and key in {
            name for s in settings_of(settings).values() for name in (s.key, s.name)
        }:
            raise ExperimentError(f"{key} is not supported by this command; remove it")
        if setting is None:
            raise ExperimentError(
                f"unknown key {key!r}; the keys are {listing(known, limit=len(known))}."
                f"{did_you_mean(key, known)}"
            )
        if setting.key in found:
            raise ExperimentError(f"{setting.key} is given twice; give it once")
        found[setting.key] = value_of(setting, text)
    return found


def value_of(setting: Setting, text: str) -> Any:
    """Value of a setting from text; its range is checked by the settings.

    Raises:
      ExperimentError: the text is empty, or does not have the form of the setting.
    """
    if not text.strip():
        raise ExperimentError(f"{setting.key} requires a value; give one or remove it")
    kind = plain_type(setting.annotation)
    if get_origin(kind) is Literal and text.strip() in get_args(kind):
        return text.strip()  # also none, and words that YAML reads as a number
    value = _value_or_none(text, setting.key)
    if kind is str and value is not None:
        return text.strip() if not isinstance(value, str) else value
    if get_origin(kind) in (dict, Mapping) and isinstance(value, str):
        if get_origin(get_args(kind)[1]) is dict:  # names select predefined mappings
            return tuple(part.strip() for part in text.split(","))
        pairs = [part.partition(":") for part in text.split(",")]
        if not all(colon and name.strip() for name, colon, _ in pairs):
            raise ExperimentError(
                f"{setting.key}={text}: expected values by name, as in "
                f"{setting.key}=first:1.5,second:2"
            )
        names = [name.strip() for name, _, _ in pairs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ExperimentError(f"{setting.key} gives {listing(twice)} twice; give it once")
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
    """Value of a text in YAML; a text that begins with ``*`` is a string.

    Raises:
      ExperimentError: the text is not YAML.
    """
    text = text.strip()
    if _EXPONENT.fullmatch(text):
        return float(text)
    try:
        # YAML would read a pattern such as *.json as an alias
        return text if text.startswith("*") else safe_yaml(text)
    except yaml.YAMLError as error:
        raise ExperimentError(f"the value of {key} cannot be read: {error}") from error


def check_type(settings: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values converted to the types of the settings, which dataclasses do not check.

    Raises:
      ExperimentError: a value has another type.
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
