"""What tables of parameters remark, and what these remarks mean."""

from collections.abc import Iterable, Mapping
from typing import Any

MEANINGS = {
    "at a bound": "the search would have gone further: the true value may lie beyond the bound, or "
    "at zero the effect is absent",
    "unknown": "the logs do not tell the value: others, along with other values of the rest, "
    "explain them as well, and any value within the bounds is as good",
    "unreliable": "the motion jumps or bends within the interval, which comes from derivatives: "
    "the true value may lie outside of it more often than the level says",
}
"""Remark -> what it means."""


def remark_of(row: Mapping[str, Any]) -> str:
    """Remark on a parameter, of a row of ``parameter_rows``."""
    if not row["fitted"]:
        return "not fitted"
    remarks = ["at a bound"] if row["at_bound"] else []
    remarks += [] if row["determined"] else ["unknown"]
    remarks += ["unreliable"] if row["unreliable"] and row["determined"] else []
    return "; ".join(remarks)


def meanings_of(remarks: Iterable[str]) -> list[str]:
    """A sentence for each remark that occurs."""
    said = {part for remark in remarks for part in remark.split("; ")}
    return [f"{name}: {meaning}." for name, meaning in MEANINGS.items() if name in said]
