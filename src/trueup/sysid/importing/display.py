"""Findings of an import, as tables and sentences: for the terminal and for notebooks."""

from typing import Any

from trueup._rich_display import Display
from trueup.reports import Finding, Findings, Table, Text, counted

HEADS: tuple[str, ...] = ("joint", "column", "order", "unit", "sign", "zero", "velocity")
"""Columns of ``rows`` of an import."""


def tables_of_import(found: Any) -> list[tuple[list[str], list[list[str]]]]:
    """Titles and rows of the joints, where a known source was recognised, and of the columns.

    Args:
      found: a :class:`trueup.sysid.Import`.
    """
    proposal = found.proposal
    joints = [(list(HEADS), [list(row) for row in found.rows])] if found.rows else []
    columns = [
        [m.place.name, ", ".join(m.columns), "" if m.sure else "a guess", m.place.what]
        for m in (*proposal.signals, *proposal.controls)
    ]
    columns += [["(not used)", column, "", role] for column, role in proposal.roles.items()]
    return [*joints, (["signal or actuator", "column", "", "description"], columns)]


def of_import(found: Any) -> Display:
    """An import: what was recognised, the unknowns, what to look at, and the check."""
    proposal = found.proposal
    parts: list[Any] = [Table(heads, rows) for heads, rows in tables_of_import(found)]
    names = ", ".join(proposal.parameters) or "none"
    parts.append(Text(f"Unknowns: {names}"))
    points = [*proposal.open_points, *(found.check["conclusion"]["reasons"] if found.check else ())]
    if points:
        parts.append(Findings([Finding("warning", point) for point in points]))
    source = f" of {found.source}" if found.source else ""
    return Display(
        f"Import{source}: {counted(len(proposal.signals), 'signal')}, unknowns {names}",
        tuple(parts),
    )
