"""Section of the report on inverse dynamics."""

from typing import Any

from trueup import reports


def torque_section(torque: dict[str, Any]) -> reports.Section:
    """Torque errors, the cross-check and base parameters.

    Args:
      torque: ``torque`` of a summary.
    """
    rows = torque["errors"]
    tried = ", ".join(f"{corner:g} Hz {error:.3g}" for corner, error in torque["tried"])
    content: list[Any] = [
        reports.Table(
            [
                "joint",
                "data",
                reports.Column("RMSE identified", digits=3),
                reports.Column("RMSE initial", digits=3),
                reports.Column("RMSE torque fit", digits=3),
                reports.Column("RMSE least squares", digits=3),
            ],
            [
                [
                    r["channel"],
                    r["part"],
                    r["identified"],
                    r["initial"],
                    r["torque_fit"],
                    r["plain_least_squares"],
                ]
                for r in rows
            ],
            notes=[
                "Root mean square difference between the recorded torque and the torque from "
                "inverse "
                "dynamics of the recorded motion [N m, N]. Torque fit: the same parameters fitted "
                "to "
                f"torques. Least squares: {rows[0]['columns']} free columns, possibly not "
                f"physical. Motion after a zero-phase filter of {torque['corner']:g} Hz; error on "
                f"the last quarters of training recordings, over the spread: {tried}.",
                _own_error(torque.get("own_error")),
            ],
        )
    ]
    if torque["parameters"]:
        content.append(
            reports.Table(
                ["parameter", "simulation", "torque", "+-", "remark"],
                [
                    [
                        r["name"],
                        r["simulation"],
                        r["torque"],
                        r["torque_half_width"],
                        "" if r["agrees"] else "disagree",
                    ]
                    for r in torque["parameters"]
                ],
                highlights=[reports.Highlight("remark", bool, "serious")],
            )
        )
    if torque["base_parameters"]:
        content.append(
            reports.Table(
                ["combination", "value", "+-", "model"],
                [
                    [p["words"], p["value"], p["half_width"], p["model_value"]]
                    for p in torque["base_parameters"]
                ],
                notes=[
                    "Combinations that the motion determines, by least squares with the noise of "
                    "each joint; m mass, mc first moment, I moment of inertia about the origin of "
                    "the body."
                ],
            )
        )
    return reports.Section("Inverse dynamics", "inverse-dynamics", content=content)


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
