"""Check of the options of a command, before the parser reads them."""

from collections.abc import Callable, Mapping, Sequence
from typing import get_args, get_type_hints

from tyro.conf import Positional

from trueup._options import settings_of
from trueup.cli.help import words_of
from trueup.cli.settings import keys_of
from trueup.errors import ExperimentError, did_you_mean

_OF_ALL = ("--help", "--help-keys", "--json")
"""Options that every command has."""


def check_options(
    words: Sequence[str],
    program: str,
    command: type,
    others: Callable[[], Mapping[str, type]],
) -> None:
    """Check that a command has the given options.

    Args:
      words: words after the command.
      program: name of the command, such as ``trueup gait evaluate``.
      command: class of the command.
      others: returns all commands, by name; called where the command does not have an option.

    Raises:
      ExperimentError: the command does not have an option; the message names the commands that do.
    """
    known = spellings(command)
    for word in words:
        name = _normal(word.partition("=")[0])
        if not name.startswith("--") or name in ("--", *known, *_OF_ALL):
            continue
        key = name.removeprefix("--").replace("-", "_")
        having = [other for other, kind in others().items() if name in spellings(kind)]
        if setting := next((k for k in keys_of(command) if k.lower() == key), None):
            option = _normal(f"--{_name_of_option(command, setting)}")
            advice = f"it is {option}" if option in known else f"give it as {setting}=VALUE"
        elif having:
            several = f"{', '.join(having[:-1])} and {having[-1]} have it"
            advice = several if len(having) > 1 else f"{having[0]} has it"
        else:
            advice = f"see {program} --help.{did_you_mean(name, [*known, *keys_of(command)])}"
        raise ExperimentError(f"{program} has no option {name}; {advice}")


def spellings(command: type) -> list[str]:
    """All long spellings of the options of a command, with hyphens."""
    found: list[str] = []
    for name, hint in get_type_hints(command, include_extras=True).items():
        if name not in getattr(command, "__dataclass_fields__", {}) or _is_positional(hint):
            continue
        words = words_of(hint)
        found.append(_normal(f"--{name if words.name is None else words.name}"))
        found += [_normal(alias) for alias in words.aliases or () if alias.startswith("--")]
    return found


def _name_of_option(command: type, key: str) -> str:
    """Name of the option of a setting, whether or not the command has the option."""
    settings = settings_of(command.KEYS).values()  # type: ignore[attr-defined]
    setting = next(each for each in settings if each.key == key)
    return (setting.option and setting.option.name) or setting.name


def commands_by_name(commands: Mapping[str, type]) -> dict[str, type]:
    """All commands by their full names, such as ``trueup gait evaluate``."""
    found: dict[str, type] = {}
    for word, command in commands.items():
        name = f"trueup {word}"
        inner: Mapping[str, type] | None = getattr(command, "COMMANDS", None)
        found |= {name: command} if inner is None else {f"{name} {k}": v for k, v in inner.items()}
    return found


def _normal(name: str) -> str:
    return name.replace("_", "-")


def _is_positional(hint: object) -> bool:
    marker = get_args(Positional[int])[1]
    return marker in get_args(hint)[1:]
