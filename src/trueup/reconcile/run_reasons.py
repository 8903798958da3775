"""Reasons why a run does not fit the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

UNIT_FACTORS = {
    "degrees for radians": 180.0 / np.pi,
    "milli-units for units, or the reverse": 1000.0,
    "kilogram-force for newton": 9.80665,
    "rpm for rad/s": 30.0 / np.pi,
    "ounce-force inches for N m": 141.612,
    "inches for metres": 39.3701,
}
"""Confusion of units -> factor between them."""
_SAME = 0.02  # relative difference up to which factors count as equal


@dataclass(frozen=True)
class Change:
    """One value of an outlying run, and the common value."""

    name: str
    kind: str
    """Kind of the value: ``load``, ``friction``, ``drive``, ``armature``, ``delay``,
    ``zero`` or ``other``."""
    value: float
    common: float

    @property
    def words(self) -> str:
        """The change as a phrase."""
        if self.common and self.value / self.common > 0:
            percent = 100.0 * (self.value / self.common - 1.0)
            return f"{self.name} {percent:+.3g} %"
        return f"{self.name} {self.value:.4g} instead of {self.common:.4g}"


def kind_of(targets: Sequence[str], plain: Mapping[str, Any], measured: Mapping[str, str]) -> str:
    """Kind of a parameter, see :attr:`Change.kind`.

    Args:
      targets: its targets in the model.
      plain: its entry in the experiment file.
      measured: parameter -> ``delay``, ``gain`` or ``bias``, of the measurement model.
    """
    name = str(plain.get("name", ""))
    if name in measured:
        return {"delay": "delay", "bias": "zero"}.get(measured[name], "other")
    if plain.get("inertia"):
        return "load"
    kinds = {_kind_of_target(target) for target in targets}
    return kinds.pop() if len(kinds) == 1 else "other"


def _kind_of_target(target: str) -> str:
    head = target.split("/")[0]
    attributes = set(target.split("/")[1:])
    if head == "body":
        return "load"
    if attributes & {"damping", "frictionloss"}:
        return "friction"
    if "armature" in attributes:
        return "armature"
    if "delay" in attributes:
        return "delay"
    if head == "actuator":
        return "drive"
    return "zero" if attributes & {"springref", "ref"} else "other"


def reason(changes: Sequence[Change]) -> str:
    """Most likely reason for changes, which are sorted by size."""
    if (unit := _unit(changes)) is not None:
        return unit
    words = ", ".join(change.words for change in changes)
    kinds = [change.kind for change in changes]
    if kinds[0] == "load":
        return f"different load: {words}"
    if kinds[0] == "friction":
        falls = sum(c.value < c.common for c in changes if c.kind == "friction")
        rises = sum(c.kind == "friction" for c in changes) - falls
        if rises == 0:
            return f"a warm motor or gearbox, or fresh grease: {words}"
        return f"a cold motor or gearbox, or wear: {words}" if falls == 0 else f"friction: {words}"
    if kinds[0] == "drive":
        return f"different gains, or a different supply voltage: {words}"
    if kinds[0] == "delay":
        return f"different delay: {words}"
    if kinds[0] == "zero":
        return f"different zero of an encoder or spring: {words}"
    return f"different values: {words}"


def _unit(changes: Sequence[Change]) -> str | None:
    """Factor between units that all changes have in common."""
    ratios = [c.value / c.common if c.common else np.nan for c in changes]
    for name, factor in UNIT_FACTORS.items():
        for wanted in (factor, 1.0 / factor):
            if ratios and all(abs(r / wanted - 1.0) < _SAME for r in ratios):
                names = ", ".join(c.name for c in changes)
                return f"different unit: {names} are {wanted:.4g} times the others ({name})"
    return None
