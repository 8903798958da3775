"""Explanation of a gap, as plain data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup._version import __version__
from trueup.explain.attribution import Attribution
from trueup.explain.causes import CAUSES
from trueup.explain.fits import ALL, MODEL, key_of
from trueup.explain.sentences import torques_sentence, verdict_of
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.sysid.assess.assessment import value_intervals
from trueup.sysid.assess.fit_covariance import residual_covariance
from trueup.sysid.causes.freed import Freed, FreedFit
from trueup.sysid.causes.machine_candidates import NO_LIMIT

FORMAT_VERSION = 1


@dataclass
class Explanation(RichDisplay):
    """A gap between simulated and recorded motion, attributed to causes."""

    displayed_by = "trueup.runs.display:of_run"

    attribution: Attribution
    """Fits of causes, and the selected ones."""
    summary: dict[str, Any]
    """Plain data, the content of ``solution.json``."""
    directory: Path = Path()
    """Run directory."""

    @property
    def verdict(self) -> Verdict:
        """The change to make first, and what the data leave open."""
        return Verdict.from_dict(self.summary["verdict"])

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
        "all_free": error(ALL) if ALL in place else None,
        "share": errors.share(place[MODEL], place[key], level)[0],
        "all_free_share": (
            errors.share(place[MODEL], place[ALL], level)[0] if ALL in place else None
        ),
    }
    fit = found.fit_of(found.chosen) if found.chosen else None
    verdict = verdict_of(found, gap, rows)
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
        "torques": _by_torques(found),
        "causes": rows,
        "parameters": _values(found, found.chosen, fit, seed) if fit is not None else [],
        "budget": {"evaluations": {k: f.evaluations for k, f in found.fits.items()}},
        "stats": {
            "evaluations": found.evaluations + sum(f.evaluations for f in found.fits.values())
        },
        "held_out": log.held_out.sequence_names,
        "notes": log.all_notes,
    }


def _by_torques(found: Attribution) -> dict[str, Any] | None:
    """Causes that recorded torques show without a simulation.

    None where none are recorded, or where the motion confirms none of these causes: inverse
    dynamics has an error of its filter, which can look like an armature.
    """
    shown = found.by_torques
    if shown is None or (shown.chosen and not set(shown.chosen) & set(found.chosen)):
        return None
    errors, place = shown.errors()
    model, left = (
        float(np.sqrt(errors.squares[place[key_of(causes)]] / max(errors.floor, 1e-300)))
        for causes in ([], shown.chosen)
    )
    return {
        "chosen": shown.chosen,
        "together": shown.together,
        "model": model,
        "explained": left,
        "sentence": torques_sentence(shown.chosen, model, left),
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
    parameters = _values(found, [cause], values, seed) if fit.acts and fit.complete else []
    return {
        "cause": cause,
        "label": CAUSES[cause].label,
        "rank": rank,
        "state": state,
        "fitted": fit.complete,
        "link": found.log.link_of(cause, values),
        "explained": share[0],
        "low": share[1],
        "high": share[2],
        "chance": found.chances.get(cause, 1.0),
        "unknowns": len(fit.columns),
        "evaluations": fit.evaluations,
        "together": found.together.get(cause, replaced),
        "check": CAUSES[cause].check,
        "parameters": parameters,
    }


def _values(
    found: Attribution, causes: list[str], fit: FreedFit, seed: int
) -> list[dict[str, Any]]:
    """Values of the unknowns of causes in a fit, with intervals as in an identification."""
    log = found.log
    columns = np.unique(np.concatenate([fit.columns, log.always])).astype(int)
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
    wanted = found.columns_with(fit, causes)
    out = []
    for place, element in enumerate(columns):
        if element not in wanted:
            continue
        shift = log.offsets[element]
        low, high = ends[place] - shift
        start, (reach, sign), value = log.start[element], log.reaches[element], float(x[place])
        # a limit without a slope is wider than all that the log reaches
        wider = not np.isfinite(high - low) and sign * (value - start) > 0
        beyond = bool(sign * (value - reach) >= 0 or wider)
        differs = not at_bound[place] and not low <= start - shift <= high
        if beyond:
            low, high = np.nan, np.nan
            value = float(min(value, reach) if sign > 0 else max(value, reach))
            differs = sign * (start - reach) < 0
        out.append(
            {
                "name": log.names[element],
                "value": float(value - shift),
                "low": float(low),
                "high": float(high),
                "model": float(np.inf if start == NO_LIMIT else start - shift),
                "start": float(start - shift),
                "lower": float(space.lower[place] - shift),
                "upper": float(space.upper[place] - shift),
                "unit": log.units[element],
                "at_bound": bool(at_bound[place]) and not beyond,
                "beyond": beyond,
                "changed": bool(differs),
            }
        )
    return out
