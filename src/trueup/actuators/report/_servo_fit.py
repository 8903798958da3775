"""Report of a servo fit: parameters, errors, identifiability, motions, residuals, friction."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup import reports
from trueup.actuators.assess.model_errors import ModelErrors, model_errors, trivial_errors
from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.actuators.report.choice_section import choice_section
from trueup.actuators.report.overlay_figures import motions_of, overlay_figure
from trueup.actuators.report.parameter_section import parameter_rows, parameter_section
from trueup.actuators.report.residual_sections import friction_section, residual_section
from trueup.actuators.selection.model_choice import ModelChoice
from trueup.actuators.selection.model_comparison import GROUPED_BY, grouped
from trueup.errors import RecordingError

if TYPE_CHECKING:
    from trueup.actuators.search.servo_fit import ServoFit

_MRAD = 1e3


def servo_report(
    model: ServoModel,
    logs: Sequence[ServoLog],
    held_out: Sequence[ServoLog] = (),
    *,
    statistics: Mapping[str, Any] | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = "",
    kind: str = "mae",
    scheme: str = "semi-implicit",
    reset_period: float | None = None,
    vin: float | None = None,
    benches: Sequence[Bench] | None = None,
    choice: ModelChoice | None = None,
) -> reports.Page:
    """Build the report of an identified servo model, and write it to ``path`` if given.

    Args:
        model: identified model.
        logs: training logs.
        held_out: held-out logs.
        statistics: plain data of the fit, as in its ``solution.json``, and its ``history``; the
            report omits missing parts. Without any, it shows the values between their
            bounds, and the errors.
        path: HTML file, or folder for ``report.html``.
        title: heading.
        kind: objective of the fit, ``"mae"`` or ``"rmse"``.
        scheme: integration scheme, one of ``SCHEMES``.
        reset_period: interval at which position and speed are reset to the log's [s].
        vin: nominal bus voltage [V], instead of that of the logs.
        benches: load of each log, training logs first.
        choice: selection of friction model and terms, if there was one.

    Raises:
        RecordingError: no logs, or one that cannot be simulated.
        ParameterError: the model belongs to another servo than the logs.
        ReportError: the file cannot be written.
    """
    if not logs:
        raise RecordingError("no training logs: pass those that the model was fitted to")
    everything = [*logs, *held_out]
    label = "+".join((model.friction.name, *model.terms))
    (errors,) = model_errors(
        {label: model},
        everything,
        scheme=scheme,
        reset_period=reset_period,
        vin=vin,
        benches=benches,
    )
    kind = "rmse" if kind == "rmse" else "mae"
    trivial = trivial_errors(everything, kind)
    held = np.arange(len(everything)) >= len(logs)
    known = dict(statistics or {})
    rows = parameter_rows(model, known)
    servo = model.servo.title or model.servo.name
    page = reports.Page(
        title or f"{servo}: {label.upper()}",
        f"{model.friction.title}; {len(logs)} training logs, {len(held_out)} held out",
        provenance=dict(known.get("provenance") or model.provenance),
    )
    figures, findings = _overview(errors, held, trivial, known, rows, kind)
    if known.get("verdict"):  # from a fit, not from a parameter file
        page.add(
            reports.verdict_section(
                known["verdict"],
                anchors={"scores": "errors"},
                figures=figures,
                steps=servo_steps(known),
                further=findings,
            )
        )
    else:
        content = [reports.KeyFigures(figures), reports.Findings(findings)]
        page.add(reports.Section("Overview", "overview", content=content))
    page.add(parameter_section(rows, known, model))
    page.add(_overlays(errors, held, kind))
    details = [_errors(errors, held, trivial, kind)]
    if choice is not None:
        details.append(choice_section(choice))
    if known.get("confidence"):
        details.append(_identifiability(known))
    details += [residual_section(errors, held), friction_section(model, errors)]
    if known.get("history"):
        details.append(_course(known))
    page.add(*(replace(section, collapsed=True) for section in details))
    if path is not None:
        path = Path(path)
        page.save(path if path.suffix.lower() in (".html", ".htm") else path / "report.html")
    return page


def servo_fit_report(
    fit: ServoFit,
    path: str | os.PathLike[str] | None = None,
    *,
    benches: Sequence[Bench] | None = None,
) -> reports.Page:
    """Build the report of a fit, and write it to ``path`` if given.

    Args:
        fit: a finished fit.
        path: HTML file, or folder for ``report.html``.
        benches: load of each log, training logs first; default: the pendulums of their headers.

    Raises:
        ReportError: the file cannot be written.
    """
    settings = fit.settings
    return servo_report(
        fit.model,
        fit.training_logs,
        fit.held_out_logs,
        statistics={**fit.to_dict(), "history": fit.solution.history},
        path=path,
        kind=settings.objective.kind,
        scheme=settings.scheme,
        reset_period=settings.reset_period,
        vin=settings.vin,
        benches=benches,
        choice=fit.choice,
    )


def servo_steps(known: Mapping[str, Any]) -> list[reports.Step]:
    """Steps after a fit, by its verdict, with the commands.

    Args:
        known: plain data of the fit, as in its ``solution.json``.
    """
    file = shlex.quote(str(known.get("output") or "PARAMETERS.json"))
    grade = known["verdict"]["grade"]
    if grade == "use":
        export = f"trueup actuator export --params {file} --form mujoco -o servo.py"
        draws = f"trueup export dr {file} --form isaac-lab"
        return [
            reports.Step("Write the servo for a simulator (or --form mjlab, isaac-lab):", export),
            reports.Step("Train a policy over what remains uncertain:", draws),
        ]
    more = reports.Step(
        "Design the logs that determine more, and record them:", f"trueup design {file}"
    )
    if grade == "look":
        return [more]
    compare = "trueup actuator compare --logdir LOGS"
    return [
        reports.Step("Compare friction models and terms: one that lacks here may fit:", compare),
        more,
    ]


def _overview(
    errors: ModelErrors,
    held: np.ndarray,
    trivial: Mapping[str, Array],
    known: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    kind: str,
) -> tuple[list[reports.KeyFigure], list[reports.Finding]]:
    """Big numbers, and findings that the verdict does not contain."""
    is_judged = bool(known.get("verdict"))
    values = errors.error(kind) * _MRAD
    training = float(values[~held].mean())
    figures = [reports.KeyFigure(training, "training error", "mrad", "mean over logs")]
    findings: list[tuple[str, str]] = []
    part = held if held.any() else ~held
    judged = float(values[part].mean())
    if held.any():
        figures.append(reports.KeyFigure(judged, "held-out error", "mrad", "mean over logs"))
        if judged > 1.5 * training:
            findings.append(
                (
                    "warning",
                    f"The held-out error is {judged / training:.1f} times the training error: the "
                    "held-out logs show an effect that the model lacks or that the training logs "
                    "do not show.",
                )
            )
    elif not is_judged:
        findings.append(("info", "No log is held out: the error on new motions is unknown."))
    nearest = min(trivial, key=lambda name: float(trivial[name][part].mean()))
    simple = float(trivial[nearest][part].mean()) * _MRAD
    figures.append(reports.KeyFigure(simple, "trivial prediction", "mrad", nearest))
    worst = int(np.argmax(values))
    figures.append(
        reports.KeyFigure(float(values[worst]), "worst log", "mrad", errors.logs[worst].name)
    )
    if judged >= simple and not is_judged:
        findings.append(("serious", f"A trivial prediction, {nearest}, has a smaller error."))
    if not np.isfinite(values).all():
        findings.append(("serious", "The simulation diverges in a log."))
    if known.get("status") and not is_judged:
        sentence = ". ".join(str(known[k]) for k in ("message", "advice") if known.get(k))
        tone = "good" if known.get("success") else "info"
        findings.append((tone, f"The search ended: {sentence}"))
    at_bound = [row for row in rows if row["at_bound"]]
    absent = [str(row["name"]) for row in at_bound if row["lower"] == 0 and _is_low(row)]
    if absent:
        findings.append(("info", f"At zero: {', '.join(absent)}."))
    if beyond := [str(row["name"]) for row in at_bound if row["name"] not in absent]:
        findings.append(
            ("warning", f"At a bound: {', '.join(beyond)}. The true value may lie beyond it.")
        )
    if lost := [str(row["name"]) for row in rows if not row["determined"]]:
        findings.append(("warning", f"The logs do not determine {', '.join(lost)}."))
    findings += [("warning", f"{note}.") for note in errors.model.notes]
    warned = [str(sentence) for sentence in known.get("findings") or ()]
    findings += [("warning", sentence) for sentence in warned]
    sentences = _sentences(known) | set(warned)
    findings += [("info", str(n)) for n in known.get("notes") or () if n not in sentences]
    return figures, [reports.Finding(*finding) for finding in findings]


def _identifiability(known: Mapping[str, Any]) -> reports.Section:
    confidence = known["confidence"]
    content: list[reports.Content | str] = [
        reports.Text(str(sentence).rstrip(".") + ".")
        for sentence in confidence.get("identifiability", ())
    ]
    advice = [("info", str(entry["sentence"])) for entry in confidence.get("advice", ())]
    if advice:
        content.append(reports.Group("Recordings to add", [reports.Findings(advice)]))
    return reports.Section("What the logs determine", "identifiability", content=content)


def _sentences(known: Mapping[str, Any]) -> set[str]:
    """Sentences that the sections on parameters and identifiability already contain."""
    confidence = known.get("confidence") or {}
    advice = [entry["sentence"] for entry in confidence.get("advice", ())]
    return {*confidence.get("remarks", ()), *confidence.get("identifiability", ()), *advice}


def _errors(
    errors: ModelErrors, held: np.ndarray, trivial: Mapping[str, Array], kind: str
) -> reports.Section:
    values = errors.error(kind) * _MRAD
    names = list(trivial)
    order = np.argsort(-values, kind="stable")
    rows = [
        [
            errors.logs[i].name,
            "held out" if held[i] else "training",
            float(values[i]),
            float(errors.speed_mae[i]),
            *(float(trivial[name][i]) * _MRAD for name in names),
        ]
        for i in order
    ]
    columns = [
        reports.Column("log"),
        reports.Column("part"),
        reports.Column("model", "mrad", digits=3),
        reports.Column("speed", "rad/s", digits=3, note="mean absolute error of the speed"),
        *(reports.Column(name, "mrad", digits=3, note="a trivial prediction") for name in names),
    ]
    error = "mean absolute" if kind == "mae" else "root mean square"
    content: list[Any] = [
        reports.Table(
            columns,
            rows,
            title="By log",
            notes=f"The {error} error of the position, and of the speed. At goal: the joint is "
            "at its goal, and hangs down while torque is off. At rest: it stays at its start.",
        )
    ]
    for by in GROUPED_BY:
        numbers = grouped(errors.logs, by)
        if len(numbers) > 1:
            content.append(_group_table(by, numbers, values, held, trivial))
    return reports.Section("Errors", "errors", content=content)


def _group_table(
    by: str,
    numbers: Mapping[str, list[int]],
    values: Array,
    held: np.ndarray,
    trivial: Mapping[str, Array],
) -> reports.Table:
    rows = []
    for value, of_group in numbers.items():
        mask = np.isin(np.arange(values.size), of_group)
        rows.append(
            [
                value,
                len(of_group),
                *(
                    float(values[mask & part].mean()) if (mask & part).any() else None
                    for part in (~held, held)
                ),
                *(float(e[mask].mean()) * _MRAD for e in trivial.values()),
            ]
        )
    columns = [
        reports.Column(by, {"mass": "kg", "length": "m"}.get(by, ""), align="left"),
        reports.Column("logs"),
        reports.Column("training", "mrad", digits=3),
        reports.Column("held out", "mrad", digits=3),
        *(reports.Column(name, "mrad", digits=3) for name in trivial),
    ]
    return reports.Table(columns, rows, title=f"By {by}")


def _overlays(errors: ModelErrors, held: np.ndarray, kind: str) -> reports.Section:
    values = errors.error(kind)
    order = np.argsort(values, kind="stable").tolist()
    chosen = {order[-1]: "the worst log"}
    if held.any():
        worst_held = max(np.flatnonzero(held).tolist(), key=lambda i: values[i])
        chosen.setdefault(worst_held, "the worst held-out log")
    chosen.setdefault(order[len(order) // 2], "the median log")
    chosen.setdefault(order[0], "the best log")
    groups = [
        reports.Group(
            f"{errors.logs[i].name}: {what}, {values[i] * _MRAD:.1f} mrad",
            [overlay_figure(errors.logs[i], motions_of([errors], i))],
            collapsed=place > 0,
        )
        for place, (i, what) in enumerate(chosen.items())
    ]
    return reports.Section("Motions", "motions", content=groups)


def _course(known: Mapping[str, Any]) -> reports.Section:
    history = [h for h in known["history"] if h.get("cost") is not None]
    history = [h for h in history if np.isfinite(h["cost"])]
    content: list[Any] = []
    if history:
        # the search fits nested sub-models first, each in the same stages
        key = "model" if len({entry.get("model") for entry in history}) > 1 else "stage"
        parts: dict[str, list[Mapping[str, Any]]] = {}
        for entry in history:
            parts.setdefault(str(entry.get(key) or "cost"), []).append(entry)
        content.append(
            reports.line_figure(
                [
                    reports.Trace(
                        part,
                        [float(h["evaluations"]) for h in entries],
                        [float(h["cost"]) for h in entries],
                    )
                    for part, entries in parts.items()
                ],
                x_label="evaluations",
                y_label="cost",
                log_y=True,
                markers=True,
                title="Convergence",
            )
        )
    stats = known.get("stats") or {}
    if stats.get("evaluations") is not None:
        seconds = stats.get("seconds")
        content.append(
            reports.Text(
                f"{stats['evaluations']:,} evaluations"
                + (f" in {seconds:.1f} s." if seconds is not None else ".")
            )
        )
    return reports.Section("Course", "course", content=content)


def _is_low(row: Mapping[str, Any]) -> bool:
    return row["value"] - row["lower"] < row["upper"] - row["value"]
