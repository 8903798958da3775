"""Parts of a report as the output of a notebook cell: HTML without a script.

Figures are pictures, so that an output is small, is stored in the notebook, and needs neither a
network nor a particular version of Jupyter. The style sheet is that of the page, nested below one
class.
"""

from collections.abc import Sequence
from functools import lru_cache

from trueup.reports.palette import DARK, LIGHT, css_variables
from trueup.reports.rendering import Content, Context, as_contents, asset

_FIRST, _LAST = "/* ---- parts,", "/* ---- the page on narrow screens"


def fragment(parts: "Content | str | Sequence[Content | str]") -> str:
    """HTML of some parts, to be inserted into a page of others.

    Args:
        parts: one part or a sequence of parts.
    """
    context = Context(static=True)
    return str(
        context.render(
            "fragment.html",
            parts=context.parts(as_contents(parts)),
            light=css_variables(LIGHT),
            dark=css_variables(DARK),
            style=_style_of_parts(),
        )
    )


@lru_cache(maxsize=1)
def _style_of_parts() -> str:
    """Rules of the style sheet of a page that are about its parts."""
    from markupsafe import Markup

    text = str(asset("report.css"))
    rules = text[text.index(_FIRST) : text.index(_LAST)]
    return Markup("\n".join(line for line in rules.splitlines() if line and line[0] != "/"))
