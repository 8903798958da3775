"""Section of the report with the errors: one table of channels, training and held-out data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup import reports
from trueup.sysid.results.identifiability_section import tone_of

_PARTS = ("held-out", "training")
_OWN, _BEFORE = "identified", "initial"


@dataclass(frozen=True)
class ChannelErrors:
    """Root mean square errors of one channel on one part of the data."""

    identified: float
    """Error of the identified model."""
    before: float
    """Error of the model before the fit; NaN if unknown."""
    baseline: float
    """Smallest error of a prediction without a model; NaN if unknown."""
    baseline_name: str
    """Name of that prediction."""
    fit_percent: float
    """``100 (1 - |error| / |measured - mean|)``; NaN if unknown."""

    @property
    def better(self) -> list[str]:
        """Names of what is better than the identified model."""
        own = self.identified * (1 - 1e-9)
        names = [("the model before the fit", self.before), (self.baseline_name, self.baseline)]
        return [name for name, error in names if error < own]


def channel_errors(summary: Mapping[str, Any]) -> dict[str, dict[str, ChannelErrors]]:
    """Errors of each channel on each part of the data: ``found[channel][part]``.

    The baselines are those of the verdict, and the constants of ``scores`` where it has none.
    """
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for row in summary["scores"]:
        by_part = found.setdefault(row["channel"], {})
        by_part.setdefault(row["part"], {})[row["predictor"]] = row
    compared = {
        (c["channel"], "held-out" if c["held_out"] else "training"): c["baselines"]
        for c in (summary.get("verdict") or {}).get("comparisons", ())
    }
    out: dict[str, dict[str, ChannelErrors]] = {}
    for channel, by_part in found.items():
        for part, by in by_part.items():
            others = {name: r["rmse"] for name, r in by.items() if name not in (_OWN, _BEFORE)}
            for name, error in compared.get((channel, part), {}).items():
                if name != "the model before the fit":
                    others[name] = np.inf if error is None else float(error)
            best = min(others, key=others.__getitem__, default="")
            out.setdefault(channel, {})[part] = ChannelErrors(
                by[_OWN]["rmse"],
                by[_BEFORE]["rmse"] if _BEFORE in by else np.nan,
                others.get(best, np.nan),
                best,
                by[_OWN]["fit_percent"],
            )
    return out


def parts_of(errors: Mapping[str, Mapping[str, ChannelErrors]]) -> list[str]:
    """Parts of the data with errors, those that were not fitted first."""
    known = dict.fromkeys(part for by_part in errors.values() for part in by_part)
    return [p for p in _PARTS if p in known] + [p for p in known if p not in _PARTS]


def error_section(
    summary: Mapping[str, Any],
    units: Mapping[str, str],
    findings: Sequence[reports.Finding] = (),
) -> reports.Section:
    """Table of errors by channel; errors at each horizon are folded.

    Args:
      summary: content of ``solution.json``.
      units: unit of each channel.
      findings: findings on errors.
    """
    errors = channel_errors(summary)
    parts = parts_of(errors)
    with_units = any(units.get(channel) for channel in errors)
    columns: list[Any] = ["channel", *(["unit"] if with_units else [])]
    for part in parts:
        columns += [
            reports.Column("identified", digits=3, align="right", group=part),
            reports.Column("before", digits=3, group=part),
            reports.Column("best baseline", digits=3, group=part),
            reports.Column("fit", "%", format=_percent, group=part),
        ]
    body = []
    for channel, by_part in errors.items():
        row: list[Any] = [channel, *([units.get(channel, "")] if with_units else [])]
        for part in parts:
            e = by_part.get(part)
            if e is None:
                row += [None] * 4
                continue
            note = f"worse than {' and '.join(e.better)}" if e.better else ""
            row += [
                reports.Cell(e.identified, "serious" if e.better else "", note),
                None if np.isnan(e.before) else e.before,
                None if np.isnan(e.baseline) else reports.Cell(e.baseline, note=e.baseline_name),
                e.fit_percent,
            ]
        body.append(row)
    worse = [
        reports.Finding("serious", f"{channel}, {part} data: worse than {' and '.join(e.better)}.")
        for channel, by_part in errors.items()
        for part, e in by_part.items()
        if e.better
    ]
    names = dict.fromkeys(e.baseline_name for b in errors.values() for e in b.values())
    table = reports.Table(
        columns,
        body,
        notes=[
            "Root mean square errors. Baseline: the best prediction without a model "
            f"({', '.join(name for name in names if name)}). Fit: "
            "100 (1 - |error| / |measured - mean|); 100 is exact, 0 as good as the mean, negative "
            "worse."
        ],
    )
    content: list[Any] = [table]
    if worse or findings:
        content.append(reports.Findings([*worse, *findings]))
    return reports.Section(
        "Errors", "scores", content=content, collapsed=True, tone=tone_of([*worse, *findings])
    )


def _percent(value: Any) -> str:
    return "" if np.isnan(value) else f"{value:.2f}" if value > 99 else f"{value:.1f}"
