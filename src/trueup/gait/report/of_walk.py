"""Report of a walk as an HTML page: verdict, cost, curves compared with a norm, strides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup import reports
from trueup.errors import GaitError
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.costs.terms import TERMS
from trueup.gait.report._dose_response import DoseResponse, dose_response
from trueup.gait.report._survival import Survival
from trueup.gait.report.effort_section import effort_content, energy_content
from trueup.gait.report.norm_comparison import ProfileScore, energy_note, profile_score
from trueup.gait.report.survival_section import survival_section
from trueup.gait.report.walk_sections import ShownWalk, stride_rows, walk_sections
from trueup.gait.report.walk_verdict import judge_walk
from trueup.gait.search.problem import GaitProblem, Scenario, evaluate
from trueup.gait.search.staged_problem import StagedProblem
from trueup.gait.walk.series import WalkSeries, observe_walks
from trueup.runs.study_page.record import StudyRecord

_STAGES = ("survived", "pace", "missing", "stage", "stopped")
"""Terms of the progress of a walk, without a cost."""


@dataclass(frozen=True)
class WalkLook:
    """A walk and the walk for comparison, in each scenario of a problem.

    Attributes:
      problem: problem.
      vector: complete vector of the walk ``(size,)``.
      costs: cost of the walk, and of the one for comparison ``(1 or 2,)``.
      terms: name -> terms of both, from the problem.
      own: terms of both in each scenario without prefixes, including ``cost``, without
          perturbations.
      series: both walks in each scenario; None for one that cannot start.
    """

    problem: GaitProblem
    vector: np.ndarray
    costs: np.ndarray
    terms: dict[str, np.ndarray]
    own: list[dict[str, np.ndarray]]
    series: list[list[WalkSeries | None]]

    def terms_in(self, scenario: int, row: int = 0) -> dict[str, float]:
        """Terms of a walk in a scenario."""
        return {name: float(values[row]) for name, values in self.own[scenario].items()}


def look_at(problem: GaitProblem, vector: np.ndarray, start: np.ndarray | None = None) -> WalkLook:
    """Simulate a vector in every scenario of a problem, with all series.

    Args:
      problem: problem.
      vector: complete vector ``(size,)``.
      start: complete vector of the walk for comparison.

    Raises:
      GaitError: the walk cannot start.
    """
    X = np.atleast_2d(vector) if start is None else np.stack([vector, start])
    reasons: dict[int, str] = {}
    bound, problem.bound = problem.bound, np.inf
    try:
        costs = problem.whole_costs(X, reasons)
    finally:
        problem.bound = bound
    if 0 in reasons:
        raise GaitError(f"the walk cannot start: {reasons[0]}")
    terms = {name: np.array(values) for name, values in problem.terms.items()}
    own = [_own_terms(problem, scenario, terms, X) for scenario in problem.scenarios]
    series = [observe_walks(scenario.simulation, X)[1] for scenario in problem.scenarios]
    return WalkLook(problem, np.asarray(vector, dtype=float), costs, terms, own, series)


def _own_terms(
    problem: GaitProblem, scenario: Scenario, terms: Mapping[str, np.ndarray], X: np.ndarray
) -> dict[str, np.ndarray]:
    """Terms of walks without perturbations in a scenario."""
    if problem.perturbations is not None:
        cost, own = evaluate(scenario, X)
        return {"cost": cost, **own}
    ahead = f"{scenario.name}." if len(problem.scenarios) > 1 else ""
    return {name.removeprefix(ahead): v for name, v in terms.items() if name.startswith(ahead)}


def walk_report(
    look: WalkLook,
    title: str,
    subtitle: str = "",
    *,
    norm: GaitNorm | Sequence[GaitNorm | None] | None = None,
    start_name: str = "start of the search",
    max_torques: Sequence[float] = (),
    survivals: Sequence[Survival] = (),
    provenance: Mapping[str, Any] | None = None,
    video: bytes | None = None,
    verdict: Mapping[str, Any] | None = None,
    steps: Sequence[reports.Step] = (),
) -> reports.Page:
    """Report of a walk, with its verdict first.

    Args:
      look: walk, from :func:`look_at`.
      title: heading.
      subtitle: line below the heading.
      norm: norm of angles, moments and activations, or one for each scenario.
      start_name: name of the walk for comparison.
      max_torques: largest torques of a dose-response [N m]; empty: no dose-response.
      survivals: repeats under perturbations in each scenario, from :func:`~trueup.gait.survival`;
        empty: none.
      provenance: JSON values for the end of the page.
      video: video of the walk.
      verdict: verdict as JSON values; by default from ``judge_walk``.
      steps: what to do next.
    """
    page = reports.Page(title, subtitle, provenance)
    scenarios = look.problem.scenarios
    norms: Sequence[GaitNorm | None] = (
        [norm] * len(scenarios) if norm is None or isinstance(norm, GaitNorm) else norm
    )
    if verdict is None:
        verdict = judge_walk(look.problem, look.vector, norms=norms, survivals=survivals).to_dict()
    page.add(reports.verdict_section(verdict, steps=steps))
    for k, scenario in enumerate(scenarios):
        prefix = f"{scenario.name}: " if len(scenarios) > 1 else ""
        series = look.series[k][0]
        if series is None:
            raise GaitError(f"{prefix}the walk cannot start")
        terms = look.terms_in(k)
        survived = survivals[k] if survivals else None
        page.add(_key_figures(terms, series, prefix, survived, _score(scenario, series, norms[k])))
        if findings := _findings(scenario, terms, series, prefix):
            page.add(reports.Findings(findings))
        start = look.series[k][1] if len(look.costs) > 1 else None
        shown = ShownWalk(
            series,
            scenario.simulation.walker.anatomy,
            scenario.objective.strides,
            norms[k],
            start,
            start_name,
        )
        first, *rest = walk_sections(shown, prefix)
        page.add(first)
        if video is not None and k == 0:
            page.add(reports.Section("Video", content=[reports.Video(video, width=960)]))
        page.add(*rest[:1])
        details = [_cost_section(look, k, prefix, start_name)]
        if survived is not None:
            details.append(survival_section(survived, prefix))
        details += rest[1:]
        if max_torques:
            details.append(dose_section(dose_response(scenario, look.vector, max_torques), prefix))
        page.add(*(replace(section, collapsed=True) for section in details))
    return page


def _score(scenario: Scenario, series: WalkSeries, norm: GaitNorm | None) -> ProfileScore | None:
    """Deviation of the joints from a norm over the evaluated strides."""
    if norm is None:
        return None
    strides = [series.strides(leg, scenario.objective.strides) for leg in range(2)]
    return profile_score(series, norm, strides)


def _key_figures(
    terms: Mapping[str, float],
    series: WalkSeries,
    prefix: str,
    survived: Survival | None,
    score: ProfileScore | None,
) -> reports.KeyFigures:
    figures = [
        reports.KeyFigure(terms["cost"], f"{prefix}cost"),
        reports.KeyFigure(terms["walked"], "walked", "m"),
        reports.KeyFigure(
            terms["lasted"],
            "lasted",
            "s",
            "fell" if series.fell else "to the end",
            "warning" if series.fell else "good",
        ),
    ]
    speeds = [row[4] for row in stride_rows(series)]
    if speeds:
        figures.append(reports.KeyFigure(float(np.mean(speeds)), "mean speed of strides", "m/s"))
    if score is not None:
        known = np.isfinite(score.people)
        people = f"people {score.people:.1f} deg; {score.deviations:.1f} SD" if known else ""
        figures.append(
            reports.KeyFigure(f"{score.distance:.1f}", "gait profile score", "deg", people)
        )
    rate = terms.get("metabolic_rate", np.nan)
    if np.isfinite(rate) and speeds:
        speed = float(np.mean(speeds))
        note = energy_note(rate, speed) if series.slope == 0.0 else ""
        figures.append(reports.KeyFigure(rate, "metabolic rate", "W/kg", note))
    if np.isfinite(terms.get("effort", np.nan)):
        figures.append(reports.KeyFigure(terms["effort"], "effort"))
    if survived is not None:
        share = f"{survived.survived} of {len(survived.fell)}"
        figures.append(reports.KeyFigure(share, "perturbed repeats that keep walking"))
    return reports.KeyFigures(figures)


def _findings(
    scenario: Scenario, terms: Mapping[str, float], series: WalkSeries, prefix: str
) -> list[reports.Finding]:
    duration = scenario.simulation.settings.duration
    found = []
    if series.fell:
        how = "The walker fell" if series.ended == 1 else "The simulation diverged"
        found.append(
            reports.Finding(
                "warning",
                f"{prefix}{how} after {terms['lasted']:.2f} of {duration:g} s and "
                f"{terms['walked']:.2f} m.",
            )
        )
    counts = [len(series.strides(leg)) for leg in range(2)]
    wanted = scenario.objective.strides
    if not any(counts):
        found.append(
            reports.Finding(
                "warning",
                f"{prefix}There is no complete stride, from touch-down to touch-down of a foot: "
                "the walk is shown over time instead of the gait cycle.",
            )
        )
    elif min(counts) < wanted:
        found.append(
            reports.Finding(
                "info",
                f"{prefix}Complete strides: {counts[0]} of the right leg, {counts[1]} of the left; "
                f"{wanted} of each are to be evaluated.",
            )
        )
    return found


def cost_rows(
    objective: WalkObjective, cost: float, terms: Mapping[str, float]
) -> list[tuple[str, float, float | None, float | None]]:
    """Term, value, weight and contribution to the cost, in the order of the terms; with the sum.

    The last row is the cost of falls, missing strides and missing distance.
    """
    charges = objective.charges({name: np.array([value]) for name, value in terms.items()})
    parts = {name: float(charge[0]) for name, charge in charges.items()}
    rows: list[tuple[str, float, float | None, float | None]] = []
    for name in filter(terms.__contains__, TERMS):  # runs of older versions may have fewer terms
        weight = objective.weights.get(name, 0.0) or None
        rows.append((name, terms[name], weight, None if weight is None else parts[name]))
    rest = cost - sum(parts.values())
    rows.append(("falls, missing strides and missing distance", np.nan, None, rest))
    return rows


def _cost_section(look: WalkLook, scenario: int, prefix: str, start_name: str) -> reports.Section:
    objective, terms = look.problem.scenarios[scenario].objective, look.terms_in(scenario)
    cost = terms["cost"]
    content: list[reports.Content] = []
    if isinstance(objective, WalkObjective):
        columns: list[reports.Column | str] = [
            "term",
            reports.Column("value", align="right"),
            "unit",
            reports.Column("weight", align="right"),
            reports.Column("contribution to the cost", align="right"),
        ]
        rows: list[list[Any]] = [
            [name, _known(value), TERMS[name].unit if name in TERMS else "", weight, part]
            for name, value, weight, part in cost_rows(objective, cost, terms)
        ]
        rows.append(["cost", None, "", None, cost])
        content.append(reports.Table(columns, rows, title="Terms of the cost"))
        content += _efforts(look, scenario, start_name)
        content.append(
            reports.Note(
                "Terms without a weight are measured too. In the cost a term saturates; "
                "a fall increases it, and a speed within the tolerance of the target "
                "decreases it."
            )
        )
        if look.problem.perturbations is not None:
            content.append(
                reports.Note(
                    f"The search uses the cost over perturbed repeats, {look.costs[0]:.6g}; "
                    "this is the walk without perturbations."
                )
            )
    else:
        kind = f"Cost {objective.kind} of MyoAssist"
        rows = [[name, _known(value)] for name, value in terms.items() if name not in _STAGES]
        content.append(reports.Table(["term", "value"], rows, title=kind))
    if len(look.costs) > 1:
        content.append(_comparison(look, scenario, start_name))
    return reports.Section(f"{prefix}Cost", content=content)


def _efforts(look: WalkLook, scenario: int, start_name: str) -> list[reports.Content]:
    """Effort of each muscle; empty for a walk that is too short."""
    walked = look.problem.scenarios[scenario]
    found: list[tuple[WalkSeries, float] | None] = []
    for row, series in enumerate(look.series[scenario]):
        effort = look.terms_in(scenario, row)["effort"]
        found.append((series, effort) if series is not None and effort > 0.0 else None)
    walk, start = found[0], found[1] if len(found) > 1 else None
    if walk is None:
        return []
    anatomy, strides = walked.simulation.walker.anatomy, walked.objective.strides
    speed = look.terms_in(scenario)["speed"]
    return [
        *effort_content(*walk, strides, anatomy, start, start_name),
        *energy_content(walk[0], strides, anatomy, speed),
    ]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _comparison(look: WalkLook, scenario: int, start_name: str) -> reports.Content:
    """Terms of the walk and of the one for comparison."""
    best, start = look.terms_in(scenario), look.terms_in(scenario, 1)
    names = [name for name in best if name not in _STAGES]
    rows: list[list[Any]] = [[name, _known(best[name]), _known(start[name])] for name in names]
    return reports.Group(
        f"Compared with the {start_name}",
        reports.Table(["term", "this walk", start_name], rows),
        collapsed=True,
    )


def dose_section(doses: DoseResponse, prefix: str = "") -> reports.Section:
    """Section with the cost of a walk over the largest torque of its exoskeleton."""
    x, fell = doses.max_torque, doses.terms["fell"] > 0.0
    speed = doses.terms.get(
        "speed", doses.terms["walked"] / np.maximum(doses.terms["lasted"], 1e-9)
    )
    metabolic = doses.terms.get("metabolic")
    ours = metabolic is not None  # MyoAssist's effort depends on the time step
    rows = [
        ("Effort", "effort", "s/(kg m)" if ours else "", doses.terms["effort"]),
        ("Metabolic energy", "energy", "J/(kg m)", metabolic),
        ("Speed", "speed", "m/s", speed),
        ("Walked distance", "distance", "m", doses.terms["walked"]),
    ]
    figures = [
        reports.line_figure(
            [reports.Trace(title, x, values, "fitted")],
            x_label="largest torque",
            x_unit="N m",
            y_label=label,
            y_unit=unit,
            markers=True,
            title=title,
            height=210,
        )
        for title, label, unit, values in rows
        if values is not None and np.isfinite(values).any()
    ]
    columns = [
        reports.Column("largest torque", "N m", digits=4),
        reports.Column("cost"),
        reports.Column("effort", align="right"),
        reports.Column("speed", "m/s", digits=4, align="right"),
        reports.Column("walked", "m", digits=4),
        reports.Column("fell"),
    ]
    cells = [
        [
            float(x[i]),
            float(doses.cost[i]),
            _known(doses.terms["effort"][i]),
            _known(speed[i]),
            float(doses.terms["walked"][i]),
            bool(fell[i]),
        ]
        for i in range(len(x))
    ]
    said = (
        "The same gains with other largest torques: the walker does not adapt to the device. Terms "
        "of walks with a fall are those of their complete strides."
    )
    content = [
        reports.figure_grid(figures, 2),
        reports.Table(columns, cells, highlights=[reports.Highlight("fell", bool, "warning")]),
    ]
    return reports.Section(f"{prefix}Dose-response", summary=said, content=content)


def progress_section(
    record: StudyRecord,
    terms: Mapping[int, Mapping[str, np.ndarray]],
    problem: GaitProblem | None = None,
) -> reports.Section | None:
    """Section with best cost and walked distance by generation; None before the first one.

    Args:
      record: study.
      terms: generation -> name -> terms of its candidates, from the log of the run.
      problem: problem of the study; a staged problem separates the costs of its stages.
    """
    numbers = np.unique(record.history.generation)
    costs = np.where(record.valid(), record.history.costs[:, 0], np.nan)
    steps = np.zeros(len(costs), int)
    if isinstance(problem, StagedProblem):
        steps, costs = problem.steps_of(costs), problem.own_costs(costs)
    rows: list[tuple[int, int, float, float, float]] = []
    for number in numbers:
        own = costs[record.history.generation == number]
        found = terms.get(int(number), {})
        walked = _mean_of(found, "walked")
        if not np.isfinite(own).any() or walked is None or len(walked) != len(own):
            continue
        best = int(np.nanargmin(own))
        step = int(steps[record.history.generation == number][best])
        of_walks = float(walked[best]), float(np.median(walked))
        rows.append((int(number), step, float(own[best]), *of_walks))
    if not rows:
        return None
    generation, step, cost, best_walked, median = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    # Costs of different steps are not comparable: each has a separate curve. The best of a long
    # study can be of a generation without terms.
    so_far = np.empty(len(cost))
    for one in np.unique(step):
        own = np.where(steps == one, costs, np.nan)
        ends = np.searchsorted(record.history.generation, generation[step == one], side="right")
        so_far[step == one] = np.fmin.accumulate(own)[ends - 1]
    figures = [
        reports.line_figure(
            [
                reports.Trace("best so far", generation, so_far, "fitted"),
                reports.Trace("best of generation", generation, cost, "initial"),
            ],
            x_label="generation",
            y_label="cost",
            log_y=bool((cost > 0).all() and cost.max() > 10 * cost.min()),
            title="Cost",
        ),
        reports.line_figure(
            [
                reports.Trace("best of generation", generation, best_walked, "initial"),
                reports.Trace("median of generation", generation, median, "trivial"),
            ],
            x_label="generation",
            y_label="walked",
            y_unit="m",
            title="Walked distance",
        ),
    ]
    said = (
        f"From generation {generation[0]} to {generation[-1]} the distance of the best walk "
        f"changed from {best_walked[0]:.2f} to {best_walked[-1]:.2f} m, its cost from "
        f"{cost[0]:.5g} to {cost[-1]:.5g}."
    )
    if len(np.unique(step)) > 1:
        said += " Each stage, and each step to another speed or slope, has a separate cost."
    return reports.Section(
        "Progress of the search", "progress", said, [reports.figure_grid(figures)]
    )


def _mean_of(terms: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """A term of each candidate; its mean over several scenarios."""
    found = [values for key, values in terms.items() if key.rpartition(".")[2] == name]
    return np.mean(found, axis=0) if found else None
