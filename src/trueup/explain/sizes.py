"""Sizes of causes in words: the changes that a fit makes, with their intervals."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup.reports.numbers import format_number

_SHOWN = 3  # greatest number of changed values in a sentence
_WIDEST = 0.1  # widest interval of a determined place [m]
_FACTORS = ("gains", "torque-constant", "gear")
"""Causes whose values count relative to those of the model."""


def size_of(cause: str, parameters: Sequence[dict[str, Any]], link: str = "") -> str:
    """Size of a cause, as a noun phrase.

    Args:
      cause: name of the cause.
      parameters: values of its unknowns, from a summary.
      link: body that carries a payload.
    """
    if cause == "payload" and link:
        return _load(parameters, link)
    if cause == "gravity":
        return _tilt(parameters)
    changed = sorted((p for p in parameters if p["changed"]), key=_certainty, reverse=True)
    words = [_change(cause, p) for p in changed[:_SHOWN]]
    more = f", and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return "; ".join(words) + more


def _load(parameters: Sequence[dict[str, Any]], link: str) -> str:
    mass, *place = parameters[:4]
    known = [p["high"] - p["low"] < _WIDEST for p in place]
    at = ", ".join(
        format_number(p["value"], 2) if is_known else "not determined"
        for p, is_known in zip(place, known, strict=True)
    )
    away = math.hypot(*(p["value"] for p, is_known in zip(place, known, strict=True) if is_known))
    text = (
        f"about {format_number(mass['value'], 2)} kg{_interval(mass)} on {link}, "
        f"{format_number(away, 2)} m from its frame, at ({at}) m"
    )
    for inertia in parameters[4:]:
        text += f", with an own inertia of {format_number(inertia['value'], 2)} kg m^2"
    return text


def _tilt(parameters: Sequence[dict[str, Any]]) -> str:
    words = []
    for p in parameters:
        if p["changed"]:
            degrees = {k: math.degrees(p[k]) for k in ("value", "low", "high")}
            axis = p["name"].rsplit("_", 1)[1]
            words.append(
                f"{format_number(degrees['value'], 3)} deg{_interval(degrees)} about {axis}"
            )
    return f"tilted by {' and '.join(words)}" if words else ""


def _change(cause: str, p: dict[str, Any]) -> str:
    unit = f" {p['unit']}" if p["unit"] else ""
    model = format_number(p["model"], 3) if np.isfinite(p["model"]) else "no limit"
    value = format_number(p["value"], 3)
    if p.get("beyond"):
        return f"{p['name']} from {model} to {value}{unit} or beyond, all that the log reaches"
    text = f"{p['name']} from {model} to {value}{_interval(p)}{unit}"
    if cause in _FACTORS and p["model"]:
        text += f", {format_number(p['value'] / p['model'], 3)} times that of the model"
    return text


def _interval(p: dict[str, Any]) -> str:
    if not (np.isfinite(p["low"]) and np.isfinite(p["high"])):
        return ""
    return f" ({format_number(p['low'], 3)} to {format_number(p['high'], 3)})"


def _certainty(p: dict[str, Any]) -> float:
    """Change of a value relative to the width of its interval."""
    if p.get("beyond"):
        return np.inf
    width = max(p["high"] - p["low"], 1e-300)
    return abs(p["value"] - p["start"]) / width if np.isfinite(width) else 0.0
