"""Diagram of driving and backdriving, with findings as sentences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup import reports
from trueup.actuators.logs.servo_log import Array
from trueup.actuators.report._drive_backdrive import DriveBackdrive


def drive_backdrive_report(limits: Sequence[DriveBackdrive], labels: Sequence[str]) -> reports.Page:
    """Report with the diagram of each model and its key numbers.

    Args:
        limits: limits of each model.
        labels: name of each model.
    """
    servos = sorted({each.model.servo.title or each.model.servo.name for each in limits})
    page = reports.Page("Drive and backdrive", "; ".join(servos))
    page.add(reports.Section("How to read it", content=[reports.Text(_EXPLANATION)]))
    for each, label in zip(limits, labels, strict=True):
        findings = reports.Findings([("info", sentence) for sentence in sentences(each)])
        page.add(
            reports.Section(
                label, content=[findings, drive_backdrive_figure(each), limits_table(each)]
            )
        )
    return page


def drive_backdrive_figure(limits: DriveBackdrive, title: str = "") -> reports.Figure:
    """Figure of load limits against motor torque, a pair of curves for each speed."""
    low, high = _shown_range(limits)
    curves = []
    for row, speed in enumerate(limits.speeds):
        torque, load = _both_limits(limits, row)
        inside = np.where((load >= low) & (load <= high), load, np.nan)
        name = "at rest" if speed == 0 else f"{speed:g} rad/s"
        curves.append(reports.Trace(name, torque, inside))
    figure = reports.line_figure(
        curves,
        x_label="motor torque",
        x_unit="N m",
        y_label="load",
        y_unit="N m",
        markers=False,
        height=460,
        title=title,
        caption="Lower curve of each colour: the motor drives up to this load. Upper curve: the "
        "load drives the motor back from here on. Load: external torque against the motor.",
    )
    plot = figure.plots[0]
    layout = dict(plot.layout)
    top = float(limits.motor[-1])
    layout["yaxis"] = {**layout["yaxis"], "range": [low, high], "zeroline": True}
    layout["xaxis"] = {**layout["xaxis"], "range": [0.0, top]}
    layout["annotations"] = [
        _note("the load drives the motor back", 0.03 * top, low + 0.97 * (high - low), "left"),
        _note("the motor drives the load", 0.97 * top, low + 0.04 * (high - low), "right"),
    ]
    return replace(figure, plots=(replace(plot, layout=layout),))


def limits_table(limits: DriveBackdrive) -> reports.Table:
    """Table of friction and efficiency at each speed."""
    rows = []
    for row, speed in enumerate(limits.speeds):
        forward, backward = limits.efficiencies(row)
        rows.append(
            [
                float(speed),
                float(limits.no_load_torque[row]),
                limits.at_zero_torque(row),
                100 * forward,
                100 * backward,
            ]
        )
    top = f"{limits.motor[-1]:.3g} N m"
    return reports.Table(
        [
            reports.Column("speed", "rad/s"),
            reports.Column("motor, no load", "N m", digits=3),
            reports.Column("load, motor off", "N m", digits=3),
            reports.Column("forward", "%", digits=3, note="efficiency"),
            reports.Column("backward", "%", digits=3, note="efficiency"),
        ],
        rows,
        notes=[
            "Motor, no load: torque of the motor that turns the unloaded joint. Load, motor off: "
            "load that turns it against friction only; ∞: none does.",
            f"Efficiencies at a motor torque of {top}. Forward: load over motor torque while the "
            "motor drives. Backward: motor torque over load while the load drives; 0 if the "
            "gear is self-locking.",
        ],
    )


def sentences(limits: DriveBackdrive) -> list[str]:
    """Findings of the diagram, as sentences."""
    top, slowest = limits.motor[-1], limits.speeds[0]
    where = "at rest" if slowest == 0 else f"at {slowest:g} rad/s"
    forward, backward = limits.efficiencies(0)
    no_load = limits.no_load_torque[0]
    found = [
        f"With the motor off, {where}, friction holds a load of up to "
        f"{limits.breakaway_torque:.3g} N m."
        if np.isfinite(limits.breakaway_torque)
        else f"With the motor off, {where}, no load turns the joint: the gear is self-locking.",
        f"Without a load the motor turns the joint, {where}, with {no_load:.3g} N m; at "
        f"{top:.3g} N m it moves a load of {100 * forward:.0f} % of its torque."
        if np.isfinite(no_load)
        else f"The motor does not turn the unloaded joint {where}: its own friction grows faster "
        "than its torque.",
    ]
    if backward > 0:
        found.append(
            f"To push the motor back against {top:.3g} N m, {where}, a load of "
            f"{limits.backdrive[0, -1]:.3g} N m is required: the motor holds "
            f"{1 / backward:.2f} times its torque (efficiency backward {100 * backward:.0f} %)."
        )
    else:
        found.append(
            f"No load pushes the motor back against {top:.3g} N m: the gear is self-locking."
        )
    if limits.speeds.size > 1:
        held = limits.backdrive[:, -1] - limits.drive[:, -1]
        if np.isfinite(held[[0, -1]]).all():
            found.append(
                f"The band in which friction holds the joint is {held[0]:.3g} N m wide {where} and "
                f"{held[-1]:.3g} N m at {limits.speeds[-1]:g} rad/s."
            )
    return found


_EXPLANATION = """\
The horizontal axis is the motor torque, the vertical axis the load torque against it. Without
friction both limits would be the diagonal. Friction opens a band around the diagonal. Below the
band the motor drives the load, above it the load drives the motor back; within it a joint at rest
stays at rest, and a moving one slows down.

At the left edge the motor is off: the upper curve starts at the load that friction alone can hold.
Where the lower curve crosses zero, the motor turns the unloaded joint. A band of constant width is
friction that does not depend on the load (M1, M2). A band that opens to the right is friction of a
loaded gear (M3 to M6): the slope of the lower curve is the efficiency with which the motor drives,
the inverse slope of the upper one the efficiency with which the load drives back. The bands of M5
and M6 may open more to one side than to the other.

Colours are speeds: the Stribeck part narrows the band when the joint begins to move, viscous
friction widens it again."""


def _both_limits(limits: DriveBackdrive, row: int) -> tuple[Array, Array]:
    """Lower and upper limit at a speed, as one curve with a gap."""
    torque = np.concatenate([limits.motor, [np.nan], limits.motor])
    load = np.concatenate([limits.drive[row], [np.nan], limits.backdrive[row]])
    return torque, np.where(np.isfinite(load), load, np.nan)


def _shown_range(limits: DriveBackdrive) -> tuple[float, float]:
    """Axis range of the load [N m]: all lower limits, upper ones to 2.5 times the motor torque."""
    top = float(limits.motor[-1])
    finite = limits.drive[np.isfinite(limits.drive)]
    low = min(float(finite.min()) if finite.size else 0.0, 0.0)
    above = limits.backdrive[np.isfinite(limits.backdrive)]
    high = min(float(above.max()) if above.size else 2 * top, 2.5 * top)
    margin = 0.03 * (high - low)
    return max(low, -top) - margin, high + margin


def _note(text: str, x: float, y: float, anchor: str) -> dict[str, object]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xanchor": anchor,
        "showarrow": False,
        "font": {"color": "@muted", "size": 12},
    }
