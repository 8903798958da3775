"""The kinds of analytic bases, and how they are read back from plain values."""

from typing import Any

from trueup.errors import FitError
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.servo import ServoBase

Base = AnalyticBase | ServoBase
"""What a network may correct."""


def base_from_dict(content: dict[str, Any] | None) -> Base | None:
    """A base from its ``to_dict``; None for none.

    Raises:
      FitError: the kind or an entry is unknown.
    """
    if content is None:
        return None
    kind = content.get("kind", "pd")
    if kind == "servo":
        return ServoBase.from_dict(content)
    if kind != "pd":
        raise FitError(f"there is no analytic base of the kind {kind!r}; there are pd and servo")
    return AnalyticBase.from_dict({k: v for k, v in content.items() if k != "kind"})
