"""Arguments of design specs, from the settings of ``trueup design``."""

from collections.abc import Mapping
from typing import Any

from trueup.cli.command_settings import made_of
from trueup.design.search_settings import DesignSearchSettings


def search_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Limits, seed and library of the search of a design, as arguments of its spec."""
    from trueup.runs.loop.budget import Budget

    search = made_of(DesignSearchSettings, values)
    return {
        "limits": Budget(max_seconds=search.max_seconds, max_evaluations=search.max_evaluations),
        "seed": search.seed,
        "library": search.library,
    }


def share_of(text: str) -> float:
    """Share from a text such as ``5%``, ``5 %`` or ``0.05``.

    Raises:
      ExperimentError: it is not a share between 0 and 1.
    """
    from trueup.errors import ExperimentError

    words = text.strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise ExperimentError(f"target_interval is {text!r}; give a share such as 5% or 0.05")
    return value
