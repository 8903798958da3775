"""The page of an identification: the answer first, each number once, links in physical terms."""

import dataclasses
import html
import re
from typing import Any

import numpy as np
import pytest
from test_report import row, score, signals, summary, text_of

from trueup.cli.robot.identify import error_table, parameter_tables
from trueup.sysid.report import identification_report
from trueup.sysid.results.error_section import channel_errors


def verdict(grade: str = "use", reasons: int = 1, **baselines: float) -> dict[str, Any]:
    return {
        "grade": grade,
        "reasons": [
            {"grade": grade, "sentence": f"Reason number {k}.", "section": "scores"}
            for k in range(reasons)
        ],
        "comparisons": [
            {
                "channel": channel,
                "measure": "RMSE",
                "unit": "rad",
                "held_out": True,
                "error": 0.01,
                "baselines": {"the model before the fit": 0.7, "the last state held": 0.5},
                "resolution": 0.0,
            }
            for channel in ("angle", "speed")
        ],
        "criteria": [],
    }


def page(changes: dict[str, Any] | None = None, held_out: bool = True) -> str:
    whole = summary(verdict=verdict(), **(changes or {}))
    parts = [signals()]
    if held_out:
        parts.append(dataclasses.replace(signals(), name="run_2", held_out=True))
    return identification_report(whole, parts).build()


def sections(source: str) -> list[tuple[str, bool]]:
    """Anchor of each section, and whether it is open."""
    found = re.findall(r'<section id="([\w-]+)"[^>]*>\s*<details class="section"( open)?', source)
    return [(anchor, bool(state)) for anchor, state in found]


def unfolded(source: str) -> str:
    """Visible text of what is open when the page is loaded."""
    source = re.sub(r"<(script|style)\b.*?</\1>", " ", source, flags=re.DOTALL)
    source = source[source.index('<main id="content">') :]
    for kind in ("fold", "section"):
        source = re.sub(
            rf'<details class="{kind}">(?:(?!<details).)*?</details>', " ", source, flags=re.DOTALL
        )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", source)).split())


def test_the_answer_the_parameters_and_the_held_out_data_are_open_the_rest_is_folded():
    found = sections(page())
    assert [anchor for anchor, _ in found[:4]] == ["verdict", "parameters", "signals", "scores"]
    assert [anchor for anchor, is_open in found if is_open] == ["verdict", "parameters", "signals"]
    assert {"identifiability", "residuals", "course", "data-quality"} <= dict(found).keys()


def test_held_out_data_are_open_and_data_of_the_fit_folded():
    assert "run_2: held out of the fit" in unfolded(page())
    assert "run_2" not in unfolded(page(held_out=False))
    text = page()
    assert text.index("run_2: held out of the fit") < text.index("Data of the fit")


def test_each_error_stands_once():
    """RMSE of training and held-out data, identified, before the fit and of the best baseline."""
    scores = [
        score(predictor, "angle", rmse, part)
        for part, factor in (("training", 1.0), ("held-out", 2.0))
        for predictor, rmse in (
            ("identified", 0.0123 * factor),
            ("initial", 0.717 * factor),
            ("mean of training", 0.931 * factor),
        )
    ]
    text = text_of(identification_report(summary(scores=scores), [signals()]))
    for number in ("0.0123", "0.0246", "0.717", "1.43", "0.931", "1.86"):
        assert len(re.findall(rf"(?<![\d.]){re.escape(number)}(?![\d])", text)) == 1, number


def test_the_best_baseline_is_that_of_the_verdict():
    errors = channel_errors(summary(verdict=verdict()))
    assert errors["angle"]["held-out"].baseline == 0.5
    assert errors["angle"]["held-out"].baseline_name == "the last state held"
    assert errors["angle"]["training"].baseline == 1.0  # the verdict compares held-out data here
    old = channel_errors(summary())
    assert old["angle"]["held-out"].baseline_name == "mean of training"


def test_findings_of_the_verdict_are_not_repeated():
    again = {"severity": "problem", "sentence": "Reason number 0.", "section": "scores"}
    source = page({"insights": [again, {**again, "sentence": "Another one"}]})
    assert source.count("Reason number 0.") == 1
    assert source.count("Another one.") == 1


def test_a_likely_cause_is_the_first_block_and_old_runs_have_none():
    causes = [{"cause": "delay", "share": 0.8, "sentence": "Commands act 12 ms late"}]
    text = unfolded(page({"causes": causes}))
    where = text.index("Most likely cause")
    assert text.count("Commands act 12 ms late (80 % of the error).") == 1
    assert where < text.index("Reason number 0") < text.index("What next")
    assert "Most likely cause" not in page()
    without = {k: v for k, v in summary().items() if k not in ("verdict", "links", "causes")}
    assert "parameters determined" in text_of(identification_report(without, [signals()]))


QUANTITIES = (("mass", "kg", 1.99, 0.25, 2.0), ("centre x", "m", 0.0051, 0.0002, 0.005))


