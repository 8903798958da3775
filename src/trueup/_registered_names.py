"""Keys of files with the name of an entry of a registry.

A registry may be extended at any time, so its names are looked up when a file is read rather than
fixed in the type of the key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trueup.errors import TrueupError


@dataclass(frozen=True)
class Names:
    """Mark of a setting that takes names of a registry, for its help; it checks nothing."""

    names: Callable[[], Sequence[str]]


@dataclass(frozen=True)
class RegisteredName:
    """Annotation of a pydantic field of text: ``Annotated[str, RegisteredName(names, named)]``.

    Args:
      names: returns the current names.
      named: returns the name of an entry from its name or an alias; raises TrueupError for others.
    """

    names: Callable[[], Sequence[str]]
    named: Callable[[str], str]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, given: str) -> str:
        try:
            return self.named(given)
        except TrueupError as error:
            raise ValueError(str(error)) from None
