"""Summary of an identification as plain data: the content of ``solution.json``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.fitting import Reason
from trueup.fitting.judgement._whiteness import predictable_share
from trueup.fitting.judgement.scores import ScoreTable
from trueup.fitting.solution import Solution
from trueup.parameters import ParameterDict
from trueup.signals import QualityReport
from trueup.sysid.assess.assessment import Assessment
from trueup.sysid.assess.doubts import (
    cause_reasons,
    doubts,
    evidence_at_limits,
    ranked_causes,
)
from trueup.sysid.assess.horizons import HorizonError, brief_horizons, horizon_rows
from trueup.sysid.assess.insights import insights, still_components
from trueup.sysid.assess.links import link_rows
from trueup.sysid.assess.verdict import verdict_of
from trueup.sysid.causes.missing_terms import MissingTerm
from trueup.sysid.experiment.initial_unknowns import estimated_starts
from trueup.sysid.fit.cross_validation import CrossValidation
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.unseen_ends import UnseenEnds
from trueup.sysid.fit.window_states import asked_elements
from trueup.sysid.torque.problem import TorqueProblem

FORMAT_VERSION = 1


def summarise(
    name: str,
    problem: GrayBoxProblem,
    solution: Solution,
    assessment: Assessment,
    crossed: CrossValidation | None = None,
    quality: Mapping[str, QualityReport] | None = None,
    notes: Sequence[str] = (),
    ends: UnseenEnds | None = None,
    horizons: Sequence[HorizonError] = (),
    torque: dict[str, Any] | None = None,
    missing: Sequence[MissingTerm] = (),
    little: Sequence[Reason] = (),
    windows: Sequence[Reason] = (),
) -> dict[str, Any]:
    """Plain data of an identification, before non-finite numbers are encoded."""
    unseen, how = (), ""
    if crossed is not None:
        unseen = crossed.signals
    elif ends is not None:
        unseen, how = ends.signals, ends.reason
    by_torques = isinstance(problem, TorqueProblem)
    ranked = ranked_causes(missing, quality or {}, torque, by_torques)
    causes = cause_reasons(ranked)
    graded = brief_horizons(horizons) if by_torques else horizons
    step = assessment.time_step
    decided = [] if step is None else step.reasons(estimated_starts(problem.parameters))
    doubtful = [*windows, *decided, *doubts(assessment.signals, graded, torque)]
    # initial states that were not asked for are nuisance parameters: kept separate
    is_asked = asked_elements(problem.parameters)
    asked = np.flatnonzero(is_asked)
    final = problem.parameters.copy()
    final.update_from_vector(solution.x)
    rows = parameter_rows(problem, final, solution, assessment)
    verdict = verdict_of(
        problem.space,
        solution,
        assessment,
        unseen,
        how,
        sorted(still_components(assessment)),
        estimated_starts(problem.parameters),
        doubtful,
        evidence_at_limits(
            problem.space.names,
            {p.name: p.targets[0] for p in problem.parameters.free if len(p.targets) == 1},
            missing,
            torque,
        ),
        causes,
        little,
    )
    return {
        "format_version": FORMAT_VERSION,
        "trueup": __version__,
        "name": name,
        "verdict": verdict.to_dict(),
        "status": solution.status.value,
        "success": solution.success,
        "message": solution.message,
        "advice": solution.status.advice,
        "cost": solution.cost,
        "level": 1.0 - assessment.covariance.alpha,
        "parameters": [r for r, wanted in zip(rows, is_asked, strict=True) if wanted],
        "window_states": [r for r, wanted in zip(rows, is_asked, strict=True) if not wanted],
        "links": _links(problem, final, solution, assessment),
        "fixed": fixed_rows(final),
        "covariance": {
            "names": [problem.space.names[i] for i in asked],
            "matrix": assessment.value_covariance[np.ix_(asked, asked)],
            "correlation": assessment.covariance.correlation[np.ix_(asked, asked)],
            "method": assessment.covariance.method,
            "reason": assessment.covariance.reason,
            "remarks": list(assessment.covariance.remarks),
        },
        "known": None if assessment.known is None else assessment.known.marginal(asked).to_dict(),
        "posterior": _posterior(assessment, asked),
        "identifiability": _identifiability(assessment),
        "scores": score_rows(assessment.scores),
        "horizons": horizon_rows(horizons),
        "torque": torque,
        "causes": ranked,
        "residuals": residual_rows(assessment),
        "missing_terms": [term.to_dict() for term in missing],
        "insights": insights(
            problem,
            solution,
            assessment,
            crossed,
            [*little, *doubtful],
            [] if torque is None else [s for s in torque["sentences"] if s not in torque["doubts"]],
            causes,
        ),
        "cross_validation": None if crossed is None else _crossed(crossed),
        "quality": {n: report.to_dict() for n, report in (quality or {}).items()},
        "notes": list(notes),
        "history": [_asked_of(record, asked) for record in solution.history],
        "stats": solution.stats,
        "provenance": solution.provenance,
    }


def _posterior(assessment: Assessment, asked: np.ndarray) -> dict[str, Any] | None:
    """Convergence of sampled parameters; None if the posterior was not sampled."""
    found = assessment.posterior
    return None if found is None else found.of(asked.tolist()).to_dict()


def _asked_of(record: dict[str, Any], asked: np.ndarray) -> dict[str, Any]:
    if "x" not in record:  # candidates are in the store
        return dict(record)
    return {**record, "x": [record["x"][i] for i in asked]}


def _links(
    problem: GrayBoxProblem, final: ParameterDict, solution: Solution, assessment: Assessment
) -> list[dict[str, Any]]:
    """Physical quantities of links; without an optimum they have no intervals."""
    covariance = assessment.value_covariance
    if not solution.success or assessment.flaw:
        covariance = np.full_like(covariance, np.nan)
    # a residual function of the toolbox has parameters without models
    models = [variant.model for variant in getattr(problem, "variants", ())]
    return link_rows(final, models, covariance, 1.0 - assessment.covariance.alpha)


def parameter_rows(
    problem: GrayBoxProblem,
    final: ParameterDict,
    solution: Solution,
    assessment: Assessment,
) -> list[dict[str, Any]]:
    """One record per free element."""
    space = problem.space
    owners = [p for p in final.free for _ in range(p.size)]
    nominal = final.as_nominal_vector()
    rows = []
    for i, name in enumerate(space.names):
        low, high = assessment.intervals[i]
        row = {
            "name": name,
            "parameter": owners[i].name,
            "value": solution.x[i],
            "low": low,
            "high": high,
            "standard_error": assessment.standard_errors[i],
            "start": space.start[i],
            "nominal": nominal[i],
            "lower": space.lower[i],
            "upper": space.upper[i],
            "unit": owners[i].unit,
            "description": owners[i].description,
            "target": list(owners[i].targets),
            "log": bool(space.log[i]),
            "at_bound": bool(assessment.at_bound[i]),
            "determined": solution.success
            and not assessment.flaw
            and name in assessment.identifiability.determined
            and not (low <= space.lower[i] and high >= space.upper[i]),
        }
        if assessment.stability is not None:
            row["held_out_value"] = assessment.stability.values[i]
            row["model_error_ratio"] = assessment.stability.ratios[i]
            row["model_error_limit"] = assessment.stability.limits[i]
        if name in assessment.profiles:
            row["profile_low"], row["profile_high"] = assessment.profiles[name]
        rows.append(row)
    return rows


def fixed_rows(final: ParameterDict) -> list[dict[str, Any]]:
    """Frozen and tied parameters."""
    return [
        {
            "name": p.name,
            "value": p.as_vector(),
            "unit": p.unit,
            "state": "frozen" if p.tied_to is None else f"= {p.tied_to}",
        }
        for p in final.values()
        if not p.is_free
    ]


def score_rows(table: ScoreTable) -> list[dict[str, Any]]:
    """One record per part, predictor and channel."""
    return [
        {
            "part": row.part,
            "predictor": row.predictor,
            "channel": c.channel,
            "rmse": c.rmse,
            "fit_percent": c.fit_percent,
            "vaf": c.vaf,
            "r2": c.r2,
            "samples": c.samples,
        }
        for row in table.rows
        for c in row.channels
    ]


def residual_rows(assessment: Assessment) -> list[dict[str, Any]]:
    """One record per training recording and channel: size and correlation of its residual.

    Residuals of right models are correlated too, by the noise of measured starts and by filters of
    sensors: these are figures without a threshold (benchmarks/false_alarms.py).
    """
    out = []
    for s in assessment.signals:
        sizes = {t.channel: t.ratio for t in assessment.size.get(s.name, ())}
        for c, test in enumerate(assessment.whiteness.get(s.name, ()) if not s.held_out else ()):
            error = s.measured[:, c] - s.fitted[:, c]
            out.append(
                {
                    "sequence": s.name,
                    "channel": test.channel,
                    "unit": s.units[c] if s.units else "",
                    "rms": float(np.sqrt(np.mean(np.square(error)))),
                    "lag_one": test.lag_one_correlation,
                    "predictable": predictable_share(error),
                    "speed_ratio": sizes.get(test.channel),
                }
            )
    return out


def _identifiability(assessment: Assessment) -> dict[str, Any]:
    found = assessment.identifiability
    return {
        "identifiable": found.identifiable,
        "singular_values": found.singular_values,
        "condition": found.condition,
        "collinearity": found.collinearity,
        "sentences": list(found.sentences),
        "directions": [
            {"coefficients": d.coefficients, "raw": d.raw, "sentence": d.sentence}
            for d in found.directions
        ],
        "weak": [{"coefficients": w.coefficients, "sentence": w.sentence} for w in found.weak],
        "no_effect": list(found.no_effect),
        "determined": list(found.determined),
    }


def _crossed(crossed: CrossValidation) -> dict[str, Any]:
    return {
        "folds": crossed.folds,
        "held_out": [list(part) for part in crossed.held_out],
        "values": crossed.values,
        "training_error": crossed.training_error,
        "held_out_error": crossed.held_out_error,
        "spread": np.std(crossed.values, axis=0),
    }