def with_links() -> dict[str, Any]:
    rows = [row(f"upper[{k}]", parameter="upper", value=-3.3369, unit="") for k in range(10)]
    for joint in ("shoulder", "elbow"):
        for name in ("armature", "damping"):
            target = [f"joint/{joint}/{name}"]
            rows.append(row(f"{name}_{joint}", target=target, value=0.5, low=0.48, high=0.52))
    insights = [
        {
            "severity": "warning",
            "sentence": f"upper[{k}] and upper[{k + 1}] are not distinguishable: increasing ... %",
            "section": "identifiability",
        }
        for k in range(9)
    ]
    quantities = [
        {"name": n, "unit": u, "value": v, "half_width": h, "cad": c, "from_data": n != "mass"}
        for n, u, v, h, c in QUANTITIES
    ]
    torque = {
        "corner": 10.0,
        "tried": [[10.0, 0.1]],
        "errors": [
            {
                "channel": "shoulder torque",
                "part": "training",
                "identified": 0.1,
                "initial": 1.0,
                "torque_fit": 0.1,
                "plain_least_squares": 0.1,
                "columns": 10,
            }
        ],
        "parameters": [],
        "base_parameters": [
            {
                "words": "upper Iyy + 0.16 fore m",
                "value": 0.32,
                "half_width": 0.01,
                "model_value": 0,
            }
        ],
    }
    covariance = {
        "names": [r["name"] for r in rows],
        "correlation": np.eye(len(rows)),
        "reason": "white",
        "remarks": [],
    }
    return {
        "parameters": rows,
        "links": [{"body": "upper", "parameter": "upper", "quantities": quantities}],
        "insights": insights,
        "covariance": covariance,
        "torque": torque,
    }


def test_a_whole_robot_leads_with_masses_centres_and_joints():
    source = page(with_links())
    part = unfolded(source)
    part = part[part.index("Parameters Links") :]
    assert re.search(r"upper 1\.99 ± 0\.25 2\.00 5\.10 ± 0\.20 5\.00", part), "with CAD, in mm"
    assert part.index("Links") < part.index("Joints") and "upper Iyy" not in part
    assert source.index("Joints") < source.index("Base parameters") < source.index("upper Iyy")
    assert re.search(r"shoulder 0\.500 ± 0\.020 0\.5 0\.500 ± 0\.020", part)


def test_coordinates_of_inertia_are_nowhere_on_the_page():
    source = page(with_links())
    text = " ".join(re.sub(r"<[^>]+>", " ", source).split())
    assert "upper[" not in source and "upper_[" not in source
    assert "-3.336" not in text
    assert text.count("not distinguishable") == 0
    assert "9 combinations of them stay at the prior" in text


def test_the_terminal_has_the_numbers_of_the_page():
    whole = summary(verdict=verdict(), **with_links())
    (heads, (link,)), (_, others) = parameter_tables(whole)
    assert heads[1:] == ["mass [kg]", "centre x [mm]"]
    assert link == ["upper", "1.99 ± 0.25 (2.00)", "5.10 ± 0.20 (5.00)"]
    assert [cells[:2] for cells in others[:1]] == [["armature_shoulder", "0.500 ± 0.020"]]
    text = unfolded(page(with_links()))
    for cells in others:
        assert cells[1] in text
    columns, rows = error_table(whole)
    assert columns[:5] == ["channel", "data", "RMSE", "before", "best baseline"]
    assert [cells[:2] for cells in rows] == [
        ["angle", "held-out"],
        ["speed", "held-out"],
        ["angle", "training"],
        ["speed", "training"],
    ]
    assert rows[0][2:] == ["0.01", "0.7", "0.5", "99.00 %", ""]


def test_many_joints_are_one_table_and_a_remark_is_readable_without_a_mouse():
    rows = [
        row(f"{joint}_{name}", target=[f"joint/{joint}/{name}"], at_bound=joint == "j2")
        for joint in ("j1", "j2", "j3")
        for name in ("armature", "damping", "frictionloss")
    ]
    covariance = {"names": [], "correlation": [], "reason": "", "remarks": []}
    text = unfolded(page({"parameters": rows, "covariance": covariance}))
    assert "joint armature kg damping kg frictionloss kg j1" in text
    assert "j2_armature: on a bound." in text


def horizon(value: float | str, channel: str, identified: float) -> dict[str, Any]:
    return {
        "horizon": value,
        "channel": channel,
        "unit": "rad",
        "part": "held-out",
        "identified": identified,
        "initial": 0.7,
        "state_held": 0.5,
        "velocity_held": 0.2,
    }


def test_errors_by_horizon_are_one_row_a_channel_and_mark_what_is_worse():
    rows = [
        horizon(value, channel, error)
        for channel, error in (("angle", 0.1), ("speed", 0.3))
        for value in (0.1, "whole")
    ]
    source = page({"horizons": rows})
    part = source[source.index('<section id="horizons"') :]
    part = part[: part.index("</section>")]
    assert len(re.findall(r"<tr>", part[part.index("<tbody>") :])) == 2
    assert part.count('class="right tone-serious"') == 2  # both of speed
    assert part.count('title="velocity held"') == 4


@pytest.mark.parametrize("count", [4, 20])
def test_many_channels_are_folded(count: int):
    channels = tuple(f"channel_{k}" for k in range(count))
    parts = [dataclasses.replace(signals(channels=channels), held_out=True)]
    source = identification_report(summary(verdict=verdict()), parts).build()
    text = unfolded(source)
    assert sum(f"channel_{k} " in f"{text} " for k in range(count)) == min(count, 6)
    assert ("14 more channels" in source) == (count == 20)
