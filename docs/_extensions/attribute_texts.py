"""Texts of attributes as they are written.

Napoleon reads what precedes the first colon of an attribute's text as its type. The types come from
the annotations here, so an empty one is put in front of such texts.
"""

from typing import Any

BEFORE_NAPOLEON = 400
"""Priority of the handler; that of Napoleon is the default, 500."""


def setup(app: Any) -> dict[str, bool]:
    """Register the handler with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _without_type, priority=BEFORE_NAPOLEON)
    return {"parallel_read_safe": True}


def _without_type(app: Any, what: str, name: str, entity: Any, options: Any, lines: Any) -> None:
    del app, name, entity, options
    if what in ("attribute", "data", "property") and lines and ":" in lines[0]:
        lines[0] = f": {lines[0]}"
