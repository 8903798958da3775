"""Report of a model imported from OpenSim."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup import reports
from trueup.gait.opensim.comparison import MuscleComparison
from trueup.gait.opensim.forces.section import forces_section
from trueup.gait.opensim.model import OsimModel, Remark
from trueup.gait.opensim.muscle_fit import ACTIVATIONS
from trueup.gait.opensim.pose_samples import FINE, LINES, PoseSamples
from trueup.gait.opensim.tolerances import ARM, SHARE

FAR_LENGTH, FAR_ARM, FAR_FORCE = 5.0, 5.0, 0.15
"""Errors of length [mm], moment arm [mm] and force [strengths] above which a value is
highlighted."""

KINDS = {
    "refused": "omitted, cannot be represented",
    "deviates": "written, but its geometry deviates",
    "left out": "omitted",
    "approximated": "approximated",
    "added": "added",
    "scaled": "scaled",
}


def import_page(
    model: OsimModel,
    muscles: Sequence[MuscleComparison],
    samples: PoseSamples,
    remarks: Sequence[Remark],
    worst: Mapping[str, Any],
    sha256: str,
) -> reports.Page:
    """Report page of an import, with the largest errors first."""
    free = len(model.free)
    page = reports.Page(
        f"{model.name} in MuJoCo",
        f"{len(model.bodies)} bodies, {free} coordinates, {len(model.muscles)} muscles of OpenSim",
        {"sha256 of the .osim file": sha256},
    )
    if worst:
        page.add(reports.KeyFigures(_figures(worst)))
    page.add(reports.Findings(_findings(muscles, remarks)))
    page.add(_errors(muscles))
    if muscles:
        page.add(forces_section({one.name: one.fit for one in muscles}))
    page.add(_left_out(remarks))
    for one in muscles:
        page.add(_muscle(one, model, samples))
    return page


def _figures(worst: Mapping[str, Any]) -> list[reports.KeyFigure]:
    shown = {
        "length_mm": ("largest error of a length", "mm", 1.0),
        "moment_arm_mm": ("largest error of a moment arm", "mm", 1.0),
        "isometric_force": ("largest error of the isometric force", "% of strength", 100.0),
        "force": ("largest error of the force at any speed", "% of strength", 100.0),
        "tendon_stretch_mm": ("largest stretch of a tendon, rigid here", "mm", 1.0),
    }
    return [
        reports.KeyFigure(f"{factor * worst[key]['value']:.2g}", name, unit, worst[key]["muscle"])
        for key, (name, unit, factor) in shown.items()
    ]


def _findings(
    muscles: Sequence[MuscleComparison], remarks: Sequence[Remark]
) -> list[reports.Finding]:
    found = []
    if count := sum(one.kind == "refused" for one in remarks):
        words = f"{count} parts cannot be represented and are omitted."
        found.append(reports.Finding("serious", words, "left-out"))
    if count := sum(one.kind == "approximated" for one in remarks):
        words = f"{count} parts are approximated."
        found.append(reports.Finding("info", words, "left-out"))
    far = [one.part for one in remarks if one.kind == "deviates"]
    if far:
        words = f"Moment arms or lengths of {len(far)} muscles deviate: {', '.join(far)}."
        found.append(reports.Finding("serious", words, "left-out"))
    weak = [one.name for one in muscles if one.fit.error > FAR_FORCE]
    if weak:
        words = f"Errors of isometric forces exceed {100 * FAR_FORCE:g} %: {', '.join(weak)}."
        found.append(reports.Finding("warning", words, "errors"))
    if muscles and not far and not weak:
        words = (
            "Moment arms of all converted muscles have the sign of those of the file and "
            f"are within {1e3 * ARM:g} mm or {100 * SHARE:g} % RMS, isometric forces within "
            f"{100 * FAR_FORCE:g} % of the strength."
        )
        found.append(reports.Finding("good", words, "errors"))
    return found


def _errors(muscles: Sequence[MuscleComparison]) -> reports.Section:
    columns: list[reports.Column | str] = [
        "muscle",
        reports.Column("length", "mm", format=_millimetres, align="right"),
        reports.Column("moment arm", "mm", format=_millimetres, align="right"),
        "about",
        reports.Column("moment arm, rms", "mm", format=_millimetres, align="right"),
        reports.Column("isometric force", "% of strength", digits=2, align="right"),
        reports.Column("isometric force, rms", "% of strength", digits=2, align="right"),
        reports.Column("force at any speed", "% of strength", digits=2, align="right"),
    ]
    rows = [
        [
            one.name,
            1e3 * one.length_error,
            1e3 * one.arm_error[0],
            one.arm_error[1],
            1e3 * one.typical_arm_error,
            100.0 * one.fit.error,
            100.0 * one.fit.typical_error,
            100.0 * one.fit.force_error,
        ]
        for one in muscles
    ]
    said = (
        "Largest differences from the geometry and the curves of the file, evaluated without "
        "MuJoCo, over the range of each coordinate, with the others at their default and at "
        "three more settings, and over poses with all coordinates drawn. MuJoCo muscles have "
        "rigid tendons and no pennation: strength, lengths and limits of their curves are fitted "
        "to the force of fibers and tendon together."
    )
    rules = [
        reports.Highlight("length", lambda value: value > FAR_LENGTH),
        reports.Highlight("moment arm", lambda value: value > FAR_ARM),
        reports.Highlight("isometric force", lambda value: value > 100.0 * FAR_FORCE),
    ]
    table = reports.Table(columns, rows, highlights=rules)
    return reports.Section("Errors", "errors", said, [table] if rows else ["No muscles."])


def _millimetres(value: object) -> str:
    """An error [mm], with a lower limit of one micrometre."""
    error = float(value)  # type: ignore[arg-type]
    return f"{error:.2g}" if error >= 1e-3 else "< 0.001"


def _left_out(remarks: Sequence[Remark]) -> reports.Section:
    order = list(KINDS)
    rows = [
        [KINDS[one.kind], one.part, one.words]
        for one in sorted(remarks, key=lambda one: order.index(one.kind))
    ]
    table = reports.Table(["", "part", "conversion"], rows)
    content = [table] if rows else ["All parts were converted exactly."]
    return reports.Section(
        "Omitted, approximated, added", "left-out", "", content, tone="warning" if rows else ""
    )


def _muscle(one: MuscleComparison, model: OsimModel, samples: PoseSamples) -> reports.Section:
    figures = []
    for k, name in enumerate(one.coordinates):
        alone = slice(0, FINE)  # the line with the other coordinates at their default
        lengths_of = slice(LINES * FINE * k, LINES * FINE * k + FINE)
        turns = model.coordinates[name].turns
        values = samples.values[name][one.about[name][alone]]
        x = np.rad2deg(values) if turns else 1e3 * values
        arms = [
            reports.Trace("OpenSim", x, 1e3 * one.wanted_arm[name][alone], "measured"),
            reports.Trace("MuJoCo", x, 1e3 * one.arm[name][alone], "fitted"),
        ]
        lengths = [
            reports.Trace("OpenSim", x, 1e3 * one.wanted_length[lengths_of], "measured"),
            reports.Trace("MuJoCo", x, 1e3 * one.length[lengths_of], "fitted"),
        ]
        label = {"x_label": name, "x_unit": "deg" if turns else "mm", "markers": False}
        figures.append(
            reports.line_figure(
                arms, y_label="moment arm", y_unit="mm", title="Moment arm", **label
            )
        )
        figures.append(
            reports.line_figure(lengths, y_label="length", y_unit="mm", title="Length", **label)
        )
    fit = one.fit
    forces = []
    for k, activation in enumerate(ACTIVATIONS):
        words = "passive" if activation == 0.0 else f"activation {activation:g}"
        forces += [
            reports.Trace(f"OpenSim, {words}", 1e3 * fit.lengths, fit.wanted[k], "measured"),
            reports.Trace(f"MuJoCo, {words}", 1e3 * fit.lengths, fit.reached[k], "fitted"),
        ]
    figures.append(
        reports.line_figure(
            forces,
            x_label="length",
            x_unit="mm",
            y_label="isometric force",
            y_unit="N",
            markers=False,
            title="Force at activations 1, 0.5 and 0",
        )
    )
    return reports.Section(one.name, "", "", [reports.figure_grid(figures, 2)], collapsed=True)
