"""Verdict of an explanation: the change to make first, and what the data leave open."""

from typing import Any

import numpy as np

from trueup.explain.attribution import CHANCE, GAP, Attribution
from trueup.explain.causes import CAUSES
from trueup.explain.fits import ALL, MODEL, key_of
from trueup.explain.next_steps import AT_NOISE
from trueup.explain.sizes import size_of
from trueup.fitting.judgement.verdict import Comparison, Grade, Reason, Verdict
from trueup.fitting.uncertainty.start_noise import noise_from_changes
from trueup.reports.numbers import format_number
from trueup.sysid.recordings.channel_units import signal_units

_UNEXPLAINED = 1.5  # squared error relative to noise above which an effect is missing


def verdict_of(found: Attribution, gap: dict[str, Any], rows: list[dict[str, Any]]) -> Verdict:
    """Verdict of an attribution.

    Args:
      found: the attribution.
      gap: ``gap`` of the summary.
      rows: ``causes`` of the summary.
    """
    comparisons = _comparisons(found)
    times = gap["model"] / max(gap["noise"], 1e-300)
    error = f"The held-out error of the model is {format_number(times, 3)} times noise"
    if not found.chosen:
        return Verdict((_nothing_named(times, gap["training"], error, rows),), comparisons)
    by_name = {row["cause"]: row for row in rows}
    first, *others = found.chosen
    reasons = [Reason(Grade.USE, first_change(by_name[first], found.level), "causes")]
    for cause in found.chosen:
        if found.together.get(cause):
            alike = found.together[cause]
            checks = [by_name[c]["check"] for c in (cause, *alike)]
            reasons.append(
                Reason(
                    Grade.LOOK,
                    f"The data do not distinguish {by_name[cause]['label']} from "
                    f"{_enumerated([CAUSES[c].label for c in alike])}: {checks[0]}; {checks[1]}.",
                    "causes",
                )
            )
    if others:
        sized = {c: row_size(by_name[c]) for c in others}
        parts = [f"{CAUSES[c].label}{f', {size}' if size else ''}" for c, size in sized.items()]
        reasons.append(
            Reason(
                Grade.USE,
                f"One change is not enough. Change too: {'; '.join(parts)}. Together they explain "
                f"{_percent(gap['share'])}.",
                "causes",
            )
        )
    reasons.append(Reason(Grade.USE, f"{error}.", "gap"))
    if left := _left(found, gap):
        reasons.append(left)
    # the change comes first, before other findings
    graver = sorted(reasons[1:], key=lambda r: -r.grade.severity)
    return Verdict((reasons[0], *graver), comparisons)


def _left(found: Attribution, gap: dict[str, Any]) -> Reason | None:
    """Reason to look, if the named causes leave a gap."""
    left = gap["explained"] / max(gap["noise"], 1e-300)
    errors, place = found.errors()
    if ALL in place and errors.chance(place[key_of(found.chosen)], place[ALL]) < CHANCE:
        text = (
            "All causes together fit better: their remaining error is "
            f"{format_number(gap['all_free'], 3)} (weighted), that of the named ones "
            f"{format_number(gap['explained'], 3)}. There are further differences."
        )
    elif left**2 > _UNEXPLAINED:
        text = (
            f"With the named causes the error is {format_number(left, 3)} times noise, and no "
            "cause reduces it further: the model lacks an effect that none of its parameters "
            "describes."
        )
    else:
        return None
    return Reason(Grade.LOOK, text, "gap")


def _nothing_named(times: float, training: float, error: str, rows: list[dict[str, Any]]) -> Reason:
    """Reason why no cause is named.

    Args:
      times: held-out error of the model, relative to noise.
      training: error of the model over the training data, relative to noise.
      error: sentence on the held-out error.
      rows: the causes.
    """
    most = np.sqrt(1 + GAP)
    others = f"over the training data it is {format_number(training, 3)} times"
    advice = (
        "an effect in only one part cannot be both fitted and tested. Record a longer log, or hold "
        "out"
    )
    if times <= most < training:
        text = f"The held-out data have no gap. {error}; {others}: {advice} another part."
    elif times <= most:
        text = f"There is no gap to explain. {error}: simulation and recording agree."
        return Reason(Grade.USE, text, "causes")
    elif training <= most:
        text = f"The training data have no gap. {error}; {others}: {advice} another part."
    else:
        text = (
            f"{error}. Tried, with the part of it that each removes: {_tried(rows)}. No cause "
            "explains the gap: check the mapping of columns and units, and effects that the model "
            "lacks, such as elasticity, backlash or a joint."
        )
    return Reason(Grade.LOOK, text, "causes")


