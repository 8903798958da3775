"""Section of a report on the selection of friction model and extended terms."""

import math

from trueup import reports
from trueup.actuators.selection.missing_terms import term_findings
from trueup.actuators.selection.model_choice import ModelChoice

_MRAD = 1e3


def choice_section(choice: ModelChoice) -> reports.Section:
    """Candidate models, their cross-validation errors, and the improvement by each term."""
    values = list(choice.chosen.errors)
    has_training = all(math.isfinite(t.training) for t in choice.tried)
    columns = [
        reports.Column("model"),
        reports.Column("parameters"),
        reports.Column("held out", "mrad", digits=4, note="geometric mean of the parts"),
        *([reports.Column("fitted", "mrad", digits=4)] if has_training else []),
        *(reports.Column(value, "mrad", digits=3) for value in values),
    ]
    rows = [
        [
            t.label,
            t.parameters,
            t.error * _MRAD,
            *([t.training * _MRAD] if has_training else []),
            *(t.errors[v] * _MRAD for v in values),
        ]
        for t in choice.tried
    ]
    label = choice.chosen.label
    chosen = reports.Highlight("model", lambda m: m == label, "good", "chosen", whole_row=True)
    notes = (
        f"{choice.rule} Columns by {choice.by}: cross-validation error. Logs that are held out "
        "of the whole fit are not used."
    )
    table = reports.Table(columns, rows, highlights=[chosen], notes=notes)
    findings = [("good", choice.reason)]
    if not choice.complete:
        findings.append(("warning", "The trials were used up before all candidates were tried."))
    findings += [("info", f"{sentence}.") for sentence in term_findings(choice)]
    return reports.Section("Model selection", "choice", content=[reports.Findings(findings), table])
