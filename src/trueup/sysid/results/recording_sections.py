"""Sections of a report with one entry per recording, limited to the worst of many.

With many recordings (such as 1000) the page shows the distribution of the error over all, and the
recordings with the largest errors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup import reports
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.results.identifiability_section import tone_of

MOST_SHOWN = 12
"""Number of recordings, or parts of them, up to which all are shown."""
_WORST = 8
_CHANNELS = 8  # maximum number of channels of a recording that are not folded
_WORST_CHANNELS = 6  # of more, how many are not folded
_LISTED = 20  # maximum recordings in a table, or lines in a list
_GRAVITY = ("refuse", "warning", "info")


def signal_section(
    signals: Sequence[SequenceSignals], replay: reports.Content | None = None
) -> reports.Section:
    """Measured and predicted signals: held-out data first, the data of the fit folded.

    Args:
      signals: signals of all recordings.
      replay: step-through figure of the motion.
    """
    shown = shown_parts(signals)
    content: list[Any] = [] if replay is None else [replay]
    if len(shown) != len(signals):
        content += _spread(signals, len(shown))
    open_parts = [s for s in shown if s.held_out] or shown[:1]
    for s in open_parts:
        content += _figures(s, signals)
    folded = [s for s in shown if s not in open_parts]
    if folded:
        title = "Data of the fit" if open_parts[0].held_out else "Other recordings"
        parts = [part for s in folded for part in _figures(s, signals, whole=True)]
        content.append(reports.Group(title, parts, collapsed=True))
    return reports.Section("Measured and predicted", "signals", content=content)


def _figures(
    s: SequenceSignals, signals: Sequence[SequenceSignals], whole: bool = False
) -> list[reports.Content]:
    """Panels of the channels; of many, those with the largest errors, and the others folded."""
    title = f"{s.name}: held out of the fit" if s.held_out else s.name
    if s.held_out and s.name.endswith("(held out)"):
        title = s.name
    # errors of the only recording are those of the table of errors
    scored = sum(other.held_out == s.held_out for other in signals) > 1
    panels = [_panel(s, c, scored) for c in range(len(s.channels))]
    if whole or len(panels) <= _CHANNELS:
        return [reports.time_series_figure(panels, title=title)]
    spread = np.maximum(np.std(s.measured, axis=0), 1e-300)
    error = np.sqrt(np.mean((s.measured - s.fitted) ** 2, axis=0)) / spread
    worst = set(np.argsort(-error, kind="stable")[:_WORST_CHANNELS].tolist())
    first = [p for c, p in enumerate(panels) if c in worst]
    rest = [p for c, p in enumerate(panels) if c not in worst]
    return [
        reports.time_series_figure(
            first, title=f"{title}, the {len(first)} channels with the largest errors"
        ),
        reports.Group(
            f"{len(rest)} more channels", reports.time_series_figure(rest), collapsed=True
        ),
    ]


def residual_section(
    signals: Sequence[SequenceSignals],
    residuals: Sequence[dict[str, Any]],
    findings: Sequence[reports.Finding] = (),
) -> reports.Section:
    """Size and correlation of the residuals, as figures without a threshold.

    Args:
      signals: signals of all recordings.
      residuals: from :func:`trueup.sysid.assess.summary.residual_rows`.
      findings: findings on the residuals.
    """
    fitted = [s for s in shown_parts(signals) if not s.held_out]
    names = [s.name for s in fitted]
    content: list[Any] = [
        *([reports.Findings(list(findings))] if findings else []),
        reports.Text(
            "Predictable is the share of the variance that the residual's own past predicts: zero "
            "for white noise. The rest is an error of the model, noise of a measured start, or a "
            "filter of the sensor; the intervals include correlated noise. Fast over slow is the "
            "ratio of the residual at high and at low speed."
        ),
        reports.Table(
            [
                reports.Column("recording"),
                reports.Column("channel"),
                reports.Column("RMS", digits=3),
                reports.Column("unit"),
                reports.Column("correlation, lag 1", digits=2),
                reports.Column("predictable", "%", digits=2),
                reports.Column("fast over slow", digits=2),
            ],
            [
                [
                    r["sequence"],
                    r["channel"],
                    r["rms"],
                    r["unit"],
                    r["lag_one"],
                    100 * r["predictable"],
                    r["speed_ratio"],
                ]
                for r in residuals
                if r["sequence"] in names
            ],
        ),
    ]
    if len({r["sequence"] for r in residuals}) > MOST_SHOWN:
        content.insert(-1, reports.Text("The recordings with the largest errors:"))
    for s in fitted[:2]:
        for c, channel in list(enumerate(s.channels))[:4]:
            error = s.measured[:, c] - s.fitted[:, c]
            if len(error) < 20 or np.ptp(error) == 0:
                continue
            content.append(
                reports.figure_grid(
                    [
                        reports.acf_figure(
                            _autocorrelation(error),
                            samples=len(error),
                            title=f"{s.name}, {channel}: correlation of the residual",
                        ),
                        reports.histogram_figure(error, label="residual", title="distribution"),
                    ],
                    columns=2,
                )
            )
    return reports.Section(
        "Residuals", "residuals", content=content, collapsed=True, tone=tone_of(findings)
    )


def quality_section(quality: dict[str, Any], notes: Sequence[str]) -> reports.Section:
    """Notes on the data and the findings of their checks."""
    tone = {"info": "info", "warning": "warning", "refuse": "serious"}
    content: list[Any] = [reports.Note(note) for note in shortened(notes)]
    by_gravity = sorted(quality, key=lambda name: _gravity(quality[name]))  # stable
    names = list(quality) if len(quality) <= MOST_SHOWN else by_gravity[:MOST_SHOWN]
    for name in names:
        findings = [(tone[f["severity"]], f["sentence"]) for f in quality[name]["findings"]]
        content.append(reports.Group(name, reports.Findings(findings, empty="No complaint.")))
    left_out = [quality[name] for name in by_gravity[MOST_SHOWN:]]
    if left_out:
        complaints = sum(_gravity(report) < _GRAVITY.index("info") for report in left_out)
        content.append(
            reports.Text(
                f"{len(left_out)} more recordings, {complaints or 'none'} of them with a warning: "
                "see solution.json."
            )
        )
    return reports.Section("Recordings", "data-quality", content=content, collapsed=True)


def shortened(lines: Sequence[str]) -> list[str]:
    """The first lines of a long list, and the number of omitted ones."""
    if len(lines) <= _LISTED:
        return list(lines)
    left_out = len(lines) - _LISTED + 1
    return [*lines[: _LISTED - 1], f"{left_out} more notes of this kind."]


def shown_parts(signals: Sequence[SequenceSignals]) -> list[SequenceSignals]:
    """All parts; of many, those with the largest errors and the median one, worst first."""
    if len(signals) <= MOST_SHOWN:
        return list(signals)
    order = np.argsort([-error for error, _ in _errors(signals)], kind="stable")
    return [signals[i] for i in (*order[:_WORST], order[len(order) // 2])]


def _errors(signals: Sequence[SequenceSignals]) -> list[tuple[float, str]]:
    """Error of each part in its worst channel, over the spread of the channel in all parts."""
    measured: dict[str, list[np.ndarray]] = {}
    for s in signals:
        for c, channel in enumerate(s.channels):
            measured.setdefault(channel, []).append(s.measured[:, c])
    spread = {c: float(np.std(np.concatenate(parts))) for c, parts in measured.items()}
    out = []
    for s in signals:
        rmse = np.sqrt(np.mean((s.measured - s.fitted) ** 2, axis=0))
        relative = [e / max(spread[c], 1e-300) for e, c in zip(rmse, s.channels, strict=True)]
        worst = int(np.argmax(relative))
        out.append((float(relative[worst]), s.channels[worst]))
    return out


def _spread(signals: Sequence[SequenceSignals], shown: int) -> list[Any]:
    """Distribution of the error over many parts, and a table of the worst."""
    errors = _errors(signals)
    order = np.argsort([-error for error, _ in errors], kind="stable")[:_LISTED]
    percent = 100 * np.array([error for error, _ in errors])
    return [
        reports.Text(
            f"{len(signals)} recordings or parts of recordings. Shown are the {shown - 1} with the "
            "largest errors, and the median one; all are in signals.npz."
        ),
        reports.histogram_figure(
            percent,
            label="error",
            unit="%",
            normal=False,
            title="Error of each part in its worst channel",
            caption="Root mean square, over the standard deviation of the channel in all parts.",
        ),
        reports.Table(
            ["recording", "data", "worst channel", reports.Column("error", "%", digits=3)],
            [
                [
                    signals[i].name,
                    "held-out" if signals[i].held_out else "training",
                    errors[i][1],
                    percent[i],
                ]
                for i in order
            ],
            title="Largest errors",
        ),
    ]


def _panel(s: SequenceSignals, c: int, scored: bool) -> reports.Panel:
    """One channel: measured, initial, identified and the residual."""
    measured, fitted = s.measured[:, c], s.fitted[:, c]
    error = measured - fitted
    unit = s.units[c] if s.units else ""
    score = ""
    rmse, spread = np.sqrt(np.mean(error**2)), np.std(measured)
    if scored and spread > 0:
        score = f"fit {100 * (1 - rmse / spread):.1f} %"
    traces = [
        reports.Trace("measured", s.times, measured, "measured"),
        reports.Trace("initial", s.times, shown_initial(s.initial[:, c], measured), "initial"),
        reports.Trace("identified", s.times, fitted, "fitted"),
        reports.Trace("residual", s.times, error, "residual"),
    ]
    return reports.Panel(s.channels[c], unit, traces, subtitle=score)


def shown_initial(initial: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """The initial prediction, clipped where it would compress all other curves."""
    middle, reach = measured.mean(), 5 * max(float(np.ptp(measured)), 1e-12)
    return np.where(np.abs(initial - middle) > reach, np.nan, initial)


def _autocorrelation(error: np.ndarray, lags: int = 60) -> np.ndarray:
    centred = error - error.mean()
    size = 1 << (2 * len(centred) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum)[: min(lags, len(centred) - 1) + 1]
    return correlation / max(correlation[0], 1e-300)


def _gravity(report: dict[str, Any]) -> int:
    found = [_GRAVITY.index(f["severity"]) for f in report["findings"]]
    return min(found, default=len(_GRAVITY))