def _tried(rows: list[dict[str, Any]]) -> str:
    """Causes that were tried, with what each explains alone."""
    words = []
    for row in rows:
        if row["rank"] and row["state"] != "no effect":
            share = row["explained"]
            words.append(f"{row['label']} ({_percent(share) if share > 0 else 'none'})")
    return _enumerated(words) if words else "nothing that acts in this log"


def torques_sentence(chosen: list[str], model: float, left: float) -> str:
    """Sentence on what recorded torques show.

    Args:
      chosen: causes that they show.
      model: their error with the model, relative to noise.
      left: that error with the causes freed.
    """
    error = f"{format_number(model, 3)} times noise"
    if not chosen:
        return f"Recorded torques alone show no cause: their error is {error}."
    labels = _enumerated([CAUSES[c].label for c in chosen])
    return (
        f"Recorded torques alone, without a simulation, show {labels}: their error is "
        f"{error}, and {format_number(left, 3)} times with this freed."
    )


def first_change(row: dict[str, Any], level: float) -> str:
    """Sentence on the change to make first.

    Args:
      row: entry of ``causes`` of a summary.
      level: coverage of the intervals.
    """
    share = (
        f"freed alone it explains {_percent(row['explained'])} "
        f"({_percent(row['low'])} to {_percent(row['high'])}) of the held-out error above noise"
    )
    if size := row_size(row):
        levels = f"{100 * level:.3g} % intervals"
        return f"Change the {row['label']} first, {size}: {share}; {levels}."
    return f"Change the {row['label']} first: {share}."


def row_size(row: dict[str, Any]) -> str:
    """Size of the cause of an entry of ``causes``, as a noun phrase; empty without a change."""
    return size_of(row["cause"], row["parameters"], row.get("link", ""))


def _enumerated(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _percent(share: float) -> str:
    if not np.isfinite(share):
        return "an unknown fraction"
    return f"{100 * share:.3g} %"


def _comparisons(found: Attribution) -> tuple[Comparison, ...]:
    """Held-out errors in each channel, compared with those of the model and of all causes freed."""
    log = found.log
    models = [variant.model for variant in log.held_out.variants]
    keys = {"explained": key_of(found.chosen), "the model as it is": MODEL}
    if ALL in found.fits:
        keys["all freed"] = ALL
    squares: dict[tuple[str, str], dict[str, float]] = {}
    counts: dict[tuple[str, str], int] = {}
    noise: dict[tuple[str, str], float] = {}
    for s, sequence in enumerate(log.held_out.sequences):
        channels = sequence.channel_names
        units = signal_units(models, sequence.signal_names) or ("",) * len(channels)
        for label, of in keys.items():
            fit = found.unseen(of)
            weights = np.where(sequence.weights > 0, sequence.weights, np.nan)
            error = fit.residuals[s] / weights
            finest = AT_NOISE * noise_from_changes(error, [w.first for w in sequence.windows])
            for c, channel in enumerate(channels):
                own = squares.setdefault((channel, units[c]), dict.fromkeys(keys, 0.0))
                own[label] += float(np.sum(error[:, c] ** 2))
                if label == "explained":
                    at = (channel, units[c])
                    counts[at] = counts.get(at, 0) + len(error)
                    noise[at] = max(noise.get(at, 0.0), float(np.nan_to_num(finest[c])))
    out = []
    for (channel, unit), own in squares.items():
        rmse = {k: float(np.sqrt(v / counts[channel, unit])) for k, v in own.items()}
        mine = rmse.pop("explained")
        out.append(Comparison(channel, mine, rmse, True, unit, noise[channel, unit]))
    return tuple(out)
