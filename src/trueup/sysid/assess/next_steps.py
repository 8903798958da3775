"""Next steps after an identification."""

from collections.abc import Sequence
from typing import Any

from trueup.errors import listing
from trueup.fitting import Grade, Verdict

_HEARD = ("identifiability", "course")  # sections of reasons that another step answers


def next_steps(
    verdict: Verdict, causes: Sequence[dict[str, Any]], undetermined: Sequence[str]
) -> list[dict[str, str]]:
    """Commands that answer what a verdict leaves open, as ``{"command", "why"}``.

    Args:
      verdict: the verdict.
      causes: ranked causes of the error.
      undetermined: parameters that the data do not determine.
    """
    out = []
    wrong = [
        r
        for r in verdict.reasons
        if r.grade is not Grade.USE
        and r.section not in _HEARD
        and not any(name in r.sentence for name in undetermined)
    ]
    if causes:
        why = f"it frees each cause from the values of the model, to confirm {causes[0]['cause']}"
        out.append({"command": "explain", "why": why})
    elif wrong:
        out.append({"command": "explain", "why": "something is wrong, and it tests further causes"})
    if undetermined:
        why = f"it proposes a motion that determines {listing(undetermined, 4)}"
        out.append({"command": "design", "why": why})
    return out
