"""The report of an identification: what it says, how big it is, and that it is the same again."""

import dataclasses
import html
import re

import mujoco
import numpy as np
import pytest

from trueup import reports
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.recordings.channel_units import signal_units
from trueup.sysid.report import ReportBuilder, identification_report, save_path_of
from trueup.sysid.results.outputs import pack_signals
from trueup.sysid.results.recording_sections import shown_initial

CHANNELS = ("angle", "speed")


def row(name: str, **changes: object) -> dict[str, object]:
    values = {
        "name": name,
        "parameter": name,
        "value": 1.0,
        "low": 0.9,
        "high": 1.1,
        "standard_error": 0.05,
        "start": 0.5,
        "nominal": 0.5,
        "lower": 0.0,
        "upper": 2.0,
        "unit": "kg",
        "description": "",
        "target": [],
        "log": False,
        "at_bound": False,
        "determined": True,
    }
    return {**values, **changes}


def score(predictor: str, channel: str, rmse: float, part: str = "training") -> dict[str, object]:
    return {
        "part": part,
        "predictor": predictor,
        "channel": channel,
        "rmse": rmse,
        "fit_percent": 100 * (1 - rmse),
        "vaf": 90.0,
        "r2": 0.9,
        "samples": 100,
    }


def summary(**changes: object) -> dict[str, object]:
    scores = [
        score(predictor, channel, rmse, part)
        for part in ("training", "held-out")
        for channel in CHANNELS
        for predictor, rmse in (
            ("identified", 0.01),
            ("initial", 0.7),
            ("mean of training", 1.0),
            ("hold first value", 1.3),
        )
    ]
    return {
        "name": "arm",
        "status": "converged",
        "success": True,
        "message": "done",
        "advice": "",
        "cost": 1.0,
        "level": 0.95,
        "parameters": [row("mass"), row("gear")],
        "fixed": [],
        "covariance": {
            "names": ["mass", "gear"],
            "matrix": np.eye(2),
            "correlation": np.eye(2),
            "method": "auto",
            "reason": "white",
            "remarks": [],
        },
        "identifiability": {
            "identifiable": True,
            "singular_values": [2.0, 1.0],
            "condition": 2.0,
            "collinearity": {},
            "sentences": ["every parameter can be determined"],
            "directions": [],
            "weak": [],
            "no_effect": [],
            "determined": ["mass", "gear"],
        },
        "scores": scores,
        "residuals": [],
        "insights": [
            {"severity": "warning", "sentence": "mass is odd", "section": "parameters"},
            {"severity": "good", "sentence": "All is well.", "section": ""},
        ],
        "cross_validation": None,
        "quality": {},
        "notes": ["no <control> was recorded"],
        "history": [],
        "stats": {"evaluations": 3, "seconds": 1.0, "failed_evaluations": 0},
        "provenance": {"seed": 0},
        **changes,
    }


