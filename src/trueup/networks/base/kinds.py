"""The kinds of analytic bases, and their deserialisation."""

from typing import Any

from trueup.errors import FitError
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.servo import ServoBase

Base = AnalyticBase | ServoBase
"""Analytic base that a network corrects."""


def base_from_dict(content: dict[str, Any] | None) -> Base | None:
    """A base from its ``to_dict``; None where there is none.

    Raises:
      FitError: the kind or an entry is unknown.
    """
    if content is None:
        return None
    kind = content.get("kind", "pd")
    if kind == "servo":
        return ServoBase.from_dict(content)
    if kind != "pd":
        raise FitError(f"unknown kind of analytic base {kind!r}; available: pd, servo")
    return AnalyticBase.from_dict({k: v for k, v in content.items() if k != "kind"})
