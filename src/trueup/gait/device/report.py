"""Report of a comparison of walks with a device and without."""

import numpy as np

from trueup import reports
from trueup.gait.device.comparison import (
    PERCENT,
    QUANTITIES,
    DeviceComparison,
    Difference,
)
from trueup.gait.device.conditions import CONDITION_NAMES, CONDITIONS

NAMES = {"effort": "effort", "metabolic_rate": "metabolic rate"}


def device_page(found: DeviceComparison) -> reports.Page:
    """Report page of a comparison, with the effects of the device first."""
    settings = found.settings
    ground = f"up {settings.slope:g} deg" if settings.slope else "on level ground"
    page = reports.Page(
        f"Device {settings.model}, up to {settings.max_torque:g} N m",
        f"Walks at {settings.speed:g} m/s {ground}, seeds: {len(found.of('with'))}",
        {"settings": settings.to_dict()},
    )
    metabolic, effort = found.difference("metabolic_rate"), found.difference("effort")
    page.add(reports.KeyFigures([_figure(metabolic), _figure(effort)]))
    page.add(reports.Findings([*_findings(found)]))
    page.add(_differences(found))
    page.add(_torques(found))
    page.add(_searches(found))
    return page


def _figure(found: Difference) -> reports.KeyFigure:
    name = f"{NAMES[found.quantity]} per kg of body mass, compared with no device"
    tone = ""
    if found.is_significant:
        tone = "good" if found.mean < 0.0 else "warning"
    known = np.isfinite(found.mean)
    value = f"{found.mean:+.1f} %" if known else "unknown"
    note = "one seed: no standard error"
    if np.isfinite(found.error):
        sure = f"p = {found.probability:.2g}" if found.is_significant else "not significant"
        note = f"± {found.error:.1f} %, {sure}"
    return reports.KeyFigure(value, name, "", note if known else "", tone)


def _findings(found: DeviceComparison) -> list[reports.Finding]:
    headline = found.difference("metabolic_rate")
    severity = "info"
    if headline.is_significant:
        severity = "good" if headline.mean < 0.0 else "warning"
    said = [
        reports.Finding(severity, found.headline, "differences"),
        reports.Finding("good" if found.is_natural else "warning", found.naturalness),
    ]
    for condition in CONDITIONS:
        fell = [one.seed for one in found.of(condition) if one.lasted < 19.9]
        if fell:
            seeds = ", ".join(map(str, fell))
            said.append(
                reports.Finding(
                    "warning",
                    f"The best walk falls within 20 s: {CONDITION_NAMES[condition]}, seed {seeds}.",
                )
            )
    if len(found.of("with")) < 3:
        said.append(
            reports.Finding(
                "warning",
                "Searches with different seeds differ by some percent: with fewer than three seeds "
                "no difference is significant.",
            )
        )
    return said


def _differences(found: DeviceComparison) -> reports.Section:
    rows = [
        [
            NAMES[one.quantity],
            CONDITION_NAMES[one.other],
            "body mass" if one.per_body else "total mass",
            one.mean if np.isfinite(one.mean) else None,
            one.error if np.isfinite(one.error) else None,
            one.probability if np.isfinite(one.probability) else None,
            "significant" if one.is_significant else "not significant",
        ]
        for one in found.differences
    ]
    columns: list[reports.Column | str] = [
        "quantity",
        "device on, compared with",
        "per kg of",
        reports.Column("difference", "%", digits=3, align="right"),
        reports.Column("standard error", "%", digits=2, align="right"),
        reports.Column("p", digits=2, align="right"),
        "",
    ]
    masses = ", ".join(
        f"{CONDITION_NAMES[condition]} {mass:.2f} kg" for condition, mass in found.masses.items()
    )
    said = (
        f"Means over pairs of seeds at {found.settings.speed:g} m/s, standard errors between the "
        f"pairs, and Student's test of pairs. Carried: {masses}."
    )
    return reports.Section("Differences", "differences", said, [reports.Table(columns, rows)])


def _torques(found: DeviceComparison) -> reports.Section:
    torques = [(one.seed, one.torque) for one in found.of("with") if one.torque is not None]
    cycle = np.linspace(0.0, 100.0, len(torques[0][1].power))
    figures = [
        reports.line_figure(
            [reports.Trace(f"seed {seed}", PERCENT, torque.torque) for seed, torque in torques],
            x_label="stance",
            x_unit="%",
            y_label="torque",
            y_unit="N m",
            markers=False,
            title="Torque of one side",
        ),
        reports.line_figure(
            [reports.Trace(f"seed {seed}", cycle, torque.power) for seed, torque in torques],
            x_label="gait cycle",
            x_unit="%",
            y_label="power",
            y_unit="W",
            markers=False,
            title="Power of the right side, mean over strides",
        ),
    ]
    columns: list[reports.Column | str] = [
        "seed",
        reports.Column("peak", "N m", digits=3, align="right"),
        reports.Column("peak at", "% of stance", digits=3, align="right"),
        reports.Column("rise", "s", digits=2, align="right"),
        reports.Column("fall", "s", digits=2, align="right"),
        reports.Column("stance", "s", digits=2, align="right"),
        reports.Column("work per stride", "J/kg", digits=2, align="right"),
    ]
    rows = [
        [
            seed,
            one.peak,
            one.peak_at,
            0.01 * one.rise * one.stance,
            0.01 * one.fall * one.stance,
            one.stance,
            one.work,
        ]
        for seed, one in torques
    ]
    content = [reports.figure_grid(figures, 2), reports.Table(columns, rows)]
    return reports.Section("Torque", "torque", "The same curves are in torque.csv.", content)


def _searches(found: DeviceComparison) -> reports.Section:
    columns: list[reports.Column | str] = [
        "walk",
        "seed",
        *(
            column
            for name, unit in QUANTITIES.items()
            for column in (
                reports.Column(NAMES[name], unit, digits=4, align="right"),
                reports.Column(f"error of {NAMES[name]}", digits=2, align="right"),
            )
        ),
        "complete walks",
        reports.Column("duration of the best walk", "s", digits=3, align="right"),
        reports.Column("at", "m/s", digits=4, align="right"),
        "perturbed repeats",
    ]
    rows = [
        [
            CONDITION_NAMES[one.condition],
            one.seed,
            *(
                value if np.isfinite(value) else None
                for name in QUANTITIES
                for value in (one.quantities[name].value, one.quantities[name].error)
            ),
            f"{one.quantities['effort'].lasted} of {one.quantities['effort'].walked}",
            one.lasted,
            one.speed if np.isfinite(one.speed) else None,
            f"{one.survived[0]} of {one.survived[1]}",
        ]
        for one in found.results
    ]
    said = (
        f"Values at {found.settings.speed:g} m/s per kg of total mass: linear regression over "
        "speed on the last candidates of each search that walk 20 s. Each search has a separate "
        "report in its folder."
    )
    return reports.Section("Searches", "searches", said, [reports.Table(columns, rows)])
