"""Comparison of walks with a device and without: conditions, statistics, files, refusals."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from trueup.cli import main
from trueup.cli.settings import settings_of
from trueup.errors import GaitError
from trueup.gait import DeviceSettings
from trueup.gait.device.comparison import (
    ConditionResult,
    Difference,
    Measured,
    Torque,
    at_speed,
    compared,
    torque_of,
)
from trueup.gait.device.conditions import CONDITIONS
from trueup.gait.device.report import device_page
from trueup.gait.report.walk_verdict import KEEPS_SPEED, LASTS, SURVIVES, natural_criteria
from trueup.gait.walk.gait_cycle import Stride


def difference(*changes):
    return Difference("effort", "with", "without", True, np.array(changes))


def arm_result(condition, seed, effort=0.01, rate=4.0):
    known = {"effort": Measured(effort, 1e-5, 9, 10), "metabolic_rate": Measured(rate, 0.1, 9, 10)}
    torque = None
    if condition == "with":
        curve = np.interp(np.arange(101), [0, 20, 50, 80, 100], [0, 0, 30, 0, 0])
        torque = Torque(curve, 30.0, 50.0, 30.0, 30.0, 0.6, 0.2, np.zeros(101))
    return ConditionResult(condition, seed, known, 20.0, 1.25, (15, 20), torque)


@pytest.fixture
def searched(monkeypatch):
    """Searches that take no time: the device saves a tenth of the rate, and 2, 3 ... seeds differ
    a little. The list holds what was searched."""
    calls = []

    def optimize(configuration, run, **_):
        calls.append((configuration, run.name))
        run.mkdir()
        for name in ("run.json", "report.html"):
            (run / name).write_text("{}")

    def measured(condition, run):
        seed = int(run.name.rpartition("-")[2])
        rate = {"with": 3.6, "off": 4.1, "without": 4.0}[condition] * (1.0 + 0.001 * seed)
        return arm_result(
            condition, seed, rate=rate + (0.01 * seed if condition == "with" else 0.0)
        )

    own = "trueup.gait.device._compare"
    monkeypatch.setattr(f"{own}.optimize", optimize)
    monkeypatch.setattr(f"{own}.condition_result", measured)
    monkeypatch.setattr(f"{own}.RunDirectory", SimpleNamespace(open=lambda path: path))
    return calls


def called(capsys, *words):
    code = main(["gait", "device", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_chance_may_give_is_not_significant():
    sure, unsure, one = difference(-5.0, -5.2, -4.9), difference(-5.0, 4.0, -1.0), difference(-5.0)
    assert sure.is_significant and sure.words == "-5.0 ± 0.1 %"
    assert not unsure.is_significant and unsure.words.endswith(", not significant")
    assert not one.is_significant and "no standard error" in one.words
    assert not difference(-5.0, -5.0, np.nan).is_significant
    assert difference(np.nan).words == "unknown: too few walks are complete"


def test_quantities_are_compared_at_equal_speed_among_walks_that_last():
    speed = np.linspace(1.1, 1.4, 13)
    effort = 0.01 - 0.002 * (speed - 1.25)
    terms = {"speed": speed, "effort": effort, "lasted": np.full(13, 20.0)}
    found = at_speed(terms, "effort", 1.25)
    assert found.value == pytest.approx(0.01) and found.lasted == 13
    lasted = np.where(speed < 1.25, 20.0, 3.0)  # those that fall have other efforts
    falls = at_speed({**terms, "effort": np.where(lasted > 5, effort, 9.0), "lasted": lasted},
                     "effort", 1.25)  # fmt: skip
    assert falls.value == pytest.approx(0.01) and falls.lasted == 6
    few = at_speed({**terms, "lasted": np.where(speed < 1.2, 20.0, 3.0)}, "effort", 1.25)
    assert np.isnan(few.value)


def test_a_kg_of_the_body_counts_without_the_device():
    results = [arm_result(condition, seed) for seed in range(3) for condition in CONDITIONS]
    found = compared(DeviceSettings(), results)
    heavier = found.masses["with"] / found.masses["without"] - 1.0
    assert 0.02 < heavier < 0.03 and found.masses["off"] == found.masses["with"]
    per_body = found.difference("effort").mean
    assert per_body == pytest.approx(100.0 * heavier)
    assert found.difference("effort", per_body=False).mean == 0.0
    assert found.difference("effort", "off").mean == pytest.approx(0.0)


def test_the_torque_has_a_peak_and_times():
    stride = Stride(0, 0, 60, 100)
    series = SimpleNamespace(
        strides=lambda leg: [stride], period=0.01, mass=80.0, device_power=np.full((101, 2), 10.0)
    )
    found = torque_of(np.array([0.0, 20.0, 50.0, 90.0, 100.0]), np.array([0, 0, 30, 0, 0]), series)
    assert (found.peak, found.peak_at, found.stance) == (30.0, 50.0, 0.6)
    assert found.rise == pytest.approx(30.0, abs=3.0) and found.fall == pytest.approx(40.0, abs=3.0)
    assert found.work == pytest.approx(2 * 10.0 / 80.0)


def test_arms_have_the_same_search_and_differ_by_the_device():
    with_device, off, without = [
        DeviceSettings().configuration(condition, 2) for condition in CONDITIONS
    ]
    assert (with_device.exo, with_device.model) == (True, "ankle")
    assert (off.exo, off.model, without.model) == (False, "ankle", "baseline")
    assert set(with_device.moved) - set(off.moved) == {"exoskeleton"} and off.moved == without.moved
    differ = ("says", "ExoOn", "model", "moved", "start_values")
    same = [{k: v for k, v in one.to_dict().items() if k not in differ} for one in
            (with_device, off, without)]  # fmt: skip
    assert same[0] == same[1] == same[2] and same[0]["seed"] == 2


def test_the_command_writes_a_page_and_tables(searched, capsys, tmp_path):
    folder = tmp_path / "device"
    code, answer = called(capsys, "--seeds", 3, "--output", folder)
    assert code == 0 and len(searched) == 9
    found = {(d["quantity"], d["compared_with"], d["per"]): d for d in answer["differences"]}
    saved = found["metabolic_rate", "without", "carried mass"]
    assert saved["significant"] and saved["mean_percent"] == pytest.approx(-9.75, abs=0.1)
    effort = found["effort", "off", "carried mass"]
    assert not effort["significant"] and effort["mean_percent"] == 0.0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "not significant" in page and "Metabolic rate with the device ankle" in page
    lines = (folder / "torque.csv").read_text().splitlines()
    assert lines[0].startswith("# seed 0: peak 30 N m at 50 % of stance, rise 0.18 s, fall 0.18 s")
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == 101 and float(rows[50]["torque_Nm_mean"]) == 30.0
    results = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert len(results) == 18 and {row["arm"] for row in results} == set(CONDITIONS)


def criterion(name, value, limit, at_most=True):
    met = value <= limit if at_most else value >= limit
    return {"name": name, "value": value, "limit": limit, "at_most": at_most, "met": met,
            "unit": "deg"}  # fmt: skip


def test_the_page_says_how_natural_the_walk_without_the_device_is():
    own, settings = criterion("trunk", 7.0, 12.0), DeviceSettings(seeds=2)
    stamps, bent = criterion("hip", 14.3, 9.0), criterion("knee", 2.0, 8.0, at_most=False)

    def comparison(*natural):
        results = [arm_result(one, seed) for one in CONDITIONS for seed in range(2)]
        found = dict(enumerate(natural))
        results = [
            replace(one, natural=found.get(one.seed, ())) if one.condition == "without" else one
            for one in results
        ]
        return compared(settings, results)

    wrong = comparison([own], [own, stamps, bent])
    assert not wrong.is_natural
    assert "misses 2 of 3 criteria (seed 1)" in wrong.naturalness
    assert "hip 14.3 deg (at most 9); knee 2 deg (at least 8)" in wrong.naturalness
    assert wrong.naturalness in device_page(wrong).html()
    right = comparison([own], [own])
    assert right.is_natural and "by all of its 1 criteria" in right.naturalness
    assert not comparison().is_natural and "is unknown" in comparison().naturalness
    assert not comparison([own]).is_natural


def test_criteria_of_a_steady_walk_are_not_those_of_a_natural_one():
    names = [LASTS, f"{KEEPS_SPEED} 1.25 m/s", f"level: {SURVIVES}", "cadence", "hip angle"]
    verdict = {"criteria": [criterion(name, 1.0, 2.0) for name in names]}
    assert [one["name"] for one in natural_criteria(verdict)] == ["cadence", "hip angle"]
    assert natural_criteria({}) == []


def test_a_comparison_goes_on_with_more_seeds_but_not_with_another_device(
    searched, capsys, tmp_path
):
    folder = tmp_path / "device"
    assert called(capsys, "--seeds", 1, "--output", folder)[0] == 0
    code, answer = called(capsys, "--seeds", 2, "--output", folder)
    assert code == 2 and "--resume" in answer["message"]
    code, answer = called(capsys, "--model", "hip", "--output", folder, "--resume")
    assert code == 2 and "another model" in answer["message"]
    assert len(searched) == 3
    assert called(capsys, "--seeds", 2, "--output", folder, "--resume")[0] == 0
    assert len(searched) == 6  # those of the first seed are not searched again
    words = ("--seeds", 1, "--model", "hip", "--max-torque", 20, "--overwrite")
    assert called(capsys, *words, "--output", folder)[0] == 0
    assert len(searched) == 9 and not (folder / "with-1").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "hipp"), "unknown device 'hipp'; available: 'ankle', 'hip'"),
        (("--max-torque", 200), "at most 150 N m"),
        (("--max-torque", 0), "must be above 0"),
        (("--seeds", 0), "must be from 1 to 100"),
        (("start=nominal",), "the nominal vector does not walk"),
        (("start=nowhere",), "nowhere"),
        (("popsize=2",), "popsize"),
    ],
)
def test_comparisons_that_cannot_be_leave_nothing(capsys, tmp_path, words, told):
    folder = tmp_path / "device"
    code, answer = called(capsys, *words, "--output", folder)
    assert code == 2 and told in answer["message"]
    assert not folder.exists()


def test_a_device_without_mass_is_refused(monkeypatch):
    device = SimpleNamespace(parts={}, torque=150.0)
    monkeypatch.setattr("trueup.gait.models.attachments.shipped_devices", lambda: {"ankle": device})
    with pytest.raises(GaitError, match="'ankle' has no mass"):
        DeviceSettings()


GIVEN = {"model": ("hip", "hip"), "max_torque": (33.0, "33"), "seeds": (2, "2")}
"""A value of each setting that is an option, other than its default, and its text."""


@pytest.mark.parametrize("name", settings_of(DeviceSettings))
def test_an_option_and_its_key_give_the_same_settings(monkeypatch, name):
    found: list[DeviceSettings] = []

    def compare_device(folder, settings, **_):
        found.append(settings)
        raise GaitError("searches nothing")

    monkeypatch.setattr("trueup.gait.compare_device", compare_device, raising=False)
    further = {"start": ("shipped", "shipped"), "speed": (1.0, "1"), "slope": (-5.0, "-5")}
    further |= {"popsize": (8, "8"), "maxiter": (3, "3")}
    value, text = {**GIVEN, **further}[name]
    main(["gait", "device", f"{name}={text}"])
    if settings_of(DeviceSettings)[name].option is not None:
        main(["gait", "device", f"--{name.replace('_', '-')}", text])
        main(["gait", "device", f"--{name}={text}"])
    assert len(found) == (3 if name in GIVEN else 1)
    assert all(settings == DeviceSettings(**{name: value}) for settings in found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--popsize", 8), "has no option --popsize; give it as popsize=VALUE"),
        (("--maxiter", 8), "give it as maxiter=VALUE"),
        (("speeed=1",), "unknown key 'speeed'"),
        (("speed=1", "speed=1.2"), "speed is given twice"),
        (("--seeds", 2, "seeds=3"), "seeds is given twice"),
        (("speed=",), "speed requires a value"),
        (("seeds=1.5",), "seeds=1.5: "),
        (("slope=steep",), "slope=steep: "),
        (("slope=90",), "tgt_slope"),
        (("speed=5",), "at most 4 m/s"),
    ],
)
def test_wrong_keys_of_a_comparison(capsys, tmp_path, words, message):
    code, answer = called(capsys, *words, "--output", tmp_path / "device")
    assert code == 2 and message in answer["message"]
    assert not (tmp_path / "device").exists()


def test_a_start_is_relative_to_the_working_folder(searched, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trueup.gait.device._compare.mark_of_file", lambda *_, **__: None)
    assert called(capsys, "start=runs/uphill", "--seeds", 1, "--save_path", "out")[0] == 0
    assert {one.param_path for one, _ in searched} == {str(tmp_path / "runs/uphill")}
