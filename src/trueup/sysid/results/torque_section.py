"""Section of the report on inverse dynamics."""

from collections.abc import Sequence
from typing import Any

from trueup import reports
from trueup.sysid.results.identifiability_section import tone_of
from trueup.sysid.results.parameter_sections import base_table


def torque_section(
    torque: dict[str, Any],
    findings: Sequence[reports.Finding] = (),
    with_base: bool = True,
    is_fit: bool = False,
) -> reports.Section:
    """Torque errors, the cross-check and base parameters.

    Args:
      torque: ``torque`` of a summary.
      findings: findings on inverse dynamics.
      with_base: include the base parameters; False if the page has them elsewhere.
      is_fit: whether the parameters were fitted to torques, so that there is no second fit.
    """
    content: list[Any] = [reports.Findings(list(findings))] if findings else []
    content.append(_errors(torque, is_fit))
    compared = [r for r in torque["parameters"] if not is_fit]
    if compared:
        content.append(_compared(compared))
    if torque["base_parameters"] and with_base:
        table = base_table(torque["base_parameters"])
        content.append(reports.Group("Base parameters", table, collapsed=True))
    return reports.Section(
        "Inverse dynamics",
        "inverse-dynamics",
        content=content,
        collapsed=True,
        tone=tone_of(findings),
    )


def _errors(torque: dict[str, Any], is_fit: bool) -> reports.Table:
    rows = torque["errors"]
    kinds = [("identified", "identified"), ("before", "initial")]
    if not is_fit:
        kinds.append(("fit to torques", "torque_fit"))
    kinds.append(("least squares", "plain_least_squares"))
    tried = ", ".join(f"{corner:g} Hz {error:.3g}" for corner, error in torque["tried"])
    second = "" if is_fit else "Fit to torques: the same parameters fitted to torques. "
    return reports.Table(
        ["joint", "data", *(reports.Column(title, digits=3) for title, _ in kinds)],
        [[r["channel"], r["part"], *(r[key] for _, key in kinds)] for r in rows],
        notes=[
            "Root mean square difference between the recorded torque, not filtered, and that of "
            f"inverse dynamics of the recorded motion [N m, N]. {second}Least squares: "
            f"{rows[0]['columns']} free columns, possibly not physical. Motion after a zero-phase "
            f"filter of {torque['corner']:g} Hz; error on the last quarters of training "
            f"recordings, over the spread: {tried}.",
            _own_error(torque.get("own_error")),
            _timing(torque),
        ],
    )


def _compared(rows: Sequence[dict[str, Any]]) -> reports.Table:
    """Values of the simulation and of torques, both rounded by the interval of the second."""
    body = []
    for r in rows:
        half = r["torque_half_width"]
        torque = reports.format_interval(r["torque"], half)
        own = reports.format_rounded(r["simulation"], half)
        body.append([r["name"], own, torque, "" if r["agrees"] else "disagree"])
    return reports.Table(
        [
            "parameter",
            reports.Column("simulation", align="right"),
            reports.Column("torque", align="right"),
            "remark",
        ],
        body,
        highlights=[reports.Highlight("remark", bool, "serious")],
    )


def _timing(torque: dict[str, Any]) -> str:
    """Sentence on held controls and on samples near rest."""
    held = (
        "Controls are held from their sample to the next: each is compared as the mean of those "
        "before and after it."
        if torque.get("held")
        else "Controls are compared as sampled: the recordings do not show that they are held."
    )
    rest = ", ".join(
        f"{joint} below {found['speed']:.2g} ({100 * found['share']:.2g} %)"
        for joint, found in torque.get("near_rest", {}).items()
    )
    if not rest:
        return f"{held} All samples count, also those near rest."
    return (
        f"{held} Samples near rest, whose friction is not that of sliding, are left out where that "
        f"determines friction better (rad/s or m/s, share of samples): {rest}."
    )


def _own_error(found: dict[str, Any] | None) -> str:
    """Sentence on the error of inverse dynamics itself."""
    if found is None:
        return (
            "The error of inverse dynamics itself (torques held over a step, friction at rest, "
            "filter) is not subtracted: a simulation along the recordings does not show it."
        )
    sizes = ", ".join(f"{joint} {size:.2g}" for joint, size in found["rms"].items())
    how = "held between samples" if found["control"] == "zoh" else "linear between samples"
    return (
        "The error of inverse dynamics itself, found by a simulation of the model along the "
        f"recordings with torques {how}, is subtracted (RMS in N m or N: {sizes})."
    )
