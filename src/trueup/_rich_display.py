"""Rich displays of results in notebooks.

A class names the function that displays its values, which is imported when a notebook asks for it:
the packages of results import no report.
"""

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

from trueup.errors import TrueupError


@dataclass(frozen=True)
class Display:
    """Value with a display in notebooks.

    Attributes:
        line: one line of text, where HTML is not shown.
        parts: parts of :mod:`trueup.reports`.
    """

    line: str
    parts: tuple[Any, ...] = ()


class RichDisplay:
    """Value with a rich display in notebooks."""

    displayed_by: ClassVar[str] = ""
    """Function from a value to its :class:`Display`, as ``module:name``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython takes the first class with a text of its own, and dataclasses have a __repr__
        cls._repr_pretty_ = RichDisplay._repr_pretty_

    def _display(self) -> Display:
        module, name = self.displayed_by.split(":")
        try:
            return getattr(importlib.import_module(module), name)(self)
        except TrueupError as error:  # a display has no exit code: the sentence is shown instead
            return Display(str(error), (str(error),))

    def _repr_html_(self) -> str:
        """The value as HTML, for notebooks."""
        fragment = importlib.import_module("trueup.reports.fragment").fragment
        return fragment(self._display().parts)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the line, in consoles of IPython and next to HTML in the file of a notebook."""
        printer.text("..." if cycle else self._display().line)
