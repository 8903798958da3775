"""Explanation of a gap, as plain data and as sentences."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.explain.attribution import ALL, CHANCE, GAP, MODEL, Attribution, key_of
from trueup.explain.causes import CAUSES
from trueup.explain.situation import NO_LIMIT
from trueup.fitting.judgement.verdict import Comparison, Grade, Reason, Verdict
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty.start_noise import noise_from_changes
from trueup.reports.numbers import format_number
from trueup.sysid.assess.assessment import value_intervals
from trueup.sysid.assess.fit_covariance import residual_covariance
from trueup.sysid.causes.freed import Freed, FreedFit
from trueup.sysid.recordings.channel_units import signal_units

FORMAT_VERSION = 1
_SHOWN = 3  # greatest number of changed values in a sentence
_AT_NOISE = 1.05  # ratio to noise up to which an error counts as noise


@dataclass
class Explanation:
    """A gap between simulated and recorded motion, attributed to causes."""

    attribution: Attribution
    """Fits of causes, and the selected ones."""
    summary: dict[str, Any]
    """Plain data, the content of ``solution.json``."""
    directory: Path = Path()
    """Run directory."""

    @property
    def causes(self) -> list[str]:
        """Causes that explain the gap, in the order of selection; empty if there is none."""
        return list(self.attribution.chosen)

    @property
    def together(self) -> dict[str, list[str]]:
        """Causes that the data do not distinguish from each of :attr:`causes`."""
        return dict(self.attribution.together)

    @property
    def ranking(self) -> list[str]:
        """All causes, in the order of the table."""
        return [row["cause"] for row in self.summary["causes"] if row["rank"]]


def summarise(name: str, found: Attribution, seed: int = 0) -> dict[str, Any]:
    """Content of ``solution.json``.

    Args:
      name: name of the run.
      found: the attribution.
      seed: seed of intervals by bootstrap.
    """
    log, level = found.log, found.level
    errors, place = found.errors()
    squares = errors.squares
    key = key_of(found.chosen)
    noise = float(np.sqrt(errors.floor / max(errors.size, 1)))

    def error(of: str) -> float:
        return float(np.sqrt(squares[place[of]] / max(errors.size, 1)))

    rows = [_cause(found, c, rank, seed) for rank, c in enumerate(found.ranking, 1)]
    rows += [
        {"cause": c, "label": CAUSES[c].label, "rank": None, "state": "not in the model"}
        for c in log.absent
    ]
    gap = {
        "noise": noise,
        "model": error(MODEL),
        "training": found.training_gap(),
        "explained": error(key),
        "all_free": error(ALL),
        "share": errors.share(place[MODEL], place[key], level)[0],
        "all_free_share": errors.share(place[MODEL], place[ALL], level)[0],
    }
    fit = found.fit_of(found.chosen) if found.chosen else None
    verdict = _verdict(found, gap, rows)
    return {
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "kind": "explanation",
        "name": name,
        "status": "finished",
        "message": verdict.reasons[0].sentence,
        "verdict": verdict.to_dict(),
        "cost": float(fit.cost) if fit is not None else _cost(found),
        "level": level,
        "gap": gap,
        "chosen": found.chosen,
        "together": found.together,
        "causes": rows,
        "parameters": _values(found, found.chosen, fit, seed) if fit is not None else [],
        "budget": {"evaluations": {k: f.evaluations for k, f in found.fits.items()}},
        "stats": {"evaluations": sum(f.evaluations for f in found.fits.values())},
        "held_out": log.held_out.sequence_names,
        "notes": log.notes,
    }


def _cost(found: Attribution) -> float:
    problem = found.log.training
    return float(problem.costs(found.log.start[None])[0, 0])


def _cause(found: Attribution, cause: str, rank: int, seed: int) -> dict[str, Any]:
    errors, place = found.errors()
    fit = found.fit_of([cause])
    share = errors.share(place[MODEL], place[key_of([cause])], found.level)
    state = "no effect" if not fit.acts else "not named"
    replaced = [c for c, own in found.together.items() if cause in own]
    if cause in found.chosen:
        state = "named"
    elif replaced:
        state = "together"
    chosen = cause in found.chosen and len(found.chosen) > 1
    values = found.fit_of(found.chosen) if chosen else fit
    return {
        "cause": cause,
        "label": CAUSES[cause].label,
        "rank": rank,
        "state": state,
        "explained": share[0],
        "low": share[1],
        "high": share[2],
        "chance": found.chances.get(cause, 1.0),
        "unknowns": len(found.log.columns[cause]),
        "evaluations": fit.evaluations,
        "together": found.together.get(cause, replaced),
        "check": CAUSES[cause].check,
        "parameters": _values(found, [cause], values, seed) if fit.acts else [],
    }


def _values(
    found: Attribution, causes: list[str], fit: FreedFit, seed: int
) -> list[dict[str, Any]]:
    """Values of the unknowns of causes in a fit, with intervals as in an identification."""
    log = found.log
    freed = np.concatenate([log.columns[c] for c in fit.causes])
    columns = np.unique(np.concatenate([freed, log.always]))
    problem = Freed(log.training, columns, fit.x)
    x, space = fit.x[columns], problem.space
    residual, jacobian, failures = final_jacobian(problem, x, central=False)
    at_bound = space.at_bound(x, 1e-6)
    ends = np.full((len(columns), 2), np.nan)
    if not failures:
        method, chance = "auto", 1 - found.level
        known = residual_covariance(
            problem, residual, jacobian, at_bound, method, chance, Loss(), seed
        )
        ends = value_intervals(space, x, known)
    wanted = np.concatenate([log.columns[c] for c in causes])
    out = []
    for place, element in enumerate(columns):
        if element not in wanted:
            continue
        shift = log.offsets[element]
        low, high = ends[place] - shift
        start = log.start[element]
        out.append(
            {
                "name": log.names[element],
                "value": float(x[place] - shift),
                "low": float(low),
                "high": float(high),
                "model": float(np.inf if start == NO_LIMIT else start - shift),
                "start": float(start - shift),
                "lower": float(space.lower[place] - shift),
                "upper": float(space.upper[place] - shift),
                "unit": log.units[element],
                "at_bound": bool(at_bound[place]),
                "changed": bool(not at_bound[place] and not low <= start - shift <= high),
            }
        )
    return out


# --- sentences -----------------------------------------------------------------------------------


def _verdict(found: Attribution, gap: dict[str, Any], rows: list[dict[str, Any]]) -> Verdict:
    comparisons = _comparisons(found)
    times = gap["model"] / max(gap["noise"], 1e-300)
    error = f"The held-out error of the model is {format_number(times, 3)} times noise"
    if not found.chosen:
        return Verdict((_nothing_named(times, gap["training"], error),), comparisons)
    by_name = {row["cause"]: row for row in rows}
    first, *others = found.chosen
    reasons = [Reason(Grade.USE, first_change(by_name[first], found.level), "causes")]
    for cause in found.chosen:
        if found.together.get(cause):
            checks = [by_name[c]["check"] for c in (cause, *found.together[cause])]
            reasons.append(
                Reason(
                    Grade.LOOK,
                    f"The data do not distinguish {by_name[cause]['label']} from "
                    f"{_enumerated([CAUSES[c].label for c in found.together[cause]])}: "
                    f"{checks[0]}; {checks[1]}.",
                    "causes",
                )
            )
    if others:
        labels = _enumerated([CAUSES[c].label for c in others])
        reasons.append(
            Reason(
                Grade.USE,
                f"One change is not enough: together with {labels}, "
                f"{_percent(gap['share'])} is explained.",
                "causes",
            )
        )
    reasons.append(Reason(Grade.USE, f"{error}.", "gap"))
    left = gap["explained"] / max(gap["noise"], 1e-300)
    errors, place = found.errors()
    if errors.chance(place[key_of(found.chosen)], place[ALL]) < CHANCE:
        reasons.append(
            Reason(
                Grade.LOOK,
                "All causes together fit better: their remaining error is "
                f"{format_number(gap['all_free'], 3)} (weighted), that of the named ones "
                f"{format_number(gap['explained'], 3)}. There are further differences.",
                "gap",
            )
        )
    elif left**2 > 1.5:
        reasons.append(
            Reason(
                Grade.LOOK,
                f"With the named causes the error is {format_number(left, 3)} times noise, and no "
                "cause reduces it further: the model lacks an effect that none of its parameters "
                "describes.",
                "gap",
            )
        )
    # the change comes first, before other findings
    graver = sorted(reasons[1:], key=lambda r: -r.grade.severity)
    return Verdict((reasons[0], *graver), comparisons)


def _nothing_named(times: float, training: float, error: str) -> Reason:
    """Reason why no cause is named.

    Args:
      times: held-out error of the model, relative to noise.
      training: error of the model over the training data, relative to noise.
      error: sentence on the held-out error.
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
            f"No cause explains the gap. {error}, and no cause reduces it significantly: "
            "check the mapping of columns and units, and effects that the model lacks, such "
            "as elasticity, backlash or a joint."
        )
    return Reason(Grade.LOOK, text, "causes")


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
    text = f"Change the {row['label']} first: {share}."
    changed = [p for p in row["parameters"] if p["changed"]]
    changed.sort(key=_size, reverse=True)
    if changed:
        words = [
            f"{p['name']} from {_model_value(p['model'])} to {format_number(p['value'], 3)} "
            f"({format_number(p['low'], 3)} to {format_number(p['high'], 3)})"
            + (f" {p['unit']}" if p["unit"] else "")
            for p in changed[:_SHOWN]
        ]
        more = f", and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        text += f" {'; '.join(words)}{more}; {100 * level:.3g} % intervals."
    return text


def _model_value(value: float) -> str:
    return format_number(value, 3) if np.isfinite(value) else "no limit"


def _size(p: dict[str, Any]) -> float:
    width = max(p["high"] - p["low"], 1e-300)
    way = p["value"] - p["start"]
    return abs(way) / width if np.isfinite(width) else 0.0


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
    keys = {"explained": key_of(found.chosen), "the model as it is": MODEL, "all freed": ALL}
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
            finest = _AT_NOISE * noise_from_changes(error, [w.first for w in sequence.windows])
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