def signals(samples: int = 200, channels: tuple[str, ...] = CHANNELS) -> SequenceSignals:
    t = np.linspace(0, 10, samples)
    measured = np.stack([np.sin(t + k) for k in range(len(channels))], axis=1)
    noise = np.random.default_rng(0).normal(size=measured.shape)
    units = ("rad", "rad/s") * (len(channels) // 2)
    fitted = measured + 0.01 * noise
    return SequenceSignals("run", False, channels, t, measured, 0.3 * measured, fitted, units)


def text_of(page: ReportBuilder) -> str:
    """Visible text of a page, without the figures' data."""
    source = re.sub(r"<(script|style)\b.*?</\1>", " ", page.build(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", source)).split())


def test_panels_carry_units_and_the_score_of_each_of_several_recordings():
    page = identification_report(summary(), [signals()])
    assert "[rad/s]" in page.build()
    assert "angle · fit" not in text_of(page), "it is in the table of errors"
    again = dataclasses.replace(signals(), name="run_2")
    text = text_of(identification_report(summary(), [signals(), again]))
    assert len(re.findall(r"angle · fit 9\d\.\d %", text)) == 2


def test_findings_are_in_their_sections():
    source = identification_report(summary(), [signals()]).build()
    for anchor in ("verdict", "parameters", "signals", "scores", "identifiability", "residuals"):
        assert f'id="{anchor}"' in source


def test_scores_are_one_row_a_channel_and_name_what_is_better():
    scores = [
        score("identified", "angle", 1.2),
        score("initial", "angle", 1.1),
        score("mean of training", "angle", 1.0),
        score("hold first value", "angle", 2.0),
    ]
    text = text_of(identification_report(summary(scores=scores), [signals()]))
    assert "worse than the model before the fit and mean of training" in text
    assert "worse than" not in text_of(identification_report(summary(), [signals()]))


def test_errors_are_shown_with_three_digits():
    scores = [
        score("identified", "angle", 0.0123456),
        score("initial", "angle", 1.2345678),
        score("mean of training", "angle", 23.456789),
    ]
    horizons = [
        {
            "horizon": 0.5,
            "part": "training",
            "channel": "angle",
            "unit": "rad",
            "identified": 0.0345678,
            "initial": 0.456789,
            "state_held": 5.6789123,
            "velocity_held": 67.891234,
        }
    ]
    text = text_of(identification_report(summary(scores=scores, horizons=horizons), [signals()]))
    assert "angle rad 0.0123 1.23 23.5 " in text
    assert "angle rad 0.0346 5.68 " in text


def test_the_worst_channel_is_the_key_figure():
    scores = [score("identified", "angle", 0.01), score("identified", "speed", 0.4)]
    scores += [score("mean of training", c, 1.0) for c in CHANNELS]
    text = text_of(identification_report(summary(scores=scores), [signals()]))
    assert re.search(r"fit on training data, worst channel 60 ?%", text)


def test_an_interval_that_fills_the_bounds_is_not_determined():
    rows = [row("mass", low=0.0, high=2.0, determined=False), row("gear", at_bound=True)]
    text = text_of(identification_report(summary(parameters=rows), [signals()]))
    assert "not determined: the interval covers the bounds" in text
    assert "on a bound" in text


def test_an_undetermined_value_has_no_interval():
    rows = [row("mass", low=-np.inf, high=np.inf, determined=False), row("gear")]
    text = text_of(identification_report(summary(parameters=rows), [signals()]))
    assert "1 (undetermined)" in text


def test_directions_of_window_states_alone_are_counted_and_not_drawn():
    """Initial states of windows are unknowns as well, and no parameters of the report."""
    found = summary()["identifiability"]
    states = [{"coefficients": {f"speed_run#{i}": 1.0}, "sentence": ""} for i in range(8)]
    mixed = {"coefficients": {"gear": 0.5, "speed_run#2": 1.0}, "sentence": ""}
    for directions, weak, drawn in (([], states, False), (states, [mixed], True)):
        page = identification_report(
            summary(identifiability=found | {"directions": directions, "weak": weak}), [signals()]
        )
        text = text_of(page)
        assert "8 combinations hold initial states of windows only" in text
        assert ("Relative change of each parameter along the direction" in text) == drawn


def test_names_and_notes_are_escaped():
    page = identification_report(
        summary(notes=["<script>alert(1)</script>"], name="<b>arm</b>"), [signals()]
    )
    assert "<script>alert(1)" not in page.build()
    assert "<b>arm</b>" not in page.build()


def test_the_same_data_make_the_same_page():
    first = identification_report(summary(), [signals()]).build()
    assert first == identification_report(summary(), [signals()]).build()
    assert "https://" not in re.sub(r"<script\b.*?</script>", "", first, flags=re.DOTALL)


def test_many_samples_stay_small():
    channels = tuple(f"channel_{i}" for i in range(12))
    short = identification_report(summary(), [signals(1_000, channels)]).build()
    long = identification_report(summary(), [signals(60_000, channels)]).build()
    assert len(long) < 8e6
    assert len(long) < len(short) + 1e6


def test_a_wild_initial_model_does_not_flatten_the_figure():
    measured = np.sin(np.linspace(0, 6, 100))
    initial = measured + np.where(np.arange(100) < 50, 0.5, 1e9)
    shown = shown_initial(initial, measured)
    np.testing.assert_array_equal(shown[:50], initial[:50])
    assert np.isnan(shown[50:]).all()


def test_sections_can_be_added():
    page = identification_report(summary(), [signals()])
    assert page.add_section(reports.Section("Mine", content=["my own words"])) is page
    assert "my own words" in page.build()


@pytest.mark.parametrize(
    ("given", "expected"),
    [("out", "out/report.html"), ("out/arm.html", "out/arm.html"), ("a.b", "a.b/report.html")],
)
def test_where_a_report_goes(given: str, expected: str):
    assert save_path_of(given).as_posix() == expected


def test_units_of_signals():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint name="turn"/><geom size="0.1"/><site name="tip"/>
        <body><joint name="rail" type="slide"/><geom size="0.1"/></body></body></worldbody>
        <actuator><motor name="a" joint="turn"/><motor name="b" joint="turn" gear="50"/></actuator>
        <sensor><jointpos name="p" joint="turn"/><jointvel name="v" joint="rail"/>
        <actuatorfrc name="fa" actuator="a"/><actuatorfrc name="fb" actuator="b"/>
        <accelerometer name="acc" site="tip"/><jointactuatorfrc name="f" joint="rail"/></sensor>
        </mujoco>"""
    )
    wanted = {
        "p": "rad",
        "v": "m/s",
        "fa": "N m",
        "fb": "",
        "acc": "m/s^2",
        "f": "N",
        "turn_qpos": "rad",
        "rail_qvel": "m/s",
        "unknown": "",
    }
    assert signal_units([model], list(wanted)) == tuple(wanted.values())
    assert signal_units([], ["p"]) == ("",)


def test_packed_signals_hold_no_objects():
    assert b"pickle" not in pack_signals([signals()])


def test_a_page_of_many_recordings_shows_the_worst_and_stays_small():
    good = signals()
    parts = [dataclasses.replace(good, name=f"run_{k:03d}") for k in range(300)]
    parts[217] = dataclasses.replace(good, name="run_217", fitted=good.measured + 0.5)
    fine = {"findings": [{"severity": "info", "sentence": "500 samples."}]}
    odd = {"findings": [{"severity": "warning", "sentence": "The clock jumps."}]}
    quality = {part.name: odd if part.name == "run_250" else fine for part in parts}
    residuals = [
        {
            "sequence": part.name,
            "channel": "angle",
            "unit": "rad",
            "rms": 0.5 if part.name == "run_217" else 0.01,
            "lag_one": 0.9,
            "predictable": 0.8,
            "speed_ratio": None,
        }
        for part in parts
    ]
    notes = [f"run_{k:03d}: a note" for k in range(300)]
    page = identification_report(
        summary(quality=quality, residuals=residuals, notes=notes), [*parts]
    )
    one = identification_report(summary(), [good])
    assert len(page.build()) < len(one.build()) + 500_000
    text = text_of(page)
    assert "300 recordings or parts of recordings" in text
    assert "run_217" in text
    assert re.search(r"run_250\W.{0,40}The clock jumps\.", text)
    assert "288 more recordings, none of them with a warning" in text
    assert "281 more notes" in text
