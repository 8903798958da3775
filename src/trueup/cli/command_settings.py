"""Settings of a command, given as options and as ``KEY=VALUE``, for classes of the library."""

from collections.abc import Mapping
from typing import Any, TypeVar

from trueup._options import settings_of
from trueup.cli.key_values import check_type, values_of
from trueup.cli.settings import given

T = TypeVar("T")


def settings_in(command: Any) -> dict[str, Any]:
    """Given values of the settings in ``KEYS`` of a command, by name, converted to their types.

    Raises:
      ExperimentError: a key is unknown, given twice or without a value, or a value has another
        type.
    """
    settings = command.KEYS
    options = given(command, settings)
    values = values_of(settings, command.keys, options, without=getattr(command, "WITHOUT", ()))
    return check_type(settings, values)


def made_of(settings: type[T], values: Mapping[str, Any]) -> T:
    """Settings of a class of the library, from their values among ``values``."""
    return settings(**{k: v for k, v in values.items() if k in settings_of(settings)})
