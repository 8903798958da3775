"""Settings as options of the command line: one source of name, type, default, unit and help.

A setting is a field of a dataclass or of a pydantic model, with a docstring below it. Every setting
can be given to a command as ``KEY=VALUE``; a setting marked with :class:`Option` is also an option
of the commands that use it.
"""

import ast
import dataclasses
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from trueup._registered_names import Names, RegisteredName

_NAMES = (Names, RegisteredName)

MISSING = dataclasses.MISSING
"""Default of a required setting."""


@dataclasses.dataclass(frozen=True)
class Option:
    """Mark of a setting that is an option.

    Attributes:
      metavar: placeholder of the value, or its unit.
      name: name of the option, if it differs from that of the setting.
      aliases: further spellings, with their dashes.
      flag: the option takes no value and sets the setting to true.
    """

    # signatures in the documentation show the fields of a mark that are in its repr
    metavar: str | None = dataclasses.field(default=None, repr=False)
    name: str | None = dataclasses.field(default=None, repr=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    flag: bool = dataclasses.field(default=False, repr=False)


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting with the properties that a command line requires.

    Attributes:
      name: name of the field.
      key: name in files and in ``KEY=VALUE``.
      annotation: type, without marks.
      default: default value; :data:`MISSING` for a required setting.
      text: docstring of the field.
      option: mark as an option; None for a setting that is a key only.
      names: for a name of a registry, a function that returns the registered names.
    """

    name: str
    key: str
    annotation: Any
    default: Any
    text: str
    option: Option | None
    names: Callable[[], Sequence[str]] | None = None

    @property
    def help(self) -> str:
        """The docstring in one line, with the names that are valid values."""
        text = " ".join(self.text.split())
        return text if self.names is None else f"{text} Names: {', '.join(self.names())}."


@functools.cache
def settings_of(settings: type) -> dict[str, Setting]:
    """All settings of a dataclass or a pydantic model, by the names of their fields."""
    texts = _texts(settings)
    hints = get_type_hints(settings, include_extras=True)
    aliases = {
        name: field.alias
        for name, field in getattr(settings, "model_fields", {}).items()
        if field.alias
    }
    found = {}
    for name, default in _defaults(settings).items():
        marks = getattr(hints[name], "__metadata__", ())
        found[name] = Setting(
            name=name,
            key=aliases.get(name, name),
            annotation=_without_option(hints[name]),
            default=default,
            text=texts.get(name, ""),
            option=next((mark for mark in marks if isinstance(mark, Option)), None),
            names=next((mark.names for mark in marks if isinstance(mark, _NAMES)), None),
        )
    return found


def plain_type(annotation: Any) -> Any:
    """A type without its marks and without None."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [each for each in get_args(annotation) if each is not type(None)]
        return plain_type(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def _defaults(settings: type) -> dict[str, Any]:
    """Default of each field, in the order in which they are defined."""
    if not dataclasses.is_dataclass(settings):
        return {
            name: MISSING if field.is_required() else field.get_default(call_default_factory=True)
            for name, field in settings.model_fields.items()  # type: ignore[attr-defined]
        }
    found: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        made = field.default_factory
        found[field.name] = field.default if made is MISSING else made()  # type: ignore[misc]
    return found


def _without_option(annotation: Any) -> Any:
    """An annotation without the mark :class:`Option`, which other libraries do not support."""
    marks = getattr(annotation, "__metadata__", ())
    if not any(isinstance(mark, Option) for mark in marks):
        return annotation
    others = tuple(mark for mark in marks if not isinstance(mark, Option))
    return _annotated(annotation.__origin__, others)


def _annotated(annotation: Any, marks: tuple[Any, ...]) -> Any:
    return Annotated[(annotation, *marks)] if marks else annotation  # type: ignore[return-value]


def _texts(settings: type) -> dict[str, str]:
    """Docstrings below the fields of a class and of the classes that it derives from."""
    found: dict[str, str] = {}
    for kind in reversed(settings.__mro__):
        if kind.__module__.split(".")[0] == "trueup":
            found |= _texts_in(kind.__module__).get(kind.__qualname__, {})
    return found


@functools.cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    """Docstrings below the fields of each class of a module, by the names of class and field.

    A module is parsed once: commands are made from the settings at each start.
    """
    found: dict[str, dict[str, str]] = {}
    for kind in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not isinstance(kind, ast.ClassDef):
            continue
        texts = found[kind.name] = {}
        for statement, following in itertools.pairwise(kind.body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                texts[statement.target.id] = inspect.cleandoc(following.value.value)
    return found
