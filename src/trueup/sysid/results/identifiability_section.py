"""Section of the report on what the recordings determine."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup import reports

_SENTENCES = 5  # maximum number of combinations in words that are not folded
_DIRECTIONS = 6  # maximum number of drawn directions


def identifiability_section(
    summary: Mapping[str, Any], findings: Sequence[reports.Finding] = ()
) -> reports.Section:
    """Combinations that the recordings do not determine, in words and as figures.

    Args:
      summary: content of ``solution.json``.
      findings: findings on identifiability; without any, the sentences of the analysis.
    """
    found = summary["identifiability"]
    named = list(findings) or [
        reports.Finding("good" if found["identifiable"] else "warning", _ended(sentence))
        for sentence in found["sentences"]
    ]
    content: list[Any] = [reports.Findings(named[:_SENTENCES])]
    if named[_SENTENCES:]:
        rest = named[_SENTENCES:]
        title = reports.counted(len(rest), "further combination")
        content.append(reports.Group(title, reports.Findings(rest), collapsed=True))
    # coordinates of an inertia have no meaning for a reader
    names = [] if summary.get("links") else [r["name"] for r in summary["parameters"]]
    drawn = _directions(found, names) if names else []
    if drawn:
        content.append(reports.Group("Combinations as bars", drawn, collapsed=True))
    values = np.asarray(found["singular_values"], float)
    figure = reports.bar_figure(
        [str(i + 1) for i in range(len(values))],
        values,
        label="singular value",
        name_label="direction",
        log=True,
        horizontal=False,
        title="Sensitivity to each direction of relative changes (singular values)",
    )
    content.append(figure)
    return reports.Section(
        "Identifiability", "identifiability", content=content, collapsed=True, tone=tone_of(named)
    )


def tone_of(findings: Sequence[reports.Finding]) -> str:
    """The most severe tone of some findings, if it is one of a problem."""
    tones = [f.severity for f in findings]
    return next((tone for tone in ("serious", "warning") if tone in tones), "")


def _ended(text: str) -> str:
    """Text with a full stop, without capitalising names."""
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def _directions(found: Mapping[str, Any], names: list[str]) -> list[Any]:
    """Undetermined and weakly determined directions that involve parameters."""
    rows = [
        (title, [d["coefficients"].get(n, 0.0) for n in names])
        for title, kind in (("not determined", "directions"), ("weak", "weak"))
        for d in found[kind]
    ]
    # skip initial states of windows, which are unknowns but not parameters
    shown = [(title, row) for title, row in rows if np.any(row)]
    content: list[Any] = []
    if shown:
        content.append(
            reports.direction_figure(
                names,
                np.array([row for _, row in shown[:_DIRECTIONS]]),
                titles=[title for title, _ in shown[:_DIRECTIONS]],
                caption="Relative change of each parameter along the direction.",
            )
        )
    left_out = len(rows) - len(shown)
    if left_out:
        what = "combination holds" if left_out == 1 else "combinations hold"
        content.append(
            reports.Text(f"{left_out} {what} initial states of windows only, and is not drawn.")
        )
    return content
