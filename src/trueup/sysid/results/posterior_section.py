"""Section of the report on the sampled posterior: its shape, and whether it has converged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.sysid.assess.posterior import POSTERIOR_FILE

_MOST_SHOWN = 24  # histograms of a page
_NOTABLE = 0.5  # rank correlation from which a pair is drawn
_MOST_PAIRS = 4


def posterior_section(summary: Mapping[str, Any], directory: Path | None) -> reports.Section:
    """Histograms of the samples, the pairs that depend on each other most, and convergence.

    Args:
      summary: content of ``solution.json``, with a sampled posterior.
      directory: run directory with the samples; None: convergence alone.
    """
    found = summary["posterior"]
    tone = "" if found["converged"] else "warning"
    content: list[Any] = [reports.Findings([(tone or "good", f"{found['sentence']}.")])]
    units = {row["name"]: row["unit"] for row in summary["parameters"]}
    samples = {} if directory is None else _samples(directory / POSTERIOR_FILE)
    names = [name for name in found["r_hat"] if name in samples]
    figures = [
        reports.histogram_figure(samples[name], label=name, unit=units.get(name, ""))
        for name in names[:_MOST_SHOWN]
    ]
    figures += [
        reports.scatter_figure(
            samples[first],
            samples[second],
            labels=(first, second),
            units=(units.get(first, ""), units.get(second, "")),
        )
        for first, second in _pairs(samples, names)
    ]
    if figures:
        content.append(reports.figure_grid(figures))
    rows = [
        [name, f"{found['r_hat'][name]:.3f}", f"{found['effective_sizes'][name]:.0f}"]
        for name in found["r_hat"]
    ]
    content.append(
        reports.Group(
            "Convergence of each parameter",
            reports.Table(["parameter", "R-hat", "independent samples"], rows),
            collapsed=True,
        )
    )
    return reports.Section("Posterior", "posterior", content=content, collapsed=True, tone=tone)


def _samples(path: Path) -> dict[str, np.ndarray]:
    """Samples by name; empty if the file is missing or damaged, which the page then lacks."""
    try:
        found = read_arrays(path)
        return dict(zip(map(str, found["names"]), found["values"].T, strict=True))
    except (*DAMAGED_ARCHIVE, OSError):
        return {}


def _pairs(samples: Mapping[str, np.ndarray], names: list[str]) -> list[tuple[str, str]]:
    """Pairs with the largest rank correlation, the strongest first."""
    if len(names) < 2:
        return []
    ranks = np.array([np.argsort(np.argsort(samples[name])) for name in names], float)
    with np.errstate(invalid="ignore"):
        size = np.abs(np.nan_to_num(np.corrcoef(ranks)))
    upper = np.transpose(np.triu_indices(len(names), 1))
    order = sorted(upper, key=lambda pair: -size[tuple(pair)])
    notable = [pair for pair in order if size[tuple(pair)] >= _NOTABLE]
    return [(names[i], names[j]) for i, j in notable[:_MOST_PAIRS]]
